//! What `push-target` makes, in both clusters: downstream an account that may write some Secrets of one namespace,
//! upstream its token, the store that uses it and the PushSecrets. The mirror image of [`super::distribute`].

use serde_json::{Value, json};

use super::Manifest;
use super::bootstrap::{labels, role, role_binding, service_account};
use super::distribute::TokenRecord;
use super::names::{
    ANNOTATION_CLUSTER_UID, ANNOTATION_EXPIRES, ANNOTATION_GENERATION, ANNOTATION_HUB, ANNOTATION_ISSUED,
    ANNOTATION_TOKEN_ID, PUSH_ACCOUNT, PUSH_NAMESPACE, Part,
};

/// `deletionPolicy` of the PushSecrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Deletion {
    /// What was pushed stays when the PushSecret goes.
    #[default]
    Keep,
    /// What was pushed goes with it.
    Delete,
}

/// What the objects of one downstream need to know.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Id of the downstream.
    pub cid: String,
    /// UID of its `kube-system`, where known.
    pub cluster_uid: Option<String>,
    /// URL of its API server as the upstream reaches it.
    pub url: String,
    /// PEM that verifies it; system roots otherwise.
    pub ca_pem: Option<String>,
    /// Its namespace that is written to.
    pub remote_namespace: String,
    /// Upstream namespace of the source Secrets, where the PushSecrets go.
    pub data_namespace: String,
    /// Names of the source Secrets, which are their names downstream too.
    pub secrets: Vec<String>,
    /// `refreshInterval`, in Go's syntax.
    pub interval: String,
    /// `deletionPolicy`.
    pub deletion: Deletion,
}

/// Name of the token Secret and of the ClusterSecretStore of a downstream.
pub fn target_name(cid: &str) -> String {
    format!("push-{cid}")
}

/// Where the token is kept, as an anchor names it.
pub fn place(cid: &str) -> String {
    format!("{PUSH_NAMESPACE}/{}", target_name(cid))
}

/// What the account may do. RBAC cannot limit `create` by name, since the name is not known when it is judged; all else
/// is limited to the pushed Secrets.
pub fn writer_rules(names: &[String]) -> Value {
    let mut sorted = names.to_vec();
    sorted.sort();
    sorted.dedup();
    if sorted.is_empty() {
        return json!([]);
    }
    json!([
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "update", "delete"], "resourceNames": sorted},
    ])
}

/// Names that a writer Role admits already: those of earlier runs, whose PushSecrets still need them.
pub fn admitted(live: Option<&Value>) -> Vec<String> {
    let rules = live.and_then(|role| role.get("rules")).and_then(Value::as_array);
    rules
        .into_iter()
        .flatten()
        .filter_map(|rule| rule.get("resourceNames")?.as_array())
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect()
}

/// Role, ServiceAccount and RoleBinding downstream; `earlier` are the names admitted before.
pub fn identity(spec: &Spec, earlier: &[String]) -> Vec<Manifest> {
    let (namespace, cid) = (spec.remote_namespace.as_str(), Some(spec.cid.as_str()));
    let names: Vec<String> = spec.secrets.iter().chain(earlier).cloned().collect();
    vec![
        role(namespace, PUSH_ACCOUNT, &writer_rules(&names), cid),
        service_account(namespace, PUSH_ACCOUNT, cid, &Value::Null),
        role_binding(namespace, PUSH_ACCOUNT, PUSH_ACCOUNT, (namespace, PUSH_ACCOUNT), cid),
    ]
}

/// The token Secret upstream; without a token a placeholder stands for it, for display.
pub fn credential(spec: &Spec, record: Option<&TokenRecord>, token: Option<&str>) -> Manifest {
    use base64::Engine;
    let mut annotations = json!({});
    if let Some(uid) = &spec.cluster_uid {
        annotations[ANNOTATION_CLUSTER_UID] = json!(uid);
    }
    if let Some(record) = record {
        annotations[ANNOTATION_EXPIRES] = json!(record.expires_at.to_string());
        annotations[ANNOTATION_ISSUED] = json!(record.issued_at.to_string());
        annotations[ANNOTATION_GENERATION] = json!(record.generation.to_string());
        annotations[ANNOTATION_TOKEN_ID] = json!(record.token_id);
        annotations[ANNOTATION_HUB] = json!(record.hub);
    }
    let encoded = token.map(|text| base64::engine::general_purpose::STANDARD.encode(text));
    Manifest::ours(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {
            "name": target_name(&spec.cid), "namespace": PUSH_NAMESPACE,
            "labels": labels(Part::Credential, Some(&spec.cid)), "annotations": annotations,
        },
        "data": {"token": encoded.unwrap_or_else(|| "<token>".to_owned())},
    }))
}

/// The ClusterSecretStore upstream. It is cluster-wide because a store of the data namespace could only use a credential
/// that lies there, beside the reader Role; its conditions admit the data namespace alone.
pub fn store(spec: &Spec) -> Manifest {
    use base64::Engine;
    let mut server = json!({"url": spec.url});
    if let Some(pem) = &spec.ca_pem {
        server["caBundle"] = json!(base64::engine::general_purpose::STANDARD.encode(pem));
    }
    let name = target_name(&spec.cid);
    Manifest::ours(json!({
        "apiVersion": "external-secrets.io/v1", "kind": "ClusterSecretStore",
        "metadata": {"name": name, "labels": labels(Part::Store, Some(&spec.cid))},
        "spec": {
            "conditions": [{"namespaces": [spec.data_namespace]}],
            "provider": {"kubernetes": {
                "remoteNamespace": spec.remote_namespace,
                "server": server,
                "auth": {"token": {"bearerToken": {"name": name, "namespace": PUSH_NAMESPACE, "key": "token"}}},
            }},
        },
    }))
}

/// One PushSecret for each source Secret; the whole Secret is pushed under its own name.
pub fn push_secrets(spec: &Spec) -> Vec<Manifest> {
    let policy = match spec.deletion {
        Deletion::Keep => "None",
        Deletion::Delete => "Delete",
    };
    let mut names = spec.secrets.clone();
    names.sort();
    names.dedup();
    let of = |secret: &String| {
        Manifest::ours(json!({
            "apiVersion": "external-secrets.io/v1alpha1", "kind": "PushSecret",
            "metadata": {
                "name": format!("{secret}-to-{}", spec.cid), "namespace": spec.data_namespace,
                "labels": labels(Part::Request, Some(&spec.cid)),
            },
            "spec": {
                "refreshInterval": spec.interval, "updatePolicy": "Replace", "deletionPolicy": policy,
                "secretStoreRefs": [{"kind": "ClusterSecretStore", "name": target_name(&spec.cid)}],
                "selector": {"secret": {"name": secret}},
                "data": [{"match": {"remoteRef": {"remoteKey": secret}}}],
            },
        }))
    };
    names.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::{Deletion, Spec, admitted, credential, identity, push_secrets, store, writer_rules};

    fn spec() -> Spec {
        Spec {
            cid: "edge".to_owned(),
            cluster_uid: Some("uid".to_owned()),
            url: "https://edge.example:6443".to_owned(),
            ca_pem: Some("PEM".to_owned()),
            remote_namespace: "apps".to_owned(),
            data_namespace: "eso-data".to_owned(),
            secrets: vec!["db".to_owned(), "tls".to_owned(), "db".to_owned()],
            interval: "1m".to_owned(),
            deletion: Deletion::Delete,
        }
    }

    #[test]
    fn the_account_reads_and_changes_only_what_is_pushed() {
        let rules = writer_rules(&spec().secrets);
        assert_eq!(rules[0]["verbs"], serde_json::json!(["create"]));
        assert_eq!(rules[1]["resourceNames"], serde_json::json!(["db", "tls"]));
        assert_eq!(writer_rules(&[]), serde_json::json!([]), "an empty list would mean all");
    }

    #[test]
    fn a_later_run_keeps_the_names_of_earlier_ones() {
        let first = identity(&spec(), &[]);
        let earlier = admitted(Some(first[0].value()));
        let mut later = spec();
        later.secrets = vec!["api".to_owned()];
        let made = identity(&later, &earlier);
        let rules = &made[0].value()["rules"];
        assert_eq!(rules[1]["resourceNames"], serde_json::json!(["api", "db", "tls"]));
    }

    #[test]
    fn the_credential_never_lies_in_the_data_namespace() {
        let secret = credential(&spec(), None, Some("t"));
        assert_eq!(secret.namespace(), Some("eso-push"));
        let store = store(&spec()).into_value();
        let token = &store["spec"]["provider"]["kubernetes"]["auth"]["token"]["bearerToken"];
        assert_eq!(token["namespace"], "eso-push");
        assert_eq!(
            store["spec"]["conditions"][0]["namespaces"],
            serde_json::json!(["eso-data"])
        );
    }

    #[test]
    fn one_pushsecret_for_each_source() {
        let made = push_secrets(&spec());
        assert_eq!(made.len(), 2);
        assert_eq!(made[0].name(), "db-to-edge");
        assert_eq!(made[0].value()["spec"]["deletionPolicy"], "Delete");
    }
}
