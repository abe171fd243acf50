//! The refusal of values with NUL bytes (`nullBytePolicy: Fail`).

use std::collections::BTreeMap;

/// A value holds a NUL byte; the text is ESO's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "fetched secret value for key {} contains null bytes; use a text-safe format such as PEM/base64 or leave \
     nullBytePolicy unset for intentional binary data",
    crate::lang::unicode::quote(key.as_bytes())
)]
pub struct NullBytesError {
    /// The key of the first such value.
    pub key: String,
}

/// What to do about NUL bytes in values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NullBytePolicy {
    /// Nothing.
    #[default]
    Ignore,
    /// Refuse them.
    Fail,
}

/// Checks one value.
///
/// # Errors
/// The policy is `Fail` and the value holds a NUL byte.
pub fn check(policy: NullBytePolicy, key: &str, value: &[u8]) -> Result<(), NullBytesError> {
    if policy == NullBytePolicy::Fail && value.contains(&0) {
        return Err(NullBytesError { key: key.to_owned() });
    }
    Ok(())
}

/// Checks all values, in the order of their keys.
///
/// # Errors
/// As [`check`].
pub fn check_all<V: AsRef<[u8]>>(policy: NullBytePolicy, data: &BTreeMap<String, V>) -> Result<(), NullBytesError> {
    data.iter()
        .try_for_each(|(key, value)| check(policy, key, value.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_with_a_nul_is_named() {
        let data = BTreeMap::from([
            ("c".to_owned(), vec![0]),
            ("a".to_owned(), b"text".to_vec()),
            ("b".to_owned(), b"x\0y".to_vec()),
        ]);
        let e = check_all(NullBytePolicy::Fail, &data).unwrap_err().to_string();
        assert_eq!(
            e,
            "fetched secret value for key \"b\" contains null bytes; use a text-safe format such as PEM/base64 or leave \
             nullBytePolicy unset for intentional binary data"
        );
        assert_eq!(check_all(NullBytePolicy::Ignore, &data), Ok(()));
    }
}
