//! Byte text that is shared, counted and wiped.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use zeroize::Zeroize;

use crate::template::engine::meter::Charge;

/// An immutable byte string, cheap to clone. Its memory is wiped when the last clone goes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Str(Arc<Buffer>);

struct Buffer {
    bytes: Vec<u8>,
    /// `None` for constants of a compiled template, which outlive a run and may change threads.
    _charge: Option<Charge>,
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Buffer {}

impl PartialOrd for Buffer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Buffer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

impl std::hash::Hash for Buffer {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.bytes[..].hash(state);
    }
}

impl Str {
    /// A text made during a run; it counts against the memory limit.
    pub fn new(bytes: Vec<u8>) -> Self {
        let charge = Some(Charge::new(bytes.len() + 64));
        Self(Arc::new(Buffer { bytes, _charge: charge }))
    }

    /// A constant of a compiled template; it does not count against the limits of a run.
    pub fn constant(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Buffer { bytes, _charge: None }))
    }

    /// The text with every invalid byte replaced by U+FFFD, for messages.
    pub fn to_lossy(&self) -> String {
        String::from_utf8_lossy(self).into_owned()
    }
}

impl Deref for Str {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl Borrow<[u8]> for Str {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl AsRef<[u8]> for Str {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Vec<u8>> for Str {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes)
    }
}

impl From<&[u8]> for Str {
    fn from(bytes: &[u8]) -> Self {
        Self::new(bytes.to_vec())
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Self::new(text.into_bytes())
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes().to_vec())
    }
}

impl fmt::Debug for Str {
    /// The length alone: the text may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Str({} bytes)", self.len())
    }
}
