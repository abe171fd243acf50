//! The store that downstream clusters read through, in the newest version they serve.

use serde_json::{Value, json};

use super::Manifest;
use super::bootstrap::labels;
use super::names::{CA_CONFIG_MAP, Part, STORE, TOKEN_SECRET};

/// Who may use the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreScope {
    /// A SecretStore: the namespace of the credential only.
    Namespace,
    /// A ClusterSecretStore whose conditions admit these namespaces.
    Cluster {
        /// Namespaces that may use it; the credential's own is always among them.
        namespaces: Vec<String>,
    },
}

/// What the store manifest needs to know.
#[derive(Debug, Clone)]
pub struct Spec {
    /// URL of the upstream API server as downstream clusters reach it.
    pub url: String,
    /// Whether a CA ConfigMap stands beside it; system roots otherwise.
    pub with_ca: bool,
    /// Namespace of the source Secrets upstream.
    pub remote_namespace: String,
    /// Downstream namespace of token and CA.
    pub namespace: String,
    /// Who may use it.
    pub scope: StoreScope,
}

/// `SecretStore` or `ClusterSecretStore` `upstream-store`, in version v1.
pub fn store(spec: &Spec, cid: Option<&str>) -> Manifest {
    let cluster_scoped = matches!(spec.scope, StoreScope::Cluster { .. });
    let reference = |mut value: Value| {
        if cluster_scoped {
            value["namespace"] = json!(spec.namespace);
        }
        value
    };
    let mut server = json!({"url": spec.url});
    if spec.with_ca {
        server["caProvider"] = reference(json!({"type": "ConfigMap", "name": CA_CONFIG_MAP, "key": "ca.crt"}));
    }
    let mut object = json!({
        "apiVersion": "external-secrets.io/v1",
        "kind": if cluster_scoped { "ClusterSecretStore" } else { "SecretStore" },
        "metadata": {"name": STORE, "labels": labels(Part::Store, cid)},
        "spec": {"provider": {"kubernetes": {
            "remoteNamespace": spec.remote_namespace,
            "server": server,
            "auth": {"token": {"bearerToken": reference(json!({"name": TOKEN_SECRET, "key": "token"}))}},
        }}},
    });
    match &spec.scope {
        StoreScope::Namespace => object["metadata"]["namespace"] = json!(spec.namespace),
        StoreScope::Cluster { namespaces } => {
            let mut all = namespaces.clone();
            all.push(spec.namespace.clone());
            all.sort();
            all.dedup();
            object["spec"]["conditions"] = json!([{"namespaces": all}]);
        }
    }
    Manifest::ours(object)
}

#[cfg(test)]
mod tests {
    use super::{Spec, StoreScope, store};

    fn spec(scope: StoreScope) -> Spec {
        Spec {
            url: "https://hub.example:6443".to_owned(),
            with_ca: true,
            remote_namespace: "eso-data".to_owned(),
            namespace: "apps".to_owned(),
            scope,
        }
    }

    #[test]
    fn a_namespaced_store_names_no_namespace_in_references() {
        let made = store(&spec(StoreScope::Namespace), Some("c")).into_value();
        let provider = &made["spec"]["provider"]["kubernetes"];
        assert!(provider["server"]["caProvider"].get("namespace").is_none());
        assert!(provider["auth"]["token"]["bearerToken"].get("namespace").is_none());
        assert_eq!(made["metadata"]["namespace"], "apps");
    }

    #[test]
    fn a_cluster_store_needs_namespaces_and_conditions() {
        let made = store(
            &spec(StoreScope::Cluster {
                namespaces: vec!["web".to_owned()],
            }),
            None,
        )
        .into_value();
        let provider = &made["spec"]["provider"]["kubernetes"];
        assert_eq!(provider["server"]["caProvider"]["namespace"], "apps");
        assert_eq!(provider["auth"]["token"]["bearerToken"]["namespace"], "apps");
        assert_eq!(
            made["spec"]["conditions"][0]["namespaces"],
            serde_json::json!(["apps", "web"])
        );
        assert!(made["metadata"].get("namespace").is_none());
    }
}
