//! Cutting, trimming, searching and changing case.

use super::{Env, ParamType as P, Row, arg, letters};
use crate::template::engine::failure::Failure;
use crate::template::engine::lex::find;
use crate::template::engine::utf8;
use crate::template::engine::value::Value;

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("trim", &[P::String], |_, args| Ok(Value::str(trim(arg::bytes(args, 0), utf8::is_space)))),
    Row::new("trimAll", &[P::String, P::String], trim_all),
    Row::new("trimall", &[P::String, P::String], trim_all),
    Row::new("trimPrefix", &[P::String, P::String], |_, args| {
        let text = arg::bytes(args, 1);
        Ok(Value::str(text.strip_prefix(arg::bytes(args, 0)).unwrap_or(text)))
    }),
    Row::new("trimSuffix", &[P::String, P::String], |_, args| {
        let text = arg::bytes(args, 1);
        Ok(Value::str(text.strip_suffix(arg::bytes(args, 0)).unwrap_or(text)))
    }),
    Row::new("upper", &[P::String], |_, args| Ok(Value::str(mapped(arg::bytes(args, 0), letters::to_upper)))),
    Row::new("lower", &[P::String], |_, args| Ok(Value::str(mapped(arg::bytes(args, 0), letters::to_lower)))),
    Row::new("title", &[P::String], title),
    Row::new("untitle", &[P::String], untitle),
    Row::new("swapcase", &[P::String], swapcase),
    Row::new("nospace", &[P::String], nospace),
    Row::new("initials", &[P::String], initials),
    Row::new("contains", &[P::String, P::String], |_, args| {
        Ok(Value::Bool(find(arg::bytes(args, 1), arg::bytes(args, 0)).is_some()))
    }),
    Row::new("hasPrefix", &[P::String, P::String], |_, args| {
        Ok(Value::Bool(arg::bytes(args, 1).starts_with(arg::bytes(args, 0))))
    }),
    Row::new("hasSuffix", &[P::String, P::String], |_, args| {
        Ok(Value::Bool(arg::bytes(args, 1).ends_with(arg::bytes(args, 0))))
    }),
    Row::new("trunc", &[P::Int, P::String], trunc),
    Row::new("substr", &[P::Int, P::Int, P::String], substr),
    Row::new("abbrev", &[P::Int, P::String], abbrev),
    Row::new("abbrevboth", &[P::Int, P::Int, P::String], abbrev_both),
    Row::new("repeat", &[P::Int, P::String], |env, args| {
        repeated(env, arg::bytes(args, 1), arg::int(args, 0)).map(Value::str)
    }),
    Row::new("replace", &[P::String, P::String, P::String], |env, args| {
        replaced(env, arg::bytes(args, 2), arg::bytes(args, 0), arg::bytes(args, 1)).map(Value::str)
    }),
    Row::new("plural", &[P::String, P::String, P::Int], |_, args| {
        Ok(arg::value(args, usize::from(arg::int(args, 2) != 1)))
    }),
];

/// The text without leading and trailing characters that `cut` accepts.
pub fn trim(text: &[u8], cut: impl Fn(char) -> bool) -> &[u8] {
    let mut rest = text;
    loop {
        let (c, width) = utf8::decode(rest);
        if width == 0 || !cut(c) {
            break;
        }
        rest = &rest[width..];
    }
    loop {
        let (c, width) = utf8::decode_last(rest);
        if width == 0 || !cut(c) {
            return rest;
        }
        rest = &rest[..rest.len() - width];
    }
}

fn trim_all(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let cut: Vec<char> = utf8::chars(arg::bytes(args, 0)).map(|found| found.character).collect();
    Ok(Value::str(trim(arg::bytes(args, 1), |c| cut.contains(&c))))
}

/// Every character mapped; a broken byte becomes U+FFFD unless the text is ASCII anyway.
fn mapped(text: &[u8], map: impl Fn(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for found in utf8::chars(text) {
        utf8::push(&mut out, map(found.character));
    }
    out
}

fn is_separator(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_alphanumeric() && c != '_';
    }
    !utf8::is_letter(c) && !utf8::is_digit(c) && utf8::is_space(c)
}

fn title(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut out = Vec::new();
    let mut previous = ' ';
    for found in utf8::chars(arg::bytes(args, 0)) {
        let c = found.character;
        utf8::push(&mut out, if is_separator(previous) { letters::to_title(c) } else { c });
        previous = c;
    }
    Ok(Value::str(out))
}

fn untitle(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut out = Vec::new();
    let mut first = true;
    for found in utf8::chars(arg::bytes(args, 0)) {
        let c = found.character;
        let space = utf8::is_space(c);
        utf8::push(&mut out, if first && !space { letters::to_lower(c) } else { c });
        first = space;
    }
    Ok(Value::str(out))
}

fn swapcase(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut out = Vec::new();
    let mut word_start = true;
    for found in utf8::chars(arg::bytes(args, 0)) {
        let c = found.character;
        let swapped = if letters::is_upper(c) || letters::is_title(c) {
            word_start = false;
            letters::to_lower(c)
        } else if letters::is_lower(c) {
            if std::mem::take(&mut word_start) { letters::to_title(c) } else { letters::to_upper(c) }
        } else {
            word_start = utf8::is_space(c);
            c
        };
        utf8::push(&mut out, swapped);
    }
    Ok(Value::str(out))
}

/// Works on bytes as Latin-1, as the library does; a text without blanks stays whole.
fn nospace(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let text = arg::bytes(args, 0);
    if !text.iter().any(|&byte| utf8::is_space(char::from(byte))) {
        return Ok(Value::str(text));
    }
    let mut out = Vec::with_capacity(text.len());
    for c in text.iter().copied().map(char::from).filter(|&c| !utf8::is_space(c)) {
        utf8::push(&mut out, c);
    }
    Ok(Value::str(out))
}

/// Works on bytes as Latin-1, as the library does.
fn initials(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut out = Vec::new();
    let mut gap = true;
    for c in arg::bytes(args, 0).iter().copied().map(char::from) {
        if utf8::is_space(c) {
            gap = true;
        } else if std::mem::take(&mut gap) {
            utf8::push(&mut out, c);
        }
    }
    Ok(Value::str(out))
}

fn length(text: &[u8]) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

fn at(position: i64) -> usize {
    usize::try_from(position).unwrap_or(0)
}

fn trunc(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (count, text) = (arg::int(args, 0), arg::bytes(args, 1));
    let size = length(text);
    Ok(Value::str(if count < 0 && size.saturating_add(count) > 0 {
        &text[at(size + count)..]
    } else if count >= 0 && size > count {
        &text[..at(count)]
    } else {
        text
    }))
}

fn substr(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (start, end, text) = (arg::int(args, 0), arg::int(args, 1), arg::bytes(args, 2));
    let size = length(text);
    let out_of_range = |what: String| Failure::new(format!("runtime error: slice bounds out of range [{what}"));
    if start < 0 {
        return match end {
            end if end < 0 => Err(out_of_range(format!(":{end}]"))),
            end if end > size => Err(out_of_range(format!(":{end}] with length {size}"))),
            end => Ok(Value::str(&text[..at(end)])),
        };
    }
    let end = if end < 0 || end > size { size } else { end };
    if start > end {
        return Err(out_of_range(format!("{start}:{end}]")));
    }
    Ok(Value::str(&text[at(start)..at(end)]))
}

fn abbrev(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (width, text) = (arg::int(args, 0), arg::bytes(args, 1));
    Ok(Value::str(if width < 4 { text.to_vec() } else { abbreviated(text, 0, width) }))
}

fn abbrev_both(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (left, right, text) = (arg::int(args, 0), arg::int(args, 1), arg::bytes(args, 2));
    if right < 4 || (left > 0 && right < 7) {
        return Ok(Value::str(text));
    }
    Ok(Value::str(abbreviated(text, left, right)))
}

/// At most `width` bytes, from about `offset`, with dots where something is left out. `width` is 4 or more.
fn abbreviated(text: &[u8], offset: i64, width: i64) -> Vec<u8> {
    let size = length(text);
    if size <= width {
        return text.to_vec();
    }
    let offset = offset.min(size).min(size - (width - 3));
    if offset <= 4 {
        return [&text[..at(width - 3)], b"..."].concat();
    }
    if width < 7 {
        return Vec::new();
    }
    if offset + width - 3 < size {
        let tail = abbreviated(&text[at(offset)..], 0, width - 3);
        return [b"...", &tail[..]].concat();
    }
    [b"...", &text[at(size - (width - 3))..]].concat()
}

/// `strings.Repeat`
pub fn repeated(env: &mut Env<'_>, text: &[u8], count: i64) -> Result<Vec<u8>, Failure> {
    let count = usize::try_from(count).map_err(|_| Failure::new("strings: negative Repeat count"))?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let size = text.len().saturating_mul(count);
    if size > usize::MAX / 2 {
        return Err(Failure::new("strings: Repeat output length overflow"));
    }
    env.reserve(size)?;
    Ok(text.repeat(count))
}

/// `strings.ReplaceAll`; an empty `old` matches before every character and at the end.
pub fn replaced(env: &mut Env<'_>, text: &[u8], old: &[u8], new: &[u8]) -> Result<Vec<u8>, Failure> {
    let places: Vec<usize> = if old.is_empty() {
        utf8::chars(text).map(|found| found.offset).chain([text.len()]).collect()
    } else {
        memchr::memmem::find_iter(text, old).collect()
    };
    let size = text.len().saturating_add(places.len().saturating_mul(new.len()));
    env.reserve(size)?;
    let mut out = Vec::with_capacity(size);
    let mut from = 0;
    for place in places {
        out.extend_from_slice(&text[from..place]);
        out.extend_from_slice(new);
        from = place + old.len();
    }
    out.extend_from_slice(&text[from..]);
    Ok(out)
}
