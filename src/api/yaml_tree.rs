//! The YAML crate's own tree, for rooms that keep the order of keys and the kind of numbers as they were written.

pub use serde_yaml::{Deserializer, Error, Mapping, Number, Value, from_str, from_value, to_string, to_value};
