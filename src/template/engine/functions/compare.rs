//! `eq`, `lt` and what follows from them.

use crate::template::engine::failure::Failure;
use crate::template::engine::format;
use crate::template::engine::utf8;
use crate::template::engine::value::Value;

/// Values that can be ordered, by kind.
enum Basic<'v> {
    Bool(bool),
    Complex(f64, f64),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(&'v [u8]),
}

fn basic(value: &Value) -> Option<Basic<'_>> {
    Some(match value {
        Value::Bool(flag) => Basic::Bool(*flag),
        Value::Int(n) | Value::Int64(n) | Value::Duration(n) | Value::Month(n) | Value::Weekday(n) => Basic::Int(*n),
        Value::Uint8(n) => Basic::Uint(u64::from(*n)),
        Value::Uint32(n) => Basic::Uint(u64::from(*n)),
        Value::Uint64(n) => Basic::Uint(*n),
        Value::Float(n) => Basic::Float(*n),
        Value::Complex(real, imaginary) => Basic::Complex(*real, *imaginary),
        Value::Str(text) | Value::HashAlgorithm(text) => Basic::Text(text),
        _ => return None,
    })
}

fn incompatible(a: &Value, b: &Value) -> Failure {
    Failure::new(format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name()))
}

/// Equality of two values of the same basic kind, or of integers of any sign; `None` otherwise.
fn basic_equal(a: &Basic<'_>, b: &Basic<'_>) -> Option<bool> {
    Some(match (a, b) {
        (Basic::Bool(a), Basic::Bool(b)) => a == b,
        (Basic::Complex(a, b), Basic::Complex(c, d)) => a == c && b == d,
        (Basic::Int(a), Basic::Int(b)) => a == b,
        (Basic::Uint(a), Basic::Uint(b)) => a == b,
        (Basic::Int(a), Basic::Uint(b)) | (Basic::Uint(b), Basic::Int(a)) => u64::try_from(*a) == Ok(*b),
        (Basic::Float(a), Basic::Float(b)) => a == b,
        (Basic::Text(a), Basic::Text(b)) => a == b,
        _ => return None,
    })
}

/// The first value equals any of the others.
///
/// # Errors
/// The types cannot be compared.
pub fn eq(args: &[Value]) -> Result<bool, Failure> {
    let Some((first, others)) = args.split_first() else { return Err(Failure::nil_pointer()) };
    if others.is_empty() {
        return Err(Failure::new("missing argument for comparison"));
    }
    for other in others {
        if equal(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal(first: &Value, other: &Value) -> Result<bool, Failure> {
    match (basic(first), basic(other)) {
        (Some(a), Some(b)) => basic_equal(&a, &b).ok_or_else(|| incompatible(first, other)),
        (None, None) => composite_equal(first, other),
        _ if first.is_nil() || other.is_nil() => Ok(false),
        _ => Err(incompatible(first, other)),
    }
}

fn is_nil(value: &Value) -> bool {
    match value {
        Value::Nil | Value::NilAny => true,
        Value::List(list) | Value::Chunks(list) => list.is_nil(),
        Value::Strings(list) => list.is_nil(),
        Value::Map(map) => map.is_nil(),
        _ => false,
    }
}

fn composite_equal(first: &Value, other: &Value) -> Result<bool, Failure> {
    let (kind, other_kind) = (first.kind_name(), other.kind_name());
    let shown = |value: &Value| format::sprint(value).map(|text| utf8::lossy(&text)).unwrap_or_default();
    if kind != other_kind && !first.is_nil() && !other.is_nil() {
        let (a, b) = (first.type_name(), other.type_name());
        let text = format!("non-comparable types {}: {a}, {b}: {}", as_text(first), shown(other));
        return Err(Failure::with_data(text, format!("non-comparable types {a} and {b}")));
    }
    if is_nil(first) || is_nil(other) {
        return Ok(is_nil(first) == is_nil(other));
    }
    Ok(match (first, other) {
        (Value::Time(a), Value::Time(b)) => a == b,
        (Value::Certificate(a), Value::Certificate(b)) => a.cert == b.cert && a.key == b.key,
        (Value::Semver(a), Value::Semver(b)) => std::rc::Rc::ptr_eq(a, b),
        (Value::SemverValue(a), Value::SemverValue(b)) => a == b,
        (Value::Location(a), Value::Location(b)) => a == b,
        (_, Value::Time(_) | Value::Certificate(_) | Value::Semver(_) | Value::SemverValue(_) | Value::Location(_)) => false,
        _ => {
            let name = other.type_name();
            let text = format!("non-comparable type {}: {name}", as_text(other));
            return Err(Failure::with_data(text, format!("non-comparable type {name}")));
        }
    })
}

/// The value under `%s`, which marks everything inside that is no text.
fn as_text(value: &Value) -> String {
    format::sprintf(b"%s", std::slice::from_ref(value)).map(|text| utf8::lossy(&text)).unwrap_or_default()
}

/// `a < b`
///
/// # Errors
/// The types cannot be ordered.
pub fn lt(args: &[Value]) -> Result<bool, Failure> {
    let [first, second, ..] = args else { return Err(Failure::nil_pointer()) };
    let invalid = || Failure::new("invalid type for comparison");
    let a = basic(first).ok_or_else(invalid)?;
    let b = basic(second).ok_or_else(invalid)?;
    Ok(match (a, b) {
        (Basic::Int(a), Basic::Int(b)) => a < b,
        (Basic::Uint(a), Basic::Uint(b)) => a < b,
        (Basic::Int(a), Basic::Uint(b)) => u64::try_from(a).map_or(true, |a| a < b),
        (Basic::Uint(a), Basic::Int(b)) => u64::try_from(b).is_ok_and(|b| a < b),
        (Basic::Float(a), Basic::Float(b)) => a < b,
        (Basic::Text(a), Basic::Text(b)) => a < b,
        (Basic::Bool(_), Basic::Bool(_)) | (Basic::Complex(..), Basic::Complex(..)) => return Err(invalid()),
        _ => return Err(incompatible(first, second)),
    })
}

/// `a <= b`
///
/// # Errors
/// The types cannot be ordered.
pub fn le(args: &[Value]) -> Result<bool, Failure> {
    Ok(lt(args)? || eq(args)?)
}
