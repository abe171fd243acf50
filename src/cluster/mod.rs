//! The only room that talks to an API server for us: connections, reads, and the one writer of plan steps.

pub mod apply;
pub mod cache;
pub mod credentials;
pub mod discovery;
pub mod error;
pub mod fanout;
pub mod go_error;
pub mod http_log;
pub mod kubeconfig;
pub mod lease;
pub mod observe;
pub mod process;
pub mod proof;
mod recent;
pub mod request_error;
pub mod rest;
pub mod token;
pub mod watch;
pub mod write;

use std::time::Duration;

use kube::Client;

pub use request_error::{Reason, RequestError};

/// Field manager of every write a command makes (server-side apply). `sync` writes as ESO writes instead.
pub const FIELD_MANAGER: &str = "kubectl-eso";

/// One connected cluster: a client and what a user needs to read to know which one it is.
#[derive(Clone)]
pub struct Cluster {
    /// Name of the kubeconfig context, or `in-cluster`.
    pub context: String,
    /// Namespace of `-n`, else of the context, else `default`.
    pub namespace: String,
    /// URL of the API server as this host reaches it.
    pub server: String,
    /// PEM bundle that verifies `server`, if the kubeconfig has one (system roots otherwise).
    pub ca_pem: Option<Vec<u8>>,
    /// The client; cheap to clone.
    pub client: Client,
    /// Upper bound of one request (not of a watch); zero means none.
    pub request_timeout: Duration,
}

impl Cluster {
    /// Runs one request under the request timeout and names this cluster in its error.
    pub async fn call<T>(
        &self,
        verb: &'static str,
        object: &str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, RequestError> {
        let outcome = if self.request_timeout.is_zero() {
            request.await
        } else {
            match tokio::time::timeout(self.request_timeout, request).await {
                Ok(outcome) => outcome,
                Err(_) => return Err(RequestError::timeout(verb, object, &self.context, self.request_timeout)),
            }
        };
        outcome.map_err(|e| RequestError::from_kube(verb, object, &self.context, &self.server, &e))
    }
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("context", &self.context)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
