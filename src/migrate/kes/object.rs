//! One KES object: legacy field names resolved, every field with the path it was found at.

use crate::api::yaml_tree::{Mapping, Value};
use crate::migrate::kes::finding::{Code, Findings};

/// Group and version of KES.
pub const API_VERSION: &str = "kubernetes-client.io/v1";

/// True for KES's `ExternalSecret`, whatever its state.
#[must_use]
pub fn is_kes(document: &Value) -> bool {
    text(document.get("apiVersion")) == Some(API_VERSION) && text(document.get("kind")) == Some("ExternalSecret")
}

/// The text of a value that is a text.
#[must_use]
pub fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str)
}

/// Texts, numbers and booleans as the text KES would have put into a request.
#[must_use]
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(s) => Some(s.clone()),
        Value::Number(n) => Some(n.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        _ => None,
    }
}

/// The backends of KES, and the two names ESO has nothing for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Backend {
    /// AWS Secrets Manager.
    SecretsManager,
    /// AWS Systems Manager Parameter Store.
    SystemManager,
    /// `HashiCorp` Vault.
    Vault,
    /// Azure Key Vault.
    AzureKeyVault,
    /// Google Secret Manager.
    GcpSecretsManager,
    /// IBM Cloud Secrets Manager.
    IbmSecretsManager,
    /// Akeyless.
    Akeyless,
    /// Alibaba Cloud, which ESO no longer serves.
    Alicloud,
}

impl Backend {
    /// By the value of `backendType`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "secretsManager" | "secretManager" => Backend::SecretsManager,
            "systemManager" => Backend::SystemManager,
            "vault" => Backend::Vault,
            "azureKeyVault" => Backend::AzureKeyVault,
            "gcpSecretsManager" => Backend::GcpSecretsManager,
            "ibmcloudSecretsManager" => Backend::IbmSecretsManager,
            "akeyless" => Backend::Akeyless,
            "alicloudSecretsManager" => Backend::Alicloud,
            _ => return None,
        })
    }

    /// The present-day value of `backendType`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Backend::SecretsManager => "secretsManager",
            Backend::SystemManager => "systemManager",
            Backend::Vault => "vault",
            Backend::AzureKeyVault => "azureKeyVault",
            Backend::GcpSecretsManager => "gcpSecretsManager",
            Backend::IbmSecretsManager => "ibmcloudSecretsManager",
            Backend::Akeyless => "akeyless",
            Backend::Alicloud => "alicloudSecretsManager",
        }
    }

    /// True for the two AWS backends.
    #[must_use]
    pub fn is_aws(self) -> bool {
        matches!(self, Backend::SecretsManager | Backend::SystemManager)
    }
}

/// One KES object, ready for conversion.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// `metadata`.
    pub metadata: &'a Mapping,
    /// Name.
    pub name: String,
    /// Namespace, the default filled in.
    pub namespace: String,
    /// `spec` or `secretDescriptor`.
    pub spec: &'a Mapping,
    /// Which of the two, as the start of every path.
    pub root: &'static str,
    /// `data` or `properties`.
    pub data: &'a [Value],
    /// Which of the two, with the root.
    pub data_path: String,
    /// The backend.
    pub backend: Backend,
}

impl<'a> Source<'a> {
    /// A field of the spec that is a non-empty text.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        self.spec.get(name).and_then(scalar).filter(|s| !s.is_empty())
    }

    /// The path of a field of the spec.
    #[must_use]
    pub fn path(&self, field: &str) -> String {
        format!("{}.{field}", self.root)
    }

    /// Reads an object; `None` when it is refused, with the reason among the findings.
    #[must_use]
    pub fn read(document: &'a Value, default_namespace: &str, findings: &mut Findings) -> Option<Self> {
        let metadata = document.get("metadata").and_then(Value::as_mapping);
        let name = text(metadata.and_then(|m| m.get("name"))).filter(|n| !n.is_empty());
        let (Some(metadata), Some(name)) = (metadata, name) else {
            findings.add(Code::Schema, "metadata.name", "the object has no name");
            return None;
        };
        let namespace = text(metadata.get("namespace"))
            .filter(|n| !n.is_empty())
            .unwrap_or(default_namespace);
        let Some((root, spec)) = spec(document, findings) else {
            findings.add(Code::Schema, "spec", "the object has no spec");
            return None;
        };
        let backend = backend(root, spec, findings)?;
        let (data_path, data) = data(root, spec, findings)?;
        if spec.get("type").is_some() {
            findings.add(Code::LegacyField, format!("{root}.type"), "read as template.type");
        }
        Some(Source {
            metadata,
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            spec,
            root,
            data,
            data_path,
            backend,
        })
    }
}

/// Name and namespace for reports, also of objects that cannot be read.
#[must_use]
pub fn identity(document: &Value, default_namespace: &str) -> (String, String) {
    let field = |n: &str| text(document.get("metadata").and_then(|m| m.get(n))).filter(|n| !n.is_empty());
    (
        field("namespace").unwrap_or(default_namespace).to_owned(),
        field("name").unwrap_or_default().to_owned(),
    )
}

fn spec<'a>(document: &'a Value, findings: &mut Findings) -> Option<(&'static str, &'a Mapping)> {
    if let Some(spec) = document.get("spec").and_then(Value::as_mapping) {
        return Some(("spec", spec));
    }
    let spec = document.get("secretDescriptor").and_then(Value::as_mapping)?;
    findings.add(Code::LegacyField, "secretDescriptor", "read as spec");
    Some(("secretDescriptor", spec))
}

fn backend(root: &str, spec: &Mapping, findings: &mut Findings) -> Option<Backend> {
    let path = format!("{root}.backendType");
    let name = text(spec.get("backendType")).unwrap_or_default();
    let Some(backend) = Backend::parse(name) else {
        findings.add(
            Code::Schema,
            path,
            if name.is_empty() {
                "backendType is missing".to_owned()
            } else {
                format!("unknown backendType {name:?}")
            },
        );
        return None;
    };
    if backend.as_str() != name {
        findings.add(Code::LegacyField, &path, format!("read as {}", backend.as_str()));
    }
    if backend == Backend::Alicloud {
        findings.add(
            Code::BackendUnsupported,
            path,
            "ESO has no Alibaba Cloud provider since 2.0; use the webhook provider or another store",
        );
        return None;
    }
    Some(backend)
}

fn data<'a>(root: &str, spec: &'a Mapping, findings: &mut Findings) -> Option<(String, &'a [Value])> {
    let mut field = "data";
    if spec.get("properties").is_some_and(|v| !v.is_null()) {
        findings.add(
            Code::LegacyField,
            format!("{root}.properties"),
            "read as data; data wins when both exist",
        );
        if spec.get("data").is_none_or(Value::is_null) {
            field = "properties";
        }
    }
    let path = format!("{root}.{field}");
    match spec.get(field) {
        None | Some(Value::Null) => Some((path, &[])),
        Some(Value::Sequence(list)) => Some((path, list)),
        Some(_) => {
            findings.add(Code::Schema, path, "not a list");
            None
        }
    }
}
