//! Template text to tokens.

mod token;

pub use token::{Kind, Token};

use super::format::quote;
use super::utf8;
use token::word_kind;

/// The scanner.
pub struct Lexer<'t> {
    input: &'t [u8],
    left: &'t [u8],
    right: &'t [u8],
    pos: usize,
    start: usize,
    line: usize,
    paren_depth: usize,
    inside_action: bool,
}

impl<'t> Lexer<'t> {
    /// A scanner of this text; an empty delimiter means the usual one.
    pub fn new(input: &'t [u8], left: &'t [u8], right: &'t [u8]) -> Self {
        let left = if left.is_empty() { b"{{" } else { left };
        let right = if right.is_empty() { b"}}" } else { right };
        Self {
            input,
            left,
            right,
            pos: 0,
            start: 0,
            line: 1,
            paren_depth: 0,
            inside_action: false,
        }
    }

    /// The next token; after the end or an error only `Eof` follows.
    pub fn next_token(&mut self) -> Token<'t> {
        if self.inside_action {
            self.lex_action()
        } else {
            self.lex_text()
        }
    }

    fn rest(&self) -> &'t [u8] {
        self.input.get(self.pos..).unwrap_or_default()
    }

    fn emit(&mut self, kind: Kind) -> Token<'t> {
        let text = &self.input[self.start..self.pos];
        let token = Token {
            kind,
            pos: self.start,
            text,
            message: String::new(),
            line: self.line,
        };
        self.skip_to_here();
        token
    }

    fn skip_to_here(&mut self) {
        self.line += count_lines(&self.input[self.start..self.pos]);
        self.start = self.pos;
    }

    fn fail(&mut self, message: impl Into<String>) -> Token<'t> {
        let token = Token {
            kind: Kind::Error,
            pos: self.start,
            text: b"",
            message: message.into(),
            line: self.line,
        };
        self.input = b"";
        self.pos = 0;
        self.start = 0;
        token
    }

    fn lex_text(&mut self) -> Token<'t> {
        loop {
            let Some(found) = find(self.rest(), self.left) else {
                self.pos = self.input.len();
                return if self.pos > self.start {
                    self.emit(Kind::Text)
                } else {
                    self.emit(Kind::Eof)
                };
            };
            if found > 0 {
                let delim = self.pos + found;
                let after = &self.input[delim + self.left.len()..];
                let text = &self.input[self.start..delim];
                self.pos = if has_left_trim(after) {
                    self.start + trim_end(text).len()
                } else {
                    delim
                };
                let token = self.emit(Kind::Text);
                self.pos = delim;
                self.skip_to_here();
                if !token.text.is_empty() {
                    return token;
                }
            }
            if let Some(token) = self.lex_left_delim() {
                return token;
            }
        }
    }

    /// `None` after a comment.
    fn lex_left_delim(&mut self) -> Option<Token<'t>> {
        self.pos += self.left.len();
        let marker = if has_left_trim(self.rest()) { 2 } else { 0 };
        if self.input[self.pos + marker..].starts_with(b"/*") {
            self.pos += marker;
            self.skip_to_here();
            return self.lex_comment();
        }
        let token = self.emit(Kind::LeftDelim);
        self.inside_action = true;
        self.pos += marker;
        self.skip_to_here();
        self.paren_depth = 0;
        Some(token)
    }

    fn lex_comment(&mut self) -> Option<Token<'t>> {
        self.pos += 2;
        let Some(end) = find(self.rest(), b"*/") else {
            return Some(self.fail("unclosed comment"));
        };
        self.pos += end + 2;
        let Some(trim) = self.at_right_delim() else {
            return Some(self.fail("comment ends before closing delimiter"));
        };
        self.pass_right_delim(trim);
        None
    }

    fn pass_right_delim(&mut self, trim: bool) {
        self.pos += self.right.len() + if trim { 2 } else { 0 };
        if trim {
            self.pos += self.rest().len() - trim_start(self.rest()).len();
        }
        self.skip_to_here();
    }

    /// Whether the closing delimiter is next, and if so whether a trim marker stands before it.
    fn at_right_delim(&self) -> Option<bool> {
        let rest = self.rest();
        if has_right_trim(rest) && rest[2..].starts_with(self.right) {
            return Some(true);
        }
        rest.starts_with(self.right).then_some(false)
    }

    fn lex_right_delim(&mut self, trim: bool) -> Token<'t> {
        if trim {
            self.pos += 2;
            self.skip_to_here();
        }
        self.pos += self.right.len();
        let token = self.emit(Kind::RightDelim);
        if trim {
            self.pos += self.rest().len() - trim_start(self.rest()).len();
            self.skip_to_here();
        }
        self.inside_action = false;
        token
    }

    fn lex_action(&mut self) -> Token<'t> {
        if let Some(trim) = self.at_right_delim() {
            if self.paren_depth == 0 {
                return self.lex_right_delim(trim);
            }
            return self.fail("unclosed left paren");
        }
        let (c, width) = utf8::decode(self.rest());
        if width == 0 {
            return self.fail("unclosed action");
        }
        if is_blank(c) {
            return self.lex_space();
        }
        let second = self.rest().get(1).copied();
        match c {
            '"' => return self.lex_quoted(b'"', Kind::String, "unterminated quoted string"),
            '\'' => return self.lex_quoted(b'\'', Kind::CharConstant, "unterminated character constant"),
            '`' => return self.lex_raw(),
            '$' => return self.lex_field(Kind::Variable),
            '.' if second.is_some_and(|byte| !byte.is_ascii_digit()) => return self.lex_field(Kind::Field),
            '.' | '+' | '-' | '0'..='9' => return self.lex_number(),
            _ if is_alphanumeric(c) => return self.lex_identifier(),
            _ => {}
        }
        self.pos += width;
        self.lex_symbol(c, second)
    }

    fn lex_symbol(&mut self, c: char, second: Option<u8>) -> Token<'t> {
        match c {
            '=' => self.emit(Kind::Assign),
            ':' if second == Some(b'=') => {
                self.pos += 1;
                self.emit(Kind::Declare)
            }
            ':' => self.fail("expected :="),
            '|' => self.emit(Kind::Pipe),
            '(' => {
                self.paren_depth += 1;
                self.emit(Kind::LeftParen)
            }
            ')' if self.paren_depth == 0 => self.fail("unexpected right paren"),
            ')' => {
                self.paren_depth -= 1;
                self.emit(Kind::RightParen)
            }
            ' '..='~' => self.emit(Kind::Char),
            _ => self.fail(format!(
                "unrecognized character in action: {}",
                quote::code_point(c, true)
            )),
        }
    }

    fn lex_space(&mut self) -> Token<'t> {
        let run = self
            .rest()
            .iter()
            .take_while(|&&byte| is_blank(char::from(byte)))
            .count();
        self.pos += run;
        let last = &self.input[self.pos - 1..];
        if has_right_trim(last) && last[2..].starts_with(self.right) {
            self.pos -= 1;
            if run == 1 {
                return self.lex_right_delim(true);
            }
        }
        self.emit(Kind::Space)
    }

    fn skip_alphanumeric(&mut self) {
        loop {
            let (c, width) = utf8::decode(self.rest());
            if width == 0 || !is_alphanumeric(c) {
                return;
            }
            self.pos += width;
        }
    }

    fn lex_identifier(&mut self) -> Token<'t> {
        self.skip_alphanumeric();
        let kind = word_kind(&self.input[self.start..self.pos]);
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.emit(kind)
    }

    fn lex_field(&mut self, kind: Kind) -> Token<'t> {
        self.pos += 1;
        if self.at_terminator() {
            return self.emit(if kind == Kind::Variable { kind } else { Kind::Dot });
        }
        self.skip_alphanumeric();
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.emit(kind)
    }

    fn bad_character(&mut self) -> Token<'t> {
        let (c, _) = utf8::decode(self.rest());
        let pos = self.pos;
        let token = self.fail(format!("bad character {}", quote::code_point(c, true)));
        Token { pos, ..token }
    }

    fn at_terminator(&self) -> bool {
        let rest = self.rest();
        match rest.first() {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => true,
            Some(_) => rest.starts_with(self.right),
        }
    }

    fn lex_quoted(&mut self, mark: u8, kind: Kind, unterminated: &str) -> Token<'t> {
        self.pos += 1;
        loop {
            let next = self.rest().first().copied();
            self.pos += 1;
            match next {
                Some(byte) if byte == mark => return self.emit(kind),
                Some(b'\\') if self.rest().first().is_some_and(|&byte| byte != b'\n') => {
                    self.pos += utf8::decode(self.rest()).1;
                }
                None | Some(b'\n' | b'\\') => return self.fail(unterminated),
                Some(_) => {}
            }
        }
    }

    fn lex_raw(&mut self) -> Token<'t> {
        self.pos += 1;
        match self.rest().iter().position(|&byte| byte == b'`') {
            Some(end) => {
                self.pos += end + 1;
                self.emit(Kind::RawString)
            }
            None => self.fail("unterminated raw quoted string"),
        }
    }

    fn lex_number(&mut self) -> Token<'t> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.rest().first(), Some(b'+' | b'-')) {
            if !self.scan_number() || self.input[self.pos - 1] != b'i' {
                return self.bad_number();
            }
            return self.emit(Kind::Complex);
        }
        self.emit(Kind::Number)
    }

    fn bad_number(&mut self) -> Token<'t> {
        let shown = quote::quoted(&self.input[self.start..self.pos]);
        self.fail(format!("bad number syntax: {shown}"))
    }

    fn accept(&mut self, set: &[u8]) -> bool {
        let found = self.rest().first().is_some_and(|byte| set.contains(byte));
        self.pos += usize::from(found);
        found
    }

    fn accept_run(&mut self, set: &[u8]) {
        while self.accept(set) {}
    }

    /// Not exact: what it lets through wrongly fails when the number is read.
    fn scan_number(&mut self) -> bool {
        self.accept(b"+-");
        let mut digits: &[u8] = b"0123456789_";
        let (mut decimal, mut hexadecimal) = (true, false);
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = b"0123456789abcdefABCDEF_";
                (decimal, hexadecimal) = (false, true);
            } else if self.accept(b"oO") {
                digits = b"01234567_";
                decimal = false;
            } else if self.accept(b"bB") {
                digits = b"01_";
                decimal = false;
            }
        }
        self.accept_run(digits);
        if self.accept(b".") {
            self.accept_run(digits);
        }
        if (decimal && self.accept(b"eE")) || (hexadecimal && self.accept(b"pP")) {
            self.accept(b"+-");
            self.accept_run(b"0123456789_");
        }
        self.accept(b"i");
        let (c, width) = utf8::decode(self.rest());
        if width > 0 && is_alphanumeric(c) {
            self.pos += width;
            return false;
        }
        true
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || utf8::is_letter(c) || utf8::is_digit(c)
}

fn has_left_trim(rest: &[u8]) -> bool {
    rest.len() >= 2 && rest[0] == b'-' && is_blank(char::from(rest[1]))
}

fn has_right_trim(rest: &[u8]) -> bool {
    rest.len() >= 2 && is_blank(char::from(rest[0])) && rest[1] == b'-'
}

fn trim_end(text: &[u8]) -> &[u8] {
    let end = text
        .iter()
        .rposition(|&byte| !is_blank(char::from(byte)))
        .map_or(0, |at| at + 1);
    &text[..end]
}

fn trim_start(text: &[u8]) -> &[u8] {
    let start = text
        .iter()
        .position(|&byte| !is_blank(char::from(byte)))
        .unwrap_or(text.len());
    &text[start..]
}

fn count_lines(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

/// Where `needle` starts in `text`.
pub fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, needle)
}
