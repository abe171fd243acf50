//! Writes kubeconfig text for the clusters of the harness.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{Cluster, Identity};

/// Who a context logs in as.
#[derive(Clone, Debug)]
pub enum User {
    /// A client certificate.
    Certificate(Identity),
    /// A bearer token.
    Token(String),
    /// A program that prints an `ExecCredential`: its path and arguments.
    Exec(Vec<String>),
    /// Nobody: the API server sees `system:anonymous`.
    Anonymous,
}

/// One context with its cluster and user entries; all three carry the context's name.
#[derive(Clone, Debug)]
pub struct Entry {
    name: String,
    server: String,
    ca_pem: Option<String>,
    user: User,
    namespace: Option<String>,
    extra_cluster: Map<String, Value>,
}

impl Entry {
    /// A context of this name that reaches `cluster` as its administrator.
    pub fn admin(name: &str, cluster: &Cluster) -> Self {
        Self {
            name: name.to_owned(),
            server: cluster.url().to_owned(),
            ca_pem: Some(cluster.ca_pem().to_owned()),
            user: User::Certificate(cluster.admin().clone()),
            namespace: None,
            extra_cluster: Map::new(),
        }
    }

    /// Another URL than the cluster's own, for example a proxy's or one where nobody listens.
    #[must_use]
    pub fn server(mut self, url: &str) -> Self {
        url.clone_into(&mut self.server);
        self
    }

    /// Another CA than the cluster's own; `None` leaves the entry out.
    #[must_use]
    pub fn ca(mut self, pem: Option<&str>) -> Self {
        self.ca_pem = pem.map(str::to_owned);
        self
    }

    /// Another user than the administrator.
    #[must_use]
    pub fn user(mut self, user: User) -> Self {
        self.user = user;
        self
    }

    /// The context's namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// A further field of the cluster entry, such as `tls-server-name` or `proxy-url`.
    #[must_use]
    pub fn cluster_field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extra_cluster.insert(name.to_owned(), value.into());
        self
    }

    fn cluster_json(&self) -> Value {
        let mut cluster = self.extra_cluster.clone();
        cluster.insert("server".into(), self.server.clone().into());
        if let Some(pem) = &self.ca_pem {
            cluster.insert("certificate-authority-data".into(), STANDARD.encode(pem).into());
        }
        json!({ "name": self.name, "cluster": cluster })
    }

    fn user_json(&self) -> Value {
        let user = match &self.user {
            User::Certificate(identity) => json!({
                "client-certificate-data": STANDARD.encode(&identity.cert_pem),
                "client-key-data": STANDARD.encode(&identity.key_pem),
            }),
            User::Token(token) => json!({ "token": token }),
            User::Exec(command) => json!({ "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "interactiveMode": "Never",
                "command": command.first(),
                "args": command.get(1..).unwrap_or_default(),
            }}),
            User::Anonymous => json!({}),
        };
        json!({ "name": self.name, "user": user })
    }

    fn context_json(&self) -> Value {
        let mut context = Map::new();
        context.insert("cluster".into(), self.name.clone().into());
        context.insert("user".into(), self.name.clone().into());
        if let Some(namespace) = &self.namespace {
            context.insert("namespace".into(), namespace.clone().into());
        }
        json!({ "name": self.name, "context": context })
    }
}

/// A kubeconfig in the making. The first context is the current one unless said otherwise.
#[derive(Clone, Debug, Default)]
pub struct Kubeconfig {
    entries: Vec<Entry>,
    current: Option<String>,
}

impl Kubeconfig {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a context.
    #[must_use]
    pub fn with(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        self
    }

    /// Adds a context that reaches `cluster` as its administrator.
    #[must_use]
    pub fn admin(self, name: &str, cluster: &Cluster) -> Self {
        self.with(Entry::admin(name, cluster))
    }

    /// Sets the current context; the empty name leaves none.
    #[must_use]
    pub fn current(mut self, name: &str) -> Self {
        self.current = Some(name.to_owned());
        self
    }

    /// The YAML text.
    pub fn to_yaml(&self) -> Result<String> {
        let first = self.entries.first().map(|entry| entry.name.clone());
        let value = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": self.entries.iter().map(Entry::cluster_json).collect::<Vec<_>>(),
            "users": self.entries.iter().map(Entry::user_json).collect::<Vec<_>>(),
            "contexts": self.entries.iter().map(Entry::context_json).collect::<Vec<_>>(),
            "current-context": self.current.clone().or(first).unwrap_or_default(),
        });
        serde_yaml::to_string(&value).context("cannot write a kubeconfig")
    }

    /// Writes it to a file that only the owner may read.
    pub fn write(&self, path: &Path) -> Result<PathBuf> {
        super::write_private(path, &self.to_yaml()?)?;
        fs::canonicalize(path).with_context(|| format!("cannot find {}", path.display()))
    }
}
