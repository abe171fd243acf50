//! PKCS#12 files as go-pkcs12 reads and writes them.
//!
//! Reading: version 3 in DER; contents in the clear, under PBES2 (AES-CBC) or under the old SHA-1 schemes (3DES,
//! RC2); MAC by the old derivation or by PBMAC1. Writing: PBES2 with AES-256-CBC and an HMAC-SHA-256 MAC.

mod crypt;
mod kdf;
mod read;
mod write;

pub use read::{Contents, read};
pub use write::{write_key_store, write_trust_store};

use zeroize::Zeroizing;

use super::CryptoError;

/// A password in both forms that the schemes want.
struct Password {
    /// UTF-16, most significant byte first, with two zero bytes at the end.
    wide: Zeroizing<Vec<u8>>,
    /// UTF-8.
    text: Zeroizing<Vec<u8>>,
}

impl Password {
    /// # Errors
    /// For characters beyond the basic plane.
    fn new(password: &[u8]) -> Result<Self, CryptoError> {
        let text = Zeroizing::new(String::from_utf8_lossy(password).into_owned());
        let mut wide = Zeroizing::new(wide_text(&text)?);
        wide.extend_from_slice(&[0, 0]);
        Ok(Self {
            wide,
            text: Zeroizing::new(text.as_bytes().to_vec()),
        })
    }

    /// No password at all, which the old derivation tells from an empty one.
    fn none() -> Self {
        Self {
            wide: Zeroizing::new(Vec::new()),
            text: Zeroizing::new(Vec::new()),
        }
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Text in two bytes per character.
fn wide_text(text: &str) -> Result<Vec<u8>, CryptoError> {
    let mut wide = Vec::with_capacity(2 * text.len() + 2);
    for c in text.chars() {
        let unit = u16::try_from(u32::from(c))
            .map_err(|_| CryptoError::new("pkcs12: string contains characters that cannot be encoded in UCS-2"))?;
        wide.extend_from_slice(&unit.to_be_bytes());
    }
    Ok(wide)
}

fn not_implemented(what: &str) -> CryptoError {
    CryptoError::new(format!("pkcs12: {what}"))
}
