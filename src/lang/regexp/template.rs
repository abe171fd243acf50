//! Go's replacement templates: `$1`, `${1}`, `$name`, `${name}`, `$$`.

use crate::lang::unicode::{is_digit, is_letter, runes};

/// A piece of a replacement.
pub(super) enum Part<'t> {
    /// Text as it stands.
    Text(&'t [u8]),
    /// The group of that index, empty if it took no part or does not exist.
    Group(usize),
    /// The first of these groups that took part: Go lets several groups share a name.
    Named(Vec<usize>),
}

impl<'t> Part<'t> {
    /// The bytes this part stands for, given the text of each group that took part.
    pub(super) fn bytes(&self, group: impl Fn(usize) -> Option<&'t [u8]>) -> &'t [u8] {
        match self {
            Self::Text(text) => text,
            Self::Group(index) => group(*index).unwrap_or_default(),
            Self::Named(indexes) => indexes.iter().find_map(|i| group(*i)).unwrap_or_default(),
        }
    }
}

/// Splits a template into its parts. A `$` that starts no name stays as text.
pub(super) fn parse<'t>(template: &'t [u8], names: &[String]) -> Vec<Part<'t>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.iter().position(|b| *b == b'$') {
        let (before, from) = rest.split_at(at);
        let after = &from[1..];
        parts.push(Part::Text(before));
        if after.first() == Some(&b'$') {
            parts.push(Part::Text(&from[..1]));
            rest = &after[1..];
        } else if let Some((name, tail)) = name(after) {
            parts.push(group(name, names));
            rest = tail;
        } else {
            parts.push(Part::Text(&from[..1]));
            rest = after;
        }
    }
    parts.push(Part::Text(rest));
    parts
}

/// The longest run of letters, digits and `_`, in braces or not, and what follows it.
fn name(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let braces = text.first() == Some(&b'{');
    let text = if braces { &text[1..] } else { text };
    let end = runes(text)
        .find(|(_, c, _)| !(is_letter(*c) || is_digit(*c) || *c == '_'))
        .map_or(text.len(), |(at, _, _)| at);
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return None;
    }
    if braces {
        Some((name, rest.strip_prefix(b"}")?))
    } else {
        Some((name, rest))
    }
}

fn group<'t>(name: &[u8], names: &[String]) -> Part<'t> {
    let number = name.iter().try_fold(0usize, |value, b| {
        let fits = b.is_ascii_digit() && value < 100_000_000;
        fits.then(|| value * 10 + usize::from(b - b'0'))
    });
    // a number with a leading zero is a name, which no group has
    match number.filter(|_| name.len() == 1 || name[0] != b'0') {
        Some(index) => Part::Group(index),
        None => Part::Named(matching(name, names)),
    }
}

fn matching(name: &[u8], names: &[String]) -> Vec<usize> {
    names
        .iter()
        .enumerate()
        .filter(|(_, n)| n.as_bytes() == name)
        .map(|(i, _)| i)
        .collect()
}
