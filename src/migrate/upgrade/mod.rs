//! Pure: Stores and `ExternalSecrets` of v1alpha1 or v1beta1 in files → v1.
//!
//! A document is edited line by line where that gives the right object, so that comments, order and quoting stay. Where
//! it does not, the document is written anew under its comments, and the result says so.

mod edit;
mod value;

#[cfg(test)]
mod tests;

use serde::Serialize;
use similar::TextDiff;

use crate::api::yaml_tree::{self as yaml, Value};
use crate::migrate::document::{self, Document};
use crate::migrate::kes::output::with_comments;

/// How a document came to its new text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Nothing to do.
    Unchanged,
    /// Lines were edited; everything else is as it was.
    Edited,
    /// The document was written anew; its comments stand together at its top.
    Rewritten,
    /// Nothing was changed, because the result would not be right.
    Refused,
}

/// One document, or one item of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Upgraded {
    /// Number of the document, from 1.
    pub document: usize,
    /// Kind.
    pub kind: String,
    /// Namespace, empty when the file names none.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Version it had.
    pub from: String,
    /// What was done.
    pub change: Change,
    /// What the reader should look at.
    pub notes: Vec<String>,
}

/// A file after the upgrade.
#[derive(Debug, Clone, PartialEq)]
pub struct Upgrade {
    /// The new text.
    pub text: String,
    /// What was done to which document; documents of other kinds are not listed.
    pub documents: Vec<Upgraded>,
}

impl Upgrade {
    /// True when some object was refused.
    #[must_use]
    pub fn refused(&self) -> bool {
        self.documents.iter().any(|d| d.change == Change::Refused)
    }
}

/// Why a file cannot be upgraded.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// The file is not YAML, for example a template of Helm.
    #[error("cannot read the file")]
    Document(#[from] document::DocumentError),
    /// A document cannot be written.
    #[error("cannot write document {number}")]
    Write {
        /// Counted from 1.
        number: usize,
        /// What the YAML writer said.
        #[source]
        source: yaml::Error,
    },
}

/// Upgrades the text of a file.
///
/// # Errors
///
/// [`UpgradeError`]; nothing is upgraded then.
pub fn upgrade(text: &str) -> Result<Upgrade, UpgradeError> {
    let mut documents = document::split(text)?;
    let mut out = Vec::new();
    for (i, document) in documents.iter_mut().enumerate() {
        out.extend(upgrade_document(document, i + 1)?);
    }
    Ok(Upgrade {
        text: document::join(&documents),
        documents: out,
    })
}

fn upgrade_document(document: &mut Document, number: usize) -> Result<Vec<Upgraded>, UpgradeError> {
    let mut wanted = document.value.clone();
    let mut found = Vec::new();
    if let Some(items) = wanted.get_mut("items").and_then(Value::as_sequence_mut) {
        for item in items {
            found.extend(one(item, number));
        }
        list_version(&mut wanted);
    } else {
        found.extend(one(&mut wanted, number));
    }
    if wanted == document.value {
        return Ok(found);
    }
    let edited = edit::lines(&document.text);
    let change = if document::values(&edited).is_ok_and(|v| v == [wanted.clone()]) {
        document.text = edited;
        Change::Edited
    } else {
        let new = yaml::to_string(&wanted).map_err(|source| UpgradeError::Write { number, source })?;
        document.text = with_comments(&document.text, &new);
        Change::Rewritten
    };
    document.value = wanted;
    for upgraded in &mut found {
        if upgraded.change == Change::Edited {
            upgraded.change = change;
        }
    }
    Ok(found)
}

/// A typed list has a version of its own.
fn list_version(list: &mut Value) {
    let is_ours = list
        .get("kind")
        .and_then(Value::as_str)
        .and_then(|k| k.strip_suffix("List"))
        .is_some_and(value::is_upgraded_kind);
    let all_new = list.get("items").and_then(Value::as_sequence).is_some_and(|items| {
        items.iter().all(|i| {
            i.get("apiVersion")
                .and_then(Value::as_str)
                .is_none_or(|v| v == value::NEW)
        })
    });
    if let (true, true, Some(version)) = (is_ours, all_new, list.get_mut("apiVersion")) {
        *version = value::NEW.into();
    }
}

/// Upgrades one object in place; `None` when it is none of ours.
fn one(object: &mut Value, number: usize) -> Option<Upgraded> {
    let text = |v: &Value, k: &str| v.get(k).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind) = (text(object, "apiVersion"), text(object, "kind"));
    if !version.starts_with("external-secrets.io/") || !value::is_upgraded_kind(&kind) {
        return None;
    }
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    let mut upgraded = Upgraded {
        document: number,
        kind,
        namespace: text(&metadata, "namespace"),
        name: text(&metadata, "name"),
        from: version.trim_start_matches("external-secrets.io/").to_owned(),
        change: Change::Unchanged,
        notes: Vec::new(),
    };
    if version == value::NEW {
        return Some(upgraded);
    }
    let mut new = object.clone();
    match value::upgrade(&mut new, &mut upgraded.notes) {
        Ok(()) => {
            *object = new;
            upgraded.change = Change::Edited;
        }
        Err(reason) => {
            upgraded.notes.push(reason.to_string());
            upgraded.change = Change::Refused;
        }
    }
    Some(upgraded)
}

/// A unified diff of two texts, empty when they are equal.
#[must_use]
pub fn diff(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}
