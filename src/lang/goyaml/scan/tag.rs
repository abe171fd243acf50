//! Tags and directives.

use super::super::YamlError;
use super::super::source::{Mark, is_blank, is_blank_break_or_end, is_break_or_end, is_word};
use super::{Kind, Scanner};

impl Scanner<'_> {
    pub(super) fn fetch_directive(&mut self) -> Result<(), YamlError> {
        self.unroll_indent(-1);
        self.remove_key()?;
        self.key_allowed = false;
        let start = self.source.mark;
        self.source.skip();
        let name = self.take_word()?;
        if name.is_empty() {
            return Err(self.error(start, "could not find expected directive name"));
        }
        if !is_blank_break_or_end(self.source.peek(0)) {
            return Err(self.error(start, "found unexpected non-alphabetical character"));
        }
        let kind = match name.as_str() {
            "YAML" => self.scan_version(start)?,
            "TAG" => self.scan_tag_directive(start)?,
            _ => return Err(self.error(start, "found unknown directive name")),
        };
        self.push(kind, start);
        self.skip_blanks()?;
        if self.source.peek(0) == '#' {
            self.skip_to_break()?;
        }
        if !is_break_or_end(self.source.peek(0)) {
            return Err(self.error(start, "did not find expected comment or line break"));
        }
        self.source.ensure(2)?;
        self.source.take_break();
        Ok(())
    }

    fn scan_version(&mut self, start: Mark) -> Result<Kind, YamlError> {
        self.skip_blanks()?;
        let major = self.scan_version_number(start)?;
        if self.source.peek(0) != '.' {
            return Err(self.error(start, "did not find expected digit or '.' character"));
        }
        self.source.skip();
        let minor = self.scan_version_number(start)?;
        Ok(Kind::VersionDirective { major, minor })
    }

    fn scan_version_number(&mut self, start: Mark) -> Result<u32, YamlError> {
        const LONGEST: usize = 9;
        let (mut value, mut length) = (0, 0);
        self.source.ensure(1)?;
        while let Some(digit) = self.source.peek(0).to_digit(10) {
            length += 1;
            if length > LONGEST {
                return Err(self.error(start, "found extremely long version number"));
            }
            value = value * 10 + digit;
            self.source.skip();
            self.source.ensure(1)?;
        }
        if length == 0 {
            Err(self.error(start, "did not find expected version number"))
        } else {
            Ok(value)
        }
    }

    fn scan_tag_directive(&mut self, start: Mark) -> Result<Kind, YamlError> {
        self.skip_blanks()?;
        let handle = self.scan_tag_handle(true, start)?;
        if !is_blank(self.source.peek(0)) {
            return Err(self.error(start, "did not find expected whitespace"));
        }
        self.skip_blanks()?;
        let prefix = self.scan_tag_uri("", start)?;
        if !is_blank_break_or_end(self.source.peek(0)) {
            return Err(self.error(start, "did not find expected whitespace or line break"));
        }
        Ok(Kind::TagDirective { handle, prefix })
    }

    pub(super) fn fetch_tag(&mut self) -> Result<(), YamlError> {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.source.mark;
        self.source.ensure(2)?;
        let (handle, suffix) = if self.source.peek(1) == '<' {
            self.source.skip_many(2);
            let suffix = self.scan_tag_uri("", start)?;
            if self.source.peek(0) != '>' {
                return Err(self.error(start, "did not find the expected '>'"));
            }
            self.source.skip();
            (String::new(), suffix)
        } else {
            let handle = self.scan_tag_handle(false, start)?;
            if handle.len() > 1 && handle.ends_with('!') {
                let suffix = self.scan_tag_uri("", start)?;
                (handle, suffix)
            } else {
                match self.scan_tag_uri(&handle, start)? {
                    // The lone `!` is a tag of its own.
                    suffix if suffix.is_empty() => (String::new(), "!".to_owned()),
                    suffix => ("!".to_owned(), suffix),
                }
            }
        };
        self.source.ensure(1)?;
        if !is_blank_break_or_end(self.source.peek(0)) {
            return Err(self.error(start, "did not find expected whitespace or line break"));
        }
        self.push(Kind::Tag { handle, suffix }, start);
        Ok(())
    }

    fn scan_tag_handle(&mut self, directive: bool, start: Mark) -> Result<String, YamlError> {
        self.source.ensure(1)?;
        if self.source.peek(0) != '!' {
            return Err(self.error(start, "did not find expected '!'"));
        }
        let mut handle = String::from(self.source.take());
        handle.push_str(&self.take_word()?);
        if self.source.peek(0) == '!' {
            handle.push(self.source.take());
        } else if directive && handle != "!" {
            return Err(self.error(start, "did not find expected '!'"));
        }
        Ok(handle)
    }

    /// Reads the rest of a tag; `head` is what was read for its handle and belongs to it.
    fn scan_tag_uri(&mut self, head: &str, start: Mark) -> Result<String, YamlError> {
        let mut bytes: Vec<u8> = head.bytes().skip(1).collect();
        let mut found = !head.is_empty();
        self.source.ensure(1)?;
        loop {
            match self.source.peek(0) {
                '%' => self.scan_uri_escapes(&mut bytes, start)?,
                c if is_word(c) || ";/?:@&=+$,.!~*'()[]".contains(c) => {
                    // Only ASCII gets here.
                    bytes.push(u8::try_from(self.source.take()).unwrap_or(b'?'));
                }
                _ => break,
            }
            found = true;
            self.source.ensure(1)?;
        }
        if !found {
            return Err(self.error(start, "did not find expected tag URI"));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// `%c3%a9`: the bytes of one character.
    fn scan_uri_escapes(&mut self, bytes: &mut Vec<u8>, start: Mark) -> Result<(), YamlError> {
        let mut left = 1;
        let mut first = true;
        while left > 0 {
            self.source.ensure(3)?;
            let digits = (self.source.peek(1).to_digit(16), self.source.peek(2).to_digit(16));
            let ('%', (Some(high), Some(low))) = (self.source.peek(0), digits) else {
                return Err(self.error(start, "did not find URI escaped octet"));
            };
            let octet = u8::try_from(high * 16 + low).unwrap_or(0);
            if first {
                left = match octet {
                    ..0x80 => 1,
                    _ if octet & 0xe0 == 0xc0 => 2,
                    _ if octet & 0xf0 == 0xe0 => 3,
                    _ if octet & 0xf8 == 0xf0 => 4,
                    _ => return Err(self.error(start, "found an incorrect leading UTF-8 octet")),
                };
                first = false;
            } else if octet & 0xc0 != 0x80 {
                return Err(self.error(start, "found an incorrect trailing UTF-8 octet"));
            }
            bytes.push(octet);
            self.source.skip_many(3);
            left -= 1;
        }
        Ok(())
    }
}
