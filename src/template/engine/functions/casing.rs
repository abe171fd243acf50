//! snake_case, kebab-case and CamelCase, with the word rules of the library sprig uses.

use super::{ParamType as P, Row, arg, letters};
use crate::lang::unicode::is_number;
use crate::template::engine::utf8;
use crate::template::engine::value::Value;

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("snakecase", &[P::String], |_, args| Ok(Value::str(separated(arg::bytes(args, 0), '_')))),
    Row::new("kebabcase", &[P::String], |_, args| Ok(Value::str(separated(arg::bytes(args, 0), '-')))),
    Row::new("camelcase", &[P::String], |_, args| Ok(Value::str(pascal(arg::bytes(args, 0))))),
];

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || utf8::is_space(c)
}

/// A letter, Chinese characters apart.
fn is_alphabet(c: char) -> bool {
    utf8::is_letter(c)
        && !matches!(c, '\u{3400}'..='\u{4D85}' | '\u{4E00}'..='\u{9FCC}' | '\u{20000}'..='\u{2B81D}')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Invalid,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punctuation,
    Other,
}

struct Word<'t> {
    kind: Kind,
    text: &'t [u8],
}

/// The next character that is valid; broken bytes before it belong to it. At the end, `previous` again.
fn next_valid(text: &[u8], previous: char) -> (char, usize) {
    let mut size = 0;
    while size < text.len() {
        let (c, width) = utf8::decode(&text[size..]);
        size += width;
        if c != utf8::REPLACEMENT {
            return (c, size);
        }
    }
    (previous, size)
}

/// Extends `end` while `keep` holds; gives the last character looked at and the width of the last one taken.
fn run(text: &[u8], end: &mut usize, mut last: char, keep: impl Fn(char, usize) -> bool) -> (char, usize) {
    let mut taken = 0;
    while *end < text.len() {
        let (c, size) = next_valid(&text[*end..], last);
        last = c;
        if !keep(c, size) {
            break;
        }
        taken = size;
        *end += size;
    }
    (last, taken)
}

fn next_word<'t>(rest: &mut &'t [u8]) -> Word<'t> {
    let text = *rest;
    let take = |kind, end: usize, rest: &mut &'t [u8]| {
        *rest = &text[end..];
        Word { kind, text: &text[..end] }
    };
    if text.is_empty() {
        return Word { kind: Kind::Invalid, text };
    }
    let (c, mut end) = next_valid(text, utf8::REPLACEMENT);
    let kind = match c {
        utf8::REPLACEMENT => Kind::Invalid,
        _ if is_connector(c) => Kind::Connector,
        _ if letters::is_punct(c) => Kind::Punctuation,
        _ if letters::is_upper(c) => return upper_word(text, c, end, rest),
        _ if is_alphabet(c) => Kind::Alphabet,
        _ if is_number(c) => Kind::Number,
        _ => Kind::Other,
    };
    match kind {
        Kind::Connector => run(text, &mut end, c, |c, _| is_connector(c)),
        Kind::Punctuation => run(text, &mut end, c, |c, _| letters::is_punct(c)),
        Kind::Alphabet => run(text, &mut end, c, |c, _| is_alphabet(c) && !letters::is_upper(c)),
        Kind::Number => run(text, &mut end, c, |c, _| is_number(c)),
        Kind::Other => run(text, &mut end, c, |c, size| {
            size != 0 && !is_connector(c) && !is_alphabet(c) && !is_number(c) && !letters::is_punct(c)
        }),
        Kind::Invalid | Kind::Upper => (c, 0),
    };
    take(kind, end, rest)
}

/// `HTTP` or `First`; in `HTTPStatus` the last capital starts the next word.
fn upper_word<'t>(text: &'t [u8], first: char, mut end: usize, rest: &mut &'t [u8]) -> Word<'t> {
    if end < text.len() {
        let (second, size) = next_valid(&text[end..], first);
        if letters::is_upper(second) {
            end += size;
            let (last, taken) = run(text, &mut end, second, |c, _| letters::is_upper(c));
            let width = if taken == 0 { size } else { taken };
            if end < text.len() && is_alphabet(last) {
                end -= width;
            }
        } else if is_alphabet(second) {
            end += size;
            run(text, &mut end, second, |c, _| is_alphabet(c) && !letters::is_upper(c));
        }
    }
    *rest = &text[end..];
    Word { kind: Kind::Upper, text: &text[..end] }
}

fn write_word(out: &mut Vec<u8>, word: &Word<'_>, connector: char) {
    if word.kind != Kind::Upper && word.kind != Kind::Connector {
        out.extend_from_slice(word.text);
        return;
    }
    for found in utf8::chars(word.text) {
        let c = found.character;
        let lowered = match c {
            _ if is_connector(c) => connector,
            _ if letters::is_upper(c) => letters::to_lower(c),
            _ => c,
        };
        utf8::push(out, lowered);
    }
}

/// Words in lower case with a connector between them; numbers stay with the word they belong to.
fn separated(text: &[u8], connector: char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    let mut rest = text;
    let mut word = next_word(&mut rest);
    while !rest.is_empty() {
        if word.kind != Kind::Connector {
            write_word(&mut out, &word, connector);
        }
        let previous = std::mem::replace(&mut word, next_word(&mut rest));
        match previous.kind {
            Kind::Number => {
                word = write_joined(&mut out, word, &mut rest, connector);
                if !matches!(word.kind, Kind::Invalid | Kind::Punctuation | Kind::Connector) {
                    utf8::push(&mut out, connector);
                }
            }
            Kind::Connector => write_word(&mut out, &previous, connector),
            Kind::Punctuation => {}
            _ => word = after_letters(&mut out, word, &mut rest, connector),
        }
    }
    write_word(&mut out, &word, connector);
    out
}

/// Writes lower-case words and numbers as one; gives the word after them.
fn write_joined<'t>(out: &mut Vec<u8>, mut word: Word<'t>, rest: &mut &'t [u8], connector: char) -> Word<'t> {
    while matches!(word.kind, Kind::Alphabet | Kind::Number) {
        write_word(out, &word, connector);
        word = next_word(rest);
    }
    word
}

/// What follows a word of letters: a number belongs to it unless lower-case letters follow the number.
fn after_letters<'t>(out: &mut Vec<u8>, word: Word<'t>, rest: &mut &'t [u8], connector: char) -> Word<'t> {
    let separate = |out: &mut Vec<u8>, kind| {
        if !matches!(kind, Kind::Connector | Kind::Punctuation) {
            utf8::push(out, connector);
        }
    };
    if word.kind != Kind::Number {
        separate(out, word.kind);
        return word;
    }
    if rest.is_empty() {
        return word;
    }
    let next = next_word(rest);
    if next.kind != Kind::Alphabet {
        write_word(out, &word, connector);
        separate(out, next.kind);
        return next;
    }
    utf8::push(out, connector);
    write_word(out, &word, connector);
    let next = write_joined(out, next, rest, connector);
    if next.kind != Kind::Invalid {
        separate(out, next.kind);
    }
    next
}

/// Words joined, each with a capital; connectors at the start and the end stay.
fn pascal(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.iter().len();
    let mut chars = utf8::chars(text).map(|found| (found.character, found.width));
    let mut current = None;
    for (c, width) in chars.by_ref() {
        rest -= width;
        if !is_connector(c) {
            current = Some((letters::to_upper(c), letters::is_upper(c)));
            break;
        }
        utf8::push(&mut out, c);
        if rest == 0 {
            // A text of connectors only ends in one more of the last, as the library has it.
            utf8::push(&mut out, c);
        }
    }
    let Some((mut current, mut lowering)) = current else { return out };
    for (mut next, _) in chars {
        let previous = current;
        if is_connector(next) && is_connector(previous) {
            utf8::push(&mut out, previous);
            current = next;
            continue;
        }
        if is_connector(previous) {
            lowering = letters::is_upper(next);
            next = letters::to_upper(next);
        } else {
            if lowering {
                if letters::is_upper(next) {
                    next = letters::to_lower(next);
                } else {
                    lowering = false;
                }
            }
            utf8::push(&mut out, previous);
        }
        current = next;
    }
    utf8::push(&mut out, current);
    out
}
