//! lodash templates → Go templates of ESO's engine v2.
//!
//! The text is cut at its tags ([`scan`]), the code between them is parsed as one JavaScript function
//! ([`super::js`]), and every statement and expression is written again in Go's language ([`write`], [`value`],
//! [`method`], [`json`], [`pattern`]). A result prints the bytes KES would have written, or the conversion is refused.
//!
//! Where JavaScript prints nothing for a missing field the result uses `index`, which does the same; where JavaScript
//! would stop or write `undefined` the result stops too.

mod go;
mod json;
mod method;
mod pattern;
mod scan;
mod value;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Code;
use super::js::ast::{Expr, Part, Stmt};
use super::js::parser::{SyntaxError, program};
use crate::migrate::kes::base64;

pub use go::{literal_text, quote};

/// How a fetched key has to be read to have the value KES gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyForm {
    /// As it is.
    Plain,
    /// ESO returns the payload where KES gave `{"payload": …}`.
    Payload,
    /// ESO returns user and password under two keys where KES gave one object.
    Login {
        /// Key that holds the user name.
        username: String,
        /// Key that holds the password.
        password: String,
    },
    /// KES wrote the value with JSON quotes.
    Quoted,
}

/// The keys a template may read as `data.…`.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    /// Keys known by name.
    pub known: BTreeMap<String, KeyForm>,
    /// True when whole objects are fetched, so that other keys may exist.
    pub open: bool,
}

/// What the templates of one object tell about the JSON they read, by path such as `cfg.hosts[]`.
///
/// Collected in a first pass over all templates, used in a second one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shapes {
    lists: BTreeSet<String>,
    scalars: BTreeSet<String>,
}

impl Shapes {
    /// True when the value has no object keys whose order could differ.
    fn ordered(&self, path: &str) -> bool {
        self.scalars.contains(path) || (self.lists.contains(path) && self.scalars.contains(&format!("{path}[]")))
    }
}

/// A converted text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Converted {
    /// The Go template.
    pub text: String,
    /// What the reader should know, as code and sentence.
    pub notes: Vec<(Code, String)>,
}

/// Converts a text that becomes the value of a Secret key, a label or an annotation.
///
/// # Errors
///
/// The first construct outside the subset.
pub fn text(source: &str, keys: &Keys, shapes: &mut Shapes) -> Result<Converted, SyntaxError> {
    let body = program(&scan::tokens(source)?)?;
    let mut writer = write::Writer::new(keys, shapes, &body);
    writer.statements(&body)?;
    Ok(writer.finish())
}

/// Why a `template.data` value cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// A construct outside the subset.
    #[error(transparent)]
    Unsupported(#[from] SyntaxError),
    /// A constant that is not base64; the API server refuses it.
    #[error("the value is not base64")]
    NotBase64,
}

/// Converts a value of `template.data`, which KES expects to be base64 once rendered.
///
/// # Errors
///
/// As [`text`], and constants that are not base64.
pub fn data(source: &str, keys: &Keys, shapes: &mut Shapes) -> Result<Converted, DataError> {
    let body = program(&scan::tokens(source)?)?;
    if let Some(constant) = constant(&body) {
        return Ok(Converted {
            text: decoded(&constant)?,
            notes: Vec::new(),
        });
    }
    let mut writer = write::Writer::new(keys, shapes, &body);
    if let Some(inner) = encoded(&body) {
        writer.print(inner, false)?;
    } else if body
        .iter()
        .all(|s| matches!(s, Stmt::Text(_) | Stmt::Print { escape: false, .. }))
    {
        writer.decode_expression(&Expr::Template(body.iter().filter_map(part).collect()))?;
    } else {
        writer.decode_statements(&body)?;
    }
    Ok(writer.finish())
}

/// The text of a template without tags.
fn constant(body: &[Stmt]) -> Option<String> {
    let texts = body
        .iter()
        .map(|s| if let Stmt::Text(t) = s { Some(t.as_str()) } else { None });
    texts.collect()
}

fn decoded(constant: &str) -> Result<String, DataError> {
    let bytes = base64::decode(constant).ok_or(DataError::NotBase64)?;
    Ok(String::from_utf8(bytes).map_or_else(
        |e| format!("{{{{ {} | b64dec }}}}", quote(&base64::encode(e.as_bytes()))),
        |text| literal_text(&text),
    ))
}

fn part(stmt: &Stmt) -> Option<Part> {
    match stmt {
        Stmt::Text(t) => Some(Part::Text(t.clone())),
        Stmt::Print { expr, .. } => Some(Part::Expr(expr.clone())),
        _ => None,
    }
}

/// `E` when the whole value is `<%= Buffer.from(E).toString("base64") %>`, line breaks around it allowed.
fn encoded(body: &[Stmt]) -> Option<&Expr> {
    let mut found = None;
    for stmt in body {
        match stmt {
            Stmt::Text(t) if t.chars().all(|c| matches!(c, '\r' | '\n')) => {}
            Stmt::Print { expr, .. } if found.is_none() => found = Some(expr),
            _ => return None,
        }
    }
    method::encoded_argument(found?)
}
