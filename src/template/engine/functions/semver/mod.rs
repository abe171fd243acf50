//! Semantic versions: reading, ordering, raising, and constraints.

mod constraint;
mod version;

pub use version::Version;

use std::rc::Rc;

use super::{Env, ParamType as P, Row, arg};
use crate::template::engine::failure::Failure;
use crate::template::engine::value::{Str, Value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("semver", &[P::String], |_, args| Ok(Value::Semver(Rc::new(Version::parse(arg::bytes(args, 0))?)))),
    Row::new("semverCompare", &[P::String, P::String], compare),
];

/// Methods of `semver.Version`.
pub const VALUE_METHODS: &[Row] = &[
    Row::new("String", &[], |_, args| Ok(Value::str(receiver(args).to_string()))),
    Row::new("Major", &[], |_, args| Ok(Value::Uint64(receiver(args).numbers[0]))),
    Row::new("Minor", &[], |_, args| Ok(Value::Uint64(receiver(args).numbers[1]))),
    Row::new("Patch", &[], |_, args| Ok(Value::Uint64(receiver(args).numbers[2]))),
    Row::new("Prerelease", &[], |_, args| Ok(Value::str(receiver(args).prerelease.as_str()))),
    Row::new("Metadata", &[], |_, args| Ok(Value::str(receiver(args).metadata.as_str()))),
    Row::new("IncMajor", &[], |_, args| raised(args, 0)),
    Row::new("IncMinor", &[], |_, args| raised(args, 1)),
    Row::new("IncPatch", &[], |_, args| raised(args, 2)),
    Row::new("SetPrerelease", &[P::String], |_, args| {
        let changed = receiver(args).with_prerelease(arg::bytes(args, 1))?;
        Ok(Value::SemverValue(Rc::new(changed)))
    }),
    Row::new("SetMetadata", &[P::String], |_, args| {
        let changed = receiver(args).with_metadata(arg::bytes(args, 1))?;
        Ok(Value::SemverValue(Rc::new(changed)))
    }),
    Row::new("MarshalJSON", &[], |_, args| Ok(Value::Bytes(Str::from(format!("\"{}\"", receiver(args)))))),
    Row::new("MarshalText", &[], |_, args| Ok(Value::Bytes(Str::from(receiver(args).to_string())))),
    Row::new("Value", &[], |_, args| Ok(Value::str(receiver(args).to_string()))),
];

/// Further methods of `*semver.Version`.
pub const POINTER_METHODS: &[Row] = &[
    Row::new("Original", &[], |_, args| Ok(Value::str(receiver(args).original.as_str()))),
    Row::new("Compare", &[P::Semver], |_, args| ordered(args, |order| Value::Int(order as i64))),
    Row::new("Equal", &[P::Semver], |_, args| {
        if args[1].is_nil() { Ok(Value::Bool(false)) } else { ordered(args, |order| Value::Bool(order.is_eq())) }
    }),
    Row::new("LessThan", &[P::Semver], |_, args| ordered(args, |order| Value::Bool(order.is_lt()))),
    Row::new("LessThanEqual", &[P::Semver], |_, args| ordered(args, |order| Value::Bool(order.is_le()))),
    Row::new("GreaterThan", &[P::Semver], |_, args| ordered(args, |order| Value::Bool(order.is_gt()))),
    Row::new("GreaterThanEqual", &[P::Semver], |_, args| ordered(args, |order| Value::Bool(order.is_ge()))),
];

fn version_at(args: &[Value], at: usize) -> Option<&Version> {
    match args.get(at) {
        Some(Value::Semver(version) | Value::SemverValue(version)) => Some(version),
        _ => None,
    }
}

fn receiver(args: &[Value]) -> Version {
    version_at(args, 0).cloned().unwrap_or_default()
}

fn raised(args: &[Value], part: usize) -> Result<Value, Failure> {
    Ok(Value::SemverValue(Rc::new(receiver(args).raised(part))))
}

fn ordered(args: &[Value], show: impl Fn(std::cmp::Ordering) -> Value) -> Result<Value, Failure> {
    match (version_at(args, 0), version_at(args, 1)) {
        (Some(a), Some(b)) => Ok(show(a.order(b))),
        _ => Err(Failure::nil_pointer()),
    }
}

fn compare(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let constraint = constraint::parse(arg::bytes(args, 0))?;
    let version = Version::parse(arg::bytes(args, 1))?;
    Ok(Value::Bool(constraint::check(&constraint, &version)))
}
