//! Why a template function failed.

use std::fmt;

/// The error a function returns, or the text Go would have panicked with.
///
/// A failure knows two texts: the one Go prints, and one that is safe to show when the first one repeats
/// a piece of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    text: String,
    masked: Option<String>,
    limit: bool,
}

impl Failure {
    /// A failure whose text says nothing about the data: types, lengths, counts, names.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), masked: None, limit: false }
    }

    /// A failure whose text repeats a value; `masked` is the same message without it.
    pub fn with_data(text: impl Into<String>, masked: impl Into<String>) -> Self {
        Self { text: text.into(), masked: Some(masked.into()), limit: false }
    }

    /// A limit of this engine was reached (memory, output, steps, depth). Go has no such text.
    pub fn limit(text: impl Into<String>) -> Self {
        Self { text: text.into(), masked: None, limit: true }
    }

    /// What Go says when a nil pointer is followed.
    pub fn nil_pointer() -> Self {
        Self::new("runtime error: invalid memory address or nil pointer dereference")
    }

    /// The text as Go prints it; it may repeat a value.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text without any value of the data.
    pub fn redacted(&self) -> &str {
        self.masked.as_deref().unwrap_or(&self.text)
    }

    /// True when a limit of this engine, not the template, is the reason.
    pub fn is_limit(&self) -> bool {
        self.limit
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.redacted())
    }
}

impl std::error::Error for Failure {}
