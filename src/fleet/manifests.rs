//! Manifests from files or a pipe as the content of one bundle.
use std::collections::BTreeSet;

use super::build::API_VERSION;
use super::discover::Dir;
use super::error::FleetError;
use super::options::{NamedFile, Source};
use super::tree::{self, Entry, Tree};
use super::yaml11;

/// Directory that stands for the files in the tree.
const ROOT: &str = "manifests";
/// Resource name of what came from standard input.
const STDIN: &str = "manifests.yaml";

/// Turns manifest files into a tree and the source to build from: the bundle is named NAME alone, and
/// every file becomes one resource under its base name. `-` stands for standard input.
///
/// # Errors
/// No manifests at all, text that is not YAML, or finished Bundles, which need no wrapping.
pub fn source(files: &[NamedFile]) -> Result<(Tree, Source), FleetError> {
    let mut tree = Tree::new();
    let mut used = BTreeSet::new();
    for file in files {
        check(file)?;
        let name = resource_name(&file.path, &mut used);
        tree.insert(&tree::join(&[ROOT, &name]), Entry::File(file.bytes.clone()));
    }
    if used.is_empty() {
        return Err(FleetError::NothingFound { dirs: Vec::new() });
    }
    tree.mark_complete(ROOT);
    let dir = Dir {
        path: ROOT.to_owned(),
        id: ".".to_owned(),
    };
    Ok((
        tree,
        Source {
            dir,
            file: String::new(),
            scan: false,
        },
    ))
}

fn check(file: &NamedFile) -> Result<(), FleetError> {
    let text = std::str::from_utf8(&file.bytes).map_err(|_| FleetError::NotText {
        file: file.path.clone(),
    })?;
    let mut objects = 0;
    let mut first_line = 0;
    for document in documents(text) {
        let value = yaml11::value(document.as_bytes()).map_err(|source| FleetError::Yaml {
            file: file.path.clone(),
            source: moved(source, first_line),
        })?;
        first_line += document.lines().count() + 1;
        if value.is_null() {
            continue;
        }
        objects += 1;
        if value.get("kind").and_then(serde_json::Value::as_str) == Some("Bundle")
            && value.get("apiVersion").and_then(serde_json::Value::as_str) == Some(API_VERSION)
        {
            return Err(FleetError::Usage(format!(
                "{} already holds a Bundle; apply it as it is",
                file.path
            )));
        }
    }
    if objects == 0 {
        Err(FleetError::Usage(format!("{} holds no manifest", file.path)))
    } else {
        Ok(())
    }
}

/// Documents of a stream, split at lines that start one.
fn documents(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    for line in text.lines() {
        match (line == "---" || line.starts_with("--- "), out.last_mut()) {
            (false, Some(last)) => {
                last.push_str(line);
                last.push('\n');
            }
            _ => out.push(String::new()),
        }
    }
    out
}

/// Lines of an error counted from the start of the file.
fn moved(error: yaml11::YamlError, by: usize) -> yaml11::YamlError {
    match error {
        yaml11::YamlError::Syntax { line, message } => yaml11::YamlError::Syntax {
            line: line + by,
            message,
        },
        other => other,
    }
}

/// A base name the agent recognises as YAML, none twice, none hidden or taken for a fleet file.
fn resource_name(path: &str, used: &mut BTreeSet<String>) -> String {
    let base = if path == "-" { STDIN } else { tree::base(path) };
    let base = base.trim_start_matches('.');
    let base = if super::discover::FLEET_FILES.contains(&base) || base.is_empty() {
        STDIN
    } else {
        base
    };
    let name = if matches!(tree::extension(base), ".yaml" | ".yml" | ".json") {
        base.to_owned()
    } else {
        format!("{base}.yaml")
    };
    let mut candidate = name.clone();
    let mut number = 2;
    while !used.insert(candidate.clone()) {
        candidate = format!("{number}-{name}");
        number += 1;
    }
    candidate
}
