//! Password-based encryption of the parts of a file.

use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt, BlockModeEncrypt as _, InnerIvInit as _, KeyIvInit as _};
use zeroize::Zeroizing;

use super::super::der::{self, Algorithm, Encoded, Reader, tag};
use super::super::{Allowance, CryptoError, Random, oid};
use super::kdf::{Hash, Purpose, pbkdf2, pkcs12};
use super::{Password, not_implemented};

/// Rounds of key derivation in files that are written.
pub(super) const ROUNDS: u32 = 2048;
const AES_BLOCK: usize = 16;
const OLD_BLOCK: usize = 8;

pub(super) fn malformed() -> CryptoError {
    CryptoError::new("asn1: structure error")
}

/// Parameters of PBKDF2.
pub(super) struct Pbkdf2<'d> {
    pub salt: &'d [u8],
    pub rounds: u32,
    pub length: Option<i64>,
    pub hash: Hash,
}

/// Rounds below one count as one; beyond 32 bits nobody waits for them.
pub(super) fn rounds(reader: &mut Reader<'_>) -> Result<u32, CryptoError> {
    let rounds = reader.small().ok_or_else(malformed)?;
    u32::try_from(rounds.max(1)).map_err(|_| CryptoError::limit())
}

/// Reads the parameters of a key derivation, which must be PBKDF2; `scheme` is the word for messages.
pub(super) fn read_pbkdf2<'d>(kdf: Algorithm<'d>, scheme: &str) -> Result<Pbkdf2<'d>, CryptoError> {
    if kdf.oid != oid::PBKDF2 {
        return Err(not_implemented(&format!(
            "{scheme} kdf algorithm {} is not supported",
            oid::dotted(kdf.oid)
        )));
    }
    let mut parameters = Reader::new(kdf.parameters)
        .nested(tag::SEQUENCE)
        .ok_or_else(malformed)?;
    let salt = parameters.element().ok_or_else(malformed)?;
    if salt.tag != tag::OCTET_STRING {
        return Err(not_implemented(&format!(
            "only octet string salts are supported for {scheme}/pbkdf2"
        )));
    }
    let rounds = rounds(&mut parameters)?;
    let length = match parameters.peek() {
        Some(tag::INTEGER) => Some(parameters.small().ok_or_else(malformed)?),
        _ => None,
    };
    let hash = if parameters.is_empty() {
        Hash::Sha1
    } else {
        let prf = parameters.algorithm().ok_or_else(malformed)?;
        hmac_hash(prf.oid)
            .ok_or_else(|| not_implemented(&format!("{scheme} prf {} is not supported", oid::dotted(prf.oid))))?
    };
    Ok(Pbkdf2 {
        salt: salt.content,
        rounds,
        length,
        hash,
    })
}

/// The hash inside an HMAC algorithm.
pub(super) fn hmac_hash(number: &[u8]) -> Option<Hash> {
    match number {
        oid::HMAC_SHA1 => Some(Hash::Sha1),
        oid::HMAC_SHA256 => Some(Hash::Sha256),
        oid::HMAC_SHA512 => Some(Hash::Sha512),
        _ => None,
    }
}

/// Decrypts a part of a file.
pub(super) fn decrypt(
    algorithm: Algorithm<'_>,
    data: &[u8],
    password: &Password,
    allowance: &mut Allowance<'_>,
) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
    if algorithm.oid == oid::PBES2 {
        return decrypt_pbes2(algorithm, data, password, allowance);
    }
    let length = match algorithm.oid {
        oid::SHA_3DES => 24,
        oid::SHA_RC2_128 => 16,
        oid::SHA_RC2_40 => 5,
        other => {
            return Err(not_implemented(&format!(
                "pbe algorithm {} is not supported",
                oid::dotted(other)
            )));
        }
    };
    let mut parameters = Reader::new(algorithm.parameters)
        .nested(tag::SEQUENCE)
        .ok_or_else(malformed)?;
    let salt = parameters.content(tag::OCTET_STRING).ok_or_else(malformed)?;
    let rounds = rounds(&mut parameters)?;
    let mut derive = |purpose, length| pkcs12(Hash::Sha1, purpose, &password.wide, salt, rounds, length, allowance);
    let (key, iv) = (derive(Purpose::Key, length)?, derive(Purpose::Iv, OLD_BLOCK)?);
    check_length(data, OLD_BLOCK)?;
    if algorithm.oid == oid::SHA_3DES {
        return unpad(cbc::Decryptor::<des::TdesEde3>::new_from_slices(&key, &iv).ok(), data);
    }
    let cipher = rc2::Rc2::new_with_eff_key_len(&key, 8 * length);
    unpad(cbc::Decryptor::inner_iv_slice_init(cipher, &iv).ok(), data)
}

fn decrypt_pbes2(
    algorithm: Algorithm<'_>,
    data: &[u8],
    password: &Password,
    allowance: &mut Allowance<'_>,
) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
    let mut parameters = Reader::new(algorithm.parameters)
        .nested(tag::SEQUENCE)
        .ok_or_else(malformed)?;
    let kdf = read_pbkdf2(parameters.algorithm().ok_or_else(malformed)?, "pbes2")?;
    let scheme = parameters.algorithm().ok_or_else(malformed)?;
    let length = match scheme.oid {
        oid::AES_128_CBC => 16,
        oid::AES_192_CBC => 24,
        oid::AES_256_CBC => 32,
        other => {
            return Err(not_implemented(&format!(
                "pbes2 algorithm {} is not supported",
                oid::dotted(other)
            )));
        }
    };
    let key = pbkdf2(kdf.hash, &password.text, kdf.salt, kdf.rounds, length, allowance)?;
    let iv = Reader::new(scheme.parameters).element().ok_or_else(malformed)?.content;
    if iv.len() != AES_BLOCK {
        return Err(CryptoError::new(format!(
            "pkcs12: invalid IV length in PBES2 encryption scheme (IV length {} does not match block size {AES_BLOCK})",
            iv.len()
        )));
    }
    check_length(data, AES_BLOCK)?;
    match length {
        16 => unpad(cbc::Decryptor::<aes::Aes128>::new_from_slices(&key, iv).ok(), data),
        24 => unpad(cbc::Decryptor::<aes::Aes192>::new_from_slices(&key, iv).ok(), data),
        _ => unpad(cbc::Decryptor::<aes::Aes256>::new_from_slices(&key, iv).ok(), data),
    }
}

fn check_length(data: &[u8], block: usize) -> Result<(), CryptoError> {
    if data.is_empty() {
        return Err(CryptoError::new("pkcs12: empty encrypted data"));
    }
    if !data.len().is_multiple_of(block) {
        return Err(CryptoError::new("pkcs12: input is not a multiple of the block size"));
    }
    Ok(())
}

fn unpad<M: BlockModeDecrypt>(mode: Option<M>, data: &[u8]) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
    mode.and_then(|mode| mode.decrypt_padded_vec::<Pkcs7>(data).ok())
        .map(Zeroizing::new)
        .ok_or_else(|| CryptoError::new("pkcs12: decryption error, incorrect padding"))
}

/// Encrypts a part of a file with PBES2; gives the algorithm identifier and the encrypted bytes.
pub(super) fn encrypt(
    data: &[u8],
    password: &Password,
    random: &mut Random<'_>,
    allowance: &mut Allowance<'_>,
) -> Result<(Encoded, Vec<u8>), CryptoError> {
    let (mut salt, mut iv) = ([0; 16], [0; AES_BLOCK]);
    random(&mut salt);
    random(&mut iv);
    let key = pbkdf2(Hash::Sha256, &password.text, &salt, ROUNDS, 32, allowance)?;
    let mode = cbc::Encryptor::<aes::Aes256>::new_from_slices(&key, &iv).map_err(|_| malformed())?;
    let encrypted = mode.encrypt_padded_vec::<Pkcs7>(data);
    let prf = der::sequence(&[&der::oid(oid::HMAC_SHA256), der::NULL]);
    let kdf = der::sequence(&[&der::octets(&salt), &der::small(ROUNDS.into()), &prf]);
    let parameters = der::sequence(&[
        &der::sequence(&[&der::oid(oid::PBKDF2), &kdf]),
        &der::sequence(&[&der::oid(oid::AES_256_CBC), &der::octets(&iv)]),
    ]);
    Ok((der::sequence(&[&der::oid(oid::PBES2), &parameters]), encrypted))
}
