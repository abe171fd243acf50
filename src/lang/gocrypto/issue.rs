//! Making certificates, the way Go's `x509.CreateCertificate` fills in what sprig asks for.

use std::net::IpAddr;

use sha2::{Digest as _, Sha256};

use crate::lang::gotime::{Time, Zone};

use super::der::{self, Encoded, tag};
use super::keys::{PrivateKey, PublicKey};
use super::x509::Certificate;
use super::{CryptoError, Random, name, oid};

/// What a new certificate shall say.
pub struct Request<'a> {
    /// The common name; may be empty.
    pub common_name: &'a str,
    /// IP addresses among the alternative names.
    pub addresses: &'a [IpAddr],
    /// DNS names among the alternative names.
    pub dns_names: &'a [&'a str],
    /// First second of validity.
    pub not_before: Time,
    /// Last second of validity.
    pub not_after: Time,
    /// The certificate may sign others.
    pub authority: bool,
    /// The key that the certificate is for.
    pub key: &'a PrivateKey,
}

/// Who signs.
pub enum Issuer<'a> {
    /// The certificate signs itself.
    Itself,
    /// Another certificate, with its private key.
    Other(&'a Certificate, &'a PrivateKey),
}

/// Makes and signs a certificate; gives its encoding.
///
/// # Errors
/// When the keys cannot sign, do not belong to the issuer, or a name is not ASCII.
pub fn issue(request: &Request<'_>, issuer: &Issuer<'_>, random: &mut Random<'_>) -> Result<Vec<u8>, CryptoError> {
    let public = request
        .key
        .public()
        .ok_or_else(|| CryptoError::new("x509: only RSA, ECDSA and Ed25519 keys supported"))?;
    let subject = name::common_name(request.common_name);
    let (issuer_name, authority_key_id, signing_key) = match issuer {
        Issuer::Itself => (subject.to_vec(), None, request.key),
        Issuer::Other(certificate, key) => {
            check_issuer(certificate, key)?;
            let own = certificate.subject() == subject.as_slice();
            let id = certificate.subject_key_id().filter(|id| !own && !id.is_empty());
            (certificate.subject().to_vec(), id, *key)
        }
    };
    let mut serial = [0; 16];
    random(&mut serial);
    let extensions = extensions(request, &public, &subject, authority_key_id)?;
    // The algorithm is part of what is signed.
    let (algorithm, _) = signing_key.sign(&[], random)?;
    let tbs = der::sequence(&[
        &der::encode(tag::explicit(0), &[&der::small(2)]),
        &der::integer(&serial),
        &algorithm,
        &issuer_name,
        &der::sequence(&[&time(&request.not_before), &time(&request.not_after)]),
        &subject,
        &public.to_pkix(),
        &der::encode(tag::explicit(3), &[&extensions]),
    ]);
    let (_, signature) = signing_key.sign(&tbs, random)?;
    Ok(der::sequence(&[&tbs, &algorithm, &der::bits(&signature)]).to_vec())
}

fn check_issuer(certificate: &Certificate, key: &PrivateKey) -> Result<(), CryptoError> {
    let (_, bits) = certificate.key();
    match key.public() {
        None => Err(CryptoError::new(
            "x509: certificate private key does not implement crypto.Signer",
        )),
        Some(public) if public.key_bits() == bits => Ok(()),
        Some(_) => Err(CryptoError::new(
            "x509: provided PrivateKey doesn't match parent's PublicKey",
        )),
    }
}

fn time(time: &Time) -> Encoded {
    let utc = time.in_zone(Zone::Utc);
    if (1950..2050).contains(&utc.civil().year) {
        return der::encode(tag::UTC_TIME, &[&utc.format(b"060102150405Z")]);
    }
    der::encode(tag::GENERALIZED_TIME, &[&utc.format(b"20060102150405Z")])
}

fn extensions(
    request: &Request<'_>,
    public: &PublicKey,
    subject: &[u8],
    authority_key_id: Option<&[u8]>,
) -> Result<Encoded, CryptoError> {
    // Digital signature and key encipherment; an authority also signs certificates.
    let usage: [u8; 2] = if request.authority { [2, 0xa4] } else { [5, 0xa0] };
    let constraints: &[u8] = if request.authority {
        &[tag::BOOLEAN, 1, 0xff]
    } else {
        &[]
    };
    let mut list = vec![
        extension(oid::KEY_USAGE, true, &der::encode(tag::BIT_STRING, &[&usage])),
        extension(
            oid::EXT_KEY_USAGE,
            false,
            &der::sequence(&[&der::oid(oid::SERVER_AUTH), &der::oid(oid::CLIENT_AUTH)]),
        ),
        extension(oid::BASIC_CONSTRAINTS, true, &der::sequence(&[constraints])),
    ];
    if request.authority {
        // RFC 7093: the first 160 bits of the SHA-256 of the key.
        let digest = Sha256::digest(public.key_bits());
        list.push(extension(oid::SUBJECT_KEY_ID, false, &der::octets(&digest[..20])));
    }
    if let Some(id) = authority_key_id {
        let id = der::encode(tag::implicit(0), &[id]);
        list.push(extension(oid::AUTHORITY_KEY_ID, false, &der::sequence(&[&id])));
    }
    if !request.addresses.is_empty() || !request.dns_names.is_empty() {
        let unnamed = subject == der::sequence(&[]).as_slice();
        list.push(extension(oid::SUBJECT_ALT_NAME, unnamed, &alt_names(request)?));
    }
    let list: Vec<&[u8]> = list.iter().map(|extension| extension.as_slice()).collect();
    Ok(der::sequence(&list))
}

fn alt_names(request: &Request<'_>) -> Result<Encoded, CryptoError> {
    let mut names = Vec::new();
    for dns in request.dns_names {
        if !dns.is_ascii() {
            return Err(CryptoError::new("x509: name cannot be encoded as an IA5String"));
        }
        names.push(der::encode(tag::implicit(2), &[dns.as_bytes()]));
    }
    for address in request.addresses {
        names.push(match address.to_canonical() {
            IpAddr::V4(address) => der::encode(tag::implicit(7), &[&address.octets()]),
            IpAddr::V6(address) => der::encode(tag::implicit(7), &[&address.octets()]),
        });
    }
    let names: Vec<&[u8]> = names.iter().map(|name| name.as_slice()).collect();
    Ok(der::sequence(&names))
}

fn extension(number: &[u8], critical: bool, value: &[u8]) -> Encoded {
    let critical: &[u8] = if critical { &[tag::BOOLEAN, 1, 0xff] } else { &[] };
    der::sequence(&[&der::oid(number), critical, &der::octets(value)])
}
