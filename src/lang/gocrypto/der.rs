//! The distinguished encoding rules (DER): a strict reader and a small writer.

use zeroize::Zeroizing;

/// Tags of the universal class, with the constructed bit where it belongs.
pub(super) mod tag {
    pub const BOOLEAN: u8 = 0x01;
    pub const INTEGER: u8 = 0x02;
    pub const BIT_STRING: u8 = 0x03;
    pub const OCTET_STRING: u8 = 0x04;
    pub const NULL: u8 = 0x05;
    pub const OID: u8 = 0x06;
    pub const UTF8: u8 = 0x0c;
    pub const PRINTABLE: u8 = 0x13;
    pub const T61: u8 = 0x14;
    pub const IA5: u8 = 0x16;
    pub const UTC_TIME: u8 = 0x17;
    pub const GENERALIZED_TIME: u8 = 0x18;
    pub const BMP: u8 = 0x1e;
    pub const SEQUENCE: u8 = 0x30;
    pub const SET: u8 = 0x31;

    /// A context tag that holds other elements.
    pub const fn explicit(number: u8) -> u8 {
        0xa0 | number
    }

    /// A context tag in place of a primitive one.
    pub const fn implicit(number: u8) -> u8 {
        0x80 | number
    }
}

/// One element: tag, content, and the bytes of both with the length between.
#[derive(Clone, Copy)]
pub(super) struct Element<'d> {
    pub tag: u8,
    pub content: &'d [u8],
    pub raw: &'d [u8],
}

/// Reads elements one after another. `None` everywhere means: not DER, or not what was asked for.
#[derive(Clone, Copy)]
pub(super) struct Reader<'d>(&'d [u8]);

impl<'d> Reader<'d> {
    pub fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next element, of any tag.
    pub fn element(&mut self) -> Option<Element<'d>> {
        let (&tag, rest) = self.0.split_first()?;
        // Tag numbers from 31 on take several bytes; none of our structures has one.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x84 => long_length(usize::from(first & 0x7f), rest)?,
            _ => return None,
        };
        let content = rest.get(..length)?;
        let raw = &self.0[..self.0.len() - rest.len() + length];
        self.0 = &rest[length..];
        Some(Element { tag, content, raw })
    }

    pub fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The content of the next element, which must have this tag.
    pub fn content(&mut self, tag: u8) -> Option<&'d [u8]> {
        let mut ahead = *self;
        let element = ahead.element().filter(|element| element.tag == tag)?;
        *self = ahead;
        Some(element.content)
    }

    /// A reader of the next element's content, which must have this tag.
    pub fn nested(&mut self, tag: u8) -> Option<Self> {
        self.content(tag).map(Self)
    }

    /// The content of the next element if it has this tag; an element that is there must be well-formed.
    #[expect(clippy::option_option, reason = "malformed, absent and present are three answers")]
    pub fn optional(&mut self, tag: u8) -> Option<Option<&'d [u8]>> {
        if self.peek() == Some(tag) {
            self.content(tag).map(Some)
        } else {
            Some(None)
        }
    }

    /// The bytes of a whole number, most significant first, in as few bytes as possible.
    pub fn integer(&mut self) -> Option<&'d [u8]> {
        let bytes = self.content(tag::INTEGER)?;
        match bytes {
            [] => None,
            [0, next, ..] if *next < 0x80 => None,
            [0xff, next, ..] if *next >= 0x80 => None,
            _ => Some(bytes),
        }
    }

    /// A whole number that is not negative, without the leading zero byte.
    pub fn unsigned(&mut self) -> Option<&'d [u8]> {
        match self.integer()? {
            [first, ..] if *first >= 0x80 => None,
            [0, rest @ ..] if !rest.is_empty() => Some(rest),
            bytes => Some(bytes),
        }
    }

    /// A small whole number.
    pub fn small(&mut self) -> Option<i64> {
        let bytes = self.integer()?;
        if bytes.len() > 8 {
            return None;
        }
        let start = if bytes[0] >= 0x80 { -1 } else { 0 };
        Some(
            bytes
                .iter()
                .fold(start, |value: i64, &byte| (value << 8) | i64::from(byte)),
        )
    }

    /// The bytes of a bit string whose last byte is full.
    pub fn bit_string(&mut self) -> Option<&'d [u8]> {
        match self.content(tag::BIT_STRING)? {
            [0, bytes @ ..] => Some(bytes),
            _ => None,
        }
    }

    /// The encoded number of an object identifier.
    pub fn oid(&mut self) -> Option<&'d [u8]> {
        self.content(tag::OID)
            .filter(|oid| oid.last().is_some_and(|&last| last < 0x80))
    }

    /// An algorithm identifier: its number and the encoded parameters (empty: none).
    pub fn algorithm(&mut self) -> Option<Algorithm<'d>> {
        let mut inner = self.nested(tag::SEQUENCE)?;
        Some(Algorithm {
            oid: inner.oid()?,
            parameters: inner.0,
        })
    }
}

/// An algorithm identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Algorithm<'d> {
    pub oid: &'d [u8],
    pub parameters: &'d [u8],
}

fn long_length(bytes: usize, rest: &[u8]) -> Option<(usize, &[u8])> {
    let digits = rest.get(..bytes)?;
    let length = digits
        .iter()
        .fold(0usize, |length, &digit| (length << 8) | usize::from(digit));
    // The shortest form is the only one.
    (digits[0] != 0 && length >= 0x80).then_some((length, &rest[bytes..]))
}

/// Encoded bytes that may hold key material.
pub(super) type Encoded = Zeroizing<Vec<u8>>;

/// Encodes an element from pieces of its content.
pub(super) fn encode(tag: u8, pieces: &[&[u8]]) -> Encoded {
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    let mut output = Zeroizing::new(Vec::with_capacity(length + 6));
    output.push(tag);
    let bytes = length.to_be_bytes();
    let digits = &bytes[bytes.iter().take_while(|&&byte| byte == 0).count()..];
    match (length, u8::try_from(digits.len())) {
        (0..=0x7f, _) => output.push(u8::try_from(length).unwrap_or(0)),
        (_, count) => {
            output.push(0x80 | count.unwrap_or(0));
            output.extend_from_slice(digits);
        }
    }
    for piece in pieces {
        output.extend_from_slice(piece);
    }
    output
}

pub(super) fn sequence(pieces: &[&[u8]]) -> Encoded {
    encode(tag::SEQUENCE, pieces)
}

/// A number that is not negative, from its bytes.
pub(super) fn integer(bytes: &[u8]) -> Encoded {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    match &bytes[zeros..] {
        [] => encode(tag::INTEGER, &[&[0]]),
        digits @ [first, ..] if *first >= 0x80 => encode(tag::INTEGER, &[&[0], digits]),
        digits => encode(tag::INTEGER, &[digits]),
    }
}

pub(super) fn small(number: u64) -> Encoded {
    integer(&number.to_be_bytes())
}

pub(super) fn octets(bytes: &[u8]) -> Encoded {
    encode(tag::OCTET_STRING, &[bytes])
}

/// A bit string of whole bytes.
pub(super) fn bits(bytes: &[u8]) -> Encoded {
    encode(tag::BIT_STRING, &[&[0], bytes])
}

pub(super) fn oid(number: &[u8]) -> Encoded {
    encode(tag::OID, &[number])
}

pub(super) const NULL: &[u8] = &[tag::NULL, 0];
