//! `spec.provider.kubernetes`, decoded.

use base64::Engine as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::api::Parsed;
use crate::api::secret_store::{CaProvider, SecretKeySelector, ServiceAccountSelector};
use crate::provider::ProviderError;

/// Where the other API server is, and who we are there.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KubernetesConfig {
    /// Address and CA; without it there is no URL at all.
    pub server: Option<Server>,
    /// One way to log in.
    pub auth: Option<Auth>,
    /// A whole kubeconfig in a Secret.
    pub auth_ref: Option<SecretKeySelector>,
    /// Namespace that is read and written.
    pub remote_namespace: String,
}

impl Default for KubernetesConfig {
    fn default() -> Self {
        Self {
            server: None,
            auth: None,
            auth_ref: None,
            remote_namespace: "default".to_owned(),
        }
    }
}

/// Address and CA.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Server {
    /// URL or host; `kubernetes.default` if absent, no URL if empty.
    pub url: String,
    /// CA in PEM.
    #[serde(deserialize_with = "base64_bytes")]
    pub ca_bundle: Option<Vec<u8>>,
    /// CA kept in a Secret or ConfigMap.
    pub ca_provider: Option<CaProvider>,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            url: "kubernetes.default".to_owned(),
            ca_bundle: None,
            ca_provider: None,
        }
    }
}

/// Ways to log in; exactly one is to be set.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Auth {
    /// A bearer token in a Secret.
    pub token: Option<TokenAuth>,
    /// A token minted for a ServiceAccount of the cluster the store lives in.
    pub service_account: Option<ServiceAccountSelector>,
    /// A client certificate in Secrets.
    pub cert: Option<CertAuth>,
}

/// A bearer token in a Secret.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenAuth {
    /// Where it is.
    pub bearer_token: SecretKeySelector,
}

/// A client certificate in Secrets.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CertAuth {
    /// The certificate.
    pub client_cert: SecretKeySelector,
    /// Its key.
    pub client_key: SecretKeySelector,
}

impl KubernetesConfig {
    /// Decodes the value under `spec.provider.kubernetes`.
    pub fn decode(config: &Value) -> Result<Self, ProviderError> {
        match crate::api::decode(config.clone(), false) {
            Parsed::Ok(config) => Ok(config),
            Parsed::Bad { error } => Err(ProviderError::invalid(error)),
        }
    }

    /// True if a credential selector leaves its namespace to the asking ExternalSecret (`authRef` is not looked at).
    pub fn is_referent(&self) -> bool {
        let Some(auth) = &self.auth else { return false };
        let bare = |selector: &SecretKeySelector| selector.namespace.is_none();
        auth.token.as_ref().is_some_and(|token| bare(&token.bearer_token))
            || auth
                .service_account
                .as_ref()
                .is_some_and(|account| account.namespace.is_none())
            || auth
                .cert
                .as_ref()
                .is_some_and(|cert| bare(&cert.client_cert) || bare(&cert.client_key))
    }
}

/// Go's `[]byte`: base64 text. Line breaks inside are skipped, as Go does.
pub fn base64_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    match base64::engine::general_purpose::STANDARD.decode(&text) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => Err(serde::de::Error::custom(illegal_base64(&text, &error))),
    }
}

/// Go's text for text that is no base64.
pub fn illegal_base64(text: &str, error: &base64::DecodeError) -> String {
    let at = match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol { offset: at, .. } => *at,
        base64::DecodeError::InvalidLength(_) | base64::DecodeError::InvalidPadding => text.len() / 4 * 4,
    };
    format!("illegal base64 data at input byte {at}")
}

#[cfg(test)]
mod tests {
    use super::KubernetesConfig;
    use serde_json::json;

    #[test]
    fn an_empty_server_has_the_default_url_and_no_server_has_none() {
        let config = KubernetesConfig::decode(&json!({"server": {}})).unwrap();
        assert_eq!(config.server.unwrap().url, "kubernetes.default");
        let config = KubernetesConfig::decode(&json!({})).unwrap();
        assert!(config.server.is_none());
        assert_eq!(config.remote_namespace, "default");
    }

    #[test]
    fn a_selector_without_namespace_is_referent_but_auth_ref_is_not() {
        let with = |config: serde_json::Value| KubernetesConfig::decode(&config).unwrap().is_referent();
        assert!(with(
            json!({"auth": {"token": {"bearerToken": {"name": "t", "key": "k"}}}})
        ));
        assert!(!with(
            json!({"auth": {"token": {"bearerToken": {"name": "t", "key": "k", "namespace": "n"}}}})
        ));
        assert!(with(json!({"auth": {"serviceAccount": {"name": "sa"}}})));
        let cert =
            json!({"clientCert": {"name": "c", "key": "k", "namespace": "n"}, "clientKey": {"name": "c", "key": "k"}});
        assert!(with(json!({"auth": {"cert": cert}})));
        assert!(!with(json!({"authRef": {"name": "kubeconfig", "key": "value"}})));
    }

    #[test]
    fn a_bundle_that_is_no_base64_is_told_as_go_does() {
        let error = KubernetesConfig::decode(&json!({"server": {"caBundle": "a*b="}})).unwrap_err();
        assert_eq!(error.to_string(), "illegal base64 data at input byte 1");
    }
}
