//! `fmt.Sprintf`: reads the format. Nothing here fails; bad use is printed, as Go does.

use super::printer::{Flags, Printer};
use crate::template::engine::failure::Failure;
use crate::template::engine::utf8;
use crate::template::engine::value::Value;

/// Largest width or precision that an argument may ask for.
const MAX_NUMBER: i64 = 1_000_000;

/// `fmt.Sprintf(format, values...)`
///
/// # Errors
/// The text is too long, or a value nested too deeply.
pub fn sprintf(format: &[u8], values: &[Value]) -> Result<Vec<u8>, Failure> {
    let mut reader = Reader { format, at: 0, values, next: 0, reordered: false, good: true, printer: Printer::default() };
    reader.run();
    reader.printer.finish()
}

struct Reader<'a> {
    format: &'a [u8],
    at: usize,
    values: &'a [Value],
    next: usize,
    reordered: bool,
    good: bool,
    printer: Printer,
}

impl Reader<'_> {
    fn run(&mut self) {
        while self.at < self.format.len() {
            let rest = &self.format[self.at..];
            let plain = memchr::memchr(b'%', rest).unwrap_or(rest.len());
            self.printer.write(&rest[..plain]);
            self.at += plain + 1;
            if plain == rest.len() {
                break;
            }
            if !self.directive() {
                break;
            }
        }
        if !self.reordered && self.next < self.values.len() {
            self.extra();
        }
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// One `%…`; false when the format ends inside it.
    fn directive(&mut self) -> bool {
        self.good = true;
        self.read_flags();
        let mut after_index = self.argument_index();
        self.read_width(&mut after_index);
        self.read_precision(&mut after_index);
        if !after_index {
            self.argument_index();
        }
        if self.at >= self.format.len() {
            self.printer.write(b"%!(NOVERB)");
            return false;
        }
        let (verb, width) = utf8::decode(&self.format[self.at..]);
        self.at += width;
        self.verb(verb);
        true
    }

    fn verb(&mut self, verb: char) {
        let trouble = match verb {
            '%' => return self.printer.write(b"%"),
            _ if !self.good => "(BADINDEX)",
            _ if self.next >= self.values.len() => "(MISSING)",
            _ => "",
        };
        if !trouble.is_empty() {
            return self.printer.write(format!("%!{verb}{trouble}").as_bytes());
        }
        if matches!(verb, 'v' | 'w') {
            let flags = &mut self.printer.flags;
            flags.sharp_v = std::mem::take(&mut flags.sharp);
            flags.plus_v = std::mem::take(&mut flags.plus);
        }
        let value = self.values[self.next].clone();
        self.printer.print(&value, verb, 0);
        self.next += 1;
    }

    fn read_flags(&mut self) {
        let mut flags = Flags::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => break,
            }
            self.at += 1;
        }
        self.printer.flags = flags;
    }

    /// `[n]`: which operand comes next.
    fn argument_index(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let Some(close) = rest.iter().position(|&byte| byte == b']').filter(|_| rest.len() >= 3) else {
            self.good = false;
            self.at += 1;
            return false;
        };
        let number = parse_number(&rest[1..close]);
        self.at += close + 1;
        match number {
            Some(n) if n >= 1 && n <= self.values.len() => {
                self.next = n - 1;
                true
            }
            Some(_) => {
                self.good = false;
                true
            }
            None => {
                self.good = false;
                false
            }
        }
    }

    fn read_width(&mut self, after_index: &mut bool) {
        if self.peek() == Some(b'*') {
            self.at += 1;
            let width = self.integer_argument();
            if width.is_none() {
                self.printer.write(b"%!(BADWIDTH)");
            }
            let flags = &mut self.printer.flags;
            if width.is_some_and(|width| width < 0) {
                flags.minus = true;
                flags.zero = false;
            }
            flags.width = width.map(|width| usize::try_from(width.unsigned_abs()).unwrap_or(0));
            *after_index = false;
            return;
        }
        self.printer.flags.width = self.number();
        if *after_index && self.printer.flags.width.is_some() {
            self.good = false;
        }
    }

    fn read_precision(&mut self, after_index: &mut bool) {
        if self.peek() != Some(b'.') || self.at + 1 >= self.format.len() {
            return;
        }
        self.at += 1;
        if *after_index {
            self.good = false;
        }
        *after_index = self.argument_index();
        if self.peek() == Some(b'*') {
            self.at += 1;
            let precision = self.integer_argument();
            self.printer.flags.precision = precision.and_then(|precision| usize::try_from(precision).ok());
            if self.printer.flags.precision.is_none() {
                self.printer.write(b"%!(BADPREC)");
            }
            *after_index = false;
            return;
        }
        self.printer.flags.precision = Some(self.number().unwrap_or(0));
    }

    /// Digits in the format. A number that is far too large swallows the rest, as in Go.
    fn number(&mut self) -> Option<usize> {
        let mut number: Option<i64> = None;
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            let so_far = number.unwrap_or(0);
            if so_far > MAX_NUMBER {
                self.at = self.format.len();
                return None;
            }
            number = Some(so_far * 10 + i64::from(byte - b'0'));
            self.at += 1;
        }
        number.and_then(|number| usize::try_from(number).ok())
    }

    fn integer_argument(&mut self) -> Option<i64> {
        let value = self.values.get(self.next)?;
        self.next += 1;
        let number = match value {
            Value::Int(n) | Value::Int64(n) | Value::Duration(n) | Value::Month(n) | Value::Weekday(n) => *n,
            Value::Uint8(n) => i64::from(*n),
            Value::Uint32(n) => i64::from(*n),
            Value::Uint64(n) => i64::try_from(*n).ok()?,
            _ => return None,
        };
        (number.abs() <= MAX_NUMBER).then_some(number)
    }

    fn extra(&mut self) {
        self.printer.flags = Flags::default();
        self.printer.write(b"%!(EXTRA ");
        for (at, value) in self.values[self.next..].iter().enumerate() {
            if at > 0 {
                self.printer.write(b", ");
            }
            if value.is_nil() {
                self.printer.write(b"<nil>");
            } else {
                self.printer.write(value.type_name().as_bytes());
                self.printer.write(b"=");
                self.printer.print(value, 'v', 0);
            }
        }
        self.printer.write(b")");
    }
}

fn parse_number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 7 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}
