//! JSON, read and written as Go's `encoding/json` does.

use std::collections::BTreeMap;

use super::{Env, ParamType as P, Row, arg, encoding};
use crate::lang::gojson::{self, Escape, write_float, write_string};
use crate::template::engine::failure::Failure;
use crate::template::engine::value::{Map, Str, Value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("fromJson", &[P::String], |_, args| Ok(decode(arg::bytes(args, 0)).unwrap_or(Value::Nil))),
    Row::new("mustFromJson", &[P::String], |_, args| decode(arg::bytes(args, 0))),
    Row::new("toJson", &[P::Any], |env, args| or_empty(env, args, true, false)),
    Row::new("mustToJson", &[P::Any], |_, args| Ok(Value::str(written(&args[0], true, false)?))),
    Row::new("toPrettyJson", &[P::Any], |env, args| or_empty(env, args, true, true)),
    Row::new("mustToPrettyJson", &[P::Any], |_, args| Ok(Value::str(written(&args[0], true, true)?))),
    Row::new("toRawJson", &[P::Any], |_, args| Ok(Value::str(written(&args[0], false, false)?))),
    Row::new("mustToRawJson", &[P::Any], |_, args| Ok(Value::str(written(&args[0], false, false)?))),
];

/// Longest JSON text one call may write.
const MAX_TEXT: usize = 32 << 20;
/// Deepest nesting that is written; values may contain themselves.
const MAX_DEPTH: usize = 500;

fn or_empty(_: &mut Env<'_>, args: &[Value], html: bool, pretty: bool) -> Result<Value, Failure> {
    match written(&args[0], html, pretty) {
        Err(failure) if !failure.is_limit() => Ok(Value::str("")),
        other => other.map(Value::str),
    }
}

/// The value of a JSON text; numbers are floats.
///
/// # Errors
/// Go's message for a text that is not JSON.
pub fn decode(text: &[u8]) -> Result<Value, Failure> {
    match gojson::parse(text) {
        Ok(value) => Ok(convert(value)),
        Err(error) => Err(Failure::with_data(error.to_string(), "invalid JSON")),
    }
}

/// The parser has bounded the nesting.
fn convert(value: gojson::Value) -> Value {
    match value {
        gojson::Value::Null => Value::Nil,
        gojson::Value::Bool(flag) => Value::Bool(flag),
        gojson::Value::Number(number) => Value::Float(number),
        gojson::Value::NumberText(text) => Value::str(text.as_str()),
        gojson::Value::String(text) => Value::str(text.as_str()),
        gojson::Value::Array(items) => Value::list(items.into_iter().map(convert).collect()),
        gojson::Value::Object(members) => {
            let entries: BTreeMap<Str, Value> =
                members.into_iter().map(|(key, value)| (Str::from(key), convert(value))).collect();
            Value::Map(Map::from_entries(entries))
        }
    }
}

/// JSON text of a value, in one line.
///
/// # Errors
/// The value has no JSON form, is nested too deeply, or too large.
pub fn encode(value: &Value, html_escape: bool) -> Result<Vec<u8>, Failure> {
    written(value, html_escape, false)
}

fn written(value: &Value, html: bool, pretty: bool) -> Result<Vec<u8>, Failure> {
    let escape = if html { Escape::Html } else { Escape::Plain };
    let mut writer = Writer { out: Vec::new(), escape, pretty };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct Writer {
    out: Vec<u8>,
    escape: Escape,
    pretty: bool,
}

impl Writer {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), Failure> {
        if depth > MAX_DEPTH {
            return Err(Failure::limit(format!("value is nested more than {MAX_DEPTH} levels deep")));
        }
        if self.out.len() > MAX_TEXT {
            return Err(Failure::limit(format!("JSON text is larger than {} MiB", MAX_TEXT >> 20)));
        }
        match value {
            Value::Nil | Value::NilAny => self.word("null"),
            Value::Bool(flag) => self.word(if *flag { "true" } else { "false" }),
            Value::Int(n) | Value::Int64(n) | Value::Duration(n) | Value::Month(n) | Value::Weekday(n) => {
                self.word(&n.to_string());
            }
            Value::Uint8(n) => self.word(&n.to_string()),
            Value::Uint32(n) => self.word(&n.to_string()),
            Value::Uint64(n) => self.word(&n.to_string()),
            Value::Float(n) => self.float(*n)?,
            Value::Complex(..) => return Err(Failure::new("json: unsupported type: complex128")),
            Value::Str(text) | Value::HashAlgorithm(text) => write_string(&mut self.out, text, self.escape),
            Value::Bytes(bytes) => write_string(&mut self.out, &encoding::base64_encode(bytes), self.escape),
            Value::Time(time) => write_string(&mut self.out, &time.format(b"2006-01-02T15:04:05.999999999Z07:00"), self.escape),
            Value::Semver(version) | Value::SemverValue(version) => {
                write_string(&mut self.out, version.to_string().as_bytes(), self.escape);
            }
            Value::Location(_) => self.word("{}"),
            Value::Certificate(certificate) => {
                let members = [("Cert", &certificate.cert), ("Key", &certificate.key)]
                    .map(|(name, text)| (Str::from(name), Value::Str(text.clone())));
                self.members(members.into_iter(), depth)?;
            }
            Value::Map(map) if map.is_nil() => self.word("null"),
            Value::Map(map) => self.members(map.entries().into_iter(), depth)?,
            Value::StrMap(map) => {
                let members = map.iter().map(|(key, text)| (key.clone(), Value::Str(text.clone())));
                self.members(members, depth)?;
            }
            Value::List(list) if list.is_nil() => self.word("null"),
            Value::List(list) | Value::Chunks(list) => self.items(list.iter().cloned(), depth)?,
            Value::Strings(list) if list.is_nil() => self.word("null"),
            Value::Strings(list) => self.items(list.to_vec().into_iter().map(Value::Str), depth)?,
            Value::Ints(list) => self.items(list.iter().copied().map(Value::Int), depth)?,
        }
        Ok(())
    }

    fn word(&mut self, word: &str) {
        self.out.extend_from_slice(word.as_bytes());
    }

    fn float(&mut self, number: f64) -> Result<(), Failure> {
        if number.is_finite() {
            write_float(&mut self.out, number);
            return Ok(());
        }
        let shown = if number.is_nan() { "NaN" } else if number > 0.0 { "+Inf" } else { "-Inf" };
        Err(Failure::new(format!("json: unsupported value: {shown}")))
    }

    fn break_line(&mut self, depth: usize) {
        if self.pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + 2 * depth, b' ');
        }
    }

    fn members(&mut self, members: impl Iterator<Item = (Str, Value)>, depth: usize) -> Result<(), Failure> {
        self.out.push(b'{');
        let mut any = false;
        for (key, value) in members {
            if any {
                self.out.push(b',');
            }
            any = true;
            self.break_line(depth + 1);
            write_string(&mut self.out, &key, self.escape);
            self.out.push(b':');
            if self.pretty {
                self.out.push(b' ');
            }
            self.value(&value, depth + 1)?;
        }
        if any {
            self.break_line(depth);
        }
        self.out.push(b'}');
        Ok(())
    }

    fn items(&mut self, items: impl Iterator<Item = Value>, depth: usize) -> Result<(), Failure> {
        self.out.push(b'[');
        let mut any = false;
        for value in items {
            if any {
                self.out.push(b',');
            }
            any = true;
            self.break_line(depth + 1);
            self.value(&value, depth + 1)?;
        }
        if any {
            self.break_line(depth);
        }
        self.out.push(b']');
        Ok(())
    }
}
