//! One operand in one verb: padding, signs, bases, and Go's marks for a verb that does not fit.

use super::{float, quote};
use crate::template::engine::failure::Failure;
use crate::template::engine::utf8;
use crate::template::engine::value::Value;

/// Longest text one call may print.
const MAX_TEXT: usize = 32 << 20;
/// Deepest nesting that is printed; values may contain themselves.
const MAX_DEPTH: usize = 500;

/// The flags of one verb.
#[derive(Clone, Copy, Default)]
pub(super) struct Flags {
    pub width: Option<usize>,
    pub precision: Option<usize>,
    pub minus: bool,
    pub plus: bool,
    pub sharp: bool,
    pub space: bool,
    pub zero: bool,
    /// `%+v`
    pub plus_v: bool,
    /// `%#v`
    pub sharp_v: bool,
}

/// Collects the text.
#[derive(Default)]
pub(super) struct Printer {
    pub out: Vec<u8>,
    pub flags: Flags,
    trouble: Option<Failure>,
    erroring: bool,
}

impl Printer {
    /// The text.
    ///
    /// # Errors
    /// It is too long, or the value nested too deeply.
    pub fn finish(self) -> Result<Vec<u8>, Failure> {
        match self.trouble {
            Some(failure) => Err(failure),
            None => Ok(self.out),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        if self.out.len() + bytes.len() > MAX_TEXT {
            self.trouble = Some(Failure::limit(format!("printed value is larger than {} MiB", MAX_TEXT >> 20)));
        } else if self.trouble.is_none() {
            self.out.extend_from_slice(bytes);
        }
    }

    fn write_padding(&mut self, count: usize) {
        let byte = if self.flags.zero && !self.flags.minus { b"0" } else { b" " };
        if self.out.len() + count > MAX_TEXT {
            self.write(&vec![byte[0]; MAX_TEXT + 1]);
        } else if self.trouble.is_none() {
            self.out.resize(self.out.len() + count, byte[0]);
        }
    }

    fn pad(&mut self, text: &[u8]) {
        let padding = self.flags.width.map_or(0, |width| width.saturating_sub(utf8::count(text)));
        if padding > 0 && !self.flags.minus {
            self.write_padding(padding);
        }
        self.write(text);
        if padding > 0 && self.flags.minus {
            self.write_padding(padding);
        }
    }

    fn pad_blank(&mut self, text: &[u8]) {
        let zero = std::mem::replace(&mut self.flags.zero, false);
        self.pad(text);
        self.flags.zero = zero;
    }

    fn bad_verb(&mut self, verb: char, value: &Value) {
        self.erroring = true;
        self.write(b"%!");
        self.write(verb.to_string().as_bytes());
        self.write(b"(");
        if value.is_nil() {
            self.write(b"<nil>");
        } else {
            self.write(value.type_name().as_bytes());
            self.write(b"=");
            self.print(value, 'v', 0);
        }
        self.write(b")");
        self.erroring = false;
    }

    /// Prints a value; `depth` counts the lists and maps around it.
    pub fn print(&mut self, value: &Value, verb: char, depth: usize) {
        if depth > MAX_DEPTH {
            self.trouble = Some(Failure::limit(format!("value is nested more than {MAX_DEPTH} levels deep")));
        }
        if self.trouble.is_some() {
            return;
        }
        if verb == 'T' && depth == 0 {
            return self.text(value.type_name().as_bytes(), 's', value);
        }
        match value {
            Value::Nil | Value::NilAny => self.nil(verb, depth, value),
            Value::Bool(flag) if matches!(verb, 't' | 'v') => self.pad(if *flag { b"true" } else { b"false" }),
            Value::Int(n) | Value::Int64(n) => self.integer(n.unsigned_abs(), *n < 0, true, verb, value),
            Value::Uint8(n) => self.integer(u64::from(*n), false, false, verb, value),
            Value::Uint32(n) => self.integer(u64::from(*n), false, false, verb, value),
            Value::Uint64(n) => self.integer(*n, false, false, verb, value),
            Value::Float(n) => self.float(*n, verb, value),
            Value::Complex(real, imaginary) => self.complex(*real, *imaginary, verb, value),
            Value::Str(text) | Value::HashAlgorithm(text) => self.text(text, verb, value),
            Value::Bool(_) => self.bad_verb(verb, value),
            _ => self.composite(value, verb, depth),
        }
    }

    fn nil(&mut self, verb: char, depth: usize, value: &Value) {
        if depth > 0 {
            self.write(if self.flags.sharp_v { b"interface {}(nil)" } else { b"<nil>" });
        } else if verb == 'v' {
            self.pad(b"<nil>");
        } else {
            self.bad_verb(verb, value);
        }
    }

    /// Types with a `String` method print it, unless an error mark is being written.
    fn composite(&mut self, value: &Value, verb: char, depth: usize) {
        if verb == 'w' && !self.erroring {
            return self.bad_verb(verb, value);
        }
        if matches!(verb, 'v' | 's' | 'x' | 'X' | 'q')
            && !self.flags.sharp_v
            && !self.erroring
            && let Some(text) = super::text_form(value)
        {
            return self.text(text.as_bytes(), verb, value);
        }
        match value {
            Value::Duration(n) | Value::Month(n) | Value::Weekday(n) => {
                self.integer(n.unsigned_abs(), *n < 0, true, verb, value);
            }
            Value::Bytes(bytes) => self.bytes(bytes, verb, value, depth),
            Value::Certificate(certificate) => {
                let fields = [("Cert", Value::Str(certificate.cert.clone())), ("Key", Value::Str(certificate.key.clone()))];
                self.structure(value.type_name(), &fields, verb, depth);
            }
            Value::Map(_) | Value::StrMap(_) => self.map(value, verb, depth),
            Value::List(_) | Value::Chunks(_) | Value::Strings(_) | Value::Ints(_) => self.list(value, verb, depth),
            _ => {
                let text = super::text_form(value).unwrap_or_default();
                self.write(text.as_bytes());
            }
        }
    }

    fn structure(&mut self, name: &str, fields: &[(&str, Value)], verb: char, depth: usize) {
        if self.flags.sharp_v {
            self.write(name.as_bytes());
        }
        self.write(b"{");
        for (at, (field, value)) in fields.iter().enumerate() {
            self.separator(at);
            if self.flags.plus_v || self.flags.sharp_v {
                self.write(field.as_bytes());
                self.write(b":");
            }
            self.print(value, verb, depth + 1);
        }
        self.write(b"}");
    }

    fn separator(&mut self, at: usize) {
        if at > 0 {
            self.write(if self.flags.sharp_v { b", " } else { b" " });
        }
    }

    fn map(&mut self, value: &Value, verb: char, depth: usize) {
        let (entries, is_nil) = match value {
            Value::Map(map) => (map.entries(), map.is_nil()),
            Value::StrMap(map) => (map.iter().map(|(k, v)| (k.clone(), Value::Str(v.clone()))).collect(), false),
            _ => (Vec::new(), false),
        };
        if self.flags.sharp_v {
            self.write(value.type_name().as_bytes());
            if is_nil {
                return self.write(b"(nil)");
            }
            self.write(b"{");
        } else {
            self.write(b"map[");
        }
        for (at, (key, value)) in entries.iter().enumerate() {
            self.separator(at);
            self.print(&Value::Str(key.clone()), verb, depth + 1);
            self.write(b":");
            self.print(value, verb, depth + 1);
        }
        self.write(if self.flags.sharp_v { b"}" } else { b"]" });
    }

    fn list(&mut self, value: &Value, verb: char, depth: usize) {
        let (items, is_nil) = super::elements(value);
        if self.flags.sharp_v {
            self.write(value.type_name().as_bytes());
            if is_nil {
                return self.write(b"(nil)");
            }
        }
        self.write(if self.flags.sharp_v { b"{" } else { b"[" });
        for (at, item) in items.iter().enumerate() {
            self.separator(at);
            self.print(item, verb, depth + 1);
        }
        self.write(if self.flags.sharp_v { b"}" } else { b"]" });
    }

    fn bytes(&mut self, bytes: &[u8], verb: char, value: &Value, depth: usize) {
        if !matches!(verb, 'v' | 'd') {
            return self.text(bytes, verb, value);
        }
        self.write(if self.flags.sharp_v { b"[]byte{" } else { b"[" });
        for (at, byte) in bytes.iter().enumerate() {
            self.separator(at);
            self.print(&Value::Uint8(*byte), verb, depth + 1);
        }
        self.write(if self.flags.sharp_v { b"}" } else { b"]" });
    }

    // ----- text

    fn text(&mut self, text: &[u8], verb: char, value: &Value) {
        match verb {
            'v' if self.flags.sharp_v => self.quoted(text),
            'v' | 's' => {
                let cut = self.truncated(text);
                self.pad(cut);
            }
            'q' => self.quoted(text),
            'x' => self.hex(text, b"0123456789abcdefx"),
            'X' => self.hex(text, b"0123456789ABCDEFX"),
            _ => self.bad_verb(verb, value),
        }
    }

    fn truncated<'b>(&self, text: &'b [u8]) -> &'b [u8] {
        match self.flags.precision {
            Some(count) => utf8::chars(text).nth(count).map_or(text, |found| &text[..found.offset]),
            None => text,
        }
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        let mut shown = Vec::with_capacity(text.len() + 2);
        if self.flags.sharp && quote::can_backquote(text) {
            shown.push(b'`');
            shown.extend_from_slice(text);
            shown.push(b'`');
        } else {
            let plain = if self.flags.plus { quote::Plain::Ascii } else { quote::Plain::Printable };
            quote::quote_into(&mut shown, text, '"', plain);
        }
        self.pad(&shown);
    }

    fn hex(&mut self, text: &[u8], digits: &[u8; 17]) {
        let text = &text[..self.flags.precision.unwrap_or(usize::MAX).min(text.len())];
        if text.is_empty() {
            return self.write_padding(self.flags.width.unwrap_or(0));
        }
        let mut shown = Vec::with_capacity(text.len() * 2);
        for (at, byte) in text.iter().enumerate() {
            if self.flags.space && at > 0 {
                shown.push(b' ');
            }
            if self.flags.sharp && (at == 0 || self.flags.space) {
                shown.extend_from_slice(&[b'0', digits[16]]);
            }
            shown.extend_from_slice(&[digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
        }
        self.pad(&shown);
    }

    // ----- numbers

    fn integer(&mut self, magnitude: u64, negative: bool, signed: bool, verb: char, value: &Value) {
        let text = match verb {
            'v' if self.flags.sharp_v && !signed => {
                let sharp = std::mem::replace(&mut self.flags.sharp, true);
                self.digits(&format!("{magnitude:x}"), negative, verb, "0x");
                self.flags.sharp = sharp;
                return;
            }
            'v' | 'd' => format!("{magnitude}"),
            'b' => format!("{magnitude:b}"),
            'o' | 'O' => format!("{magnitude:o}"),
            'x' => format!("{magnitude:x}"),
            'X' => format!("{magnitude:X}"),
            'c' | 'q' | 'U' => return self.code_point(if negative { magnitude.wrapping_neg() } else { magnitude }, verb),
            _ => return self.bad_verb(verb, value),
        };
        let prefix = match verb {
            'b' => "0b",
            'x' => "0x",
            'X' => "0X",
            'o' | 'O' => "0",
            _ => "",
        };
        self.digits(&text, negative, verb, prefix);
    }

    /// Digits with leading zeros, base prefix and sign.
    fn digits(&mut self, text: &str, negative: bool, verb: char, prefix: &str) {
        let flags = self.flags;
        let signed = negative || flags.plus || flags.space;
        let least = match (flags.precision, flags.width) {
            (Some(0), width) if text == "0" => {
                let zero = std::mem::replace(&mut self.flags.zero, false);
                self.write_padding(width.unwrap_or(0));
                self.flags.zero = zero;
                return;
            }
            (Some(precision), _) => precision,
            (None, Some(width)) if flags.zero && !flags.minus => width.saturating_sub(usize::from(signed)),
            _ => 0,
        };
        let mut body = Vec::with_capacity(text.len() + 4);
        body.resize(least.saturating_sub(text.len()), b'0');
        body.extend_from_slice(text.as_bytes());
        let mut shown = Vec::with_capacity(body.len() + 4);
        match (negative, flags.plus, flags.space) {
            (true, ..) => shown.push(b'-'),
            (false, true, _) => shown.push(b'+'),
            (false, false, true) => shown.push(b' '),
            _ => {}
        }
        if verb == 'O' {
            shown.extend_from_slice(b"0o");
        }
        if flags.sharp && !(prefix == "0" && body.first() == Some(&b'0')) {
            shown.extend_from_slice(prefix.as_bytes());
        }
        shown.append(&mut body);
        self.pad_blank(&shown);
    }

    fn code_point(&mut self, code: u64, verb: char) {
        let character = u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(utf8::REPLACEMENT);
        let mut shown = Vec::new();
        match verb {
            'c' => utf8::push(&mut shown, character),
            'q' => {
                let plain = if self.flags.plus { quote::Plain::Ascii } else { quote::Plain::Printable };
                quote::quote_char(&mut shown, character, plain);
            }
            _ => {
                let least = self.flags.precision.unwrap_or(4).max(4);
                let digits = format!("{code:X}");
                shown.extend_from_slice(b"U+");
                shown.resize(2 + least.saturating_sub(digits.len()), b'0');
                shown.extend_from_slice(digits.as_bytes());
                let known = u32::try_from(code).ok().and_then(char::from_u32);
                if let Some(c) = known.filter(|&c| self.flags.sharp && utf8::is_print(c)) {
                    shown.extend_from_slice(format!(" '{c}'").as_bytes());
                }
                return self.pad_blank(&shown);
            }
        }
        self.pad(&shown);
    }

    fn float(&mut self, number: f64, verb: char, value: &Value) {
        match verb {
            'v' => self.float_text(number, b'g', None),
            'e' | 'E' => self.float_text(number, verb as u8, Some(6)),
            'f' | 'F' => self.float_text(number, b'f', Some(6)),
            'g' | 'G' | 'b' | 'x' | 'X' => self.float_text(number, verb as u8, None),
            _ => self.bad_verb(verb, value),
        }
    }

    fn float_text(&mut self, number: f64, verb: u8, precision: Option<usize>) {
        let flags = self.flags;
        let precision = flags.precision.or(precision);
        let text = float::format_float(number, verb, precision);
        let (sign, body) = match text.split_first() {
            Some((&sign @ (b'-' | b'+'), body)) => (sign, body.to_vec()),
            _ => (b'+', text),
        };
        let sign = if flags.space && sign == b'+' && !flags.plus { b' ' } else { sign };
        let show_sign = flags.plus || sign != b'+';
        if body[0] == b'I' || body[0] == b'N' {
            let mut shown = body.clone();
            if show_sign && !(body[0] == b'N' && !flags.space && !flags.plus) {
                shown.insert(0, sign);
            }
            return self.pad_blank(&shown);
        }
        let body = if flags.sharp && verb != b'b' { super::with_point(body, verb, precision) } else { body };
        let width = flags.width.unwrap_or(0);
        if show_sign && flags.zero && !flags.minus && width > body.len() + 1 {
            self.write(&[sign]);
            self.write_padding(width - body.len() - 1);
            return self.write(&body);
        }
        let mut shown = body;
        if show_sign {
            shown.insert(0, sign);
        }
        self.pad(&shown);
    }

    fn complex(&mut self, real: f64, imaginary: f64, verb: char, value: &Value) {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return self.bad_verb(verb, value);
        }
        let plus = self.flags.plus;
        self.write(b"(");
        self.float(real, verb, value);
        self.flags.plus = true;
        self.float(imaginary, verb, value);
        self.write(b"i)");
        self.flags.plus = plus;
    }
}
