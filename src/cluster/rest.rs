//! Plain requests to one API server: the path is ours, the body is ours, and no answer is ever logged.
//!
//! kube's typed calls log an answer they cannot decode, secret data included; these do not.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, header};
use kube::Client;
use kube::client::Body;
use serde::de::DeserializeOwned;

use super::error::ClusterError;

/// How long one request may take before it counts as lost. Watches have their own rule.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a kind lives in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Resource {
    /// `api/v1` or `apis/GROUP/VERSION`.
    pub base: &'static str,
    /// Plural name.
    pub plural: &'static str,
}

/// Core Secrets.
pub const SECRETS: Resource = Resource {
    base: "api/v1",
    plural: "secrets",
};
/// Core ConfigMaps.
pub const CONFIG_MAPS: Resource = Resource {
    base: "api/v1",
    plural: "configmaps",
};
/// Core Events.
pub const EVENTS: Resource = Resource {
    base: "api/v1",
    plural: "events",
};
/// Namespaces.
pub const NAMESPACES: Resource = Resource {
    base: "api/v1",
    plural: "namespaces",
};
/// Leases.
pub const LEASES: Resource = Resource {
    base: "apis/coordination.k8s.io/v1",
    plural: "leases",
};
/// ExternalSecrets.
pub const EXTERNAL_SECRETS: Resource = Resource {
    base: "apis/external-secrets.io/v1",
    plural: "externalsecrets",
};
/// SecretStores.
pub const SECRET_STORES: Resource = Resource {
    base: "apis/external-secrets.io/v1",
    plural: "secretstores",
};
/// ClusterSecretStores.
pub const CLUSTER_SECRET_STORES: Resource = Resource {
    base: "apis/external-secrets.io/v1",
    plural: "clustersecretstores",
};
/// PushSecrets.
pub const PUSH_SECRETS: Resource = Resource {
    base: "apis/external-secrets.io/v1alpha1",
    plural: "pushsecrets",
};
/// ClusterPushSecrets.
pub const CLUSTER_PUSH_SECRETS: Resource = Resource {
    base: "apis/external-secrets.io/v1alpha1",
    plural: "clusterpushsecrets",
};
/// ClusterExternalSecrets.
pub const CLUSTER_EXTERNAL_SECRETS: Resource = Resource {
    base: "apis/external-secrets.io/v1",
    plural: "clusterexternalsecrets",
};
/// GeneratorStates.
pub const GENERATOR_STATES: Resource = Resource {
    base: "apis/generators.external-secrets.io/v1alpha1",
    plural: "generatorstates",
};

impl Resource {
    /// Path of the collection, of one namespace or (with `""`) of the cluster.
    pub fn collection(&self, namespace: &str) -> String {
        if namespace.is_empty() {
            format!("/{}/{}", self.base, self.plural)
        } else {
            format!("/{}/namespaces/{namespace}/{}", self.base, self.plural)
        }
    }

    /// Path of one object.
    pub fn object(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }
}

/// Percent-encodes everything but unreserved characters, for query values.
pub fn query_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A client that sends bytes and returns bytes.
#[derive(Clone)]
pub struct Rest {
    client: Client,
}

impl Rest {
    /// Over a kube client, whose credentials, proxy and TLS settings it uses.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// The kube client underneath.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// One request, one whole answer.
    ///
    /// # Errors
    /// [`ClusterError::Api`] for every answer from 400 on, [`ClusterError::Transport`] without an answer in
    /// [`REQUEST_TIMEOUT`].
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        content_type: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Bytes, ClusterError> {
        let mut builder = Request::builder().method(method).uri(path);
        if let Some(kind) = content_type {
            builder = builder.header(header::CONTENT_TYPE, kind);
        }
        self.send(builder, body).await
    }

    async fn send(&self, builder: http::request::Builder, body: Vec<u8>) -> Result<Bytes, ClusterError> {
        self.raw(
            builder
                .body(body)
                .map_err(|e| ClusterError::Request { message: e.to_string() })?,
        )
        .await
    }

    /// A ready-made request, one whole answer.
    ///
    /// # Errors
    /// As [`Rest::call`].
    pub async fn raw(&self, request: Request<Vec<u8>>) -> Result<Bytes, ClusterError> {
        let request = request.map(Body::from);
        let exchange = async {
            let response = self.client.send(request).await?;
            let status = response.status();
            let bytes = response.into_body().collect_bytes().await?;
            Ok::<_, kube::Error>((status, bytes))
        };
        let (status, bytes) =
            tokio::time::timeout(REQUEST_TIMEOUT, exchange)
                .await
                .map_err(|_| ClusterError::Transport {
                    message: "no answer in 30 seconds".to_owned(),
                })??;
        if status.is_client_error() || status.is_server_error() {
            return Err(status_error(status.as_u16(), &bytes));
        }
        Ok(bytes)
    }

    /// GET, decoded.
    ///
    /// # Errors
    /// As [`Rest::call`], and [`ClusterError::Decode`].
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClusterError> {
        decode(&self.call(Method::GET, path, None, Vec::new()).await?)
    }

    /// GET; an absent object is `None`.
    ///
    /// # Errors
    /// As [`Rest::get`].
    pub async fn get_opt<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, ClusterError> {
        match self.get(path).await {
            Ok(found) => Ok(Some(found)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// GET of the metadata alone (`PartialObjectMetadata`); an absent object is `None`.
    ///
    /// # Errors
    /// As [`Rest::get`].
    pub async fn get_metadata_opt<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, ClusterError> {
        let builder = Request::builder().method(Method::GET).uri(path).header(
            header::ACCEPT,
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        );
        match self.send(builder, Vec::new()).await {
            Ok(bytes) => decode(&bytes).map(Some),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Decodes an answer; the error names the place, never the content.
///
/// # Errors
/// [`ClusterError::Decode`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ClusterError> {
    serde_json::from_slice(bytes).map_err(|e| ClusterError::Decode {
        message: format!("line {}, column {}", e.line(), e.column()),
    })
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusBody {
    #[serde(default)]
    message: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    code: u16,
    #[serde(default)]
    details: Option<StatusDetails>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusDetails {
    #[serde(default)]
    retry_after_seconds: u64,
}

fn status_error(code: u16, bytes: &[u8]) -> ClusterError {
    match serde_json::from_slice::<StatusBody>(bytes) {
        Ok(body) => ClusterError::Api {
            code: if body.code == 0 { code } else { body.code },
            reason: body.reason,
            message: body.message,
            retry_after: body.details.map(|d| d.retry_after_seconds).filter(|s| *s > 0),
        },
        Err(_) => ClusterError::Api {
            code,
            reason: String::new(),
            message: String::from_utf8_lossy(bytes).trim().chars().take(300).collect(),
            retry_after: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{SECRETS, query_escape, status_error};

    #[test]
    fn paths_of_namespaced_and_cluster_wide_collections() {
        assert_eq!(SECRETS.collection(""), "/api/v1/secrets");
        assert_eq!(SECRETS.object("a", "b"), "/api/v1/namespaces/a/secrets/b");
    }

    #[test]
    fn query_values_are_escaped() {
        assert_eq!(
            query_escape("externalsecrets.external-secrets.io/es"),
            "externalsecrets.external-secrets.io%2Fes"
        );
    }

    #[test]
    fn an_answer_that_is_no_status_still_has_a_code() {
        let error = status_error(502, b"<html>bad gateway</html>");
        assert_eq!(error.code(), Some(502));
    }
}
