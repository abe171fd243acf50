//! JSON as Go's encoder writes it: sorted keys, HTML characters escaped, doubles in Go's shortest form.
//!
//! Hashes and size limits of Fleet are taken over this text, so another encoder will not do.
use serde_json::Value;

use super::names;

/// SHA-256 (lower-case hex) of a bundle's resources: `status.resourcesSha256Sum`, and the base of the
/// Content object's name. `resources` is the list as it stands in the bundle, encodings included.
#[must_use]
pub fn resources_sha256(resources: &[Value]) -> String {
    let mut out = String::from("{");
    if !resources.is_empty() {
        out.push_str("\"resources\":[");
        for (at, resource) in resources.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            resource_json(resource, &mut out);
        }
        out.push(']');
    }
    out.push_str("}\n");
    names::sha256_hex(out.as_bytes())
}

/// Struct order, not key order: name, content, encoding.
fn resource_json(resource: &Value, out: &mut String) {
    out.push('{');
    let mut first = true;
    for key in ["name", "content", "encoding"] {
        let Some(text) = resource
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
        else {
            continue;
        };
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        string(key, out);
        out.push(':');
        string(text, out);
    }
    out.push('}');
}

/// The text of a value.
#[must_use]
pub fn encode(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(value) => out.push_str(&double(value)),
            None => out.push_str(&number.to_string()),
        },
        Value::String(text) => string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (at, (key, item)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                string(key, out);
                out.push(':');
                write(item, out);
            }
            out.push('}');
        }
    }
}

/// `%f` between 1e-6 and 1e21, `%e` beyond, with Go's two-digit exponents for the large ones.
fn double(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-6..1e21).contains(&size) {
        return format!("{value}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) if !exponent.starts_with('-') => format!("{mantissa}e+{exponent:0>2}"),
        Some((mantissa, exponent)) => format!("{mantissa}e-{}", &exponent[1..]),
        None => text,
    }
}

fn string(text: &str, out: &mut String) {
    use std::fmt::Write as _;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
