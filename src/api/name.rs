//! Names checked once, so that later steps need not ask again.

use std::fmt;

/// `namespace/name` of an object; the namespace is empty for cluster-scoped ones. Printed without the slash then.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NamespacedName {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl NamespacedName {
    /// From its two parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// Why a text is no valid name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing there.
    #[error("name is empty")]
    Empty,
    /// Longer than Kubernetes allows.
    #[error("name {name:?} has {length} characters but {max} is the most")]
    TooLong {
        /// The text.
        name: String,
        /// Its length in bytes.
        length: usize,
        /// The most allowed.
        max: usize,
    },
    /// A character or its place is wrong.
    #[error("name {name:?} may hold only {allowed}")]
    Characters {
        /// The text.
        name: String,
        /// What is allowed, in words.
        allowed: &'static str,
    },
}

macro_rules! checked_name {
    ($(#[$doc:meta])* $name:ident, $check:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Checks and keeps `text`.
            pub fn parse(text: &str) -> Result<Self, NameError> {
                $check(text)?;
                Ok(Self(text.to_owned()))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked_name!(
    /// A namespace name: DNS-1123 label, at most 63 characters.
    Namespace,
    check_label
);
checked_name!(
    /// An object name: DNS-1123 subdomain, at most 253 characters.
    ObjectName,
    check_subdomain
);
checked_name!(
    /// A key of a Secret or ConfigMap: at most 253 of letters, digits, `-`, `_`, `.`.
    DataKey,
    check_data_key
);

/// Checks a DNS-1123 label (Kubernetes: at most 63 of `a-z`, `0-9`, `-`, no dash at either end).
pub fn check_label(text: &str) -> Result<(), NameError> {
    check_length(text, 63)?;
    if is_label(text) {
        Ok(())
    } else {
        Err(wrong(text, "a-z, 0-9 and -, with a letter or digit at both ends"))
    }
}

/// Checks a DNS-1123 subdomain (Kubernetes: labels joined by dots, at most 253).
pub fn check_subdomain(text: &str) -> Result<(), NameError> {
    check_length(text, 253)?;
    if text.split('.').all(is_label) {
        Ok(())
    } else {
        Err(wrong(
            text,
            "a-z, 0-9, - and ., with a letter or digit around each dot and at both ends",
        ))
    }
}

/// Checks a data key (Kubernetes: at most 253 of letters, digits, `-`, `_`, `.`, and neither `.` nor `..` alone).
pub fn check_data_key(text: &str) -> Result<(), NameError> {
    check_length(text, 253)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.bytes().all(allowed) && text != "." && !text.starts_with("..") {
        Ok(())
    } else {
        Err(wrong(text, "letters, digits, -, _ and ., and may not start with .."))
    }
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn check_length(text: &str, max: usize) -> Result<(), NameError> {
    match text.len() {
        0 => Err(NameError::Empty),
        length if length > max => Err(NameError::TooLong {
            name: text.to_owned(),
            length,
            max,
        }),
        _ => Ok(()),
    }
}

fn wrong(text: &str, allowed: &'static str) -> NameError {
    NameError::Characters {
        name: text.to_owned(),
        allowed,
    }
}

#[cfg(test)]
mod tests {
    use super::{DataKey, Namespace, NamespacedName, ObjectName};

    #[test]
    fn accepts_what_kubernetes_accepts() {
        assert!(Namespace::parse("team-a").is_ok());
        assert!(ObjectName::parse("a.b-c.d0").is_ok());
        assert!(DataKey::parse("tls.crt").is_ok());
        assert!(DataKey::parse(".dockerconfigjson").is_ok());
    }

    #[test]
    fn refuses_what_kubernetes_refuses() {
        for text in ["", "Team", "-a", "a-", "a.b", &"a".repeat(64)] {
            assert!(Namespace::parse(text).is_err(), "{text}");
        }
        for text in ["", ".a", "a..b", "a/b", &"a".repeat(254)] {
            assert!(ObjectName::parse(text).is_err(), "{text}");
        }
        for text in ["", ".", "..", "a/b", "ä"] {
            assert!(DataKey::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn prints_the_namespace_only_if_there_is_one() {
        assert_eq!(NamespacedName::new("ns", "x").to_string(), "ns/x");
        assert_eq!(NamespacedName::new("", "x").to_string(), "x");
    }
}
