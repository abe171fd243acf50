//! `SecretValue`: bytes that redact themselves in `Debug` and are wiped when dropped.

use std::fmt;

use zeroize::Zeroizing;

/// One secret value: any bytes, NUL and invalid UTF-8 included (Kubernetes Secrets hold bytes).
///
/// There is no `Display`, no `Serialize` and no `AsRef<str>`: whoever wants the bytes says so with [`SecretValue::expose`].
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretValue(Zeroizing<Vec<u8>>);

impl SecretValue {
    /// Takes ownership of `bytes`; they are wiped when the value is dropped.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The bytes themselves. Never log, print or put them into an error.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, given away; the receiver wipes them.
    pub fn into_exposed(mut self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(std::mem::take(&mut *self.0))
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True for a value of no bytes (which is a value, not an absence).
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// For the pure functions that work on any bytes.
impl AsRef<[u8]> for SecretValue {
    fn as_ref(&self) -> &[u8] {
        self.expose()
    }
}

impl From<Vec<u8>> for SecretValue {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl From<String> for SecretValue {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::SecretValue;

    #[test]
    fn debug_never_shows_bytes_or_length() {
        let shown = format!("{:?}", SecretValue::from("hunter2-hunter2".to_owned()));
        assert_eq!(shown, "SecretValue(***)");
    }

    #[test]
    fn exposes_the_same_bytes_back() {
        let bytes = vec![0, 255, b'a'];
        assert_eq!(SecretValue::new(bytes.clone()).expose(), &bytes[..]);
        assert_eq!(&*SecretValue::new(bytes.clone()).into_exposed(), &bytes);
    }
}
