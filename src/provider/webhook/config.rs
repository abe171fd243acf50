//! `spec.provider.webhook` and the spec of the generator `Webhook`, decoded: they share all fields.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::api::secret_store::{CaProvider, SecretKeySelector};
use crate::api::{GoDuration, Parsed};
use crate::provider::ProviderError;
use crate::provider::kubernetes::config::base64_bytes;

/// One HTTP endpoint and how it is asked.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookConfig {
    /// URL, a template.
    pub url: String,
    /// Method; empty means `GET`, or `POST` for a push.
    pub method: String,
    /// Header → template.
    pub headers: BTreeMap<String, String>,
    /// Body, a template; empty means none.
    pub body: String,
    /// Upper bound of a request.
    pub timeout: Option<GoDuration>,
    /// Which part of the answer.
    pub result: ResultConfig,
    /// Secrets offered to templates.
    pub secrets: Vec<NamedSecret>,
    /// CA in PEM.
    #[serde(deserialize_with = "base64_bytes")]
    pub ca_bundle: Option<Vec<u8>>,
    /// CA kept in a Secret or ConfigMap.
    pub ca_provider: Option<CaProvider>,
    /// How to log in.
    pub auth: Option<AuthConfig>,
}

/// Which part of the answer.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultConfig {
    /// JSONPath; empty means all of it.
    pub json_path: String,
}

/// A Secret offered to templates.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NamedSecret {
    /// Its name in templates.
    pub name: String,
    /// The Secret; its key plays no role.
    pub secret_ref: SecretKeySelector,
}

/// How to log in.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct AuthConfig {
    /// NTLM, or Basic where the server knows no NTLM.
    pub ntlm: Option<NtlmConfig>,
}

/// User and password in Secrets.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NtlmConfig {
    /// `user` or `DOMAIN\user`.
    pub username_secret: SecretKeySelector,
    /// Password.
    pub password_secret: SecretKeySelector,
}

impl WebhookConfig {
    /// Decodes the raw configuration.
    pub fn decode(config: &Value) -> Result<Self, ProviderError> {
        match crate::api::decode(config.clone(), false) {
            Parsed::Ok(config) => Ok(config),
            Parsed::Bad { error } => Err(ProviderError::invalid(error)),
        }
    }

    /// Upper bound of a request; where the store sets none, ours.
    pub fn time_limit(&self) -> Duration {
        match self.timeout {
            Some(timeout) if timeout.is_positive() => timeout.to_std(),
            _ => crate::provider::http::REQUEST_TIMEOUT,
        }
    }

    /// The NTLM credentials' place, if NTLM is used.
    pub fn ntlm(&self) -> Option<&NtlmConfig> {
        self.auth.as_ref().and_then(|auth| auth.ntlm.as_ref())
    }
}
