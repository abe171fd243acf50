//! What type a value has.

use super::{Env, ParamType as P, Row, arg, deep};
use crate::template::engine::failure::Failure;
use crate::template::engine::value::Value;

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("typeOf", &[P::Any], |_, args| Ok(Value::str(args[0].type_name()))),
    Row::new("typeIs", &[P::String, P::Any], |_, args| {
        Ok(Value::Bool(arg::bytes(args, 0) == args[1].type_name().as_bytes()))
    }),
    Row::new("typeIsLike", &[P::String, P::Any], type_is_like),
    Row::new("kindOf", &[P::Any], |_, args| Ok(Value::str(args[0].kind_name()))),
    Row::new("kindIs", &[P::String, P::Any], |_, args| {
        Ok(Value::Bool(arg::bytes(args, 0) == args[1].kind_name().as_bytes()))
    }),
    Row::new("deepEqual", &[P::Any, P::Any], |env, args| deep::equal(env, &args[0], &args[1]).map(Value::Bool)),
    Row::new("deepCopy", &[P::Any], deep_copy),
    Row::new("mustDeepCopy", &[P::Any], deep_copy),
];

fn type_is_like(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let target = arg::bytes(args, 0);
    let name = args[1].type_name();
    Ok(Value::Bool(target == name.as_bytes() || name.strip_prefix('*').is_some_and(|name| target == name.as_bytes())))
}

fn deep_copy(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    if args[0].is_nil() {
        return Err(Failure::new("reflect: call of reflect.Value.Type on zero Value"));
    }
    deep::copy(env, &args[0])
}
