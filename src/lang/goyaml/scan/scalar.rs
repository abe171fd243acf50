//! Scalars: plain, quoted, and blocks after `|` and `>`.

use zeroize::Zeroizing;

use super::super::YamlError;
use super::super::source::{Mark, is_blank, is_blank_break_or_end, is_break, is_break_or_end};
use super::{Kind, Scanner, to_signed};

/// Blanks and breaks between two words of a scalar that may be folded.
#[derive(Default)]
struct Gap {
    blanks: String,
    first_break: Option<char>,
    more_breaks: String,
    /// A break was seen: blanks after it do not count.
    broken: bool,
}

impl Gap {
    /// What the gap stands for: blanks as they are, one break as a blank, several as one less.
    fn flush(&mut self, text: &mut String) {
        match (self.broken, self.first_break) {
            (false, _) => text.push_str(&self.blanks),
            (true, Some('\n')) if self.more_breaks.is_empty() => text.push(' '),
            (true, Some('\n')) => text.push_str(&self.more_breaks),
            (true, first) => {
                text.extend(first);
                text.push_str(&self.more_breaks);
            }
        }
        *self = Self::default();
    }
}

/// What to do with the breaks at the end of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl Scanner<'_> {
    pub(super) fn fetch_plain_scalar(&mut self) -> Result<(), YamlError> {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.source.mark;
        let indent = self.indent + 1;
        let (mut text, mut gap) = (Zeroizing::new(String::new()), Gap::default());
        loop {
            self.source.ensure(4)?;
            if self.source.at_document_indicator() || self.source.peek(0) == '#' {
                break;
            }
            while !is_blank_break_or_end(self.source.peek(0)) && !self.ends_plain() {
                gap.flush(&mut text);
                text.push(self.source.take());
                self.source.ensure(2)?;
            }
            let c = self.source.peek(0);
            if !is_blank(c) && !is_break(c) {
                break;
            }
            while is_blank(self.source.peek(0)) || is_break(self.source.peek(0)) {
                let short = gap.broken && to_signed(self.source.mark.column) < indent;
                if short && self.source.peek(0) == '\t' {
                    return Err(self.error(start, "found a tab character that violates indentation"));
                }
                self.take_gap(&mut gap)?;
            }
            if self.flow_level == 0 && to_signed(self.source.mark.column) < indent {
                break;
            }
        }
        self.push(Kind::Scalar { text, plain: true }, start);
        if gap.broken {
            self.key_allowed = true;
        }
        Ok(())
    }

    fn ends_plain(&self) -> bool {
        match self.source.peek(0) {
            ':' => is_blank_break_or_end(self.source.peek(1)),
            ',' | '?' | '[' | ']' | '{' | '}' => self.flow_level > 0,
            _ => false,
        }
    }

    /// Takes one blank or break into the gap.
    fn take_gap(&mut self, gap: &mut Gap) -> Result<(), YamlError> {
        self.source.ensure(2)?;
        if is_blank(self.source.peek(0)) {
            let c = self.source.take();
            if !gap.broken {
                gap.blanks.push(c);
            }
        } else if gap.broken {
            gap.more_breaks.extend(self.source.take_break());
        } else {
            gap.blanks.clear();
            gap.first_break = self.source.take_break();
            gap.broken = true;
        }
        self.source.ensure(1)
    }

    pub(super) fn fetch_flow_scalar(&mut self, single: bool) -> Result<(), YamlError> {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.source.mark;
        let quote = self.source.take();
        let (mut text, mut gap) = (Zeroizing::new(String::new()), Gap::default());
        loop {
            self.source.ensure(4)?;
            if self.source.at_document_indicator() {
                return Err(self.error(start, "found unexpected document indicator"));
            }
            if self.source.peek(0) == '\0' {
                return Err(self.error(start, "found unexpected end of stream"));
            }
            self.take_quoted(single, &mut text, &mut gap, start)?;
            self.source.ensure(1)?;
            if self.source.peek(0) == quote {
                break;
            }
            while is_blank(self.source.peek(0)) || is_break(self.source.peek(0)) {
                self.take_gap(&mut gap)?;
            }
            gap.flush(&mut text);
        }
        self.source.skip();
        self.push(Kind::Scalar { text, plain: false }, start);
        Ok(())
    }

    /// Takes characters up to the closing quote or a blank.
    fn take_quoted(&mut self, single: bool, text: &mut String, gap: &mut Gap, start: Mark) -> Result<(), YamlError> {
        while !is_blank_break_or_end(self.source.peek(0)) {
            match (single, self.source.peek(0), self.source.peek(1)) {
                (true, '\'', '\'') => {
                    text.push('\'');
                    self.source.skip_many(2);
                }
                (true, '\'', _) | (false, '"', _) => break,
                (false, '\\', next) if is_break(next) => {
                    // An escaped break joins two lines without a blank.
                    self.source.ensure(3)?;
                    self.source.skip();
                    self.source.take_break();
                    gap.broken = true;
                    break;
                }
                (false, '\\', next) => self.take_escape(next, text, start)?,
                _ => text.push(self.source.take()),
            }
            self.source.ensure(2)?;
        }
        Ok(())
    }

    fn take_escape(&mut self, letter: char, text: &mut String, start: Mark) -> Result<(), YamlError> {
        let digits = match letter {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => {
                let c = escaped(letter).ok_or_else(|| self.error(start, "found unknown escape character"))?;
                text.push(c);
                self.source.skip_many(2);
                return Ok(());
            }
        };
        self.source.skip_many(2);
        self.source.ensure(digits)?;
        let mut value = 0u32;
        for ahead in 0..digits {
            let digit = self.source.peek(ahead).to_digit(16);
            let digit = digit.ok_or_else(|| self.error(start, "did not find expected hexdecimal number"))?;
            value = (value << 4) | digit;
        }
        let c = char::from_u32(value);
        text.push(c.ok_or_else(|| self.error(start, "found invalid Unicode character escape code"))?);
        self.source.skip_many(digits);
        Ok(())
    }

    pub(super) fn fetch_block_scalar(&mut self, literal: bool) -> Result<(), YamlError> {
        self.remove_key()?;
        self.key_allowed = true;
        let start = self.source.mark;
        self.source.skip();
        let (chomping, increment) = self.scan_block_header(start)?;
        let mut indent = match increment {
            0 => 0,
            increment => to_signed(increment) + self.indent.max(0),
        };
        let (mut text, mut leading, mut trailing) = (Zeroizing::new(String::new()), None, String::new());
        self.scan_block_breaks(&mut indent, &mut trailing, start)?;
        let mut after_blank = false;
        while to_signed(self.source.mark.column) == indent && self.source.peek(0) != '\0' {
            let before_blank = is_blank(self.source.peek(0));
            if !literal && leading == Some('\n') && !after_blank && !before_blank {
                if trailing.is_empty() {
                    text.push(' ');
                }
            } else {
                text.extend(leading);
            }
            text.push_str(&trailing);
            trailing.clear();
            after_blank = before_blank;
            while !is_break_or_end(self.source.peek(0)) {
                text.push(self.source.take());
                self.source.ensure(1)?;
            }
            self.source.ensure(2)?;
            leading = self.source.take_break();
            self.scan_block_breaks(&mut indent, &mut trailing, start)?;
        }
        if chomping != Chomping::Strip {
            text.extend(leading);
        }
        if chomping == Chomping::Keep {
            text.push_str(&trailing);
        }
        self.push(Kind::Scalar { text, plain: false }, start);
        Ok(())
    }

    /// `+`, `-` and a digit in any order, then nothing but a comment.
    fn scan_block_header(&mut self, start: Mark) -> Result<(Chomping, usize), YamlError> {
        let (mut chomping, mut increment) = (None, None);
        for _ in 0..2 {
            self.source.ensure(1)?;
            match self.source.peek(0) {
                sign @ ('+' | '-') if chomping.is_none() => {
                    chomping = Some(if sign == '+' { Chomping::Keep } else { Chomping::Strip });
                }
                '0' if increment.is_none() => {
                    return Err(self.error(start, "found an indentation indicator equal to 0"));
                }
                digit @ '1'..='9' if increment.is_none() => increment = digit.to_digit(10),
                _ => break,
            }
            self.source.skip();
        }
        self.skip_blanks()?;
        if self.source.peek(0) == '#' {
            self.skip_to_break()?;
        }
        if !is_break_or_end(self.source.peek(0)) {
            return Err(self.error(start, "did not find expected comment or line break"));
        }
        self.source.ensure(2)?;
        self.source.take_break();
        let increment = increment.and_then(|digit| usize::try_from(digit).ok()).unwrap_or(0);
        Ok((chomping.unwrap_or(Chomping::Clip), increment))
    }

    /// Goes over empty lines and indentation; finds the indentation if it is not known yet.
    fn scan_block_breaks(&mut self, indent: &mut isize, breaks: &mut String, start: Mark) -> Result<(), YamlError> {
        let mut deepest = 0;
        loop {
            self.source.ensure(1)?;
            let inside = |column: usize| *indent == 0 || to_signed(column) < *indent;
            while inside(self.source.mark.column) && self.source.peek(0) == ' ' {
                self.source.skip();
                self.source.ensure(1)?;
            }
            deepest = deepest.max(to_signed(self.source.mark.column));
            if inside(self.source.mark.column) && self.source.peek(0) == '\t' {
                return Err(self.error(start, "found a tab character where an indentation space is expected"));
            }
            if !is_break(self.source.peek(0)) {
                break;
            }
            self.source.ensure(2)?;
            breaks.extend(self.source.take_break());
        }
        if *indent == 0 {
            *indent = deepest.max(self.indent + 1).max(1);
        }
        Ok(())
    }
}

/// The character that an escape of one letter stands for.
fn escaped(letter: char) -> Option<char> {
    Some(match letter {
        '0' => '\0',
        'a' => '\x07',
        'b' => '\x08',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\x0b',
        'f' => '\x0c',
        'r' => '\r',
        'e' => '\x1b',
        ' ' | '"' | '\'' | '\\' => letter,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => return None,
    })
}
