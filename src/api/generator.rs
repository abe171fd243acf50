//! References to generators, ClusterGenerator and GeneratorState `generators.external-secrets.io/v1alpha1`.
//!
//! The specs of the single generators stay raw here: each generator decodes its own.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use serde::{Deserialize, Serialize};

use super::{Condition, GENERATORS_API_VERSION, GENERATORS_GROUP, Kind, Object, Raw, V1ALPHA1};

/// A ClusterGenerator as the API server gives it.
pub type ClusterGenerator = Object<ClusterGeneratorKind>;
/// A GeneratorState as the API server gives it.
pub type GeneratorState = Object<GeneratorStateKind>;

/// The kind behind [`ClusterGenerator`].
pub enum ClusterGeneratorKind {}
/// The kind behind [`GeneratorState`].
pub enum GeneratorStateKind {}

impl Kind for ClusterGeneratorKind {
    type Spec = ClusterGeneratorSpec;
    type Status = NoStatus;
    type Scope = ClusterResourceScope;
    const GROUP: &'static str = GENERATORS_GROUP;
    const VERSION: &'static str = V1ALPHA1;
    const KIND: &'static str = "ClusterGenerator";
    const PLURAL: &'static str = "clustergenerators";
}

impl Kind for GeneratorStateKind {
    type Spec = GeneratorStateSpec;
    type Status = GeneratorStateStatus;
    type Scope = NamespaceResourceScope;
    const GROUP: &'static str = GENERATORS_GROUP;
    const VERSION: &'static str = V1ALPHA1;
    const KIND: &'static str = "GeneratorState";
    const PLURAL: &'static str = "generatorstates";
    const KEEP_NULLS: bool = true;
}

/// Names a generator.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GeneratorRef {
    /// `generators.external-secrets.io/v1alpha1` if absent.
    pub api_version: String,
    /// One of [`GENERATOR_KINDS`], or `ClusterGenerator`.
    pub kind: String,
    /// Name, in the namespace of the consumer unless the kind is `ClusterGenerator`.
    pub name: String,
}

impl Default for GeneratorRef {
    fn default() -> Self {
        Self {
            api_version: GENERATORS_API_VERSION.to_owned(),
            kind: String::new(),
            name: String::new(),
        }
    }
}

/// A generator for every namespace.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ClusterGeneratorSpec {
    /// One of [`GENERATOR_KINDS`].
    pub kind: String,
    /// Spec member (`passwordSpec`, …) → raw spec; exactly one by schema.
    pub generator: BTreeMap<String, Raw>,
}

/// What is needed to revoke a generated credential.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GeneratorStateSpec {
    /// When the credential is to be revoked; the newest of an owner has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub garbage_collection_deadline: Option<Time>,
    /// The generator object as it was when it ran.
    pub resource: Raw,
    /// What the generator returned for its clean-up.
    pub state: Raw,
}

/// Conditions exist in the schema; no controller ever stores one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GeneratorStateStatus {
    /// Always empty in practice.
    pub conditions: Vec<Condition>,
}

/// The status of a kind that has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoStatus {}

/// One row of [`GENERATOR_KINDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeneratorKindInfo {
    /// `kind`.
    pub kind: &'static str,
    /// Plural name, as in URLs.
    pub plural: &'static str,
    /// The member under `spec.generator` of a ClusterGenerator.
    pub spec_member: &'static str,
    /// True where `spec.controller` names a controller class.
    pub has_controller: bool,
}

/// Every namespaced generator kind of ESO 2.9.0.
#[rustfmt::skip]
pub const GENERATOR_KINDS: &[GeneratorKindInfo] = &[
    row("ACRAccessToken", "acraccesstokens", "acrAccessTokenSpec", false),
    row("BeyondtrustWorkloadCredentialsDynamicSecret", "beyondtrustworkloadcredentialsdynamicsecrets", "beyondtrustWorkloadCredentialsDynamicSecretSpec", true),
    row("CloudsmithAccessToken", "cloudsmithaccesstokens", "cloudsmithAccessTokenSpec", false),
    row("ECRAuthorizationToken", "ecrauthorizationtokens", "ecrAuthorizationTokenSpec", false),
    row("Fake", "fakes", "fakeSpec", true),
    row("GCRAccessToken", "gcraccesstokens", "gcrAccessTokenSpec", false),
    row("GithubAccessToken", "githubaccesstokens", "githubAccessTokenSpec", false),
    row("GitlabDeployToken", "gitlabdeploytokens", "gitlabDeployTokenSpec", false),
    row("Grafana", "grafanas", "grafanaSpec", false),
    row("MFA", "mfas", "mfaSpec", false),
    row("Password", "passwords", "passwordSpec", false),
    row("QuayAccessToken", "quayaccesstokens", "quayAccessTokenSpec", false),
    row("SSHKey", "sshkeys", "sshKeySpec", false),
    row("STSSessionToken", "stssessiontokens", "stsSessionTokenSpec", false),
    row("UUID", "uuids", "uuidSpec", false),
    row("VaultDynamicSecret", "vaultdynamicsecrets", "vaultDynamicSecretSpec", true),
    row("Webhook", "webhooks", "webhookSpec", false),
];

const fn row(
    kind: &'static str,
    plural: &'static str,
    spec_member: &'static str,
    has_controller: bool,
) -> GeneratorKindInfo {
    GeneratorKindInfo {
        kind,
        plural,
        spec_member,
        has_controller,
    }
}

/// The row of `kind`, if it is a namespaced generator kind.
pub fn generator_kind(kind: &str) -> Option<&'static GeneratorKindInfo> {
    GENERATOR_KINDS.iter().find(|row| row.kind == kind)
}
