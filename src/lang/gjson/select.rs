//! Literals (`!…`) and multipaths (`{…}`, `[…]`).

use super::{Eval, scan};
use crate::lang::gojson::{self, Escape};
use zeroize::Zeroizing;

/// A literal at the start of a path, and the rest of the path.
pub(super) fn literal(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = &path[1..];
    if matches!(text.first()?, b'{' | b'[' | b'"' | b'+' | b'-' | b'0'..=b'9') {
        // whatever it starts with is taken for an opening bracket
        let (literal, _) = scan::squash(text, 0);
        return Some((literal, &text[literal.len()..]));
    }
    let end = text.iter().position(|b| matches!(b, b'|' | b'.')).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let known = ["true", "false", "null", "nan", "inf"]
        .iter()
        .any(|w| name.eq_ignore_ascii_case(w.as_bytes()));
    known.then_some((name, rest))
}

/// One path of a multipath, with the name given to it.
pub(super) struct Selector<'p> {
    name: &'p [u8],
    path: &'p [u8],
}

impl Eval {
    /// Makes the object or array of a multipath, told apart by its opening bracket.
    pub(super) fn multipath(&mut self, json: &[u8], open: u8, selectors: &[Selector<'_>]) -> Vec<u8> {
        let object = open == b'{';
        let mut made = Zeroizing::new(vec![open]);
        for selector in selectors {
            let found = self.get(json, selector.path);
            if !found.exists() || !self.spend(found.raw.len()) {
                continue;
            }
            if made.len() > 1 {
                made.push(b',');
            }
            if object {
                push_name(&mut made, selector);
                made.push(b':');
            }
            let bytes = found.bytes();
            made.extend_from_slice(if bytes.is_empty() { b"null" } else { &bytes });
        }
        made.push(if object { b'}' } else { b']' });
        std::mem::take(&mut *made)
    }
}

fn push_name(out: &mut Vec<u8>, selector: &Selector<'_>) {
    if selector.name.starts_with(b"\"") && gojson::validate(selector.name).is_ok() {
        out.extend_from_slice(selector.name);
    } else if !selector.name.is_empty() {
        gojson::write_string(out, selector.name, Escape::Html);
    } else {
        let last = last_step(selector.path);
        let name = if is_simple(last) { last } else { b"_" };
        gojson::write_string(out, name, Escape::Html);
    }
}

/// Splits `{"name":path,path}` at the start of `path`; nothing if it does not close.
pub(super) fn selectors(path: &[u8]) -> Option<(Vec<Selector<'_>>, &[u8])> {
    let mut selectors = Vec::new();
    let (mut in_modifier, mut depth, mut colon, mut start) = (false, 1usize, None, 1);
    let mut i = 1;
    while let Some(&b) = path.get(i) {
        let close = matches!(b, b']' | b')' | b'}');
        depth -= usize::from(close);
        match b {
            b'\\' => i += 1,
            b'@' => in_modifier |= matches!(path[i - 1], b'.' | b'|'),
            b':' if !in_modifier && colon.is_none() && depth == 1 => colon = Some(i),
            b'"' => i = scan::string_end(path, i + 1).map_or(path.len(), |(end, _)| end),
            b'[' | b'(' | b'{' => depth += 1,
            b',' if depth == 1 => {}
            _ => {}
        }
        if (b == b',' && depth == 1) || depth == 0 {
            selectors.push(match colon {
                None => Selector {
                    name: b"",
                    path: &path[start..i],
                },
                Some(colon) => Selector {
                    name: &path[start..colon],
                    path: &path[colon + 1..i],
                },
            });
            (in_modifier, colon, start) = (false, None, i + 1);
        }
        if depth == 0 {
            return Some((selectors, &path[i + 1..]));
        }
        i += 1;
    }
    None
}

/// The last step of a path, which names the member if no name is given.
fn last_step(path: &[u8]) -> &[u8] {
    let end = (0..path.len())
        .rev()
        .find(|&i| matches!(path[i], b'|' | b'.') && (i == 0 || path[i - 1] != b'\\'));
    end.map_or(path, |i| &path[i + 1..])
}

fn is_simple(name: &[u8]) -> bool {
    name.iter()
        .all(|b| *b >= b' ' && !matches!(b, b'[' | b']' | b'{' | b'}' | b'(' | b')' | b'#' | b'|' | b'!'))
}
