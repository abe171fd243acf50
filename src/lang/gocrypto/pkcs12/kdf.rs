//! Key derivation: PBKDF2, and the older one of PKCS#12 itself (RFC 7292, appendix B).

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use sha2::digest::Digest;
use sha2::{Sha256, Sha512};
use zeroize::Zeroizing;

use super::super::{Allowance, CryptoError};

/// The hashes that occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    Sha1,
    Sha256,
    Sha512,
}

/// What the old derivation makes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Key = 1,
    Iv = 2,
    Mac = 3,
}

impl Hash {
    /// Bytes of a digest.
    pub fn size(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    fn block_size(self) -> usize {
        if self == Self::Sha512 { 128 } else { 64 }
    }

    fn digest(self, data: &[u8]) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(match self {
            Self::Sha1 => Sha1::digest(data).to_vec(),
            Self::Sha256 => Sha256::digest(data).to_vec(),
            Self::Sha512 => Sha512::digest(data).to_vec(),
        })
    }

    /// The keyed hash of a message.
    pub fn mac(self, key: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Sha1 => Some(
                Hmac::<Sha1>::new_from_slice(key)
                    .ok()?
                    .chain_update(message)
                    .finalize()
                    .into_bytes()
                    .to_vec(),
            ),
            Self::Sha256 => Some(
                Hmac::<Sha256>::new_from_slice(key)
                    .ok()?
                    .chain_update(message)
                    .finalize()
                    .into_bytes()
                    .to_vec(),
            ),
            Self::Sha512 => Some(
                Hmac::<Sha512>::new_from_slice(key)
                    .ok()?
                    .chain_update(message)
                    .finalize()
                    .into_bytes()
                    .to_vec(),
            ),
        }
    }
}

/// Derives bytes by PBKDF2.
pub(super) fn pbkdf2(
    hash: Hash,
    password: &[u8],
    salt: &[u8],
    rounds: u32,
    length: usize,
    allowance: &mut Allowance<'_>,
) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
    let blocks = length.div_ceil(hash.size());
    allow(allowance, rounds, 2 * blocks)?;
    let mut output = Zeroizing::new(vec![0; length]);
    match hash {
        Hash::Sha1 => pbkdf2::pbkdf2_hmac::<Sha1>(password, salt, rounds, &mut output),
        Hash::Sha256 => pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, rounds, &mut output),
        Hash::Sha512 => pbkdf2::pbkdf2_hmac::<Sha512>(password, salt, rounds, &mut output),
    }
    Ok(output)
}

/// Derives bytes the PKCS#12 way from a password in two-byte characters.
pub(super) fn pkcs12(
    hash: Hash,
    purpose: Purpose,
    password: &[u8],
    salt: &[u8],
    rounds: u32,
    length: usize,
    allowance: &mut Allowance<'_>,
) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
    allow(allowance, rounds, length.div_ceil(hash.size()))?;
    let block = hash.block_size();
    let mut input = Zeroizing::new(filled(salt, block));
    input.extend_from_slice(&filled(password, block));
    let mut output = Zeroizing::new(Vec::with_capacity(length + hash.size()));
    while output.len() < length {
        let mut first = Zeroizing::new(vec![purpose as u8; block]);
        first.extend_from_slice(&input);
        let mut digest = hash.digest(&first);
        for _ in 1..rounds {
            digest = hash.digest(&digest);
        }
        output.extend_from_slice(&digest);
        let increment = filled(&digest, block);
        input
            .chunks_exact_mut(block)
            .for_each(|chunk| add_one_more(chunk, &increment));
    }
    output.truncate(length);
    Ok(output)
}

/// The bytes over and over, up to a multiple of the block size.
fn filled(bytes: &[u8], block: usize) -> Vec<u8> {
    bytes
        .iter()
        .copied()
        .cycle()
        .take(if bytes.is_empty() {
            0
        } else {
            bytes.len().div_ceil(block) * block
        })
        .collect()
}

/// `chunk + increment + 1`, dropping what does not fit.
fn add_one_more(chunk: &mut [u8], increment: &[u8]) {
    let mut carry = 1u16;
    for (byte, added) in chunk.iter_mut().zip(increment).rev() {
        carry += u16::from(*byte) + u16::from(*added);
        *byte = carry.to_be_bytes()[1];
        carry >>= 8;
    }
}

fn allow(allowance: &mut Allowance<'_>, rounds: u32, blocks: usize) -> Result<(), CryptoError> {
    let hashes = u64::from(rounds).saturating_mul(u64::try_from(blocks).unwrap_or(u64::MAX));
    if allowance(hashes) {
        Ok(())
    } else {
        Err(CryptoError::limit())
    }
}
