//! One version.

use std::cmp::Ordering;
use std::fmt;

use crate::template::engine::failure::Failure;
use crate::template::engine::format::quote;
use crate::template::engine::numbers::{NumberError, parse_uint};
use crate::template::engine::utf8;

/// A parsed version; partial ones are filled with zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Version {
    /// Major, minor, patch.
    pub numbers: [u64; 3],
    /// What follows `-`.
    pub prerelease: String,
    /// What follows `+`.
    pub metadata: String,
    /// The text it was read from.
    pub original: String,
}

/// The pieces of a version text before they are checked.
pub(super) struct Pieces<'t> {
    /// Up to three number texts.
    pub numbers: Vec<&'t [u8]>,
    /// Without the `-`; empty when absent.
    pub prerelease: &'t [u8],
    /// Without the `+`; empty when absent.
    pub metadata: &'t [u8],
    /// Bytes taken.
    pub length: usize,
}

/// Reads as much of a version as there is at the start of the text. `number` says what a number is made of.
pub(super) fn pieces(text: &[u8], number: fn(u8) -> bool) -> Option<Pieces<'_>> {
    let mut at = usize::from(text.first() == Some(&b'v'));
    let mut numbers = Vec::new();
    while numbers.len() < 3 {
        let from = if numbers.is_empty() { at } else { at + 1 };
        if !numbers.is_empty() && text.get(at) != Some(&b'.') {
            break;
        }
        let length = text
            .get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|&&byte| number(byte))
            .count();
        if length == 0 {
            break;
        }
        numbers.push(&text[from..from + length]);
        at = from + length;
    }
    if numbers.is_empty() {
        return None;
    }
    let prerelease = tail(text, &mut at, b'-');
    let metadata = tail(text, &mut at, b'+');
    Some(Pieces {
        numbers,
        prerelease,
        metadata,
        length: at,
    })
}

/// Dot-separated identifiers after a mark.
fn tail<'t>(text: &'t [u8], at: &mut usize, mark: u8) -> &'t [u8] {
    if text.get(*at) != Some(&mark) {
        return b"";
    }
    let start = *at + 1;
    let mut end = start;
    loop {
        let from = if end == start { start } else { end + 1 };
        if end != start && text.get(end) != Some(&b'.') {
            break;
        }
        let rest = text.get(from..).unwrap_or_default();
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-')
            .count();
        if length == 0 {
            break;
        }
        end = from + length;
    }
    if end > start {
        *at = end;
    }
    &text[start..end]
}

impl Version {
    /// Reads a version, lenient about a leading `v`, missing parts and leading zeros.
    ///
    /// # Errors
    /// The library's message.
    pub fn parse(text: &[u8]) -> Result<Self, Failure> {
        let invalid = || Failure::new("invalid semantic version");
        let found = pieces(text, |byte| byte.is_ascii_digit()).filter(|found| found.length == text.len());
        let found = found.ok_or_else(invalid)?;
        let mut numbers = [0; 3];
        for (slot, digits) in numbers.iter_mut().zip(&found.numbers) {
            *slot = parse_uint(digits, 10).map_err(|error| segment_error(digits, error))?;
        }
        check_prerelease(found.prerelease)?;
        Ok(Self {
            numbers,
            prerelease: utf8::lossy(found.prerelease),
            metadata: utf8::lossy(found.metadata),
            original: utf8::lossy(text),
        })
    }

    /// With a changed part the original text is made anew; only its `v` stays.
    fn renewed(mut self, before: &Self) -> Self {
        let prefix = if before.original.starts_with('v') { "v" } else { "" };
        self.original = format!("{prefix}{self}");
        self
    }

    /// The next major, minor or patch version. A pre-release is raised to its release by a patch step.
    #[must_use]
    pub fn raised(&self, part: usize) -> Self {
        let mut next = Self {
            numbers: self.numbers,
            ..Self::default()
        };
        if part != 2 || self.prerelease.is_empty() {
            next.numbers[part] = next.numbers[part].wrapping_add(1);
        }
        next.numbers[part + 1..].fill(0);
        next.renewed(self)
    }

    /// The same version with this pre-release.
    ///
    /// # Errors
    /// The library's message.
    pub fn with_prerelease(&self, text: &[u8]) -> Result<Self, Failure> {
        check_prerelease(text)?;
        Ok(Self {
            prerelease: utf8::lossy(text),
            ..self.clone()
        }
        .renewed(self))
    }

    /// The same version with this metadata.
    ///
    /// # Errors
    /// The library's message.
    pub fn with_metadata(&self, text: &[u8]) -> Result<Self, Failure> {
        if !text.is_empty() && !text.split(|&byte| byte == b'.').all(is_identifier) {
            return Err(Failure::new("invalid metadata string"));
        }
        Ok(Self {
            metadata: utf8::lossy(text),
            ..self.clone()
        }
        .renewed(self))
    }

    /// Which one comes first; metadata does not count.
    pub fn order(&self, other: &Self) -> Ordering {
        self.numbers
            .cmp(&other.numbers)
            .then_with(|| match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => order_prereleases(&self.prerelease, &other.prerelease),
            })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

fn segment_error(digits: &[u8], error: NumberError) -> Failure {
    let why = if error == NumberError::Range {
        "value out of range"
    } else {
        "invalid syntax"
    };
    let shown = quote::quoted(digits);
    Failure::with_data(
        format!("error parsing version segment: strconv.ParseUint: parsing {shown}: {why}"),
        format!("error parsing version segment: {why}"),
    )
}

fn is_identifier(part: &[u8]) -> bool {
    !part.is_empty() && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

fn check_prerelease(text: &[u8]) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    for part in text.split(|&byte| byte == b'.') {
        if part.len() > 1 && part[0] == b'0' && part.iter().all(u8::is_ascii_digit) {
            return Err(Failure::new("version segment starts with 0"));
        }
        if !is_identifier(part) {
            return Err(Failure::new("invalid prerelease string"));
        }
    }
    Ok(())
}

/// Identifier by identifier; the shorter list comes first when all before are equal.
pub(super) fn order_prereleases(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (a, b) => order_identifiers(a.unwrap_or(""), b.unwrap_or("")),
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn order_identifiers(a: &str, b: &str) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    if a.is_empty() || b.is_empty() {
        return a.len().cmp(&b.len());
    }
    match (parse_uint(a.as_bytes(), 10), parse_uint(b.as_bytes(), 10)) {
        (Err(_), Err(_)) => a.cmp(b),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        // Numbers that are equal though their texts differ count as smaller, as in the library.
        (Ok(a), Ok(b)) => {
            if a > b {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
    }
}
