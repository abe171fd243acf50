//! What each backend knows: its options, and how a KES key becomes a key of ESO.

use std::collections::BTreeSet;

use super::finding::{Code, Findings};
use super::object::{Backend, Source, scalar, text};
use crate::api::yaml_tree::{Mapping, Value};

/// Spec fields that belong to some backends only.
const SPEC_OPTIONS: &[(&str, &[Backend])] = &[
    (
        "roleArn",
        &[Backend::SecretsManager, Backend::SystemManager, Backend::Alicloud],
    ),
    ("region", &[Backend::SecretsManager, Backend::SystemManager]),
    ("vaultMountPoint", &[Backend::Vault]),
    ("vaultRole", &[Backend::Vault]),
    ("kvVersion", &[Backend::Vault]),
    ("keyVaultName", &[Backend::AzureKeyVault]),
    ("projectId", &[Backend::GcpSecretsManager]),
    ("keyByName", &[Backend::IbmSecretsManager]),
];

/// Entry fields that belong to some backends only.
const ENTRY_OPTIONS: &[(&str, &[Backend])] = &[
    ("path", &[Backend::SystemManager]),
    ("recursive", &[Backend::SystemManager]),
    ("version", &[Backend::GcpSecretsManager]),
    ("versionStage", &[Backend::SecretsManager, Backend::Alicloud]),
    ("versionId", &[Backend::SecretsManager]),
    ("secretType", &[Backend::IbmSecretsManager]),
];

/// Reports spec fields the backend ignores.
pub fn check_spec_options(source: &Source<'_>, findings: &mut Findings) {
    for (field, backends) in SPEC_OPTIONS {
        if source.spec.get(*field).is_some() && !backends.contains(&source.backend) {
            findings.add(
                Code::OptionNotForBackend,
                source.path(field),
                format!("{} ignores it", source.backend.as_str()),
            );
        }
    }
}

/// Reports entry fields the backend ignores.
pub fn check_entry_options(backend: Backend, entry: &Mapping, path: &str, findings: &mut Findings) {
    for (field, backends) in ENTRY_OPTIONS {
        if entry.get(*field).is_some() && !backends.contains(&backend) {
            findings.add(
                Code::OptionNotForBackend,
                format!("{path}.{field}"),
                format!("{} ignores it", backend.as_str()),
            );
        }
    }
}

/// How the keys of one object are read from Vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultPaths {
    /// 1 or 2.
    pub version: u8,
    /// Mount in front of every key; empty for none.
    pub mount: String,
}

/// Every key of an object with its path, `path` entries left out.
fn all_keys(source: &Source<'_>) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let list = |field: &str| {
        source
            .spec
            .get(field)
            .and_then(Value::as_sequence)
            .cloned()
            .unwrap_or_default()
    };
    for (i, key) in list("dataFrom").iter().enumerate() {
        out.extend(
            key.as_str()
                .map(|k| (source.path(&format!("dataFrom[{i}]")), k.to_owned())),
        );
    }
    for (i, entry) in list("dataFromWithOptions").iter().enumerate() {
        out.extend(
            text(entry.get("key")).map(|k| (source.path(&format!("dataFromWithOptions[{i}].key")), k.to_owned())),
        );
    }
    for (i, entry) in source.data.iter().enumerate() {
        out.extend(text(entry.get("key")).map(|k| (format!("{}[{i}].key", source.data_path), k.to_owned())));
    }
    out
}

/// Version and mount of a Vault object.
pub fn vault_paths(source: &Source<'_>, findings: &mut Findings) -> VaultPaths {
    let version = source.field("kvVersion");
    match version.as_deref() {
        Some("1") => {
            return VaultPaths {
                version: 1,
                mount: String::new(),
            };
        }
        None | Some("2") => {}
        Some(other) => findings.add(
            Code::Schema,
            source.path("kvVersion"),
            format!("kvVersion {other:?} is neither 1 nor 2"),
        ),
    }
    let mut mounts = BTreeSet::new();
    for (path, key) in all_keys(source) {
        match key
            .split_once("/data/")
            .filter(|(mount, rest)| !mount.is_empty() && !rest.is_empty())
        {
            Some((mount, _)) => {
                mounts.insert(mount.to_owned());
            }
            None => findings.add(Code::VaultPath, path, "a KV 2 key has the form MOUNT/data/PATH"),
        }
    }
    if mounts.len() > 1 {
        findings.add(
            Code::VaultNoPath,
            source.root,
            "several mounts in one object: the store has no path, all keys are whole",
        );
        return VaultPaths {
            version: 2,
            mount: String::new(),
        };
    }
    VaultPaths {
        version: 2,
        mount: mounts.pop_first().unwrap_or_default(),
    }
}

/// A key as ESO reads it.
pub fn key(source: &Source<'_>, vault: Option<&VaultPaths>, key: &str, path: &str, findings: &mut Findings) -> String {
    match (source.backend, vault) {
        (Backend::Vault, Some(v)) if !v.mount.is_empty() => {
            let rest = key.strip_prefix(&format!("{}/data/", v.mount)).unwrap_or(key);
            if rest.starts_with(&format!("{}/", v.mount)) || rest.starts_with("data/") {
                findings.add(
                    Code::VaultKeyVerbatim,
                    path,
                    "kept whole, because ESO would strip the start of the shorter key",
                );
                return key.to_owned();
            }
            rest.to_owned()
        }
        (Backend::AzureKeyVault, _) => {
            if key.contains('/') {
                findings.add(
                    Code::AzureKey,
                    path,
                    "a name in Azure Key Vault has no slash; ESO would read the part before it as a type",
                );
            }
            key.to_owned()
        }
        _ => key.to_owned(),
    }
}

/// The version of an entry, as ESO writes it.
pub fn version(backend: Backend, entry: &Mapping, path: &str, findings: &mut Findings) -> Option<String> {
    let field = |name: &str| entry.get(name).and_then(scalar).filter(|s| !s.is_empty());
    match backend {
        Backend::SecretsManager => {
            let (id, stage) = (field("versionId"), field("versionStage"));
            if id.is_some() && stage.is_some() {
                findings.add(Code::VersionIdWins, path, "versionId wins over versionStage");
            }
            id.map(|id| format!("uuid/{id}")).or(stage)
        }
        Backend::GcpSecretsManager => field("version"),
        _ => None,
    }
}
