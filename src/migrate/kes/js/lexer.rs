//! Characters → tokens.

use super::parser::SyntaxError;

/// A token of the JavaScript subset, or one of the two pseudo tokens a lodash template adds.
#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    /// Identifier or keyword.
    Name(String),
    /// String literal, decoded.
    Str(String),
    /// Number literal as JavaScript prints it.
    Num(String),
    /// Regular expression literal.
    Regex(String, String),
    /// Template literal: texts and the token lists between them.
    Template(Vec<TemplatePart>),
    /// Operator or punctuation.
    Punct(&'static str),
    /// Text between two tags (from the template, not from JavaScript).
    Text(String),
    /// A printing tag, already cut into tokens.
    Print {
        /// Tokens of the expression.
        tokens: Vec<Token>,
        /// Source of the expression, for messages.
        source: String,
        /// True for `<%-`.
        escape: bool,
    },
}

/// A part of a template literal.
#[derive(Debug, Clone, PartialEq)]
pub enum TemplatePart {
    /// Decoded text.
    Text(String),
    /// Tokens of `${…}`.
    Tokens(Vec<Token>),
}

/// Longest first, so that the first match is the right one.
const PUNCTUATION: &[&str] = &[
    "===", "!==", "...", "**=", ">>>", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "+=", "-=", "*=", "/=",
    "++", "--", "**", "<<", ">>", "{", "}", "(", ")", "[", "]", ";", ",", "<", ">", "+", "-", "*", "/", "%", "&", "|",
    "^", "!", "~", "?", ":", "=", ".", "@", "#",
];

/// Cuts JavaScript into tokens. `comments` is false inside printing tags, where lodash puts the text in parentheses.
///
/// # Errors
///
/// Unterminated literals, unknown escapes and characters outside the language.
pub fn tokens(source: &str, comments: bool) -> Result<Vec<Token>, SyntaxError> {
    nested(source, comments, 0)
}

/// Template literals may stand inside template literals, to this depth.
const MAX_NESTING: usize = 16;

fn nested(source: &str, comments: bool, depth: usize) -> Result<Vec<Token>, SyntaxError> {
    if depth > MAX_NESTING {
        return Err(SyntaxError::new("nesting this deep"));
    }
    let chars: Vec<char> = source.chars().collect();
    let mut lexer = Lexer {
        chars: &chars,
        at: 0,
        comments,
        depth,
        out: Vec::new(),
    };
    lexer.run()?;
    Ok(lexer.out)
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
    comments: bool,
    depth: usize,
    out: Vec<Token>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn run(&mut self) -> Result<(), SyntaxError> {
        while let Some(c) = self.peek(0) {
            if c.is_whitespace() || c == '\u{feff}' {
                self.at += 1;
            } else if c == '/' && matches!(self.peek(1), Some('/' | '*')) {
                self.comment()?;
            } else if c.is_alphabetic() || c == '_' || c == '$' {
                let name = self.take_while(|c| c.is_alphanumeric() || c == '_' || c == '$');
                self.out.push(Token::Name(name));
            } else if c.is_ascii_digit() || (c == '.' && self.peek(1).is_some_and(|d| d.is_ascii_digit())) {
                self.number()?;
            } else if c == '"' || c == '\'' {
                self.at += 1;
                let text = self.string(c)?;
                self.out.push(Token::Str(text));
            } else if c == '`' {
                self.at += 1;
                self.template()?;
            } else if c == '/' && self.regex_allowed() {
                self.regex()?;
            } else {
                self.punctuation(c)?;
            }
        }
        Ok(())
    }

    fn take_while(&mut self, test: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(&test) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn comment(&mut self) -> Result<(), SyntaxError> {
        if !self.comments {
            return Err(SyntaxError::new("a comment inside a printing tag"));
        }
        if self.peek(1) == Some('/') {
            self.take_while(|c| c != '\n');
            return Ok(());
        }
        self.at += 2;
        while self.peek(0).is_some() {
            if self.peek(0) == Some('*') && self.peek(1) == Some('/') {
                self.at += 2;
                return Ok(());
            }
            self.at += 1;
        }
        Err(SyntaxError::new("an unterminated comment"))
    }

    /// A slash begins a regular expression where an operand is expected.
    fn regex_allowed(&self) -> bool {
        match self.out.last() {
            None => true,
            Some(Token::Punct(p)) => !matches!(*p, ")" | "]" | "}"),
            Some(Token::Name(n)) => matches!(n.as_str(), "return" | "typeof" | "of" | "in"),
            Some(_) => false,
        }
    }

    fn regex(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        let (mut pattern, mut class) = (String::new(), false);
        loop {
            let c = self
                .peek(0)
                .filter(|c| *c != '\n')
                .ok_or_else(|| SyntaxError::new("an unterminated regular expression"))?;
            self.at += 1;
            match c {
                '/' if !class => break,
                '[' => class = true,
                ']' => class = false,
                _ => {}
            }
            pattern.push(c);
            if c == '\\' {
                let next = self
                    .peek(0)
                    .ok_or_else(|| SyntaxError::new("an unterminated regular expression"))?;
                pattern.push(next);
                self.at += 1;
            }
        }
        let flags = self.take_while(char::is_alphanumeric);
        self.out.push(Token::Regex(pattern, flags));
        Ok(())
    }

    /// Decimal numbers in the form JavaScript prints them; every other notation is refused.
    fn number(&mut self) -> Result<(), SyntaxError> {
        let text = self.take_while(|c| c.is_alphanumeric() || c == '.' || c == '_');
        let (whole, fraction) = text
            .split_once('.')
            .map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
        let plain = |s: &str| !s.is_empty() && s.len() <= 15 && s.bytes().all(|b| b.is_ascii_digit());
        let canonical_whole = plain(whole) && (whole == "0" || !whole.starts_with('0'));
        let canonical = match fraction {
            None => canonical_whole,
            Some(f) => {
                canonical_whole
                    && plain(f)
                    && !f.ends_with('0')
                    && whole.len() + f.len() <= 15
                    && !(whole == "0" && f.starts_with("000000"))
            }
        };
        if !canonical {
            return Err(SyntaxError::new(format!("the number {text}")));
        }
        self.out.push(Token::Num(text));
        Ok(())
    }

    fn string(&mut self, quote: char) -> Result<String, SyntaxError> {
        let mut text = Vec::new();
        loop {
            let c = self.peek(0).ok_or_else(|| SyntaxError::new("an unterminated string"))?;
            self.at += 1;
            match c {
                c if c == quote => {
                    return String::from_utf16(&text).map_err(|_| SyntaxError::new("half a surrogate pair"));
                }
                '\n' => return Err(SyntaxError::new("a line break in a string")),
                '\\' => self.escape(&mut text)?,
                c => push(&mut text, c),
            }
        }
    }

    /// One escape sequence after the backslash, as UTF-16 so that surrogate pairs join.
    fn escape(&mut self, out: &mut Vec<u16>) -> Result<(), SyntaxError> {
        let c = self.peek(0).ok_or_else(|| SyntaxError::new("an unterminated escape"))?;
        self.at += 1;
        match c {
            'n' => push(out, '\n'),
            't' => push(out, '\t'),
            'r' => push(out, '\r'),
            'b' => push(out, '\u{8}'),
            'f' => push(out, '\u{c}'),
            'v' => push(out, '\u{b}'),
            '\n' => {}
            '0' if !self.peek(0).is_some_and(|d| d.is_ascii_digit()) => push(out, '\0'),
            '0'..='9' => return Err(SyntaxError::new("an octal escape")),
            'x' => {
                let unit = self.hex(2)?;
                out.push(u16::try_from(unit).map_err(|_| SyntaxError::new("a bad escape"))?);
            }
            'u' if self.peek(0) == Some('{') => {
                self.at += 1;
                let digits = self.take_while(|c| c.is_ascii_hexdigit());
                let c = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                if self.peek(0) != Some('}') {
                    return Err(SyntaxError::new("a bad escape"));
                }
                self.at += 1;
                push(out, c.ok_or_else(|| SyntaxError::new("a bad escape"))?);
            }
            'u' => {
                let unit = self.hex(4)?;
                out.push(u16::try_from(unit).map_err(|_| SyntaxError::new("a bad escape"))?);
            }
            c => push(out, c),
        }
        Ok(())
    }

    fn hex(&mut self, count: usize) -> Result<u32, SyntaxError> {
        let digits: String = self.chars.iter().skip(self.at).take(count).collect();
        self.at += count;
        if digits.len() != count {
            return Err(SyntaxError::new("a bad escape"));
        }
        u32::from_str_radix(&digits, 16).map_err(|_| SyntaxError::new("a bad escape"))
    }

    fn template(&mut self) -> Result<(), SyntaxError> {
        let (mut parts, mut text) = (Vec::new(), Vec::new());
        loop {
            let c = self
                .peek(0)
                .ok_or_else(|| SyntaxError::new("an unterminated template literal"))?;
            self.at += 1;
            match c {
                '`' => break,
                '\\' => self.escape(&mut text)?,
                '$' if self.peek(0) == Some('{') => {
                    self.at += 1;
                    parts.push(TemplatePart::Text(decode(&text)?));
                    text.clear();
                    let inner = self.braced()?;
                    parts.push(TemplatePart::Tokens(nested(&inner, self.comments, self.depth + 1)?));
                }
                c => push(&mut text, c),
            }
        }
        parts.push(TemplatePart::Text(decode(&text)?));
        self.out.push(Token::Template(parts));
        Ok(())
    }

    /// The source up to the brace that closes `${`, strings and nested braces respected.
    fn braced(&mut self) -> Result<String, SyntaxError> {
        let (start, mut depth, mut quote) = (self.at, 0_usize, None);
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match (quote, c) {
                (Some(_), '\\') => self.at += 1,
                (Some(q), c) if q == c => quote = None,
                (None, '"' | '\'' | '`') => quote = Some(c),
                (None, '{') => depth += 1,
                (None, '}') if depth == 0 => return Ok(self.chars[start..self.at - 1].iter().collect()),
                (None, '}') => depth -= 1,
                _ => {}
            }
        }
        Err(SyntaxError::new("an unterminated template literal"))
    }

    fn punctuation(&mut self, c: char) -> Result<(), SyntaxError> {
        let rest: String = self.chars.iter().skip(self.at).take(3).collect();
        let found = PUNCTUATION.iter().find(|p| rest.starts_with(**p));
        let punct = found.ok_or_else(|| SyntaxError::new(format!("the character {c:?}")))?;
        self.at += punct.len();
        self.out.push(Token::Punct(punct));
        Ok(())
    }
}

fn push(out: &mut Vec<u16>, c: char) {
    out.extend_from_slice(c.encode_utf16(&mut [0; 2]));
}

fn decode(units: &[u16]) -> Result<String, SyntaxError> {
    String::from_utf16(units).map_err(|_| SyntaxError::new("half a surrogate pair"))
}
