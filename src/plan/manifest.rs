//! A Kubernetes object as JSON, with the few accessors that planning needs.

use serde_json::{Map, Value};

/// An object that has `apiVersion`, `kind` and `metadata.name`; [`Manifest::new`] checks that.
#[derive(Clone, PartialEq)]
pub struct Manifest(Value);

/// Why a value is not a Kubernetes object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Not a mapping.
    #[error("not a Kubernetes object: expected a mapping")]
    NotAnObject,
    /// A required field is absent or not a string.
    #[error("not a Kubernetes object: {0} is not set")]
    Missing(&'static str),
}

impl Manifest {
    /// Checks the three fields every object needs.
    ///
    /// # Errors
    /// Which one is missing.
    pub fn new(value: Value) -> Result<Self, ManifestError> {
        if !value.is_object() {
            return Err(ManifestError::NotAnObject);
        }
        for (pointer, name) in [
            ("/apiVersion", "apiVersion"),
            ("/kind", "kind"),
            ("/metadata/name", "metadata.name"),
        ] {
            if value.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
                return Err(ManifestError::Missing(name));
            }
        }
        Ok(Self(value))
    }

    /// For objects this program writes itself.
    pub(crate) fn ours(value: Value) -> Self {
        debug_assert!(Self::new(value.clone()).is_ok(), "our own manifests are complete");
        Self(value)
    }

    fn text(&self, pointer: &str) -> &str {
        self.0.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// `group/version` or `v1`.
    pub fn api_version(&self) -> &str {
        self.text("/apiVersion")
    }

    /// The API group, empty for core.
    pub fn group(&self) -> &str {
        self.api_version().split_once('/').map_or("", |(g, _)| g)
    }

    /// The kind.
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// The namespace, if set.
    pub fn namespace(&self) -> Option<&str> {
        Some(self.text("/metadata/namespace")).filter(|n| !n.is_empty())
    }

    /// Sets the namespace.
    pub fn set_namespace(&mut self, namespace: &str) {
        self.metadata_mut()
            .insert("namespace".to_owned(), Value::String(namespace.to_owned()));
    }

    /// Sets the version of the object's own group.
    pub fn set_version(&mut self, version: &str) {
        let group = self.group().to_owned();
        self.0["apiVersion"] = Value::String(if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        });
    }

    /// Adds a label.
    pub fn label(&mut self, key: &str, value: &str) {
        let labels = self
            .metadata_mut()
            .entry("labels")
            .or_insert_with(|| Value::Object(Map::new()));
        labels[key] = Value::String(value.to_owned());
    }

    fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        match &mut self.0["metadata"] {
            Value::Object(map) => map,
            other => {
                *other = Value::Object(Map::new());
                other.as_object_mut().expect("was just made an object")
            }
        }
    }

    /// `kind.group/name`, as kubectl prints it.
    pub fn display(&self) -> String {
        display(self.kind(), self.group(), self.name())
    }

    /// The object.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The object, given away.
    pub fn into_value(self) -> Value {
        self.0
    }

    /// The object as it may be shown: values of a Secret are replaced, as is kubectl's copy of them.
    pub fn redacted(&self) -> Value {
        redact(&self.0)
    }
}

impl std::fmt::Debug for Manifest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Manifest({} in {:?})", self.display(), self.namespace())
    }
}

/// Masks `data` and `stringData` of a Secret and drops its last-applied annotation.
pub fn redact(object: &Value) -> Value {
    let mut out = object.clone();
    if out.get("kind").and_then(Value::as_str) == Some("Secret") {
        for field in ["data", "stringData"] {
            if let Some(Value::Object(map)) = out.get_mut(field) {
                map.values_mut().for_each(|v| *v = Value::String("***".to_owned()));
            }
        }
        if let Some(Value::Object(annotations)) = out.pointer_mut("/metadata/annotations") {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    out
}

/// `kind.group/name`, lower case and singular.
pub fn display(kind: &str, group: &str, name: &str) -> String {
    let kind = kind.to_lowercase();
    if group.is_empty() {
        format!("{kind}/{name}")
    } else {
        format!("{kind}.{group}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Manifest, ManifestError};

    #[test]
    fn names_the_missing_field() {
        let value = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}});
        assert_eq!(
            Manifest::new(value).unwrap_err(),
            ManifestError::Missing("metadata.name")
        );
    }

    #[test]
    fn hides_secret_values() {
        let value = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x", "annotations":
            {"kubectl.kubernetes.io/last-applied-configuration": "canary"}}, "stringData": {"a": "canary"}, "data": {"b": "canary"}});
        let shown = Manifest::new(value).unwrap().redacted().to_string();
        assert!(!shown.contains("canary"), "{shown}");
    }
}
