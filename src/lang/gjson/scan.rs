//! Tokens of a JSON text that is not checked first.

use super::{Bytes, Found, Kind};
use crate::lang::number::parse_float;

/// The end of the string whose opening quote is before `start`: the offset of the closing quote, and whether there is
/// an escape. Nothing if it does not close.
pub(super) fn string_end(json: &[u8], start: usize) -> Option<(usize, bool)> {
    let (mut at, mut escaped) = (start, false);
    loop {
        match json.get(at)? {
            b'"' => return Some((at, escaped)),
            b'\\' => {
                escaped = true;
                at += 2;
            }
            _ => at += 1,
        }
    }
}

/// A string at `at` (its opening quote) and the offset behind it.
pub(super) fn string(json: &[u8], at: usize) -> Option<(Found<'_>, usize)> {
    let (end, escaped) = string_end(json, at + 1)?;
    let body = &json[at + 1..end];
    let text = if escaped {
        Bytes::owned(unescape(body))
    } else {
        Bytes::Borrowed(body)
    };
    Some((
        Found {
            kind: Kind::String,
            raw: Bytes::Borrowed(&json[at..=end]),
            text,
        },
        end + 1,
    ))
}

/// An object, array or parenthesis at `at` up to its closing bracket, of whatever kind, and the offset behind it. If it
/// does not close it goes to the end; the offset is then one beyond the end if the end is inside a string.
pub(super) fn squash(json: &[u8], at: usize) -> (&[u8], usize) {
    let (mut i, mut depth) = (at + 1, 1usize);
    while let Some(b) = json.get(i) {
        match b {
            b'"' => match string_end(json, i + 1) {
                Some((end, _)) => i = end,
                None => i = json.len(),
            },
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => {
                depth -= 1;
                if depth == 0 {
                    return (&json[at..=i], i + 1);
                }
            }
            _ => {}
        }
        i += 1;
    }
    (&json[at..], i)
}

/// A string, object, array or parenthesis at the start of `text`, for arguments within paths.
pub(super) fn squash_argument(text: &[u8]) -> &[u8] {
    if text.first() == Some(&b'"') {
        return string_end(text, 1).map_or(text, |(end, _)| &text[..=end]);
    }
    squash(text, 0).0
}

fn take_while(json: &[u8], at: usize, more: impl Fn(u8) -> bool) -> (&[u8], usize) {
    let rest = &json[at + 1..];
    let end = at + 1 + rest.iter().position(|b| !more(*b)).unwrap_or(rest.len());
    (&json[at..end], end)
}

/// A number at `at`, up to a space, comma or closing bracket.
pub(super) fn number(json: &[u8], at: usize) -> (Found<'_>, usize) {
    let (raw, end) = take_while(json, at, |b| b > b' ' && !matches!(b, b',' | b']' | b'}'));
    (
        Found {
            kind: Kind::Number,
            raw: Bytes::Borrowed(raw),
            text: Bytes::default(),
        },
        end,
    )
}

/// A literal at `at`, named by its first letter.
pub(super) fn literal(json: &[u8], at: usize) -> (Found<'_>, usize) {
    let (raw, end) = take_while(json, at, |b| b.is_ascii_lowercase());
    let kind = match json[at] {
        b't' => Kind::True,
        b'f' => Kind::False,
        _ => Kind::Null,
    };
    (
        Found {
            kind,
            raw: Bytes::Borrowed(raw),
            text: Bytes::default(),
        },
        end,
    )
}

/// Whether the byte at `at` starts a number; `n` does unless `u` follows (it may be `nan`).
pub(super) fn starts_number(json: &[u8], at: usize) -> bool {
    match json[at] {
        b'+' | b'-' | b'0'..=b'9' | b'i' | b'I' | b'N' => true,
        b'n' => json.get(at + 1).is_some_and(|b| *b != b'u'),
        _ => false,
    }
}

/// The next value from `at` on, whatever stands before it, and the offset behind it.
pub(super) fn next_value(json: &[u8], mut at: usize) -> Option<(Found<'_>, usize)> {
    while let Some(b) = json.get(at) {
        match b {
            b'{' | b'[' => {
                let (raw, end) = squash(json, at);
                return Some((Found::json(raw), end));
            }
            b'"' => return string(json, at),
            _ if starts_number(json, at) => return Some(number(json, at)),
            b'n' | b't' | b'f' => return Some(literal(json, at)),
            _ => at += 1,
        }
    }
    None
}

/// A whole text as one value: an object or array takes all that follows it.
pub(super) fn parse(json: &[u8]) -> Found<'_> {
    let Some(at) = json.iter().position(|b| *b > b' ') else {
        return Found::default();
    };
    match json[at] {
        b'{' | b'[' => Found::json(&json[at..]),
        b'"' => match string(json, at) {
            Some((found, _)) => found,
            None => unclosed(&json[at..]),
        },
        _ if starts_number(json, at) => number(json, at).0,
        b'n' | b't' | b'f' => literal(json, at).0,
        _ => Found::default(),
    }
}

fn unclosed(json: &[u8]) -> Found<'_> {
    let body = &json[1..];
    let text = if body.contains(&b'\\') {
        Bytes::owned(unescape(body))
    } else {
        Bytes::Borrowed(body)
    };
    Found {
        kind: Kind::String,
        raw: Bytes::Borrowed(json),
        text,
    }
}

/// Calls `each` with the key (default for arrays) and value of every member; a scalar is its own only member.
pub(super) fn for_each<'j>(found: &'j Found<'_>, mut each: impl FnMut(Found<'j>, Found<'j>)) {
    if !found.exists() {
        return;
    }
    let json: &'j [u8] = &found.raw;
    if found.kind != Kind::Json {
        let value = Found {
            kind: found.kind,
            raw: Bytes::Borrowed(json),
            text: Bytes::Borrowed(&found.text),
        };
        return each(Found::default(), value);
    }
    let Some(mut at) = json
        .iter()
        .position(|b| *b > b' ')
        .filter(|at| matches!(json[*at], b'{' | b'['))
    else {
        return;
    };
    let object = json[at] == b'{';
    at += 1;
    while at < json.len() {
        let mut key = Found::default();
        if object {
            if json[at] != b'"' {
                at += 1;
                continue;
            }
            let Some((name, end)) = string(json, at) else { return };
            (key, at) = (name, end);
        }
        while json.get(at).is_some_and(|b| *b <= b' ' || matches!(b, b',' | b':')) {
            at += 1;
        }
        let Some((value, end)) = next_value(json, at) else {
            return;
        };
        each(key, value);
        // the byte behind a value is skipped unseen
        at = end + 1;
    }
}

/// A float as Go's `ParseFloat` with its error ignored: 0 for what is no number, infinity beyond the range.
pub(super) fn float(text: &[u8]) -> f64 {
    let Ok(text) = std::str::from_utf8(text) else {
        return 0.0;
    };
    match parse_float(text) {
        Ok(value) => value,
        Err(e) if e.range => {
            if text.starts_with('-') {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        Err(_) => 0.0,
    }
}

/// Cuts bytes up to and including the space off both ends.
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|b| *b > b' ').unwrap_or(text.len());
    let end = text.iter().rposition(|b| *b > b' ').map_or(start, |at| at + 1);
    &text[start..end]
}

/// Decodes the escapes of a string's body. It stops at the first control character or faulty escape.
pub(super) fn unescape(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut at = 0;
    while let Some(&b) = body.get(at) {
        if b < b' ' {
            break;
        }
        if b != b'\\' {
            out.push(b);
            at += 1;
            continue;
        }
        let Some(&kind) = body.get(at + 1) else { break };
        at += 2;
        out.push(match kind {
            b'\\' | b'/' | b'"' => kind,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let Some(width) = push_unicode(&mut out, &body[at..]) else {
                    break;
                };
                at += width;
                continue;
            }
            _ => break,
        });
    }
    out
}

/// Appends what stands behind `\u`, and gives the bytes used: 4, or 10 for a surrogate with an escape behind it.
fn push_unicode(out: &mut Vec<u8>, digits: &[u8]) -> Option<usize> {
    let unit = hex(digits.get(..4)?);
    let mut width = 4;
    let mut c = char::from_u32(unit);
    if (0xD800..0xE000).contains(&unit) && digits.len() >= 10 && digits[4..].starts_with(br"\u") {
        let low = hex(&digits[6..10]);
        width = 10;
        let pair = (0xD800..0xDC00).contains(&unit) && (0xDC00..0xE000).contains(&low);
        c = if pair {
            char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00))
        } else {
            None
        };
    }
    let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    Some(width)
}

/// Four hexadecimal digits; 0 if they are none.
fn hex(digits: &[u8]) -> u32 {
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return 0;
    }
    std::str::from_utf8(digits)
        .ok()
        .and_then(|text| u32::from_str_radix(text, 16).ok())
        .unwrap_or(0)
}
