//! GJSON paths, as a `remoteRef.property` is looked up in a secret's text.
//!
//! The dialect of tidwall/gjson 1.18: members, indexes, `#`, queries, wildcards, escapes, pipes, modifiers, multipaths
//! and literals, evaluated over the bytes of the text. The text need not be valid JSON: as in Go, a path then simply
//! finds what it finds. Whatever is found keeps its bytes.
//!
//! Beyond Go there are two limits, so that no path can exhaust memory, stack or time: [`MAX_DEPTH`] and a budget of
//! bytes looked at. A path that exceeds one finds nothing.

mod glob;
mod modifiers;
mod path;
mod pretty;
mod query;
mod scan;
mod select;
mod walk;

use crate::lang::gojson::Shortest;
use std::fmt;
use std::ops::Deref;
use zeroize::Zeroizing;

/// Steps a path may take, and levels of nesting a modifier may enter.
pub const MAX_DEPTH: u32 = 256;
/// Bytes that one look-up may read or produce, at least.
const BUDGET: usize = 4 << 20;
/// The same, as a multiple of the text's length.
const BUDGET_FACTOR: usize = 64;

/// Looks `path` up in `json`; nothing if there is no match. A match of `null` is a match.
#[must_use]
pub fn get<'j>(json: &'j [u8], path: &[u8]) -> Option<Found<'j>> {
    let mut eval = Eval {
        depth: 0,
        budget: BUDGET.max(json.len().saturating_mul(BUDGET_FACTOR)),
    };
    let found = eval.get(json, path);
    (eval.budget > 0 && found.exists()).then_some(found)
}

/// `path` with every `.` made literal, so that it names one member (how some providers try a property first).
#[must_use]
pub fn escape_dots(path: &str) -> String {
    path.replace('.', r"\.")
}

/// What kind of value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// `null`, or nothing at all
    #[default]
    Null,
    /// `false`
    False,
    /// A number.
    Number,
    /// A string.
    String,
    /// `true`
    True,
    /// An object or an array.
    Json,
}

/// Bytes of the searched text, or bytes made on the way, which are wiped when dropped.
#[derive(Clone)]
pub(super) enum Bytes<'j> {
    Borrowed(&'j [u8]),
    Owned(Zeroizing<Vec<u8>>),
}

impl Bytes<'_> {
    fn owned(bytes: Vec<u8>) -> Self {
        Self::Owned(Zeroizing::new(bytes))
    }

    fn into_owned<'any>(self) -> Bytes<'any> {
        Bytes::Owned(match self {
            Self::Borrowed(bytes) => Zeroizing::new(bytes.to_vec()),
            Self::Owned(bytes) => bytes,
        })
    }
}

impl Default for Bytes<'_> {
    fn default() -> Self {
        Self::Borrowed(&[])
    }
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// A value that was found.
#[derive(Clone, Default)]
pub struct Found<'j> {
    kind: Kind,
    raw: Bytes<'j>,
    /// The decoded text of a string.
    text: Bytes<'j>,
}

impl<'j> Found<'j> {
    /// What kind of value it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The value's own bytes in the text, or those a modifier or multipath made.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The value as text: a string decoded, an object or array as it is written, `null` empty. A number keeps its
    /// spelling if it is digits only, else it is printed without exponent by way of a 64-bit float.
    #[must_use]
    pub fn text(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(match self.kind {
            Kind::Null => Vec::new(),
            Kind::False => b"false".to_vec(),
            Kind::True => b"true".to_vec(),
            Kind::String => self.text.to_vec(),
            Kind::Json => self.raw.to_vec(),
            Kind::Number => {
                let digits = self.raw.strip_prefix(b"-").unwrap_or(&self.raw);
                if !self.raw.is_empty() && digits.iter().all(u8::is_ascii_digit) {
                    self.raw.to_vec()
                } else {
                    Shortest::of(self.number()).plain().into_bytes()
                }
            }
        })
    }

    /// Whether there is a value; `null` is one if it is written.
    fn exists(&self) -> bool {
        self.kind != Kind::Null || !self.raw.is_empty()
    }

    fn number(&self) -> f64 {
        scan::float(&self.raw)
    }

    fn is_array(&self) -> bool {
        self.kind == Kind::Json && self.raw.first() == Some(&b'[')
    }

    fn is_object(&self) -> bool {
        self.kind == Kind::Json && self.raw.first() == Some(&b'{')
    }

    fn json(raw: &'j [u8]) -> Self {
        Self {
            kind: Kind::Json,
            raw: Bytes::Borrowed(raw),
            text: Bytes::default(),
        }
    }

    fn made(raw: Vec<u8>) -> Self {
        Self {
            kind: Kind::Json,
            raw: Bytes::owned(raw),
            text: Bytes::default(),
        }
    }

    fn into_owned<'any>(self) -> Found<'any> {
        Found {
            kind: self.kind,
            raw: self.raw.into_owned(),
            text: self.text.into_owned(),
        }
    }

    /// The bytes to put into a larger value: its own, or its text if it has none.
    fn bytes(&self) -> Zeroizing<Vec<u8>> {
        if self.raw.is_empty() {
            self.text()
        } else {
            Zeroizing::new(self.raw.to_vec())
        }
    }
}

impl fmt::Debug for Found<'_> {
    /// Shows the kind only: values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Found({:?})", self.kind)
    }
}

/// One look-up, with what it may still spend.
struct Eval {
    depth: u32,
    /// Bytes left; at 0 the look-up has failed.
    budget: usize,
}

impl Eval {
    fn spend(&mut self, bytes: usize) -> bool {
        self.budget = self.budget.saturating_sub(bytes);
        self.budget > 0
    }

    /// Runs `step` one level deeper, unless that is too deep.
    fn deeper<T: Default>(&mut self, step: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.budget = 0;
            return T::default();
        }
        self.depth += 1;
        let result = step(self);
        self.depth -= 1;
        result
    }

    fn get<'j>(&mut self, json: &'j [u8], path: &[u8]) -> Found<'j> {
        if !self.spend(json.len() + path.len() + 16) {
            return Found::default();
        }
        self.deeper(|eval| eval.get_here(json, path))
    }

    fn get_here<'j>(&mut self, json: &'j [u8], path: &[u8]) -> Found<'j> {
        if path.len() > 1 {
            let made = match path[0] {
                b'@' => self.modifier(json, path),
                b'!' => select::literal(path).map(|(literal, rest)| (literal.to_vec(), rest)),
                _ => None,
            };
            if let Some((made, rest)) = made {
                return self.follow(made, rest);
            }
            if matches!(path[0], b'[' | b'{') {
                let (selectors, rest) = select::selectors(path).unwrap_or_default();
                if !selectors.is_empty() && matches!(rest.first(), None | Some(b'|' | b'.')) {
                    let found = Found::made(self.multipath(json, path[0], &selectors));
                    return if rest.is_empty() {
                        found
                    } else {
                        self.get(&found.raw, &rest[1..]).into_owned()
                    };
                }
                // Go goes on with what it has left of a multipath that does not close: nothing
                return self.walk(json, rest);
            }
        }
        self.walk(json, path)
    }

    /// Goes on with `rest` in what a modifier made.
    fn follow<'any>(&mut self, made: Vec<u8>, rest: &[u8]) -> Found<'any> {
        let made = Zeroizing::new(made);
        if !self.spend(made.len()) {
            return Found::default();
        }
        if matches!(rest.first(), Some(b'|' | b'.')) {
            return self.get(&made, &rest[1..]).into_owned();
        }
        scan::parse(&made).into_owned()
    }
}

#[cfg(test)]
mod tests;
