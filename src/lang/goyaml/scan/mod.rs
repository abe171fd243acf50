//! Tokens: what the characters of a document mean, with indentation turned into brackets.
//!
//! The rules are libyaml's: a key before `:` is found late, so its tokens are inserted before what was read since.

mod scalar;
mod tag;

use std::collections::VecDeque;

use zeroize::Zeroizing;

use super::source::{Mark, Source, is_blank, is_blank_break_or_end, is_break, is_break_or_end, is_word};
use super::{MAX_DEPTH, YamlError};

/// Characters that a key without `?` may have at most.
const LONGEST_KEY: usize = 1024;

/// A token and where it begins.
#[derive(Clone)]
pub(super) struct Token {
    pub kind: Kind,
    pub start: Mark,
}

/// The kinds of tokens.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Kind {
    StreamStart,
    StreamEnd,
    VersionDirective { major: u32, minor: u32 },
    TagDirective { handle: String, prefix: String },
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    Tag { handle: String, suffix: String },
    Scalar { text: Zeroizing<String>, plain: bool },
}

/// A place where a key may have begun.
#[derive(Clone, Copy, Debug, Default)]
struct SimpleKey {
    possible: bool,
    /// At the indentation of its map: it must be a key.
    required: bool,
    /// Number of its token, counted from the start of the stream.
    token: usize,
    /// The token waits until it is known whether it is a key. go-yaml forgets this for an empty `[]` or `{}`,
    /// so that these two cannot be keys without `?`.
    waits: bool,
    mark: Mark,
}

/// Turns a source into tokens.
pub(super) struct Scanner<'t> {
    source: Source<'t>,
    queue: VecDeque<Token>,
    /// Tokens handed out so far.
    taken: usize,
    started: bool,
    ended: bool,
    indent: isize,
    indents: Vec<isize>,
    flow_level: usize,
    key_allowed: bool,
    keys: Vec<SimpleKey>,
}

impl<'t> Scanner<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Self {
            source: Source::new(text),
            queue: VecDeque::new(),
            taken: 0,
            started: false,
            ended: false,
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            key_allowed: true,
            keys: Vec::new(),
        }
    }

    /// The next token, left in place.
    pub fn peek(&mut self) -> Result<&Token, YamlError> {
        while (self.queue.is_empty() || self.head_may_be_key()?) && !self.ended {
            self.fetch()?;
        }
        self.queue
            .front()
            .ok_or_else(|| YamlError::new("yaml: attempted to go past the end of stream"))
    }

    /// The next token.
    pub fn next(&mut self) -> Result<Token, YamlError> {
        self.peek()?;
        self.taken += 1;
        self.queue
            .pop_front()
            .ok_or_else(|| YamlError::new("yaml: attempted to go past the end of stream"))
    }

    /// True while the first waiting token may turn out to be a key.
    fn head_may_be_key(&mut self) -> Result<bool, YamlError> {
        match self.keys.iter().position(|key| key.waits && key.token == self.taken) {
            Some(at) => self.check_key(at),
            None => Ok(false),
        }
    }

    /// A key stands on one line and is not too long; one that must be a key and is not is an error.
    fn check_key(&mut self, at: usize) -> Result<bool, YamlError> {
        let key = self.keys[at];
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < self.source.mark.line || key.mark.index + LONGEST_KEY < self.source.mark.index {
            if key.required {
                return Err(self.error(key.mark, "could not find expected ':'"));
            }
            self.keys[at].possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// An error found here; go-yaml names the line it was found on, or the one where the construct began.
    fn error(&self, context: Mark, problem: &str) -> YamlError {
        match (self.source.mark.line, context.line) {
            (0, 0) => YamlError::new(format!("yaml: {problem}")),
            (0, line) => YamlError::new(format!("yaml: line {line}: {problem}")),
            (line, _) => YamlError::new(format!("yaml: line {}: {problem}", line + 1)),
        }
    }

    fn push(&mut self, kind: Kind, start: Mark) {
        self.queue.push_back(Token { kind, start });
    }

    fn fetch(&mut self) -> Result<(), YamlError> {
        self.source.ensure(1)?;
        if !self.started {
            self.started = true;
            self.keys.push(SimpleKey::default());
            self.push(Kind::StreamStart, self.source.mark);
            return Ok(());
        }
        self.skip_to_token()?;
        self.unroll_indent(to_signed(self.source.mark.column));
        self.source.ensure(4)?;
        let (c, next) = (self.source.peek(0), self.source.peek(1));
        let flow = self.flow_level > 0;
        if c == '\0' {
            return self.fetch_stream_end();
        }
        if self.source.mark.column == 0 {
            if c == '%' {
                return self.fetch_directive();
            }
            if self.source.is_indicator('-') {
                return self.fetch_document_indicator(Kind::DocumentStart);
            }
            if self.source.is_indicator('.') {
                return self.fetch_document_indicator(Kind::DocumentEnd);
            }
        }
        match c {
            '[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            '{' => self.fetch_flow_start(Kind::FlowMappingStart),
            ']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            '}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            ',' => self.fetch_flow_entry(),
            '-' if is_blank_break_or_end(next) => self.fetch_block_entry(),
            '?' if flow || is_blank_break_or_end(next) => self.fetch_key(),
            ':' if flow || is_blank_break_or_end(next) => self.fetch_value(),
            '*' => self.fetch_anchor(true),
            '&' => self.fetch_anchor(false),
            '!' => self.fetch_tag(),
            '|' if !flow => self.fetch_block_scalar(true),
            '>' if !flow => self.fetch_block_scalar(false),
            '\'' => self.fetch_flow_scalar(true),
            '"' => self.fetch_flow_scalar(false),
            _ if self.begins_plain(c, next) => self.fetch_plain_scalar(),
            _ => Err(self.error(self.source.mark, "found character that cannot start any token")),
        }
    }

    fn begins_plain(&self, c: char, next: char) -> bool {
        match c {
            '-' => !is_blank(next),
            '?' | ':' => self.flow_level == 0 && !is_blank_break_or_end(next),
            ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => false,
            c => !is_blank_break_or_end(c),
        }
    }

    fn skip_to_token(&mut self) -> Result<(), YamlError> {
        loop {
            self.source.ensure(1)?;
            if self.source.mark.column == 0 && self.source.peek(0) == '\u{feff}' {
                self.source.skip();
                self.source.ensure(1)?;
            }
            // Tabs may separate, but not indent.
            while self.source.peek(0) == ' '
                || (self.source.peek(0) == '\t' && (self.flow_level > 0 || !self.key_allowed))
            {
                self.source.skip();
                self.source.ensure(1)?;
            }
            if self.source.peek(0) == '#' {
                self.skip_to_break()?;
            }
            if !is_break(self.source.peek(0)) {
                return Ok(());
            }
            self.source.ensure(2)?;
            self.source.take_break();
            if self.flow_level == 0 {
                self.key_allowed = true;
            }
        }
    }

    fn skip_to_break(&mut self) -> Result<(), YamlError> {
        while !is_break_or_end(self.source.peek(0)) {
            self.source.skip();
            self.source.ensure(1)?;
        }
        Ok(())
    }

    fn skip_blanks(&mut self) -> Result<(), YamlError> {
        self.source.ensure(1)?;
        while is_blank(self.source.peek(0)) {
            self.source.skip();
            self.source.ensure(1)?;
        }
        Ok(())
    }

    /// Takes letters, digits, `_` and `-`.
    fn take_word(&mut self) -> Result<String, YamlError> {
        let mut word = String::new();
        self.source.ensure(1)?;
        while is_word(self.source.peek(0)) {
            word.push(self.source.take());
            self.source.ensure(1)?;
        }
        Ok(word)
    }

    fn save_key(&mut self) -> Result<(), YamlError> {
        if !self.key_allowed {
            return Ok(());
        }
        let required = self.flow_level == 0 && self.indent == to_signed(self.source.mark.column);
        let token = self.taken + self.queue.len();
        self.remove_key()?;
        if let Some(key) = self.keys.last_mut() {
            *key = SimpleKey {
                possible: true,
                required,
                token,
                waits: true,
                mark: self.source.mark,
            };
        }
        Ok(())
    }

    fn remove_key(&mut self) -> Result<(), YamlError> {
        match self.keys.last_mut() {
            Some(key) if key.possible && key.required => {
                let mark = key.mark;
                Err(self.error(mark, "could not find expected ':'"))
            }
            Some(key) => {
                key.waits &= !key.possible;
                key.possible = false;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Opens a block at a column that is further in; `token` is where its token belongs, if not at the end.
    fn roll_indent(&mut self, column: usize, token: Option<usize>, kind: Kind, mark: Mark) -> Result<(), YamlError> {
        let column = to_signed(column);
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            return Err(self.error(mark, &format!("exceeded max depth of {MAX_DEPTH}")));
        }
        let opening = Token { kind, start: mark };
        match token {
            Some(number) => self.insert(number, opening),
            None => self.queue.push_back(opening),
        }
        Ok(())
    }

    /// Puts a token before the one with this number, or at the end when that one is gone already.
    fn insert(&mut self, number: usize, token: Token) {
        match number.checked_sub(self.taken) {
            Some(at) if at < self.queue.len() => self.queue.insert(at, token),
            _ => self.queue.push_back(token),
        }
    }

    /// Closes all blocks that are further in than a column.
    fn unroll_indent(&mut self, column: isize) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            self.push(Kind::BlockEnd, self.source.mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn fetch_stream_end(&mut self) -> Result<(), YamlError> {
        if self.source.mark.column != 0 {
            self.source.mark.column = 0;
            self.source.mark.line += 1;
        }
        self.unroll_indent(-1);
        self.remove_key()?;
        self.key_allowed = false;
        self.ended = true;
        self.push(Kind::StreamEnd, self.source.mark);
        Ok(())
    }

    fn fetch_document_indicator(&mut self, kind: Kind) -> Result<(), YamlError> {
        self.unroll_indent(-1);
        self.remove_key()?;
        self.key_allowed = false;
        let start = self.source.mark;
        self.source.skip_many(3);
        self.push(kind, start);
        Ok(())
    }

    fn fetch_indicator(&mut self, kind: Kind) {
        let start = self.source.mark;
        self.source.skip();
        self.push(kind, start);
    }

    fn fetch_flow_start(&mut self, kind: Kind) -> Result<(), YamlError> {
        self.save_key()?;
        let token = self.taken + self.queue.len();
        self.keys.push(SimpleKey {
            token,
            ..SimpleKey::default()
        });
        self.flow_level += 1;
        if self.flow_level > MAX_DEPTH {
            return Err(self.error(self.source.mark, &format!("exceeded max depth of {MAX_DEPTH}")));
        }
        self.key_allowed = true;
        self.fetch_indicator(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Result<(), YamlError> {
        self.remove_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(inner) = self.keys.pop() {
                self.keys
                    .iter_mut()
                    .filter(|key| key.token == inner.token)
                    .for_each(|key| key.waits = false);
            }
        }
        self.key_allowed = false;
        self.fetch_indicator(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Result<(), YamlError> {
        self.remove_key()?;
        self.key_allowed = true;
        self.fetch_indicator(Kind::FlowEntry);
        Ok(())
    }

    /// Opens a block at this column, where a key or entry must be allowed. `what` is for the message.
    fn open_block(&mut self, kind: Kind, what: &str) -> Result<(), YamlError> {
        if self.flow_level > 0 {
            return Ok(());
        }
        let mark = self.source.mark;
        if !self.key_allowed {
            return Err(self.error(mark, &format!("{what} are not allowed in this context")));
        }
        self.roll_indent(mark.column, None, kind, mark)
    }

    fn fetch_block_entry(&mut self) -> Result<(), YamlError> {
        self.open_block(Kind::BlockSequenceStart, "block sequence entries")?;
        self.remove_key()?;
        self.key_allowed = true;
        self.fetch_indicator(Kind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Result<(), YamlError> {
        self.open_block(Kind::BlockMappingStart, "mapping keys")?;
        self.remove_key()?;
        self.key_allowed = self.flow_level == 0;
        self.fetch_indicator(Kind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Result<(), YamlError> {
        let last = self.keys.len().saturating_sub(1);
        if self.check_key(last)? {
            let key = self.keys[last];
            self.insert(
                key.token,
                Token {
                    kind: Kind::Key,
                    start: key.mark,
                },
            );
            self.roll_indent(key.mark.column, Some(key.token), Kind::BlockMappingStart, key.mark)?;
            self.keys[last].possible = false;
            self.keys[last].waits = false;
            self.key_allowed = false;
        } else {
            self.open_block(Kind::BlockMappingStart, "mapping values")?;
            self.key_allowed = self.flow_level == 0;
        }
        self.fetch_indicator(Kind::Value);
        Ok(())
    }

    fn fetch_anchor(&mut self, alias: bool) -> Result<(), YamlError> {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.source.mark;
        self.source.skip();
        let name = self.take_word()?;
        let c = self.source.peek(0);
        if name.is_empty() || !(is_blank_break_or_end(c) || matches!(c, '?' | ':' | ',' | ']' | '}' | '%' | '@' | '`'))
        {
            return Err(self.error(start, "did not find expected alphabetic or numeric character"));
        }
        self.push(if alias { Kind::Alias(name) } else { Kind::Anchor(name) }, start);
        Ok(())
    }
}

fn to_signed(column: usize) -> isize {
    isize::try_from(column).unwrap_or(isize::MAX)
}
