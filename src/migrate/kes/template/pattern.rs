//! JavaScript regular expressions and replacement texts → RE2, as Go reads it.

use crate::migrate::kes::js::parser::SyntaxError;

/// A regular expression in Go's syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// RE2 text.
    pub text: String,
    /// The text it matches, when it is one text.
    pub literal: Option<String>,
    /// Number of capture groups.
    pub groups: usize,
    /// True for flag `g`.
    pub global: bool,
}

/// Puts a backslash before every character RE2 gives a meaning.
#[must_use]
pub fn quote_meta(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn unsupported(what: &str) -> SyntaxError {
    SyntaxError::new(what)
}

/// Converts a literal. Secrets in KES templates are 7-bit text, so classes only have to agree there.
///
/// # Errors
///
/// Look-around, back-references, flags `u`, `v`, `y`, `d`, and patterns that match the empty text with flag `g`
/// (the two engines step over those differently).
pub fn convert(pattern: &str, flags: &str) -> Result<Pattern, SyntaxError> {
    let (mut prefix, mut global) = (String::new(), false);
    for flag in flags.chars() {
        match flag {
            'g' => global = true,
            'i' | 'm' | 's' => prefix.push(flag),
            _ => return Err(unsupported("this regular expression flag")),
        }
    }
    let dot_all = prefix.contains('s');
    let mut reader = Reader {
        chars: pattern.chars().collect(),
        at: 0,
        out: String::new(),
        groups: 0,
        dot_all,
        literal: Some(String::new()),
    };
    reader.run()?;
    let text = if prefix.is_empty() {
        reader.out
    } else {
        format!("(?{prefix}){}", reader.out)
    };
    let parsed = regex_syntax::parse(&text).map_err(|_| unsupported("this regular expression"))?;
    if parsed.properties().minimum_len() == Some(0) {
        return Err(unsupported("a regular expression that matches the empty text"));
    }
    let literal = reader.literal.filter(|l| prefix.is_empty() && !l.is_empty());
    Ok(Pattern {
        text,
        literal,
        groups: reader.groups,
        global,
    })
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    out: String,
    groups: usize,
    dot_all: bool,
    literal: Option<String>,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn run(&mut self) -> Result<(), SyntaxError> {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.group()?,
                '.' => {
                    self.literal = None;
                    self.out.push_str(if self.dot_all { "." } else { r"[^\n\r]" });
                }
                '^' | '$' | '*' | '+' | '?' | ')' | '|' | '{' | '}' => {
                    self.literal = None;
                    self.out.push(c);
                }
                c => self.literal_char(c),
            }
        }
        Ok(())
    }

    fn literal_char(&mut self, c: char) {
        if let Some(l) = &mut self.literal {
            l.push(c);
        }
        self.out.push_str(&quote_meta(&c.to_string()));
    }

    fn group(&mut self) -> Result<(), SyntaxError> {
        self.literal = None;
        self.out.push('(');
        if self.peek(0) != Some('?') {
            self.groups += 1;
            return Ok(());
        }
        if self.peek(1) != Some(':') {
            return Err(unsupported("look-around or a named group in a regular expression"));
        }
        self.out.push_str("?:");
        self.at += 2;
        Ok(())
    }

    fn escape(&mut self, in_class: bool) -> Result<(), SyntaxError> {
        let c = self.peek(0).ok_or_else(|| unsupported("this regular expression"))?;
        self.at += 1;
        let text = match (c, in_class) {
            ('d' | 'D' | 'w' | 'W' | 'n' | 'r' | 't' | 'f' | 'v', _) | ('b' | 'B', false) => format!("\\{c}"),
            ('s', false) => r"[\s\v]".to_owned(),
            ('S', false) => r"[^\s\v]".to_owned(),
            ('s', true) => r"\s\v".to_owned(),
            ('x', _) => self.code(2)?,
            ('u', _) => self.code(4)?,
            (c, _) if c.is_alphanumeric() => {
                return Err(unsupported("a back-reference or this escape in a regular expression"));
            }
            (c, false) => {
                self.literal_char(c);
                return Ok(());
            }
            (c, true) => escaped_in_class(c),
        };
        self.literal = None;
        self.out.push_str(&text);
        Ok(())
    }

    fn code(&mut self, digits: usize) -> Result<String, SyntaxError> {
        let hex: String = self.chars.iter().skip(self.at).take(digits).collect();
        self.at += digits;
        let valid = hex.len() == digits && u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32).is_some();
        if valid {
            Ok(format!("\\x{{{hex}}}"))
        } else {
            Err(unsupported("this escape in a regular expression"))
        }
    }

    fn class(&mut self) -> Result<(), SyntaxError> {
        self.literal = None;
        self.out.push('[');
        if self.peek(0) == Some('^') {
            self.at += 1;
            self.out.push('^');
        }
        if self.peek(0) == Some(']') {
            return Err(unsupported("an empty class in a regular expression"));
        }
        loop {
            let c = self.peek(0).ok_or_else(|| unsupported("this regular expression"))?;
            self.at += 1;
            match c {
                ']' => {
                    self.out.push(']');
                    return Ok(());
                }
                '\\' => self.escape(true)?,
                '-' => self.out.push('-'),
                c => self.out.push_str(&escaped_in_class(c)),
            }
        }
    }
}

fn escaped_in_class(c: char) -> String {
    if matches!(c, '[' | ']' | '\\' | '^' | '-' | '&' | '~') {
        format!("\\{c}")
    } else {
        c.to_string()
    }
}

/// What stands for a match in a replacement text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text.
    Text(String),
    /// The whole match or a group.
    Group(usize),
}

/// Reads `$$`, `$&` and `$n` of a JavaScript replacement text.
///
/// # Errors
///
/// The parts before and after the match, and named groups.
pub fn replacement(text: &str, groups: usize) -> Result<Vec<Piece>, SyntaxError> {
    let (mut out, mut plain) = (Vec::new(), String::new());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let mut chars = rest.chars();
        match chars.next() {
            Some('$') => plain.push('$'),
            Some('&') => {
                out.push(Piece::Text(std::mem::take(&mut plain)));
                out.push(Piece::Group(0));
            }
            Some('`' | '\'' | '<') => return Err(unsupported("this form of a replacement text")),
            Some(d @ '0'..='9') => {
                let second = chars.next().filter(char::is_ascii_digit);
                let (number, length) = group_number(d, second, groups);
                let Some(number) = number else {
                    plain.push('$');
                    continue;
                };
                out.push(Piece::Text(std::mem::take(&mut plain)));
                out.push(Piece::Group(number));
                rest = &rest[length..];
                continue;
            }
            _ => {
                plain.push('$');
                continue;
            }
        }
        rest = &rest[1..];
    }
    plain.push_str(rest);
    out.push(Piece::Text(plain));
    Ok(out)
}

/// Two digits name a group when it exists, else one digit, else the text stays.
fn group_number(first: char, second: Option<char>, groups: usize) -> (Option<usize>, usize) {
    let digit = |c: char| c.to_digit(10).map_or(0, |d| d as usize);
    if let Some(second) = second {
        let two = digit(first) * 10 + digit(second);
        if (1..=groups).contains(&two) {
            return (Some(two), 2);
        }
    }
    let one = digit(first);
    ((1..=groups).contains(&one).then_some(one), 1)
}

/// A replacement text in Go's syntax; `shift` is the number of groups put before the pattern.
#[must_use]
pub fn go_replacement(pieces: &[Piece], shift: usize) -> String {
    pieces
        .iter()
        .map(|piece| match piece {
            Piece::Text(t) => t.replace('$', "$$"),
            Piece::Group(n) => format!("${{{}}}", n + shift),
        })
        .collect()
}
