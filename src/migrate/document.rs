//! YAML texts cut into documents without losing what stands between them.

use serde::Deserialize as _;
use thiserror::Error;

use crate::api::yaml_tree::{self as yaml, Value};

/// Why a text cannot be read.
#[derive(Debug, Error)]
pub enum DocumentError {
    /// One document is not YAML.
    #[error("document {number} is not valid YAML")]
    Syntax {
        /// Counted from 1.
        number: usize,
        /// What the YAML reader said.
        #[source]
        source: yaml::Error,
    },
}

/// One document of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The separator line that stands before it, empty for the first.
    pub separator: String,
    /// Its text, comments included.
    pub text: String,
    /// What it says; null for comments only.
    pub value: Value,
}

/// Cuts a text at its separator lines. Joining separators and texts again gives the same bytes.
///
/// # Errors
///
/// [`DocumentError::Syntax`] for the first document that is not YAML.
pub fn split(text: &str) -> Result<Vec<Document>, DocumentError> {
    let mut parts: Vec<(String, String)> = vec![(String::new(), String::new())];
    for line in text.split_inclusive('\n') {
        if is_separator(line) {
            parts.push((line.to_owned(), String::new()));
        } else if let Some((_, body)) = parts.last_mut() {
            body.push_str(line);
        }
    }
    let mut out = Vec::new();
    for (i, (separator, text)) in parts.into_iter().enumerate() {
        let value = parse(&text).map_err(|source| DocumentError::Syntax { number: i + 1, source })?;
        out.push(Document { separator, text, value });
    }
    Ok(out)
}

/// `---` alone, with a comment, or with trailing blanks. A separator that carries content stays with its document.
fn is_separator(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("---") else {
        return false;
    };
    let rest = rest.trim_end_matches(['\r', '\n']);
    rest.is_empty() || (rest.starts_with([' ', '\t']) && (rest.trim().is_empty() || rest.trim_start().starts_with('#')))
}

fn parse(text: &str) -> Result<Value, yaml::Error> {
    let blank = text
        .lines()
        .all(|l| l.trim().is_empty() || l.trim_start().starts_with('#') || l.starts_with('%') || l.trim_end() == "...");
    if blank {
        return Ok(Value::Null);
    }
    // A separator with content on its line makes several documents of one part; all but the first would be lost.
    let mut documents = yaml::Deserializer::from_str(text);
    let first = documents.next().map_or(Ok(Value::Null), Value::deserialize)?;
    match documents.next() {
        None => merged(first),
        Some(second) => {
            let rest = std::iter::once(second)
                .chain(documents)
                .map(Value::deserialize)
                .collect::<Result<Vec<_>, _>>()?;
            let rest: Vec<Value> = std::iter::once(first).chain(rest).filter(|v| !v.is_null()).collect();
            match rest.as_slice() {
                [only] => merged(only.clone()),
                _ => Err(serde::de::Error::custom(
                    "several documents without a separator line of their own",
                )),
            }
        }
    }
}

/// Merge keys (`<<`) applied.
fn merged(mut value: Value) -> Result<Value, yaml::Error> {
    value.apply_merge()?;
    Ok(value)
}

/// Every value of a text, in order, empty documents left out.
///
/// # Errors
///
/// As [`split`].
pub fn values(text: &str) -> Result<Vec<Value>, DocumentError> {
    Ok(split(text)?
        .into_iter()
        .map(|d| d.value)
        .filter(|v| !v.is_null())
        .collect())
}

/// Separators and texts put together again.
#[must_use]
pub fn join(documents: &[Document]) -> String {
    documents
        .iter()
        .flat_map(|d| [d.separator.as_str(), d.text.as_str()])
        .collect()
}

/// Lines that hold nothing but a comment, at any depth. Lines of block texts can look like comments; those are no
/// comments when the value holds them.
#[must_use]
pub fn comment_lines(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    // Indentation of the line that opened a block text.
    let mut block: Option<usize> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if let Some(opened) = block {
            if line.trim().is_empty() || indent > opened {
                continue;
            }
            block = None;
        }
        let trimmed = line.trim();
        if trimmed.starts_with('#') {
            out.push(line);
        } else if opens_block(trimmed) {
            block = Some(indent);
        }
    }
    out
}

/// True for `key: |`, `- >-` and the like.
fn opens_block(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or(line).trim_end();
    let Some(last) = line.rsplit([' ', ':']).next() else {
        return false;
    };
    last.starts_with(['|', '>']) && last[1..].chars().all(|c| matches!(c, '+' | '-' | '1'..='9'))
}

#[cfg(test)]
mod tests {
    use super::{comment_lines, join, split, values};

    #[test]
    fn joining_gives_the_same_bytes() {
        for text in [
            "",
            "a: 1",
            "# only\n",
            "---\na: 1\n---\nb: 2\n",
            "a: 1\n--- # next\n\n# c\nb: |\n  ---x\n  # text\n",
        ] {
            assert_eq!(join(&split(text).unwrap()), text);
        }
    }

    #[test]
    fn finds_every_document() {
        assert_eq!(values("---\na: 1\n---\n# none\n---\nb: 2\n").unwrap().len(), 2);
        assert!(values("a: [\n").is_err());
        assert!(values("a: 1\n--- b\n").is_err());
    }

    #[test]
    fn block_texts_hold_no_comments() {
        let text = "# head\na: |\n  # not one\n\n  x\n# two\nb: 1 # trailing\n";
        assert_eq!(comment_lines(text), ["# head", "# two"]);
    }
}
