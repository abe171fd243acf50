//! Lists of any element type. Everything copies; nothing changes its input, except `sortAlpha`.

use std::rc::Rc;

use super::{Env, ParamType as P, Row, arg, cast, deep, defaults};
use crate::template::engine::failure::Failure;
use crate::template::engine::value::{List, Str, StringList, Value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::variadic("list", &[], P::Any, |_, args| Ok(Value::list(args.to_vec()))),
    Row::variadic("tuple", &[], P::Any, |_, args| Ok(Value::list(args.to_vec()))),
    Row::new("first", &[P::Any], first),
    Row::new("mustFirst", &[P::Any], first),
    Row::new("last", &[P::Any], last),
    Row::new("mustLast", &[P::Any], last),
    Row::new("rest", &[P::Any], rest),
    Row::new("mustRest", &[P::Any], rest),
    Row::new("initial", &[P::Any], initial),
    Row::new("mustInitial", &[P::Any], initial),
    Row::new("append", &[P::Any, P::Any], push),
    Row::new("push", &[P::Any, P::Any], push),
    Row::new("mustAppend", &[P::Any, P::Any], push),
    Row::new("mustPush", &[P::Any, P::Any], push),
    Row::new("prepend", &[P::Any, P::Any], prepend),
    Row::new("mustPrepend", &[P::Any, P::Any], prepend),
    Row::variadic("concat", &[], P::Any, concat),
    Row::new("reverse", &[P::Any], reverse),
    Row::new("mustReverse", &[P::Any], reverse),
    Row::new("uniq", &[P::Any], uniq),
    Row::new("mustUniq", &[P::Any], uniq),
    Row::variadic("without", &[P::Any], P::Any, without),
    Row::variadic("mustWithout", &[P::Any], P::Any, without),
    Row::new("has", &[P::Any, P::Any], has),
    Row::new("mustHas", &[P::Any, P::Any], has),
    Row::new("compact", &[P::Any], compact),
    Row::new("mustCompact", &[P::Any], compact),
    Row::new("chunk", &[P::Int, P::Any], chunk),
    Row::new("mustChunk", &[P::Int, P::Any], chunk),
    Row::variadic("slice", &[P::Any], P::Any, slice),
    Row::variadic("mustSlice", &[P::Any], P::Any, slice),
    Row::new("sortAlpha", &[P::Any], sort_alpha),
    Row::new("toStrings", &[P::Any], |env, args| Ok(Value::Strings(texts(env, &args[0])?))),
    Row::new("join", &[P::String, P::Any], join),
];

/// The elements of any list; `None` for what is none.
pub fn elements(value: &Value) -> Option<Vec<Value>> {
    Some(match value {
        Value::List(list) | Value::Chunks(list) => list.to_vec(),
        Value::Strings(list) => list.to_vec().into_iter().map(Value::Str).collect(),
        Value::Ints(list) => list.iter().copied().map(Value::Int).collect(),
        Value::Bytes(bytes) => bytes.iter().copied().map(Value::Uint8).collect(),
        _ => return None,
    })
}

/// The elements, or sprig's complaint that the value is no list.
fn required(value: &Value, complaint: &str) -> Result<Vec<Value>, Failure> {
    if value.is_nil() {
        return Err(Failure::nil_pointer());
    }
    elements(value).ok_or_else(|| Failure::new(format!("{complaint} {}", value.kind_name())))
}

fn first(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    Ok(required(&args[0], "Cannot find first on type")?.into_iter().next().unwrap_or(Value::Nil))
}

fn last(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    Ok(required(&args[0], "Cannot find last on type")?.pop().unwrap_or(Value::Nil))
}

fn rest(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut items = required(&args[0], "Cannot find rest on type")?;
    if items.is_empty() {
        return Ok(Value::List(List::nil()));
    }
    items.remove(0);
    Ok(Value::list(items))
}

fn initial(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut items = required(&args[0], "Cannot find initial on type")?;
    if items.pop().is_none() {
        return Ok(Value::List(List::nil()));
    }
    Ok(Value::list(items))
}

fn push(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut items = required(&args[0], "Cannot push on type")?;
    items.push(arg::value(args, 1));
    Ok(Value::list(items))
}

fn prepend(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut items = required(&args[0], "Cannot prepend on type")?;
    items.insert(0, arg::value(args, 1));
    Ok(Value::list(items))
}

fn concat(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut all = Vec::new();
    for list in args {
        if list.is_nil() {
            return Err(Failure::nil_pointer());
        }
        let items = elements(list)
            .ok_or_else(|| Failure::new(format!("Cannot concat type {} as list", list.kind_name())))?;
        all.extend(items);
    }
    Ok(Value::List(if all.is_empty() { List::nil() } else { List::new(all) }))
}

fn reverse(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut items = required(&args[0], "Cannot find reverse on type")?;
    items.reverse();
    Ok(Value::list(items))
}

fn contains(env: &mut Env<'_>, items: &[Value], wanted: &Value) -> Result<bool, Failure> {
    for item in items {
        if deep::equal(env, wanted, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut kept: Vec<Value> = Vec::new();
    for item in required(&args[0], "Cannot find uniq on type")? {
        if !contains(env, &kept, &item)? {
            kept.push(item);
        }
    }
    Ok(Value::list(kept))
}

fn without(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut kept = Vec::new();
    for item in required(&args[0], "Cannot find without on type")? {
        if !contains(env, &args[1..], &item)? {
            kept.push(item);
        }
    }
    Ok(Value::list(kept))
}

fn has(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    if args[1].is_nil() {
        return Ok(Value::Bool(false));
    }
    let items = required(&args[1], "Cannot find has on type")?;
    Ok(Value::Bool(contains(env, &items, &args[0])?))
}

fn compact(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let items = required(&args[0], "Cannot compact on type")?;
    Ok(Value::list(items.into_iter().filter(|item| !defaults::is_empty(item)).collect()))
}

/// Pieces of `size` elements. Odd sizes end in the texts of Go's own panics.
fn chunk(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let size = arg::int(args, 0);
    let items = required(&args[1], "Cannot chunk type")?;
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let pieces = ((length - 1) as f64 / size as f64).floor() + 1.0;
    if !pieces.is_finite() || pieces < 0.0 {
        return Err(Failure::new("runtime error: makeslice: len out of range"));
    }
    if pieces == 0.0 {
        return Ok(Value::Chunks(List::new(Vec::new())));
    }
    let Some(size) = usize::try_from(size).ok().filter(|&size| size > 0) else {
        return Err(Failure::new("runtime error: makeslice: len out of range"));
    };
    let chunks = items.chunks(size).map(|piece| Value::list(piece.to_vec())).collect();
    Ok(Value::Chunks(List::new(chunks)))
}

fn slice(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let items = required(&args[0], "list should be type of slice or array but")?;
    if items.is_empty() {
        return Ok(Value::Nil);
    }
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let start = args.get(1).map_or(0, cast::to_int64);
    let end = args.get(2).map_or(length, cast::to_int64);
    if start < 0 || start > end || end > length {
        return Err(Failure::new("reflect.Value.Slice: slice index out of bounds"));
    }
    let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
    Ok(match &args[0] {
        Value::Strings(list) => Value::strings(list.to_vec()[range].to_vec()),
        Value::Ints(list) => Value::Ints(Rc::from(&list[range])),
        Value::Bytes(bytes) => Value::Bytes(Str::from(&bytes[range])),
        Value::Chunks(_) => Value::Chunks(List::new(items[range].to_vec())),
        _ => Value::list(items[range].to_vec()),
    })
}

/// The elements as texts, nil left out; a `[]string` is passed on as it is, anything else is one text.
///
/// # Errors
/// A text is too long, or all together need too much memory.
pub fn texts(env: &Env<'_>, value: &Value) -> Result<StringList, Failure> {
    if let Value::Strings(list) = value {
        return Ok(list.clone());
    }
    let items = match elements(value) {
        Some(items) => items,
        None if value.is_nil() => Vec::new(),
        None => vec![value.clone()],
    };
    let mut texts = Vec::with_capacity(items.len());
    for item in items.iter().filter(|item| !item.is_nil()) {
        texts.push(match item {
            Value::Str(text) => text.clone(),
            other => Str::from(cast::to_text(other)?),
        });
        env.reserve(0)?;
    }
    Ok(StringList::new(texts))
}

fn sort_alpha(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    if elements(&args[0]).is_none() {
        return Ok(Value::strings(vec![Str::from(cast::to_text(&args[0])?)]));
    }
    let list = texts(env, &args[0])?;
    list.sort();
    Ok(Value::Strings(list))
}

fn join(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let separator = arg::bytes(args, 0);
    let parts = texts(env, &args[1])?.to_vec();
    let size: usize = parts.iter().map(|part| part.len() + separator.len()).sum();
    env.reserve(size)?;
    Ok(Value::str(parts.join(separator)))
}
