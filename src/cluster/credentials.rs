//! Reads what stores and generators need from the cluster they live in: keys of Secrets and ConfigMaps, and tokens of
//! ServiceAccounts.
//!
//! One answer serves everybody who asks within [`Credentials::DEFAULT_MAX_AGE`], so that a thousand ExternalSecrets of one
//! store do not read its token Secret a thousand times; failures are never kept. Who may ask for which namespace is
//! decided by [`Scope`] before anything is read or found in memory.

use std::any::{Any, TypeId};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};

use super::go_error::{ApiFailure, RequestLine, api_failure};
use super::recent::Recent;
use crate::api::secret_store::{CaProvider, SecretKeySelector, ServiceAccountSelector};
use crate::secret::{SecretData, SecretValue};

/// Why a credential could not be had, in ESO's words. Never holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The Secret could not be read.
    #[error("cannot get Kubernetes secret {name:?} from namespace {namespace:?}: {failure}")]
    Secret {
        /// Its name.
        name: String,
        /// Where it was looked for.
        namespace: String,
        /// What the API server said.
        failure: ApiFailure,
    },
    /// The Secret has no such key.
    #[error("cannot find secret data for key: {key:?}")]
    SecretKey {
        /// The key.
        key: String,
    },
    /// The ConfigMap of a CA could not be read (ESO says `secret` for it).
    #[error("failed to get caProvider secret {name}: {failure}")]
    CaConfigMap {
        /// Its name.
        name: String,
        /// What the API server said.
        failure: ApiFailure,
    },
    /// The ConfigMap of a CA has no such key.
    #[error("failed to get caProvider configMap {name} -> {key}")]
    CaConfigMapKey {
        /// Its name.
        name: String,
        /// The key.
        key: String,
    },
    /// No token could be minted.
    #[error("cannot create service account token: {:?}", failure.message)]
    Token {
        /// What the API server said.
        failure: ApiFailure,
    },
    /// A namespaced store names another namespace for its CA.
    #[error("namespace should either be empty or match the namespace of the SecretStore for a namespaced SecretStore")]
    ForeignNamespace,
    /// A cluster-wide store names no namespace for its CA.
    #[error("missing namespace on caProvider secret")]
    MissingNamespace,
    /// `caProvider.type` is neither `Secret` nor `ConfigMap`.
    #[error("unsupported CA provider type: {type_}")]
    CaType {
        /// What it is.
        type_: String,
    },
}

/// For whom a credential is read: the namespace of the asking object, and whether references may leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope<'a> {
    /// True for a ClusterSecretStore.
    pub cluster_scoped: bool,
    /// Namespace of the asking object; empty when a ClusterSecretStore is validated.
    pub namespace: &'a str,
}

impl<'a> Scope<'a> {
    /// Where a reference is read: a namespaced store never leaves its namespace, whatever the reference says.
    pub fn resolve(&self, wanted: Option<&'a str>) -> &'a str {
        match wanted {
            Some(namespace) if self.cluster_scoped => namespace,
            _ => self.namespace,
        }
    }
}

/// A Secret as read: values redact themselves.
#[derive(Debug, Clone, Default)]
pub struct SecretObject {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// `type`.
    pub secret_type: Option<String>,
    /// Data.
    pub data: SecretData,
}

/// Reads credentials of one cluster. Cheap to clone; clones share what they remember.
#[derive(Clone)]
pub struct Credentials {
    client: Client,
    server: String,
    max_age: Duration,
    memory: Arc<Memory>,
}

#[derive(Default)]
struct Memory {
    secrets: Recent<(String, String), Arc<SecretObject>>,
    config_maps: Recent<(String, String), Arc<BTreeMap<String, SecretValue>>>,
    tokens: Recent<TokenKey, SecretValue>,
    attached: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct TokenKey {
    namespace: String,
    name: String,
    audiences: Vec<String>,
    seconds: Option<i64>,
}

impl Credentials {
    /// How long an answer serves others who ask for the same.
    pub const DEFAULT_MAX_AGE: Duration = Duration::from_secs(1);
    /// The longest a minted token is used again; never more than half of its life.
    const TOKEN_MAX_AGE: Duration = Duration::from_secs(600);
    /// No single read takes longer, so that a hanging API server holds up nobody for good.
    const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

    /// For the cluster behind `client`; `server` is its URL for error texts (may be empty).
    pub fn new(client: Client, server: impl Into<String>) -> Self {
        Self {
            client,
            server: server.into(),
            max_age: Self::DEFAULT_MAX_AGE,
            memory: Arc::default(),
        }
    }

    /// The same with another life of answers; zero asks the API server every time.
    #[must_use]
    pub fn with_max_age(mut self, max_age: Duration) -> Self {
        self.max_age = max_age;
        self
    }

    /// Forgets one Secret or ConfigMap, for a watcher that saw it change.
    pub fn forget(&self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.memory.secrets.forget(&key);
        self.memory.config_maps.forget(&key);
    }

    /// Forgets all tokens of one ServiceAccount, for whoever saw one refused.
    pub fn forget_tokens(&self, namespace: &str, name: &str) {
        self.memory
            .tokens
            .forget_where(|key| key.namespace == namespace && key.name == name);
    }

    /// What another room keeps for as long as these credentials (and their clones) live: connections, mostly. Made when
    /// first asked for, one per type.
    pub fn attached<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut attached = self.memory.attached.lock().unwrap_or_else(PoisonError::into_inner);
        let held = attached
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        let held = Arc::clone(held);
        drop(attached);
        held.downcast::<T>()
            .expect("the entry of a type holds a value of that type")
    }

    /// A whole Secret. Errors are Go's texts of the request alone (`secrets "x" not found`).
    pub async fn secret(&self, namespace: &str, name: &str) -> Result<Arc<SecretObject>, ApiFailure> {
        need_namespace(namespace)?;
        let key = (namespace.to_owned(), name.to_owned());
        let read = async {
            let api = Api::<Secret>::namespaced(self.client.clone(), namespace);
            let secret = self.bounded("get", "secrets", namespace, name, api.get(name)).await?;
            Ok((Arc::new(SecretObject::from(secret)), self.max_age))
        };
        self.memory.secrets.get(key, read).await
    }

    /// One key of a Secret, by the namespace rule of `scope`.
    pub async fn secret_key(
        &self,
        scope: Scope<'_>,
        selector: &SecretKeySelector,
    ) -> Result<SecretValue, CredentialError> {
        let namespace = scope.resolve(selector.namespace.as_deref());
        let secret = self
            .secret(namespace, &selector.name)
            .await
            .map_err(|failure| CredentialError::Secret {
                name: selector.name.clone(),
                namespace: namespace.to_owned(),
                failure,
            })?;
        let missing = || CredentialError::SecretKey {
            key: selector.key.clone(),
        };
        secret.data.get(&selector.key).cloned().ok_or_else(missing)
    }

    /// The data of a ConfigMap (text and binary).
    pub async fn config_map(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Arc<BTreeMap<String, SecretValue>>, ApiFailure> {
        need_namespace(namespace)?;
        let key = (namespace.to_owned(), name.to_owned());
        let read = async {
            let api = Api::<ConfigMap>::namespaced(self.client.clone(), namespace);
            let found = self
                .bounded("get", "configmaps", namespace, name, api.get(name))
                .await?;
            let text = found
                .data
                .unwrap_or_default()
                .into_iter()
                .map(|(key, value)| (key, SecretValue::from(value)));
            Ok((Arc::new(text.collect::<BTreeMap<_, _>>()), self.max_age))
        };
        self.memory.config_maps.get(key, read).await
    }

    /// The bytes of a CA, neither decoded nor checked (ESO does neither).
    pub async fn ca(&self, scope: Scope<'_>, provider: &CaProvider) -> Result<SecretValue, CaError> {
        let wanted = provider.namespace.as_deref();
        if scope.cluster_scoped && wanted.is_none() {
            return Err(CaError::Rule(CredentialError::MissingNamespace));
        }
        if !scope.cluster_scoped && wanted.is_some_and(|namespace| namespace != scope.namespace) {
            return Err(CaError::Rule(CredentialError::ForeignNamespace));
        }
        match provider.type_.as_str() {
            "Secret" => {
                let (name, key) = (provider.name.clone(), provider.key.clone());
                let selector = SecretKeySelector {
                    name,
                    key,
                    namespace: provider.namespace.clone(),
                };
                self.secret_key(scope, &selector).await.map_err(CaError::Secret)
            }
            "ConfigMap" => self
                .ca_from_config_map(scope.resolve(wanted), provider)
                .await
                .map_err(CaError::ConfigMap),
            other => Err(CaError::Rule(CredentialError::CaType {
                type_: other.to_owned(),
            })),
        }
    }

    async fn ca_from_config_map(&self, namespace: &str, provider: &CaProvider) -> Result<SecretValue, CredentialError> {
        let name = &provider.name;
        let found = self
            .config_map(namespace, name)
            .await
            .map_err(|failure| CredentialError::CaConfigMap {
                name: name.clone(),
                failure,
            })?;
        let missing = || CredentialError::CaConfigMapKey {
            name: name.clone(),
            key: provider.key.clone(),
        };
        found.get(&provider.key).cloned().ok_or_else(missing)
    }

    /// A token of a ServiceAccount with the audiences of `selector` (may be none) and `extra` before them.
    ///
    /// `seconds` is the life asked for; `None` leaves it to the API server.
    pub async fn service_account_token(
        &self,
        scope: Scope<'_>,
        selector: &ServiceAccountSelector,
        extra: &[String],
        seconds: Option<i64>,
    ) -> Result<SecretValue, CredentialError> {
        let namespace = scope.resolve(selector.namespace.as_deref());
        let audiences: Vec<String> = extra.iter().chain(&selector.audiences).cloned().collect();
        let key = TokenKey {
            namespace: namespace.to_owned(),
            name: selector.name.clone(),
            audiences,
            seconds,
        };
        let mint = async {
            need_namespace(namespace)?;
            self.mint(&key).await
        };
        self.memory
            .tokens
            .get(key.clone(), mint)
            .await
            .map_err(|failure| CredentialError::Token { failure })
    }

    async fn mint(&self, key: &TokenKey) -> Result<(SecretValue, Duration), ApiFailure> {
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                audiences: (!key.audiences.is_empty()).then(|| key.audiences.clone()),
                expiration_seconds: key.seconds,
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let api = Api::<ServiceAccount>::namespaced(self.client.clone(), &key.namespace);
        let params = PostParams::default();
        let create = api.create_token_request(&key.name, &params, &request);
        let asked = Instant::now();
        let answer = self
            .bounded("post", "serviceaccounts", &key.namespace, &key.name, create)
            .await?;
        let token = answer.status.and_then(|status| status.token);
        let token = token.ok_or_else(|| ApiFailure::local("the server returned no token"))?;
        let granted = answer.spec.and_then(|spec| spec.expiration_seconds);
        let granted = granted
            .and_then(|seconds| u64::try_from(seconds).ok())
            .unwrap_or_default();
        let life = Duration::from_secs(granted) / 2;
        let life = life.min(Self::TOKEN_MAX_AGE).saturating_sub(asked.elapsed());
        let life = if self.max_age.is_zero() { Duration::ZERO } else { life };
        Ok((SecretValue::from(token), life))
    }

    /// The annotations of a ServiceAccount.
    pub async fn service_account_annotations(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<BTreeMap<String, String>, ApiFailure> {
        need_namespace(namespace)?;
        let api = Api::<ServiceAccount>::namespaced(self.client.clone(), namespace);
        let found = self
            .bounded("get", "serviceaccounts", namespace, name, api.get(name))
            .await?;
        Ok(found.metadata.annotations.unwrap_or_default())
    }

    /// The client, for whoever must read other kinds (generators).
    pub fn client(&self) -> &Client {
        &self.client
    }

    async fn bounded<T>(
        &self,
        verb: &str,
        resource: &str,
        namespace: &str,
        name: &str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, ApiFailure> {
        let method = if verb == "post" { "POST" } else { "GET" };
        let suffix = if verb == "post" { "/token" } else { "" };
        let url = format!(
            "{}/api/v1/namespaces/{namespace}/{resource}/{name}{suffix}",
            self.server.trim_end_matches('/')
        );
        let line = RequestLine {
            method,
            url: &url,
            verb,
            resource,
            name,
        };
        match tokio::time::timeout(Self::REQUEST_TIMEOUT, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(api_failure(&error, line)),
            Err(_) => Err(ApiFailure::local(super::go_error::url_error(
                method,
                &url,
                super::go_error::TIMED_OUT,
            ))),
        }
    }
}

/// Why a CA could not be had; the three branches carry ESO's different prefixes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaError {
    /// A namespace rule or an unknown type, without prefix.
    #[error("{0}")]
    Rule(CredentialError),
    /// The CA was to come from a Secret.
    #[error("failed to get cert from secret: failed to resolve secret key ref: {0}")]
    Secret(CredentialError),
    /// The CA was to come from a ConfigMap.
    #[error("failed to get cert from configmap: {0}")]
    ConfigMap(CredentialError),
}

/// client-go refuses such a request before it is sent.
fn need_namespace(namespace: &str) -> Result<(), ApiFailure> {
    if namespace.is_empty() {
        return Err(ApiFailure::local(
            "an empty namespace may not be set when a resource name is provided",
        ));
    }
    Ok(())
}

impl From<Secret> for SecretObject {
    fn from(secret: Secret) -> Self {
        let data = secret
            .data
            .unwrap_or_default()
            .into_iter()
            .map(|(key, value)| (key, SecretValue::new(value.0)));
        Self {
            labels: secret.metadata.labels.unwrap_or_default(),
            annotations: secret.metadata.annotations.unwrap_or_default(),
            secret_type: secret.type_,
            data: data.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;

    #[test]
    fn a_namespaced_store_never_leaves_its_namespace() {
        let namespaced = Scope {
            cluster_scoped: false,
            namespace: "own",
        };
        assert_eq!(namespaced.resolve(Some("other")), "own");
        let cluster = Scope {
            cluster_scoped: true,
            namespace: "own",
        };
        assert_eq!(
            (cluster.resolve(Some("other")), cluster.resolve(None)),
            ("other", "own")
        );
    }
}
