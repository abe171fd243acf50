//! What the caller of `fleet bundle` decides.
use super::discover::Dir;
use super::error::FleetError;

/// A `SECRET/KEY` reference for Helm values that are read on the downstream cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuesFrom {
    /// Namespace of the Secret; empty = the release's namespace.
    pub namespace: String,
    /// Name of the Secret.
    pub secret: String,
    /// Key that holds one YAML document.
    pub key: String,
}

impl ValuesFrom {
    /// Parses `SECRET/KEY` or `NAMESPACE/SECRET/KEY`. `SECRET` alone takes Fleet's default key.
    ///
    /// # Errors
    /// Empty parts or more than three.
    pub fn parse(text: &str) -> Result<Self, FleetError> {
        let parts: Vec<&str> = text.split('/').collect();
        let (namespace, secret, key) = match parts.as_slice() {
            [secret] => ("", *secret, "values.yaml"),
            [secret, key] => ("", *secret, *key),
            [namespace, secret, key] => (*namespace, *secret, *key),
            _ => ("", "", ""),
        };
        if !super::names::is_object_name(secret) || key.is_empty() {
            return Err(FleetError::Usage(format!(
                "`{text}` is not of the form SECRET/KEY or NAMESPACE/SECRET/KEY"
            )));
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            secret: secret.to_owned(),
            key: key.to_owned(),
        })
    }

    /// The entry of `helm.valuesFrom`.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let mut reference = serde_json::json!({"name": self.secret, "key": self.key});
        if !self.namespace.is_empty() {
            reference["namespace"] = serde_json::Value::String(self.namespace.clone());
        }
        serde_json::json!({"secretKeyRef": reference})
    }
}

/// How drift is corrected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CorrectDrift {
    /// Replace objects that cannot be patched.
    pub force: bool,
    /// Keep failed rollbacks in the Helm history.
    pub keep_fail_history: bool,
}

/// A file handed in beside the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// Path as the user knows it.
    pub path: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// A directory and, for a driven scan or `-b`, its options file relative to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The directory.
    pub dir: Dir,
    /// Options file, empty for `fleet.yaml`.
    pub file: String,
    /// Whether directories below are searched for more bundles.
    pub scan: bool,
}

/// Options of one call. Names are those of the flags.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each stands for a flag of the command line"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// NAME, first part of every bundle's name.
    pub name: String,
    /// Namespace of the bundles.
    pub namespace: String,
    /// Directories in the order given.
    pub sources: Vec<Source>,
    /// `--targets-file`.
    pub targets_file: Option<NamedFile>,
    /// `--compress`.
    pub compress: bool,
    /// `-l`; labels of the fleet file win.
    pub labels: Vec<(String, String)>,
    /// `--commit`; never set on its own.
    pub commit: String,
    /// `-a`.
    pub service_account: String,
    /// `--sync-generation`; always written, zero is left out.
    pub sync_generation: i64,
    /// `--target-namespace`, forced on every object.
    pub target_namespace: String,
    /// `--default-namespace`, for objects that name none; the fleet file wins.
    pub default_namespace: String,
    /// `--paused`.
    pub paused: bool,
    /// `--keep-resources`.
    pub keep_resources: bool,
    /// `--delete-namespace`.
    pub delete_namespace: bool,
    /// `--correct-drift…`.
    pub correct_drift: Option<CorrectDrift>,
    /// `--name`: pins the name when exactly one bundle results.
    pub bundle_name: String,
    /// `--depends-on`: names of bundles.
    pub depends_on: Vec<String>,
    /// `--values-from`.
    pub values_from: Vec<ValuesFrom>,
    /// `--lenient`: unknown keys are ignored.
    pub lenient: bool,
    /// `--allow-secret-content`.
    pub allow_secret_content: bool,
}

/// Splits `k=v,k2=v2` arguments of `-l`; a part without `=` is a label with an empty value.
///
/// # Errors
/// A part with an empty key.
pub fn labels(arguments: &[String]) -> Result<Vec<(String, String)>, FleetError> {
    arguments
        .iter()
        .flat_map(|argument| argument.split(','))
        .filter(|part| !part.is_empty())
        .map(|part| match part.split_once('=').unwrap_or((part, "")) {
            ("", _) => Err(FleetError::Label { label: part.to_owned() }),
            (key, value) => Ok((key.to_owned(), value.to_owned())),
        })
        .collect()
}
