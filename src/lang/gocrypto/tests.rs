use std::net::IpAddr;

use super::der::{Reader, tag};
use super::*;
use crate::lang::gotime::Time;

/// A generator that is good enough to make distinct test keys.
fn counter(seed: u64) -> impl FnMut(&mut [u8]) {
    let mut state = seed;
    move |out: &mut [u8]| {
        for byte in out {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *byte = state.to_be_bytes()[0];
        }
    }
}

fn certificate(key: &PrivateKey, name: &str, issuer: &Issuer<'_>, authority: bool) -> Certificate {
    let request = Request {
        common_name: name,
        addresses: &["10.0.0.1".parse::<IpAddr>().expect("an address")],
        dns_names: &["a.test", "b.test"],
        not_before: Time::from_unix(1_600_000_000, 0),
        not_after: Time::from_unix(2_600_000_000, 0),
        authority,
        key,
    };
    Certificate::parse(&issue(&request, issuer, &mut counter(3)).expect("issued")).expect("readable")
}

#[test]
fn der_takes_the_shortest_form_only() {
    assert!(Reader::new(&[tag::INTEGER, 2, 0, 0x7f]).integer().is_none());
    assert!(Reader::new(&[tag::INTEGER, 0x81, 1, 5]).integer().is_none());
    assert!(Reader::new(&[tag::INTEGER, 5, 1]).integer().is_none());
    assert_eq!(Reader::new(&[tag::INTEGER, 2, 0, 0x80]).unsigned(), Some(&[0x80][..]));
    assert!(Reader::new(&[tag::INTEGER, 1, 0x80]).unsigned().is_none());
}

#[test]
fn keys_survive_their_envelopes() {
    let key = PrivateKey::generate_p256(&mut counter(1));
    let (word, sec1) = key.to_traditional();
    assert_eq!(word, "EC PRIVATE KEY");
    let pkcs8 = key.to_pkcs8();
    assert_eq!(PrivateKey::from_sec1(&sec1).expect("SEC 1").to_pkcs8(), pkcs8);
    assert_eq!(PrivateKey::from_any(&pkcs8).expect("PKCS#8").to_traditional().1, sec1);
    let ed = PrivateKey::generate_ed25519(&mut counter(2));
    assert_eq!(
        PrivateKey::from_pkcs8(&ed.to_pkcs8()).expect("PKCS#8").to_pkcs8(),
        ed.to_pkcs8()
    );
    let unknown = PrivateKey::from_any(b"junk").err().expect("no key");
    assert_eq!(unknown.to_string(), "unable to parse private key type");
}

#[test]
fn certificates_say_what_was_asked_for() {
    let ca_key = PrivateKey::generate_p256(&mut counter(5));
    let ca = certificate(&ca_key, "root", &Issuer::Itself, true);
    let key = PrivateKey::generate_ed25519(&mut counter(6));
    let leaf = certificate(&key, "*.leaf", &Issuer::Other(&ca, &ca_key), false);
    assert_eq!(leaf.alt_names().collect::<Vec<_>>(), ["a.test", "b.test", "10.0.0.1"]);
    assert_eq!(leaf.authority_key_id(), ca.subject_key_id());
    assert_eq!((ca.authority_key_id(), leaf.subject_key_id()), (None, None));
    assert_eq!(leaf.subject_text(), "CN=*.leaf");
    let wrong = issue_with(&ca, &key);
    assert_eq!(
        wrong.to_string(),
        "x509: provided PrivateKey doesn't match parent's PublicKey"
    );
}

fn issue_with(ca: &Certificate, key: &PrivateKey) -> CryptoError {
    let request = Request {
        common_name: "x",
        addresses: &[],
        dns_names: &[],
        not_before: Time::zero(),
        not_after: Time::zero(),
        authority: false,
        key,
    };
    issue(&request, &Issuer::Other(ca, key), &mut counter(7)).expect_err("foreign key")
}

#[test]
fn key_stores_open_with_their_password_only() {
    let key = PrivateKey::generate_p256(&mut counter(8));
    let first = certificate(&key, "first", &Issuer::Itself, false);
    let second = certificate(&key, "second", &Issuer::Itself, true);
    let others = [second.clone()];
    for password in ["", "p\u{e4}ss"] {
        let file = pkcs12::write_key_store(&key, &first, &others, password.as_bytes(), &mut counter(9), &mut |_| {
            true
        })
        .expect("written");
        let contents = pkcs12::read(&file, password.as_bytes(), &mut |_| true).expect("opened");
        assert_eq!(contents.key.to_pkcs8(), key.to_pkcs8());
        let raw: Vec<&[u8]> = contents.certificates.iter().map(Certificate::raw).collect();
        assert_eq!(raw, [first.raw(), second.raw()]);
        let refused = pkcs12::read(&file, b"other", &mut |_| true)
            .err()
            .expect("wrong password");
        assert_eq!(refused.to_string(), "pkcs12: decryption password incorrect");
        assert!(
            pkcs12::read(&file, password.as_bytes(), &mut |_| false)
                .err()
                .expect("no allowance")
                .is_limit()
        );
    }
}

#[test]
fn trust_stores_hold_no_key() {
    let key = PrivateKey::generate_p256(&mut counter(10));
    let root = certificate(&key, "root", &Issuer::Itself, true);
    let file = pkcs12::write_trust_store(&[root], b"pw", &mut counter(11), &mut |_| true).expect("written");
    let refused = pkcs12::read(&file, b"pw", &mut |_| true).err().expect("no key");
    assert_eq!(refused.to_string(), "pkcs12: private key missing");
    assert!(pkcs12::write_trust_store(&[], b"", &mut counter(12), &mut |_| true).is_ok());
}

#[test]
fn pem_blocks_begin_at_line_starts() {
    let text = b"junk\n-----BEGIN A-----\naGk=\n-----END A-----\n  -----BEGIN B-----\naGk=\n-----END B-----\nrest";
    let (block, rest) = decode_pem(text);
    assert_eq!(
        block.map(|block| (block.kind, block.body.to_vec())),
        Some((b"A".to_vec(), b"hi".to_vec()))
    );
    assert_eq!(decode_pem(rest), (None, rest));
    assert_eq!(decode_pem(b"-----BEGIN A-----\n!!!!\n-----END A-----\n").0, None);
    let empty = decode_pem(b"-----BEGIN A-----\n-----END A-----").0.expect("a block");
    assert!(empty.body.is_empty());
}

#[test]
fn pem_headers_are_kept() {
    let text = b"-----BEGIN X-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,ABCD\n\naGVsbG8=\n-----END X-----\n";
    let block = decode_pem(text).0.expect("a block");
    assert_eq!(encode_pem(&block).expect("written").as_slice(), text);
}

#[test]
fn web_keys() {
    let public = br#"{"kty":"OKP","crv":"Ed25519","x":"ESEhISEhISEhISEhISEhISEhISEhISEhISEhISEhISE"}"#;
    assert_eq!(public_key_der(public).expect("a key").len(), 44);
    let message = |json: &str| public_key_der(json.as_bytes()).expect_err("no key").to_string();
    assert_eq!(message("{}"), "invalid key type from JSON ()");
    assert_eq!(
        message(r#"{"kty":"RSA","e":"AQAB"}"#),
        "failed to unmarshal JSON into key (*jwk.rsaPublicKey): required field n is missing"
    );
    assert_eq!(
        message(r#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#),
        "P256 point not on curve"
    );
}
