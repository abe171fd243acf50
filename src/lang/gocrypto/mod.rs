//! What templates need of Go's `crypto/x509`, `encoding/pem`, go-pkcs12 and a JWK reader.
//!
//! Everything is a function of its input; randomness and the allowance for costly key derivation are arguments.
//! Messages are Go's; none of them repeats key material or certificate contents.

mod der;
mod dsa;
mod issue;
mod jwk;
mod keys;
mod name;
mod oid;
mod pem;
pub mod pkcs12;
#[cfg(test)]
mod tests;
mod x509;

use std::convert::Infallible;

use rsa::rand_core::{TryCryptoRng, TryRng};

pub use dsa::DsaKey;
pub use issue::{Issuer, Request, issue};
pub use jwk::{private_key_der, public_key_der};
pub use keys::{PrivateKey, PublicKey};
pub use pem::{Block, decode as decode_pem, encode as encode_pem};
pub use x509::Certificate;

/// Why keys or certificates could not be read, made or used. The text is Go's where Go has one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct CryptoError {
    text: String,
    limit: bool,
}

impl CryptoError {
    /// An error with this message.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            limit: false,
        }
    }

    /// The allowance for costly work is used up.
    pub fn limit() -> Self {
        Self {
            text: "key derivation takes too long".to_owned(),
            limit: true,
        }
    }

    /// True when an allowance, not the input, is the reason.
    pub fn is_limit(&self) -> bool {
        self.limit
    }

    /// The same error with a text in front of it.
    #[must_use]
    pub fn prefixed(self, prefix: &str) -> Self {
        Self {
            text: format!("{prefix}{}", self.text),
            ..self
        }
    }
}

/// A source of random bytes: fills the buffer.
pub type Random<'r> = dyn FnMut(&mut [u8]) + 'r;

/// An allowance for costly work: called before so many rounds of a hash; false refuses them.
pub type Allowance<'a> = dyn FnMut(u64) -> bool + 'a;

/// The random source in the form the number libraries want.
struct Adapter<'a, 'r>(&'a mut Random<'r>);

impl TryRng for Adapter<'_, '_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        (self.0)(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        (self.0)(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        (self.0)(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Adapter<'_, '_> {}
