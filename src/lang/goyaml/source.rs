//! The characters of a document, decoded in pieces, with position.
//!
//! Broken bytes and control characters are only noticed when reading comes near them, as in go-yaml: it decodes
//! 512 bytes at a time. The end of the text reads as NUL, which no document may hold.

use zeroize::Zeroize as _;

use super::YamlError;

/// Bytes that go-yaml decodes at a time.
const PIECE: usize = 512;

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Characters before it.
    pub index: usize,
    /// Line, from 0.
    pub line: usize,
    /// Column, from 0.
    pub column: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16 { big_endian: bool },
}

/// Reads characters ahead of a position.
pub(super) struct Source<'t> {
    bytes: &'t [u8],
    /// Bytes before this are decoded.
    decoded: usize,
    /// Bytes before this are in the piece at hand.
    loaded: usize,
    encoding: Encoding,
    characters: Vec<char>,
    position: usize,
    /// Where the next character stands.
    pub mark: Mark,
}

impl Drop for Source<'_> {
    fn drop(&mut self) {
        self.characters.zeroize();
    }
}

impl<'t> Source<'t> {
    /// A source at the beginning of a text; a byte order mark decides on the encoding.
    pub fn new(bytes: &'t [u8]) -> Self {
        let (encoding, decoded) = match bytes {
            [0xff, 0xfe, ..] => (Encoding::Utf16 { big_endian: false }, 2),
            [0xfe, 0xff, ..] => (Encoding::Utf16 { big_endian: true }, 2),
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            _ => (Encoding::Utf8, 0),
        };
        let loaded = PIECE.min(bytes.len());
        Self {
            bytes,
            decoded,
            loaded,
            encoding,
            characters: Vec::new(),
            position: 0,
            mark: Mark::default(),
        }
    }

    /// Makes sure that so many characters can be looked at.
    pub fn ensure(&mut self, count: usize) -> Result<(), YamlError> {
        while self.characters.len() - self.position < count && self.decoded < self.bytes.len() {
            self.drop_consumed();
            self.decode_piece()?;
        }
        Ok(())
    }

    /// Characters that were read are forgotten from time to time.
    fn drop_consumed(&mut self) {
        if self.position >= PIECE {
            self.characters.drain(..self.position);
            self.position = 0;
        }
    }

    fn decode_piece(&mut self) -> Result<(), YamlError> {
        if self.decoded >= self.loaded {
            self.loaded = (self.decoded + PIECE).min(self.bytes.len());
        }
        let before = self.decoded;
        while self.decoded < self.loaded {
            let Some((c, length)) = self.decode_one()? else { break };
            if !is_allowed(c) {
                return Err(YamlError::new("yaml: control characters are not allowed"));
            }
            self.characters.push(c);
            self.decoded += length;
        }
        if self.decoded < self.loaded || self.decoded == before {
            // A character is cut by the end of the piece: go on with a piece that begins with it.
            self.loaded = (self.decoded + PIECE).min(self.bytes.len());
        }
        Ok(())
    }

    /// The next character and its length in bytes; nothing when the piece ends inside it.
    fn decode_one(&self) -> Result<Option<(char, usize)>, YamlError> {
        match self.encoding {
            Encoding::Utf8 => self.decode_utf8(),
            Encoding::Utf16 { big_endian } => self.decode_utf16(big_endian),
        }
    }

    fn at_end(&self) -> bool {
        self.loaded == self.bytes.len()
    }

    fn decode_utf8(&self) -> Result<Option<(char, usize)>, YamlError> {
        let rest = &self.bytes[self.decoded..self.loaded];
        let (length, first) = match rest[0] {
            byte @ ..0x80 => (1, byte),
            byte if byte & 0xe0 == 0xc0 => (2, byte & 0x1f),
            byte if byte & 0xf0 == 0xe0 => (3, byte & 0x0f),
            byte if byte & 0xf8 == 0xf0 => (4, byte & 0x07),
            _ => return Err(YamlError::new("yaml: invalid leading UTF-8 octet")),
        };
        if rest.len() < length {
            return if self.at_end() {
                Err(YamlError::new("yaml: incomplete UTF-8 octet sequence"))
            } else {
                Ok(None)
            };
        }
        let mut value = u32::from(first);
        for &byte in &rest[1..length] {
            if byte & 0xc0 != 0x80 {
                return Err(YamlError::new("yaml: invalid trailing UTF-8 octet"));
            }
            value = (value << 6) | u32::from(byte & 0x3f);
        }
        let shortest = match value {
            0..0x80 => 1,
            0x80..0x800 => 2,
            0x800..0x1_0000 => 3,
            _ => 4,
        };
        if shortest != length {
            return Err(YamlError::new("yaml: invalid length of a UTF-8 sequence"));
        }
        let c = char::from_u32(value).ok_or_else(|| YamlError::new("yaml: invalid Unicode character"))?;
        Ok(Some((c, length)))
    }

    fn decode_utf16(&self, big_endian: bool) -> Result<Option<(char, usize)>, YamlError> {
        let rest = &self.bytes[self.decoded..self.loaded];
        let unit = |at: usize| {
            let pair: [u8; 2] = rest.get(at..at + 2)?.try_into().ok()?;
            Some(u32::from(if big_endian {
                u16::from_be_bytes(pair)
            } else {
                u16::from_le_bytes(pair)
            }))
        };
        let cut = |message: &str| {
            if self.at_end() {
                Err(YamlError::new(format!("yaml: {message}")))
            } else {
                Ok(None)
            }
        };
        let Some(high) = unit(0) else {
            return cut("incomplete UTF-16 character");
        };
        match high {
            0xdc00..=0xdfff => Err(YamlError::new("yaml: unexpected low surrogate area")),
            0xd800..=0xdbff => {
                let Some(low) = unit(2) else {
                    return cut("incomplete UTF-16 surrogate pair");
                };
                if !(0xdc00..=0xdfff).contains(&low) {
                    return Err(YamlError::new("yaml: expected low surrogate area"));
                }
                Ok(char::from_u32(0x1_0000 + ((high & 0x3ff) << 10) + (low & 0x3ff)).map(|c| (c, 4)))
            }
            _ => Ok(char::from_u32(high).map(|c| (c, 2))),
        }
    }

    /// The character so far ahead; NUL at the end. Call [`Source::ensure`] first.
    pub fn peek(&self, ahead: usize) -> char {
        self.characters.get(self.position + ahead).copied().unwrap_or('\0')
    }

    /// Goes over one character that is no line break.
    pub fn skip(&mut self) {
        self.position += 1;
        self.mark.index += 1;
        self.mark.column += 1;
    }

    /// Goes over so many characters that are no line breaks.
    pub fn skip_many(&mut self, count: usize) {
        (0..count).for_each(|_| self.skip());
    }

    /// Takes one character that is no line break.
    pub fn take(&mut self) -> char {
        let c = self.peek(0);
        self.skip();
        c
    }

    /// Takes one line break as it counts in a scalar; nothing when there is none.
    pub fn take_break(&mut self) -> Option<char> {
        let (c, length) = match (self.peek(0), self.peek(1)) {
            ('\r', '\n') => ('\n', 2),
            ('\r' | '\n' | '\u{85}', _) => ('\n', 1),
            (c @ ('\u{2028}' | '\u{2029}'), _) => (c, 1),
            _ => return None,
        };
        self.position += length;
        self.mark = Mark {
            index: self.mark.index + length,
            line: self.mark.line + 1,
            column: 0,
        };
        Some(c)
    }

    /// `---` or `...` at the start of a line, followed by a blank, a break or the end.
    pub fn at_document_indicator(&self) -> bool {
        self.mark.column == 0 && (self.starts_with('-') || self.starts_with('.')) && is_blank_break_or_end(self.peek(3))
    }

    /// Three times this character, followed by a blank, a break or the end.
    pub fn is_indicator(&self, c: char) -> bool {
        self.starts_with(c) && is_blank_break_or_end(self.peek(3))
    }

    fn starts_with(&self, c: char) -> bool {
        (0..3).all(|ahead| self.peek(ahead) == c)
    }
}

fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

pub(super) fn is_break_or_end(c: char) -> bool {
    c == '\0' || is_break(c)
}

pub(super) fn is_blank_break_or_end(c: char) -> bool {
    is_blank(c) || is_break_or_end(c)
}

/// Letters, digits, `_` and `-`: what anchors and tag handles are made of.
pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}
