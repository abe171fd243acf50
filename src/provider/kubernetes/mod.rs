//! Provider `kubernetes`: Secrets of another namespace or another cluster.
//!
//! A namespaced store reads its credentials in its own namespace only; everything else is done with those credentials, in
//! `remoteNamespace`. Connections are shared by equal server, CA and credential, never between identities.

pub mod config;
pub mod connection;
mod names;
mod read;
pub mod sources;
mod write;

use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, ResourceRule, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SelfSubjectRulesReview,
    SelfSubjectRulesReviewSpec,
};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, PostParams};
use kube::{Api, Client, Resource};

use self::connection::{Origin, Remote, resolve};
use super::{Capabilities, Entry, OpenRequest, Provider, ProviderError, PushSource, Validation, Writer};
use crate::api::external_secret::{Find, RemoteRef};
use crate::api::push_secret::{PushData, PushRemoteRef};
use crate::cluster::go_error::{ApiFailure, RequestLine, TIMED_OUT, api_failure, url_error};
use crate::secret::{SecretData, SecretValue};

/// The row of this provider.
pub const ENTRY: Entry = Entry {
    key: "kubernetes",
    capabilities: Capabilities::ReadWrite,
    maintained: true,
    open: open_boxed,
};

/// No single request takes longer, so that a hanging server holds up one reconcile for a while and no more.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

fn open_boxed(request: OpenRequest<'_>) -> BoxFuture<'_, Result<Box<dyn Provider>, ProviderError>> {
    async move {
        let origin = Origin::new(&request)?;
        if origin.awaits_namespace() {
            return Ok(Box::new(Referent) as Box<dyn Provider>);
        }
        let remote = resolve(&origin).await?;
        Ok(Box::new(Kubernetes {
            origin,
            remote: tokio::sync::RwLock::new(remote),
        }) as Box<dyn Provider>)
    }
    .boxed()
}

/// A ClusterSecretStore that waits for the namespace of an ExternalSecret: it can only be validated, and that says nothing.
struct Referent;

#[async_trait]
impl Provider for Referent {
    async fn get(&self, _: &RemoteRef) -> Result<SecretValue, ProviderError> {
        Err(no_namespace())
    }

    async fn get_map(&self, _: &RemoteRef) -> Result<SecretData, ProviderError> {
        Err(no_namespace())
    }

    async fn find(&self, _: &Find) -> Result<SecretData, ProviderError> {
        Err(no_namespace())
    }

    async fn validate(&self) -> Validation {
        Validation::Valid
    }
}

fn no_namespace() -> ProviderError {
    ProviderError::invalid(
        "the store's credentials are looked up in the namespace of an ExternalSecret, and there is none",
    )
}

struct Kubernetes {
    origin: Origin,
    remote: tokio::sync::RwLock<Remote>,
}

/// One request to the other API server, for error texts.
struct Call<'a> {
    method: &'a str,
    verb: &'a str,
    path: String,
    resource: &'a str,
    name: &'a str,
}

impl Kubernetes {
    fn namespace(&self) -> &str {
        &self.origin.config.remote_namespace
    }

    /// Runs one request; a minted token that the server refuses is replaced once (its ServiceAccount may have been made
    /// anew), every other failure is final.
    async fn call<'r, T>(
        &self,
        call: Call<'_>,
        request: impl Fn(Client) -> BoxFuture<'r, kube::Result<T>> + Send + Sync,
    ) -> Result<T, ApiFailure> {
        let remote = self.remote.read().await.clone();
        let outcome = Self::attempt(&remote, &call, &request).await;
        match (&outcome, &remote.minted_for) {
            (Err(ApiFailure { code: 401, .. }), Some((namespace, name))) => {
                self.origin.credentials.forget_tokens(namespace, name);
                let Ok(fresh) = resolve(&self.origin).await else {
                    return outcome;
                };
                *self.remote.write().await = fresh.clone();
                Self::attempt(&fresh, &call, &request).await
            }
            _ => outcome,
        }
    }

    async fn attempt<'r, T>(
        remote: &Remote,
        call: &Call<'_>,
        request: &(impl Fn(Client) -> BoxFuture<'r, kube::Result<T>> + Send + Sync),
    ) -> Result<T, ApiFailure> {
        let url = format!("{}{}", remote.identity.server, call.path);
        if remote.clear_text {
            let cause = "refusing to send a credential in clear text: give the store a CA, or a URL with https";
            return Err(ApiFailure::local(url_error(call.method, &url, cause)));
        }
        let line = RequestLine {
            method: call.method,
            url: &url,
            verb: call.verb,
            resource: call.resource,
            name: call.name,
        };
        match tokio::time::timeout(REQUEST_TIMEOUT, request(remote.client.clone())).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(named_failure(&error, line).await),
            Err(_) => Err(ApiFailure::local(url_error(call.method, &url, TIMED_OUT))),
        }
    }

    /// The Secret from the watch of this source, else from the server.
    async fn source(&self, name: &str) -> Result<Secret, ApiFailure> {
        // Names that are no names of objects have texts of their own.
        if !names::object_segment(name).is_ok_and(|segment| segment == name) {
            return self.read_secret(name).await;
        }
        let remote = self.remote.read().await.clone();
        if let Some(known) = self.origin.sources.read(&remote, name).await {
            return known;
        }
        let answer = self.read_secret(name).await;
        let remote = self.remote.read().await.clone();
        self.origin.sources.note(&remote, name, &answer);
        answer
    }

    async fn read_secret(&self, name: &str) -> Result<Secret, ApiFailure> {
        self.read_secret_in(self.namespace(), name).await
    }

    async fn read_secret_in(&self, namespace: &str, name: &str) -> Result<Secret, ApiFailure> {
        let segment = names::object_segment(name)?;
        names::check_namespace(namespace)?;
        let path = format!("{}/{segment}", Secret::url_path(&(), Some(namespace)));
        let call = Call {
            method: "GET",
            verb: "get",
            path,
            resource: "secrets",
            name,
        };
        let segment = segment.as_str();
        let request =
            move |client| async move { Api::<Secret>::namespaced(client, namespace).get(segment).await }.boxed();
        self.call(call, request).await
    }

    async fn list_secrets(&self, selector: Option<&str>) -> Result<Vec<Secret>, ApiFailure> {
        let namespace = self.namespace();
        names::check_namespace(namespace)?;
        let query = selector
            .map(|text| format!("?labelSelector={}", names::query_escape(text)))
            .unwrap_or_default();
        let path = format!("{}{query}", Secret::url_path(&(), Some(namespace)));
        let call = Call {
            method: "GET",
            verb: "get",
            path,
            resource: "secrets",
            name: "",
        };
        let mut params = ListParams::default();
        params.label_selector = selector.map(str::to_owned);
        let params = &params;
        let request =
            move |client| async move { Api::<Secret>::namespaced(client, namespace).list(params).await }.boxed();
        Ok(self.call(call, request).await?.items)
    }

    async fn rules_allow(&self) -> Result<bool, ApiFailure> {
        let review = SelfSubjectRulesReview {
            spec: SelfSubjectRulesReviewSpec {
                namespace: Some(self.namespace().to_owned()),
            },
            ..SelfSubjectRulesReview::default()
        };
        let path = SelfSubjectRulesReview::url_path(&(), None);
        let resource = "selfsubjectrulesreviews.authorization.k8s.io";
        let call = Call {
            method: "POST",
            verb: "post",
            path,
            resource,
            name: "",
        };
        let review = &review;
        let request =
            move |client| async move { Api::all(client).create(&PostParams::default(), review).await }.boxed();
        let answer: SelfSubjectRulesReview = self.call(call, request).await?;
        Ok(answer
            .status
            .is_some_and(|status| status.resource_rules.iter().any(rule_reads_secrets)))
    }

    async fn access_allowed(&self) -> Result<bool, ApiFailure> {
        let attributes = ResourceAttributes {
            namespace: Some(self.namespace().to_owned()),
            verb: Some("get".to_owned()),
            resource: Some("secrets".to_owned()),
            ..ResourceAttributes::default()
        };
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(attributes),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let path = SelfSubjectAccessReview::url_path(&(), None);
        let resource = "selfsubjectaccessreviews.authorization.k8s.io";
        let call = Call {
            method: "POST",
            verb: "post",
            path,
            resource,
            name: "",
        };
        let review = &review;
        let request =
            move |client| async move { Api::all(client).create(&PostParams::default(), review).await }.boxed();
        let answer: SelfSubjectAccessReview = self.call(call, request).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

/// True for a rule that lets its subject get Secrets, of whatever names.
fn rule_reads_secrets(rule: &ResourceRule) -> bool {
    let has = |list: Option<&Vec<String>>, wanted: &str| {
        list.is_some_and(|list| list.iter().any(|item| item == wanted || item == "*"))
    };
    let groups = rule.api_groups.as_ref();
    has(rule.resources.as_ref(), "secrets")
        && has(Some(&rule.verbs), "get")
        && (groups.is_none_or(Vec::is_empty) || has(groups, ""))
}

/// Go names the address it dialled, so a host name is looked up for the text.
async fn named_failure(error: &kube::Error, line: RequestLine<'_>) -> ApiFailure {
    if matches!(error, kube::Error::Api(_)) {
        return api_failure(error, line);
    }
    let (host, port) = super::http::dialled(line.url).await;
    let cause = crate::cluster::go_error::transport_text(error, &host, port);
    ApiFailure::local(url_error(line.method, line.url, &cause))
}

/// What a client that cannot even be built says.
fn go_client_error(error: &kube::Error) -> String {
    crate::cluster::go_error::transport_text(error, "", 0)
}

impl From<ApiFailure> for ProviderError {
    fn from(failure: ApiFailure) -> Self {
        let message = failure.message;
        match failure.code {
            401 | 403 => Self::Denied { message },
            429 => Self::Throttled {
                message,
                after: failure.retry_after,
            },
            0 => Self::Transport { message },
            _ => Self::Other { message },
        }
    }
}

#[async_trait]
impl Provider for Kubernetes {
    async fn get(&self, key: &RemoteRef) -> Result<SecretValue, ProviderError> {
        // Not-found passes as it is: ESO does not turn it into its dedicated error here.
        read::value(&self.source(&key.key).await?, key)
    }

    async fn get_map(&self, key: &RemoteRef) -> Result<SecretData, ProviderError> {
        match self.source(&key.key).await {
            Ok(secret) => read::map(secret, key),
            Err(failure) if failure.is_not_found() => Err(ProviderError::no_secret()),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn find(&self, query: &Find) -> Result<SecretData, ProviderError> {
        read::check_find(query)?;
        let selector = query.tags.as_ref().map(names::label_selector).transpose();
        let selector =
            selector.map_err(|error| ProviderError::invalid(format!("unable to validate selector tags: {error}")))?;
        let matcher = match &selector {
            Some(_) => None,
            None => Some(read::name_matcher(query)?),
        };
        let found = self.list_secrets(selector.as_deref()).await;
        let found = found.map_err(|failure| ProviderError::from(failure).wrap("unable to list secrets"))?;
        read::found(found, matcher.as_ref(), query)
    }

    async fn validate(&self) -> Validation {
        if self.origin.cluster_scoped && self.origin.config.is_referent() {
            return Validation::Valid;
        }
        let unknown = |failure: ApiFailure| {
            Validation::Unknown(ProviderError::from(failure).wrap("could not verify if client is valid"))
        };
        self.origin.sources.ensure(&self.remote.read().await.clone());
        match self.rules_allow().await {
            Err(failure) => return unknown(failure),
            Ok(true) => return Validation::Valid,
            Ok(false) => {}
        }
        match self.access_allowed().await {
            Err(failure) => unknown(failure),
            Ok(true) => Validation::Valid,
            Ok(false) => {
                let message = "client is not allowed to get secrets".to_owned();
                Validation::Invalid(ProviderError::Denied { message })
            }
        }
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

#[async_trait]
impl Writer for Kubernetes {
    async fn push(&self, secret: &PushSource, data: &PushData) -> Result<(), ProviderError> {
        write::push(self, secret, data).await
    }

    async fn delete(&self, remote: &PushRemoteRef) -> Result<(), ProviderError> {
        write::delete(self, remote).await
    }

    async fn exists(&self, remote: &PushRemoteRef) -> Result<bool, ProviderError> {
        write::exists(self, remote).await
    }
}
