//! Cluster ids: short, label-safe names of downstreams, made from the context name at the first naming only.

use sha2::{Digest, Sha256};

/// Longest id taken as it is; longer ones are cut and get a hash.
const MAX: usize = 40;
const CUT: usize = 31;

/// A cluster id from a context name: lower case, other characters than `[a-z0-9-]` become `-`, runs collapse, ends are
/// trimmed; if that changed anything, or the result is longer than 40, it is cut to 31 and gets `-` and 8 hex digits of
/// the SHA-256 of the original name, so that two names never share an id.
pub fn from_context(context: &str) -> String {
    let mut id = String::new();
    for c in context.chars() {
        let c = c.to_ascii_lowercase();
        let c = if c.is_ascii_lowercase() || c.is_ascii_digit() {
            c
        } else {
            '-'
        };
        if c != '-' || !id.ends_with('-') {
            id.push(c);
        }
    }
    let trimmed = id.trim_matches('-');
    if trimmed == context && trimmed.len() <= MAX {
        return trimmed.to_owned();
    }
    let hash = hex(&Sha256::digest(context.as_bytes())[..4]);
    let head = trimmed[..trimmed.len().min(CUT)].trim_end_matches('-');
    if head.is_empty() {
        format!("c-{hash}")
    } else {
        format!("{head}-{hash}")
    }
}

/// Whether an id typed by a user can be used as it is.
pub fn is_valid(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= MAX
        && id
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        && !id.starts_with('-')
        && !id.ends_with('-')
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

/// First 8 hex digits of SHA-256: enough to tell two tokens apart, useless to an attacker. Tokens only, never values.
pub fn fingerprint(token: &[u8]) -> String {
    hex(&Sha256::digest(token)[..4])
}

#[cfg(test)]
mod tests {
    use super::{from_context, is_valid};

    #[test]
    fn plain_names_stay() {
        assert_eq!(from_context("prod-eu-1"), "prod-eu-1");
    }

    #[test]
    fn changed_names_get_a_hash_and_stay_apart() {
        let (a, b) = (from_context("Prod_EU"), from_context("prod.eu"));
        assert!(
            a.starts_with("prod-eu-") && b.starts_with("prod-eu-") && a != b,
            "{a} {b}"
        );
        assert!(is_valid(&a) && is_valid(&b));
    }

    #[test]
    fn long_names_are_cut_to_forty() {
        let id = from_context(&"a".repeat(80));
        assert_eq!(id.len(), 40);
        assert!(is_valid(&id));
    }

    #[test]
    fn names_without_a_usable_character_still_get_an_id() {
        assert!(is_valid(&from_context("///")), "{}", from_context("///"));
    }
}
