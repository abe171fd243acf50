//! Go regular expressions (RE2 syntax) on top of the `regex` crate.
//!
//! [`parse`] reads a pattern by Go's rules, with Go's error texts, and writes an equivalent pattern over the
//! [`alphabet`] of its character sets for `regex-automata` (the engine of `regex`), which has the same leftmost-first
//! semantics and linear time. The loops over matches are our own, because what Go does around empty matches differs per
//! function. Used by `find`, `rewrite`, store conditions and template functions.
//!
//! Text is bytes, as in Go: a byte that is not UTF-8 is matched as U+FFFD and keeps its place.

mod alphabet;
mod classes;
mod emit;
mod haystack;
mod parse;
mod template;

use alphabet::Alphabet;
use haystack::Haystack;
use regex_automata::meta::Regex;
use regex_automata::util::captures::Captures;
use regex_automata::util::syntax;
use regex_automata::{Input, Match};
use std::ops::Range;
use std::sync::Arc;
use template::Part;

/// Memory the compiled program may take, in bytes; a pattern beyond it is refused as too large.
const PROGRAM_LIMIT: usize = 1 << 20;
/// Longest pattern, in bytes, for which the engine's short cuts are prepared: literals at its start, one-pass form,
/// lazy DFA.
const SHORT_CUT_PATTERN: usize = 1000;

/// A compiled Go regular expression.
#[derive(Debug, Clone)]
pub struct Regexp {
    source: String,
    program: Regex,
    alphabet: Arc<Alphabet>,
    names: Vec<String>,
}

/// Why a pattern is refused; the text is Go's: ``error parsing regexp: <code>: `<part>` ``.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {code}: `{part}`")]
pub struct RegexpError {
    /// Go's name of the fault, such as `missing closing ]`.
    pub code: &'static str,
    /// The part of the pattern at fault.
    pub part: String,
}

impl Regexp {
    /// Compiles `pattern`.
    ///
    /// # Errors
    /// Go's text for a pattern Go refuses. Beyond Go: a pattern that nests deeper than 250 levels or needs more than
    /// 1 MiB compiled is refused with Go's texts for its own, larger limits.
    pub fn new(pattern: &str) -> Result<Self, RegexpError> {
        let parsed = parse::translate(pattern)?;
        let too_large = |_| RegexpError {
            code: parse::LARGE,
            part: pattern.to_owned(),
        };
        // looking for these takes quadratic time in a long pattern of options, and the lazy DFA needs the pattern
        // compiled a second time, backwards
        let short = parsed.pattern.len() <= SHORT_CUT_PATTERN;
        let config = Regex::config()
            .nfa_size_limit(Some(PROGRAM_LIMIT))
            .auto_prefilter(short)
            .hybrid(short)
            .onepass(short);
        let program = Regex::builder()
            .configure(config)
            .syntax(syntax::Config::new().nest_limit(parse::NEST_LIMIT))
            .build(&parsed.pattern)
            .map_err(too_large)?;
        Ok(Self {
            source: pattern.to_owned(),
            program,
            alphabet: Arc::new(parsed.alphabet),
            names: parsed.names,
        })
    }

    /// Compiles a pattern that may not be UTF-8 (a template's text).
    ///
    /// # Errors
    /// As [`Regexp::new`], and Go's ``invalid UTF-8``, which names everything from the first broken byte on.
    pub fn from_bytes(pattern: &[u8]) -> Result<Self, RegexpError> {
        match std::str::from_utf8(pattern) {
            Ok(text) => Self::new(text),
            Err(_) => Err(parse::invalid_utf8(pattern)),
        }
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The names of the groups; index 0 is the whole match and, like every unnamed group, has an empty name.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether `text` holds a match anywhere (unanchored, as Go's `MatchString`).
    #[must_use]
    pub fn is_match(&self, text: &[u8]) -> bool {
        self.program.is_match(&*self.haystack(text).text)
    }

    /// The leftmost match, as a range of bytes (Go's `FindStringIndex`).
    #[must_use]
    pub fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        let hay = self.haystack(text);
        self.find_at(&hay, 0).map(|m| hay.range(m.range()))
    }

    /// The groups of the leftmost match; index 0 is the match itself (Go's `FindStringSubmatchIndex`).
    #[must_use]
    pub fn captures(&self, text: &[u8]) -> Option<Vec<Option<Range<usize>>>> {
        let hay = self.haystack(text);
        let mut found = self.program.create_captures();
        self.program.captures(&*hay.text, &mut found);
        found.get_match()?;
        Some(found.iter().map(|group| group.map(|m| hay.range(m.range()))).collect())
    }

    fn haystack<'t>(&self, text: &'t [u8]) -> Haystack<'t> {
        Haystack::new(text, &self.alphabet)
    }

    fn find_at(&self, hay: &Haystack<'_>, at: usize) -> Option<Match> {
        self.program.find(Input::new(&*hay.text).range(at..))
    }

    fn captures_at(&self, groups: &mut Captures, hay: &Haystack<'_>, at: usize) -> Option<Match> {
        self.program.captures(Input::new(&*hay.text).range(at..), groups);
        groups.get_match()
    }

    /// Up to `limit` matches (all of them if negative), without empty ones that touch the match before
    /// (Go's `FindAllStringIndex`).
    #[must_use]
    pub fn find_all(&self, text: &[u8], limit: isize) -> Vec<Range<usize>> {
        let hay = self.haystack(text);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut at, mut last_end, mut found) = (0, None, Vec::new());
        while found.len() < limit && at <= hay.text.len() {
            let Some(m) = self.find_at(&hay, at) else {
                break;
            };
            let fresh = m.end() != at || Some(m.start()) != last_end;
            at = if m.end() == at { hay.next(at) } else { m.end() };
            last_end = Some(m.end());
            if fresh {
                found.push(hay.range(m.range()));
            }
        }
        found
    }

    /// Replaces every match by `template`, in which `$1`, `${1}`, `$name`, `${name}` and `$$` are expanded
    /// (Go's `ReplaceAllString`).
    #[must_use]
    pub fn replace_all(&self, text: &[u8], template: &[u8]) -> Vec<u8> {
        self.replace(text, &template::parse(template, &self.names))
    }

    /// Replaces every match by `replacement` as it stands (Go's `ReplaceAllLiteralString`).
    #[must_use]
    pub fn replace_all_literal(&self, text: &[u8], replacement: &[u8]) -> Vec<u8> {
        self.replace(text, &[Part::Text(replacement)])
    }

    fn replace(&self, text: &[u8], parts: &[Part<'_>]) -> Vec<u8> {
        let hay = self.haystack(text);
        let mut groups = self.program.create_captures();
        let needs_groups = parts.iter().any(|part| !matches!(part, Part::Text(_)));
        let (mut at, mut last_end, mut out) = (0, 0, Vec::with_capacity(text.len()));
        while at <= hay.text.len() {
            let found = if needs_groups {
                self.captures_at(&mut groups, &hay, at)
            } else {
                self.find_at(&hay, at)
            };
            let Some(m) = found else { break };
            out.extend_from_slice(&text[hay.range(last_end..m.start())]);
            // an empty match right behind another one is not replaced
            if m.end() > last_end || m.start() == 0 {
                for part in parts {
                    let group = |i: usize| groups.get_group(i).map(|span| &text[hay.range(span.range())]);
                    out.extend_from_slice(part.bytes(group));
                }
            }
            last_end = m.end();
            at = m.end().max(hay.next(at));
        }
        out.extend_from_slice(&text[hay.range(last_end..hay.text.len())]);
        out
    }

    /// Cuts `text` at the matches into at most `limit` pieces, the last one being the rest (Go's `Split`).
    ///
    /// `limit` 0 gives nothing, a negative one all pieces.
    #[must_use]
    pub fn split<'t>(&self, text: &'t [u8], limit: isize) -> Vec<&'t [u8]> {
        if limit == 0 {
            return Vec::new();
        }
        if !self.source.is_empty() && text.is_empty() {
            return vec![text];
        }
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut begin, mut end, mut pieces) = (0, 0, Vec::new());
        for m in self.find_all(text, limit) {
            if pieces.len() == most - 1 {
                break;
            }
            end = m.start;
            // a match that ends at 0 is an empty one at the start: it cuts off nothing
            if m.end != 0 {
                pieces.push(&text[begin..end]);
            }
            begin = m.end;
        }
        if end != text.len() {
            pieces.push(&text[begin..]);
        }
        pieces
    }
}

/// Escapes every character that has a meaning in a pattern (Go's `QuoteMeta`).
#[must_use]
pub fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &b in text {
        if br"\.+*?()|[]{}^$".contains(&b) {
            out.push(b'\\');
        }
        out.push(b);
    }
    out
}

#[cfg(test)]
mod tests;
