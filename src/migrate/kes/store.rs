//! Stores: one per distinct identity, named by what makes it distinct.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use super::backend::VaultPaths;
use super::entries::mapping;
use super::finding::{Code, Findings};
use super::object::{Backend, Source};
use super::options::{Options, StoreKind, StoreTarget};
use crate::api::yaml_tree::{Mapping, Value};

/// What makes two objects need two stores. Effective values, empty where a field does not apply.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    fields: [(&'static str, String); 9],
}

impl Identity {
    /// Reads the identity of an object.
    #[must_use]
    pub fn of(source: &Source<'_>, vault: Option<&VaultPaths>, options: &Options) -> Self {
        let b = source.backend;
        let when = |applies: bool, value: Option<String>| {
            if applies {
                value.unwrap_or_default()
            } else {
                String::new()
            }
        };
        let spec = |field: &str| source.field(field);
        let region = spec("region")
            .or_else(|| options.env("AWS_REGION"))
            .or_else(|| options.env("AWS_DEFAULT_REGION"));
        let is_vault = b == Backend::Vault;
        Self {
            fields: [
                ("backendType", b.as_str().to_owned()),
                ("region", when(b.is_aws(), region)),
                ("roleArn", when(b.is_aws(), spec("roleArn"))),
                (
                    "vaultMountPoint",
                    when(
                        is_vault,
                        spec("vaultMountPoint").or_else(|| options.env("DEFAULT_VAULT_MOUNT_POINT")),
                    ),
                ),
                (
                    "vaultRole",
                    when(
                        is_vault,
                        spec("vaultRole").or_else(|| options.env("DEFAULT_VAULT_ROLE")),
                    ),
                ),
                ("kvVersion", vault.map(|v| v.version.to_string()).unwrap_or_default()),
                ("vaultPath", vault.map(|v| v.mount.clone()).unwrap_or_default()),
                ("projectId", when(b == Backend::GcpSecretsManager, spec("projectId"))),
                ("keyVaultName", when(b == Backend::AzureKeyVault, spec("keyVaultName"))),
            ],
        }
    }

    /// One field.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        self.fields.iter().find(|(n, _)| *n == name).map_or("", |(_, v)| v)
    }

    /// The name of the store: the same in every run.
    #[must_use]
    pub fn store_name(&self) -> String {
        let mut hash = Sha256::new();
        for (name, value) in &self.fields {
            hash.update(format!("{name}={value}\n"));
        }
        let digest = hash.finalize();
        let start = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
        format!("kes-{}-{start:08x}", self.get("backendType").to_ascii_lowercase())
    }

    /// The existing store a map names for this identity.
    #[must_use]
    pub fn mapped<'a>(&self, options: &'a Options) -> Option<&'a StoreTarget> {
        let name = self.store_name();
        let equal = |field: &str, want: &str| {
            if field == "name" {
                name == want
            } else {
                self.get(field) == want
            }
        };
        options
            .settings
            .store_map
            .iter()
            .find(|m| m.fields.iter().all(|(f, want)| equal(f, want)))
            .map(|m| &m.store)
    }
}

/// `spec.provider` of a store, with everything a reader should know about it.
pub fn provider(source: &Source<'_>, identity: &Identity, options: &Options, findings: &mut Findings) -> Mapping {
    let mut auth = Auth::find(source.backend, options, findings);
    let (name, provider) = match source.backend {
        Backend::SecretsManager | Backend::SystemManager => ("aws", aws(source, identity, auth, findings)),
        Backend::Vault => ("vault", vault(source, identity, options, auth, findings)),
        Backend::AzureKeyVault => ("azurekv", azure(source, identity, options, auth, findings)),
        Backend::GcpSecretsManager => {
            let mut gcp = Mapping::new();
            match identity.get("projectId") {
                "" => findings.add(
                    Code::ProjectIdMissing,
                    source.path("projectId"),
                    "KES used the project of its credentials; ESO has to be told",
                ),
                project => _ = gcp.insert("projectID".into(), project.into()),
            }
            insert_auth(&mut gcp, auth);
            ("gcpsm", gcp)
        }
        Backend::IbmSecretsManager => {
            let mut ibm = Mapping::new();
            if let Some(url) = options.env("IBM_CLOUD_SECRETS_MANAGER_API_ENDPOINT") {
                ibm.insert("serviceUrl".into(), url.into());
            }
            insert_auth(&mut ibm, auth);
            ("ibm", ibm)
        }
        Backend::Akeyless | Backend::Alicloud => {
            let url = options
                .env("AKEYLESS_API_ENDPOINT")
                .unwrap_or_else(|| "https://api.akeyless.io".to_owned());
            let mut akeyless = mapping([("akeylessGWApiURL", url.into())]);
            if let Some(block) = auth.block.take() {
                akeyless.insert("authSecretRef".into(), block.into());
            }
            ("akeyless", akeyless)
        }
    };
    environment_findings(source, options, findings);
    mapping([(name, provider.into())])
}

fn insert_auth(provider: &mut Mapping, auth: Auth) {
    if let Some(block) = auth.block.filter(|b| !b.is_empty()) {
        provider.insert("auth".into(), block.into());
    }
}

fn aws(source: &Source<'_>, identity: &Identity, auth: Auth, findings: &mut Findings) -> Mapping {
    let service = if source.backend == Backend::SecretsManager {
        "SecretsManager"
    } else {
        "ParameterStore"
    };
    let mut out = mapping([("service", service.into())]);
    match identity.get("region") {
        "" => findings.add(
            Code::RegionMissing,
            source.path("region"),
            "ESO needs a region; neither the object nor the controller names one",
        ),
        region => _ = out.insert("region".into(), region.into()),
    }
    if !identity.get("roleArn").is_empty() {
        out.insert("role".into(), identity.get("roleArn").into());
    }
    insert_auth(&mut out, auth);
    out
}

fn vault(source: &Source<'_>, identity: &Identity, options: &Options, auth: Auth, findings: &mut Findings) -> Mapping {
    let server = options
        .env("VAULT_ADDR")
        .unwrap_or_else(|| "http://127.0.0.1:8200".to_owned());
    let mut out = mapping([("server", server.into())]);
    if let Some(namespace) = options.env("VAULT_NAMESPACE") {
        out.insert("namespace".into(), namespace.into());
    }
    if !identity.get("vaultPath").is_empty() {
        out.insert("path".into(), identity.get("vaultPath").into());
    }
    out.insert("version".into(), format!("v{}", identity.get("kvVersion")).into());
    let mut block = auth
        .block
        .unwrap_or_else(|| mapping([("kubernetes", Mapping::new().into())]));
    if let Some(given) = block.get("kubernetes").and_then(Value::as_mapping).cloned() {
        let mut kubernetes = Mapping::new();
        for (field, identity_field, spec_field) in [
            ("mountPath", "vaultMountPoint", "vaultMountPoint"),
            ("role", "vaultRole", "vaultRole"),
        ] {
            match (identity.get(identity_field), given.get(field)) {
                ("", None) => findings.add(
                    Code::Schema,
                    source.path(spec_field),
                    "neither the object nor the controller names it",
                ),
                ("", Some(_)) => {}
                (value, _) => _ = kubernetes.insert(field.into(), value.into()),
            }
        }
        for (key, value) in given {
            if kubernetes.get(&key).is_none() {
                kubernetes.insert(key, value);
            }
        }
        block.insert("kubernetes".into(), kubernetes.into());
    }
    out.insert("auth".into(), block.into());
    out
}

fn azure(source: &Source<'_>, identity: &Identity, options: &Options, auth: Auth, findings: &mut Findings) -> Mapping {
    let block = auth.block.unwrap_or_default();
    let auth_type = if block.get("authSecretRef").is_some() {
        "ServicePrincipal"
    } else if block.get("serviceAccountRef").is_some() {
        "WorkloadIdentity"
    } else {
        "ManagedIdentity"
    };
    let mut out = mapping([("authType", auth_type.into())]);
    match identity.get("keyVaultName") {
        "" => findings.add(Code::Schema, source.path("keyVaultName"), "keyVaultName is missing"),
        vault => {
            let suffix = options
                .env("AZURE_KEY_VAULT_DNS_SUFFIX")
                .unwrap_or_else(|| "vault.azure.net".to_owned());
            out.insert("vaultUrl".into(), format!("https://{vault}.{suffix}").into());
        }
    }
    for (key, value) in block {
        out.insert(key, value);
    }
    if let (None, Some(tenant)) = (out.get("tenantId"), options.env("AZURE_TENANT_ID")) {
        out.insert("tenantId".into(), tenant.into());
    }
    out
}

/// The authentication block of a store: as the controller's is given, else references to a Secret the user has to make.
struct Auth {
    block: Option<Mapping>,
}

impl Auth {
    fn find(backend: Backend, options: &Options, findings: &mut Findings) -> Self {
        let name = match backend {
            Backend::SecretsManager | Backend::SystemManager => "aws",
            Backend::Vault => "vault",
            Backend::AzureKeyVault => "azure",
            Backend::GcpSecretsManager => "gcp",
            Backend::IbmSecretsManager => "ibm",
            Backend::Akeyless | Backend::Alicloud => "akeyless",
        };
        let cluster = options.settings.store_kind == StoreKind::ClusterSecretStore;
        let given = options.auth.get(name).cloned();
        let mut block = given
            .or_else(|| from_env(backend, options, findings))
            .or_else(|| from_account(backend, options));
        if let (Some(block), false) = (&mut block, cluster) {
            strip_namespaces(block);
        }
        Self { block }
    }
}

/// References have no namespace in a `SecretStore`.
fn strip_namespaces(block: &mut Mapping) {
    if block.get("name").is_some() {
        block.remove("namespace");
    }
    for (_, value) in block.iter_mut() {
        if let Value::Mapping(inner) = value {
            strip_namespaces(inner);
        }
    }
}

/// Workload identities by the account KES runs as.
fn from_account(backend: Backend, options: &Options) -> Option<Mapping> {
    let account = options.controller.as_ref()?.service_account.as_ref()?;
    let reference = mapping([
        ("name", account.name.as_str().into()),
        ("namespace", account.namespace.as_str().into()),
    ]);
    let reference = mapping([("serviceAccountRef", reference.into())]);
    match backend {
        Backend::SecretsManager | Backend::SystemManager => Some(mapping([("jwt", reference.into())])),
        Backend::Vault => Some(mapping([("kubernetes", reference.into())])),
        _ => None,
    }
}

/// Credential fields of a provider: environment variable, key in the Secret, and where the reference goes.
pub(super) type CredentialField = (&'static str, &'static str, &'static [&'static str]);

pub(super) fn credential_fields(backend: Backend) -> &'static [CredentialField] {
    match backend {
        Backend::SecretsManager | Backend::SystemManager => &[
            (
                "AWS_ACCESS_KEY_ID",
                "access-key-id",
                &["secretRef", "accessKeyIDSecretRef"],
            ),
            (
                "AWS_SECRET_ACCESS_KEY",
                "secret-access-key",
                &["secretRef", "secretAccessKeySecretRef"],
            ),
        ],
        Backend::AzureKeyVault => &[
            ("AZURE_CLIENT_ID", "client-id", &["authSecretRef", "clientId"]),
            (
                "AZURE_CLIENT_SECRET",
                "client-secret",
                &["authSecretRef", "clientSecret"],
            ),
        ],
        Backend::IbmSecretsManager => &[(
            "IBM_CLOUD_SECRETS_MANAGER_API_APIKEY",
            "apikey",
            &["secretRef", "secretApiKeySecretRef"],
        )],
        Backend::Akeyless => &[
            ("AKEYLESS_ACCESS_ID", "accessId", &["secretRef", "accessID"]),
            ("AKEYLESS_ACCESS_TYPE", "accessType", &["secretRef", "accessType"]),
            (
                "AKEYLESS_ACCESS_TYPE_PARAM",
                "accessTypeParam",
                &["secretRef", "accessTypeParam"],
            ),
        ],
        _ => &[],
    }
}

/// Name of the Secret that has to hold what is only an environment value today.
#[must_use]
pub fn credential_secret(backend: Backend) -> String {
    format!("kes-migrated-{}", backend.as_str().to_ascii_lowercase())
}

fn from_env(backend: Backend, options: &Options, findings: &mut Findings) -> Option<Mapping> {
    let fields = credential_fields(backend);
    if !fields.iter().any(|(env, ..)| options.env(env).is_some()) {
        return None;
    }
    let name = credential_secret(backend);
    let namespace = options
        .controller
        .as_ref()
        .and_then(|c| c.namespace.clone())
        .unwrap_or_else(|| "external-secrets".to_owned());
    let mut block = Mapping::new();
    let mut keys = Vec::new();
    let mut last = "";
    for (env, key, place) in fields {
        if options.env(env).is_none() {
            continue;
        }
        last = *env;
        keys.push(*key);
        let reference = mapping([
            ("name", name.as_str().into()),
            ("key", (*key).into()),
            ("namespace", namespace.as_str().into()),
        ]);
        let mut inner = block
            .get(place[0])
            .and_then(Value::as_mapping)
            .cloned()
            .unwrap_or_default();
        inner.insert(place[1].into(), reference.into());
        block.insert(place[0].into(), inner.into());
    }
    let message = format!(
        "the store reads Secret {namespace}/{name}, which has to be created with the keys {}",
        keys.join(", ")
    );
    findings.add(Code::CredentialInEnv, format!("controller.env.{last}"), message);
    Some(block)
}

fn environment_findings(source: &Source<'_>, options: &Options, findings: &mut Findings) {
    if options.env("NODE_EXTRA_CA_CERTS").is_some() {
        findings.add(
            Code::CustomCa,
            "controller.env.NODE_EXTRA_CA_CERTS",
            "KES trusts a CA of its own; give it to the store or to ESO by hand",
        );
    }
    let endpoints: &[&str] = match source.backend {
        Backend::SecretsManager => &["AWS_SM_ENDPOINT", "AWS_STS_ENDPOINT"],
        Backend::SystemManager => &["AWS_SSM_ENDPOINT", "AWS_STS_ENDPOINT"],
        _ => &[],
    };
    for endpoint in endpoints {
        if options.env(endpoint).is_some() {
            findings.add(
                Code::EndpointOverride,
                format!("controller.env.{endpoint}"),
                "in ESO an endpoint is an environment variable of its own controller",
            );
        }
    }
}

/// A finished store.
#[must_use]
pub fn manifest(
    name: &str,
    kind: StoreKind,
    provider: &Mapping,
    namespaces: &BTreeSet<String>,
    options: &Options,
) -> Value {
    let mut metadata = mapping([("name", name.into())]);
    let mut spec = Mapping::new();
    match kind {
        StoreKind::ClusterSecretStore => {
            let list: Vec<Value> = namespaces.iter().map(|n| n.as_str().into()).collect();
            spec.insert(
                "conditions".into(),
                Value::Sequence(vec![mapping([("namespaces", Value::Sequence(list))]).into()]),
            );
        }
        StoreKind::SecretStore => {
            metadata.extend(
                namespaces
                    .iter()
                    .take(1)
                    .map(|n| ("namespace".into(), n.as_str().into())),
            );
        }
    }
    if options.settings.sync_wave {
        metadata.insert(
            "annotations".into(),
            mapping([("argocd.argoproj.io/sync-wave", "-1".into())]).into(),
        );
    }
    spec.insert("provider".into(), provider.clone().into());
    mapping([
        ("apiVersion", "external-secrets.io/v1".into()),
        ("kind", kind.as_str().into()),
        ("metadata", metadata.into()),
        ("spec", spec.into()),
    ])
    .into()
}
