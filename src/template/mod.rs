//! From fetched data to what a Secret (or another object) should hold.
//!
//! ```text
//! fetched data ──┐
//! blueprint ─────┼─► render ──► Rendered: type, data, labels, annotations, finalizers
//! sources ───────┘   (scope: one template text ─► keys and values; engine: text ─► bytes)
//! ```
//!
//! The room works on plain values and knows no API types. Order and precedence of the parts are the operator's; so
//! are all error texts behind [`TemplateError::go_text`]. Every other text of an error is free of fetched values.

pub mod engine;
mod error;
mod hint;
mod manifest;
mod path;
mod scope;
mod secret;
mod transform;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use zeroize::Zeroizing;

pub use engine::RandomSource;
pub use error::{Origin, TemplateError};
pub use manifest::{ManifestInput, render_manifest};
pub use secret::render;
pub use transform::transform_keys;

/// Keys and secret bytes; the bytes are wiped when dropped.
pub type SecretMap = BTreeMap<String, Zeroizing<Vec<u8>>>;

/// Labels or annotations.
pub type TextMap = BTreeMap<String, String>;

/// `spec.target.template` as the user wrote it, with the defaults of the resource definition applied.
#[derive(Clone, Debug, Default)]
pub struct Blueprint {
    /// `engineVersion`; only `v2` exists. Empty counts as `v2`.
    pub engine_version: String,
    /// `type`; empty keeps the type of the existing Secret.
    pub secret_type: String,
    /// `mergePolicy: Merge`: all fetched keys are kept beside the rendered ones.
    pub merge: bool,
    /// `metadata.labels`: values are templates, keys are not.
    pub labels: TextMap,
    /// `metadata.annotations`: values are templates, keys are not.
    pub annotations: TextMap,
    /// `metadata.finalizers`
    pub finalizers: Vec<String>,
    /// `data`: values are templates, keys are not.
    pub data: BTreeMap<String, String>,
    /// `templateFrom`, in order.
    pub template_from: Vec<TemplateFrom>,
}

/// One entry of `templateFrom`.
#[derive(Clone, Debug, Default)]
pub struct TemplateFrom {
    /// `target`; absent counts as `Data`.
    pub target: Option<String>,
    /// `literal`
    pub literal: Option<String>,
    /// `configMap`
    pub config_map: Option<SourceRef>,
    /// `secret`
    pub secret: Option<SourceRef>,
    /// `valuesDecodingStrategy`
    pub decoding: Decoding,
}

/// A ConfigMap or Secret that holds templates.
#[derive(Clone, Debug, Default)]
pub struct SourceRef {
    /// Its name, in the namespace of the ExternalSecret.
    pub name: String,
    /// The items to use, in order.
    pub items: Vec<SourceItem>,
}

/// One item of a source.
#[derive(Clone, Debug, Default)]
pub struct SourceItem {
    /// The key in the source.
    pub key: String,
    /// `templateAs`
    pub scope: Scope,
}

/// `templateAs`: what the text of a template becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The rendered text is the value of one key.
    #[default]
    Values,
    /// The rendered text is a YAML map of keys and values.
    KeysAndValues,
}

/// `valuesDecodingStrategy`: what happens to a rendered value before it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decoding {
    /// Nothing.
    #[default]
    None,
    /// It is read as standard base64.
    Base64,
    /// It is read as URL-safe base64.
    Base64Url,
    /// The first of base64, URL-safe base64, and as it is.
    Auto,
}

/// The ConfigMaps and Secrets that `templateFrom` names, as far as they exist.
#[derive(Clone, Default)]
pub struct Sources {
    /// `data` of ConfigMaps by name.
    pub config_maps: BTreeMap<String, BTreeMap<String, String>>,
    /// `data` of Secrets by name, decoded.
    pub secrets: BTreeMap<String, SecretMap>,
}

/// The marks around an action; an empty one means `{{` or `}}`.
#[derive(Clone, Debug, Default)]
pub struct Delimiters {
    /// Opens an action.
    pub left: String,
    /// Closes an action.
    pub right: String,
}

/// What a run may use besides its input.
pub struct Surroundings<'a> {
    /// What `now` returns: seconds and nanoseconds since the Unix epoch.
    pub now: (i64, u32),
    /// Where random bytes come from.
    pub random: &'a mut dyn RandomSource,
}

/// The Secret as it is in the cluster, reduced to what rendering looks at.
#[derive(Clone, Default)]
pub struct ExistingSecret {
    /// `type`; empty when unknown.
    pub secret_type: String,
    /// `data`, decoded.
    pub data: SecretMap,
    /// `metadata.labels`
    pub labels: TextMap,
    /// `metadata.annotations`
    pub annotations: TextMap,
    /// `metadata.finalizers`
    pub finalizers: Vec<String>,
    /// It is being deleted: finalizers are not added any more.
    pub deleting: bool,
}

/// The keys this ExternalSecret has written before, by field ownership. They are removed first.
#[derive(Clone, Debug, Default)]
pub struct ManagedKeys {
    /// Keys of `data`.
    pub data: BTreeSet<String>,
    /// Keys of `metadata.labels`.
    pub labels: BTreeSet<String>,
    /// Keys of `metadata.annotations`.
    pub annotations: BTreeSet<String>,
}

/// Everything a Secret is rendered from.
pub struct RenderInput<'a> {
    /// What the providers returned: the only data a template sees.
    pub fetched: &'a SecretMap,
    /// `spec.target.template`, if there is one.
    pub blueprint: Option<&'a Blueprint>,
    /// Labels of the ExternalSecret: copied when there is no template.
    pub labels: &'a TextMap,
    /// Annotations of the ExternalSecret: copied when there is no template.
    pub annotations: &'a TextMap,
    /// What `templateFrom` refers to.
    pub sources: &'a Sources,
    /// The Secret in the cluster, if there is one.
    pub existing: Option<&'a ExistingSecret>,
    /// What this ExternalSecret owns of it.
    pub managed: &'a ManagedKeys,
    /// `creationPolicy` is `Merge` or `CreateOrMerge`: foreign keys of `data` stay.
    pub keep_existing_data: bool,
    /// The marks around actions.
    pub delimiters: &'a Delimiters,
}

/// What the Secret should hold.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// `type`; empty leaves the choice to the API server.
    pub secret_type: String,
    /// `data`, not yet encoded.
    pub data: SecretMap,
    /// `metadata.labels`
    pub labels: TextMap,
    /// `metadata.annotations`
    pub annotations: TextMap,
    /// `metadata.finalizers`
    pub finalizers: Vec<String>,
}

impl std::fmt::Debug for Rendered {
    /// Names only: values are secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rendered")
            .field("secret_type", &self.secret_type)
            .field("data", &self.data.keys())
            .field("labels", &self.labels.keys())
            .field("annotations", &self.annotations.keys())
            .field("finalizers", &self.finalizers)
            .finish()
    }
}

/// Where the result of a template goes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Data,
    Labels,
    Annotations,
    /// Any other text.
    Path(String),
}

impl Target {
    /// `Data`, `Labels`, `Annotations` in any case; absent counts as `Data`.
    fn of(text: Option<&str>) -> Self {
        let text = text.unwrap_or("Data");
        match text.to_lowercase().as_str() {
            "data" => Self::Data,
            "labels" => Self::Labels,
            "annotations" => Self::Annotations,
            _ => Self::Path(text.to_owned()),
        }
    }
}
