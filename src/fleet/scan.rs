//! Looks for credentials in what is about to be written into a Bundle, where anybody who may read
//! Bundles or Contents would see them.
use serde_json::{Map, Value};

use super::error::{FleetError, Notice};
use super::prepare::Draft;
use super::{tree, yaml11};

/// A place that looks like a credential. The value itself is never kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// File, or the options file for inline values.
    pub file: String,
    /// Line from 1; zero for inline values.
    pub line: usize,
    /// What it looks like.
    pub kind: FindingKind,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// A `kind: Secret` manifest with data.
    SecretManifest,
    /// A kubeconfig with credentials.
    Kubeconfig,
    /// A PEM private key.
    PrivateKey,
    /// A signed token.
    Token,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            FindingKind::SecretManifest => "Secret with data",
            FindingKind::Kubeconfig => "kubeconfig",
            FindingKind::PrivateKey => "private key",
            FindingKind::Token => "token",
        };
        if self.line == 0 {
            write!(f, "{} ({kind} in helm values)", self.file)
        } else {
            write!(f, "{}:{} ({kind})", self.file, self.line)
        }
    }
}

/// Refuses a bundle whose files or inline values hold credentials; remarks on manifests that will fail.
pub(super) fn check(draft: &Draft, files: &[(String, Vec<u8>)], notices: &mut Vec<Notice>) -> Result<(), FleetError> {
    let mut findings = Vec::new();
    for (name, bytes) in files {
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        // Names of downloaded charts say nothing to the user beyond the folder of the chart.
        let shown = if name.starts_with(".chart/") {
            name.clone()
        } else {
            tree::join(&[&draft.dir.path, name])
        };
        let templated =
            name.starts_with(".chart/") || name.split('/').any(|part| part == "templates" || part == "crds");
        lines(&shown, text, &mut findings);
        if !templated && matches!(tree::extension(name), ".yaml" | ".yml" | ".json") {
            manifests(&shown, text, &mut findings, notices);
        }
    }
    let of_targets = draft.targets.iter().filter_map(|target| target.get("helm"));
    for values in draft
        .fields
        .get("helm")
        .into_iter()
        .chain(of_targets)
        .filter_map(|helm| helm.get("values"))
    {
        inline(&draft.shown, values, &mut findings);
    }
    if findings.is_empty() {
        Ok(())
    } else {
        Err(FleetError::SecretContent { findings })
    }
}

/// Refuses inline Helm values that hold credentials.
pub(super) fn check_values(file: &str, values: &Value) -> Result<(), FleetError> {
    let mut findings = Vec::new();
    inline(file, values, &mut findings);
    if findings.is_empty() {
        Ok(())
    } else {
        Err(FleetError::SecretContent { findings })
    }
}

fn lines(file: &str, text: &str, findings: &mut Vec<Finding>) {
    for (at, line) in text.lines().enumerate() {
        if let Some(kind) = credential(line) {
            findings.push(Finding {
                file: file.to_owned(),
                line: at + 1,
                kind,
            });
        }
    }
}

fn inline(file: &str, value: &Value, findings: &mut Vec<Finding>) {
    match value {
        Value::String(text) => {
            if let Some(kind) = text.lines().find_map(credential) {
                findings.push(Finding {
                    file: file.to_owned(),
                    line: 0,
                    kind,
                });
            }
        }
        Value::Array(items) => items.iter().for_each(|item| inline(file, item, findings)),
        Value::Object(map) => map.values().for_each(|item| inline(file, item, findings)),
        _ => {}
    }
}

/// PEM private keys and JSON web tokens.
fn credential(line: &str) -> Option<FindingKind> {
    if let Some(at) = line.find("-----BEGIN ")
        && line[at..].contains("PRIVATE KEY-----")
    {
        return Some(FindingKind::PrivateKey);
    }
    line.split(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)))
        .any(is_jwt)
        .then_some(FindingKind::Token)
}

fn is_jwt(word: &str) -> bool {
    let parts: Vec<&str> = word.split('.').collect();
    matches!(parts.as_slice(), [head, body, signature] if head.starts_with("eyJ") && body.starts_with("eyJ") && head.len() > 10 && signature.len() >= 16)
}

fn manifests(file: &str, text: &str, findings: &mut Vec<Finding>, notices: &mut Vec<Notice>) {
    let mut document = String::new();
    let mut start = 1;
    for (line, row) in (1..).zip(text.lines().chain(std::iter::once("---"))) {
        if row == "---" || row.starts_with("--- ") {
            manifest(file, &document, start, findings, notices);
            document.clear();
            start = line + 1;
        } else {
            document.push_str(row);
            document.push('\n');
        }
    }
}

fn manifest(file: &str, document: &str, start: usize, findings: &mut Vec<Finding>, notices: &mut Vec<Notice>) {
    let Ok(Value::Object(object)) = yaml11::value(document.as_bytes()) else {
        // Text that is no YAML (a template outside `templates/`) is judged by its lines.
        if document.lines().any(|line| line == "kind: Secret")
            && document.lines().any(|line| line == "data:" || line == "stringData:")
        {
            let line = start
                + document
                    .lines()
                    .position(|line| line == "kind: Secret")
                    .unwrap_or_default();
            findings.push(Finding {
                file: file.to_owned(),
                line,
                kind: FindingKind::SecretManifest,
            });
        }
        return;
    };
    let line = start
        + document
            .lines()
            .position(|line| line.trim_start().starts_with("kind:"))
            .unwrap_or_default();
    for object in with_items(&object) {
        if let Some(kind) = object_kind(object) {
            findings.push(Finding {
                file: file.to_owned(),
                line,
                kind,
            });
        }
        remark(file, object, notices);
    }
}

fn with_items(object: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let items = object
        .get("items")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object);
    std::iter::once(object).chain(items)
}

fn object_kind(object: &Map<String, Value>) -> Option<FindingKind> {
    let filled = |key: &str| match object.get(key) {
        Some(Value::Object(map)) => !map.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        _ => false,
    };
    match object.get("kind").and_then(Value::as_str) {
        Some("Secret") if filled("data") || filled("stringData") => Some(FindingKind::SecretManifest),
        Some("Config") if filled("clusters") && filled("users") => Some(FindingKind::Kubeconfig),
        _ => None,
    }
}

fn remark(file: &str, object: &Map<String, Value>, notices: &mut Vec<Notice>) {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if !version.starts_with("external-secrets.io/") {
        return;
    }
    if version != "external-secrets.io/v1"
        && matches!(
            object.get("kind").and_then(Value::as_str),
            Some("ExternalSecret" | "SecretStore" | "ClusterSecretStore" | "ClusterExternalSecret")
        )
    {
        notices.push(Notice::OldApi {
            file: file.to_owned(),
            version: version.to_owned(),
        });
    }
    let object_value = Value::Object(object.clone());
    if object.get("kind").and_then(Value::as_str) == Some("ExternalSecret")
        && object_value.pointer("/spec/target/template").is_none()
    {
        notices.push(Notice::LabelLeak { file: file.to_owned() });
    }
}
