//! JSON as Go's `encoding/json` reads and writes it, byte for byte.
//!
//! Secrets are compared and hashed as bytes, so the spelling of what we write must be Go's: sorted members, its escapes,
//! its float format, one `\ufffd` per broken byte. Reading gives Go's error texts, since they end in conditions and
//! events. Members may also be taken raw, with the source's spacing and number spelling.

mod float;
mod read;
mod scan;
mod write;

pub use float::Shortest;
pub use read::{Numbers, RawMembers, decode_string, kind, parse, parse_with, raw_array, raw_object};
pub use scan::validate;
pub use write::{Escape, compact, write_float, write_string};

use std::collections::BTreeMap;
use std::fmt;
use zeroize::Zeroizing;

/// Any JSON value, as Go's `interface{}` holds one. Texts are wiped when dropped.
#[derive(Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number, by way of a 64-bit float as in Go.
    Number(f64),
    /// A number in the source's spelling, as Go's `json.Number`.
    NumberText(Zeroizing<String>),
    /// A string, decoded.
    String(Zeroizing<String>),
    /// An array.
    Array(Vec<Value>),
    /// An object; of a repeated member the last is kept.
    Object(BTreeMap<String, Value>),
}

impl Value {
    /// A string value.
    #[must_use]
    pub fn string(text: impl Into<String>) -> Self {
        Self::String(Zeroizing::new(text.into()))
    }

    /// The members, if this is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&BTreeMap<String, Self>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The text, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The JSON text: compact, members sorted by bytes.
    #[must_use]
    pub fn to_json(&self, escape: Escape) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(128));
        write::write_value(&mut out, self, escape);
        out
    }

    /// What Go prints with `%v`: no quotes, objects as `map[k:v]`, arrays as `[a b]`, null as `<nil>`.
    #[must_use]
    pub fn print(&self) -> Zeroizing<String> {
        let mut out = Zeroizing::new(String::new());
        self.print_to(&mut out);
        out
    }

    fn print_to(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("<nil>"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(&Shortest::of(*number).general()),
            Self::NumberText(text) | Self::String(text) => out.push_str(text),
            Self::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { " " } else { "" });
                    item.print_to(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push_str("map[");
                for (i, (name, member)) in members.iter().enumerate() {
                    out.push_str(if i > 0 { " " } else { "" });
                    out.push_str(name);
                    out.push(':');
                    member.print_to(out);
                }
                out.push(']');
            }
        }
    }

    /// The name Go prints for this value's type with `%T`.
    #[must_use]
    pub fn go_type(&self) -> &'static str {
        match self {
            Self::Null => "<nil>",
            Self::Bool(_) => "bool",
            Self::Number(_) => "float64",
            Self::NumberText(_) => "json.Number",
            Self::String(_) => "string",
            Self::Array(_) => "[]interface {}",
            Self::Object(_) => "map[string]interface {}",
        }
    }
}

impl fmt::Debug for Value {
    /// Shows the type only: values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({})", self.go_type())
    }
}

/// Why a text could not be read; the texts are Go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Not JSON.
    #[error("{0}")]
    Syntax(String),
    /// JSON, but not of the wanted type.
    #[error("json: cannot unmarshal {found} into Go value of type {wanted}")]
    Type {
        /// What the text holds: `string`, `array`, `number 1e999` …
        found: String,
        /// Go's name of the type to fill.
        wanted: &'static str,
    },
}

#[cfg(test)]
mod tests;
