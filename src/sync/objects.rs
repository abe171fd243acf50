//! How objects enter the caches: decoded, and without what nobody reads.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::{Kind, Object};
use crate::cluster::cache::Cached;
use crate::target::TargetSecret;

impl<K: Kind> Cached for Object<K> {
    fn from_raw(raw: &RawValue) -> Option<Self> {
        let mut object: Self = serde_json::from_str(raw.get()).ok()?;
        object.metadata.managed_fields = None;
        Some(object)
    }

    fn namespace(&self) -> &str {
        Object::namespace(self)
    }

    fn name(&self) -> &str {
        Object::name(self)
    }

    fn resource_version(&self) -> &str {
        self.metadata.resource_version.as_deref().unwrap_or_default()
    }
}

/// A managed Secret.
pub struct SecretEntry(pub TargetSecret);

impl Cached for SecretEntry {
    fn from_raw(raw: &RawValue) -> Option<Self> {
        TargetSecret::from_json(raw.get().as_bytes()).ok().map(Self)
    }

    fn namespace(&self) -> &str {
        &self.0.namespace
    }

    fn name(&self) -> &str {
        &self.0.name
    }

    fn resource_version(&self) -> &str {
        &self.0.resource_version
    }
}

/// The metadata of a Namespace (or of any object read as `PartialObjectMetadata`).
#[derive(Debug, Clone, Default, Deserialize)]
pub struct NamespaceMeta {
    /// Its metadata.
    pub metadata: PartialMeta,
}

/// The metadata that decisions are made on.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PartialMeta {
    /// Namespace, or empty.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// resourceVersion.
    pub resource_version: String,
    /// Labels.
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations.
    pub annotations: Option<BTreeMap<String, String>>,
    /// Finalizers.
    pub finalizers: Option<Vec<String>>,
    /// Set while the object is being deleted.
    pub deletion_timestamp: Option<String>,
}

impl Cached for NamespaceMeta {
    fn from_raw(raw: &RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    fn namespace(&self) -> &'static str {
        ""
    }

    fn name(&self) -> &str {
        &self.metadata.name
    }

    fn resource_version(&self) -> &str {
        &self.metadata.resource_version
    }
}
