//! Empty values, choices, and failing on purpose.

use super::{Env, ParamType as P, Row, arg};
use crate::template::engine::eval::is_true;
use crate::template::engine::failure::Failure;
use crate::template::engine::utf8;
use crate::template::engine::value::Value;

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::variadic("default", &[P::Any], P::Any, default),
    Row::new("empty", &[P::Any], |_, args| Ok(Value::Bool(is_empty(&args[0])))),
    Row::variadic("coalesce", &[], P::Any, |_, args| {
        Ok(args.iter().find(|value| !is_empty(value)).cloned().unwrap_or(Value::Nil))
    }),
    Row::variadic("all", &[], P::Any, |_, args| Ok(Value::Bool(!args.iter().any(is_empty)))),
    Row::variadic("any", &[], P::Any, |_, args| Ok(Value::Bool(args.iter().any(|value| !is_empty(value))))),
    Row::new("ternary", &[P::Any, P::Any, P::Bool], |_, args| {
        Ok(arg::value(args, usize::from(!arg::boolean(args, 2))))
    }),
    Row::new("fail", &[P::String], fail),
    Row::new("hello", &[], |_, _| Ok(Value::str("Hello!"))),
];

/// Nil, false, zero, and whatever has no elements.
pub fn is_empty(value: &Value) -> bool {
    !is_true(value)
}

fn default(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let given = args.get(1).filter(|value| !is_empty(value));
    Ok(given.unwrap_or(&args[0]).clone())
}

fn fail(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    Err(Failure::with_data(utf8::lossy(arg::bytes(args, 0)), "the template called fail (message withheld)"))
}
