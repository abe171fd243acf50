//! Merging maps into the first one, with the rules of the library sprig uses.

use super::{Env, ParamType as P, Row, arg, defaults};
use crate::template::engine::failure::Failure;
use crate::template::engine::value::{Map, Value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::variadic("merge", &[P::Map], P::Map, |env, args| merge(env, args, false)),
    Row::variadic("mustMerge", &[P::Map], P::Map, |env, args| merge(env, args, false)),
    Row::variadic("mergeOverwrite", &[P::Map], P::Map, |env, args| merge(env, args, true)),
    Row::variadic("mustMergeOverwrite", &[P::Map], P::Map, |env, args| {
        merge(env, args, true)
    }),
];

/// Deepest nesting that is followed; maps may contain themselves.
const MAX_DEPTH: usize = 500;

fn merge(env: &mut Env<'_>, args: &[Value], overwrite: bool) -> Result<Value, Failure> {
    let mut target = arg::map(args, 0);
    for at in 1..args.len() {
        let source = arg::map(args, at);
        if target.is_nil() && !source.is_nil() {
            target = Map::new();
        }
        merge_maps(env, &target, &source, overwrite, 0)?;
    }
    Ok(Value::Map(target))
}

fn is_list(value: &Value) -> bool {
    matches!(
        value,
        Value::List(_) | Value::Chunks(_) | Value::Strings(_) | Value::Ints(_) | Value::Bytes(_)
    )
}

/// A time or certificate is a struct and never counts as empty, nor does a version.
fn is_empty(value: &Value) -> bool {
    defaults::is_empty(value)
}

fn merge_maps(env: &mut Env<'_>, target: &Map, source: &Map, overwrite: bool, depth: usize) -> Result<(), Failure> {
    if depth > MAX_DEPTH {
        return Err(Failure::limit(format!(
            "value is nested more than {MAX_DEPTH} levels deep"
        )));
    }
    for (key, new) in source.entries() {
        env.spend(1)?;
        let old = target.get(&key);
        let replace = match (&old, &new) {
            (_, new) if new.is_nil() => overwrite,
            (Some(Value::Map(old)), Value::Map(new)) if !old.is_nil() || new.is_nil() => {
                merge_maps(env, old, new, overwrite, depth + 1)?;
                // What was empty and still is gives way to the source.
                old.is_empty()
            }
            (Some(Value::Map(old)), Value::Map(_)) => old.is_empty(),
            (Some(old), new) if is_list(new) => overwrite || is_empty(old),
            (Some(old), _) => overwrite || is_empty(old),
            (None, _) => true,
        };
        if replace && !target.insert(key, new) {
            return Err(Failure::new("assignment to entry in nil map"));
        }
    }
    Ok(())
}
