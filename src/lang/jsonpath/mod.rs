//! The JSONPath dialect of the webhook provider: PaesslerAG/jsonpath 0.1 on the expression language gval.
//!
//! A path of direct steps gives the value itself or an error; with any wildcard, slice, union, `..` or filter it gives a
//! list, and misses are dropped. Filters know `==`, `!=`, parentheses, literals and paths. Object members under a
//! wildcard come in the order of their names; Go's order changes from run to run.
//!
//! Errors are the library's, except that text taken from the response is never shown: where the library would print a
//! value, its type is named instead. Beyond the library there are limits on nesting and on the number of matches.

mod eval;
mod parse;
mod scan;

use super::gojson::Value;

/// Levels an expression may nest.
const MAX_DEPTH: usize = 100;
/// Selector steps one evaluation may take.
const MAX_STEPS: u32 = 200_000;

/// A parsed path.
#[derive(Debug)]
pub struct JsonPath {
    expression: Expr,
}

/// Why a path cannot be read or finds nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonPathError(String);

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// The library's text: `parsing error: <path>\t:<line>:<column> - <line>:<column> <fault>`.
    pub fn parse(path: &str) -> Result<Self, JsonPathError> {
        parse::parse(path).map(|expression| Self { expression })
    }

    /// Applies the path to a parsed text.
    ///
    /// # Errors
    /// A direct step that leads nowhere: `unknown key x`, `index 5 out of bounds` and the like.
    pub fn get(&self, root: &Value) -> Result<Value, JsonPathError> {
        eval::evaluate(&self.expression, root)
    }
}

/// Reads `path` and applies it (`jsonpath.Get`).
///
/// # Errors
/// As [`JsonPath::parse`] and [`JsonPath::get`].
pub fn get(path: &str, root: &Value) -> Result<Value, JsonPathError> {
    JsonPath::parse(path)?.get(root)
}

/// An expression.
#[derive(Debug)]
enum Expr {
    Const(Value),
    Path(Path),
    Negate(Box<Expr>),
    Equal {
        left: Box<Expr>,
        right: Box<Expr>,
        negated: bool,
    },
    /// A name, and what is selected from it.
    Variable(Vec<Expr>),
    /// A call; there is nothing that can be called, so it fails before its arguments matter.
    Call {
        name: String,
        callee: Vec<Expr>,
    },
}

impl Expr {
    fn text(text: &str) -> Self {
        Self::Const(Value::string(text))
    }
}

/// `$…` or `@…`: direct steps, and then branches that each end in direct steps.
#[derive(Debug, Default)]
struct Path {
    direct: Vec<Step>,
    branches: Vec<(Branch, Vec<Step>)>,
}

/// A step to one value.
#[derive(Debug)]
enum Step {
    /// `@`
    Current,
    /// `.name`, `["name"]`, `[1]`
    Select(Expr),
    /// `(…)`
    Script(Expr),
}

/// A step to any number of values.
#[derive(Debug)]
enum Branch {
    /// `.*`, `[*]`
    Star,
    /// `[a,b]`
    Union(Vec<Expr>),
    /// `..`
    Descend,
    /// `[?…]`
    Filter(Expr),
    /// `[min:max:step]`
    Range(Box<[Expr; 3]>),
}

#[cfg(test)]
mod tests;
