//! Cluster Secrets of Argo CD as a source of downstream access.
//!
//! Format: Argo CD's declarative setup, `argocd.argoproj.io/secret-type: cluster`, keys `name`, `server`,
//! `config` (JSON), `namespaces`.
use serde_json::{Value, json};

use super::error::FleetError;
use super::kubeconfig::{Access, AccessSource, wipe};
use super::object::{describe, secret_key, text};
use crate::secret::value::SecretValue;

/// Label selector that lists the cluster Secrets.
pub const SELECTOR: &str = "argocd.argoproj.io/secret-type=cluster";
/// Address of the cluster Argo CD itself runs in.
pub const IN_CLUSTER: &str = "https://kubernetes.default.svc";

/// Turns a cluster Secret into access, with a kubeconfig made from its parts.
///
/// # Errors
/// Not a cluster Secret, credentials that need a program or a cloud's own protocol, no TLS, or a
/// certificate that is not verified (unless `allow_insecure`).
pub fn access(secret: &Value, allow_insecure: bool) -> Result<Access, FleetError> {
    let wrong = |problem: &str| FleetError::Object {
        object: describe(secret),
        problem: problem.to_owned(),
    };
    if text(secret, "/metadata/labels/argocd.argoproj.io~1secret-type") != "cluster" {
        return Err(wrong("is no cluster Secret of Argo CD"));
    }
    let server = plain(secret, "server")?.ok_or_else(|| wrong("has no key `server`"))?;
    let name = plain(secret, "name")?
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| server.clone());
    let refuse = |problem: &str| FleetError::Kubeconfig {
        cluster: name.clone(),
        problem: problem.to_owned(),
    };
    if server == IN_CLUSTER {
        return Err(refuse(
            "it is the hub itself, seen from inside; use the hub's own context",
        ));
    }
    if !server.starts_with("https://") {
        return Err(refuse("its server is not reached over TLS"));
    }
    let mut config = match secret.pointer("/data/config") {
        None => json!({}),
        Some(_) => serde_json::from_slice(secret_key(secret, "config")?.expose())
            .map_err(|_| refuse("its config is not readable"))?,
    };
    let namespace = plain(secret, "namespaces")?
        .and_then(|list| list.split(',').next().map(|first| first.trim().to_owned()))
        .unwrap_or_default();
    let made = kubeconfig(&name, &server, &namespace, &config, allow_insecure, &refuse);
    wipe(&mut config);
    Ok(Access {
        name: name.clone(),
        source: AccessSource::ArgoCd,
        server,
        namespace,
        kubeconfig: made?,
    })
}

/// A key that holds no secret.
fn plain(secret: &Value, key: &str) -> Result<Option<String>, FleetError> {
    if secret.get("data").and_then(|data| data.get(key)).is_none() {
        return Ok(None);
    }
    let bytes = secret_key(secret, key)?;
    let wrong = || FleetError::Object {
        object: describe(secret),
        problem: format!("key `{key}` is not UTF-8"),
    };
    String::from_utf8(bytes.expose().to_vec())
        .map(Some)
        .map_err(|_| wrong())
}

fn kubeconfig(
    name: &str,
    server: &str,
    namespace: &str,
    config: &Value,
    allow_insecure: bool,
    refuse: &dyn Fn(&str) -> FleetError,
) -> Result<SecretValue, FleetError> {
    for (key, problem) in [
        ("awsAuthConfig", "it needs AWS credentials (awsAuthConfig)"),
        (
            "execProviderConfig",
            "it runs a program to get credentials (execProviderConfig)",
        ),
    ] {
        if config.get(key).is_some_and(|value| !value.is_null()) {
            return Err(refuse(problem));
        }
    }
    let insecure = config.pointer("/tlsClientConfig/insecure") == Some(&Value::Bool(true));
    if insecure && !allow_insecure {
        return Err(refuse(
            "it does not verify the server's certificate (tlsClientConfig.insecure)",
        ));
    }
    let mut cluster = json!({"server": server});
    if insecure {
        cluster["insecure-skip-tls-verify"] = Value::Bool(true);
    }
    copy(
        config,
        &[
            ("/tlsClientConfig/caData", "certificate-authority-data"),
            ("/tlsClientConfig/serverName", "tls-server-name"),
            ("/proxyUrl", "proxy-url"),
        ],
        &mut cluster,
    );
    let mut user = json!({});
    copy(
        config,
        &[
            ("/bearerToken", "token"),
            ("/username", "username"),
            ("/password", "password"),
            ("/tlsClientConfig/certData", "client-certificate-data"),
            ("/tlsClientConfig/keyData", "client-key-data"),
        ],
        &mut user,
    );
    let mut context = json!({"cluster": name, "user": name});
    if !namespace.is_empty() {
        context["namespace"] = Value::String(namespace.to_owned());
    }
    let mut document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    });
    wipe(&mut user);
    let bytes = serde_json::to_vec(&document).expect("a JSON value always serialises");
    wipe(&mut document);
    Ok(SecretValue::new(bytes))
}

fn copy(from: &Value, keys: &[(&str, &str)], to: &mut Value) {
    for (pointer, key) in keys {
        if let Some(Value::String(text)) = from.pointer(pointer).filter(|value| value.as_str() != Some("")) {
            to[*key] = Value::String(text.clone());
        }
    }
}
