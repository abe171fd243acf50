//! Maps: making, reading and changing them.

use std::collections::BTreeMap;

use super::{Env, ParamType as P, Row, arg, cast};
use crate::template::engine::failure::Failure;
use crate::template::engine::value::{Map, Str, Value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::variadic("dict", &[], P::Any, dict),
    Row::new("get", &[P::Map, P::String], |_, args| {
        Ok(arg::map(args, 0).get(arg::bytes(args, 1)).unwrap_or_else(|| Value::str("")))
    }),
    Row::new("set", &[P::Map, P::String, P::Any], set),
    Row::new("unset", &[P::Map, P::String], |_, args| {
        arg::map(args, 0).remove(arg::bytes(args, 1));
        Ok(arg::value(args, 0))
    }),
    Row::new("hasKey", &[P::Map, P::String], |_, args| {
        Ok(Value::Bool(arg::map(args, 0).contains(arg::bytes(args, 1))))
    }),
    Row::variadic("pluck", &[P::String], P::Map, pluck),
    Row::variadic("keys", &[], P::Map, |_, args| {
        Ok(Value::strings((0..args.len()).flat_map(|at| arg::map(args, at).keys()).collect()))
    }),
    Row::new("values", &[P::Map], |_, args| {
        Ok(Value::list(arg::map(args, 0).entries().into_iter().map(|(_, value)| value).collect()))
    }),
    Row::variadic("pick", &[P::Map], P::String, |_, args| {
        let wanted = &args[1..];
        Ok(filtered(&arg::map(args, 0), |key| wanted.iter().any(|name| name.as_bytes() == Some(key))))
    }),
    Row::variadic("omit", &[P::Map], P::String, |_, args| {
        let unwanted = &args[1..];
        Ok(filtered(&arg::map(args, 0), |key| !unwanted.iter().any(|name| name.as_bytes() == Some(key))))
    }),
    Row::variadic("dig", &[], P::Any, dig),
];

fn dict(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut entries = BTreeMap::new();
    for pair in args.chunks(2) {
        let key = match &pair[0] {
            Value::Str(text) => text.clone(),
            other => Str::from(cast::to_text(other)?),
        };
        entries.insert(key, pair.get(1).cloned().unwrap_or_else(|| Value::str("")));
    }
    Ok(Value::Map(Map::from_entries(entries)))
}

fn set(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let map = arg::map(args, 0);
    if !map.insert(arg::text(args, 1), arg::value(args, 2)) {
        return Err(Failure::new("assignment to entry in nil map"));
    }
    Ok(Value::Map(map))
}

fn pluck(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let key = arg::bytes(args, 0);
    Ok(Value::list((1..args.len()).filter_map(|at| arg::map(args, at).get(key)).collect()))
}

fn filtered(map: &Map, keep: impl Fn(&[u8]) -> bool) -> Value {
    Value::Map(Map::from_entries(map.entries().into_iter().filter(|(key, _)| keep(key)).collect()))
}

fn conversion(value: &Value, wanted: &str) -> Failure {
    let found = if value.is_nil() { "nil" } else { value.type_name() };
    Failure::new(format!("interface conversion: interface {{}} is {found}, not {wanted}"))
}

fn as_map(value: &Value) -> Result<Map, Failure> {
    match value {
        Value::Map(map) => Ok(map.clone()),
        other => Err(conversion(other, "map[string]interface {}")),
    }
}

/// Keys, a default, and the map last.
fn dig(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let [path @ .., default, last] = args else { return Err(Failure::new("dig needs at least three arguments")) };
    if path.is_empty() {
        return Err(Failure::new("dig needs at least three arguments"));
    }
    let mut map = as_map(last)?;
    if let Some(wrong) = path.iter().find(|key| key.as_bytes().is_none()) {
        return Err(conversion(wrong, "string"));
    }
    for (at, key) in path.iter().enumerate() {
        let Some(step) = map.get(key.as_bytes().unwrap_or_default()) else { return Ok(default.clone()) };
        if at + 1 == path.len() {
            return Ok(step);
        }
        map = as_map(&step)?;
    }
    Ok(default.clone())
}
