//! Reading JSON as `encoding/json` does: generic values, and members with their source text kept.

use super::{JsonError, Value, validate};
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// Levels of nesting a generic value may have. Go allows 10,000; nothing real comes near either.
const MAX_DEPTH: usize = 1_000;

/// How numbers are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// As 64-bit floats: large integers lose digits, as they do in Go.
    Float,
    /// In the source's spelling (`Decoder.UseNumber`).
    Text,
}

/// The members of an object by name, each with its source text.
pub type RawMembers<'j> = BTreeMap<String, &'j [u8]>;

/// Reads one value (`json.Unmarshal` into an `interface{}`).
///
/// # Errors
/// Go's texts for what is not JSON; a number beyond the range of a 64-bit float.
pub fn parse(json: &[u8]) -> Result<Value, JsonError> {
    parse_with(json, Numbers::Float)
}

/// Reads one value with a choice of how to hold numbers.
///
/// # Errors
/// As [`parse`].
pub fn parse_with(json: &[u8], numbers: Numbers) -> Result<Value, JsonError> {
    validate(json)?;
    let mut reader = Reader {
        json,
        at: 0,
        numbers,
        fault: None,
    };
    let value = reader.value(0)?;
    match reader.fault {
        Some(fault) => Err(fault),
        None => Ok(value),
    }
}

/// Reads an object and keeps its members raw (`json.Unmarshal` into a `map[string]json.RawMessage`). `null` is an
/// object without members; of a repeated member the last is kept.
///
/// # Errors
/// Go's texts for what is not JSON or not an object; `wanted` is Go's name of the type in the latter.
pub fn raw_object<'j>(json: &'j [u8], wanted: &'static str) -> Result<RawMembers<'j>, JsonError> {
    validate(json)?;
    let mut reader = Reader {
        json,
        at: 0,
        numbers: Numbers::Float,
        fault: None,
    };
    let mut members = BTreeMap::new();
    match reader.peek() {
        b'{' => {
            reader.members(|reader, name| {
                members.insert(name, reader.raw());
                Ok(())
            })?;
        }
        b'n' => {}
        _ => {
            return Err(JsonError::Type {
                found: kind(json).to_owned(),
                wanted,
            });
        }
    }
    Ok(members)
}

/// Reads an array and keeps its elements raw. `null` is an array without elements.
///
/// # Errors
/// As [`raw_object`].
pub fn raw_array<'j>(json: &'j [u8], wanted: &'static str) -> Result<Vec<&'j [u8]>, JsonError> {
    validate(json)?;
    let mut reader = Reader {
        json,
        at: 0,
        numbers: Numbers::Float,
        fault: None,
    };
    let mut elements = Vec::new();
    match reader.peek() {
        b'[' => reader.elements(|reader| {
            elements.push(reader.raw());
            Ok(())
        })?,
        b'n' => {}
        _ => {
            return Err(JsonError::Type {
                found: kind(json).to_owned(),
                wanted,
            });
        }
    }
    Ok(elements)
}

/// What a value is, in the words of Go's errors: `object`, `array`, `string`, `number`, `bool`, `null`.
#[must_use]
pub fn kind(json: &[u8]) -> &'static str {
    match json.iter().find(|b| !is_space(**b)) {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "bool",
        Some(b'n') => "null",
        _ => "number",
    }
}

/// The text of a JSON string, quotes included in the input. Broken bytes and lone surrogates become U+FFFD, one each.
///
/// Meant for the source text of a valid string; what follows a closing quote is ignored.
#[must_use]
pub fn decode_string(quoted: &[u8]) -> Zeroizing<String> {
    Reader {
        json: quoted,
        at: 0,
        numbers: Numbers::Float,
        fault: None,
    }
    .string()
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n')
}

/// Walks text that is known to be valid; on anything else it stops early but does not fail.
struct Reader<'j> {
    json: &'j [u8],
    at: usize,
    numbers: Numbers,
    /// The first fault that Go reports only after decoding the rest.
    fault: Option<JsonError>,
}

impl<'j> Reader<'j> {
    /// The first byte of the next token; 0 at the end.
    fn peek(&mut self) -> u8 {
        while self.json.get(self.at).is_some_and(|b| is_space(*b)) {
            self.at += 1;
        }
        self.json.get(self.at).copied().unwrap_or(0)
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::Syntax("exceeded max depth".to_owned()));
        }
        Ok(match self.peek() {
            b'{' => {
                let mut members = BTreeMap::new();
                self.members(|reader, name| {
                    let value = reader.value(depth + 1)?;
                    members.insert(name, value);
                    Ok(())
                })?;
                Value::Object(members)
            }
            b'[' => {
                let mut items = Vec::new();
                self.elements(|reader| {
                    items.push(reader.value(depth + 1)?);
                    Ok(())
                })?;
                Value::Array(items)
            }
            b'"' => Value::String(self.string()),
            b't' => self.literal(4, Value::Bool(true)),
            b'f' => self.literal(5, Value::Bool(false)),
            b'n' => self.literal(4, Value::Null),
            _ => self.number(),
        })
    }

    fn literal(&mut self, width: usize, value: Value) -> Value {
        self.at += width;
        value
    }

    fn members(&mut self, mut each: impl FnMut(&mut Self, String) -> Result<(), JsonError>) -> Result<(), JsonError> {
        self.at += 1;
        while self.peek() == b'"' {
            let name = self.string().to_string();
            self.skip(b':');
            each(self, name)?;
            self.skip(b',');
        }
        self.skip(b'}');
        Ok(())
    }

    fn elements(&mut self, mut each: impl FnMut(&mut Self) -> Result<(), JsonError>) -> Result<(), JsonError> {
        self.at += 1;
        while !matches!(self.peek(), b']' | 0) {
            each(self)?;
            self.skip(b',');
        }
        self.skip(b']');
        Ok(())
    }

    fn skip(&mut self, token: u8) {
        if self.peek() == token {
            self.at += 1;
        }
    }

    /// The source text of the next value.
    fn raw(&mut self) -> &'j [u8] {
        self.peek();
        let (json, start) = (self.json, self.at);
        let mut depth = 0usize;
        while let Some(b) = json.get(self.at) {
            match b {
                b'"' => self.skip_string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b':' if depth > 0 => self.at += 1,
                b if depth > 0 && is_space(*b) => self.at += 1,
                _ => self.skip_scalar(),
            }
            if depth == 0 {
                break;
            }
        }
        &json[start..self.at]
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(b) = self.json.get(self.at) {
            self.at += match b {
                b'"' => break,
                b'\\' => 2,
                _ => 1,
            };
        }
        self.at = (self.at + 1).min(self.json.len());
    }

    /// A number or literal, at least one byte.
    fn skip_scalar(&mut self) {
        self.at += 1;
        let more = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        while self.json.get(self.at).is_some_and(more) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Value {
        let start = self.at;
        self.skip_scalar();
        let text = String::from_utf8_lossy(&self.json[start.min(self.json.len())..self.at.min(self.json.len())]);
        if self.numbers == Numbers::Text {
            return Value::NumberText(Zeroizing::new(text.into_owned()));
        }
        let value: f64 = text.parse().unwrap_or(f64::INFINITY);
        if value.is_infinite() && self.fault.is_none() {
            self.fault = Some(JsonError::Type {
                found: format!("number {text}"),
                wanted: "float64",
            });
        }
        Value::Number(value)
    }

    /// A string, decoded.
    fn string(&mut self) -> Zeroizing<String> {
        let start = self.at + 1;
        self.skip_string();
        let body = self.json.get(start..self.at.saturating_sub(1)).unwrap_or_default();
        // room enough from the start, so that growing leaves no copies behind
        let room = if std::str::from_utf8(body).is_ok() {
            body.len()
        } else {
            body.len() * 3
        };
        let mut out = Zeroizing::new(String::with_capacity(room));
        let mut rest = body;
        while let Some(at) = rest.iter().position(|b| *b == b'\\') {
            push_text(&mut out, &rest[..at]);
            rest = push_escape(&mut out, &rest[at + 1..]);
        }
        push_text(&mut out, rest);
        out
    }
}

fn push_text(out: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}

/// Appends what an escape stands for (`rest` begins behind the backslash) and gives what follows.
fn push_escape<'j>(out: &mut String, rest: &'j [u8]) -> &'j [u8] {
    let Some((kind, rest)) = rest.split_first() else {
        return rest;
    };
    out.push(match kind {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let (unit, rest) = (hex(rest), rest.get(4..).unwrap_or_default());
            let low = if rest.starts_with(br"\u") {
                hex(&rest[2..])
            } else {
                None
            };
            let pair = unit
                .zip(low)
                .and_then(|(high, low)| char::decode_utf16([high, low]).next());
            // two units that make one character
            if let Some(Ok(c)) = pair.filter(|c| c.as_ref().is_ok_and(|c| u32::from(*c) > 0xffff)) {
                out.push(c);
                return &rest[6..];
            }
            out.push(
                unit.and_then(|u| char::from_u32(u.into()))
                    .unwrap_or(char::REPLACEMENT_CHARACTER),
            );
            return rest;
        }
        other => char::from(*other),
    });
    rest
}

fn hex(digits: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(digits.get(..4)?).ok()?;
    u16::from_str_radix(text, 16).ok()
}
