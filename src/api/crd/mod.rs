//! CustomResourceDefinitions of every kind this program reads, built from the same rules as the types beside it.
//!
//! What the API server accepts or refuses equals External Secrets 2.9: required fields, patterns, lengths, enums,
//! defaults, limits. Providers other than `kubernetes`, `fake` and `webhook`, and generators that need an account, are
//! known by name, with the fields they must have, and open otherwise.

mod external_secret;
mod generator;
mod push_secret;
mod schema;
mod store;
mod vendor;

use serde_json::{Value, json};

/// One printer column: name, type, JSONPath.
type Column = (&'static str, &'static str, &'static str);

const READY_STATUS: &str = ".status.conditions[?(@.type==\"Ready\")].status";
const READY_REASON: &str = ".status.conditions[?(@.type==\"Ready\")].reason";
const AGE: Column = ("AGE", "date", ".metadata.creationTimestamp");

/// What distinguishes one CRD from another.
struct Definition {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: String,
    short: Option<&'static str>,
    cluster_scoped: bool,
    columns: Vec<Column>,
    selectable: &'static [&'static str],
    spec: Value,
    status: Option<Value>,
}

/// All CRDs, sorted by name.
pub fn all() -> Vec<Value> {
    let mut out: Vec<Value> = [
        external_secret::definitions(),
        store::definitions(),
        push_secret::definitions(),
        generator::definitions(),
    ]
    .into_iter()
    .flatten()
    .map(Definition::build)
    .collect();
    out.sort_by(|a, b| a["metadata"]["name"].as_str().cmp(&b["metadata"]["name"].as_str()));
    out
}

impl Definition {
    fn build(self) -> Value {
        let singular = self.kind.to_lowercase();
        let mut categories = vec!["external-secrets"];
        if self.group == super::GENERATORS_GROUP {
            categories.push("external-secrets-generators");
        }
        let mut names = json!({
            "categories": categories, "kind": self.kind, "listKind": format!("{}List", self.kind),
            "plural": self.plural, "singular": singular,
        });
        if let Some(short) = self.short {
            names["shortNames"] = json!([short]);
        }
        let mut properties = json!({
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}, "spec": self.spec,
        });
        let mut version = json!({"name": self.version, "served": true, "storage": true});
        if let Some(status) = self.status {
            properties["status"] = status;
        }
        // GeneratorState's status is part of the object: nobody writes it apart.
        version["subresources"] = if self.kind == "GeneratorState" {
            json!({})
        } else {
            json!({"status": {}})
        };
        version["schema"] = json!({"openAPIV3Schema": {"type": "object", "properties": properties}});
        if !self.columns.is_empty() {
            version["additionalPrinterColumns"] = self
                .columns
                .iter()
                .map(|(name, kind, path)| json!({"name": name, "type": kind, "jsonPath": path}))
                .collect();
        }
        if !self.selectable.is_empty() {
            version["selectableFields"] = self.selectable.iter().map(|path| json!({"jsonPath": path})).collect();
        }
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{}.{}", self.plural, self.group),
                // The label that External Secrets itself selects its CRDs by.
                "labels": {"external-secrets.io/component": "controller"},
            },
            "spec": {"group": self.group, "names": names, "scope": if self.cluster_scoped { "Cluster" } else { "Namespaced" }, "versions": [version]},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn every_kind_of_the_api_has_a_definition() {
        let names: Vec<String> = all()
            .iter()
            .map(|c| c["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned())
            .collect();
        for info in crate::api::KINDS {
            assert!(names.iter().any(|n| n == info.kind), "{} has no CRD", info.kind);
        }
        assert_eq!(names.len(), 25);
    }

    #[test]
    fn required_fields_exist() {
        fn walk(schema: &serde_json::Value, path: &str) {
            if let Some(required) = schema.get("required").and_then(|r| r.as_array()) {
                for name in required.iter().filter_map(|n| n.as_str()) {
                    assert!(
                        schema["properties"].get(name).is_some(),
                        "{path}.{name} is required but not defined"
                    );
                }
            }
            match schema {
                serde_json::Value::Object(map) => map.iter().for_each(|(k, v)| walk(v, &format!("{path}.{k}"))),
                serde_json::Value::Array(all) => all.iter().for_each(|v| walk(v, path)),
                _ => {}
            }
        }
        for crd in all() {
            walk(
                &crd["spec"]["versions"][0]["schema"],
                crd["metadata"]["name"].as_str().unwrap_or_default(),
            );
        }
    }
}
