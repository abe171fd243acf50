//! PushSecret and ClusterPushSecret `external-secrets.io/v1alpha1`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cluster_external_secret::NamespaceFailure;
use super::external_secret::{RewriteRegexp, RewriteTransform, StoreKind, Template};
use super::generator::GeneratorRef;
use super::{Condition, Embedded, GROUP, GoDuration, Kind, MetadataTemplate, Object, V1ALPHA1, text_enum};

/// A PushSecret as the API server gives it.
pub type PushSecret = Object<PushSecretKind>;
/// A ClusterPushSecret as the API server gives it.
pub type ClusterPushSecret = Object<ClusterPushSecretKind>;

/// The kind behind [`PushSecret`].
pub enum PushSecretKind {}
/// The kind behind [`ClusterPushSecret`].
pub enum ClusterPushSecretKind {}

impl Kind for PushSecretKind {
    type Spec = PushSecretSpec;
    type Status = PushSecretStatus;
    type Scope = NamespaceResourceScope;
    const GROUP: &'static str = GROUP;
    const VERSION: &'static str = V1ALPHA1;
    const KIND: &'static str = "PushSecret";
    const PLURAL: &'static str = "pushsecrets";
}

impl Kind for ClusterPushSecretKind {
    type Spec = ClusterPushSecretSpec;
    type Status = ClusterPushSecretStatus;
    type Scope = ClusterResourceScope;
    const GROUP: &'static str = GROUP;
    const VERSION: &'static str = V1ALPHA1;
    const KIND: &'static str = "ClusterPushSecret";
    const PLURAL: &'static str = "clusterpushsecrets";
}

/// What to push, where to, and when.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushSecretSpec {
    /// Period; see [`PushSecretSpec::interval`].
    pub refresh_interval: Option<GoDuration>,
    /// The stores.
    pub secret_store_refs: Vec<PushStoreRef>,
    /// Whether what exists is overwritten.
    pub update_policy: UpdatePolicy,
    /// Whether pushed secrets are deleted again.
    pub deletion_policy: PushDeletionPolicy,
    /// What to push.
    pub selector: PushSelector,
    /// Single entries.
    pub data: Vec<PushData>,
    /// Entries made from the keys of the source.
    pub data_to: Vec<DataTo>,
    /// Blueprint applied to the source first.
    pub template: Option<Template>,
}

impl PushSecretSpec {
    /// The refresh interval, one hour if absent. Zero pushes once per change.
    pub fn interval(&self) -> GoDuration {
        self.refresh_interval.unwrap_or(GoDuration::HOUR)
    }
}

/// Names one store, or many by labels.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushStoreRef {
    /// Name; empty if chosen by labels.
    pub name: String,
    /// By labels.
    pub label_selector: Option<LabelSelector>,
    /// Kind; `SecretStore` if absent.
    pub kind: StoreKind,
}

text_enum! {
    /// Whether what exists at the provider is overwritten.
    UpdatePolicy {
        /// It is.
        #[default]
        Replace,
        /// It is left alone.
        IfNotExists,
    }
}

text_enum! {
    /// Whether pushed secrets are deleted again.
    PushDeletionPolicy {
        /// They stay.
        #[default]
        None,
        /// They go when the PushSecret or the entry goes.
        Delete,
    }
}

/// What to push: exactly one member.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushSelector {
    /// Secrets of the namespace.
    pub secret: Option<PushSecretSource>,
    /// A generator's output.
    pub generator_ref: Option<GeneratorRef>,
}

/// Secrets of the namespace, by name or by labels.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PushSecretSource {
    /// Name; empty if chosen by labels.
    pub name: String,
    /// By labels.
    pub selector: Option<LabelSelector>,
}

/// One entry: a key of the source and where it goes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushData {
    /// Key and destination.
    #[serde(rename = "match")]
    pub match_: PushMatch,
    /// The provider's own envelope, any JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// How key names are changed back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversion_strategy: Option<PushConversionStrategy>,
}

/// A key of the source and where it goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushMatch {
    /// Key of the source; empty means the whole Secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub secret_key: String,
    /// Destination.
    pub remote_ref: PushRemoteRef,
}

/// A destination at the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushRemoteRef {
    /// Name or path at the provider.
    pub remote_key: String,
    /// Part of it; empty means all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub property: String,
}

text_enum! {
    /// How key names are changed back before they are pushed.
    PushConversionStrategy {
        /// Not at all.
        #[default]
        None,
        /// `_Uxxxx_` becomes the character again.
        ReverseUnicode,
    }
}

/// Entries made from the keys of the source.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DataTo {
    /// Which of the stores.
    pub store_ref: Option<PushStoreRef>,
    /// Bundle all keys into this remote secret; empty means one remote secret per key.
    pub remote_key: String,
    /// Which keys; absent means all.
    #[serde(rename = "match")]
    pub match_: Option<DataToMatch>,
    /// Key changes, in order.
    pub rewrite: Vec<PushRewrite>,
    /// The provider's own envelope, any JSON.
    pub metadata: Option<Value>,
    /// How key names are changed back.
    pub conversion_strategy: Option<PushConversionStrategy>,
}

/// Which keys of the source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DataToMatch {
    /// RE2; empty means all.
    pub regexp: String,
}

/// One key change; exactly one member is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PushRewrite {
    /// Regular expression over each key.
    pub regexp: Option<RewriteRegexp>,
    /// Template over each key.
    pub transform: Option<RewriteTransform>,
}

/// Entries that reached a store: `Kind/name` of the store → entry key → entry.
pub type SyncedPushSecrets = BTreeMap<String, BTreeMap<String, PushData>>;

/// What the last reconciles did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PushSecretStatus {
    /// Start of the last fully successful reconcile, whole seconds.
    pub refresh_time: Option<Time>,
    /// `<generation>-<hash>` at that success; empty before the first.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub synced_resource_version: String,
    /// What was pushed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub synced_push_secrets: SyncedPushSecrets,
    /// Only `Ready` is used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// One PushSecret for many namespaces.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterPushSecretSpec {
    /// Spec of every child, copied verbatim.
    pub push_secret_spec: Embedded<PushSecretSpec>,
    /// Requeue period (a duration, despite its name); one hour if absent.
    #[serde(default)]
    pub refresh_time: Option<GoDuration>,
    /// Name of every child; empty means the name of this object.
    #[serde(default)]
    pub push_secret_name: String,
    /// Metadata of every child.
    #[serde(default)]
    pub push_secret_metadata: MetadataTemplate,
    /// Selectors, ORed.
    #[serde(default)]
    pub namespace_selectors: Vec<LabelSelector>,
}

/// What the last reconcile found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterPushSecretStatus {
    /// Namespaces that failed, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_namespaces: Vec<NamespaceFailure>,
    /// Namespaces that have their child, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provisioned_namespaces: Vec<String>,
    /// Name used for the children.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub push_secret_name: String,
    /// `Ready` only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
