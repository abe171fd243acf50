//! Writing JSON as `encoding/json` does.

use super::{Shortest, Value};
use crate::lang::unicode::runes;

/// Whether `<`, `>` and `&` are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// `json.Marshal`: `\u003c`, `\u003e`, `\u0026`.
    Html,
    /// An encoder with `SetEscapeHTML(false)`: they stay.
    Plain,
}

/// Appends `text` as a JSON string. Each byte that is not UTF-8 becomes the six characters `\ufffd`.
pub fn write_string(out: &mut Vec<u8>, text: &[u8], escape: Escape) {
    out.push(b'"');
    for (at, c, width) in runes(text) {
        match c {
            '"' => out.extend_from_slice(br#"\""#),
            '\\' => out.extend_from_slice(br"\\"),
            '\u{8}' => out.extend_from_slice(br"\b"),
            '\u{c}' => out.extend_from_slice(br"\f"),
            '\n' => out.extend_from_slice(br"\n"),
            '\r' => out.extend_from_slice(br"\r"),
            '\t' => out.extend_from_slice(br"\t"),
            '<' | '>' | '&' if escape == Escape::Html => write_unicode(out, c),
            '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => write_unicode(out, c),
            char::REPLACEMENT_CHARACTER if width == 1 => write_unicode(out, c),
            _ => out.extend_from_slice(&text[at..at + width]),
        }
    }
    out.push(b'"');
}

fn write_unicode(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
}

/// Appends a float. NaN and the infinities, which Go refuses to write and JSON cannot hold, become `null`.
pub fn write_float(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        out.extend_from_slice(Shortest::of(value).json().as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

/// Appends any value.
pub(super) fn write_value(out: &mut Vec<u8>, value: &Value, escape: Escape) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_float(out, *number),
        // Go writes the empty json.Number as 0
        Value::NumberText(text) if text.is_empty() => out.push(b'0'),
        Value::NumberText(text) => out.extend_from_slice(text.as_bytes()),
        Value::String(text) => write_string(out, text.as_bytes(), escape),
        Value::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                separate(out, i);
                write_value(out, item, escape);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            out.push(b'{');
            for (i, (name, member)) in members.iter().enumerate() {
                separate(out, i);
                write_string(out, name.as_bytes(), escape);
                out.push(b':');
                write_value(out, member, escape);
            }
            out.push(b'}');
        }
    }
}

fn separate(out: &mut Vec<u8>, index: usize) {
    if index > 0 {
        out.push(b',');
    }
}

/// Appends valid JSON without the spaces between tokens, as Go does with a raw member inside a larger value: spelling
/// of numbers and strings is kept, but `<`, `>`, `&` (if asked) and U+2028/U+2029 inside strings are escaped.
pub fn compact(out: &mut Vec<u8>, json: &[u8], escape: Escape) {
    let (mut in_string, mut escaped, mut at) = (false, false, 0);
    while let Some(&b) = json.get(at) {
        let separator = json[at..].starts_with(b"\xe2\x80\xa8") || json[at..].starts_with(b"\xe2\x80\xa9");
        match b {
            b'<' | b'>' | b'&' if escape == Escape::Html => write_unicode(out, char::from(b)),
            b'\xe2' if separator && escape == Escape::Html => {
                write_unicode(out, if json[at + 2] == 0xa8 { '\u{2028}' } else { '\u{2029}' });
                at += 2;
            }
            b' ' | b'\t' | b'\r' | b'\n' if !in_string => {}
            _ => out.push(b),
        }
        let quote = b == b'"' && !escaped;
        escaped = in_string && b == b'\\' && !escaped;
        in_string ^= quote;
        at += 1;
    }
}
