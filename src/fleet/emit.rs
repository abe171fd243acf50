//! Objects → YAML that YAML 1.1 and 1.2 readers take for the same values: kubectl reads by the older
//! rules, where a bare `yes` or `1_000` is no text.
use serde_json::Value;

use super::{gojson, yaml11};

/// Several objects as one stream of documents.
#[must_use]
pub fn stream(objects: &[Value]) -> String {
    objects.iter().map(document).collect::<Vec<_>>().join("---\n")
}

/// One object, keys in byte order.
#[must_use]
pub fn document(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => mapping(map, 0, &mut out),
        Value::Array(items) if !items.is_empty() => sequence(items, 0, &mut out),
        other => {
            inline(other, 0, &mut out);
        }
    }
    out
}

fn mapping(map: &serde_json::Map<String, Value>, indent: usize, out: &mut String) {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_unstable_by(|a, b| a.0.cmp(b.0));
    for (at, (key, value)) in entries.into_iter().enumerate() {
        if at > 0 || !out.ends_with("- ") {
            pad(indent, out);
        }
        out.push_str(&scalar_text(key));
        out.push(':');
        child(value, indent, out);
    }
}

fn child(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            mapping(map, indent + 2, out);
        }
        // Lists stand at the indent of their key, as kubectl prints them.
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            sequence(items, indent, out);
        }
        other => {
            out.push(' ');
            inline(other, indent, out);
        }
    }
}

fn sequence(items: &[Value], indent: usize, out: &mut String) {
    for item in items {
        pad(indent, out);
        out.push_str("- ");
        match item {
            Value::Object(map) if !map.is_empty() => mapping(map, indent + 2, out),
            other => inline(other, indent, out),
        }
    }
}

fn inline(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::String(text) if is_block(text) => block(text, indent + 2, out),
        Value::String(text) => {
            out.push_str(&scalar_text(text));
            out.push('\n');
        }
        other => {
            out.push_str(&gojson::encode(other));
            out.push('\n');
        }
    }
}

fn pad(indent: usize, out: &mut String) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Text of several lines that a literal block carries without loss.
fn is_block(text: &str) -> bool {
    text.trim_end_matches('\n').contains('\n')
        && !text.starts_with([' ', '\n', '\t'])
        && text.chars().all(|c| c == '\n' || c == '\t' || is_printable(c))
}

fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{10000}'..)
}

fn block(text: &str, indent: usize, out: &mut String) {
    let body = text.trim_end_matches('\n');
    out.push_str(match text.len() - body.len() {
        0 => "|-\n",
        1 => "|\n",
        _ => "|+\n",
    });
    let kept = if text.len() - body.len() > 1 {
        &text[..text.len() - 1]
    } else {
        body
    };
    for line in kept.split('\n') {
        if !line.is_empty() {
            pad(indent, out);
            out.push_str(line);
        }
        out.push('\n');
    }
}

/// Plain where every reader agrees that it is this text, else a JSON string.
fn scalar_text(text: &str) -> String {
    let safe_first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '_' || c == '.');
    let safe = text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-_./ +=,@()~^".contains(&b));
    let word = matches!(
        text.to_ascii_lowercase().as_str(),
        "yes" | "no" | "on" | "off" | "y" | "n" | "true" | "false" | "null" | ".inf" | ".nan"
    );
    let resolved = yaml11::resolve(text, None);
    if safe_first && safe && !word && !text.ends_with(' ') && resolved == Some(yaml11::Scalar::Text(text.to_owned())) {
        text.to_owned()
    } else {
        gojson::encode(&Value::String(text.to_owned()))
    }
}
