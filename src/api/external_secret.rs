//! ExternalSecret `external-secrets.io/v1`.

use std::collections::BTreeMap;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use super::generator::GeneratorRef;
use super::{Condition, GROUP, GoDuration, Kind, Object, V1, text_enum};

/// An ExternalSecret as the API server gives it.
pub type ExternalSecret = Object<ExternalSecretKind>;

/// The kind behind [`ExternalSecret`].
pub enum ExternalSecretKind {}

impl Kind for ExternalSecretKind {
    type Spec = ExternalSecretSpec;
    type Status = ExternalSecretStatus;
    type Scope = NamespaceResourceScope;
    const GROUP: &'static str = GROUP;
    const VERSION: &'static str = V1;
    const KIND: &'static str = "ExternalSecret";
    const PLURAL: &'static str = "externalsecrets";
}

/// What to fetch, how to shape it and what to write.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalSecretSpec {
    /// Store of every entry without a source of its own.
    pub secret_store_ref: StoreRef,
    /// When provider data is read again.
    pub refresh_policy: RefreshPolicy,
    /// Period of [`RefreshPolicy::Periodic`]; see [`ExternalSecretSpec::interval`].
    pub refresh_interval: Option<GoDuration>,
    /// When a periodic refresh may or must not happen.
    pub sync_windows: Option<SyncWindows>,
    /// What is written.
    pub target: Target,
    /// Single keys.
    pub data: Vec<DataEntry>,
    /// Whole maps.
    pub data_from: Vec<DataFrom>,
}

impl ExternalSecretSpec {
    /// The refresh interval, one hour if absent. Zero or less switches the periodic refresh off.
    pub fn interval(&self) -> GoDuration {
        self.refresh_interval.unwrap_or(GoDuration::HOUR)
    }
}

text_enum! {
    /// Kind of a referenced store. Absent, empty and anything unknown mean `SecretStore`.
    StoreKind {
        /// In the namespace of the object that refers to it.
        #[default]
        SecretStore,
        /// Cluster-wide.
        ClusterSecretStore,
    }
}

impl StoreKind {
    /// True only for `ClusterSecretStore`.
    pub fn is_cluster(&self) -> bool {
        *self == Self::ClusterSecretStore
    }
}

/// Names a store.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreRef {
    /// Name; empty if every entry has a source of its own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Kind.
    pub kind: StoreKind,
}

text_enum! {
    /// When provider data is read again. Absent, empty and anything unknown behave as `Periodic`.
    RefreshPolicy {
        /// Once an interval.
        #[default]
        Periodic,
        /// Once only.
        CreatedOnce,
        /// When the object changes.
        OnChange,
    }
}

/// Times at which a periodic refresh is allowed or denied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SyncWindows {
    /// Whether `windows` allow or deny.
    pub kind: String,
    /// The windows.
    pub windows: Vec<SyncWindow>,
}

/// One recurring window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SyncWindow {
    /// Cron text (five fields, or a descriptor): the start of each occurrence.
    pub schedule: String,
    /// How long each occurrence lasts.
    pub duration: GoDuration,
}

/// What is written, and what happens to it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Target {
    /// Name of the object; empty means the name of the ExternalSecret.
    pub name: String,
    /// Who owns the object.
    pub creation_policy: CreationPolicy,
    /// What happens when the provider has no data.
    pub deletion_policy: DeletionPolicy,
    /// Blueprint; its presence alone (even empty) changes which metadata is copied.
    pub template: Option<Template>,
    /// Another kind than Secret.
    pub manifest: Option<Manifest>,
    /// Makes the Secret immutable and stops rewrites of an existing one.
    pub immutable: bool,
}

text_enum! {
    /// Who owns the target.
    CreationPolicy {
        /// The ExternalSecret, by owner reference.
        #[default]
        Owner,
        /// Nobody.
        Orphan,
        /// Whoever made it; keys are merged into it.
        Merge,
        /// Nothing is written.
        None,
        /// As `Merge`, but created if missing.
        CreateOrMerge,
    }
}

text_enum! {
    /// What happens to the target when the provider has no data.
    DeletionPolicy {
        /// It stays.
        #[default]
        Retain,
        /// It is deleted.
        Delete,
        /// Its keys of ours are removed.
        Merge,
    }
}

/// The kind to write instead of a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Manifest {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
}

/// Blueprint of the target.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Template {
    /// `type` of the Secret; empty if unset.
    #[serde(rename = "type")]
    pub type_: String,
    /// Only `v2` exists.
    pub engine_version: String,
    /// Metadata of the target, values are templates.
    pub metadata: TemplateMetadata,
    /// Secret key → template.
    pub data: BTreeMap<String, String>,
    /// Whether raw provider keys are kept beside templated ones.
    pub merge_policy: TemplateMergePolicy,
    /// Further template sources, applied in order, before `data`.
    pub template_from: Vec<TemplateFrom>,
}

impl Default for Template {
    fn default() -> Self {
        Self {
            type_: String::new(),
            engine_version: "v2".to_owned(),
            metadata: TemplateMetadata::default(),
            data: BTreeMap::new(),
            merge_policy: TemplateMergePolicy::default(),
            template_from: Vec::new(),
        }
    }
}

/// Metadata of the target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TemplateMetadata {
    /// Label → template.
    pub labels: BTreeMap<String, String>,
    /// Annotation → template.
    pub annotations: BTreeMap<String, String>,
    /// Finalizers added to the target.
    pub finalizers: Vec<String>,
}

text_enum! {
    /// Whether raw provider keys are kept beside templated ones.
    TemplateMergePolicy {
        /// They are not.
        #[default]
        Replace,
        /// They are.
        Merge,
    }
}

/// One further template source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateFrom {
    /// A ConfigMap in the namespace of the ExternalSecret.
    pub config_map: Option<TemplateRef>,
    /// A Secret in the namespace of the ExternalSecret.
    pub secret: Option<TemplateRef>,
    /// Inline template, always [`TemplateScope::KeysAndValues`].
    pub literal: Option<String>,
    /// `Data` (also if absent), `Labels`, `Annotations` in any case, or a path of a manifest target.
    /// An explicit empty text stays empty, and fails when rendered.
    pub target: String,
    /// How each rendered value is decoded.
    pub values_decoding_strategy: DecodingStrategy,
}

impl Default for TemplateFrom {
    fn default() -> Self {
        Self {
            config_map: None,
            secret: None,
            literal: None,
            target: "Data".to_owned(),
            values_decoding_strategy: DecodingStrategy::default(),
        }
    }
}

/// A ConfigMap or Secret holding templates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TemplateRef {
    /// Its name.
    pub name: String,
    /// The keys to use.
    pub items: Vec<TemplateItem>,
}

/// One key of a [`TemplateRef`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateItem {
    /// The key.
    pub key: String,
    /// Whether the template makes one value or a whole map.
    pub template_as: TemplateScope,
}

text_enum! {
    /// What one template makes.
    TemplateScope {
        /// One value, stored under the item's key.
        #[default]
        Values,
        /// YAML of keys and values.
        KeysAndValues,
    }
}

/// One entry of `data`: a provider value under a chosen key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DataEntry {
    /// Key in the provider map.
    pub secret_key: String,
    /// What to fetch.
    pub remote_ref: RemoteRef,
    /// Another store for this entry.
    pub source_ref: Option<SourceRef>,
}

/// One entry of `dataFrom`: a whole map.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DataFrom {
    /// All keys of one remote secret.
    pub extract: Option<RemoteRef>,
    /// All remote secrets that match; comes before `extract` if both are given.
    pub find: Option<Find>,
    /// Key changes, in order.
    pub rewrite: Vec<Rewrite>,
    /// Another store, or a generator.
    pub source_ref: Option<SourceRef>,
}

/// Another source for one entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SourceRef {
    /// A store.
    pub store_ref: Option<StoreRef>,
    /// A generator (`dataFrom` only).
    pub generator_ref: Option<GeneratorRef>,
}

/// Names a remote value. Providers receive all of it; decoding, conversion and the NUL check belong to the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RemoteRef {
    /// Name or path at the provider.
    pub key: String,
    /// Part of the value; empty means all of it.
    pub property: String,
    /// Version; empty means the newest.
    pub version: String,
    /// Metadata instead of the value.
    pub metadata_policy: MetadataPolicy,
    /// How invalid keys are changed (`extract` only).
    pub conversion_strategy: ConversionStrategy,
    /// How the value is decoded.
    pub decoding_strategy: DecodingStrategy,
    /// What a NUL byte in the value means.
    pub null_byte_policy: NullBytePolicy,
}

text_enum! {
    /// Whether a provider gives a secret's metadata instead of its value.
    MetadataPolicy {
        /// The value.
        #[default]
        None,
        /// Labels, annotations or tags.
        Fetch,
    }
}

text_enum! {
    /// How characters that no Secret key may hold are changed.
    ConversionStrategy {
        /// Each becomes `_`.
        #[default]
        Default,
        /// Each becomes `_Uxxxx_`.
        Unicode,
    }
}

text_enum! {
    /// How a value is decoded.
    DecodingStrategy {
        /// Not at all.
        #[default]
        None,
        /// Base64 or URL-safe base64 if it is that, else not at all.
        Auto,
        /// Base64.
        Base64,
        /// URL-safe base64.
        Base64URL,
    }
}

text_enum! {
    /// What a NUL byte in a value means.
    NullBytePolicy {
        /// Nothing.
        #[default]
        Ignore,
        /// A failure.
        Fail,
    }
}

/// A search at the provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Find {
    /// Where to search; its meaning is the provider's.
    pub path: Option<String>,
    /// By name.
    pub name: Option<FindName>,
    /// By tags or labels; present but empty is not absent.
    pub tags: Option<BTreeMap<String, String>>,
    /// How invalid keys are changed.
    pub conversion_strategy: ConversionStrategy,
    /// How each value is decoded.
    pub decoding_strategy: DecodingStrategy,
    /// What a NUL byte in a value means.
    pub null_byte_policy: NullBytePolicy,
}

/// A search by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FindName {
    /// RE2, unanchored.
    #[serde(rename = "regexp")]
    pub regexp: String,
}

/// One key change; exactly one member is set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Rewrite {
    /// Values are JSON objects to merge.
    pub merge: Option<RewriteMerge>,
    /// Regular expression over each key.
    pub regexp: Option<RewriteRegexp>,
    /// Template over each key.
    pub transform: Option<RewriteTransform>,
}

/// Merge the properties of all values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RewriteMerge {
    /// Key of the merged object ([`MergeStrategy::JSON`] only).
    pub into: String,
    /// Keys whose properties win, the last most.
    pub priority: Vec<String>,
    /// What a missing priority key means.
    pub priority_policy: PriorityPolicy,
    /// What a property seen twice means.
    pub conflict_policy: ConflictPolicy,
    /// What comes out.
    pub strategy: MergeStrategy,
}

text_enum! {
    /// What a missing priority key means.
    PriorityPolicy {
        /// A failure.
        #[default]
        Strict,
        /// Nothing.
        IgnoreNotFound,
    }
}

text_enum! {
    /// What a property seen twice means.
    ConflictPolicy {
        /// A failure.
        #[default]
        Error,
        /// The later one wins.
        Ignore,
    }
}

text_enum! {
    /// What a merge gives.
    MergeStrategy {
        /// The merged properties alone.
        #[default]
        Extract,
        /// The input and the merged object under one more key.
        JSON,
    }
}

/// Regular expression over each key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RewriteRegexp {
    /// RE2.
    pub source: String,
    /// Replacement with `$1`, `${name}`.
    pub target: String,
}

/// Template over each key (`.value`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RewriteTransform {
    /// The template.
    pub template: String,
}

/// What the last reconciles found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExternalSecretStatus {
    /// Start of the last successful reconcile, whole seconds.
    pub refresh_time: Option<Time>,
    /// `<generation>-<hash>` at that success; empty before the first.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub synced_resource_version: String,
    /// Only `Ready` is ever stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Name of the Secret last written; every status write carries it, also empty.
    pub binding: Binding,
}

/// Service binding: where the Secret is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Binding {
    /// Name of the Secret.
    pub name: String,
}
