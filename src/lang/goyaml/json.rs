//! From YAML values to a JSON-like tree: every key becomes text, and scalars too where text is wanted.

use std::collections::BTreeMap;
use std::fmt;

use zeroize::Zeroizing;

use super::number::{format_float32, format_float64};
use super::{Yaml, YamlError};

/// What `encoding/json` would hold after decoding: keys in byte order, all numbers 64-bit floats.
#[derive(Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(f64),
    /// Text in valid UTF-8.
    Text(Zeroizing<Vec<u8>>),
    /// A list.
    List(Vec<Json>),
    /// An object, keys in byte order.
    Map(Vec<(Vec<u8>, Json)>),
}

impl fmt::Debug for Json {
    /// The type alone: documents hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({})", self.kind())
    }
}

impl Json {
    /// The word Go's decoder uses for this kind of value.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "array",
            Self::Map(_) => "object",
        }
    }
}

/// The Go type that the tree is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An untyped value: scalars keep their type.
    Any,
    /// A map whose values are text: numbers and booleans turn into text.
    TextMap,
    /// Text.
    Text,
}

/// Converts a value.
///
/// # Errors
/// A key that is null or an unsigned 64-bit number, and numbers that JSON lacks (infinity, not a number).
pub fn to_json(yaml: &Yaml, target: Target) -> Result<Json, YamlError> {
    match yaml {
        Yaml::Map(entries) => map_to_json(entries, target),
        Yaml::List(items) => items
            .iter()
            .map(|item| to_json(item, Target::Any))
            .collect::<Result<_, _>>()
            .map(Json::List),
        Yaml::Null => Ok(Json::Null),
        Yaml::Text(text) => Ok(Json::Text(Zeroizing::new(lossy(text)))),
        scalar if target == Target::Text => Ok(Json::Text(Zeroizing::new(scalar_text(scalar).into_bytes()))),
        Yaml::Bool(value) => Ok(Json::Bool(*value)),
        #[expect(clippy::cast_precision_loss, reason = "JSON numbers are 64-bit floats in Go too")]
        Yaml::Int(number) => Ok(Json::Number(*number as f64)),
        #[expect(clippy::cast_precision_loss, reason = "JSON numbers are 64-bit floats in Go too")]
        Yaml::Uint(number) => Ok(Json::Number(*number as f64)),
        Yaml::Float(number) if number.is_finite() => Ok(Json::Number(*number)),
        Yaml::Float(number) => Err(YamlError::new(format!(
            "json: unsupported value: {}",
            format_float64(*number)
        ))),
    }
}

fn map_to_json(entries: &[(Yaml, Yaml)], target: Target) -> Result<Json, YamlError> {
    let element = if target == Target::TextMap {
        Target::Text
    } else {
        Target::Any
    };
    let mut map = BTreeMap::new();
    for (key, value) in entries {
        map.insert(key_text(key, value)?, to_json(value, element)?);
    }
    Ok(Json::Map(map.into_iter().collect()))
}

fn key_text(key: &Yaml, value: &Yaml) -> Result<Vec<u8>, YamlError> {
    match key {
        Yaml::Text(text) => Ok(lossy(text)),
        Yaml::Int(number) => Ok(number.to_string().into_bytes()),
        Yaml::Bool(value) => Ok(value.to_string().into_bytes()),
        Yaml::Float(number) => Ok(match format_float32(*number).as_str() {
            "+Inf" => b".inf".to_vec(),
            "-Inf" => b"-.inf".to_vec(),
            "NaN" => b".nan".to_vec(),
            text => text.as_bytes().to_vec(),
        }),
        Yaml::Uint(_) => Err(unsupported_key("uint64", key, value)),
        Yaml::Null | Yaml::List(_) | Yaml::Map(_) => Err(unsupported_key("%!s(<nil>)", key, value)),
    }
}

fn unsupported_key(kind: &str, key: &Yaml, value: &Yaml) -> YamlError {
    let masked = format!("unsupported map key of type: {kind}");
    YamlError::with_data(
        format!("{masked}, key: {}, value: {}", go_syntax(key), go_syntax(value)),
        masked.clone(),
    )
}

/// A value as Go's `%#v` prints it; only for messages that are shown to nobody who may not see the value.
pub(super) fn go_syntax(value: &Yaml) -> String {
    let inner = |value: &Yaml| match value {
        Yaml::Null => "interface {}(nil)".to_owned(),
        value => go_syntax(value),
    };
    match value {
        Yaml::Null => "<nil>".to_owned(),
        Yaml::Bool(value) => value.to_string(),
        Yaml::Int(number) => number.to_string(),
        Yaml::Uint(number) => format!("{number:#x}"),
        Yaml::Float(number) => format_float64(*number),
        Yaml::Text(text) => go_quoted(text),
        Yaml::List(items) => {
            let items: Vec<String> = items.iter().map(inner).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Yaml::Map(entries) => {
            let mut entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", inner(key), inner(value)))
                .collect();
            entries.sort();
            format!("map[interface {{}}]interface {{}}{{{}}}", entries.join(", "))
        }
    }
}

fn go_quoted(text: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' => quoted.extend(['\\', c]),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                '\r' => quoted.push_str("\\r"),
                c if c.is_ascii_control() => push_hex(&mut quoted, "\\x", 2, u32::from(c)),
                c if c.is_control() => push_hex(&mut quoted, "\\u", 4, u32::from(c)),
                c => quoted.push(c),
            }
        }
        for &byte in chunk.invalid() {
            push_hex(&mut quoted, "\\x", 2, u32::from(byte));
        }
    }
    quoted.push('"');
    quoted
}

fn push_hex(text: &mut String, escape: &str, digits: u32, value: u32) {
    text.push_str(escape);
    for place in (0..digits).rev() {
        text.extend(char::from_digit((value >> (4 * place)) & 0x0f, 16));
    }
}

fn scalar_text(scalar: &Yaml) -> String {
    match scalar {
        Yaml::Bool(value) => value.to_string(),
        Yaml::Int(number) => number.to_string(),
        Yaml::Uint(number) => number.to_string(),
        Yaml::Float(number) => format_float32(*number),
        Yaml::Null | Yaml::Text(_) | Yaml::List(_) | Yaml::Map(_) => String::new(),
    }
}

/// Valid UTF-8 as it is; every byte that is not part of a character becomes U+FFFD, as `encoding/json` does it.
fn lossy(bytes: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        clean.extend_from_slice(chunk.valid().as_bytes());
        for _ in chunk.invalid() {
            clean.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    clean
}
