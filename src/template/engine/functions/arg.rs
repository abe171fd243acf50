//! Reading arguments whose types the signature check has already established.
//!
//! Every reader returns a neutral value for an argument of another type instead of panicking.

use crate::template::engine::value::{List, Map, Str, Value};

/// The bytes of a `string` argument.
pub fn bytes(args: &[Value], at: usize) -> &[u8] {
    match args.get(at) {
        Some(Value::Str(text) | Value::HashAlgorithm(text) | Value::Bytes(text)) => text,
        _ => &[],
    }
}

/// A `string` argument, shared.
pub fn text(args: &[Value], at: usize) -> Str {
    match args.get(at) {
        Some(Value::Str(text) | Value::HashAlgorithm(text) | Value::Bytes(text)) => text.clone(),
        _ => Str::constant(Vec::new()),
    }
}

/// An integer argument (`int`, `int64`, `uint32`, `time.Duration`).
pub fn int(args: &[Value], at: usize) -> i64 {
    match args.get(at) {
        Some(Value::Int(n) | Value::Int64(n) | Value::Duration(n)) => *n,
        Some(Value::Uint32(n)) => i64::from(*n),
        _ => 0,
    }
}

/// A `float64` argument.
pub fn float(args: &[Value], at: usize) -> f64 {
    match args.get(at) {
        Some(Value::Float(n)) => *n,
        _ => 0.0,
    }
}

/// A `bool` argument.
pub fn boolean(args: &[Value], at: usize) -> bool {
    matches!(args.get(at), Some(Value::Bool(true)))
}

/// A `[]interface {}` argument; nil reads as the nil list.
pub fn list(args: &[Value], at: usize) -> List {
    match args.get(at) {
        Some(Value::List(list)) => list.clone(),
        _ => List::nil(),
    }
}

/// A `map[string]interface {}` argument; nil reads as the nil map.
pub fn map(args: &[Value], at: usize) -> Map {
    match args.get(at) {
        Some(Value::Map(map)) => map.clone(),
        _ => Map::nil(),
    }
}

/// Any argument; nil when absent.
pub fn value(args: &[Value], at: usize) -> Value {
    args.get(at).cloned().unwrap_or(Value::Nil)
}
