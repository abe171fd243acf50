//! A compiled template.

use std::collections::BTreeMap;
use std::fmt;

use zeroize::Zeroizing;

use super::ast::Tree;
use super::eval::{ExecError, MissingKey, Run};
use super::format::quote;
use super::functions::Env;
use super::parse;
use super::utf8;
use super::value::{Str, StringMap, Value, release_changed_maps};

/// How a template is read and run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The mark that opens an action; empty means `{{`.
    pub left: String,
    /// The mark that closes an action; empty means `}}`.
    pub right: String,
    /// What an absent key of a map means.
    pub missing_key: MissingKey,
}

impl Default for Options {
    /// What the operator uses: `{{`, `}}`, and an absent key is an error.
    fn default() -> Self {
        Self { left: String::new(), right: String::new(), missing_key: MissingKey::Error }
    }
}

/// A template text ready to run, any number of times, on any thread.
#[derive(Clone, Debug)]
pub struct Template {
    name: Vec<u8>,
    text: Vec<u8>,
    trees: Vec<Tree>,
    missing_key: MissingKey,
    /// The name of the variable that holds the data.
    root: Str,
}

/// Whether a template could not be read or could not be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The text is no template.
    Parse,
    /// The template failed on this data.
    Execute,
}

/// Why a template gave no output, and where.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    /// When it failed.
    pub stage: Stage,
    /// The line of the fault, from 1.
    pub line: usize,
    /// The column of the fault, in characters from 1.
    pub column: usize,
    /// Byte offset of the fault in the template text.
    pub offset: usize,
    /// The function that failed, if one did.
    pub function: Option<String>,
    /// The node that failed, as Go prints it; empty while parsing.
    pub node: String,
    /// What went wrong, without name, place and node, and without any value of the data.
    pub message: String,
    /// True when a limit of this engine is the reason, not the template.
    pub limit: bool,
    go_text: String,
}

impl Error {
    /// The whole text as Go prints it. It may repeat a value of the data: never show or keep it.
    pub fn go_text(&self) -> &str {
        &self.go_text
    }
}

impl fmt::Display for Error {
    /// Without any value of the data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl fmt::Debug for Error {
    /// As [`fmt::Display`]: the full text may repeat a value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl std::error::Error for Error {}

/// Fetched data as the root of a run: a `map[string]string`.
pub fn root_value(data: &BTreeMap<String, Zeroizing<Vec<u8>>>) -> Value {
    let entries = data.iter().map(|(key, bytes)| (Str::from(key.as_str()), Str::from(&bytes[..]))).collect();
    Value::StrMap(StringMap::new(entries))
}

impl Template {
    /// Reads a template text.
    ///
    /// # Errors
    /// The text is no template, or names a function that does not exist.
    pub fn parse(name: &[u8], text: &[u8], options: &Options) -> Result<Self, Error> {
        match parse::parse(name, text, options.left.as_bytes(), options.right.as_bytes()) {
            Ok(trees) => Ok(Self {
                name: name.to_vec(),
                text: text.to_vec(),
                trees,
                missing_key: options.missing_key,
                root: Str::constant(b"$".to_vec()),
            }),
            Err(error) => Err(Error {
                stage: Stage::Parse,
                line: error.line,
                column: column(&text[..error.pos.min(text.len())]),
                offset: error.pos,
                function: None,
                node: String::new(),
                go_text: format!("template: {}:{}: {}", utf8::lossy(name), error.line, error.message),
                message: error.message,
                limit: false,
            }),
        }
    }

    /// Runs the template on `root`, usually a [`root_value`].
    ///
    /// # Errors
    /// The template failed on this data, or a limit was reached. There is no partial output.
    pub fn execute(&self, root: &Value, env: &mut Env<'_>) -> Result<Zeroizing<Vec<u8>>, Error> {
        let main = self.trees.iter().find(|tree| tree.name == self.name);
        let result = match main {
            Some(tree) => Run::new(&self.trees, tree, &self.root, self.missing_key, env).run(root.clone()),
            // The parser always adds a tree under the template's own name.
            None => Ok(Zeroizing::new(Vec::new())),
        };
        release_changed_maps();
        result.map_err(|error| self.located(&error))
    }

    fn located(&self, error: &ExecError) -> Error {
        let before = &self.text[..error.pos.min(self.text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        // Go counts bytes from 0.
        let go_column = before.iter().rev().take_while(|&&byte| byte != b'\n').count();
        let call = error.function.as_ref().map(|name| format!("error calling {name}: ")).unwrap_or_default();
        let place = format!("executing {} at <{}>", quote::quoted(&error.running), error.node);
        let name = utf8::lossy(&self.name);
        Error {
            stage: Stage::Execute,
            line,
            column: column(before),
            offset: before.len(),
            function: error.function.clone(),
            node: error.node.clone(),
            message: format!("{call}{}", error.failure.redacted()),
            limit: error.failure.is_limit(),
            go_text: format!("template: {name}:{line}:{go_column}: {place}: {call}{}", error.failure.text()),
        }
    }
}

/// The column after this text, in characters from 1.
fn column(before: &[u8]) -> usize {
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    1 + utf8::count(&before[start..])
}
