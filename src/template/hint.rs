//! What to write instead: one line for the faults people make most.

use super::engine::functions::table;
use super::engine::{self, Stage, utf8};

/// Names of other engines and of the operator's first engine, with what they are called here.
const RENAMED: &[(&str, &str)] = &[
    ("base64decode", "b64dec"),
    ("base64encode", "b64enc"),
    ("fromJSON", "fromJson"),
    ("toJSON", "toJson"),
    ("fromYAML", "fromYaml"),
    ("toYAML", "toYaml"),
    ("pkcs12keyPEM", "pkcs12key"),
    ("pkcs12certPEM", "pkcs12cert"),
    ("pemPrivateKey", "filterPEM \"PRIVATE KEY\""),
    ("pemCertificate", "filterPEM \"CERTIFICATE\""),
    ("toLower", "lower"),
    ("toUpper", "upper"),
];

/// A hint for an error of the engine. `keys` are the names of the fetched data.
pub(super) fn for_engine(error: &engine::Error, text: &[u8], keys: &[&str]) -> Option<String> {
    let message = error.message.as_str();
    if error.stage == Stage::Parse {
        return for_syntax(error, text);
    }
    if let Some(key) = quoted_after(message, "map has no entry for key ") {
        return Some(match nearest(&key, keys.iter().copied()) {
            Some(near) => format!("did you mean {}", access(near)),
            None if keys.is_empty() => "no key was fetched".to_owned(),
            None => format!("fetched keys: {}", shortened(keys)),
        });
    }
    if message.contains("expected map[string]interface {}; got map[string]string") {
        return Some("the fetched data is no dict: read a key with index . \"name\", test it with if index . \"name\"".to_owned());
    }
    if message.contains("expected int; got ") {
        return Some("convert the number with (int …)".to_owned());
    }
    if message.contains("expected string; got ") {
        return Some("convert the value with (toString …)".to_owned());
    }
    if message.contains("incompatible types for comparison") {
        return Some("bring both sides to one type, for example eq (toString .a) \"1\"".to_owned());
    }
    if message.contains("nil data; no entry for key") {
        return Some("pass the data on: {{ template \"name\" . }}".to_owned());
    }
    None
}

fn for_syntax(error: &engine::Error, text: &[u8]) -> Option<String> {
    let message = error.message.as_str();
    if message.starts_with("bad character U+002D") {
        return hyphenated(text, error.offset).map(|name| format!("use index . \"{name}\" for a key with a hyphen"));
    }
    if let Some(name) = quoted_between(message, "function ", " not defined") {
        if let Some((_, ours)) = RENAMED.iter().find(|(theirs, _)| *theirs == name) {
            return Some(format!("use {ours}"));
        }
        return nearest(&name, table::names().into_iter()).map(|near| format!("did you mean {near}"));
    }
    if message.starts_with("unclosed action") {
        return Some("close the action with }}".to_owned());
    }
    if message == "unexpected EOF" {
        return Some("an if, range, with, define or block has no {{ end }}".to_owned());
    }
    if message.contains("unexpected \"=\"") {
        return Some("compare with eq, for example eq .a \"x\"".to_owned());
    }
    None
}

/// How a template reads a key: `.name` where the language allows it.
fn access(key: &str) -> String {
    let plain = key.chars().all(|c| c == '_' || c.is_alphanumeric()) && !key.starts_with(|c: char| c.is_ascii_digit());
    if plain { format!(".{key}") } else { format!("index . \"{key}\"") }
}

fn shortened(keys: &[&str]) -> String {
    const SHOWN: usize = 10;
    let mut text = keys.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if keys.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

/// The whole word with hyphens around an offset, without its leading dot.
fn hyphenated(text: &[u8], offset: usize) -> Option<String> {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let before = text.get(..offset)?.iter().rev().take_while(|byte| part(byte)).count();
    let after = text.get(offset..)?.iter().take_while(|byte| part(byte)).count();
    let word = utf8::lossy(&text[offset - before..offset + after]);
    word.strip_prefix('.').filter(|name| !name.is_empty()).map(str::to_owned)
}

fn quoted_after(message: &str, before: &str) -> Option<String> {
    let rest = &message[message.find(before)? + before.len()..];
    engine::format::quote::unquote(rest.as_bytes()).map(|text| utf8::lossy(&text))
}

fn quoted_between(message: &str, before: &str, after: &str) -> Option<String> {
    let rest = message.strip_prefix(before)?.strip_suffix(after)?;
    engine::format::quote::unquote(rest.as_bytes()).map(|text| utf8::lossy(&text))
}

/// The most similar name, if one is similar enough.
fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = 1 + wanted.chars().count() / 4;
    names
        .map(|name| (distance(&wanted.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, name)| name)
}

/// Number of single-character edits between two words.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
