//! Values that arrive as base64 (`decodingStrategy`).

use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// How values are decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decoding {
    /// Not at all.
    #[default]
    None,
    /// The standard alphabet with padding.
    Base64,
    /// The alphabet for addresses with padding.
    Base64Url,
    /// The first of the two that fits, else not at all. Any text that happens to be base64 is decoded.
    Auto,
}

/// Why a value cannot be decoded; the texts are ESO's and name no part of the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not base64.
    #[error("illegal base64 data at input byte {0}")]
    Illegal(usize),
    /// The same, of one key among many.
    #[error("failure decoding key {key}: illegal base64 data at input byte {at}")]
    Key {
        /// The key.
        key: String,
        /// The offset in its value.
        at: usize,
    },
    /// A strategy ESO does not know.
    #[error("decoding strategy {0} is not supported")]
    Strategy(String),
}

impl Decoding {
    /// Reads the API's name of a strategy; empty is `None`.
    ///
    /// # Errors
    /// A name ESO does not know.
    pub fn parse(name: &str) -> Result<Self, DecodeError> {
        Ok(match name {
            "" | "None" => Self::None,
            "Base64" => Self::Base64,
            "Base64URL" => Self::Base64Url,
            "Auto" => Self::Auto,
            other => return Err(DecodeError::Strategy(other.to_owned())),
        })
    }
}

/// Decodes one value; nothing if it stays as it is.
///
/// # Errors
/// The value is not base64.
pub fn value(decoding: Decoding, text: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, DecodeError> {
    let decoded = match decoding {
        Decoding::None => return Ok(None),
        Decoding::Base64 => base64(text, Alphabet::Standard),
        Decoding::Base64Url => base64(text, Alphabet::Url),
        Decoding::Auto => {
            let decoded = base64(text, Alphabet::Standard).or_else(|_| base64(text, Alphabet::Url));
            return Ok(decoded.ok());
        }
    };
    decoded.map(Some).map_err(DecodeError::Illegal)
}

/// Decodes all values, in the order of their keys.
///
/// # Errors
/// The first value that is not base64, with its key.
pub fn values<V>(decoding: Decoding, mut data: BTreeMap<String, V>) -> Result<BTreeMap<String, V>, DecodeError>
where
    V: AsRef<[u8]> + From<Vec<u8>>,
{
    for (key, bytes) in &mut data {
        match value(decoding, bytes.as_ref()) {
            Ok(None) => {}
            Ok(Some(mut decoded)) => *bytes = V::from(std::mem::take(&mut *decoded)),
            Err(DecodeError::Illegal(at)) => return Err(DecodeError::Key { key: key.clone(), at }),
            Err(other) => return Err(other),
        }
    }
    Ok(data)
}

/// The two characters in which the alphabets differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// `+` and `/`
    Standard,
    /// `-` and `_`
    Url,
}

impl Alphabet {
    fn digit(self, b: u8) -> Option<u8> {
        Some(match (b, self) {
            (b'A'..=b'Z', _) => b - b'A',
            (b'a'..=b'z', _) => b - b'a' + 26,
            (b'0'..=b'9', _) => b - b'0' + 52,
            (b'+', Self::Standard) | (b'-', Self::Url) => 62,
            (b'/', Self::Standard) | (b'_', Self::Url) => 63,
            _ => return None,
        })
    }
}

/// Decodes padded base64 as Go does: line breaks are skipped, padding is required, left-over bits may be anything.
///
/// # Errors
/// The offset Go reports: the byte that does not belong, or the start of an incomplete group.
pub fn base64(text: &[u8], alphabet: Alphabet) -> Result<Zeroizing<Vec<u8>>, usize> {
    let mut out = Zeroizing::new(Vec::with_capacity(text.len() / 4 * 3 + 3));
    let mut at = 0;
    loop {
        let mut group = [0u8; 4];
        let mut filled = 0;
        while filled < 4 {
            let Some(&b) = text.get(at) else {
                // Go steps back over as many bytes as digits are missing a partner, line breaks or not
                return if filled == 0 { Ok(out) } else { Err(at - filled) };
            };
            at += 1;
            match (alphabet.digit(b), b) {
                (Some(digit), _) => {
                    group[filled] = digit;
                    filled += 1;
                }
                (None, b'\n' | b'\r') => {}
                (None, b'=') => {
                    at = padding(text, at, filled)?;
                    push_group(&mut out, group, filled);
                    return if at < text.len() { Err(at) } else { Ok(out) };
                }
                (None, _) => return Err(at - 1),
            }
        }
        push_group(&mut out, group, 4);
    }
}

/// Checks the padding whose first `=` is before `at`, and skips the line breaks behind it.
fn padding(text: &[u8], mut at: usize, filled: usize) -> Result<usize, usize> {
    let skip = |at: usize| at + text[at..].iter().take_while(|b| matches!(b, b'\n' | b'\r')).count();
    if filled < 2 {
        return Err(at - 1);
    }
    if filled == 2 {
        at = skip(at);
        match text.get(at) {
            None => return Err(text.len()),
            Some(b'=') => at += 1,
            Some(_) => return Err(at - 1),
        }
    }
    Ok(skip(at))
}

fn push_group(out: &mut Vec<u8>, [a, b, c, d]: [u8; 4], digits: usize) {
    let bytes = [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d];
    out.extend_from_slice(&bytes[..digits - 1]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_byte() {
        let illegal = |text: &str| value(Decoding::Base64, text.as_bytes()).unwrap_err().to_string();
        assert_eq!(illegal("not base64!"), "illegal base64 data at input byte 3");
        assert_eq!(illegal("YWI"), "illegal base64 data at input byte 0");
        assert_eq!(illegal("_-8="), "illegal base64 data at input byte 0");
        let data = BTreeMap::from([("a".to_owned(), b"aGVsbG8=".to_vec()), ("b".to_owned(), b"?".to_vec())]);
        let e = values(Decoding::Base64, data).unwrap_err().to_string();
        assert_eq!(e, "failure decoding key b: illegal base64 data at input byte 0");
        let e = Decoding::parse("Hex").unwrap_err().to_string();
        assert_eq!(e, "decoding strategy Hex is not supported");
    }

    #[test]
    fn auto_takes_whatever_fits() {
        let auto = |text: &str| {
            value(Decoding::Auto, text.as_bytes())
                .unwrap()
                .map(|bytes| bytes.to_vec())
        };
        assert_eq!(auto("test"), Some(vec![0xb5, 0xeb, 0x2d]));
        assert_eq!(auto("_-8="), Some(vec![0xff, 0xef]));
        assert_eq!(auto("not base64!"), None);
        assert_eq!(auto(""), Some(Vec::new()));
    }

    #[test]
    fn every_value_of_a_map_is_decoded() {
        let data = BTreeMap::from([
            ("a".to_owned(), b"aGVs\r\nbG8=\n".to_vec()),
            ("b".to_owned(), b"YR==".to_vec()),
        ]);
        let data = values(Decoding::Base64, data).unwrap();
        assert_eq!(data["a"], b"hello");
        assert_eq!(data["b"], b"a");
    }
}
