//! Two snapshots side by side, facet by facet.

use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::{Value, json};

/// Facets that decide; `events` and `messages` are counted apart.
pub const FACETS: &[&str] = &["secrets", "configmaps", "metadata", "configmapMetadata", "status", "events", "rejected"];

/// Values that depend on a random namespace, or are the implementation's own hash.
const PRIVATE: &[&str] = &["reconcile.external-secrets.io/data-hash", "reconcile.external-secrets.io/created-by"];

/// One disagreement.
#[derive(Debug)]
pub struct Difference {
    pub step: usize,
    pub facet: String,
    pub got: Value,
    pub want: Value,
}

fn comparable(snapshot: &Value, facet: &str) -> Value {
    let empty = if matches!(facet, "events") { json!([]) } else { json!({}) };
    let mut value = snapshot.get(facet).cloned().unwrap_or(empty);
    match facet {
        "metadata" | "configmapMetadata" => {
            for object in value.as_object_mut().into_iter().flat_map(|m| m.values_mut()) {
                for part in ["annotations", "labels"] {
                    for key in PRIVATE {
                        if let Some(hash) = object[part].get_mut(*key) {
                            *hash = json!("<private>");
                        }
                    }
                }
            }
        }
        "events" => {
            let ready = ready_stores(snapshot);
            if let Some(events) = value.as_array_mut() {
                // Whether an ExternalSecret is looked at before its store is ready is chance, once the store is.
                events.retain(|event| !is_early(event.as_str().unwrap_or_default(), &ready));
            }
        }
        "status" => {
            for object in value.as_object_mut().into_iter().flat_map(|m| m.values_mut()) {
                for condition in object["conditions"].as_array_mut().into_iter().flatten() {
                    let text = condition.as_str().unwrap_or_default();
                    *condition = json!(text.split(':').next().unwrap_or_default());
                }
            }
        }
        _ => {}
    }
    value
}

fn ready_stores(snapshot: &Value) -> BTreeSet<String> {
    let status = snapshot["status"].as_object().into_iter().flatten();
    let good = |o: &Value| {
        o["conditions"].as_array().is_some_and(|c| c.iter().any(|c| c.as_str().is_some_and(|c| c.starts_with("Ready=True"))))
    };
    status
        .filter(|(key, object)| key.contains("secretstores/") && good(object))
        .filter_map(|(key, _)| key.rsplit('/').next().map(str::to_owned))
        .collect()
}

fn is_early(event: &str, ready: &BTreeSet<String>) -> bool {
    let Some(rest) = event.strip_suffix("\" is not ready") else { return false };
    rest.rsplit_once("Store \"").is_some_and(|(_, name)| ready.contains(name))
}

fn messages(snapshot: &Value) -> Value {
    let status = snapshot["status"].as_object().into_iter().flatten();
    status.map(|(key, object)| (key.clone(), object["conditions"].clone())).collect()
}

/// Every facet of every step that does not agree.
pub fn differences(got: &[Value], want: &[Value]) -> Vec<Difference> {
    let mut found = Vec::new();
    let nothing = json!({});
    for (step, want) in want.iter().enumerate() {
        let got = got.get(step).unwrap_or(&nothing);
        for facet in FACETS {
            // Older recordings have no such facet.
            if *facet == "configmapMetadata" && want.get(facet).is_none() {
                continue;
            }
            let (g, w) = (comparable(got, facet), comparable(want, facet));
            if g != w {
                found.push(Difference { step, facet: (*facet).to_owned(), got: g, want: w });
            }
        }
        let (g, w) = (messages(got), messages(want));
        if g != w {
            found.push(Difference { step, facet: "messages".to_owned(), got: g, want: w });
        }
    }
    found
}

/// What a case with `parity: false` wants of its last snapshot and does not get.
pub fn unmet(last: &Value, want: &std::collections::BTreeMap<String, Value>, step: usize) -> Vec<Difference> {
    let mut found = Vec::new();
    for (path, wanted) in want {
        let got = lookup(last, path);
        if !holds(&got, wanted) {
            let first = path.split('.').next().unwrap_or_default();
            let facet = if matches!(first, "events" | "messages") { "wanted" } else { first };
            found.push(Difference { step, facet: facet.to_owned(), got, want: wanted.clone() });
        }
    }
    found
}

/// A dotted path; `\.` is a dot inside a name.
fn lookup(snapshot: &Value, path: &str) -> Value {
    let marked = path.replace("\\.", "\u{0}");
    let mut current = snapshot.clone();
    for part in marked.split('.') {
        current = current.get(part.replace('\u{0}', ".")).cloned().unwrap_or(Value::Null);
    }
    current
}

fn holds(value: &Value, want: &Value) -> bool {
    let search = |pattern: &str, text: &str| fancy_regex::Regex::new(&pattern.replace(r"\Z", r"\z")).unwrap().is_match(text).unwrap();
    if let Some(pattern) = want.get("matches").and_then(Value::as_str) {
        return search(pattern, &spaced(value));
    }
    if let Some(pattern) = want.get("decoded").and_then(Value::as_str) {
        let bytes = base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap_or_default());
        return bytes.ok().and_then(|b| String::from_utf8(b).ok()).is_some_and(|text| search(pattern, &text));
    }
    value == want
}

/// JSON with a space after `,` and `:`, as the patterns were written against.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let parts: Vec<String> = map.iter().map(|(k, v)| format!("{}: {}", json!(k), spaced(v))).collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}
