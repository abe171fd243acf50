//! Unicode classes as Go's `unicode` package knows them (Unicode 15.0).
//!
//! The tables come from `regex-syntax`, which follows a newer Unicode, so each class is cut to what version 15.0 had
//! assigned. Used for key conversion, key validation, replacement templates and template functions.

use regex_syntax::hir::{Class, ClassUnicode, HirKind};
use std::fmt::Write as _;
use std::sync::LazyLock;

static LETTER: LazyLock<ClassUnicode> = LazyLock::new(|| class(r"[\p{L}&&\p{age:15.0}]"));
static NUMBER: LazyLock<ClassUnicode> = LazyLock::new(|| class(r"[\p{N}&&\p{age:15.0}]"));
static DIGIT: LazyLock<ClassUnicode> = LazyLock::new(|| class(r"[\p{Nd}&&\p{age:15.0}]"));
static PRINT: LazyLock<ClassUnicode> = LazyLock::new(|| class(r"[[\p{L}\p{M}\p{N}\p{P}\p{S}]&&\p{age:15.0}]"));

/// Whether `c` is a letter (category L), as Go's `unicode.IsLetter`.
#[must_use]
pub fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    contains(&LETTER, c)
}

/// Whether `c` is a number (category N), as Go's `unicode.IsNumber`.
#[must_use]
pub fn is_number(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    contains(&NUMBER, c)
}

/// Whether `c` is a decimal digit (category Nd), as Go's `unicode.IsDigit`.
#[must_use]
pub fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    contains(&DIGIT, c)
}

/// Whether Go shows `c` as it is (`unicode.IsPrint`): letters, marks, numbers, punctuation, symbols and the ASCII space.
#[must_use]
pub fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    contains(&PRINT, c)
}

/// Text in double quotes with Go's escapes (`strconv.Quote`).
#[must_use]
pub fn quote(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for (at, c, width) in runes(text) {
        match c {
            char::REPLACEMENT_CHARACTER if width == 1 => push_escape(&mut out, format_args!("\\x{:02x}", text[at])),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if is_print(c) => out.push(c),
            c if c < ' ' || c == '\u{7f}' => push_escape(&mut out, format_args!("\\x{:02x}", u32::from(c))),
            c if c < '\u{10000}' => push_escape(&mut out, format_args!("\\u{:04x}", u32::from(c))),
            c => push_escape(&mut out, format_args!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

fn push_escape(out: &mut String, escape: std::fmt::Arguments<'_>) {
    out.write_fmt(escape).expect("writing to a string cannot fail");
}

/// Decodes bytes the way Go ranges over a string: each byte that starts no valid sequence is one U+FFFD of width 1.
///
/// Yields the offset, the character and its width in bytes.
pub fn runes(bytes: &[u8]) -> impl Iterator<Item = (usize, char, usize)> {
    let mut offset = 0;
    bytes.utf8_chunks().flat_map(move |chunk| {
        let start = offset;
        let broken = start + chunk.valid().len();
        offset = broken + chunk.invalid().len();
        let valid = chunk
            .valid()
            .char_indices()
            .map(move |(i, c)| (start + i, c, c.len_utf8()));
        valid.chain((broken..offset).map(|i| (i, char::REPLACEMENT_CHARACTER, 1)))
    })
}

fn class(pattern: &str) -> ClassUnicode {
    let hir = regex_syntax::parse(pattern).expect("the three patterns above are valid");
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => class,
        _ => unreachable!("a bracketed class of more than one character stays a class"),
    }
}

fn contains(class: &ClassUnicode, c: char) -> bool {
    class
        .ranges()
        .binary_search_by(|range| {
            if range.end() < c {
                std::cmp::Ordering::Less
            } else if range.start() > c {
                std::cmp::Ordering::Greater
            } else {
                std::cmp::Ordering::Equal
            }
        })
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_numbers_are_categories_not_properties() {
        assert!(is_letter('é') && is_letter('ʰ') && is_letter('中'));
        // Other_Alphabetic without being a letter: char::is_alphanumeric would take it
        assert!(!is_letter('Ⓐ') && !is_number('Ⓐ'));
        assert!(is_number('½') && !is_digit('½') && is_digit('٣'));
    }

    #[test]
    fn each_broken_byte_is_one_rune() {
        let got: Vec<_> = runes(b"a\xe2\x82b\xff").collect();
        let bad = char::REPLACEMENT_CHARACTER;
        assert_eq!(got, [(0, 'a', 1), (1, bad, 1), (2, bad, 1), (3, 'b', 1), (4, bad, 1)]);
    }

    #[test]
    fn text_is_quoted_as_go_quotes_it() {
        let cases: [(&[u8], &str); 5] = [
            (b"a\"b\\c", r#""a\"b\\c""#),
            (b"\x07\x08\x0c\n\r\t\x0b\x01\x7f", r#""\a\b\f\n\r\t\v\x01\x7f""#),
            (
                "é中\u{a0}\u{ad}\u{2028}\u{10ffff}".as_bytes(),
                r#""é中\u00a0\u00ad\u2028\U0010ffff""#,
            ),
            (b"\xff\xe2\x82", r#""\xff\xe2\x82""#),
            ("\u{fffd}".as_bytes(), "\"\u{fffd}\""),
        ];
        for (text, want) in cases {
            assert_eq!(quote(text), want);
        }
    }
}
