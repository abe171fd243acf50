//! The alphabet of a pattern: characters that no set of the pattern tells apart are one letter.
//!
//! The target engine matches bytes, so a class such as `\pL` costs it a thousand instructions each time it is written,
//! where Go needs one. Here a pattern is compiled over an alphabet of its own: ASCII characters stay what they are, and
//! all other characters that lie in the same sets of the pattern become one letter from U+0080 on. A class is then a
//! handful of letters, and a text is spelt in that alphabet before it is searched.

use super::emit::push_char;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// The first sign that stands for a set in an unfinished pattern; no other character of the pattern is that high.
const FIRST_SIGN: u32 = 0xF_0000;
/// The first letter of an alphabet that is no ASCII character.
const FIRST_LETTER: u32 = 0x80;
/// Letters an alphabet may have; they stay below the surrogates.
const MAX_LETTERS: usize = 50_000;
/// Ranges that all sets of a pattern may have together.
const MAX_RANGES: usize = 1 << 17;
/// Runs of characters that all sets of a pattern may cover together.
const MAX_RUNS: usize = 4 << 20;
/// Bytes a finished pattern may have.
const MAX_PATTERN: usize = 4 << 20;
/// A class that no character is in.
const NOTHING: &str = r"[^\x00-\x{10FFFF}]";

/// A set of characters under construction.
#[derive(Debug, Clone, Default)]
pub(super) struct Set {
    /// Parts of which the union counts; they are joined once, when the set is complete.
    ranges: Vec<ClassUnicodeRange>,
}

impl Set {
    /// Every character.
    pub(super) fn all() -> Self {
        Self::range(0, 0x0010_FFFF)
    }

    /// The characters between two code points; surrogates are none.
    pub(super) fn range(low: u32, high: u32) -> Self {
        let low = char::from_u32(low).unwrap_or('\u{E000}');
        let high = char::from_u32(high).unwrap_or('\u{D7FF}');
        let ranges = if low <= high {
            vec![ClassUnicodeRange::new(low, high)]
        } else {
            Vec::new()
        };
        Self { ranges }
    }

    /// The members of a class of [`super::classes`]. These are few, so each is worked out once in a process.
    pub(super) fn named(members: &str, fold: bool) -> Self {
        type Known = HashMap<(String, bool), Arc<[ClassUnicodeRange]>>;
        static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let ranges = known.entry((members.to_owned(), fold)).or_insert_with(|| {
            let mut class = class_of(members);
            if fold {
                class.case_fold_simple();
            }
            class.ranges().into()
        });
        Self {
            ranges: ranges.to_vec(),
        }
    }

    /// Adds the characters of `other`.
    pub(super) fn add(&mut self, other: Self) {
        self.ranges.extend(other.ranges);
    }

    /// The same set with every character that differs in case only.
    pub(super) fn folded(self) -> Self {
        let mut class = self.class();
        class.case_fold_simple();
        Self {
            ranges: class.ranges().to_vec(),
        }
    }

    /// The characters outside the set.
    pub(super) fn negated(self) -> Self {
        let mut class = self.class();
        class.negate();
        Self {
            ranges: class.ranges().to_vec(),
        }
    }

    /// The same set in order, each character once.
    pub(super) fn closed(self) -> Self {
        Self {
            ranges: self.class().ranges().to_vec(),
        }
    }

    fn class(self) -> ClassUnicode {
        ClassUnicode::new(self.ranges)
    }
}

/// Reads members in the syntax of `regex-syntax`.
fn class_of(members: &str) -> ClassUnicode {
    let hir = regex_syntax::parse(&format!("[{members}]")).expect("the tables of class names are valid");
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => class,
        // a class of one character
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).expect("a character of a Unicode class");
            ClassUnicode::new(text.chars().map(|c| ClassUnicodeRange::new(c, c)))
        }
        _ => ClassUnicode::empty(),
    }
}

/// The sets of a pattern, each with the sign that stands for it.
#[derive(Debug, Default)]
pub(super) struct Sets<'p> {
    found: Vec<Set>,
    ranges: usize,
    written: HashMap<(&'p str, bool), char>,
    literals: HashMap<(u32, bool), char>,
}

impl<'p> Sets<'p> {
    /// The sign of the set that `written` stands for; `None` beyond the limits.
    pub(super) fn sign<E>(
        &mut self,
        written: &'p str,
        fold: bool,
        read: impl FnOnce(&'p str) -> Result<Set, E>,
    ) -> Result<Option<char>, E> {
        if let Some(sign) = self.written.get(&(written, fold)) {
            return Ok(Some(*sign));
        }
        let sign = self.push(read(written)?);
        if let Some(sign) = sign {
            self.written.insert((written, fold), sign);
        }
        Ok(sign)
    }

    /// The sign of one code point, with what differs from it in case only if `fold`; `None` beyond the limits.
    pub(super) fn literal(&mut self, c: u32, fold: bool) -> Option<char> {
        if let Some(sign) = self.literals.get(&(c, fold)) {
            return Some(*sign);
        }
        let set = Set::range(c, c);
        let sign = self.push(if fold { set.folded() } else { set })?;
        self.literals.insert((c, fold), sign);
        Some(sign)
    }

    fn push(&mut self, set: Set) -> Option<char> {
        self.ranges += set.ranges.len();
        if self.ranges > MAX_RANGES {
            return None;
        }
        let sign = char::from_u32(FIRST_SIGN + u32::try_from(self.found.len()).ok()?)?;
        self.found.push(set);
        Some(sign)
    }

    /// Puts classes for the signs in `pattern`. `None` if there are more letters or text than allowed.
    pub(super) fn finish(self, pattern: &str) -> Option<(String, Alphabet)> {
        let alphabet = Alphabet::of(&self.found)?;
        let mut classes: Vec<Option<String>> = vec![None; self.found.len()];
        let mut out = String::with_capacity(pattern.len());
        for c in pattern.chars() {
            match u32::from(c).checked_sub(FIRST_SIGN) {
                None => out.push(c),
                Some(index) => {
                    let index = index as usize;
                    let class = classes[index].get_or_insert_with(|| alphabet.class(&self.found[index]));
                    out.push_str(class);
                    if out.len() > MAX_PATTERN {
                        return None;
                    }
                }
            }
        }
        Some((out, alphabet))
    }
}

/// Which letter each character is.
#[derive(Debug, Clone)]
pub(super) struct Alphabet {
    /// Where runs of characters with one letter begin, from U+0080 on, in order.
    starts: Vec<u32>,
    /// The letter of each run, counted from [`FIRST_LETTER`].
    runs: Vec<u32>,
}

impl Alphabet {
    /// The coarsest alphabet in which every set is a set of letters; `None` beyond the limits.
    fn of(sets: &[Set]) -> Option<Self> {
        let mut starts = vec![FIRST_LETTER];
        for range in sets.iter().flat_map(|set| &set.ranges) {
            let ends = [u32::from(range.start()), u32::from(range.end()) + 1];
            starts.extend(ends.into_iter().filter(|at| *at > FIRST_LETTER));
        }
        starts.sort_unstable();
        starts.dedup();
        let covered = |set: &Set| runs_of(&starts, set).map(|runs| runs.len()).sum::<usize>();
        if sets.iter().map(covered).sum::<usize>() > MAX_RUNS {
            return None;
        }
        let mut split = Split {
            letter: vec![0; starts.len()],
            renamed: vec![(usize::MAX, 0)],
        };
        for (index, set) in sets.iter().enumerate() {
            split.by(index, runs_of(&starts, set));
        }
        let (runs, letters) = split.numbered();
        (letters <= MAX_LETTERS).then_some(Self { starts, runs })
    }

    /// The letter of `c`.
    pub(super) fn letter(&self, c: char) -> char {
        if c.is_ascii() {
            return c;
        }
        let run = self.starts.partition_point(|start| *start <= u32::from(c)) - 1;
        letter(self.runs[run])
    }

    /// The letters of a set as a class, brackets included.
    fn class(&self, set: &Set) -> String {
        let mut letters: Vec<(char, char)> = Vec::new();
        for range in &set.ranges {
            if range.start().is_ascii() {
                letters.push((range.start(), range.end().min('\x7f')));
            }
        }
        let mut others: Vec<u32> = runs_of(&self.starts, set).flatten().map(|run| self.runs[run]).collect();
        others.sort_unstable();
        others.dedup();
        for run in others.chunk_by(|a, b| a + 1 == *b) {
            letters.push((letter(run[0]), letter(run[run.len() - 1])));
        }
        if letters.is_empty() {
            return NOTHING.to_owned();
        }
        let mut out = "[".to_owned();
        for (low, high) in letters {
            push_char(&mut out, low);
            if low < high {
                out.push('-');
                push_char(&mut out, high);
            }
        }
        out.write_char(']').expect("writing to a string cannot fail");
        out
    }
}

/// The letter with this number.
fn letter(number: u32) -> char {
    char::from_u32(FIRST_LETTER + number).expect("letters stay below the surrogates")
}

/// The runs, between `starts`, that each range of a set covers.
fn runs_of<'s>(starts: &'s [u32], set: &'s Set) -> impl Iterator<Item = std::ops::Range<usize>> + 's {
    let run = |at: u32| starts.partition_point(|start| *start < at);
    set.ranges
        .iter()
        .filter(|range| !range.end().is_ascii())
        .map(move |range| run(u32::from(range.start()))..run(u32::from(range.end()) + 1))
}

/// A partition that gets finer with every set.
struct Split {
    /// The part of each run.
    letter: Vec<u32>,
    /// For each part, the set that split it last and the name of the part inside.
    renamed: Vec<(usize, u32)>,
}

impl Split {
    /// Parts of which only some runs are in `runs` become two.
    fn by(&mut self, set: usize, runs: impl Iterator<Item = std::ops::Range<usize>>) {
        for run in runs.flatten() {
            let part = self.letter[run] as usize;
            if self.renamed[part].0 != set {
                self.renamed[part] = (set, self.renamed.len() as u32);
                self.renamed.push((set, self.renamed.len() as u32));
            }
            self.letter[run] = self.renamed[part].1;
        }
    }

    /// The parts numbered in the order in which they first appear, and how many there are.
    fn numbered(self) -> (Vec<u32>, usize) {
        let mut numbers = HashMap::new();
        let runs = self
            .letter
            .into_iter()
            .map(|part| {
                let next = numbers.len() as u32;
                *numbers.entry(part).or_insert(next)
            })
            .collect();
        (runs, numbers.len())
    }
}
