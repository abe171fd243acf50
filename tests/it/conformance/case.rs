//! One recorded case: what is applied, step by step, and what was seen after each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// A case file.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    pub name: String,
    #[serde(default = "yes")]
    pub parity: bool,
    #[serde(default)]
    pub namespaces: BTreeMap<String, Option<BTreeMap<String, String>>>,
    pub steps: Vec<Step>,
    #[serde(default)]
    pub want: BTreeMap<String, Value>,
    #[serde(skip)]
    pub golden: PathBuf,
}

/// One step; a snapshot follows.
#[derive(Debug, Clone, Deserialize)]
pub struct Step {
    #[serde(default)]
    pub apply: Vec<Value>,
    pub patch: Option<Value>,
    pub delete: Option<Value>,
    pub token: Option<Value>,
    pub http: Option<Value>,
    #[serde(default)]
    pub wait: f64,
}

fn yes() -> bool {
    true
}

impl Case {
    /// What was recorded, one snapshot per step.
    pub fn recorded(&self) -> Vec<Value> {
        serde_json::from_slice(&std::fs::read(&self.golden).unwrap()).unwrap()
    }
}

/// All cases of a folder, by name.
pub fn load(folder: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut case: Case =
                serde_yaml::from_str(&text).unwrap_or_else(|e| panic!("{} is no case: {e}", path.display()));
            case.golden = path.with_extension("golden.json");
            cases.push(case);
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// Replaces `$NAME`s everywhere, keys included.
pub fn substitute(value: &Value, names: &[(String, String)]) -> Value {
    let text = |s: &str| names.iter().fold(s.to_owned(), |s, (name, value)| s.replace(name, value));
    match value {
        Value::String(s) => Value::String(text(s)),
        Value::Array(items) => items.iter().map(|v| substitute(v, names)).collect(),
        Value::Object(map) => map.iter().map(|(k, v)| (text(k), substitute(v, names))).collect(),
        other => other.clone(),
    }
}
