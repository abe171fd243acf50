//! Key pairs are read back field by field.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::generate;
use crate::generator::random::Counting;

fn made(spec: Value) -> Result<(String, String), String> {
    let spec = serde_json::from_value(spec).unwrap();
    let made = generate(&spec, &mut Counting(11)).map_err(|error| error.to_string())?;
    let text = |key: &str| String::from_utf8(made.data[key].expose().to_vec()).unwrap();
    Ok((text("privateKey"), text("publicKey")))
}

/// Length-prefixed fields.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> &'a [u8] {
        let (head, tail) = self.0.split_at(4);
        let (field, rest) = tail.split_at(u32::from_be_bytes(head.try_into().unwrap()) as usize);
        self.0 = rest;
        field
    }
}

fn file_of(pem: &str) -> Vec<u8> {
    let body = pem
        .strip_prefix("-----BEGIN OPENSSH PRIVATE KEY-----\n")
        .and_then(|rest| rest.strip_suffix("-----END OPENSSH PRIVATE KEY-----\n"))
        .unwrap();
    assert!(body.lines().all(|line| line.len() <= 64));
    STANDARD.decode(body.replace('\n', "")).unwrap()
}

/// Checks the frame of both halves and gives the public blob, the private fields and the comment.
fn check(private: &str, public: &str, algorithm: &str, fields: usize) -> (Vec<u8>, Vec<Vec<u8>>, String) {
    let file = file_of(private);
    let mut outer = Fields(file.strip_prefix(b"openssh-key-v1\0").unwrap());
    assert_eq!(
        [outer.next(), outer.next(), outer.next()],
        [b"none".as_slice(), b"none", b""]
    );
    assert_eq!(outer.0[..4], [0, 0, 0, 1]);
    outer.0 = &outer.0[4..];
    let (blob, secret) = (outer.next(), outer.next());
    assert!(outer.0.is_empty());
    let words: Vec<&str> = public.strip_suffix('\n').unwrap().splitn(3, ' ').collect();
    assert_eq!(
        (words[0], STANDARD.decode(words[1]).unwrap().as_slice()),
        (algorithm, blob)
    );
    assert_eq!(secret[..4], secret[4..8]);
    assert_eq!(secret.len() % 8, 0);
    let mut inner = Fields(&secret[8..]);
    assert_eq!(inner.next(), algorithm.as_bytes());
    let parts = (0..fields).map(|_| inner.next().to_vec()).collect();
    let comment = String::from_utf8(inner.next().to_vec()).unwrap();
    assert_eq!(words.get(2).copied().unwrap_or_default(), comment);
    assert!(
        inner
            .0
            .iter()
            .enumerate()
            .all(|(index, byte)| usize::from(*byte) == index + 1)
    );
    (blob.to_vec(), parts, comment)
}

#[test]
fn ed25519_with_comment() {
    let (private, public) = made(json!({"keyType": "ed25519", "comment": "ida@orchard"})).unwrap();
    let (_, parts, comment) = check(&private, &public, "ssh-ed25519", 2);
    assert_eq!((comment.as_str(), parts[1].len()), ("ida@orchard", 64));
    assert_eq!(parts[0], parts[1][32..]);
    assert!(public.starts_with("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"));
}

#[test]
fn ecdsa_sizes_fall_back_to_256() {
    for (size, algorithm, point) in [
        (json!(256), "ecdsa-sha2-nistp256", 65),
        (json!(384), "ecdsa-sha2-nistp384", 97),
        (json!(521), "ecdsa-sha2-nistp521", 133),
        (json!(300), "ecdsa-sha2-nistp256", 65),
        (Value::Null, "ecdsa-sha2-nistp256", 65),
    ] {
        let spec = if size.is_null() {
            json!({"keyType": "ecdsa"})
        } else {
            json!({"keyType": "ecdsa", "keySize": size})
        };
        let (private, public) = made(spec).unwrap();
        let (_, parts, comment) = check(&private, &public, algorithm, 3);
        assert_eq!((parts[1].len(), comment.as_str()), (point, ""));
    }
}

#[test]
fn rsa_numbers_belong_together() {
    let (private, public) = made(json!({"keySize": 1024})).unwrap();
    let (_, parts, _) = check(&private, &public, "ssh-rsa", 6);
    assert_eq!(parts[1], [1, 0, 1]);
    let number = |index: usize| num_bigint::BigUint::from_bytes_be(&parts[index]);
    assert_eq!(number(4) * number(5), number(0));
    assert_eq!(parts[0].len(), 129);
}

#[test]
fn what_cannot_be_made() {
    let error = made(json!({"keyType": "dsa"})).unwrap_err();
    assert_eq!(error, "unable to generate SSH key: unsupported key type: dsa");
    let error = made(json!({"keySize": 512})).unwrap_err();
    assert!(
        error.starts_with("unable to generate SSH key: crypto/rsa: 512-bit keys are insecure"),
        "{error}"
    );
}
