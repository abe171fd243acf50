//! `Object<K>`: a Kubernetes object whose decoding cannot fail.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The static facts of one kind, and the types of its spec and status.
pub trait Kind: Send + Sync + 'static {
    /// Type of `spec`. An absent `spec` is an empty one.
    type Spec: DeserializeOwned + Clone + fmt::Debug + Send + Sync + 'static;
    /// Type of `status`.
    type Status: DeserializeOwned + Clone + fmt::Debug + Send + Sync + 'static;
    /// Namespaced or cluster-wide, for kube's typed `Api`.
    type Scope: 'static;
    /// API group.
    const GROUP: &'static str;
    /// API version.
    const VERSION: &'static str;
    /// `kind`.
    const KIND: &'static str;
    /// Plural name, as in URLs.
    const PLURAL: &'static str;
    /// True where an explicit `null` inside the spec is data and not an absent field.
    const KEEP_NULLS: bool = false;
}

/// A spec that was understood, or the reason why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed<T> {
    /// Understood.
    Ok(T),
    /// Not understood; the object concerned fails, no other does.
    Bad {
        /// What Go's decoder would say, for example `time: unknown unit "d" in duration "1d"`.
        error: String,
    },
}

impl<T> Parsed<T> {
    /// The spec, or the decoder's text.
    pub fn as_result(&self) -> Result<&T, &str> {
        match self {
            Self::Ok(spec) => Ok(spec),
            Self::Bad { error } => Err(error),
        }
    }

    /// The spec, if it was understood.
    pub fn ok(&self) -> Option<&T> {
        self.as_result().ok()
    }
}

/// A Kubernetes object of kind `K`. Deserializing one never fails for its content: see [`Parsed`]; a status that cannot
/// be understood counts as absent.
pub struct Object<K: Kind> {
    /// Metadata; if even that cannot be decoded, what identifies the object.
    pub metadata: ObjectMeta,
    /// The spec.
    pub spec: Parsed<K::Spec>,
    /// The status, if there is one.
    pub status: Option<K::Status>,
}

impl<K: Kind> Object<K> {
    /// `metadata.name`, empty if unset.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// `metadata.namespace`, empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }
}

impl<K: Kind> Clone for Object<K> {
    fn clone(&self) -> Self {
        Self {
            metadata: self.metadata.clone(),
            spec: self.spec.clone(),
            status: self.status.clone(),
        }
    }
}

/// Shows identity, spec and status; annotations may repeat the whole manifest (`last-applied-configuration`), so metadata
/// is not shown.
impl<K: Kind> fmt::Debug for Object<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(K::KIND)
            .field("namespace", &self.namespace())
            .field("name", &self.name())
            .field("resourceVersion", &self.metadata.resource_version)
            .field("spec", &self.spec)
            .field("status", &self.status)
            .finish()
    }
}

impl<K: Kind> Resource for Object<K> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::KIND.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        K::GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        K::VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::PLURAL.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl<'de, K: Kind> Deserialize<'de> for Object<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::<String, Value>::deserialize(deserializer)?;
        let mut take = |key: &str| members.remove(key).unwrap_or(Value::Null);
        let (metadata, spec, status) = (take("metadata"), take("spec"), take("status"));
        let (metadata, broken_metadata) = decode_metadata(&metadata);
        let spec = match broken_metadata {
            Some(error) => Parsed::Bad { error },
            None => decode(spec, K::KEEP_NULLS),
        };
        let status = if status.is_null() {
            None
        } else {
            decode(status, false).ok().cloned()
        };
        Ok(Self { metadata, spec, status })
    }
}

/// Decodes a spec or a status; `null` is an empty object. `keep_nulls` leaves explicit nulls where they are.
pub fn decode<T: DeserializeOwned>(mut value: Value, keep_nulls: bool) -> Parsed<T> {
    if value.is_null() {
        value = Value::Object(Map::new());
    }
    if !keep_nulls {
        drop_nulls(&mut value);
    }
    match serde_json::from_value(value) {
        Ok(spec) => Parsed::Ok(spec),
        Err(error) => Parsed::Bad {
            error: error.to_string(),
        },
    }
}

/// Go decodes an explicit `null` like an absent member.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The metadata, and the decoder's text if only the identifying members could be kept.
fn decode_metadata(value: &Value) -> (ObjectMeta, Option<String>) {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    if value.is_null() {
        return (ObjectMeta::default(), None);
    }
    match ObjectMeta::deserialize(value) {
        Ok(metadata) => (metadata, None),
        Err(error) => {
            let kept = ObjectMeta {
                name: text(value, "name"),
                namespace: text(value, "namespace"),
                uid: text(value, "uid"),
                resource_version: text(value, "resourceVersion"),
                generation: value.get("generation").and_then(Value::as_i64),
                ..ObjectMeta::default()
            };
            (kept, Some(error.to_string()))
        }
    }
}
