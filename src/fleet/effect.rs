//! Ours against the live bundle: what has to be written, if anything.
//!
//! Fleet hashes the encoded content, so another compressor alone would cause a Helm upgrade on every
//! cluster. Where a live resource decodes to the same bytes, its text is kept.
use serde_json::{Map, Value};

use super::chart::MAX_UNPACKED;
use super::encode;
use super::error::FleetError;
use super::object::text;

/// What to do with a bundle.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It does not exist: create it as it is.
    Create,
    /// Equal in effect: send nothing.
    Unchanged,
    /// Write this object, which keeps live encodings where it can.
    Update(Value),
}

/// Compares a bundle with the live one of the same name.
///
/// # Errors
/// The live bundle belongs to a HelmOp or is being deleted; or its content lies in a registry and
/// `force` is not set.
pub fn decide(ours: &Value, live: Option<&Value>, force: bool) -> Result<Decision, FleetError> {
    let Some(live) = live else { return Ok(Decision::Create) };
    let refuse = |problem: &str| {
        Err(FleetError::Object {
            object: super::object::describe(live),
            problem: problem.to_owned(),
        })
    };
    if live.pointer("/spec/helmOpOptions").is_some() {
        return refuse("belongs to a HelmOp; change that, or use another name");
    }
    if live.pointer("/metadata/deletionTimestamp").is_some() {
        return refuse("is being deleted");
    }
    if !text(live, "/spec/contentsId").is_empty() && !force {
        return refuse("keeps its content in an OCI registry; overwriting it would orphan the artifact (--force)");
    }
    let mut merged = ours.clone();
    keep_encodings(&mut merged, live);
    let equal = spec(&merged) == spec(live)
        && carries(live, &merged, "/metadata/labels")
        && carries(live, &merged, "/metadata/annotations");
    Ok(if equal {
        Decision::Unchanged
    } else {
        Decision::Update(merged)
    })
}

fn keep_encodings(ours: &mut Value, live: &Value) {
    let theirs = live
        .pointer("/spec/resources")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    for resource in ours
        .pointer_mut("/spec/resources")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let same_name = theirs
            .iter()
            .find(|other| text(other, "/name") == text(resource, "/name"));
        if let Some(other) = same_name
            && let (Ok(a), Ok(b)) = (
                encode::decode(resource, MAX_UNPACKED),
                encode::decode(other, MAX_UNPACKED),
            )
            && a == b
        {
            *resource = other.clone();
        }
    }
}

/// The spec without what the API server adds by default.
fn spec(bundle: &Value) -> Map<String, Value> {
    let mut spec = bundle
        .get("spec")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    if spec.get("targetCustomizationMode").and_then(Value::as_str) == Some("FirstMatch") {
        spec.remove("targetCustomizationMode");
    }
    spec
}

/// Whether all our labels or annotations are there; others belong to somebody else.
fn carries(live: &Value, ours: &Value, pointer: &str) -> bool {
    let live = live.pointer(pointer);
    ours.pointer(pointer)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .all(|(key, value)| live.and_then(|map| map.get(key)) == Some(value))
}
