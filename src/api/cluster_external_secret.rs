//! ClusterExternalSecret `external-secrets.io/v1`.

use k8s_openapi::ClusterResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use super::external_secret::ExternalSecretSpec;
use super::{Condition, Embedded, GROUP, GoDuration, Kind, MetadataTemplate, Object, V1};

/// A ClusterExternalSecret as the API server gives it.
pub type ClusterExternalSecret = Object<ClusterExternalSecretKind>;

/// The kind behind [`ClusterExternalSecret`].
pub enum ClusterExternalSecretKind {}

impl Kind for ClusterExternalSecretKind {
    type Spec = ClusterExternalSecretSpec;
    type Status = ClusterExternalSecretStatus;
    type Scope = ClusterResourceScope;
    const GROUP: &'static str = GROUP;
    const VERSION: &'static str = V1;
    const KIND: &'static str = "ClusterExternalSecret";
    const PLURAL: &'static str = "clusterexternalsecrets";
}

/// One ExternalSecret for many namespaces.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterExternalSecretSpec {
    /// Spec of every child, copied verbatim.
    pub external_secret_spec: Embedded<ExternalSecretSpec>,
    /// Name of every child; empty means the name of this object.
    #[serde(default)]
    pub external_secret_name: String,
    /// Metadata of every child, exactly.
    #[serde(default)]
    pub external_secret_metadata: MetadataTemplate,
    /// Deprecated single selector, ORed with the others.
    #[serde(default)]
    pub namespace_selector: Option<LabelSelector>,
    /// Selectors, ORed.
    #[serde(default)]
    pub namespace_selectors: Vec<LabelSelector>,
    /// Deprecated list of names, compared with the label `kubernetes.io/metadata.name`.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Requeue period (a duration, despite its name); one hour if absent, zero means never.
    #[serde(default)]
    pub refresh_time: Option<GoDuration>,
}

/// What the last reconcile found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterExternalSecretStatus {
    /// Name used for the children.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub external_secret_name: String,
    /// Namespaces that failed, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_namespaces: Vec<NamespaceFailure>,
    /// Namespaces that have their child, sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub provisioned_namespaces: Vec<String>,
    /// `Ready` only, without `reason` and without `lastTransitionTime`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// A namespace and why it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamespaceFailure {
    /// The namespace; `unknown` if none could be selected.
    pub namespace: String,
    /// ESO's text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}
