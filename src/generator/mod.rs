//! Generators: one file and one row of [`GENERATORS`] per kind of `generators.external-secrets.io`.
//!
//! Every run makes new values. Every reference of a generator is read in the namespace of the object that asks, whatever
//! namespace the reference names.

mod base32;
mod mfa;
mod password;
mod random;
mod ssh_key;
mod unserved;
mod uuid;
mod webhook;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::random::SystemRandom;
use crate::api::generator::{ClusterGeneratorSpec, generator_kind};
use crate::api::{GENERATORS_API_VERSION, Parsed};
use crate::cluster::credentials::Credentials;
use crate::secret::{SecretData, SecretValue};

/// A generator's failure, in ESO's words; never holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GeneratorError {
    /// ESO's text, without the prefix `error using generator: `.
    pub message: String,
    /// True for ESO's dedicated not-found error (a webhook's 404): the deletion policy decides what it means.
    pub no_secret: bool,
}

impl GeneratorError {
    /// With this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            no_secret: false,
        }
    }
}

/// What a generator is given.
#[derive(Clone)]
pub struct GenerateRequest<'a> {
    /// The generator object (`apiVersion`, `kind`, `metadata`, `spec`); from a ClusterGenerator it has no name.
    pub object: &'a Value,
    /// Namespace of the object that asks: references are read there.
    pub namespace: &'a str,
    /// Reads Secrets and mints tokens of the cluster.
    pub credentials: &'a Credentials,
}

/// What a generator made.
#[derive(Debug, Clone, Default)]
pub struct Generated {
    /// Keys and values.
    pub data: SecretData,
    /// What its clean-up needs later, if it has one.
    pub state: Option<Value>,
}

/// Makes values.
pub type GenerateFn = for<'a> fn(GenerateRequest<'a>) -> BoxFuture<'a, Result<Generated, GeneratorError>>;
/// Takes back what was made, from its state.
pub type CleanUpFn = for<'a> fn(GenerateRequest<'a>, &'a Value) -> BoxFuture<'a, Result<(), GeneratorError>>;

/// One row of the registry.
pub struct Entry {
    /// `kind`.
    pub kind: &'static str,
    /// Makes values.
    pub generate: GenerateFn,
    /// Takes them back; a generator without state succeeds at once.
    pub clean_up: CleanUpFn,
}

/// Every generator kind of ESO; those that need an account at a service answer with an error that says so.
pub static GENERATORS: &[Entry] = &[
    Entry {
        kind: "Fake",
        generate: fake,
        clean_up: nothing_to_clean_up,
    },
    Entry {
        kind: "MFA",
        generate: mfa,
        clean_up: nothing_to_clean_up,
    },
    Entry {
        kind: "Password",
        generate: password,
        clean_up: nothing_to_clean_up,
    },
    Entry {
        kind: "SSHKey",
        generate: ssh_key,
        clean_up: nothing_to_clean_up,
    },
    Entry {
        kind: "UUID",
        generate: uuid,
        clean_up: nothing_to_clean_up,
    },
    Entry {
        kind: "Webhook",
        generate: webhook::generate,
        clean_up: nothing_to_clean_up,
    },
    unserved::entry("ACRAccessToken"),
    unserved::entry("BeyondtrustWorkloadCredentialsDynamicSecret"),
    unserved::entry("CloudsmithAccessToken"),
    unserved::entry("ECRAuthorizationToken"),
    unserved::entry("GCRAccessToken"),
    unserved::entry("GithubAccessToken"),
    unserved::entry("GitlabDeployToken"),
    unserved::entry("Grafana"),
    unserved::entry("QuayAccessToken"),
    unserved::entry("STSSessionToken"),
    unserved::entry("VaultDynamicSecret"),
];

/// The row of `kind`.
pub fn entry(kind: &str) -> Option<&'static Entry> {
    GENERATORS.iter().find(|e| e.kind == kind)
}

/// The object a ClusterGenerator stands for: of its `spec.kind`, without a name. The error is ESO's text.
pub fn from_cluster_generator(spec: &ClusterGeneratorSpec) -> Result<Value, GeneratorError> {
    let kind = &spec.kind;
    let Some(row) = generator_kind(kind) else {
        return Err(GeneratorError::new(format!(
            "invalid ClusterGenerator: unknown kind {kind}"
        )));
    };
    let Some(inner) = spec.generator.get(row.spec_member) else {
        return Err(GeneratorError::new(format!(
            "invalid ClusterGenerator: when kind is {kind}, {kind}Spec must be set"
        )));
    };
    Ok(json!({"apiVersion": GENERATORS_API_VERSION, "kind": kind, "metadata": {}, "spec": inner.expose()}))
}

/// The decoded `spec` of the generator object.
fn spec_of<T: DeserializeOwned>(request: &GenerateRequest<'_>) -> Result<T, GeneratorError> {
    let spec = request.object.get("spec").cloned().unwrap_or(Value::Null);
    match crate::api::decode(spec, false) {
        Parsed::Ok(spec) => Ok(spec),
        Parsed::Bad { error } => Err(GeneratorError::new(error)),
    }
}

fn nothing_to_clean_up<'a>(_: GenerateRequest<'a>, _: &'a Value) -> BoxFuture<'a, Result<(), GeneratorError>> {
    futures::future::ready(Ok(())).boxed()
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct FakeSpec {
    data: std::collections::BTreeMap<String, String>,
}

fn fake(request: GenerateRequest<'_>) -> BoxFuture<'_, Result<Generated, GeneratorError>> {
    let made = spec_of::<FakeSpec>(&request).map(|spec| {
        let data = spec
            .data
            .into_iter()
            .map(|(key, value)| (key, SecretValue::from(value)));
        Generated {
            data: data.collect(),
            state: None,
        }
    });
    futures::future::ready(made).boxed()
}

fn password(request: GenerateRequest<'_>) -> BoxFuture<'_, Result<Generated, GeneratorError>> {
    let made = spec_of(&request).and_then(|spec| password::generate(&spec, &mut SystemRandom));
    futures::future::ready(made).boxed()
}

fn uuid(_: GenerateRequest<'_>) -> BoxFuture<'_, Result<Generated, GeneratorError>> {
    futures::future::ready(uuid::generate(&mut SystemRandom)).boxed()
}

fn mfa(request: GenerateRequest<'_>) -> BoxFuture<'_, Result<Generated, GeneratorError>> {
    async move {
        let spec = spec_of(&request)?;
        mfa::generate(&spec, request.namespace, request.credentials, jiff::Timestamp::now()).await
    }
    .boxed()
}

/// The search for primes takes seconds, so it runs where it holds up nobody.
fn ssh_key(request: GenerateRequest<'_>) -> BoxFuture<'_, Result<Generated, GeneratorError>> {
    async move {
        let spec = spec_of(&request)?;
        let made = tokio::task::spawn_blocking(move || ssh_key::generate(&spec, &mut SystemRandom)).await;
        made.unwrap_or_else(|_| {
            Err(GeneratorError::new(
                "unable to generate SSH key: the search was cut short",
            ))
        })
    }
    .boxed()
}

#[cfg(test)]
mod tests;
