//! The only door to the YAML crate: manifests in, manifests out.

use serde::Deserialize;
use serde_json::{Map, Number, Value};

/// Why a manifest stream cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// The text is no YAML.
    #[error("document {document}, line {line}, column {column}: {message}")]
    Syntax {
        /// Number of the document in the stream, from 1.
        document: usize,
        /// Line in the whole text, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The parser's words.
        message: String,
    },
    /// The text is YAML but has no JSON form (or no position is known).
    #[error("document {document}: {message}")]
    Content {
        /// Number of the document in the stream, from 1.
        document: usize,
        /// What is wrong.
        message: String,
    },
}

/// One document of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Number in the stream, from 1; empty documents count but are left out.
    pub number: usize,
    /// The content.
    pub value: Value,
}

/// Reads a stream of YAML (or JSON) documents; empty ones are left out.
///
/// Keys that are numbers or booleans become text, as kubectl does it; tags are dropped; aliases and `<<` are resolved.
pub fn parse_stream(text: &str) -> Result<Vec<Document>, YamlError> {
    let mut documents = Vec::new();
    for (index, document) in serde_yaml::Deserializer::from_str(text).enumerate() {
        let number = index + 1;
        let mut value = serde_yaml::Value::deserialize(document).map_err(|error| located(number, &error))?;
        value.apply_merge().map_err(|error| located(number, &error))?;
        let value = to_json(value).map_err(|message| YamlError::Content {
            document: number,
            message,
        })?;
        if !value.is_null() {
            documents.push(Document { number, value });
        }
    }
    Ok(documents)
}

/// Reads one value (the first document; nothing at all is `null`). Used where YAML stands inside a field.
pub fn parse_value(text: &str) -> Result<Value, YamlError> {
    Ok(parse_stream(text)?
        .into_iter()
        .next()
        .map_or(Value::Null, |document| document.value))
}

/// Writes one document in block style, without `---`, with a final newline.
///
/// Text that any YAML reader might take for something else (kubectl reads YAML 1.1: `yes`, `1_000`, `12:30:45`, dates) is
/// quoted, and text of several lines keeps its lines; that is why the YAML crate's own writer is not used.
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(members) if !members.is_empty() => write_members(&mut out, members, 0),
        Value::Array(items) if !items.is_empty() => write_items(&mut out, items, 0),
        scalar => {
            write_scalar(&mut out, scalar, 0);
            out.push('\n');
        }
    }
    out
}

/// Writes many documents, each but the first after a `---` line.
pub fn write_stream(values: &[Value]) -> String {
    values.iter().map(write).collect::<Vec<_>>().join("---\n")
}

/// Members at `indent`; the first line is not indented if the cursor already stands there.
fn write_members(out: &mut String, members: &Map<String, Value>, indent: usize) {
    for (key, member) in members {
        start_line(out, indent);
        write_text(out, key, None);
        out.push(':');
        match member {
            Value::Object(inner) if !inner.is_empty() => {
                out.push('\n');
                write_members(out, inner, indent + 2);
            }
            // A list stands at the indent of its key, as kubectl prints it.
            Value::Array(items) if !items.is_empty() => {
                out.push('\n');
                write_items(out, items, indent);
            }
            scalar => {
                out.push(' ');
                write_scalar(out, scalar, indent + 2);
                out.push('\n');
            }
        }
    }
}

fn write_items(out: &mut String, items: &[Value], indent: usize) {
    for item in items {
        start_line(out, indent);
        out.push_str("- ");
        match item {
            Value::Object(inner) if !inner.is_empty() => write_members(out, inner, indent + 2),
            Value::Array(inner) if !inner.is_empty() => write_items(out, inner, indent + 2),
            scalar => {
                write_scalar(out, scalar, indent + 2);
                out.push('\n');
            }
        }
    }
}

fn start_line(out: &mut String, indent: usize) {
    if out.is_empty() || out.ends_with('\n') {
        out.extend(std::iter::repeat_n(' ', indent));
    }
}

fn write_scalar(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(text) => write_text(out, text, Some(indent)),
        Value::Object(_) => out.push_str("{}"),
        Value::Array(_) => out.push_str("[]"),
        other => out.push_str(&other.to_string()),
    }
}

/// `block_indent` is where the lines of a block text would stand; `None` where none may (keys).
fn write_text(out: &mut String, text: &str, block_indent: Option<usize>) {
    let printable = |c: char| (' '..='~').contains(&c) || ('\u{a1}'..='\u{d7ff}').contains(&c) && !c.is_whitespace();
    if let Some(indent) = block_indent.filter(|_| is_block_text(text, printable)) {
        write_block(out, text, indent);
    } else if is_plain(text) {
        out.push_str(text);
    } else if text.chars().all(printable) {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    } else {
        write_double_quoted(out, text, printable);
    }
}

/// Lines of printable text, none ending in a blank, the first not beginning with one.
fn is_block_text(text: &str, printable: impl Fn(char) -> bool) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    text.contains('\n')
        && !body.is_empty()
        && !text.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && text.lines().all(|line| !line.ends_with(' '))
        && text.chars().all(|c| c == '\n' || printable(c))
}

fn write_block(out: &mut String, text: &str, indent: usize) {
    out.push_str(if text.ends_with('\n') { "|" } else { "|-" });
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(line);
        }
    }
}

fn write_double_quoted(out: &mut String, text: &str, printable: impl Fn(char) -> bool) {
    use std::fmt::Write as _;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if printable(c) => out.push(c),
            c => write!(out, "\\U{:08X}", u32::from(c)).expect("a String takes every write"),
        }
    }
    out.push('"');
}

/// True if every YAML reader takes the bare text for this text.
fn is_plain(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_-./@+=%$*&!?()<>^~|{}[];, :#".contains(c);
    let Some(first) = text.chars().next() else { return false };
    let starts_well = first.is_ascii_alphanumeric() || "_/$(.".contains(first);
    starts_well
        && text.chars().all(inner)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !is_word_of_yaml(text)
        && !looks_like_number(text)
}

fn is_word_of_yaml(text: &str) -> bool {
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
}

/// Numbers of any base, sexagesimal ones, dates and times; a few addresses get quotes they would not need.
fn looks_like_number(text: &str) -> bool {
    let first = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    first
        && text
            .chars()
            .all(|c| c.is_ascii_hexdigit() || "xXoO_.:+-TtZz infINF".contains(c))
}

fn located(document: usize, error: &serde_yaml::Error) -> YamlError {
    match error.location() {
        Some(at) => {
            let message = error.to_string();
            let suffix = format!(" at line {} column {}", at.line(), at.column());
            let message = message.strip_suffix(&suffix).unwrap_or(&message).to_owned();
            YamlError::Syntax {
                document,
                line: at.line(),
                column: at.column(),
                message,
            }
        }
        None => YamlError::Content {
            document,
            message: error.to_string(),
        },
    }
}

fn to_json(value: serde_yaml::Value) -> Result<Value, String> {
    Ok(match value {
        serde_yaml::Value::Null => Value::Null,
        serde_yaml::Value::Bool(flag) => Value::Bool(flag),
        serde_yaml::Value::Number(number) => Value::Number(number_to_json(&number)?),
        serde_yaml::Value::String(text) => Value::String(text),
        serde_yaml::Value::Sequence(items) => Value::Array(items.into_iter().map(to_json).collect::<Result<_, _>>()?),
        serde_yaml::Value::Mapping(members) => {
            let mut out = Map::new();
            for (key, member) in members {
                let key = key_text(key)?;
                if out.contains_key(&key) {
                    return Err(format!("key {key:?} is there twice"));
                }
                out.insert(key, to_json(member)?);
            }
            Value::Object(out)
        }
        serde_yaml::Value::Tagged(tagged) => to_json(tagged.value)?,
    })
}

fn key_text(key: serde_yaml::Value) -> Result<String, String> {
    match key {
        serde_yaml::Value::String(text) => Ok(text),
        serde_yaml::Value::Number(number) => Ok(number.to_string()),
        serde_yaml::Value::Bool(flag) => Ok(flag.to_string()),
        serde_yaml::Value::Null => Ok("null".to_owned()),
        serde_yaml::Value::Tagged(tagged) => key_text(tagged.value),
        serde_yaml::Value::Sequence(_) | serde_yaml::Value::Mapping(_) => Err("a key is a list or a map".to_owned()),
    }
}

fn number_to_json(number: &serde_yaml::Number) -> Result<Number, String> {
    if let Some(integer) = number.as_i64() {
        return Ok(integer.into());
    }
    if let Some(integer) = number.as_u64() {
        return Ok(integer.into());
    }
    number
        .as_f64()
        .and_then(Number::from_f64)
        .ok_or_else(|| format!("number {number} has no JSON form"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{YamlError, parse_stream, parse_value, write, write_stream};

    #[test]
    fn counts_documents_and_skips_empty_ones() {
        let documents = parse_stream("# nothing\n---\na: 1\n---\n---\nb: {c: [x, 2.5, true, null]}\n").unwrap();
        let seen: Vec<_> = documents
            .iter()
            .map(|document| (document.number, document.value.clone()))
            .collect();
        assert_eq!(seen.last().unwrap().1, json!({"b": {"c": ["x", 2.5, true, null]}}));
        assert_eq!(
            seen.iter().find(|(_, value)| value.get("a").is_some()).unwrap().1,
            json!({"a": 1})
        );
        assert_eq!(seen.len(), 2);
    }

    #[test]
    fn says_where_a_document_is_broken() {
        let error = parse_stream("a: 1\n---\nb: [\n").unwrap_err();
        assert!(matches!(error, YamlError::Syntax { document: 2, .. }), "{error}");
        assert!(error.to_string().starts_with("document 2, line "), "{error}");
    }

    #[test]
    fn keys_become_text_and_twins_are_refused() {
        assert_eq!(parse_value("1: a\ntrue: b\n").unwrap(), json!({"1": "a", "true": "b"}));
        assert!(parse_value("1: a\n\"1\": b\n").is_err());
        assert!(parse_value("a: 1\na: 2\n").is_err());
    }

    #[test]
    fn resolves_merges() {
        assert_eq!(
            parse_value("x: &x {a: 1}\ny:\n  <<: *x\n  b: 2\n").unwrap()["y"],
            json!({"a": 1, "b": 2})
        );
    }

    #[test]
    fn writes_block_style_that_reads_back() {
        let value = json!({"spec": {"text": "line one\nline two\n", "list": ["a", "yes", "0755", "1e3", "2020-01-01", "no", "~", ""]}});
        let text = write(&value);
        assert!(text.contains("  text: |\n    line one\n    line two\n"), "{text}");
        assert_eq!(parse_value(&text).unwrap(), value);
        assert_eq!(parse_stream(&write_stream(&[value.clone(), value])).unwrap().len(), 2);
    }

    #[test]
    fn prints_as_kubectl_does() {
        let value = json!({"kind": "Role", "rules": [{"apiGroups": [""], "verbs": ["get", "list"]}, {}], "spec": {}, "none": [], "deep": [[1, [2]], null]});
        let text = "deep:\n- - 1\n  - - 2\n- null\nkind: Role\nnone: []\nrules:\n- apiGroups:\n  - ''\n  verbs:\n  - get\n  - list\n- {}\nspec: {}\n";
        assert_eq!(write(&value), text);
        assert_eq!(parse_value(text).unwrap(), value);
    }

    #[test]
    fn text_that_old_readers_misread_is_quoted() {
        for text in [
            "yes",
            "No",
            "on",
            "y",
            "0755",
            "1_000",
            "12:30:45",
            "2020-01-01",
            "0x1F",
            "~",
            "=",
            "<<",
            ".5",
            "-1",
            ".inf",
            "NaN",
            "null",
            "",
            "-",
            "a: b",
            "a #b",
            "x ",
            "*a",
            "&a",
        ] {
            let written = write(&json!({"k": text}));
            assert!(written.starts_with("k: '"), "{written}");
            assert_eq!(parse_value(&written).unwrap(), json!({"k": text}));
        }
        for text in [
            "1h0m0s",
            "external-secrets.io/v1",
            "{{ .a }}x",
            "a\tb",
            "\u{2028}",
            " a\nb",
            "a \nb\n",
            "a\n\n",
            "\n",
            "é\nb",
            "tail\n\nx\n",
            "\u{7f}",
            "a'b",
            "it's: x",
            "\u{1f600}",
        ] {
            assert_eq!(
                parse_value(&write(&json!({"k": [text]}))).unwrap(),
                json!({"k": [text]}),
                "{text:?}"
            );
        }
    }
}
