//! A kubeconfig that came out of a Secret: what may be used of it.
//!
//! Whoever may write that Secret must not be able to run programs or read files where this program runs,
//! so everything that points outside of the document is refused.
use serde_json::Value;
use zeroize::Zeroize as _;

use super::error::FleetError;
use super::yaml11;
use crate::secret::value::SecretValue;

/// Access to a downstream cluster that is described on the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Name shown to the user and usable where a context is asked for.
    pub name: String,
    /// Where the description came from.
    pub source: AccessSource,
    /// API server address.
    pub server: String,
    /// Namespace of the kubeconfig's context; empty when it names none.
    pub namespace: String,
    /// A whole kubeconfig; kept in memory only.
    pub kubeconfig: SecretValue,
}

/// Who keeps the description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessSource {
    /// A kubeconfig Secret of a Fleet Cluster.
    Fleet,
    /// A cluster Secret of Argo CD.
    ArgoCd,
}

impl AccessSource {
    /// The system's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fleet => "fleet",
            Self::ArgoCd => "argocd",
        }
    }
}

/// What the current context of a kubeconfig leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// API server address.
    pub server: String,
    /// Namespace of the context; may be empty.
    pub namespace: String,
}

/// Fields of a user that run programs, call other services or read files.
const REFUSED_USER: [(&str, &str); 6] = [
    ("exec", "it runs a program to get credentials (exec)"),
    ("auth-provider", "it uses an auth provider"),
    ("tokenFile", "it reads the token from a file (tokenFile)"),
    ("client-certificate", "it reads the client certificate from a file"),
    ("client-key", "it reads the client key from a file"),
    ("as", "it acts as another user (as)"),
];

/// Checks the current context of a kubeconfig. `insecure`: accept a cluster whose certificate is not
/// verified.
///
/// # Errors
/// Not a kubeconfig, a dangling reference, or anything this program refuses.
pub fn check(cluster: &str, bytes: &[u8], insecure: bool) -> Result<Summary, FleetError> {
    let refuse = |problem: &str| FleetError::Kubeconfig {
        cluster: cluster.to_owned(),
        problem: problem.to_owned(),
    };
    // The reader's words may repeat a piece of the document, so they are not passed on.
    let mut document = yaml11::value(bytes).map_err(|_| refuse("it is not readable"))?;
    let summary = summary(&document, insecure, &refuse);
    wipe(&mut document);
    summary
}

fn summary(document: &Value, insecure: bool, refuse: &dyn Fn(&str) -> FleetError) -> Result<Summary, FleetError> {
    let current = text(document, "current-context");
    if current.is_empty() {
        return Err(refuse("it has no current-context"));
    }
    let context =
        named(document, "contexts", current, "context").ok_or_else(|| refuse("its current-context does not exist"))?;
    let cluster = named(document, "clusters", text(context, "cluster"), "cluster")
        .ok_or_else(|| refuse("the cluster of its context does not exist"))?;
    if let Some(user) = named(document, "users", text(context, "user"), "user") {
        if let Some((_, problem)) = REFUSED_USER.iter().find(|(key, _)| set(user, key)) {
            return Err(refuse(problem));
        }
    } else if !text(context, "user").is_empty() {
        return Err(refuse("the user of its context does not exist"));
    }
    let server = text(cluster, "server");
    if set(cluster, "certificate-authority") {
        return Err(refuse("it reads the certificate authority from a file"));
    }
    if cluster.get("insecure-skip-tls-verify") == Some(&Value::Bool(true)) && !insecure {
        return Err(refuse(
            "it does not verify the server's certificate (insecure-skip-tls-verify)",
        ));
    }
    if !server.starts_with("https://") {
        return Err(refuse(if server.is_empty() {
            "it names no server"
        } else {
            "its server is not reached over TLS"
        }));
    }
    Ok(Summary {
        server: server.to_owned(),
        namespace: text(context, "namespace").to_owned(),
    })
}

fn named<'a>(document: &'a Value, list: &str, name: &str, inner: &str) -> Option<&'a Value> {
    document
        .get(list)?
        .as_array()?
        .iter()
        .find(|entry| text(entry, "name") == name)?
        .get(inner)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn set(value: &Value, key: &str) -> bool {
    !matches!(value.get(key), None | Some(Value::Null)) && value.get(key) != Some(&Value::String(String::new()))
}

/// Overwrites all text of a value that held credentials.
pub(super) fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(map) => map.values_mut().for_each(wipe),
        _ => {}
    }
}
