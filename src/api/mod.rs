//! What Kubernetes stores for External Secrets: serde types only, no behaviour beyond defaults.
//!
//! Three rules hold for every type here:
//! - an unknown field is ignored, an explicit `null` is an absent field, and an absent field equals its documented default;
//! - an object that cannot be decoded is still an object ([`Parsed::Bad`]), so that it never stalls a watch or a list;
//! - whatever may hold a secret value (provider configuration, generator specs) is kept as [`Raw`], which hides itself in `Debug`.

pub mod cluster_external_secret;
pub mod crd;
pub mod duration;
pub mod external_secret;
pub mod generator;
pub mod name;
mod object;
pub mod push_secret;
pub mod secret_store;
mod text_enum;
pub mod yaml;
pub mod yaml_tree;

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use duration::GoDuration;
pub use object::{Kind, Object, Parsed, decode};
pub(crate) use text_enum::text_enum;

/// API group of ExternalSecret, the stores, PushSecret and their cluster-wide forms.
pub const GROUP: &str = "external-secrets.io";
/// API group of the generators, ClusterGenerator and GeneratorState.
pub const GENERATORS_GROUP: &str = "generators.external-secrets.io";
/// Version of ExternalSecret, SecretStore, ClusterSecretStore and ClusterExternalSecret.
pub const V1: &str = "v1";
/// Version of PushSecret, ClusterPushSecret and all generator kinds.
pub const V1ALPHA1: &str = "v1alpha1";
/// The `apiVersion` a generator reference has when it names none.
pub const GENERATORS_API_VERSION: &str = "generators.external-secrets.io/v1alpha1";
/// The only condition type any controller of ESO writes.
pub const READY: &str = "Ready";

/// One row of [`KINDS`]: how a kind is named on the wire and on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindInfo {
    /// API group.
    pub group: &'static str,
    /// Version the controllers use.
    pub version: &'static str,
    /// `kind`.
    pub kind: &'static str,
    /// Plural name, as in URLs.
    pub plural: &'static str,
    /// Short name of the CRD, if it has one.
    pub short: Option<&'static str>,
    /// False for cluster-scoped kinds.
    pub namespaced: bool,
}

/// Every kind with a controller; the generator kinds are in [`generator::GENERATOR_KINDS`].
pub const KINDS: &[KindInfo] = &[
    kind(GROUP, V1, "ExternalSecret", "externalsecrets", Some("es"), true),
    kind(GROUP, V1, "SecretStore", "secretstores", Some("ss"), true),
    kind(
        GROUP,
        V1,
        "ClusterSecretStore",
        "clustersecretstores",
        Some("css"),
        false,
    ),
    kind(
        GROUP,
        V1,
        "ClusterExternalSecret",
        "clusterexternalsecrets",
        Some("ces"),
        false,
    ),
    kind(GROUP, V1ALPHA1, "PushSecret", "pushsecrets", Some("ps"), true),
    kind(GROUP, V1ALPHA1, "ClusterPushSecret", "clusterpushsecrets", None, false),
    kind(
        GENERATORS_GROUP,
        V1ALPHA1,
        "ClusterGenerator",
        "clustergenerators",
        None,
        false,
    ),
    kind(
        GENERATORS_GROUP,
        V1ALPHA1,
        "GeneratorState",
        "generatorstates",
        Some("gs"),
        true,
    ),
];

const fn kind(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
    short: Option<&'static str>,
    namespaced: bool,
) -> KindInfo {
    KindInfo {
        group,
        version,
        kind,
        plural,
        short,
        namespaced,
    }
}

/// JSON that is handed on without being understood and may hold a secret value; `Debug` shows the names of the members only.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Raw(Value);

impl Raw {
    /// Wraps `value`.
    pub fn new(value: Value) -> Self {
        Self(value)
    }

    /// The JSON itself. Never log, print or put it into an error.
    pub fn expose(&self) -> &Value {
        &self.0
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::Object(members) => write!(f, "Raw({{{}}})", members.keys().cloned().collect::<Vec<_>>().join(", ")),
            Value::Array(items) => write!(f, "Raw([{} items])", items.len()),
            Value::Null => f.write_str("Raw(null)"),
            _ => f.write_str("Raw(***)"),
        }
    }
}

/// A spec inside a spec (`externalSecretSpec`, `pushSecretSpec`): kept as it was written, for verbatim copies, and decoded.
#[derive(Debug, Clone)]
pub struct Embedded<T> {
    /// As written.
    pub raw: Raw,
    /// As understood.
    pub parsed: T,
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Embedded<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Value::deserialize(deserializer)?;
        let parsed = serde_json::from_value(raw.clone()).map_err(serde::de::Error::custom)?;
        Ok(Self { raw: Raw(raw), parsed })
    }
}

/// Labels and annotations a cluster-wide kind puts on its children, or a template on its target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MetadataTemplate {
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A status condition of an ExternalSecret, a store or a PushSecret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// `Ready`.
    #[serde(rename = "type", default)]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(default)]
    pub status: String,
    /// Machine-readable cause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Text for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When `status` last changed; ClusterExternalSecret conditions never have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
}

impl Condition {
    /// True if this is `Ready` with status `True`.
    pub fn is_ready(&self) -> bool {
        self.type_ == READY && self.status == "True"
    }
}

/// The `Ready` condition among `conditions`, if there is one.
pub fn ready_condition(conditions: &[Condition]) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.type_ == READY)
}

/// True if `selector` has neither labels nor expressions: it then selects everything.
pub fn selects_everything(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests;
