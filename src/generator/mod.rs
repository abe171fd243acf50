//! Generators: one folder and one row of [`GENERATORS`] per kind of `generators.external-secrets.io`.

use futures::future::BoxFuture;
use serde_json::Value;

use crate::cluster::credentials::Credentials;
use crate::secret::SecretData;

/// A generator's failure, in ESO's words; never holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GeneratorError {
    /// ESO's text, without the prefix `error using generator: `.
    pub message: String,
}

impl GeneratorError {
    /// With this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
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

/// Every generator this build serves.
pub static GENERATORS: &[Entry] = &[];

/// The row of `kind`.
pub fn entry(kind: &str) -> Option<&'static Entry> {
    GENERATORS.iter().find(|e| e.kind == kind)
}
