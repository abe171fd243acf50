//! The syntax check `encoding/json` makes before it decodes, with its error texts.

use super::JsonError;

/// Levels of nesting Go allows.
const MAX_DEPTH: usize = 10_000;

/// Checks that `json` is one JSON value with nothing but space round it.
///
/// # Errors
/// Go's texts, such as `invalid character 'x' looking for beginning of value` and `unexpected end of JSON input`.
pub fn validate(json: &[u8]) -> Result<(), JsonError> {
    Scanner {
        json,
        at: 0,
        open: Vec::new(),
    }
    .run()
}

struct Scanner<'j> {
    json: &'j [u8],
    at: usize,
    /// The brackets we are inside of.
    open: Vec<u8>,
}

impl Scanner<'_> {
    fn run(&mut self) -> Result<(), JsonError> {
        self.begin_value()?;
        while let Some(&bracket) = self.open.last() {
            let c = self.next_token()?;
            match (bracket, c) {
                (b'{', b'}') | (b'[', b']') => {
                    self.open.pop();
                }
                (b'{', b',') => {
                    self.key(b' ')?;
                    self.begin_value()?;
                }
                (b'[', b',') => self.begin_value()?,
                (b'{', c) => return Err(invalid(c, "after object key:value pair")),
                (_, c) => return Err(invalid(c, "after array element")),
            }
        }
        self.skip_space();
        match self.json.get(self.at) {
            None => Ok(()),
            Some(c) => Err(invalid(*c, "after top-level value")),
        }
    }

    /// One value, up to its end or, for an array or object, up to the end of its first element.
    fn begin_value(&mut self) -> Result<(), JsonError> {
        loop {
            let c = self.next_token()?;
            match c {
                b'{' => {
                    self.push(c)?;
                    if self.key(b'}')? {
                        continue;
                    }
                }
                b'[' => {
                    self.push(c)?;
                    if !self.take_token(b']') {
                        continue;
                    }
                }
                b'"' => return self.string(),
                b'-' | b'0'..=b'9' => return self.number(c),
                b't' => return self.literal("true"),
                b'f' => return self.literal("false"),
                b'n' => return self.literal("null"),
                c => return Err(invalid(c, "looking for beginning of value")),
            }
            // an empty array or object
            self.open.pop();
            return Ok(());
        }
    }

    fn push(&mut self, bracket: u8) -> Result<(), JsonError> {
        self.open.push(bracket);
        if self.open.len() > MAX_DEPTH {
            Err(invalid(bracket, "exceeded max depth"))
        } else {
            Ok(())
        }
    }

    /// A member's name and its colon; false if the object ends instead, where `end` is `}`.
    fn key(&mut self, end: u8) -> Result<bool, JsonError> {
        match self.next_token()? {
            b'"' => {}
            c if c == end => return Ok(false),
            c => return Err(invalid(c, "looking for beginning of object key string")),
        }
        self.string()?;
        match self.next_token()? {
            b':' => Ok(true),
            c => Err(invalid(c, "after object key")),
        }
    }

    /// The rest of a string behind its opening quote.
    fn string(&mut self) -> Result<(), JsonError> {
        loop {
            match self.json.get(self.at) {
                None => return Err(end()),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.string_escape()?;
                }
                Some(c @ 0..=0x1f) => return Err(invalid(*c, "in string literal")),
                Some(_) => self.at += 1,
            }
        }
    }

    fn string_escape(&mut self) -> Result<(), JsonError> {
        match self.next_or_space() {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => {
                for _ in 0..4 {
                    let c = self.next_or_space();
                    if !c.is_ascii_hexdigit() {
                        return Err(invalid(c, "in \\u hexadecimal character escape"));
                    }
                }
                Ok(())
            }
            c => Err(invalid(c, "in string escape code")),
        }
    }

    /// The rest of a number behind its first character.
    fn number(&mut self, first: u8) -> Result<(), JsonError> {
        let first = if first == b'-' { self.next_or_space() } else { first };
        match first {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            c => return Err(invalid(c, "in numeric literal")),
        }
        if self.take(b".") {
            self.some_digits("after decimal point in numeric literal")?;
        }
        if self.take(b"eE") {
            self.take(b"+-");
            self.some_digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.take(b"0123456789") {}
    }

    fn some_digits(&mut self, context: &str) -> Result<(), JsonError> {
        let c = self.next_or_space();
        if !c.is_ascii_digit() {
            return Err(invalid(c, context));
        }
        self.digits();
        Ok(())
    }

    /// The rest of a literal behind its first character.
    fn literal(&mut self, word: &str) -> Result<(), JsonError> {
        for expected in word.bytes().skip(1) {
            let c = self.next_or_space();
            if c != expected {
                return Err(invalid(
                    c,
                    &format!("in literal {word} (expecting '{}')", char::from(expected)),
                ));
            }
        }
        Ok(())
    }

    fn skip_space(&mut self) {
        while self.take(b" \t\r\n") {}
    }

    fn take(&mut self, any_of: &[u8]) -> bool {
        let found = self.json.get(self.at).is_some_and(|c| any_of.contains(c));
        self.at += usize::from(found);
        found
    }

    fn take_token(&mut self, c: u8) -> bool {
        self.skip_space();
        self.take(&[c])
    }

    fn next_token(&mut self) -> Result<u8, JsonError> {
        self.skip_space();
        let c = *self.json.get(self.at).ok_or_else(end)?;
        self.at += 1;
        Ok(c)
    }

    /// The next byte inside a token. At the end of the text Go probes with a space, and the space is in its error.
    fn next_or_space(&mut self) -> u8 {
        let c = self.json.get(self.at).copied().unwrap_or(b' ');
        self.at += 1;
        c
    }
}

fn end() -> JsonError {
    JsonError::Syntax("unexpected end of JSON input".to_owned())
}

fn invalid(c: u8, context: &str) -> JsonError {
    JsonError::Syntax(format!("invalid character {} {context}", quote(c)))
}

/// A byte as Go shows it, read as a Latin-1 character.
fn quote(c: u8) -> String {
    match c {
        b'\'' => r"'\''".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        7 => r"'\a'".to_owned(),
        8 => r"'\b'".to_owned(),
        9 => r"'\t'".to_owned(),
        10 => r"'\n'".to_owned(),
        11 => r"'\v'".to_owned(),
        12 => r"'\f'".to_owned(),
        13 => r"'\r'".to_owned(),
        0..=0x1f | 0x7f => format!(r"'\x{c:02x}'"),
        0x80..=0xa0 | 0xad => format!(r"'\u{c:04x}'"),
        _ => format!("'{}'", char::from(c)),
    }
}
