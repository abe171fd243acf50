//! A target Secret as the loop sees it: everything a full update must send back, and which keys whose manager set.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::managed::{self, ManagedIndex};
use super::names;
use crate::secret::{SecretData, SecretValue};

/// A Secret. `Debug` shows names, never values.
#[derive(Clone, Default, PartialEq)]
pub struct TargetSecret {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// `metadata.uid`; empty before creation.
    pub uid: String,
    /// `metadata.resourceVersion`; empty before creation.
    pub resource_version: String,
    /// `metadata.generateName`, kept as it is.
    pub generate_name: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Owner references, in their order.
    pub owners: Vec<OwnerReference>,
    /// Finalizers, in their order.
    pub finalizers: Vec<String>,
    /// `type`; empty before creation means the server's default.
    pub secret_type: String,
    /// `immutable: true`.
    pub immutable: bool,
    /// Data, decoded.
    pub data: SecretData,
    /// Keys by manager, ExternalSecrets only.
    pub managed: ManagedIndex,
    /// A deletion timestamp is set.
    pub deleting: bool,
}

impl fmt::Debug for TargetSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TargetSecret")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("resource_version", &self.resource_version)
            .field("keys", &self.data.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl TargetSecret {
    /// A new, empty one.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// True if it carries the label of managed objects.
    pub fn is_labelled(&self) -> bool {
        self.labels.get(names::MANAGED_LABEL).is_some_and(|v| v == "true")
    }

    /// True if labels, annotations, owner references and finalizers agree.
    pub fn same_metadata(&self, other: &Self) -> bool {
        self.labels == other.labels
            && self.annotations == other.annotations
            && self.owners == other.owners
            && self.finalizers == other.finalizers
    }

    /// True if type, data and immutability agree.
    pub fn same_content(&self, other: &Self) -> bool {
        self.secret_type == other.secret_type && self.immutable == other.immutable && self.data == other.data
    }

    /// Bytes of data, keys left out.
    pub fn size(&self) -> usize {
        self.data.values().map(SecretValue::len).sum()
    }

    /// The body of a create or a full update. `managedFields` is left out: the server then keeps its own.
    pub fn to_json(&self) -> Vec<u8> {
        let data = self
            .data
            .iter()
            .map(|(k, v)| (k.as_str(), STANDARD.encode(v.expose())))
            .collect();
        let body = Body {
            api_version: "v1",
            kind: "Secret",
            metadata: BodyMetadata {
                namespace: &self.namespace,
                name: &self.name,
                uid: &self.uid,
                resource_version: &self.resource_version,
                generate_name: self.generate_name.as_deref(),
                labels: &self.labels,
                annotations: &self.annotations,
                owner_references: &self.owners,
                finalizers: &self.finalizers,
            },
            secret_type: &self.secret_type,
            immutable: self.immutable,
            data,
        };
        serde_json::to_vec(&body).expect("maps of text always serialise")
    }

    /// Decodes what the API server sent.
    ///
    /// # Errors
    /// The place of the fault; never the content.
    pub fn from_json(json: &[u8]) -> Result<Self, String> {
        let wire: Wire<'_> =
            serde_json::from_slice(json).map_err(|e| format!("line {}, column {}", e.line(), e.column()))?;
        let mut data = SecretData::new();
        for (key, value) in wire.data.unwrap_or_default() {
            let bytes = STANDARD
                .decode(value.unwrap_or_default())
                .map_err(|_| format!("data.{key} is not base64"))?;
            data.insert(key, SecretValue::new(bytes));
        }
        let meta = wire.metadata;
        Ok(Self {
            namespace: meta.namespace,
            name: meta.name,
            uid: meta.uid,
            resource_version: meta.resource_version,
            generate_name: meta.generate_name,
            labels: meta.labels.unwrap_or_default(),
            annotations: meta.annotations.unwrap_or_default(),
            owners: meta.owner_references.unwrap_or_default(),
            finalizers: meta.finalizers.unwrap_or_default(),
            secret_type: wire.secret_type,
            immutable: wire.immutable.unwrap_or_default(),
            data,
            managed: meta.managed_fields.map(managed::index).unwrap_or_default(),
            deleting: meta.deletion_timestamp.is_some(),
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: BodyMetadata<'a>,
    #[serde(rename = "type", skip_serializing_if = "str::is_empty")]
    secret_type: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    immutable: bool,
    data: BTreeMap<&'a str, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BodyMetadata<'a> {
    namespace: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    uid: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    resource_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    generate_name: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    owner_references: &'a [OwnerReference],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    finalizers: &'a [String],
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    metadata: WireMetadata<'a>,
    #[serde(rename = "type", default)]
    secret_type: String,
    #[serde(default)]
    immutable: Option<bool>,
    #[serde(default)]
    data: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct WireMetadata<'a> {
    #[serde(default)]
    namespace: String,
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    generate_name: Option<String>,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
    #[serde(default)]
    owner_references: Option<Vec<OwnerReference>>,
    #[serde(default)]
    finalizers: Option<Vec<String>>,
    #[serde(default)]
    deletion_timestamp: Option<String>,
    #[serde(borrow, default)]
    managed_fields: Option<&'a RawValue>,
}

#[cfg(test)]
mod tests {
    use super::TargetSecret;
    use crate::secret::SecretValue;

    #[test]
    fn what_is_read_is_sent_back_without_managed_fields() {
        let json = br#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"es","namespace":"orchard","uid":"u","resourceVersion":"7",
            "labels":{"team":"red"},"ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":"1"}],
            "managedFields":[{"manager":"externalsecrets.external-secrets.io/es","fieldsV1":{"f:data":{"f:a":{}}}}]},
            "type":"Opaque","data":{"a":"AP8=","b":null}}"#;
        let secret = TargetSecret::from_json(json).unwrap();
        assert_eq!(secret.data["a"], SecretValue::new(vec![0, 255]));
        assert!(secret.data["b"].is_empty());
        assert_eq!(secret.managed.len(), 1);
        let again = TargetSecret::from_json(&secret.to_json()).unwrap();
        assert!(again.same_metadata(&secret) && again.same_content(&secret) && again.managed.is_empty());
        assert_eq!(again.resource_version, "7");
    }

    #[test]
    fn debug_and_errors_hold_no_values() {
        let error = TargetSecret::from_json(br#"{"metadata":{"name":"es"},"data":{"a":"hunter2!"}}"#).unwrap_err();
        assert_eq!(error, "data.a is not base64");
        let mut secret = TargetSecret::new("orchard", "es");
        secret
            .data
            .insert("a".to_owned(), SecretValue::from("hunter2".to_owned()));
        assert!(!format!("{secret:?}").contains("hunter2"));
    }
}
