//! One ExternalSecret for one upstream Secret.

use serde_json::{Map, Value, json};

use super::Manifest;
use super::names::{LABEL_MANAGED_BY, LABEL_PART, MANAGED_BY, Part, STORE};

/// What `request` was asked for.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Name of the ExternalSecret and of the target Secret unless `target` says otherwise.
    pub name: String,
    /// Upstream Secret.
    pub remote: String,
    /// `(secretKey, property)` pairs; empty means all keys.
    pub properties: Vec<(String, String)>,
    /// Target Secret.
    pub target: Option<String>,
    /// Downstream namespace.
    pub namespace: String,
    /// `SecretStore` or `ClusterSecretStore`.
    pub store_kind: String,
    /// Store name.
    pub store: String,
    /// Refresh interval as written, a Go duration.
    pub refresh_interval: String,
}

impl Spec {
    /// All keys of `name`, from the store that `distribute-token --with-store` makes.
    pub fn all_keys(name: &str, namespace: &str) -> Self {
        Self {
            name: name.to_owned(),
            remote: name.to_owned(),
            properties: Vec::new(),
            target: None,
            namespace: namespace.to_owned(),
            store_kind: "SecretStore".to_owned(),
            store: STORE.to_owned(),
            refresh_interval: "1h0m0s".to_owned(),
        }
    }
}

/// The ExternalSecret, with the defaults the CRD would add, so that a file of it equals the live object. The empty
/// template keeps labels and annotations of the ExternalSecret out of the Secret.
pub fn external_secret(spec: &Spec) -> Manifest {
    let mut body = json!({
        "refreshInterval": spec.refresh_interval,
        "secretStoreRef": {"kind": spec.store_kind, "name": spec.store},
        "target": {
            "name": spec.target.as_ref().unwrap_or(&spec.name),
            "creationPolicy": "Owner", "deletionPolicy": "Retain",
            "template": {"engineVersion": "v2", "mergePolicy": "Replace"},
        },
    });
    if spec.properties.is_empty() {
        body["dataFrom"] = json!([{"extract": {"key": spec.remote}}]);
    } else {
        let data: Vec<Value> = spec
            .properties
            .iter()
            .map(|(key, property)| json!({"secretKey": key, "remoteRef": {"key": spec.remote, "property": property}}))
            .collect();
        body["data"] = Value::Array(data);
    }
    Manifest::ours(json!({
        "apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret",
        "metadata": {"name": spec.name, "namespace": spec.namespace, "labels": {LABEL_MANAGED_BY: MANAGED_BY, LABEL_PART: Part::Request.as_str()}},
        "spec": body,
    }))
}

/// What the upstream Secret lacks, in words; empty when all is there. `secret` is `None` where it does not exist.
pub fn missing(spec: &Spec, secret: Option<&Map<String, Value>>) -> Vec<String> {
    let Some(data) = secret else {
        return vec![format!("secret/{} does not exist upstream", spec.remote)];
    };
    spec.properties
        .iter()
        .filter(|(_, property)| {
            !data.contains_key(property.split('.').next().unwrap_or(property)) && !data.contains_key(property)
        })
        .map(|(_, property)| {
            let keys: Vec<&str> = data.keys().map(String::as_str).collect();
            format!(
                "secret/{} has no key {property:?}; its keys are {}",
                spec.remote,
                keys.join(", ")
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Spec, external_secret, missing};

    #[test]
    fn all_keys_become_an_extract() {
        let made = external_secret(&Spec::all_keys("db", "apps")).into_value();
        assert_eq!(made["spec"]["dataFrom"][0]["extract"]["key"], "db");
        assert!(made["spec"].get("data").is_none());
    }

    #[test]
    fn a_missing_property_names_what_is_there() {
        let spec = Spec {
            properties: vec![("u".to_owned(), "user".to_owned())],
            ..Spec::all_keys("db", "apps")
        };
        let data = json!({"username": "", "password": ""});
        assert_eq!(
            missing(&spec, data.as_object()),
            ["secret/db has no key \"user\"; its keys are password, username"]
        );
        assert_eq!(missing(&spec, None).len(), 1);
    }
}
