//! Go's quoted text: `%q` and back.

use crate::template::engine::utf8;

/// Which characters may stand for themselves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// Every printable character.
    Printable,
    /// ASCII only (`%+q`).
    Ascii,
}

/// The text between double quotes, with Go's escapes.
pub fn quote(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    quote_into(&mut out, text, '"', Plain::Printable);
    out
}

/// As [`quote`], for messages.
pub fn quoted(text: &[u8]) -> String {
    utf8::lossy(&quote(text))
}

/// Appends the text between `mark`s.
pub fn quote_into(out: &mut Vec<u8>, text: &[u8], mark: char, plain: Plain) {
    utf8::push(out, mark);
    for found in utf8::chars(text) {
        if found.valid {
            escape(out, found.character, mark, plain);
        } else {
            hex_escape(out, 'x', u32::from(text[found.offset]), 2);
        }
    }
    utf8::push(out, mark);
}

/// Appends one character between single quotes (`%q` of an integer).
pub fn quote_char(out: &mut Vec<u8>, character: char, plain: Plain) {
    out.push(b'\'');
    escape(out, character, '\'', plain);
    out.push(b'\'');
}

fn escape(out: &mut Vec<u8>, c: char, mark: char, plain: Plain) {
    if c == mark || c == '\\' {
        out.push(b'\\');
        utf8::push(out, c);
        return;
    }
    if utf8::is_print(c) && (plain == Plain::Printable || c.is_ascii()) {
        utf8::push(out, c);
        return;
    }
    let short = match c {
        '\u{7}' => b'a',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{b}' => b'v',
        _ => 0,
    };
    let code = u32::from(c);
    match code {
        _ if short != 0 => out.extend_from_slice(&[b'\\', short]),
        0..=0x1f | 0x7f => hex_escape(out, 'x', code, 2),
        0x20..=0xffff => hex_escape(out, 'u', code, 4),
        _ => hex_escape(out, 'U', code, 8),
    }
}

fn hex_escape(out: &mut Vec<u8>, kind: char, code: u32, digits: usize) {
    out.push(b'\\');
    utf8::push(out, kind);
    out.extend_from_slice(format!("{code:0digits$x}").as_bytes());
}

/// `%#U`: the code point, and the character itself when it can be printed.
pub fn code_point(character: char, show: bool) -> String {
    let code = u32::from(character);
    if show && utf8::is_print(character) {
        format!("U+{code:04X} '{character}'")
    } else {
        format!("U+{code:04X}")
    }
}

/// True when the text fits between back quotes (`%#q`).
pub fn can_backquote(text: &[u8]) -> bool {
    utf8::chars(text).all(|found| {
        let c = found.character;
        found.valid && c != '\u{FEFF}' && (c > '\u{7f}' || c == '\t' || (c >= ' ' && c != '`' && c != '\u{7f}'))
    })
}

/// What an escape sequence stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unquoted {
    /// A character, written as UTF-8.
    Character(char),
    /// A single byte.
    Byte(u8),
}

/// The text inside a quoted literal (`"…"` or back quotes), or `None` when it is not valid Go syntax.
pub fn unquote(literal: &[u8]) -> Option<Vec<u8>> {
    let (&mark, rest) = literal.split_first()?;
    let (&last, inner) = rest.split_last()?;
    if mark != last {
        return None;
    }
    match mark {
        b'`' if !inner.contains(&b'`') => Some(inner.iter().copied().filter(|&b| b != b'\r').collect()),
        b'"' if !inner.contains(&b'\n') => unquote_inner(inner),
        _ => None,
    }
}

fn unquote_inner(inner: &[u8]) -> Option<Vec<u8>> {
    if !inner.contains(&b'\\') && !inner.contains(&b'"') && std::str::from_utf8(inner).is_ok() {
        return Some(inner.to_vec());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while !rest.is_empty() {
        let (found, width) = unquote_char(rest, b'"')?;
        match found {
            Unquoted::Character(c) => utf8::push(&mut out, c),
            Unquoted::Byte(byte) => out.push(byte),
        }
        rest = &rest[width..];
    }
    Some(out)
}

/// Reads one character or escape sequence; gives it and its width.
pub fn unquote_char(text: &[u8], mark: u8) -> Option<(Unquoted, usize)> {
    let &first = text.first()?;
    if first == mark {
        return None;
    }
    if first != b'\\' {
        let (c, width) = utf8::decode(text);
        return Some((Unquoted::Character(c), width));
    }
    let &kind = text.get(1)?;
    let simple = match kind {
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'\\' => b'\\',
        b'\'' | b'"' if kind == mark => kind,
        b'x' => return hex_char(text, 2),
        b'u' => return hex_char(text, 4),
        b'U' => return hex_char(text, 8),
        b'0'..=b'7' => return octal_char(text),
        _ => return None,
    };
    Some((Unquoted::Byte(simple), 2))
}

fn hex_char(text: &[u8], digits: usize) -> Option<(Unquoted, usize)> {
    let body = std::str::from_utf8(text.get(2..2 + digits)?).ok()?;
    if !body.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let code = u32::from_str_radix(body, 16).ok()?;
    let found = if digits == 2 {
        Unquoted::Byte(u8::try_from(code).ok()?)
    } else {
        Unquoted::Character(char::from_u32(code)?)
    };
    Some((found, 2 + digits))
}

fn octal_char(text: &[u8]) -> Option<(Unquoted, usize)> {
    let body = std::str::from_utf8(text.get(1..4)?).ok()?;
    if !body.bytes().all(|b| (b'0'..=b'7').contains(&b)) {
        return None;
    }
    let code = u32::from_str_radix(body, 8).ok()?;
    Some((Unquoted::Byte(u8::try_from(code).ok()?), 4))
}
