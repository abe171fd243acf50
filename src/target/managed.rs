//! Which keys of a Secret which ExternalSecret manages, as the API server keeps it in `metadata.managedFields`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::names;

/// The keys one manager owns; `.` is left out and the prefix `f:` taken off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedKeys {
    /// Keys of `data`.
    pub data: BTreeSet<String>,
    /// Labels.
    pub labels: BTreeSet<String>,
    /// Annotations.
    pub annotations: BTreeSet<String>,
}

/// Manager → keys, for managers of ExternalSecrets only: nobody else's bookkeeping is kept in memory.
pub type ManagedIndex = BTreeMap<String, ManagedKeys>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'a> {
    #[serde(default)]
    manager: String,
    #[serde(borrow, default)]
    fields_v1: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Fields {
    #[serde(rename = "f:data", default)]
    data: BTreeMap<String, serde::de::IgnoredAny>,
    #[serde(rename = "f:metadata", default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    #[serde(rename = "f:labels", default)]
    labels: BTreeMap<String, serde::de::IgnoredAny>,
    #[serde(rename = "f:annotations", default)]
    annotations: BTreeMap<String, serde::de::IgnoredAny>,
}

/// Reads `managedFields`; an entry that cannot be read manages nothing.
pub fn index(managed_fields: &RawValue) -> ManagedIndex {
    let entries: Vec<Entry<'_>> = serde_json::from_str(managed_fields.get()).unwrap_or_default();
    let mut index = ManagedIndex::new();
    for entry in entries.iter().filter(|e| names::is_own_manager(&e.manager)) {
        let fields: Fields = entry
            .fields_v1
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        let keys = index.entry(entry.manager.clone()).or_default();
        collect(&mut keys.data, &fields.data);
        collect(&mut keys.labels, &fields.metadata.labels);
        collect(&mut keys.annotations, &fields.metadata.annotations);
    }
    index
}

fn collect(into: &mut BTreeSet<String>, from: &BTreeMap<String, serde::de::IgnoredAny>) {
    into.extend(from.keys().filter_map(|k| k.strip_prefix("f:")).map(str::to_owned));
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    #[test]
    fn reads_own_managers_only() {
        let text = r#"[
            {"manager":"kubectl","operation":"Update","fieldsV1":{"f:data":{"f:mine":{}}}},
            {"manager":"externalsecrets.external-secrets.io/es","operation":"Update","fieldsV1":
              {"f:data":{".":{},"f:a":{},"f:b":{}},"f:metadata":{"f:labels":{"f:team":{}},"f:annotations":{".":{}}}}},
            {"manager":"externalsecrets.external-secrets.io/es","operation":"Apply","fieldsV1":{"f:data":{"f:c":{}}}},
            {"manager":"externalsecrets.external-secrets.io/odd"}
        ]"#;
        let index = super::index(&RawValue::from_string(text.to_owned()).unwrap());
        let keys = &index["externalsecrets.external-secrets.io/es"];
        assert_eq!(
            keys.data.iter().map(String::as_str).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        assert!(keys.labels.contains("team") && keys.annotations.is_empty());
        assert_eq!(index.len(), 2);
    }
}
