//! What a configuration and its credentials resolve to, without a connection.

use serde_json::json;

use super::{check_kubeconfig, clean_token, is_clear_text, with_scheme};
use crate::provider::testing::{Cluster, open};

fn kubeconfig(cluster: serde_json::Value, user: serde_json::Value) -> kube::config::Kubeconfig {
    serde_json::from_value(json!({
        "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": cluster}], "users": [{"name": "u", "user": user}],
    }))
    .unwrap()
}

#[test]
fn a_host_without_scheme_is_https_only_with_tls_settings() {
    assert_eq!(with_scheme("kubernetes.default", false), "http://kubernetes.default");
    assert_eq!(with_scheme("kubernetes.default", true), "https://kubernetes.default");
    assert_eq!(with_scheme("https://a.test/", false), "https://a.test");
    assert!(is_clear_text("http://kubernetes.default"));
    assert!(!is_clear_text("http://127.0.0.1:8080") && !is_clear_text("https://a.test"));
}

#[test]
fn a_token_is_trimmed_and_must_be_one_word() {
    assert_eq!(clean_token(b" abc.def\r\n").unwrap().as_str(), "abc.def");
    assert!(clean_token(b"abc def").is_none() && clean_token(b"\xff").is_none());
}

#[test]
fn a_kubeconfig_from_a_secret_may_not_reach_outside_itself() {
    let server = json!({"server": "https://a.test", "certificate-authority-data": "eA=="});
    assert_eq!(
        check_kubeconfig(&kubeconfig(server.clone(), json!({"token": "t"}))).unwrap(),
        "https://a.test"
    );
    for (user, field) in [
        (
            json!({"exec": {"command": "id", "apiVersion": "client.authentication.k8s.io/v1"}}),
            "exec",
        ),
        (json!({"tokenFile": "/etc/passwd"}), "tokenFile"),
        (json!({"client-certificate": "/x"}), "client-certificate"),
        (json!({"client-key": "/x"}), "client-key"),
    ] {
        let error = check_kubeconfig(&kubeconfig(server.clone(), user))
            .unwrap_err()
            .to_string();
        assert!(error.contains(&format!("uses {field}:")), "{error}");
    }
    let ca_file = json!({"server": "https://a.test", "certificate-authority": "/etc/ssl/ca.pem"});
    let error = check_kubeconfig(&kubeconfig(ca_file, json!({})))
        .unwrap_err()
        .to_string();
    assert!(error.contains("uses certificate-authority:"), "{error}");
}

async fn refusal(cluster: &Cluster, kind: &str, namespace: &str, config: serde_json::Value) -> String {
    open(cluster, "kubernetes", kind, namespace, &config)
        .await
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

const TOKEN: &str = "cannot get Kubernetes secret \"t\" from namespace \"own\": secrets \"t\" not found";

#[tokio::test]
async fn configurations_that_cannot_be_prepared() {
    let cluster = Cluster::new()
        .secret("own", "key", &[], &[("other", "x")])
        .secret("far", "t", &[], &[("k", "x")]);
    let token = json!({"bearerToken": {"name": "t", "key": "k"}});
    let far_token = json!({"bearerToken": {"name": "t", "key": "k", "namespace": "far"}});
    for (config, error) in [
        (json!({}), "no auth provider given".to_owned()),
        (json!({"server": {}, "auth": {}}), "no auth provider given".to_owned()),
        (json!({"auth": {"token": token}}), "no server URL provided".to_owned()),
        (
            json!({"server": {"url": ""}, "auth": {"token": token}}),
            "no server URL provided".to_owned(),
        ),
        (
            json!({"authRef": {"name": "a", "key": "k"}, "auth": {"token": token}}),
            "authRef and inline auth cannot both be set".to_owned(),
        ),
        (
            json!({"server": {}, "auth": {"token": token, "serviceAccount": {"name": "sa"}}}),
            "multiple auth methods provided: set exactly one of Token, ServiceAccount, or Cert".to_owned(),
        ),
        (
            json!({"server": {}, "auth": {"token": token}}),
            format!("could not fetch Auth.Token.BearerToken: {TOKEN}"),
        ),
        // A namespaced store never follows the namespace of a reference.
        (
            json!({"server": {}, "auth": {"token": far_token}}),
            format!("could not fetch Auth.Token.BearerToken: {TOKEN}"),
        ),
        (
            json!({"server": {}, "auth": {"token": {"bearerToken": {"name": "key", "key": "token"}}}}),
            "could not fetch Auth.Token.BearerToken: cannot find secret data for key: \"token\"".to_owned(),
        ),
        (
            json!({"server": {}, "auth": {"cert": {"clientCert": {"name": "t", "key": "c"}, "clientKey": {"name": "t", "key": "k"}}}}),
            format!("could not fetch client key and cert: unable to fetch client certificate: {TOKEN}"),
        ),
        (
            json!({"server": {"caProvider": {"type": "ConfigMap", "name": "ca", "key": "k", "namespace": "far"}}, "auth": {"token": token}}),
            "namespace should either be empty or match the namespace of the SecretStore for a namespaced SecretStore"
                .to_owned(),
        ),
        (
            json!({"server": {"caProvider": {"type": "ConfigMap", "name": "ca", "key": "k"}}, "auth": {"token": token}}),
            "failed to get cert from configmap: failed to get caProvider secret ca: configmaps \"ca\" not found"
                .to_owned(),
        ),
        (
            json!({"server": {"caProvider": {"type": "Secret", "name": "key", "key": "k"}}, "auth": {"token": token}}),
            "failed to get cert from secret: failed to resolve secret key ref: cannot find secret data for key: \"k\""
                .to_owned(),
        ),
        (
            json!({"server": {"caProvider": {"type": "File", "name": "key", "key": "k"}}, "auth": {"token": token}}),
            "unsupported CA provider type: File".to_owned(),
        ),
        (
            json!({"server": {"caBundle": "anVuaw=="}, "auth": {"token": token}}),
            "failed to decode ca bundle: failed to parse the new certificate, not valid pem data".to_owned(),
        ),
    ] {
        assert_eq!(
            refusal(&cluster, "SecretStore", "own", config).await,
            format!("failed to prepare auth: {error}")
        );
    }
    assert!(!cluster.was_read("far", "t"));
}

#[tokio::test]
async fn a_cluster_store_needs_namespaces_where_nobody_brings_one() {
    let cluster = Cluster::new();
    let ca = json!({"server": {"caProvider": {"type": "ConfigMap", "name": "ca", "key": "k"}}, "auth": {"token": {"bearerToken": {"name": "t", "key": "k", "namespace": "n"}}}});
    assert_eq!(
        refusal(&cluster, "ClusterSecretStore", "", ca).await,
        "failed to prepare auth: missing namespace on caProvider secret"
    );
    let auth_ref = json!({"authRef": {"name": "up", "key": "k"}});
    assert_eq!(
        refusal(&cluster, "ClusterSecretStore", "", auth_ref).await,
        "failed to prepare auth: cannot get Kubernetes secret \"up\" from namespace \"\": an empty namespace may not be set when a resource name is provided"
    );
}

#[tokio::test]
async fn a_referent_store_is_valid_without_any_request() {
    let cluster = Cluster::new();
    let config = json!({"server": {}, "auth": {"serviceAccount": {"name": "sa"}}});
    let store = open(&cluster, "kubernetes", "ClusterSecretStore", "", &config)
        .await
        .unwrap();
    assert_eq!(store.validate().await, crate::provider::Validation::Valid);
    assert_eq!(cluster.requests(), 0);
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_told_as_client_go_does() {
    let cluster = Cluster::new()
        .secret("own", "t", &[], &[("k", "token")])
        .secret("own", "pair", &[], &[("c", "junk"), ("k", "junk")])
        .config_map("own", "ca", &[("k", "junk")]);
    let ca = json!({"type": "ConfigMap", "name": "ca", "key": "k"});
    let config = json!({"server": {"caProvider": ca}, "auth": {"token": {"bearerToken": {"name": "t", "key": "k"}}}});
    assert_eq!(
        refusal(&cluster, "SecretStore", "own", config).await,
        "error configuring clientset: unable to load root certificates: unable to parse bytes as PEM block"
    );
    let cert = json!({"clientCert": {"name": "pair", "key": "c"}, "clientKey": {"name": "pair", "key": "k"}});
    assert_eq!(
        refusal(
            &cluster,
            "SecretStore",
            "own",
            json!({"server": {}, "auth": {"cert": cert}})
        )
        .await,
        "error configuring clientset: tls: failed to find any PEM data in certificate input"
    );
}

#[tokio::test]
async fn one_credential_is_read_once_for_many_openings() {
    let cluster = Cluster::new().secret("own", "t", &[], &[("k", "token")]);
    let config = json!({"server": {"url": "https://127.0.0.1:1"}, "auth": {"token": {"bearerToken": {"name": "t", "key": "k"}}}});
    for _ in 0..50 {
        open(&cluster, "kubernetes", "SecretStore", "own", &config)
            .await
            .unwrap();
    }
    assert_eq!(cluster.requests(), 1);
}

#[tokio::test]
async fn a_credential_is_not_sent_in_clear_text_over_a_network() {
    let cluster = Cluster::new().secret("own", "t", &[], &[("k", "token")]);
    let config =
        json!({"server": {"url": "store.test"}, "auth": {"token": {"bearerToken": {"name": "t", "key": "k"}}}});
    let store = open(&cluster, "kubernetes", "SecretStore", "own", &config)
        .await
        .unwrap();
    let error = store
        .get(&crate::api::external_secret::RemoteRef {
            key: "x".to_owned(),
            ..Default::default()
        })
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("Get \"http://store.test/api/v1/namespaces/default/secrets/x\": refusing"),
        "{error}"
    );
}
