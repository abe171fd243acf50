//! Results as texts: one stream, a tree of files, edits inside existing files, and the report.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::convert::{Conversion, Converted, State, list_items};
use super::finding::{Finding, Severity};
use crate::api::yaml_tree::{self as yaml, Value};
use crate::migrate::document::{self, Document};

/// One document as YAML.
///
/// # Errors
///
/// Values the YAML crate cannot write; ours are none of those.
pub fn to_yaml(value: &Value) -> Result<String, yaml::Error> {
    yaml::to_string(value)
}

/// Stores first, then `ExternalSecrets` sorted by namespace and name.
///
/// # Errors
///
/// As [`to_yaml`].
pub fn stream(conversion: &Conversion) -> Result<String, yaml::Error> {
    let texts: Result<Vec<String>, _> = conversion.stream().into_iter().map(to_yaml).collect();
    Ok(texts?.join("---\n"))
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get("metadata").and_then(|m| m.get(name)).and_then(Value::as_str)
}

/// Where a store is written in a tree.
#[must_use]
pub fn store_path(store: &Value) -> String {
    let name = field(store, "name").unwrap_or_default();
    field(store, "namespace").map_or_else(
        || format!("stores/{name}.yaml"),
        |ns| format!("stores/{ns}/{name}.yaml"),
    )
}

/// Where an `ExternalSecret` is written in a tree. A namespace called `stores` must not meet the folder of that name.
#[must_use]
pub fn object_path(object: &Converted) -> String {
    let folder = if object.namespace == "stores" {
        "stores.namespace"
    } else {
        &object.namespace
    };
    format!(
        "{folder}/{}.yaml",
        object
            .manifest
            .as_ref()
            .and_then(|m| field(m, "name"))
            .unwrap_or(&object.name)
    )
}

/// A tree of files by path: stores, objects, `kustomization.yaml`, `report.json`. Two runs give the same bytes.
///
/// # Errors
///
/// As [`to_yaml`].
pub fn tree(conversion: &Conversion) -> Result<BTreeMap<String, String>, yaml::Error> {
    let mut files = BTreeMap::new();
    for store in &conversion.stores {
        files.insert(store_path(store), to_yaml(store)?);
    }
    for object in &conversion.objects {
        if let Some(manifest) = &object.manifest {
            files.insert(object_path(object), to_yaml(manifest)?);
        }
    }
    let mut kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n".to_owned();
    for path in files.keys() {
        let _ = writeln!(kustomization, "- {path}");
    }
    if files.is_empty() {
        kustomization = kustomization.replace("resources:\n", "resources: []\n");
    }
    files.insert("kustomization.yaml".to_owned(), kustomization);
    files.insert("report.json".to_owned(), report(conversion, true).to_json());
    Ok(files)
}

/// One object of the report.
#[derive(Debug, Clone, Serialize)]
pub struct ReportObject<'a> {
    /// Namespace.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// What became of it.
    pub state: State,
    /// What there is to say.
    pub findings: &'a [Finding],
    /// The store it uses.
    pub store: Option<String>,
    /// Files written for it.
    pub files: Vec<String>,
}

/// Numbers over all objects.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Written.
    pub converted: usize,
    /// Written in part.
    pub partial: usize,
    /// Not written.
    pub refused: usize,
    /// Not handled by this KES.
    pub skipped: usize,
    /// Stores written.
    pub stores: usize,
    /// Exit code.
    pub exit_code: u8,
}

/// What a conversion did.
#[derive(Debug, Clone, Serialize)]
pub struct Report<'a> {
    /// Every KES object, sorted by namespace and name.
    pub objects: Vec<ReportObject<'a>>,
    /// Numbers.
    pub summary: Summary,
}

/// The report; `files` names the paths of [`tree`].
#[must_use]
pub fn report(conversion: &Conversion, files: bool) -> Report<'_> {
    let mut objects: Vec<&Converted> = conversion.objects.iter().collect();
    objects.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    let mut summary = Summary {
        stores: conversion.stores.len(),
        exit_code: conversion.exit_code(),
        ..Summary::default()
    };
    for object in &objects {
        *match object.state {
            State::Converted => &mut summary.converted,
            State::Partial => &mut summary.partial,
            State::Refused => &mut summary.refused,
            State::Skipped => &mut summary.skipped,
        } += 1;
    }
    let objects = objects
        .into_iter()
        .map(|o| ReportObject {
            namespace: &o.namespace,
            name: &o.name,
            state: o.state,
            findings: &o.findings,
            store: o.store.as_ref().map(|s| s.name.clone()),
            files: if files && o.manifest.is_some() {
                vec![object_path(o)]
            } else {
                Vec::new()
            },
        })
        .collect();
    Report { objects, summary }
}

impl Report<'_> {
    /// The report as indented JSON with a line break at the end.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).map(|t| t + "\n").unwrap_or_default()
    }

    /// One line per finding, for people: severity, object, code, place, sentence.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut out = Vec::new();
        for object in &self.objects {
            for finding in object.findings {
                let severity = match finding.severity {
                    Severity::Info => "note",
                    Severity::Warning => "warning",
                    Severity::Error => "error",
                };
                out.push(format!(
                    "{severity}: {}/{}: {} at {}: {}",
                    object.namespace, object.name, finding.code, finding.path, finding.message
                ));
            }
        }
        out
    }
}

/// Documents of one file with the KES objects replaced. `first` is the position of the file's first document among
/// those given to the conversion. Refused objects, other kinds and comments stay.
///
/// # Errors
///
/// As [`to_yaml`].
pub fn in_place(documents: &[Document], first: usize, conversion: &Conversion) -> Result<String, yaml::Error> {
    let mut out = documents.to_vec();
    for (i, document) in out.iter_mut().enumerate() {
        let results: Vec<&Converted> = conversion
            .objects
            .iter()
            .filter(|o| o.position.0 == first + i && o.manifest.is_some())
            .collect();
        let replaced = match results.as_slice() {
            [] => continue,
            [only] if only.position.1.is_none() => only.manifest.clone(),
            items => replaced_items(&document.value, items),
        };
        let Some(value) = replaced else { continue };
        document.text = with_comments(&document.text, &to_yaml(&value)?);
        document.value = value;
    }
    Ok(document::join(&out))
}

fn replaced_items(list: &Value, results: &[&Converted]) -> Option<Value> {
    let mut items = list_items(list)?.clone();
    for result in results {
        if let (Some(slot), Some(manifest)) = (result.position.1.and_then(|j| items.get_mut(j)), &result.manifest) {
            *slot = manifest.clone();
        }
    }
    let mut list = list.clone();
    // A typed list of KES objects is no type any more.
    for (field, value) in [
        ("apiVersion", Value::from("v1")),
        ("kind", Value::from("List")),
        ("items", Value::Sequence(items)),
    ] {
        list.as_mapping_mut()?.insert(field.into(), value);
    }
    Some(list)
}

/// The new text with the comments and blank lines around the old one: leading and trailing ones where they were,
/// inner ones together at the top, because their lines are gone.
#[must_use]
pub fn with_comments(old: &str, new: &str) -> String {
    let is_outer = |l: &&str| l.trim().is_empty() || l.trim_start().starts_with('#');
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let head = lines.iter().take_while(|l| is_outer(l)).count();
    let tail = lines[head..].iter().rev().take_while(|l| is_outer(l)).count();
    let body: String = lines[head..lines.len() - tail].concat();
    let mut out: String = lines[..head].concat();
    for comment in document::comment_lines(&body) {
        out.push_str(comment.trim_start());
        out.push('\n');
    }
    out.push_str(new);
    out.push_str(&lines[lines.len() - tail..].concat());
    out
}
