//! The functions of `text/template` itself, except comparisons.

use super::{Env, ParamType as P, Row, arg, compare, urls};
use crate::template::engine::eval::is_true;
use crate::template::engine::failure::Failure;
use crate::template::engine::format;
use crate::template::engine::utf8;
use crate::template::engine::value::Value;

/// The functions of this family. `slice` is absent: another one of that name hides it.
pub const ROWS: &[Row] = &[
    // The engine evaluates the first three itself.
    Row::variadic("and", &[P::Reflect], P::Reflect, |_, _| Ok(Value::Nil)),
    Row::variadic("or", &[P::Reflect], P::Reflect, |_, _| Ok(Value::Nil)),
    Row::variadic("call", &[P::Reflect], P::Reflect, |_, _| Ok(Value::Nil)),
    Row::new("not", &[P::Reflect], |_, args| Ok(Value::Bool(!is_true(&args[0])))),
    Row::variadic("index", &[P::Reflect], P::Reflect, index),
    Row::new("len", &[P::Reflect], len),
    Row::variadic("print", &[], P::Any, |_, args| format::sprint_all(args).map(Value::str)),
    Row::variadic("println", &[], P::Any, |_, args| {
        format::sprint_line(args).map(Value::str)
    }),
    Row::variadic("printf", &[P::String], P::Any, printf),
    Row::variadic("html", &[], P::Any, html),
    Row::variadic("js", &[], P::Any, js),
    Row::variadic("urlquery", &[], P::Any, urlquery),
    Row::variadic("eq", &[P::Reflect], P::Reflect, |_, args| {
        compare::eq(args).map(Value::Bool)
    }),
    Row::new("ne", &[P::Reflect, P::Reflect], |_, args| {
        compare::eq(args).map(|equal| Value::Bool(!equal))
    }),
    Row::new("lt", &[P::Reflect, P::Reflect], |_, args| {
        compare::lt(args).map(Value::Bool)
    }),
    Row::new("le", &[P::Reflect, P::Reflect], |_, args| {
        compare::le(args).map(Value::Bool)
    }),
    Row::new("gt", &[P::Reflect, P::Reflect], |_, args| {
        compare::le(args).map(|le| Value::Bool(!le))
    }),
    Row::new("ge", &[P::Reflect, P::Reflect], |_, args| {
        compare::lt(args).map(|lt| Value::Bool(!lt))
    }),
];

fn printf(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    format::sprintf(arg::bytes(args, 0), &args[1..]).map(Value::str)
}

fn len(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let length = match &args[0] {
        Value::Nil => return Err(Failure::new("reflect: call of reflect.Value.Type on zero Value")),
        Value::NilAny => return Err(Failure::new("len of nil pointer")),
        Value::Str(text) | Value::Bytes(text) | Value::HashAlgorithm(text) => text.len(),
        Value::List(list) | Value::Chunks(list) => list.len(),
        Value::Strings(list) => list.len(),
        Value::Ints(list) => list.len(),
        Value::Map(map) => map.len(),
        Value::StrMap(map) => map.len(),
        Value::Semver(_) => return Err(Failure::new("len of type semver.Version")),
        Value::Location(_) => return Err(Failure::new("len of type time.Location")),
        other => return Err(Failure::new(format!("len of type {}", other.type_name()))),
    };
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn index(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut item = args[0].clone();
    if item.is_nil() {
        return Err(Failure::new("index of untyped nil"));
    }
    for key in &args[1..] {
        item = index_once(&item, key)?;
    }
    Ok(item)
}

fn index_once(item: &Value, key: &Value) -> Result<Value, Failure> {
    let element = match item {
        Value::Nil | Value::NilAny => return Err(Failure::new("index of nil pointer")),
        Value::Str(text) => text.get(position(key, text.len())?).map(|byte| Value::Uint8(*byte)),
        Value::Bytes(text) => text.get(position(key, text.len())?).map(|byte| Value::Uint8(*byte)),
        Value::List(list) | Value::Chunks(list) => list.get(position(key, list.len())?).cloned(),
        Value::Strings(list) => list.get(position(key, list.len())?).map(Value::Str),
        Value::Ints(list) => list.get(position(key, list.len())?).map(|n| Value::Int(*n)),
        Value::Map(map) => Some(map.get(text_key(key)?).unwrap_or(Value::NilAny)),
        Value::StrMap(map) => Some(
            map.get(text_key(key)?)
                .map_or_else(|| Value::str(""), |text| Value::Str(text.clone())),
        ),
        Value::Semver(_) => return Err(Failure::new("can't index item of type semver.Version")),
        Value::Location(_) => return Err(Failure::new("can't index item of type time.Location")),
        other => return Err(Failure::new(format!("can't index item of type {}", other.type_name()))),
    };
    let kind = if matches!(item, Value::Str(_)) {
        "string"
    } else {
        "slice"
    };
    match element {
        Some(Value::Nil) => Ok(Value::NilAny),
        Some(element) => Ok(element),
        None => Err(Failure::new(format!("reflect: {kind} index out of range"))),
    }
}

/// An index that may equal the length: the access itself then fails with another text.
fn position(key: &Value, length: usize) -> Result<usize, Failure> {
    let at = match key {
        Value::Int(n) | Value::Int64(n) | Value::Duration(n) | Value::Month(n) | Value::Weekday(n) => *n,
        Value::Uint8(n) => i64::from(*n),
        Value::Uint32(n) => i64::from(*n),
        Value::Uint64(n) => n.cast_signed(),
        Value::Nil | Value::NilAny => return Err(Failure::new("cannot index slice/array with nil")),
        other => {
            return Err(Failure::new(format!(
                "cannot index slice/array with type {}",
                other.type_name()
            )));
        }
    };
    match usize::try_from(at) {
        Ok(at) if at <= length => Ok(at),
        _ => Err(Failure::with_data(
            format!("index out of range: {at}"),
            "index out of range",
        )),
    }
}

fn text_key(key: &Value) -> Result<&[u8], Failure> {
    match key {
        Value::Str(text) => Ok(text),
        Value::Nil | Value::NilAny => Err(Failure::new("value is nil; should be of type string")),
        other => Err(Failure::new(format!(
            "value has type {}; should be string",
            other.type_name()
        ))),
    }
}

/// The operands as one text: as `print`, but no value prints as such.
fn joined(args: &[Value]) -> Result<Vec<u8>, Failure> {
    if let [Value::Str(text)] = args {
        return Ok(text.to_vec());
    }
    let shown: Vec<Value> = args
        .iter()
        .map(|value| {
            if value.is_nil() {
                Value::str("<no value>")
            } else {
                value.clone()
            }
        })
        .collect();
    format::sprint_all(&shown)
}

fn html(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let text = joined(args)?;
    env.reserve(text.len() * 5)?;
    let mut out = Vec::with_capacity(text.len());
    for &byte in &text {
        match byte {
            0 => out.extend_from_slice("\u{FFFD}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(byte),
        }
    }
    Ok(Value::str(out))
}

fn js(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let text = joined(args)?;
    env.reserve(text.len() * 6)?;
    let mut out = Vec::with_capacity(text.len());
    for found in utf8::chars(&text) {
        let c = found.character;
        match c {
            '\\' | '\'' | '"' => {
                out.push(b'\\');
                utf8::push(&mut out, c);
            }
            '<' | '>' | '&' | '=' | '\0'..='\u{1f}' => {
                out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes());
            }
            _ if c.is_ascii() => out.push(text[found.offset]),
            // Go copies the bytes as they are, broken ones included.
            _ if utf8::is_print(c) => out.extend_from_slice(&text[found.offset..found.offset + found.width]),
            _ => out.extend_from_slice(format!("\\u{:04X}", u32::from(c)).as_bytes()),
        }
    }
    Ok(Value::str(out))
}

fn urlquery(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let text = joined(args)?;
    env.reserve(text.len() * 3)?;
    Ok(Value::str(urls::query_escape(&text)))
}

/// What `reflect.Value.String` says about a value.
pub fn reflect_string(value: &Value) -> String {
    match value {
        Value::Nil | Value::NilAny => "<invalid Value>".to_owned(),
        Value::Str(text) => utf8::lossy(text),
        other => format!("<{} Value>", other.type_name()),
    }
}
