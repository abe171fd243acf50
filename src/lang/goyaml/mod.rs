//! YAML as Go's `go-yaml` v2 reads and writes it: YAML 1.1 scalars, merge keys, natural key order.
//!
//! go-yaml v2 grew out of libyaml; so the reader works in its steps (characters, tokens, events, nodes, values)
//! and the writer follows its rules for styles and folding.
//!
//! Two layers, as `sigs.k8s.io/yaml` has them:
//!
//! * [`parse`] and [`emit`] work on [`Yaml`], which keeps integers apart from floats and allows any scalar as key;
//! * [`to_json`] turns that into a JSON-like [`Json`] tree, where every key is text.
//!
//! Input is hostile until proven otherwise: nesting is limited to [`MAX_DEPTH`], aliases may not multiply a
//! document beyond go-yaml's own ratio nor beyond [`MAX_BYTES`].

mod compose;
mod decode;
mod events;
mod json;
mod number;
mod order;
mod resolve;
mod scalar;
mod scan;
mod source;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

use zeroize::Zeroizing;

pub use json::{Json, Target, to_json};
pub use number::{format_float32, format_float64};
pub use write::emit;

/// Deepest nesting that is read; go-yaml stops at 10000, which no real document comes near.
pub const MAX_DEPTH: usize = 1000;

/// Most bytes of scalar text a document may hold once its aliases are resolved.
pub const MAX_BYTES: usize = 64 << 20;

/// A YAML value as go-yaml decodes it into an untyped variable.
#[derive(Clone, PartialEq)]
pub enum Yaml {
    /// `~`, `null` or nothing at all.
    Null,
    /// `yes`, `on`, `true` and their opposites.
    Bool(bool),
    /// An integer that fits 64 bits with sign.
    Int(i64),
    /// A larger integer, up to 64 bits without sign.
    Uint(u64),
    /// A number with fraction or exponent, or an integer beyond 64 bits.
    Float(f64),
    /// Text, a date, or the bytes of a `!!binary` scalar.
    Text(Zeroizing<Vec<u8>>),
    /// A sequence.
    List(Vec<Yaml>),
    /// A mapping in document order; a later duplicate key has replaced the earlier value.
    Map(Vec<(Yaml, Yaml)>),
}

/// Why YAML could not be read or written.
///
/// Some of Go's messages repeat a piece of the document; those have a second text without it.
#[derive(Clone, PartialEq, Eq)]
pub struct YamlError {
    text: String,
    masked: Option<String>,
}

impl YamlError {
    /// A message that repeats nothing of the document.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            masked: None,
        }
    }

    /// A message that repeats a piece of the document, and the same without that piece.
    pub(crate) fn with_data(text: impl Into<String>, masked: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            masked: Some(masked.into()),
        }
    }

    /// The message with a text in front of it.
    #[must_use]
    pub fn prefixed(self, prefix: &str) -> Self {
        Self {
            text: format!("{prefix}{}", self.text),
            masked: self.masked.map(|masked| format!("{prefix}{masked}")),
        }
    }

    /// The message as Go prints it; it may repeat a piece of the document.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The message without any piece of the document.
    pub fn redacted(&self) -> &str {
        self.masked.as_deref().unwrap_or(&self.text)
    }
}

impl fmt::Debug for Yaml {
    /// The type alone: documents hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "Yaml(null)",
            Self::Bool(_) => "Yaml(bool)",
            Self::Int(_) | Self::Uint(_) => "Yaml(int)",
            Self::Float(_) => "Yaml(float)",
            Self::Text(_) => "Yaml(text)",
            Self::List(_) => "Yaml(list)",
            Self::Map(_) => "Yaml(map)",
        })
    }
}

impl fmt::Debug for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "YamlError({})", self.redacted())
    }
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.redacted())
    }
}

impl std::error::Error for YamlError {}

/// Reads the first document of a text, as `yaml.Unmarshal` into an untyped variable does.
///
/// # Errors
/// Syntax errors, tags that do not fit (`!!int x`), unknown anchors, excessive aliasing or nesting; messages
/// begin with `yaml: ` as in Go.
pub fn parse(text: &[u8]) -> Result<Yaml, YamlError> {
    let document = compose::compose(text)?;
    match document {
        Some(document) => decode::decode(&document),
        None => Ok(Yaml::Null),
    }
}

/// Reads a document the way `sigs.k8s.io/yaml` does when the target is a map of untyped values.
///
/// # Errors
/// `error converting YAML to JSON: …` and `error unmarshaling JSON: …`, as in Go.
pub fn unmarshal_map(text: &[u8]) -> Result<Vec<(Vec<u8>, Json)>, YamlError> {
    let tree = read_json(text, Target::Any)?;
    match tree {
        Json::Null => Ok(Vec::new()),
        Json::Map(entries) => Ok(entries),
        other => Err(wrong_target(other.kind(), "map[string]interface {}")),
    }
}

/// Keys and values of a map of texts, in byte order of the keys.
pub type TextEntries = Vec<(Vec<u8>, Zeroizing<Vec<u8>>)>;

/// Reads a document the way `sigs.k8s.io/yaml` does when the target is a map of texts.
///
/// Numbers and booleans become text (`0042` is `34`), null is the empty text.
///
/// # Errors
/// As [`unmarshal_map`], and when a value is itself a list or a map.
pub fn unmarshal_text_map(text: &[u8]) -> Result<TextEntries, YamlError> {
    let entries = match read_json(text, Target::TextMap)? {
        Json::Null => return Ok(Vec::new()),
        Json::Map(entries) => entries,
        other => return Err(wrong_target(other.kind(), "map[string]string")),
    };
    entries
        .into_iter()
        .map(|(key, value)| match value {
            Json::Text(text) => Ok((key, text)),
            Json::Null => Ok((key, Zeroizing::default())),
            other => Err(wrong_target(other.kind(), "string")),
        })
        .collect()
}

/// Reads a document into a JSON-like tree without a target type, as generic manifests need it.
///
/// # Errors
/// `error converting YAML to JSON: …`.
pub fn unmarshal_any(text: &[u8]) -> Result<Json, YamlError> {
    read_json(text, Target::Any)
}

/// Turns JSON text into YAML text, as the last step of `sigs.k8s.io/yaml.Marshal`; ends with a newline.
///
/// The JSON is read with the YAML reader, as Go does it: characters that YAML refuses make it fail.
///
/// # Errors
/// Those of [`parse`].
pub fn json_text_to_yaml(json: &[u8]) -> Result<Vec<u8>, YamlError> {
    emit(&parse(json)?)
}

fn read_json(text: &[u8], target: Target) -> Result<Json, YamlError> {
    parse(text)
        .and_then(|yaml| to_json(&yaml, target))
        .map_err(|error| error.prefixed("error converting YAML to JSON: "))
}

fn wrong_target(found: &str, wanted: &str) -> YamlError {
    YamlError::new(format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type {wanted}"
    ))
}
