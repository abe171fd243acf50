//! Generator `SSHKey`: a key pair in OpenSSH's formats, unencrypted.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::elliptic_curve::sec1::ToSec1Point as _;
use rsa::traits::{PrivateKeyParts as _, PublicKeyParts as _};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::random::Random;
use super::{Generated, GeneratorError};
use crate::secret::{SecretData, SecretValue};

/// `spec` of an SSHKey.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SshKeySpec {
    key_type: String,
    key_size: Option<i64>,
    comment: String,
}

/// Makes a key pair. RSA keys take a while: call it where blocking does no harm.
pub fn generate(spec: &SshKeySpec, random: &mut dyn Random) -> Result<Generated, GeneratorError> {
    let pair = match spec.key_type.as_str() {
        "" | "rsa" => rsa_pair(spec.key_size.unwrap_or(2048), random)?,
        "ecdsa" => ecdsa_pair(spec.key_size.unwrap_or(256), random)?,
        "ed25519" => ed25519_pair(random)?,
        other => return Err(failed(&format!("unsupported key type: {other}"))),
    };
    let mut check = [0; 4];
    random.fill(&mut check)?;
    let data: SecretData = [
        ("privateKey", SecretValue::from(pair.private_pem(&spec.comment, check))),
        ("publicKey", SecretValue::from(pair.public_line(&spec.comment))),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into();
    Ok(Generated { data, state: None })
}

fn failed(what: &str) -> GeneratorError {
    GeneratorError::new(format!("unable to generate SSH key: {what}"))
}

/// A pair as OpenSSH's wire format has it.
struct Pair {
    algorithm: &'static str,
    /// Public fields after the algorithm.
    public: Vec<u8>,
    /// Private fields after the algorithm.
    private: Zeroizing<Vec<u8>>,
}

impl Pair {
    fn public_blob(&self) -> Vec<u8> {
        let mut blob = Vec::new();
        put(&mut blob, self.algorithm.as_bytes());
        blob.extend_from_slice(&self.public);
        blob
    }

    /// One line of an `authorized_keys` file, with its line break.
    fn public_line(&self, comment: &str) -> String {
        let space = if comment.is_empty() { "" } else { " " };
        format!(
            "{} {}{space}{comment}\n",
            self.algorithm,
            STANDARD.encode(self.public_blob())
        )
    }

    /// The PEM block of `openssh-key-v1`, cipher and key derivation `none`.
    fn private_pem(&self, comment: &str, check: [u8; 4]) -> String {
        let mut secret = Zeroizing::new(Vec::new());
        // Twice the same number: whoever decrypts sees by it that the password was right.
        secret.extend_from_slice(&check);
        secret.extend_from_slice(&check);
        put(&mut secret, self.algorithm.as_bytes());
        secret.extend_from_slice(&self.private);
        put(&mut secret, comment.as_bytes());
        for filler in 1.. {
            if secret.len() % 8 == 0 {
                break;
            }
            secret.push(filler);
        }
        let mut file = Zeroizing::new(b"openssh-key-v1\0".to_vec());
        put(&mut file, b"none");
        put(&mut file, b"none");
        put(&mut file, b"");
        file.extend_from_slice(&1_u32.to_be_bytes());
        put(&mut file, &self.public_blob());
        put(&mut file, &secret);
        let body = Zeroizing::new(STANDARD.encode(&*file));
        let mut pem = String::with_capacity(body.len() + body.len() / 64 + 80);
        pem.push_str("-----BEGIN OPENSSH PRIVATE KEY-----\n");
        let mut rest = body.as_str();
        while !rest.is_empty() {
            let (line, after) = rest.split_at(rest.len().min(64));
            pem.push_str(line);
            pem.push('\n');
            rest = after;
        }
        pem.push_str("-----END OPENSSH PRIVATE KEY-----\n");
        pem
    }
}

/// A length and the bytes.
fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("keys and comments are far shorter than 4 GiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// A number, most significant byte first, never negative.
fn put_number(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let digits = &bytes[start..];
    if digits.first().is_some_and(|byte| *byte >= 0x80) {
        let mut padded = Zeroizing::new(vec![0]);
        padded.extend_from_slice(digits);
        put(out, &padded);
    } else {
        put(out, digits);
    }
}

fn rsa_pair(bits: i64, random: &mut dyn Random) -> Result<Pair, GeneratorError> {
    if bits < 1024 {
        return Err(failed(&format!(
            "crypto/rsa: {bits}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)"
        )));
    }
    let size = usize::try_from(bits)
        .ok()
        .filter(|bits| *bits <= 8192)
        .ok_or_else(|| failed("keySize is larger than 8192"))?;
    let key = rsa::PrivateKey::new(&mut Source::new(random)?, size).map_err(|_| failed("no primes found"))?;
    let number = |value: &crypto_bigint::BoxedUint| Zeroizing::new(value.to_be_bytes().into_vec());
    let [p, q] = key.primes() else {
        return Err(failed("key has not two primes"));
    };
    let inverse = key.crt_coefficient().ok_or_else(|| failed("key has no coefficient"))?;
    let mut public = Vec::new();
    put_number(&mut public, &key.e_bytes());
    put_number(&mut public, &key.n_bytes());
    let mut private = Zeroizing::new(Vec::new());
    put_number(&mut private, &key.n_bytes());
    put_number(&mut private, &key.e_bytes());
    put_number(&mut private, &number(key.d()));
    put_number(&mut private, &number(&inverse));
    put_number(&mut private, &number(p.as_ref()));
    put_number(&mut private, &number(q.as_ref()));
    Ok(Pair {
        algorithm: "ssh-rsa",
        public,
        private,
    })
}

/// 256, 384 and 521 bits; every other size is 256 without an error.
fn ecdsa_pair(bits: i64, random: &mut dyn Random) -> Result<Pair, GeneratorError> {
    match bits {
        384 => {
            let key = draw::<48, _>(random, 0xff, |bytes| p384::SecretKey::from_slice(bytes).ok())?;
            let point = key.public_key().to_sec1_point(false);
            Ok(ecdsa_fields(
                "ecdsa-sha2-nistp384",
                "nistp384",
                point.as_bytes(),
                &key.to_bytes(),
            ))
        }
        521 => {
            let key = draw::<66, _>(random, 0x01, |bytes| p521::SecretKey::from_slice(bytes).ok())?;
            let point = key.public_key().to_sec1_point(false);
            Ok(ecdsa_fields(
                "ecdsa-sha2-nistp521",
                "nistp521",
                point.as_bytes(),
                &key.to_bytes(),
            ))
        }
        _ => {
            let key = draw::<32, _>(random, 0xff, |bytes| p256::SecretKey::from_slice(bytes).ok())?;
            let point = key.public_key().to_sec1_point(false);
            Ok(ecdsa_fields(
                "ecdsa-sha2-nistp256",
                "nistp256",
                point.as_bytes(),
                &key.to_bytes(),
            ))
        }
    }
}

/// Random numbers until one is a private key; `mask` cuts the first byte where the curve's order is no whole bytes.
fn draw<const SIZE: usize, K>(
    random: &mut dyn Random,
    mask: u8,
    parse: impl Fn(&[u8]) -> Option<K>,
) -> Result<K, GeneratorError> {
    loop {
        let mut bytes = Zeroizing::new([0; SIZE]);
        random.fill(&mut *bytes)?;
        bytes[0] &= mask;
        if let Some(key) = parse(&*bytes) {
            return Ok(key);
        }
    }
}

fn ecdsa_fields(algorithm: &'static str, curve: &str, point: &[u8], secret: &[u8]) -> Pair {
    let mut public = Vec::new();
    put(&mut public, curve.as_bytes());
    put(&mut public, point);
    let mut private = Zeroizing::new(public.clone());
    put_number(&mut private, secret);
    Pair {
        algorithm,
        public,
        private,
    }
}

fn ed25519_pair(random: &mut dyn Random) -> Result<Pair, GeneratorError> {
    let mut seed = Zeroizing::new([0; 32]);
    random.fill(&mut *seed)?;
    let point = ed25519_dalek::SigningKey::from_bytes(&seed).verifying_key().to_bytes();
    let mut public = Vec::new();
    put(&mut public, &point);
    let mut private = Zeroizing::new(public.clone());
    put(&mut private, &[&seed[..], &point].concat());
    Ok(Pair {
        algorithm: "ssh-ed25519",
        public,
        private,
    })
}

/// Randomness in the form the number library wants, which knows no failure: one draw from our source, stretched by
/// SHA-256 in counter mode.
struct Source {
    seed: Zeroizing<[u8; 32]>,
    counter: u64,
}

impl Source {
    fn new(random: &mut dyn Random) -> Result<Self, GeneratorError> {
        let mut seed = Zeroizing::new([0; 32]);
        random.fill(&mut *seed)?;
        Ok(Self { seed, counter: 0 })
    }
}

impl rand_core::TryRng for Source {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        for chunk in bytes.chunks_mut(32) {
            let block = Sha256::new()
                .chain_update(*self.seed)
                .chain_update(self.counter.to_be_bytes())
                .finalize();
            chunk.copy_from_slice(&block[..chunk.len()]);
            self.counter += 1;
        }
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Source {}

#[cfg(test)]
#[path = "ssh_key_tests.rs"]
mod tests;
