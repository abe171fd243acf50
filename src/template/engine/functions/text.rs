//! Quoting, indenting, wrapping, splitting.

use std::collections::BTreeMap;

use super::{Env, ParamType as P, Row, arg, cast, strings};
use crate::template::engine::failure::Failure;
use crate::template::engine::format::{self, quote};
use crate::template::engine::utf8;
use crate::template::engine::value::{Str, StringList, StringMap, Value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::variadic("quote", &[], P::Any, |env, args| joined(env, args, |value| Ok(quote::quote(&cast::to_text(value)?)))),
    Row::variadic("squote", &[], P::Any, |env, args| {
        joined(env, args, |value| Ok([b"'", &format::sprint(value)?[..], b"'"].concat()))
    }),
    Row::variadic("cat", &[], P::Any, |env, args| joined(env, args, format::sprint)),
    Row::new("indent", &[P::Int, P::String], |env, args| indented(env, args).map(Value::str)),
    Row::new("nindent", &[P::Int, P::String], |env, args| {
        Ok(Value::str([b"\n", &indented(env, args)?[..]].concat()))
    }),
    Row::new("wrap", &[P::Int, P::String], |env, args| {
        wrapped(env, arg::bytes(args, 1), arg::int(args, 0), b"\n", false).map(Value::str)
    }),
    Row::new("wrapWith", &[P::Int, P::String, P::String], |env, args| {
        let separator = arg::bytes(args, 1);
        let separator = if separator.is_empty() { b"\n" } else { separator };
        wrapped(env, arg::bytes(args, 2), arg::int(args, 0), separator, true).map(Value::str)
    }),
    Row::new("toString", &[P::Any], |_, args| cast::to_text(&args[0]).map(Value::str)),
    Row::new("split", &[P::String, P::String], |env, args| numbered(env, arg::bytes(args, 1), arg::bytes(args, 0), -1)),
    Row::new("splitn", &[P::String, P::Int, P::String], |env, args| {
        numbered(env, arg::bytes(args, 2), arg::bytes(args, 0), arg::int(args, 1))
    }),
    Row::new("splitList", &[P::String, P::String], |env, args| {
        let parts = split(env, arg::bytes(args, 1), arg::bytes(args, 0), -1)?;
        Ok(Value::Strings(StringList::new(parts.into_iter().map(Str::from).collect())))
    }),
];

fn joined(
    env: &mut Env<'_>,
    args: &[Value],
    show: impl Fn(&Value) -> Result<Vec<u8>, Failure>,
) -> Result<Value, Failure> {
    let mut out = Vec::new();
    for (at, value) in args.iter().filter(|value| !value.is_nil()).enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(&show(value)?);
        env.reserve(out.len())?;
    }
    Ok(Value::str(out))
}

fn indented(env: &mut Env<'_>, args: &[Value]) -> Result<Vec<u8>, Failure> {
    let mut pad = strings::repeated(env, b" ", arg::int(args, 0))?;
    let text = arg::bytes(args, 1);
    let with_break = [b"\n", &pad[..]].concat();
    let body = strings::replaced(env, text, b"\n", &with_break)?;
    pad.extend_from_slice(&body);
    Ok(pad)
}

/// Lines of at most `width` bytes, broken at blanks; longer words are broken only when `hard`.
fn wrapped(env: &mut Env<'_>, text: &[u8], width: i64, separator: &[u8], hard: bool) -> Result<Vec<u8>, Failure> {
    let width = usize::try_from(width).unwrap_or(0).max(1);
    env.reserve(text.len().saturating_add((text.len() / width + 1).saturating_mul(separator.len())))?;
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while text.len() - at > width {
        if text[at] == b' ' {
            at += 1;
            continue;
        }
        let window = &text[at..=at + width];
        let (end, skip) = match window.iter().rposition(|&byte| byte == b' ') {
            Some(blank) => (at + blank, 1),
            None if hard => (at + width, 0),
            None => match text[at + width..].iter().position(|&byte| byte == b' ') {
                Some(blank) => (at + width + blank, 1),
                None => {
                    out.extend_from_slice(&text[at..]);
                    return Ok(out);
                }
            },
        };
        out.extend_from_slice(&text[at..end]);
        out.extend_from_slice(separator);
        at = end + skip;
    }
    out.extend_from_slice(&text[at..]);
    Ok(out)
}

/// `strings.SplitN`
fn split<'t>(env: &mut Env<'_>, text: &'t [u8], separator: &[u8], limit: i64) -> Result<Vec<&'t [u8]>, Failure> {
    let limit = match limit {
        0 => return Ok(Vec::new()),
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    if text.is_empty() && separator.is_empty() {
        return Ok(Vec::new());
    }
    let cuts: Vec<usize> = if separator.is_empty() {
        utf8::chars(text).skip(1).map(|found| found.offset).take(limit - 1).collect()
    } else {
        memchr::memmem::find_iter(text, separator).take(limit - 1).collect()
    };
    env.reserve(cuts.len().saturating_mul(200))?;
    env.spend(cuts.len() as u64)?;
    let mut parts = Vec::with_capacity(cuts.len() + 1);
    let mut from = 0;
    for cut in cuts {
        parts.push(&text[from..cut]);
        from = cut + separator.len();
    }
    parts.push(&text[from..]);
    Ok(parts)
}

/// The parts under `_0`, `_1`, …
fn numbered(env: &mut Env<'_>, text: &[u8], separator: &[u8], limit: i64) -> Result<Value, Failure> {
    let parts = split(env, text, separator, limit)?;
    let entries: BTreeMap<Str, Str> =
        parts.into_iter().enumerate().map(|(at, part)| (Str::from(format!("_{at}")), Str::from(part))).collect();
    Ok(Value::StrMap(StringMap::new(entries)))
}
