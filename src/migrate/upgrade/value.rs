//! What differs between the versions, as changes of an object.

use thiserror::Error;

use crate::api::yaml_tree::{Mapping, Value};

/// The version everything becomes.
pub const NEW: &str = "external-secrets.io/v1";

/// Kinds that exist in the old versions and in v1. `PushSecret` stays v1alpha1, generators have a group of their own.
#[must_use]
pub fn is_upgraded_kind(kind: &str) -> bool {
    matches!(
        kind,
        "ExternalSecret" | "ClusterExternalSecret" | "SecretStore" | "ClusterSecretStore"
    )
}

/// Why an object stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// A version nobody knows.
    #[error("the version {0} is not known")]
    Version(String),
    /// The provider is gone.
    #[error("the provider {0} was removed from ESO 2.0; the store needs another one")]
    Provider(String),
    /// A field has the wrong type.
    #[error("{0} is not what the old version defines")]
    Shape(&'static str),
}

/// Functions of template engine v1 that v2 does not have.
const V1_FUNCTIONS: &[&str] = &[
    "base64decode",
    "base64encode",
    "fromJSON",
    "toJSON",
    "toBytes",
    "pemPrivateKey",
    "pemCertificate",
    "pkcs12keyPass",
    "pkcs12certPass",
];

/// Upgrades an object of v1alpha1 or v1beta1.
///
/// # Errors
///
/// [`Refusal`]; the object may be half changed then.
pub fn upgrade(object: &mut Value, notes: &mut Vec<String>) -> Result<(), Refusal> {
    let text = |k: &str| object.get(k).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let alpha = match version.as_str() {
        "external-secrets.io/v1alpha1" => true,
        "external-secrets.io/v1beta1" => false,
        other => return Err(Refusal::Version(other.to_owned())),
    };
    set(object, "apiVersion", NEW);
    let Some(spec) = object.get_mut("spec") else {
        return Ok(());
    };
    match kind.as_str() {
        "ExternalSecret" => external_secret(spec, alpha, notes),
        "ClusterExternalSecret" => spec
            .get_mut("externalSecretSpec")
            .map_or(Ok(()), |inner| external_secret(inner, alpha, notes)),
        _ => store(spec),
    }
}

fn set(at: &mut Value, key: &str, value: &str) {
    if let Some(slot) = at.get_mut(key) {
        *slot = value.into();
    }
}

fn external_secret(spec: &mut Value, alpha: bool, notes: &mut Vec<String>) -> Result<(), Refusal> {
    if alpha {
        data_from(spec)?;
    }
    let Some(template) = spec
        .get_mut("target")
        .and_then(|t| t.get_mut("template"))
        .filter(|t| t.is_mapping())
    else {
        return Ok(());
    };
    let engine = template.get("engineVersion").and_then(Value::as_str).map(str::to_owned);
    // v1alpha1 rendered with engine v1 unless it was told otherwise.
    let was_v1 = engine.as_deref() == Some("v1") || (alpha && engine.is_none());
    if engine.as_deref() == Some("v1") {
        set(template, "engineVersion", "v2");
    }
    let has_texts = ["data", "templateFrom"].iter().any(|f| template.get(f).is_some());
    if was_v1 && has_texts {
        notes.push("the template was made for engine v1, where values are bytes; compare what v2 renders".to_owned());
        let texts = crate::api::yaml_tree::to_string(template).unwrap_or_default();
        let gone: Vec<&str> = V1_FUNCTIONS.iter().copied().filter(|f| texts.contains(f)).collect();
        if !gone.is_empty() {
            notes.push(format!("engine v2 has no {}", gone.join(", ")));
        }
    }
    Ok(())
}

/// In v1alpha1 an entry of `dataFrom` was the reference itself.
fn data_from(spec: &mut Value) -> Result<(), Refusal> {
    let Some(list) = spec.get_mut("dataFrom") else {
        return Ok(());
    };
    if list.is_null() {
        return Ok(());
    }
    for entry in list.as_sequence_mut().ok_or(Refusal::Shape("spec.dataFrom"))? {
        let map = entry.as_mapping().ok_or(Refusal::Shape("an entry of spec.dataFrom"))?;
        if map.get("key").is_some() {
            let mut outer = Mapping::new();
            outer.insert("extract".into(), entry.clone());
            *entry = outer.into();
        }
    }
    Ok(())
}

fn store(spec: &Value) -> Result<(), Refusal> {
    let provider = spec.get("provider").and_then(Value::as_mapping);
    for gone in ["alibaba", "device42"] {
        if provider.is_some_and(|p| p.get(gone).is_some()) {
            return Err(Refusal::Provider(gone.to_owned()));
        }
    }
    Ok(())
}
