//! Go's regular expressions. The plain functions panic on a bad expression, the `must` twins return the error.

use super::{Env, ParamType as P, Row, arg};
use crate::lang::regexp::{Regexp, quote_meta};
use crate::template::engine::failure::Failure;
use crate::template::engine::format::quote;
use crate::template::engine::utf8;
use crate::template::engine::value::{Str, StringList, Value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("regexMatch", &[P::String, P::String], |_, args| {
        let matched = Regexp::from_bytes(arg::bytes(args, 0)).is_ok_and(|regexp| regexp.is_match(arg::bytes(args, 1)));
        Ok(Value::Bool(matched))
    }),
    Row::new("mustRegexMatch", &[P::String, P::String], |_, args| {
        Ok(Value::Bool(compile(args)?.is_match(arg::bytes(args, 1))))
    }),
    Row::new("regexFind", &[P::String, P::String], |_, args| Ok(find(&must_compile(args)?, args))),
    Row::new("mustRegexFind", &[P::String, P::String], |_, args| Ok(find(&compile(args)?, args))),
    Row::new("regexFindAll", &[P::String, P::String, P::Int], |env, args| find_all(env, &must_compile(args)?, args)),
    Row::new("mustRegexFindAll", &[P::String, P::String, P::Int], |env, args| find_all(env, &compile(args)?, args)),
    Row::new("regexReplaceAll", &[P::String, P::String, P::String], |env, args| {
        replace(env, &must_compile(args)?, args, true)
    }),
    Row::new("mustRegexReplaceAll", &[P::String, P::String, P::String], |env, args| {
        replace(env, &compile(args)?, args, true)
    }),
    Row::new("regexReplaceAllLiteral", &[P::String, P::String, P::String], |env, args| {
        replace(env, &must_compile(args)?, args, false)
    }),
    Row::new("mustRegexReplaceAllLiteral", &[P::String, P::String, P::String], |env, args| {
        replace(env, &compile(args)?, args, false)
    }),
    Row::new("regexSplit", &[P::String, P::String, P::Int], |env, args| split(env, &must_compile(args)?, args)),
    Row::new("mustRegexSplit", &[P::String, P::String, P::Int], |env, args| split(env, &compile(args)?, args)),
    Row::new("regexQuoteMeta", &[P::String], |_, args| Ok(Value::str(quote_meta(arg::bytes(args, 0))))),
];

const MASKED: &str = "error parsing regexp (expression withheld)";

fn compile(args: &[Value]) -> Result<Regexp, Failure> {
    Regexp::from_bytes(arg::bytes(args, 0)).map_err(|error| Failure::with_data(error.to_string(), MASKED))
}

fn must_compile(args: &[Value]) -> Result<Regexp, Failure> {
    let expression = arg::bytes(args, 0);
    Regexp::from_bytes(expression).map_err(|error| {
        let shown = if quote::can_backquote(expression) {
            format!("`{}`", utf8::lossy(expression))
        } else {
            quote::quoted(expression)
        };
        Failure::with_data(format!("regexp: Compile({shown}): {error}"), MASKED)
    })
}

fn find(regexp: &Regexp, args: &[Value]) -> Value {
    let text = arg::bytes(args, 1);
    Value::str(regexp.find(text).map_or(&text[..0], |range| &text[range]))
}

fn limit(args: &[Value]) -> isize {
    isize::try_from(arg::int(args, 2)).unwrap_or(isize::MAX)
}

/// Every match is at least 100 bytes in a list: a text that could make too many is refused beforehand.
fn find_all(env: &mut Env<'_>, regexp: &Regexp, args: &[Value]) -> Result<Value, Failure> {
    let text = arg::bytes(args, 1);
    let found = regexp.find_all(text, limit(args));
    env.reserve(found.len().saturating_mul(100))?;
    if found.is_empty() {
        return Ok(Value::Strings(StringList::nil()));
    }
    Ok(Value::strings(found.into_iter().map(|range| Str::from(&text[range])).collect()))
}

fn replace(env: &mut Env<'_>, regexp: &Regexp, args: &[Value], expand: bool) -> Result<Value, Failure> {
    let (text, replacement) = (arg::bytes(args, 1), arg::bytes(args, 2));
    let references = replacement.iter().filter(|&&byte| byte == b'$').count();
    let matches = regexp.find_all(text, -1).len();
    let fixed = matches.saturating_mul(replacement.len());
    env.reserve(text.len().saturating_mul(1 + references).saturating_add(fixed))?;
    Ok(Value::str(if expand {
        regexp.replace_all(text, replacement)
    } else {
        regexp.replace_all_literal(text, replacement)
    }))
}

fn split(env: &mut Env<'_>, regexp: &Regexp, args: &[Value]) -> Result<Value, Failure> {
    if limit(args) == 0 {
        return Ok(Value::Strings(StringList::nil()));
    }
    let parts = regexp.split(arg::bytes(args, 1), limit(args));
    env.reserve(parts.len().saturating_mul(100))?;
    Ok(Value::strings(parts.into_iter().map(Str::from).collect()))
}
