//! Wildcard patterns: `*` any text, `?` any character, `\` makes the next one literal.

use crate::lang::unicode::runes;

enum Part {
    Any,
    Star,
    Char(char),
}

/// Whether the whole of `text` matches `pattern`.
///
/// Goes back to the latest `*` only, so the time is bounded by the product of the lengths; Go gives up on patterns that
/// are hard for its own search.
pub(super) fn matches(text: &[u8], pattern: &[u8]) -> bool {
    let Some(pattern) = compile(pattern) else { return false };
    let text: Vec<char> = runes(text).map(|(_, c, _)| c).collect();
    let (mut t, mut p) = (0, 0);
    // where to go on if the text behind the latest star does not fit: the pattern behind it, one character later
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() || p < pattern.len() {
        match pattern.get(p) {
            Some(Part::Star) => {
                p += 1;
                if p == pattern.len() {
                    return true;
                }
                retry = Some((p, t));
                continue;
            }
            Some(Part::Any) if t < text.len() => {
                (t, p) = (t + 1, p + 1);
                continue;
            }
            Some(Part::Char(c)) if text.get(t) == Some(c) => {
                (t, p) = (t + 1, p + 1);
                continue;
            }
            _ => {}
        }
        match retry.as_mut() {
            Some((behind, from)) if *from < text.len() => {
                *from += 1;
                (p, t) = (*behind, *from);
            }
            _ => return false,
        }
    }
    true
}

fn compile(pattern: &[u8]) -> Option<Vec<Part>> {
    let mut parts = Vec::with_capacity(pattern.len());
    let mut star = false;
    let mut chars = runes(pattern).map(|(_, c, _)| c);
    while let Some(c) = chars.next() {
        parts.push(match c {
            '*' => {
                star = true;
                Part::Star
            }
            '?' => Part::Any,
            '\\' => match chars.next() {
                Some(c) => Part::Char(c),
                // at the end it stands for itself, but only behind a star; else nothing can match
                None if star => Part::Char('\\'),
                None => return None,
            },
            c => Part::Char(c),
        });
    }
    Some(parts)
}
