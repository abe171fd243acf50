//! Targets of other kinds than Secret: building and comparing untyped objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Map, Value, json};

use super::build::{BuildError, Writer, keeps_data, set_owner};
use super::{hash, names};
use crate::api::external_secret::{CreationPolicy, ExternalSecretSpec};
use crate::lang::gojson::{self, Numbers};

/// True where a look at the target cannot be a reason to read the provider again.
///
/// # Errors
/// It is managed, and has neither spec nor data to compare.
pub fn is_valid(policy: &CreationPolicy, existing: Option<&Value>) -> Result<bool, String> {
    if *policy == CreationPolicy::Orphan {
        return Ok(true);
    }
    let Some(object) = existing.filter(|o| label(o, names::MANAGED_LABEL) == Some("true")) else {
        return Ok(false);
    };
    let current = content_hash(object).map_err(|e| format!("failed to hash target: {e}"))?;
    Ok(annotation(object, names::HASH_ANNOTATION) == Some(&*current))
}

/// The hash of what counts: `spec` if there is one, else `data`.
///
/// # Errors
/// There is neither.
pub fn content_hash(object: &Value) -> Result<String, String> {
    let content = [object.get("spec"), object.get("data")]
        .into_iter()
        .flatten()
        .find(|v| !v.is_null());
    content
        .map(hash_of)
        .ok_or_else(|| "generic target content does not have a spec or data field for content hashing".to_owned())
}

fn hash_of(content: &Value) -> String {
    let text = content.to_string();
    let value = gojson::parse_with(text.as_bytes(), Numbers::Text).expect("serde_json writes JSON");
    hash::of_value(&value)
}

fn label<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

fn annotation<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// The object a template is applied to: the existing one where keys are merged, else none.
pub fn base<'v>(spec: &ExternalSecretSpec, existing: Option<&'v Value>) -> Option<&'v Value> {
    existing.filter(|_| keeps_data(spec))
}

/// Hash annotation and ownership, once the content is there.
///
/// # Errors
/// There is no content to hash, or somebody else owns the object.
pub fn seal(object: &mut Value, spec: &ExternalSecretSpec, writer: Writer<'_>, name: &str) -> Result<(), String> {
    let hash = content_hash(object)?;
    set_metadata(object, "annotations", names::HASH_ANNOTATION, &hash);
    let owned = spec.target.creation_policy == CreationPolicy::Owner;
    let list = object
        .pointer("/metadata/ownerReferences")
        .cloned()
        .unwrap_or_else(|| json!([]));
    let mut owners: Vec<OwnerReference> = serde_json::from_value(list).unwrap_or_default();
    set_owner(&mut owners, owned, writer, writer.namespace, name).map_err(|e: BuildError| e.to_string())?;
    let metadata = member(object, "metadata");
    if owners.is_empty() {
        metadata.remove("ownerReferences");
    } else {
        metadata.insert("ownerReferences".to_owned(), json!(owners));
    }
    if owned {
        let owner = names::owner_hash(writer.namespace, writer.name);
        set_metadata(object, "labels", names::OWNER_LABEL, &owner);
    } else {
        member(member_value(object, "metadata"), "labels").remove(names::OWNER_LABEL);
    }
    Ok(())
}

/// The body of a full update: identity and version of what exists, content of what should.
pub fn for_update(mut desired: Value, existing: &Value) -> Value {
    let metadata = member(&mut desired, "metadata");
    for key in ["uid", "resourceVersion"] {
        if let Some(value) = existing.pointer(&format!("/metadata/{key}")) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    metadata.remove("managedFields");
    desired
}

fn set_metadata(object: &mut Value, part: &str, key: &str, value: &str) {
    member(member_value(object, "metadata"), part).insert(key.to_owned(), json!(value));
}

fn member_value<'o>(object: &'o mut Value, key: &str) -> &'o mut Value {
    if !object.is_object() {
        *object = json!({});
    }
    &mut object[key]
}

/// The map under `key`, made if it is missing or of another type.
fn member<'o>(object: &'o mut Value, key: &str) -> &'o mut Map<String, Value> {
    let node = member_value(object, key);
    if !node.is_object() {
        *node = json!({});
    }
    node.as_object_mut().expect("it was made a map above")
}

#[cfg(test)]
mod tests;
