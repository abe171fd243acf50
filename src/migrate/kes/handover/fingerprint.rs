//! Keyed hashes of secret values: enough to see a change, useless without the key.

use std::fmt;

use hmac::digest::common::Key;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// Length of the key in bytes.
pub const KEY_LENGTH: usize = 32;

/// HMAC-SHA-256 of one value, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

/// Makes fingerprints that can be compared with each other. `Debug` does not show the key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprinter {
    key: String,
}

impl fmt::Debug for Fingerprinter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprinter(…)")
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |out, b| {
        out + &format!("{b:02x}")
    })
}

/// HMAC's key block of SHA-256. A key of 64 hexadecimal digits fills it exactly; a shorter one is padded, as HMAC says.
fn block(key: &str) -> Key<Hmac<Sha256>> {
    let mut block = Key::<Hmac<Sha256>>::default();
    for (to, from) in block.iter_mut().zip(key.bytes()) {
        *to = from;
    }
    block
}

impl Fingerprinter {
    /// From random bytes.
    #[must_use]
    pub fn new(key: &[u8; KEY_LENGTH]) -> Self {
        Self { key: hex(key) }
    }

    /// The fingerprint of a value stored under a name; equal values under two names differ.
    #[must_use]
    pub fn of(&self, name: &str, value: &[u8]) -> Fingerprint {
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&block(&self.key));
        mac.update(&(name.len() as u64).to_be_bytes());
        mac.update(name.as_bytes());
        mac.update(value);
        Fingerprint(hex(&mac.finalize().into_bytes()))
    }
}
