//! `data`, `dataFrom` and `dataFromWithOptions` → `data` and `dataFrom` of ESO.

use std::collections::{BTreeMap, BTreeSet};

use super::backend::{self, VaultPaths};
use super::finding::{Code, Findings};
use super::object::{Backend, Source, scalar, text};
use super::options::Settings;
use super::property;
use super::template::{KeyForm, Keys};
use crate::api::yaml_tree::{Mapping, Value};

/// What an object fetches.
#[derive(Debug, Clone, Default)]
pub struct Entries {
    /// `spec.dataFrom`.
    pub data_from: Vec<Value>,
    /// `spec.data`.
    pub data: Vec<Value>,
    /// Which keys result, and how a template has to read them.
    pub keys: Keys,
    /// The fetched keys under the names ESO knows them by, which can be more than the keys of the Secret.
    pub fetched: Vec<String>,
}

/// A mapping from pairs, in order.
#[must_use]
pub fn mapping<const N: usize>(pairs: [(&str, Value); N]) -> Mapping {
    pairs.into_iter().map(|(k, v)| (Value::from(k), v)).collect()
}

struct Context<'a, 'b> {
    source: &'a Source<'b>,
    vault: Option<&'a VaultPaths>,
    settings: &'a Settings,
    findings: &'a mut Findings,
}

/// Converts every entry.
pub fn convert(
    source: &Source<'_>,
    vault: Option<&VaultPaths>,
    settings: &Settings,
    findings: &mut Findings,
) -> Entries {
    let mut out = Entries::default();
    let mut context = Context {
        source,
        vault,
        settings,
        findings,
    };
    context.data_from(&mut out);
    context.data_from_with_options(&mut out);
    context.data(&mut out);
    if out.data.is_empty() && out.data_from.is_empty() && !context.findings.refused() {
        let path = if source
            .spec
            .get("data")
            .or_else(|| source.spec.get("properties"))
            .is_some()
        {
            source.data_path.as_str()
        } else {
            source.root
        };
        context.findings.add(
            Code::NoSources,
            path,
            "nothing to fetch, which ESO refuses; a plain Secret does the same",
        );
    }
    out
}

impl Context<'_, '_> {
    fn list(&mut self, field: &str) -> Vec<Value> {
        match self.source.spec.get(field) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Sequence(list)) => list.clone(),
            Some(_) => {
                self.findings.add(Code::Schema, self.source.path(field), "not a list");
                Vec::new()
            }
        }
    }

    fn data_from(&mut self, out: &mut Entries) {
        for (i, key) in self.list("dataFrom").iter().enumerate() {
            let path = self.source.path(&format!("dataFrom[{i}]"));
            let Some(key) = key.as_str().filter(|k| !k.is_empty()) else {
                self.findings.add(Code::Schema, path, "not a key");
                continue;
            };
            self.extract(out, key, None, None, &path);
        }
    }

    fn data_from_with_options(&mut self, out: &mut Entries) {
        for (i, entry) in self.list("dataFromWithOptions").iter().enumerate() {
            let path = self.source.path(&format!("dataFromWithOptions[{i}]"));
            let (Some(entry), Some(key)) = (entry.as_mapping(), text(entry.get("key")).filter(|k| !k.is_empty()))
            else {
                self.findings.add(Code::Schema, format!("{path}.key"), "key is missing");
                continue;
            };
            if entry.get("isBinary").is_some() {
                self.findings.add(
                    Code::IsBinaryIgnored,
                    format!("{path}.isBinary"),
                    "KES accepts and ignores it",
                );
            }
            backend::check_entry_options(self.source.backend, entry, &path, self.findings);
            let version = backend::version(self.source.backend, entry, &path, self.findings);
            self.extract(out, key, version, text(entry.get("secretType")), &path);
        }
    }

    fn extract(
        &mut self,
        out: &mut Entries,
        key: &str,
        version: Option<String>,
        secret_type: Option<&str>,
        path: &str,
    ) {
        let key_path = if path.contains("WithOptions") {
            format!("{path}.key")
        } else {
            path.to_owned()
        };
        let key = if self.source.backend == Backend::IbmSecretsManager {
            match self.ibm_key(key, secret_type, path) {
                Some(key) => key,
                None => return,
            }
        } else {
            backend::key(self.source, self.vault, key, &key_path, self.findings)
        };
        let mut extract = mapping([("key", key.into())]);
        if let Some(version) = version {
            extract.insert("version".into(), version.into());
        }
        out.keys.open = true;
        out.data_from.push(mapping([("extract", extract.into())]).into());
    }

    fn data(&mut self, out: &mut Entries) {
        let duplicates = self.duplicates();
        let mut keyed = false;
        for (i, entry) in self.source.data.iter().enumerate() {
            let path = format!("{}[{i}]", self.source.data_path);
            let Some(entry) = entry.as_mapping() else {
                self.findings.add(Code::Schema, path, "not an object");
                continue;
            };
            let find =
                text(entry.get("path")).filter(|p| !p.is_empty() && self.source.backend == Backend::SystemManager);
            if let Some(find) = find {
                self.find(out, entry, find, keyed, &path);
                continue;
            }
            keyed = true;
            if duplicates.contains(&i) {
                self.findings.add(
                    Code::DuplicateName,
                    format!("{path}.name"),
                    "a later entry has the same name and wins",
                );
                continue;
            }
            self.keyed(out, entry, &path);
        }
    }

    /// Positions of entries whose name comes again later.
    fn duplicates(&self) -> BTreeSet<usize> {
        let mut last = BTreeMap::new();
        let mut out = BTreeSet::new();
        for (i, entry) in self.source.data.iter().enumerate() {
            if let Some(name) = text(entry.get("name")) {
                out.extend(last.insert(name, i));
            }
        }
        out
    }

    /// All parameters below a path of the Parameter Store.
    fn find(&mut self, out: &mut Entries, entry: &Mapping, find: &str, after_keyed: bool, path: &str) {
        let base = format!("{}/", find.trim_end_matches('/'));
        let recursive = entry.get("recursive").and_then(Value::as_bool).unwrap_or(false);
        let tail = if recursive { ".+$" } else { "[^/]+$" };
        let regexp = format!("^{}{tail}", quote_path(&base));
        if after_keyed {
            self.findings.add(
                Code::PathOrder,
                path,
                "ESO reads paths before single keys; a name in both resolves the other way round",
            );
        }
        if recursive {
            self.findings.add(
                Code::BasenameCollision,
                format!("{path}.recursive"),
                "parameters with equal last parts overwrite each other, in no fixed order",
            );
        }
        for field in ["property", "isBinary"] {
            if entry.get(field).is_some() {
                self.findings.add(
                    Code::OptionNotForBackend,
                    format!("{path}.{field}"),
                    "never had an effect together with path",
                );
            }
        }
        backend::check_entry_options(self.source.backend, entry, path, self.findings);
        let find = mapping([
            ("path", find.into()),
            ("name", mapping([("regexp", regexp.into())]).into()),
        ]);
        let rewrite = mapping([(
            "regexp",
            mapping([("source", "^.*/".into()), ("target", "".into())]).into(),
        )]);
        out.keys.open = true;
        out.data_from.push(
            mapping([
                ("find", find.into()),
                ("rewrite", Value::Sequence(vec![rewrite.into()])),
            ])
            .into(),
        );
    }

    fn required(&mut self, entry: &Mapping, field: &str, path: &str) -> Option<String> {
        let value = entry.get(field).and_then(scalar).filter(|v| !v.is_empty());
        if value.is_none() {
            self.findings
                .add(Code::Schema, format!("{path}.{field}"), format!("{field} is missing"));
        }
        value
    }

    fn keyed(&mut self, out: &mut Entries, entry: &Mapping, path: &str) {
        let (key, name) = (self.required(entry, "key", path), self.required(entry, "name", path));
        let (Some(key), Some(name)) = (key, name) else { return };
        if name.len() > 253
            || !name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        {
            self.findings
                .add(Code::Schema, format!("{path}.name"), "not a valid key of a Secret");
            return;
        }
        backend::check_entry_options(self.source.backend, entry, path, self.findings);
        if self.source.backend == Backend::IbmSecretsManager {
            self.ibm(out, entry, &key, &name, path);
            return;
        }
        let mut remote = mapping([(
            "key",
            backend::key(self.source, self.vault, &key, &format!("{path}.key"), self.findings).into(),
        )]);
        if let Some(version) = backend::version(self.source.backend, entry, path, self.findings) {
            remote.insert("version".into(), version.into());
        }
        let property = self.property(entry, path);
        if property.is_none() && self.source.backend == Backend::Vault {
            self.findings.add(
                Code::WholeJson,
                path,
                "the whole JSON object: KES keeps the order of its fields, ESO sorts and escapes them",
            );
        }
        self.binary(entry, property.is_some(), path, &mut remote);
        if let Some(property) = property {
            remote.insert("property".into(), property.into());
        }
        push(out, &name, remote, KeyForm::Plain);
    }

    fn property(&mut self, entry: &Mapping, path: &str) -> Option<String> {
        let property = entry.get("property").and_then(scalar)?;
        let converted = property::convert(&property, self.source.backend == Backend::Vault);
        if converted != property {
            self.findings.add(
                Code::PropertyPath,
                format!("{path}.property"),
                format!("written as {converted}"),
            );
        }
        Some(converted)
    }

    fn binary(&mut self, entry: &Mapping, has_property: bool, path: &str, remote: &mut Mapping) {
        if entry.get("isBinary").and_then(Value::as_bool) != Some(true) {
            return;
        }
        if self.source.backend == Backend::SecretsManager && !has_property {
            self.findings.add(
                Code::BinaryAws,
                format!("{path}.isBinary"),
                "right for base64 text; if the secret is stored as SecretBinary, remove decodingStrategy",
            );
        }
        remote.insert("decodingStrategy".into(), "Base64".into());
    }

    /// `<type>/<id>`, or `<group>/<type>/<name>` for secrets that are known by name.
    fn ibm_key(&mut self, key: &str, secret_type: Option<&str>, path: &str) -> Option<String> {
        let Some(secret_type) = secret_type.filter(|t| !t.is_empty()) else {
            self.findings.add(
                Code::Schema,
                format!("{path}.secretType"),
                "secretType is missing, KES cannot fetch it",
            );
            return None;
        };
        if self.source.spec.get("keyByName").and_then(Value::as_bool) != Some(true) {
            return Some(format!("{secret_type}/{key}"));
        }
        let Some(group) = &self.settings.ibm_secret_group else {
            self.findings.add(
                Code::IbmGroup,
                self.source.path("keyByName"),
                "ESO needs the secret group to find a secret by name",
            );
            return None;
        };
        Some(format!("{group}/{secret_type}/{key}"))
    }

    fn ibm(&mut self, out: &mut Entries, entry: &Mapping, key: &str, name: &str, path: &str) {
        let secret_type = text(entry.get("secretType")).map(str::to_owned);
        let Some(key) = self.ibm_key(key, secret_type.as_deref(), path) else {
            return;
        };
        let mut remote = mapping([("key", key.into())]);
        let property = self.property(entry, path);
        self.binary(entry, property.is_some(), path, &mut remote);
        let form = match (secret_type.as_deref(), property) {
            (Some("arbitrary"), Some(p)) if p == "payload" => {
                self.findings.add(
                    Code::IbmPayload,
                    format!("{path}.property"),
                    "ESO returns the payload by itself",
                );
                KeyForm::Plain
            }
            (Some("arbitrary"), None) => KeyForm::Payload,
            (Some("iam_credentials"), property) => {
                self.findings.add(
                    Code::IbmIamQuotes,
                    path,
                    "KES writes the API key with JSON quotes, ESO without",
                );
                if let Some(p) = property {
                    remote.insert("property".into(), p.into());
                }
                if self.settings.faithful {
                    KeyForm::Quoted
                } else {
                    KeyForm::Plain
                }
            }
            (Some("username_password"), None) => {
                self.ibm_login(out, name, &remote);
                return;
            }
            (_, Some(p)) => {
                remote.insert("property".into(), p.into());
                KeyForm::Plain
            }
            (_, None) => KeyForm::Plain,
        };
        push(out, name, remote, form);
    }

    /// Both fields under names of their own; a template joins them to the object KES wrote.
    fn ibm_login(&mut self, out: &mut Entries, name: &str, remote: &Mapping) {
        let taken: BTreeSet<&str> = self.source.data.iter().filter_map(|e| text(e.get("name"))).collect();
        let free = |field: &str| {
            let mut candidate = format!("{name}.{field}");
            while taken.contains(candidate.as_str()) {
                candidate.push('_');
            }
            candidate
        };
        let (username, password) = (free("username"), free("password"));
        for (key, field) in [(&username, "username"), (&password, "password")] {
            let mut remote = remote.clone();
            remote.insert("property".into(), field.into());
            out.data
                .push(mapping([("secretKey", key.as_str().into()), ("remoteRef", remote.into())]).into());
            out.fetched.push(key.clone());
        }
        out.keys
            .known
            .insert(name.to_owned(), KeyForm::Login { username, password });
    }
}

fn push(out: &mut Entries, name: &str, remote: Mapping, form: KeyForm) {
    out.data
        .push(mapping([("secretKey", name.into()), ("remoteRef", remote.into())]).into());
    out.fetched.push(name.to_owned());
    out.keys.known.insert(name.to_owned(), form);
}

/// A parameter name inside a regular expression.
fn quote_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
