//! Pieces of Go templates: quoting, and expressions that know their form and what they hold.

use std::fmt::Write as _;

/// What a Go expression holds while the template runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// An integer of any width.
    Int,
    /// A fraction written in the template.
    Float,
    /// A boolean.
    Bool,
    /// Anything JSON can hold; numbers are floats.
    Json,
    /// A list of strings.
    TextList,
    /// All fetched keys.
    Root,
}

/// How an expression may be used without parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As argument and before `.field`.
    Atom,
    /// At the start of a pipeline.
    Pipeline,
}

/// A Go expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Go {
    /// Text.
    pub text: String,
    /// Whether it needs parentheses.
    pub form: Form,
    /// What it holds.
    pub kind: Kind,
    /// Where its JSON comes from, for [`super::Shapes`].
    pub path: Option<String>,
    /// Its value when it is a constant text.
    pub constant: Option<String>,
}

impl Go {
    /// Something that can stand as an argument.
    pub fn atom(text: impl Into<String>, kind: Kind) -> Self {
        Self {
            text: text.into(),
            form: Form::Atom,
            kind,
            path: None,
            constant: None,
        }
    }

    /// A call or a pipeline.
    pub fn pipeline(text: impl Into<String>, kind: Kind) -> Self {
        Self {
            form: Form::Pipeline,
            ..Self::atom(text, kind)
        }
    }

    /// A constant text.
    pub fn constant(text: &str) -> Self {
        Self {
            constant: Some(text.to_owned()),
            ..Self::atom(quote(text), Kind::Text)
        }
    }

    /// The same expression with a known origin.
    #[must_use]
    pub fn at(mut self, path: Option<String>) -> Self {
        self.path = path;
        self
    }

    /// The text as an argument.
    #[must_use]
    pub fn operand(&self) -> String {
        match self.form {
            Form::Atom => self.text.clone(),
            Form::Pipeline => format!("({})", self.text),
        }
    }

    /// The expression handed to a function as its last argument.
    #[must_use]
    pub fn pipe(&self, function: &str, kind: Kind) -> Self {
        Self::pipeline(format!("{} | {function}", self.text), kind)
    }

    /// One field or list element below; `path` grows with it.
    #[must_use]
    pub fn below(&self, step: &str) -> Option<String> {
        self.path.as_ref().map(|p| format!("{p}{step}"))
    }
}

/// A Go string literal.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || c == '\u{feff}' => _ = write!(out, "\\u{:04x}", u32::from(c)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Text that a Go template prints as it stands.
#[must_use]
pub fn literal_text(text: &str) -> String {
    text.replace("{{", r#"{{ "{{" }}"#)
}

/// As [`literal_text`], for a text that an action follows: a last lone brace would join the action's braces.
#[must_use]
pub fn literal_before_action(text: &str) -> String {
    let escaped = literal_text(text);
    match escaped.strip_suffix('{') {
        Some(head) => format!(r#"{head}{{{{ "{{" }}}}"#),
        None => escaped,
    }
}

/// True when `.name` is a field in Go's language.
#[must_use]
pub fn is_field(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
