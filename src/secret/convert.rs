//! Keys made fit for a Secret, and the check that they are.

use crate::lang::unicode::{is_letter, is_number};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Bytes a Secret's key may have.
const MAX_KEY: usize = 253;

/// How characters that no key may have are replaced (`conversionStrategy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Conversion {
    /// By `_`.
    #[default]
    Default,
    /// By `_U%04x_` of the code point.
    Unicode,
}

/// Why keys cannot be used; the texts are ESO's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Two keys became one.
    #[error("secret name collision during conversion: {0}")]
    Collision(String),
    /// A key is too long; only its beginning is shown.
    #[error("key has length {length} but max is 253: (following is truncated): {start}")]
    TooLong {
        /// In bytes.
        length: usize,
        /// The first 253 bytes.
        start: String,
    },
    /// A key has a character that is not allowed.
    #[error("key has invalid character {character}, only alphanumeric, '-', '.' and '_' are allowed: {key}")]
    Character {
        /// The first such character.
        character: char,
        /// The key.
        key: String,
    },
}

/// Whether a key may have `c`: letters and numbers of any script (the API server is stricter), and `-`, `.`, `_`.
fn allowed(c: char) -> bool {
    matches!(c, '-' | '.' | '_') || is_letter(c) || is_number(c)
}

/// One key, converted.
#[must_use]
pub fn key(conversion: Conversion, key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for c in key.chars() {
        match conversion {
            _ if allowed(c) => out.push(c),
            Conversion::Default => out.push('_'),
            Conversion::Unicode => write!(out, "_U{:04x}_", u32::from(c)).expect("writing to a string cannot fail"),
        }
    }
    out
}

/// All keys, converted.
///
/// # Errors
/// Two keys that become one.
pub fn keys<V>(conversion: Conversion, data: BTreeMap<String, V>) -> Result<BTreeMap<String, V>, KeyError> {
    rename(data, |name| key(conversion, name))
}

/// Undoes [`Conversion::Unicode`] (`ReverseUnicode` of a PushSecret): `_U` with four or five hex digits and `_` becomes
/// the character. What is no character becomes U+FFFD.
///
/// # Errors
/// Two keys that become one.
pub fn reverse_unicode<V>(data: BTreeMap<String, V>) -> Result<BTreeMap<String, V>, KeyError> {
    rename(data, reverse_key)
}

fn reverse_key(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    let mut rest = key;
    while let Some(at) = rest.find("_U") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let digits = from[2..].bytes().take(5).take_while(u8::is_ascii_hexdigit).count();
        // five digits if five are there and `_` follows, else four
        let fits = [5, 4]
            .into_iter()
            .find(|n| *n <= digits && from[2 + n..].starts_with('_'));
        if let Some(n) = fits {
            let code = u32::from_str_radix(&from[2..2 + n], 16).ok();
            out.push(code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = &from[n + 3..];
        } else {
            out.push_str("_U");
            rest = &from[2..];
        }
    }
    out.push_str(rest);
    out
}

fn rename<V>(data: BTreeMap<String, V>, name: impl Fn(&str) -> String) -> Result<BTreeMap<String, V>, KeyError> {
    let mut out = BTreeMap::new();
    for (key, value) in data {
        let key = name(&key);
        if out.contains_key(&key) {
            return Err(KeyError::Collision(key));
        }
        out.insert(key, value);
    }
    Ok(out)
}

/// Drops the empty key and checks all others, in their order.
///
/// # Errors
/// A key that is too long or has a character that is not allowed.
pub fn validate<V>(mut data: BTreeMap<String, V>) -> Result<BTreeMap<String, V>, KeyError> {
    data.remove("");
    for key in data.keys() {
        if key.len() > MAX_KEY {
            let start = String::from_utf8_lossy(&key.as_bytes()[..MAX_KEY]).into_owned();
            return Err(KeyError::TooLong {
                length: key.len(),
                start,
            });
        }
        if let Some(character) = key.chars().find(|c| !allowed(*c)) {
            return Err(KeyError::Character {
                character,
                key: key.clone(),
            });
        }
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(keys: &[&str]) -> BTreeMap<String, u8> {
        keys.iter().map(|key| ((*key).to_owned(), 0)).collect()
    }

    fn names(data: &BTreeMap<String, u8>) -> Vec<&str> {
        data.keys().map(String::as_str).collect()
    }

    #[test]
    fn characters_outside_letters_and_numbers_are_replaced() {
        let cases = [
            ("a-b.c_d1", "a-b.c_d1", "a-b.c_d1"),
            ("a/b c", "a_b_c", "a_U002f_b_U0020_c"),
            ("é中½Ⅷ", "é中½Ⅷ", "é中½Ⅷ"),
            // a letter in Rust's sense, but no letter or number by category
            ("Ⓐ", "_", "_U24b6_"),
            ("x\u{301}", "x_", "x_U0301_"),
            ("\u{1f600}", "_", "_U1f600_"),
            ("", "", ""),
        ];
        for (given, plain, unicode) in cases {
            assert_eq!(key(Conversion::Default, given), plain, "{given}");
            assert_eq!(key(Conversion::Unicode, given), unicode, "{given}");
        }
    }

    #[test]
    fn two_keys_that_meet_are_an_error() {
        let e = keys(Conversion::Default, map(&["a/b", "a_b"])).unwrap_err();
        assert_eq!(e.to_string(), "secret name collision during conversion: a_b");
        let apart = keys(Conversion::Unicode, map(&["a/b", "a_b"])).unwrap();
        assert_eq!(names(&apart), ["a_U002f_b", "a_b"]);
    }

    #[test]
    fn unicode_is_undone() {
        let cases = [
            ("a_U002f_b_U0020_c", "a/b c"),
            ("_U1f600_", "\u{1f600}"),
            ("_U12345_x", "\u{12345}x"),
            ("_U002F_", "/"),
            ("_U02f_", "_U02f_"),
            ("_U002fg_", "_U002fg_"),
            ("_Ud800_", "\u{fffd}"),
            ("__U0041__U0042_", "_AB"),
            ("_U_U0041_", "_UA"),
        ];
        for (given, want) in cases {
            assert_eq!(reverse_key(given), want, "{given}");
        }
        let e = reverse_unicode(map(&["/", "_U002f_"])).unwrap_err();
        assert_eq!(e, KeyError::Collision("/".to_owned()));
    }

    #[test]
    fn keys_are_checked_as_eso_checks_them() {
        assert_eq!(names(&validate(map(&["", "a", "é.b-c_1"])).unwrap()), ["a", "é.b-c_1"]);
        let e = validate(map(&["ok", "x y"])).unwrap_err().to_string();
        assert_eq!(
            e,
            "key has invalid character  , only alphanumeric, '-', '.' and '_' are allowed: x y"
        );
        let long = "k".repeat(254);
        let e = validate(map(&[&long])).unwrap_err().to_string();
        assert_eq!(
            e,
            format!(
                "key has length 254 but max is 253: (following is truncated): {}",
                "k".repeat(253)
            )
        );
        assert!(validate(map(&[&long[..253]])).is_ok());
    }
}
