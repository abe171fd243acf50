//! Text as Go's matcher sees it: a byte that is not UTF-8 is the character U+FFFD, one byte wide.

use std::borrow::Cow;
use std::ops::Range;
use zeroize::Zeroize;

/// A text to search, always UTF-8, with the way back to the original bytes.
pub(super) struct Haystack<'t> {
    /// The text with each broken byte replaced; borrowed if there is none.
    pub(super) text: Cow<'t, str>,
    /// For each byte of an owned `text`, and its end, the offset in the original.
    offsets: Vec<usize>,
}

impl<'t> Haystack<'t> {
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Self {
                text: Cow::Borrowed(text),
                offsets: Vec::new(),
            };
        }
        // at most three bytes for one, so that secret text is not left behind by growing
        let mut text = String::with_capacity(bytes.len() * 3);
        let mut offsets = Vec::with_capacity(bytes.len() * 3 + 1);
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            offsets.extend(at..at + chunk.valid().len());
            at += chunk.valid().len();
            for _ in chunk.invalid() {
                text.push(char::REPLACEMENT_CHARACTER);
                offsets.extend([at; 3]);
                at += 1;
            }
        }
        offsets.push(at);
        Self {
            text: Cow::Owned(text),
            offsets,
        }
    }

    /// A range of `text` as a range of the original.
    pub(super) fn range(&self, range: Range<usize>) -> Range<usize> {
        match self.text {
            Cow::Borrowed(_) => range,
            Cow::Owned(_) => self.offsets[range.start]..self.offsets[range.end],
        }
    }

    /// The offset of the character behind the one at `at`; beyond the end for the end itself.
    pub(super) fn next(&self, at: usize) -> usize {
        at + self.text[at..].chars().next().map_or(1, char::len_utf8)
    }
}

impl Drop for Haystack<'_> {
    fn drop(&mut self) {
        if let Cow::Owned(text) = &mut self.text {
            text.zeroize();
        }
    }
}
