//! Writing a file: certificates encrypted as one safe, the key encrypted in its own bag.

use sha1::{Digest as _, Sha1};

use super::super::der::{self, Encoded, tag};
use super::super::{Allowance, Certificate, CryptoError, PrivateKey, Random, oid};
use super::crypt::{ROUNDS, encrypt, malformed};
use super::kdf::{Hash, Purpose, pkcs12};
use super::{Password, wide_text};

/// Writes a key store; the first certificate belongs to the key.
///
/// # Errors
/// When the password cannot be encoded.
pub fn write_key_store(
    key: &PrivateKey,
    certificate: &Certificate,
    others: &[Certificate],
    password: &[u8],
    random: &mut Random<'_>,
    allowance: &mut Allowance<'_>,
) -> Result<Vec<u8>, CryptoError> {
    let password = Password::new(password)?;
    let key_id = attribute(oid::LOCAL_KEY_ID, &der::octets(&Sha1::digest(certificate.raw())));
    let mut bags = vec![certificate_bag(certificate, &[&key_id])];
    bags.extend(others.iter().map(|other| certificate_bag(other, &[])));
    let certificates = encrypted_safe(&list(&bags), &password, random, allowance)?;
    let (algorithm, encrypted) = encrypt(&key.to_pkcs8(), &password, random, allowance)?;
    let shrouded = der::sequence(&[&algorithm, &der::octets(&encrypted)]);
    let keys = list(&[bag(oid::SHROUDED_KEY_BAG, &shrouded, &[&key_id])]);
    file(&[certificates, plain_safe(&keys)], &password, random, allowance)
}

/// Writes a Java trust store: certificates without a key, marked as trusted for everything.
///
/// # Errors
/// When the password or a subject cannot be encoded.
pub fn write_trust_store(
    certificates: &[Certificate],
    password: &[u8],
    random: &mut Random<'_>,
    allowance: &mut Allowance<'_>,
) -> Result<Vec<u8>, CryptoError> {
    let password = Password::new(password)?;
    let trusted = attribute(oid::JAVA_TRUST_STORE, &der::oid(oid::ANY_EXT_KEY_USAGE));
    let mut bags = Vec::with_capacity(certificates.len());
    for certificate in certificates {
        let name = der::encode(tag::BMP, &[&wide_text(&certificate.subject_text())?]);
        bags.push(certificate_bag(
            certificate,
            &[&trusted, &attribute(oid::FRIENDLY_NAME, &name)],
        ));
    }
    let safe = encrypted_safe(&list(&bags), &password, random, allowance)?;
    file(&[safe], &password, random, allowance)
}

fn list(items: &[Encoded]) -> Encoded {
    let items: Vec<&[u8]> = items.iter().map(|item| item.as_slice()).collect();
    der::sequence(&items)
}

fn attribute(number: &[u8], value: &[u8]) -> Encoded {
    der::sequence(&[&der::oid(number), &der::encode(tag::SET, &[value])])
}

/// A bag; its attributes are a set, so DER sorts them.
fn bag(kind: &[u8], value: &[u8], attributes: &[&[u8]]) -> Encoded {
    let value = der::encode(tag::explicit(0), &[value]);
    if attributes.is_empty() {
        return der::sequence(&[&der::oid(kind), &value]);
    }
    let mut sorted = attributes.to_vec();
    sorted.sort_unstable();
    der::sequence(&[&der::oid(kind), &value, &der::encode(tag::SET, &sorted)])
}

fn certificate_bag(certificate: &Certificate, attributes: &[&[u8]]) -> Encoded {
    let data = der::encode(tag::explicit(0), &[&der::octets(certificate.raw())]);
    bag(
        oid::CERT_BAG,
        &der::sequence(&[&der::oid(oid::X509_CERTIFICATE), &data]),
        attributes,
    )
}

fn plain_safe(contents: &[u8]) -> Encoded {
    der::sequence(&[
        &der::oid(oid::DATA),
        &der::encode(tag::explicit(0), &[&der::octets(contents)]),
    ])
}

fn encrypted_safe(
    contents: &[u8],
    password: &Password,
    random: &mut Random<'_>,
    allowance: &mut Allowance<'_>,
) -> Result<Encoded, CryptoError> {
    let (algorithm, encrypted) = encrypt(contents, password, random, allowance)?;
    let info = der::sequence(&[
        &der::oid(oid::DATA),
        &algorithm,
        &der::encode(tag::implicit(0), &[&encrypted]),
    ]);
    let data = der::sequence(&[&der::small(0), &info]);
    Ok(der::sequence(&[
        &der::oid(oid::ENCRYPTED_DATA),
        &der::encode(tag::explicit(0), &[&data]),
    ]))
}

/// Puts safes together and proves them with a MAC.
fn file(
    safes: &[Encoded],
    password: &Password,
    random: &mut Random<'_>,
    allowance: &mut Allowance<'_>,
) -> Result<Vec<u8>, CryptoError> {
    let safes = list(safes);
    let mut salt = [0; 16];
    random(&mut salt);
    let key = pkcs12(Hash::Sha256, Purpose::Mac, &password.wide, &salt, ROUNDS, 32, allowance)?;
    let digest = Hash::Sha256.mac(&key, &safes).ok_or_else(malformed)?;
    let algorithm = der::sequence(&[&der::oid(oid::SHA256), der::NULL]);
    let mac = der::sequence(&[
        &der::sequence(&[&algorithm, &der::octets(&digest)]),
        &der::octets(&salt),
        &der::small(ROUNDS.into()),
    ]);
    Ok(der::sequence(&[&der::small(3), &plain_safe(&safes), &mac]).to_vec())
}
