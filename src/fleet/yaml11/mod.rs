//! YAML as Fleet's command line reads it: YAML 1.1 scalars, then JSON.
//!
//! `fleet.yaml`, Helm values files and targets files are read by the original with go-yaml v2 and
//! turned into JSON before anything looks at them. `yes` is a boolean there, `0644` is 420, and every
//! number in Helm values passes through a double. A YAML 1.2 reader gives other values, so this module
//! keeps scalars as written, resolves them by the older rules and says where the two readings differ.
mod convert;
mod read;
mod resolve;
#[cfg(test)]
mod tests;

pub use convert::{Coerce, to_json};
pub(in crate::fleet) use convert::{entries, scalar_of};
pub use read::{Node, NodeKind, Style, parse};
pub(in crate::fleet) use resolve::go_float_32;
pub use resolve::{Scalar, differs_from_yaml_1_2, resolve};

/// The first document of a text as JSON; nothing at all is null.
///
/// # Errors
/// As [`parse`] and [`to_json`]; [`YamlError::Syntax`] also for bytes that are not UTF-8.
pub fn value(bytes: &[u8]) -> Result<serde_json::Value, YamlError> {
    let text = std::str::from_utf8(bytes).map_err(|_| YamlError::Syntax {
        line: 1,
        message: "not UTF-8".to_owned(),
    })?;
    parse(text)?.map_or(Ok(serde_json::Value::Null), |node| to_json(&node, Coerce::Typed))
}

/// Why a document could not be read. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// The text is not YAML.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line of the first offending character.
        line: usize,
        /// The parser's words.
        message: String,
    },
    /// An explicit tag does not fit its scalar, as in `!!int x`.
    #[error("line {line}: cannot read `{text}` as {tag}")]
    Tag {
        /// Line of the scalar.
        line: usize,
        /// The scalar as written.
        text: String,
        /// The tag, short form.
        tag: String,
    },
    /// A mapping key that JSON cannot hold (null, list, map).
    #[error("line {line}: a mapping key must be text, a number or a boolean")]
    Key {
        /// Line of the key.
        line: usize,
    },
    /// `<<` with something that is neither a mapping nor a list of mappings.
    #[error("line {line}: map merge requires a map or a list of maps as its value")]
    Merge {
        /// Line of the merged value.
        line: usize,
    },
    /// A number without a JSON form: `.inf`, `.nan`.
    #[error("line {line}: {text} has no JSON form")]
    NotFinite {
        /// Line of the scalar.
        line: usize,
        /// The scalar as written.
        text: String,
    },
    /// Aliases or nesting beyond the limits of this reader.
    #[error("line {line}: the document is nested or aliased beyond the limit")]
    TooLarge {
        /// Line where the limit was passed.
        line: usize,
    },
}
