//! Targets of other kinds than Secret: building and comparing untyped objects.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Map, Value, json};

use super::build::{BuildError, Writer, set_owner};
use super::{hash, names};
use crate::lang::gojson::{self, Numbers};
use crate::api::external_secret::{CreationPolicy, ExternalSecretSpec};
use crate::secret::SecretData;

/// Largest array index a path may name.
const MAX_INDEX: usize = 10_000;

/// True where a look at the target cannot be a reason to read the provider again.
///
/// # Errors
/// It is managed, and has neither spec nor data to compare.
pub fn is_valid(policy: &CreationPolicy, existing: Option<&Value>) -> Result<bool, String> {
    if *policy == CreationPolicy::Orphan {
        return Ok(true);
    }
    let Some(object) = existing.filter(|o| label(o, names::MANAGED_LABEL) == Some("true")) else { return Ok(false) };
    let current = content_hash(object).map_err(|e| format!("failed to hash target: {e}"))?;
    Ok(annotation(object, names::HASH_ANNOTATION) == Some(&*current))
}

/// The hash of what counts: `spec` if there is one, else `data`.
///
/// # Errors
/// There is neither.
pub fn content_hash(object: &Value) -> Result<String, String> {
    let content = [object.get("spec"), object.get("data")].into_iter().flatten().find(|v| !v.is_null());
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

/// The object a template is applied to: the existing one where keys are merged, else a new one.
pub fn base(spec: &ExternalSecretSpec, writer: Writer<'_>, existing: Option<&Value>, name: &str) -> Value {
    let merging = matches!(spec.target.creation_policy, CreationPolicy::Merge | CreationPolicy::CreateOrMerge);
    let mut object = match existing.filter(|_| merging) {
        Some(found) => found.clone(),
        None => fresh(spec, writer.namespace, name),
    };
    let template = spec.target.template.as_ref().map(|t| &t.metadata);
    let labels = template.map_or(writer.labels, |t| Some(&t.labels));
    let annotations = template.map_or(writer.annotations, |t| Some(&t.annotations));
    extend_metadata(&mut object, "labels", labels.into_iter().flatten());
    extend_metadata(&mut object, "annotations", annotations.into_iter().flatten());
    set_metadata(&mut object, "labels", names::MANAGED_LABEL, "true");
    object
}

fn fresh(spec: &ExternalSecretSpec, namespace: &str, name: &str) -> Value {
    let manifest = spec.target.manifest.clone().unwrap_or_default();
    let content = if matches!(manifest.kind.as_str(), "ConfigMap" | "Secret") { "data" } else { "spec" };
    let mut object = json!({
        "apiVersion": manifest.api_version, "kind": manifest.kind,
        "metadata": { "namespace": namespace, "name": name },
    });
    object[content] = json!({});
    object
}

/// Without a template: a ConfigMap's data is replaced, any other kind gets `spec.data`.
pub fn put_plain(object: &mut Value, data: &SecretData) {
    let texts: Map<String, Value> = data.iter().map(|(k, v)| (k.clone(), json!(go_text(v.expose())))).collect();
    if object.get("kind").and_then(Value::as_str) == Some("ConfigMap") {
        object["data"] = Value::Object(texts);
        return;
    }
    let spec = member(object, "spec");
    spec.insert("data".to_owned(), Value::Object(texts));
}

/// Bytes as text, the way Go's JSON encoder makes it: each byte that is not UTF-8 becomes U+FFFD.
pub fn go_text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| '\u{FFFD}'));
    }
    out
}

/// Where a template source puts its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// `data`.
    Data,
    /// `metadata.labels`.
    Labels,
    /// `metadata.annotations`.
    Annotations,
    /// `spec`, single values only.
    Spec,
    /// A path.
    Path(String),
}

impl Place {
    /// From `templateFrom[].target`; `single` tells scope `Values` from `KeysAndValues`.
    pub fn of(target: &str, single: bool) -> Self {
        match target.to_lowercase().as_str() {
            "data" => Self::Data,
            "labels" => Self::Labels,
            "annotations" => Self::Annotations,
            "spec" if single => Self::Spec,
            _ => Self::Path(target.to_owned()),
        }
    }
}

/// Puts rendered texts at one of the named places.
pub fn put_texts(object: &mut Value, place: &Place, entries: BTreeMap<String, Vec<u8>>) {
    let texts = entries.into_iter().map(|(k, v)| (k, json!(go_text(&v))));
    match place {
        Place::Data => member(object, "data").extend(texts),
        Place::Spec => member(object, "spec").extend(texts),
        Place::Labels => member(member_value(object, "metadata"), "labels").extend(texts),
        Place::Annotations => member(member_value(object, "metadata"), "annotations").extend(texts),
        Place::Path(_) => {}
    }
}

/// Puts a value at a path, in place of what is there.
///
/// # Errors
/// The path is no path.
pub fn replace_at(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    *walk(object, &parse_path(path)?) = value;
    Ok(())
}

/// Merges a document one level deep into the map at a path; at a path of one token, and where no map is, it replaces.
///
/// # Errors
/// The path is no path.
pub fn merge_at(object: &mut Value, path: &str, document: Value) -> Result<(), String> {
    let tokens = parse_path(path)?;
    let node = walk(object, &tokens);
    match (node, document) {
        (Value::Object(there), Value::Object(new)) if tokens.len() > 1 => there.extend(new),
        (node, document) => *node = document,
    }
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Key(String),
    Index(usize),
}

fn parse_path(path: &str) -> Result<Vec<Token>, String> {
    let fault = |what: String| format!(r#"invalid path "{path}": {what}"#);
    let mut tokens = Vec::new();
    for segment in path.split('.') {
        if segment.is_empty() {
            return Err(fault("empty segment".to_owned()));
        }
        let (key, mut rest) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        if !key.is_empty() {
            tokens.push(Token::Key(key.to_owned()));
        }
        while let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').ok_or_else(|| fault("unterminated '['".to_owned()))?;
            tokens.push(Token::Index(parse_index(&inner[..end]).map_err(fault)?));
            rest = &inner[end + 1..];
        }
        if !rest.is_empty() {
            tokens.push(Token::Key(rest.to_owned()));
        }
    }
    match tokens.first() {
        Some(Token::Key(_)) => Ok(tokens),
        _ => Err(fault("path must start with a key".to_owned())),
    }
}

fn parse_index(text: &str) -> Result<usize, String> {
    let index: i64 = text.parse().map_err(|_| format!(r#"bad index "{text}""#))?;
    let unsigned = usize::try_from(index).map_err(|_| format!("negative index {index}"))?;
    if unsigned > MAX_INDEX {
        return Err(format!("index {index} exceeds maximum (10000)"));
    }
    Ok(unsigned)
}

/// The node at the end of the path; what is missing on the way is made.
fn walk<'o>(object: &'o mut Value, tokens: &[Token]) -> &'o mut Value {
    let mut node = object;
    for token in tokens {
        node = match token {
            Token::Key(key) => {
                if !node.is_object() {
                    *node = json!({});
                }
                &mut node[key.as_str()]
            }
            Token::Index(index) => element(node, *index),
        };
    }
    node
}

fn element(node: &mut Value, index: usize) -> &mut Value {
    if !node.is_array() {
        *node = json!([]);
    }
    if let Value::Array(items) = node
        && items.len() <= index
    {
        items.resize(index + 1, Value::Null);
    }
    &mut node[index]
}

/// Hash annotation and ownership, once the content is there.
///
/// # Errors
/// There is no content to hash, or somebody else owns the object.
pub fn seal(object: &mut Value, spec: &ExternalSecretSpec, writer: Writer<'_>, name: &str) -> Result<(), String> {
    let hash = content_hash(object)?;
    set_metadata(object, "annotations", names::HASH_ANNOTATION, &hash);
    let owned = spec.target.creation_policy == CreationPolicy::Owner;
    let list = object.pointer("/metadata/ownerReferences").cloned().unwrap_or_else(|| json!([]));
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

fn extend_metadata<'m>(object: &mut Value, part: &str, entries: impl Iterator<Item = (&'m String, &'m String)>) {
    for (key, value) in entries {
        set_metadata(object, part, key, value);
    }
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
