//! Equality and copies of whole structures.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Env;
use crate::template::engine::failure::Failure;
use crate::template::engine::value::{List, Map, StringList, Value};

/// Deepest nesting that is followed; values may contain themselves.
const MAX_DEPTH: usize = 500;

fn too_deep() -> Failure {
    Failure::limit(format!("value is nested more than {MAX_DEPTH} levels deep"))
}

/// `reflect.DeepEqual`: the types must be the same, too.
///
/// # Errors
/// A value is nested too deeply, or the work too much.
pub fn equal(env: &mut Env<'_>, a: &Value, b: &Value) -> Result<bool, Failure> {
    equal_at(env, a, b, 0)
}

fn equal_at(env: &mut Env<'_>, a: &Value, b: &Value, depth: usize) -> Result<bool, Failure> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    env.spend(1)?;
    if a.is_nil() || b.is_nil() {
        return Ok(a.is_nil() && b.is_nil());
    }
    if a.type_name() != b.type_name() {
        return Ok(false);
    }
    Ok(match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b))
        | (Value::Int64(a), Value::Int64(b))
        | (Value::Duration(a), Value::Duration(b))
        | (Value::Month(a), Value::Month(b))
        | (Value::Weekday(a), Value::Weekday(b)) => a == b,
        (Value::Uint8(a), Value::Uint8(b)) => a == b,
        (Value::Uint32(a), Value::Uint32(b)) => a == b,
        (Value::Uint64(a), Value::Uint64(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Complex(a, b), Value::Complex(c, d)) => a == c && b == d,
        (Value::Str(a), Value::Str(b))
        | (Value::Bytes(a), Value::Bytes(b))
        | (Value::HashAlgorithm(a), Value::HashAlgorithm(b))
        | (Value::Location(a), Value::Location(b)) => a == b,
        (Value::List(a), Value::List(b)) | (Value::Chunks(a), Value::Chunks(b)) => lists_equal(env, a, b, depth)?,
        (Value::Strings(a), Value::Strings(b)) => a.is_nil() == b.is_nil() && a.to_vec() == b.to_vec(),
        (Value::Ints(a), Value::Ints(b)) => a == b,
        (Value::Map(a), Value::Map(b)) => maps_equal(env, a, b, depth)?,
        (Value::StrMap(a), Value::StrMap(b)) => **a == **b,
        (Value::Time(a), Value::Time(b)) => a == b,
        (Value::Semver(a), Value::Semver(b)) | (Value::SemverValue(a), Value::SemverValue(b)) => a == b,
        (Value::Certificate(a), Value::Certificate(b)) => a.cert == b.cert && a.key == b.key,
        _ => false,
    })
}

fn lists_equal(env: &mut Env<'_>, a: &List, b: &List, depth: usize) -> Result<bool, Failure> {
    if a.len() != b.len() || a.is_nil() != b.is_nil() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(b.iter()) {
        if !equal_at(env, a, b, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps_equal(env: &mut Env<'_>, a: &Map, b: &Map, depth: usize) -> Result<bool, Failure> {
    if a.same(b) {
        return Ok(true);
    }
    if a.len() != b.len() || a.is_nil() != b.is_nil() {
        return Ok(false);
    }
    for (key, value) in a.entries() {
        match b.get(&key) {
            Some(other) if equal_at(env, &value, &other, depth + 1)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// A copy that shares no map or list with the original.
///
/// # Errors
/// The value is nested too deeply, or the copy too large.
pub fn copy(env: &mut Env<'_>, value: &Value) -> Result<Value, Failure> {
    copy_at(env, value, 0)
}

fn copy_at(env: &mut Env<'_>, value: &Value, depth: usize) -> Result<Value, Failure> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    env.spend(1)?;
    env.reserve(0)?;
    Ok(match value {
        Value::List(list) if list.is_nil() => value.clone(),
        Value::List(list) => Value::List(copy_list(env, list, depth)?),
        Value::Chunks(list) => Value::Chunks(copy_list(env, list, depth)?),
        Value::Strings(list) if !list.is_nil() => Value::Strings(StringList::new(list.to_vec())),
        Value::Map(map) if map.is_nil() => value.clone(),
        Value::Map(map) => {
            let mut entries = BTreeMap::new();
            for (key, value) in map.entries() {
                entries.insert(key, copy_at(env, &value, depth + 1)?);
            }
            Value::Map(Map::from_entries(entries))
        }
        Value::Semver(version) => Value::Semver(Rc::new((**version).clone())),
        other => other.clone(),
    })
}

fn copy_list(env: &mut Env<'_>, list: &List, depth: usize) -> Result<List, Failure> {
    let mut items = Vec::with_capacity(list.len());
    for item in list.iter() {
        items.push(copy_at(env, item, depth + 1)?);
    }
    Ok(List::new(items))
}
