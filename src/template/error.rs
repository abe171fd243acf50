//! Why nothing was rendered, where, and what to do about it.

use std::fmt;

use super::engine;
use super::hint;

/// Where a template text was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `template.data`
    Data,
    /// `template.metadata.labels`
    Label,
    /// `template.metadata.annotations`
    Annotation,
    /// An item of the ConfigMap of that name.
    ConfigMap(String),
    /// An item of the Secret of that name. Its text counts as secret.
    Secret(String),
    /// The `literal` of the entry of `templateFrom` with that index.
    Literal(usize),
    /// `rewrite.transform.template`
    Transform,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data => f.write_str("template.data"),
            Self::Label => f.write_str("template.metadata.labels"),
            Self::Annotation => f.write_str("template.metadata.annotations"),
            Self::ConfigMap(name) => write!(f, "configmap {name}"),
            Self::Secret(name) => write!(f, "secret {name}"),
            Self::Literal(index) => write!(f, "template.templateFrom[{index}].literal"),
            Self::Transform => f.write_str("rewrite.transform.template"),
        }
    }
}

/// Rendering failed; nothing may be written.
///
/// Every field, and what `Display` and `Debug` show, is free of fetched values and of text from Secrets. The
/// operator's own text is behind [`TemplateError::go_text`].
#[derive(Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// Where the template was written down, if one template is to blame.
    pub origin: Option<Origin>,
    /// The key the template belongs to; `None` for a literal.
    pub key: Option<String>,
    /// The line of the fault in that template, from 1.
    pub line: Option<usize>,
    /// The column of the fault, in characters from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write instead, if that can be told.
    pub hint: Option<String>,
    /// True when a limit of the engine is the reason, not the template.
    pub limit: bool,
    go_text: String,
}

impl TemplateError {
    /// An error that no template text is to blame for.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            origin: None,
            key: None,
            line: None,
            column: None,
            message: text.clone(),
            hint: None,
            limit: false,
            go_text: text,
        }
    }

    /// The engine's error on one template. `keys` are the names of the fetched data.
    pub(super) fn of_engine(error: &engine::Error, place: &Place<'_>, text: &[u8], keys: &[&str]) -> Self {
        let step = if error.stage == engine::Stage::Parse { "parse" } else { "execute" };
        let name = engine::utf8::lossy(place.name);
        let hidden = matches!(place.origin, Origin::Secret(_));
        Self {
            origin: Some(place.origin.clone()),
            key: place.key.map(str::to_owned),
            line: Some(error.line),
            column: Some(error.column),
            message: if hidden { without_quotes(&error.message) } else { error.message.clone() },
            hint: if hidden { None } else { hint::for_engine(error, text, keys) },
            limit: error.limit,
            go_text: format!("unable to {step} template at key {name}: {}", error.go_text()),
        }
        .wrapped(&format!("unable to execute template at key {name}: "))
    }

    /// An error about the result of one template.
    pub(super) fn of_result(failure: &engine::Failure, place: &Place<'_>, before: &str, hint: Option<&str>) -> Self {
        Self {
            origin: Some(place.origin.clone()),
            key: place.key.map(str::to_owned),
            hint: hint.map(str::to_owned),
            limit: failure.is_limit(),
            message: format!("{before}{}", failure.redacted()),
            go_text: format!("{before}{}", failure.text()),
            ..Self::plain("")
        }
    }

    /// The same error with another layer of the operator's text in front.
    pub(super) fn wrapped(mut self, before: &str) -> Self {
        self.go_text.insert_str(0, before);
        self
    }

    /// The same error with another text of the operator.
    pub(super) fn with_go_text(self, go_text: String) -> Self {
        Self { go_text, ..self }
    }

    /// The whole text as the operator prints it. It may repeat fetched values: compare it, never show or keep it.
    pub fn go_text(&self) -> &str {
        &self.go_text
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(f, "{origin}")?;
            if let Some(key) = &self.key {
                write!(f, ", key {key}")?;
            }
            if let (Some(line), Some(column)) = (self.line, self.column) {
                write!(f, ", line {line}, column {column}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Debug for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateError")
            .field("origin", &self.origin)
            .field("key", &self.key)
            .field("line", &self.line)
            .field("column", &self.column)
            .field("message", &self.message)
            .field("hint", &self.hint)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for TemplateError {}

/// One template text under the name the engine gives it.
pub(super) struct Place<'a> {
    /// Where it was written down.
    pub origin: Origin,
    /// Its key, for messages.
    pub key: Option<&'a str>,
    /// The name inside the engine: the key, or the whole text of a `KeysAndValues` template.
    pub name: &'a [u8],
}

/// The message without anything quoted in it: a quoted piece may come from the text of a Secret.
fn without_quotes(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut inside = None;
    for c in message.chars() {
        match inside {
            None => {
                out.push(c);
                if matches!(c, '"' | '`' | '<') {
                    inside = Some(if c == '<' { '>' } else { c });
                }
            }
            Some(end) if c == end => {
                out.push('…');
                out.push(c);
                inside = None;
            }
            Some(_) => {}
        }
    }
    match out.split_once("; found ") {
        Some((before, _)) => before.to_owned(),
        None => out,
    }
}
