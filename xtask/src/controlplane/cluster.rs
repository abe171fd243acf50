//! One cluster of a set: how to reach it, who may, and what it was asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _};
use kube::config::KubeConfigOptions;
use rustix::process::Signal;
use serde_json::json;
use tower::ServiceBuilder;

use super::certs::{Authority, Identity, TokenSigner};
use super::kubeconfig::{Entry, Kubeconfig};
use super::process;

/// A handle on one cluster; cheap to clone. It holds no connection, so tests with runtimes of their own can share it.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

/// What a [`Cluster`] is made of.
pub(super) struct Inner {
    pub(super) name: String,
    pub(super) url: String,
    pub(super) port: u16,
    pub(super) authority: Authority,
    pub(super) ca_pem: String,
    pub(super) admin: Identity,
    pub(super) signer: TokenSigner,
    pub(super) issuer: String,
    pub(super) audit_log: Option<PathBuf>,
    pub(super) apiserver: AtomicU32,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("name", &self.name())
            .field("url", &self.url())
            .finish_non_exhaustive()
    }
}

/// The claims of a token that the harness signs itself, for what a real API server would never grant: one that is
/// expired, for another audience, of another issuer.
#[derive(Clone, Debug)]
pub struct TokenClaims {
    /// Namespace of the service account.
    pub namespace: String,
    /// Name of the service account.
    pub name: String,
    /// UID of the service account; a wrong one makes the token invalid.
    pub uid: String,
    /// Seconds from now at which it was issued; negative is the past.
    pub issued: i64,
    /// Seconds from now at which it expires; negative is the past.
    pub expires: i64,
    /// The audience; `None` is the API server's own.
    pub audience: Option<String>,
}

impl Cluster {
    pub(super) fn new(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// `c1`, `c2`, …
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The API server's URL, `https://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.inner.url
    }

    /// The API server's port.
    pub fn port(&self) -> u16 {
        self.inner.port
    }

    /// The cluster's CA certificate, PEM.
    pub fn ca_pem(&self) -> &str {
        &self.inner.ca_pem
    }

    /// The authority behind [`Cluster::ca_pem`], to sign further servers and clients.
    pub fn authority(&self) -> &Authority {
        &self.inner.authority
    }

    /// A client certificate of the group `system:masters`.
    pub fn admin(&self) -> &Identity {
        &self.inner.admin
    }

    /// The issuer of its service account tokens, also their default audience.
    pub fn issuer(&self) -> &str {
        &self.inner.issuer
    }

    /// The audit log, when the set was started with one.
    pub fn audit_log(&self) -> Option<&Path> {
        self.inner.audit_log.as_deref()
    }

    /// Pid of the API server.
    pub fn apiserver_pid(&self) -> u32 {
        self.inner.apiserver.load(Ordering::Relaxed)
    }

    /// Stops the API server's process without ending it: connections stay open and nothing answers.
    pub fn freeze(&self) -> bool {
        process::signal(self.apiserver_pid(), Signal::STOP)
    }

    /// Ends [`Cluster::freeze`].
    pub fn thaw(&self) -> bool {
        process::signal(self.apiserver_pid(), Signal::CONT)
    }

    /// A kubeconfig with one context, named as given, for the administrator.
    pub fn kubeconfig(&self, context: &str) -> Kubeconfig {
        Kubeconfig::new().admin(context, self)
    }

    /// The administrator's client configuration.
    pub async fn config(&self) -> Result<kube::Config> {
        Self::config_of(&Kubeconfig::new().admin(self.name(), self)).await
    }

    /// The client configuration of one kubeconfig entry, for example of a token.
    pub async fn config_for(&self, entry: Entry) -> Result<kube::Config> {
        Self::config_of(&Kubeconfig::new().with(entry)).await
    }

    async fn config_of(kubeconfig: &Kubeconfig) -> Result<kube::Config> {
        let parsed = kube::config::Kubeconfig::from_yaml(&kubeconfig.to_yaml()?)?;
        let config = kube::Config::from_custom_kubeconfig(parsed, &KubeConfigOptions::default()).await;
        config.context("the harness wrote a kubeconfig that kube does not accept")
    }

    /// A client of the administrator, bound to the current runtime.
    pub async fn client(&self) -> Result<kube::Client> {
        Ok(kube::Client::try_from(self.config().await?)?)
    }

    /// A client of one kubeconfig entry, bound to the current runtime.
    pub async fn client_for(&self, entry: Entry) -> Result<kube::Client> {
        Ok(kube::Client::try_from(self.config_for(entry).await?)?)
    }

    /// A bare administrator's client over HTTP/2 alone: no retries, no tracing, one connection for all requests.
    pub async fn http2_client(&self) -> Result<kube::Client> {
        let config = self.config().await?;
        let connector = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(config.rustls_client_config()?)
            .https_only()
            .enable_http2()
            .build();
        let http = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .http2_only(true)
            .build::<_, Body>(connector);
        let service = ServiceBuilder::new().layer(config.base_uri_layer()).service(http);
        Ok(kube::Client::new(service, config.default_namespace))
    }

    /// Signs a service account token with the cluster's own key.
    pub fn sign_token(&self, claims: &TokenClaims) -> Result<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let now = i64::try_from(now.as_secs())?;
        let issued = now + claims.issued;
        self.inner.signer.sign(&json!({
            "iss": self.inner.issuer,
            "aud": [claims.audience.as_deref().unwrap_or(&self.inner.issuer)],
            "sub": format!("system:serviceaccount:{}:{}", claims.namespace, claims.name),
            "iat": issued,
            "nbf": issued,
            "exp": now + claims.expires,
            "kubernetes.io": {
                "namespace": claims.namespace,
                "serviceaccount": { "name": claims.name, "uid": claims.uid },
            },
        }))
    }
}
