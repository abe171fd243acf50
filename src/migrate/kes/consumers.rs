//! Who reads a Secret: for the way with new names, where consumers are moved one by one.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

/// One reference to a Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Consumer {
    /// Kind of the object.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Where in the object, as a JSONPath-like path.
    pub path: String,
}

/// A Secret by namespace and name.
pub type SecretName = (String, String);

/// References to the named Secrets among live objects or manifests, sorted.
///
/// Known fields of workloads, service accounts and ingresses are read exactly; in every other kind any field called
/// `secretName`, or a field `name` below one that ends in `secretRef`, `secretKeyRef` or `SecretRef`, counts.
/// `ExternalSecrets` and KES objects write Secrets and are no consumers.
#[must_use]
pub fn find(objects: &[Value], secrets: &BTreeSet<SecretName>) -> BTreeMap<SecretName, Vec<Consumer>> {
    let mut out: BTreeMap<SecretName, Vec<Consumer>> = secrets.iter().map(|s| (s.clone(), Vec::new())).collect();
    for object in objects {
        let items = object["items"]
            .as_array()
            .filter(|_| object["kind"].as_str().is_some_and(|k| k.ends_with("List")));
        for object in items.map_or_else(|| std::slice::from_ref(object), Vec::as_slice) {
            visit(object, &mut out);
        }
    }
    for list in out.values_mut() {
        list.sort();
        list.dedup();
    }
    out
}

fn visit(object: &Value, out: &mut BTreeMap<SecretName, Vec<Consumer>>) {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let (kind, namespace, name) = (
        text(&object["kind"]),
        text(&object["metadata"]["namespace"]),
        text(&object["metadata"]["name"]),
    );
    if matches!(kind.as_str(), "Secret" | "ExternalSecret" | "ClusterExternalSecret") {
        return;
    }
    // Pods made by a controller are covered by it.
    let owned = object["metadata"]["ownerReferences"]
        .as_array()
        .is_some_and(|o| o.iter().any(|o| o["controller"] == true));
    if owned && matches!(kind.as_str(), "Pod" | "ReplicaSet" | "Job") {
        return;
    }
    let mut found = Vec::new();
    walk(object, "", None, &kind, &mut found);
    for (secret, path) in found {
        if let Some(list) = out.get_mut(&(namespace.clone(), secret)) {
            list.push(Consumer {
                kind: kind.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
                path,
            });
        }
    }
}

/// Fields whose `name` is the name of a Secret.
fn names_secret(field: &str) -> bool {
    field == "secretKeyRef"
        || field == "secretRef"
        || field.ends_with("SecretRef")
        || field == "imagePullSecrets"
        || field == "secrets"
}

fn walk(value: &Value, path: &str, parent: Option<&str>, kind: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (field, inner) in map {
                if path.is_empty() && field == "metadata" || field == "managedFields" {
                    continue;
                }
                let inner_path = if path.is_empty() {
                    field.clone()
                } else {
                    format!("{path}.{field}")
                };
                if let Some(text) = inner.as_str() {
                    let by_parent = field == "name"
                        && parent.is_some_and(|p| names_secret(p) || (p == "secret" && path.contains("sources[")));
                    if field == "secretName" || by_parent {
                        found.push((text.to_owned(), inner_path));
                        continue;
                    }
                }
                // `secrets` means Secrets on service accounts only.
                let parent = if field == "secrets" && kind != "ServiceAccount" {
                    None
                } else {
                    Some(field.as_str())
                };
                walk(inner, &inner_path, parent, kind, found);
            }
        }
        Value::Array(list) => {
            for (i, inner) in list.iter().enumerate() {
                walk(inner, &format!("{path}[{i}]"), parent, kind, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::find;

    #[test]
    fn finds_every_kind_of_reference() {
        let objects = [
            json!({"kind": "Deployment", "metadata": {"namespace": "a", "name": "web"}, "spec": {"template": {"spec": {
                "imagePullSecrets": [{"name": "s"}],
                "volumes": [{"name": "s", "secret": {"secretName": "s"}}, {"projected": {"sources": [{"secret": {"name": "s"}}]}}],
                "containers": [{"name": "s", "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}], "envFrom": [{"secretRef": {"name": "s"}}]}]}}}}),
            json!({"kind": "Ingress", "metadata": {"namespace": "a", "name": "in"}, "spec": {"tls": [{"secretName": "s"}]}}),
            json!({"kind": "ServiceAccount", "metadata": {"namespace": "a", "name": "sa"}, "secrets": [{"name": "s"}]}),
            json!({"kind": "Pod", "metadata": {"namespace": "a", "name": "p", "ownerReferences": [{"controller": true}]}, "spec": {"imagePullSecrets": [{"name": "s"}]}}),
            json!({"kind": "Deployment", "metadata": {"namespace": "b", "name": "other"}, "spec": {"template": {"spec": {"imagePullSecrets": [{"name": "s"}]}}}}),
            json!({"kind": "ExternalSecret", "metadata": {"namespace": "a", "name": "s"}, "spec": {"target": {"secretName": "s"}}}),
        ];
        let secret = ("a".to_owned(), "s".to_owned());
        let found = find(&objects, &[secret.clone()].into());
        let paths: Vec<String> = found[&secret]
            .iter()
            .map(|c| format!("{} {}", c.kind, c.path))
            .collect();
        assert_eq!(
            paths,
            [
                "Deployment spec.template.spec.containers[0].envFrom[0].secretRef.name",
                "Deployment spec.template.spec.containers[0].env[0].valueFrom.secretKeyRef.name",
                "Deployment spec.template.spec.imagePullSecrets[0].name",
                "Deployment spec.template.spec.volumes[0].secret.secretName",
                "Deployment spec.template.spec.volumes[1].projected.sources[0].secret.name",
                "Ingress spec.tls[0].secretName",
                "ServiceAccount secrets[0].name",
            ]
        );
    }
}
