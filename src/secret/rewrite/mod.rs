//! Keys rewritten, and objects merged, before they become a Secret's keys (`dataFrom[].rewrite`).

use super::extract::any_value;
use crate::lang::gojson::{self, Escape, JsonError, Value};
use crate::lang::regexp::{Regexp, RegexpError};
use crate::lang::unicode::quote;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// One rewrite.
#[derive(Debug, Clone, Copy)]
pub enum Operation<'s> {
    /// Replaces every match of `source` in each key by `target`.
    Regexp {
        /// A Go regular expression.
        source: &'s str,
        /// A Go replacement template.
        target: &'s str,
    },
    /// Makes each key anew from a Go template, which sees the old one as `.value`.
    Transform {
        /// The template.
        template: &'s str,
    },
    /// Merges the values, which are JSON objects.
    Merge(Merge<'s>),
}

/// How values are merged.
#[derive(Debug, Clone, Copy, Default)]
pub struct Merge<'s> {
    /// What becomes of the merged members.
    pub strategy: MergeStrategy<'s>,
    /// Let the later object win where two have a member of the same name, instead of failing.
    pub ignore_conflicts: bool,
    /// Keys to merge last, in this order.
    pub priority: &'s [String],
    /// Pass over keys of `priority` that do not exist, instead of failing.
    pub ignore_missing_priority: bool,
}

/// What becomes of merged members.
#[derive(Debug, Clone, Copy, Default)]
pub enum MergeStrategy<'s> {
    /// They are the result, one key each.
    #[default]
    Extract,
    /// They become one JSON object under this key, beside what was there.
    Json {
        /// The key; empty is an error.
        into: &'s str,
    },
}

/// Why a rewrite failed; the texts are ESO's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed rewrite operation[{index}]: {reason}")]
pub struct RewriteError {
    /// The position of the operation.
    pub index: usize,
    /// What went wrong in it.
    pub reason: OperationError,
}

/// Why one operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperationError {
    /// The pattern is no regular expression.
    #[error("regexp failed with failed to compile: {0}")]
    Compile(RegexpError),
    /// The template cannot be parsed.
    #[error("transform failed with failed to parse template: {0}")]
    Parse(String),
    /// The template failed on a key.
    #[error("transform failed with failed to execute template for key {}: {fault}", quote(key.as_bytes()))]
    Execute {
        /// The key.
        key: String,
        /// The template engine's error.
        fault: String,
    },
    /// A value is no JSON object.
    #[error("merge failed with failed to unmarshal JSON: {0}")]
    Unmarshal(JsonError),
    /// A key that should come last does not exist.
    #[error("merge failed with key {} not found in input map", quote(key.as_bytes()))]
    Priority {
        /// The key.
        key: String,
    },
    /// Members that are in more than one object.
    #[error("merge failed with conflicts: {}", .0.join(", "))]
    Conflicts(Vec<String>),
    /// No key was given for the merged object.
    #[error("merge failed with missing 'into' field")]
    Into,
}

/// Why a template failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateFault {
    /// It cannot be parsed.
    Parse(String),
    /// It failed while it ran.
    Execute(String),
}

/// Runs the operations one after the other. `render` runs a template for a key, with `{"value": key}` as its data.
///
/// Where two keys become one, the one that sorts later wins (ESO takes any).
///
/// # Errors
/// The first operation that fails.
pub fn apply<V>(
    operations: &[Operation<'_>],
    mut data: BTreeMap<String, V>,
    mut render: impl FnMut(&str, &str) -> Result<String, TemplateFault>,
) -> Result<BTreeMap<String, V>, RewriteError>
where
    V: AsRef<[u8]> + From<Vec<u8>>,
{
    for (index, operation) in operations.iter().enumerate() {
        let result = match *operation {
            Operation::Regexp { source, target } => replace(source, target, data),
            Operation::Transform { template } => transform(template, data, &mut render),
            Operation::Merge(merge) => merged(&merge, data),
        };
        data = result.map_err(|reason| RewriteError { index, reason })?;
    }
    Ok(data)
}

fn replace<V>(source: &str, target: &str, data: BTreeMap<String, V>) -> Result<BTreeMap<String, V>, OperationError> {
    let regexp = Regexp::new(source).map_err(OperationError::Compile)?;
    let rename = |key: String| {
        let key = regexp.replace_all(key.as_bytes(), target.as_bytes());
        String::from_utf8(key).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
    };
    Ok(data.into_iter().map(|(key, value)| (rename(key), value)).collect())
}

fn transform<V>(
    template: &str,
    data: BTreeMap<String, V>,
    render: &mut impl FnMut(&str, &str) -> Result<String, TemplateFault>,
) -> Result<BTreeMap<String, V>, OperationError> {
    let mut out = BTreeMap::new();
    for (key, value) in data {
        let name = render(template, &key).map_err(|fault| match fault {
            TemplateFault::Parse(fault) => OperationError::Parse(fault),
            TemplateFault::Execute(fault) => OperationError::Execute { key, fault },
        })?;
        out.insert(name, value);
    }
    Ok(out)
}

fn merged<V>(merge: &Merge<'_>, mut data: BTreeMap<String, V>) -> Result<BTreeMap<String, V>, OperationError>
where
    V: AsRef<[u8]> + From<Vec<u8>>,
{
    let members = members(merge, &data)?;
    let owned = |mut bytes: Zeroizing<Vec<u8>>| V::from(std::mem::take(&mut *bytes));
    match merge.strategy {
        MergeStrategy::Extract => Ok(members
            .iter()
            .map(|(name, value)| (name.clone(), owned(any_value(value))))
            .collect()),
        MergeStrategy::Json { into: "" } => Err(OperationError::Into),
        MergeStrategy::Json { into } => {
            let object = Value::Object(members).to_json(Escape::Plain);
            data.insert(into.to_owned(), owned(object));
            Ok(data)
        }
    }
}

/// The members of all objects: keys in their order first, those of `priority` last.
fn members<V: AsRef<[u8]>>(
    merge: &Merge<'_>,
    data: &BTreeMap<String, V>,
) -> Result<BTreeMap<String, Value>, OperationError> {
    let mut all = BTreeMap::new();
    let mut conflicts = Vec::new();
    let first = data.keys().filter(|key| !merge.priority.contains(key));
    for key in first.chain(merge.priority) {
        let Some(json) = data.get(key) else {
            if merge.ignore_missing_priority {
                continue;
            }
            return Err(OperationError::Priority { key: key.clone() });
        };
        for (name, value) in object(json.as_ref())? {
            if all.insert(name.clone(), value).is_some() {
                conflicts.push(name);
            }
        }
    }
    if conflicts.is_empty() || merge.ignore_conflicts {
        Ok(all)
    } else {
        Err(OperationError::Conflicts(conflicts))
    }
}

fn object(json: &[u8]) -> Result<BTreeMap<String, Value>, OperationError> {
    match gojson::parse(json).map_err(OperationError::Unmarshal)? {
        Value::Object(members) => Ok(members),
        Value::Null => Ok(BTreeMap::new()),
        _ => {
            let found = gojson::kind(json).to_owned();
            Err(OperationError::Unmarshal(JsonError::Type {
                found,
                wanted: super::extract::ANY_MAP,
            }))
        }
    }
}

#[cfg(test)]
mod tests;
