//! UTF-8 as Go reads it: every invalid byte is one U+FFFD of width one.

use unicode_general_category::{GeneralCategory as Category, get_general_category};

/// What Go puts in place of an invalid byte.
pub const REPLACEMENT: char = '\u{FFFD}';

/// The first character and its width; `(U+FFFD, 1)` for an invalid byte, `(U+FFFD, 0)` for an empty input.
pub fn decode(bytes: &[u8]) -> (char, usize) {
    let Some(&first) = bytes.first() else { return (REPLACEMENT, 0) };
    if first < 0x80 {
        return (char::from(first), 1);
    }
    let width = match first {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return (REPLACEMENT, 1),
    };
    let decoded = bytes.get(..width).and_then(|head| std::str::from_utf8(head).ok());
    match decoded.and_then(|text| text.chars().next()) {
        Some(found) => (found, width),
        None => (REPLACEMENT, 1),
    }
}

/// The last character and its width, by the same rules.
pub fn decode_last(bytes: &[u8]) -> (char, usize) {
    let from = bytes.len().saturating_sub(4);
    for start in from..bytes.len() {
        let (found, width) = decode(&bytes[start..]);
        if width > 1 && start + width == bytes.len() {
            return (found, width);
        }
    }
    match bytes.last() {
        Some(&byte) if byte < 0x80 => (char::from(byte), 1),
        Some(_) => (REPLACEMENT, 1),
        None => (REPLACEMENT, 0),
    }
}

/// The characters of a text; invalid bytes come as U+FFFD with `valid` false.
pub struct Chars<'a> {
    rest: &'a [u8],
    offset: usize,
}

/// One character of a text.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    /// Byte offset of the character.
    pub offset: usize,
    /// The character, or U+FFFD.
    pub character: char,
    /// Number of bytes.
    pub width: usize,
    /// False for an invalid byte.
    pub valid: bool,
}

/// Walks through a text.
pub fn chars(bytes: &[u8]) -> Chars<'_> {
    Chars { rest: bytes, offset: 0 }
}

impl Iterator for Chars<'_> {
    type Item = Decoded;

    fn next(&mut self) -> Option<Decoded> {
        let (character, width) = decode(self.rest);
        if width == 0 {
            return None;
        }
        let valid = width > 1 || self.rest[0] < 0x80;
        let found = Decoded { offset: self.offset, character, width, valid };
        self.rest = &self.rest[width..];
        self.offset += width;
        Some(found)
    }
}

/// Appends a character.
pub fn push(out: &mut Vec<u8>, character: char) {
    let mut buffer = [0; 4];
    out.extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
}

/// The text with every invalid byte replaced, for messages.
pub fn lossy(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => chars(bytes).map(|found| found.character).collect(),
    }
}

/// Number of characters as Go counts them.
pub fn count(bytes: &[u8]) -> usize {
    chars(bytes).count()
}

/// `unicode.IsLetter`
pub fn is_letter(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphabetic();
    }
    matches!(
        get_general_category(c),
        Category::UppercaseLetter
            | Category::LowercaseLetter
            | Category::TitlecaseLetter
            | Category::ModifierLetter
            | Category::OtherLetter
    )
}

/// `unicode.IsDigit`
pub fn is_digit(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    get_general_category(c) == Category::DecimalNumber
}

/// `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII blank.
pub fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    !matches!(
        get_general_category(c),
        Category::Control
            | Category::Format
            | Category::Surrogate
            | Category::PrivateUse
            | Category::Unassigned
            | Category::LineSeparator
            | Category::ParagraphSeparator
            | Category::SpaceSeparator
    )
}

/// `unicode.IsSpace`
pub fn is_space(c: char) -> bool {
    c.is_whitespace()
}
