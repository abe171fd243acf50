//! sprig's loose conversions: any value to a number, to a text.

use crate::template::engine::failure::Failure;
use crate::template::engine::format;
use crate::template::engine::numbers::{float_to_i64, parse_float, parse_int};
use crate::template::engine::value::Value;

/// Any value as `int64`; what is no number is 0.
pub fn to_int64(value: &Value) -> i64 {
    match value {
        Value::Int(n) | Value::Int64(n) | Value::Duration(n) | Value::Month(n) | Value::Weekday(n) => *n,
        Value::Uint8(n) => i64::from(*n),
        Value::Uint32(n) => i64::from(*n),
        Value::Uint64(n) => n.cast_signed(),
        Value::Float(n) => float_to_i64(*n),
        Value::Bool(flag) => i64::from(*flag),
        Value::Str(text) | Value::HashAlgorithm(text) => parse_int(without_fraction(text), 0).unwrap_or(0),
        _ => 0,
    }
}

/// Any value as `float64`; what is no number is 0.
pub fn to_float64(value: &Value) -> f64 {
    match value {
        Value::Float(n) => *n,
        Value::Uint64(n) => *n as f64,
        Value::Str(text) | Value::HashAlgorithm(text) => parse_float(text).unwrap_or(0.0),
        other => to_int64(other) as f64,
    }
}

/// `[+-]digits.digits` loses its fraction; any other text stays.
fn without_fraction(text: &[u8]) -> &[u8] {
    let Some(point) = text.iter().position(|&byte| byte == b'.') else { return text };
    let (whole, fraction) = (&text[..point], &text[point + 1..]);
    let digits = whole.strip_prefix(b"-").or_else(|| whole.strip_prefix(b"+")).unwrap_or(whole);
    if !digits.iter().chain(fraction).all(u8::is_ascii_digit) {
        return text;
    }
    if digits.is_empty() { b"0" } else { whole }
}

/// sprig's text of a value: a string as it is, anything else as `%v`.
///
/// # Errors
/// The text is too long, or the value nested too deeply.
pub fn to_text(value: &Value) -> Result<Vec<u8>, Failure> {
    match value {
        Value::Bytes(text) => Ok(text.to_vec()),
        other => format::sprint(other),
    }
}
