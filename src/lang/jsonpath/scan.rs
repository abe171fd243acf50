//! Tokens as Go's `text/scanner` finds them, with its positions.

use crate::lang::unicode::{is_digit, is_letter, quote};

/// A token, or any other character by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Eof,
    Ident,
    Int,
    Float,
    Char,
    String,
    RawString,
    Rune(char),
}

impl Token {
    /// How the scanner names it in errors.
    pub(super) fn name(self) -> String {
        match self {
            Self::Eof => "EOF".to_owned(),
            Self::Ident => "Ident".to_owned(),
            Self::Int => "Int".to_owned(),
            Self::Float => "Float".to_owned(),
            Self::Char => "Char".to_owned(),
            Self::String => "String".to_owned(),
            Self::RawString => "RawString".to_owned(),
            Self::Rune(c) => quote(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// The scanner. It always holds one character of look-ahead.
pub(super) struct Scanner {
    chars: Vec<char>,
    /// Offset behind the look-ahead.
    next: usize,
    /// Nothing at the end.
    ahead: Option<char>,
    /// Whether the look-ahead is a character, and not the end.
    has_ahead: bool,
    line: usize,
    column: usize,
    last_line_length: usize,
    /// Where the last token began, if it is known.
    start: Option<(usize, usize)>,
    text: (usize, usize),
}

impl Scanner {
    pub(super) fn new(source: &str) -> Self {
        let mut scanner = Self {
            chars: source.chars().collect(),
            next: 0,
            ahead: None,
            has_ahead: false,
            line: 1,
            column: 0,
            last_line_length: 0,
            start: None,
            text: (0, 0),
        };
        scanner.advance();
        if scanner.ahead == Some('\u{feff}') {
            scanner.advance();
        }
        scanner
    }

    /// Reads one more character.
    fn advance(&mut self) {
        let Some(&c) = self.chars.get(self.next) else {
            // the end counts as a column, once
            self.column += usize::from(self.has_ahead);
            (self.has_ahead, self.ahead) = (false, None);
            return;
        };
        self.next += 1;
        (self.has_ahead, self.ahead) = (true, Some(c));
        self.column += 1;
        if c == '\n' {
            self.line += 1;
            self.last_line_length = self.column;
            self.column = 0;
        }
    }

    /// Offset of the look-ahead.
    fn offset(&self) -> usize {
        self.next - usize::from(self.has_ahead)
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.ahead
    }

    /// Skips the look-ahead; the position of the last token is then no longer known.
    pub(super) fn skip(&mut self) {
        self.start = None;
        if self.has_ahead {
            self.advance();
        }
    }

    /// The text of the last token.
    pub(super) fn text(&self) -> String {
        self.chars[self.text.0..self.text.1].iter().collect()
    }

    /// Where the last token began.
    pub(super) fn start(&self) -> Option<(usize, usize)> {
        self.start
    }

    /// Line and column behind the last token.
    pub(super) fn position(&self) -> (usize, usize) {
        if self.column > 0 {
            (self.line, self.column)
        } else if self.last_line_length > 0 {
            (self.line - 1, self.last_line_length)
        } else {
            (1, 1)
        }
    }

    pub(super) fn scan(&mut self) -> Token {
        loop {
            while matches!(self.ahead, Some(' ' | '\t' | '\n' | '\r')) {
                self.advance();
            }
            // an empty source has no position at all
            self.start = (self.column > 0 || self.last_line_length > 0).then(|| self.position());
            let from = self.offset();
            if let Some(token) = self.token() {
                self.text = (from, self.offset());
                return token;
            }
        }
    }

    /// The token at the look-ahead; nothing for a comment.
    fn token(&mut self) -> Option<Token> {
        let Some(c) = self.ahead else { return Some(Token::Eof) };
        if is_letter(c) || c == '_' {
            while self.ahead.is_some_and(|c| is_letter(c) || c == '_' || is_digit(c)) {
                self.advance();
            }
            return Some(Token::Ident);
        }
        if c.is_ascii_digit() {
            return Some(self.number());
        }
        self.advance();
        Some(match c {
            '"' => self.quoted('"', Token::String),
            '\'' => self.quoted('\'', Token::Char),
            '`' => {
                while self.ahead.is_some_and(|c| c != '`') {
                    self.advance();
                }
                self.advance();
                Token::RawString
            }
            '.' if self.ahead.is_some_and(|c| c.is_ascii_digit()) => {
                self.fraction(10);
                Token::Float
            }
            '/' if matches!(self.ahead, Some('/' | '*')) => {
                self.comment();
                return None;
            }
            c => Token::Rune(c),
        })
    }

    fn comment(&mut self) {
        if self.ahead == Some('/') {
            while self.ahead.is_some_and(|c| c != '\n') {
                self.advance();
            }
            return;
        }
        self.advance();
        while let Some(c) = self.ahead {
            self.advance();
            if c == '*' && self.ahead == Some('/') {
                return self.advance();
            }
        }
    }

    /// A number; one that is malformed is still one token and fails when it is read.
    fn number(&mut self) -> Token {
        let mut base = 10;
        if self.ahead == Some('0') {
            self.advance();
            base = match self.ahead.map(|c| c.to_ascii_lowercase()) {
                Some('x') => 16,
                Some('o') => 8,
                Some('b') => 2,
                _ => 10,
            };
            if base != 10 {
                self.advance();
            }
        }
        self.digits(base);
        if self.ahead == Some('.') {
            self.advance();
            self.fraction(base);
            return Token::Float;
        }
        if self.exponent() { Token::Float } else { Token::Int }
    }

    fn fraction(&mut self, base: u32) {
        self.digits(base);
        self.exponent();
    }

    fn exponent(&mut self) -> bool {
        if !matches!(self.ahead, Some('e' | 'E' | 'p' | 'P')) {
            return false;
        }
        self.advance();
        if matches!(self.ahead, Some('+' | '-')) {
            self.advance();
        }
        self.digits(10);
        true
    }

    fn digits(&mut self, base: u32) {
        let base = base.max(10);
        while self.ahead.is_some_and(|c| c == '_' || c.is_digit(base)) {
            self.advance();
        }
    }

    /// The rest of a quoted literal. It ends before a line break, and the character there is part of it.
    fn quoted(&mut self, quote: char, token: Token) -> Token {
        while let Some(c) = self.ahead {
            if c == quote || c == '\n' {
                break;
            }
            self.advance();
            if c == '\\' {
                self.escape(quote);
            }
        }
        self.advance();
        token
    }

    /// What follows a backslash: skipped if it is an escape, else left to be looked at again.
    fn escape(&mut self, quote: char) {
        let (base, count) = match self.ahead {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\') => return self.advance(),
            Some(c) if c == quote => return self.advance(),
            Some('0'..='7') => (8, 3),
            Some('x') => (16, 2),
            Some('u') => (16, 4),
            Some('U') => (16, 8),
            _ => return,
        };
        if base == 16 {
            self.advance();
        }
        for _ in 0..count {
            if !self.ahead.is_some_and(|c| c.is_digit(base)) {
                return;
            }
            self.advance();
        }
    }
}
