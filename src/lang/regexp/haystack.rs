//! Text as Go's matcher sees it, in the alphabet of a pattern: a byte that is not UTF-8 is the character U+FFFD, one byte
//! wide.

use super::alphabet::Alphabet;
use std::borrow::Cow;
use std::ops::Range;
use zeroize::Zeroize;

/// A text to search, always UTF-8, with the way back to the original bytes.
pub(super) struct Haystack<'t> {
    /// The text spelt in the alphabet; borrowed if it is ASCII.
    pub(super) text: Cow<'t, str>,
    /// For each byte of an owned `text`, and its end, the offset in the original.
    offsets: Vec<usize>,
}

impl<'t> Haystack<'t> {
    pub(super) fn new(bytes: &'t [u8], alphabet: &Alphabet) -> Self {
        if bytes.is_ascii() {
            return Self {
                text: String::from_utf8_lossy(bytes),
                offsets: Vec::new(),
            };
        }
        // at most three bytes for one, so that secret text is not left behind by growing
        let mut text = String::with_capacity(bytes.len() * 3);
        let mut offsets = Vec::with_capacity(bytes.len() * 3 + 1);
        let mut at = 0;
        let mut push = |c: char, width: usize| {
            let letter = alphabet.letter(c);
            text.push(letter);
            offsets.resize(offsets.len() + letter.len_utf8(), at);
            at += width;
        };
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|c| push(c, c.len_utf8()));
            chunk
                .invalid()
                .iter()
                .for_each(|_| push(char::REPLACEMENT_CHARACTER, 1));
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
