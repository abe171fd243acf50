//! Percent escapes, part by part of a URL.

use crate::template::engine::format::quote;

/// The part of a URL a text stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    User,
    Host,
    Zone,
    Query,
    Fragment,
}

pub(super) fn should_escape(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
        return false;
    }
    if matches!(part, Part::Host | Part::Zone) && b"!$&'()*+,;=:[]<>\"".contains(&byte) {
        return false;
    }
    if b"$&+,/:;=?@".contains(&byte) {
        return match part {
            Part::Path => byte == b'?',
            Part::User => b"@/?:".contains(&byte),
            Part::Query => true,
            Part::Fragment => false,
            Part::Host | Part::Zone => true,
        };
    }
    !(part == Part::Fragment && b"!()*".contains(&byte))
}

pub(super) fn escape(text: &[u8], part: Part) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        match byte {
            b' ' if part == Part::Query => out.push(b'+'),
            _ if should_escape(byte, part) => {
                out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
            _ => out.push(byte),
        }
    }
    out
}

/// `url.QueryEscape`
pub fn query_escape(text: &[u8]) -> Vec<u8> {
    escape(text, Part::Query)
}

fn hex_pair(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(1)? << 4 | digit(2)?)
}

/// The text behind the escapes, or Go's message.
pub(super) fn unescape(text: &[u8], part: Part) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(text.len());
    let host = matches!(part, Part::Host | Part::Zone);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        let bad = || format!("invalid URL escape {}", quote::quoted(&rest[..rest.len().min(3)]));
        match byte {
            b'%' => {
                let value = hex_pair(rest).ok_or_else(bad)?;
                let percent = rest.starts_with(b"%25");
                let refused = match part {
                    Part::Host => value >> 4 < 8 && !percent,
                    Part::Zone => !percent && value != b' ' && should_escape(value, Part::Host),
                    _ => false,
                };
                if refused {
                    return Err(bad());
                }
                out.push(value);
                at += 3;
                continue;
            }
            b'+' if part == Part::Query => out.push(b' '),
            _ if host && byte < 0x80 && should_escape(byte, part) => {
                return Err(format!("invalid character {} in host name", quote::quoted(&[byte])));
            }
            _ => out.push(byte),
        }
        at += 1;
    }
    Ok(out)
}
