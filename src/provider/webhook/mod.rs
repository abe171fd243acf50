//! Provider `webhook`: any HTTP endpoint, addressed by templates.
//!
//! Secrets are offered to templates only if they carry the label `external-secrets.io/type: webhook`.

pub mod answer;
mod clients;
pub mod config;
pub mod exchange;
mod go_url;
mod ntlm;
pub mod template;

use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Method;
use zeroize::Zeroizing;

pub use self::clients::Clients;
use self::config::WebhookConfig;
use self::exchange::{Endpoint, Plan};
use self::template::{Scope, expand};
use super::http::{dialled_address, fetch_ca};
use super::values::{json_of_data, secret_value};
use super::{Capabilities, Entry, OpenRequest, Provider, ProviderError, PushSource, Validation, Writer};
use crate::api::external_secret::{Find, RemoteRef};
use crate::api::push_secret::{PushData, PushRemoteRef};
use crate::cluster::credentials;
use crate::cluster::go_error::{join_host_port, transport_text};
use crate::secret::{SecretData, SecretValue};

/// The row of this provider.
pub const ENTRY: Entry = Entry {
    key: "webhook",
    capabilities: Capabilities::ReadWrite,
    maintained: true,
    open: open_boxed,
};

/// How long the check of a store may dial.
const DIAL_TIMEOUT: Duration = Duration::from_secs(15);

fn open_boxed(request: OpenRequest<'_>) -> BoxFuture<'_, Result<Box<dyn Provider>, ProviderError>> {
    async move {
        let config = WebhookConfig::decode(request.config)?;
        let scope = credentials::Scope {
            cluster_scoped: request.is_cluster_scoped(),
            namespace: request.namespace,
        };
        let (bundle, provider) = (config.ca_bundle.as_deref(), config.ca_provider.as_ref());
        let ca = fetch_ca(request.credentials, scope, bundle, provider).await?;
        if ca
            .as_deref()
            .is_some_and(|pem| super::http::ca_certificates(pem).is_err())
        {
            return Err(ProviderError::invalid("failed to append cabundle"));
        }
        let namespace = if scope.cluster_scoped { "" } else { request.namespace };
        let owner = (
            request.store_kind.to_owned(),
            namespace.to_owned(),
            request.store_name.to_owned(),
        );
        let endpoint = Endpoint {
            config,
            cluster_scoped: scope.cluster_scoped,
            namespace: request.namespace.to_owned(),
            credentials: request.credentials.clone(),
            clients: request.shared().webhook_clients.clone(),
            owner,
            ca,
        };
        Ok(Box::new(Webhook { endpoint }) as Box<dyn Provider>)
    }
    .boxed()
}

/// The HTTP clients that hang on these credentials.
pub fn clients_of(credentials: &credentials::Credentials) -> Clients {
    credentials.attached::<super::Shared>().webhook_clients.clone()
}

struct Webhook {
    endpoint: Endpoint,
}

/// The values under `remoteRef`, raw and escaped for a URL. Names in `plain` are never escaped.
fn remote_ref(values: &[(&str, &[u8])], plain: &[(&str, &str)]) -> (Scope, Scope) {
    let escape = |bytes: &[u8]| SecretValue::new(go_url::query_escape(bytes));
    let plain = || {
        plain
            .iter()
            .map(|(name, value)| ((*name).to_owned(), SecretValue::from((*value).to_owned())))
    };
    let raw = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), SecretValue::new(value.to_vec())));
    let escaped = values.iter().map(|(name, value)| ((*name).to_owned(), escape(value)));
    let scope = |entries| Scope::from([("remoteRef".to_owned(), entries)]);
    (
        scope(raw.chain(plain()).collect()),
        scope(escaped.chain(plain()).collect()),
    )
}

impl Webhook {
    /// What templates see when `key` is read: raw, and as the URL sees it.
    async fn read_scopes(&self, key: &RemoteRef) -> Result<(Scope, Scope), ProviderError> {
        let values: [(&str, &[u8]); 3] = [
            ("key", key.key.as_bytes()),
            ("version", key.version.as_bytes()),
            ("property", key.property.as_bytes()),
        ];
        let (mut raw, mut escaped) = remote_ref(&values, &[("namespace", self.endpoint.namespace.as_str())]);
        self.endpoint.add_secrets(&mut raw).await?;
        self.endpoint.add_secrets(&mut escaped).await?;
        Ok((raw, escaped))
    }

    async fn read(&self, key: &RemoteRef) -> Result<(Zeroizing<Vec<u8>>, Scope), ProviderError> {
        let (raw, escaped) = self.read_scopes(key).await?;
        let plan = Plan {
            default_method: Method::GET,
            default_body: "",
            raw: raw.clone(),
            escaped,
        };
        let answer = self
            .endpoint
            .send(&self.endpoint.prepare(&plan)?)
            .await
            .map_err(call_failed)?;
        Ok((answer.into_body()?, raw))
    }

    fn json_path(&self, scope: &Scope) -> Result<String, String> {
        let path = &self.endpoint.config.result.json_path;
        if path.is_empty() {
            return Ok(String::new());
        }
        expand(path, scope).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    async fn push_value(&self, secret: &PushSource, data: &PushData) -> Result<(), ProviderError> {
        let (remote_key, secret_key) = (&data.match_.remote_ref.remote_key, &data.match_.secret_key);
        if remote_key.is_empty() {
            return Err(ProviderError::invalid("remote key must be defined"));
        }
        let value = if secret_key.is_empty() {
            secret_value(json_of_data(&secret.data))
        } else {
            let missing =
                || ProviderError::invalid(format!("failed to find secret key in secret with key: {secret_key}"));
            secret.data.get(secret_key).cloned().ok_or_else(missing)?
        };
        self.send_push(remote_key, secret_key, &value)
            .await
            .map_err(|error| error.wrap("failed to push webhook data"))
    }

    async fn send_push(&self, remote_key: &str, secret_key: &str, value: &SecretValue) -> Result<(), ProviderError> {
        let mut values = vec![("remoteKey", remote_key.as_bytes())];
        if !secret_key.is_empty() {
            values.push(("secretKey", secret_key.as_bytes()));
        }
        values.push((remote_key, value.expose()));
        let (mut raw, mut escaped) = remote_ref(&values, &[]);
        self.endpoint.add_secrets(&mut raw).await?;
        self.endpoint.add_secrets(&mut escaped).await?;
        let default_body = format!("{{{{ .remoteRef.{remote_key} }}}}");
        let plan = Plan {
            default_method: Method::POST,
            default_body: &default_body,
            raw,
            escaped,
        };
        let prepared = self.endpoint.prepare(&plan)?;
        let sent = self.endpoint.send(&prepared).await.map_err(call_failed);
        let sent = sent.and_then(exchange::Answer::into_body);
        sent.map(|_| ())
            .map_err(|error| error.wrap("failed to push webhook data"))
    }
}

/// ESO puts this before what happened on the wire; what could not be asked at all keeps its own text.
fn call_failed(error: ProviderError) -> ProviderError {
    match error {
        ProviderError::Transport { .. } => error.wrap("failed to call endpoint"),
        other => other,
    }
}

#[async_trait]
impl Provider for Webhook {
    async fn get(&self, key: &RemoteRef) -> Result<SecretValue, ProviderError> {
        let (body, scope) = self.read(key).await?;
        let path = self.json_path(&scope).map_err(ProviderError::invalid)?;
        answer::value(body, &path)
    }

    async fn get_map(&self, key: &RemoteRef) -> Result<SecretData, ProviderError> {
        let (body, scope) = self.read(key).await?;
        let path = self
            .json_path(&scope)
            .map_err(|error| ProviderError::invalid(format!("cannot get templated json path: {error}")))?;
        answer::map(&body, &path)
    }

    async fn find(&self, _: &Find) -> Result<SecretData, ProviderError> {
        Err(ProviderError::invalid("not implemented"))
    }

    async fn validate(&self) -> Validation {
        match check_dial(&self.endpoint.config.url).await {
            Ok(()) => Validation::Valid,
            Err(message) => Validation::Invalid(ProviderError::Transport { message }),
        }
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

/// Dials host and port of the URL as it is written, templates and all; the port is 443 if none is given, whatever the scheme.
async fn check_dial(url: &str) -> Result<(), String> {
    let parsed = go_url::parse(url).map_err(|error| format!("could not parse url: {error}"))?;
    let port = if parsed.port.is_empty() {
        443
    } else {
        parsed.port.parse::<u16>().map_err(|_| unknown_port(&parsed.port))?
    };
    let failed = |text: String| format!("error accessing external store: {text}");
    let host = if parsed.host.is_empty() {
        "localhost"
    } else {
        &parsed.host
    };
    match tokio::time::timeout(DIAL_TIMEOUT, tokio::net::TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => {
            let shown = if parsed.host.is_empty() {
                String::new()
            } else {
                dialled_address(host, port).await
            };
            Err(failed(transport_text(&error, &shown, port)))
        }
        Err(_) => Err(failed(format!("dial tcp {}: i/o timeout", join_host_port(host, port)))),
    }
}

fn unknown_port(port: &str) -> String {
    format!("error accessing external store: dial tcp: address {port}: invalid port")
}

#[async_trait]
impl Writer for Webhook {
    async fn push(&self, secret: &PushSource, data: &PushData) -> Result<(), ProviderError> {
        self.push_value(secret, data).await
    }

    async fn delete(&self, remote: &PushRemoteRef) -> Result<(), ProviderError> {
        let (raw, _) = remote_ref(&[("remoteKey", remote.remote_key.as_bytes())], &[]);
        let prepared = self.endpoint.prepare_delete(&raw)?;
        let answer = self.endpoint.send(&prepared).await.map_err(|error| match error {
            ProviderError::Transport { .. } => error.wrap("failed to delete secret"),
            other => other,
        })?;
        match answer.status.as_u16() {
            404 | 200..=299 => Ok(()),
            _ => Err(ProviderError::other(format!(
                "delete endpoint gave error {}",
                answer.status_text
            ))),
        }
    }

    async fn exists(&self, remote: &PushRemoteRef) -> Result<bool, ProviderError> {
        let key = RemoteRef {
            key: remote.remote_key.clone(),
            ..RemoteRef::default()
        };
        match self.read(&key).await {
            Ok(_) => Ok(true),
            Err(ProviderError::NoSecret { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests;
