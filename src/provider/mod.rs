//! Secret stores: one folder and one row of [`PROVIDERS`] per key under a store's `spec.provider`.

pub mod error;
pub mod fake;
pub mod http;
pub mod kubernetes;
mod metadata;
mod shared;
#[cfg(test)]
pub(crate) mod testing;
pub mod values;
pub mod webhook;

use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::api::external_secret::{Find, RemoteRef};
use crate::api::push_secret::{PushData, PushRemoteRef};
use crate::cluster::credentials::Credentials;
use crate::secret::{SecretData, SecretValue};

pub use error::ProviderError;
pub use kubernetes::sources::Hooks as SourceHooks;
use shared::Shared;

/// What ESO writes to `status.capabilities` of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capabilities {
    /// Values can be read.
    ReadOnly,
    /// Values can be written.
    WriteOnly,
    /// Both.
    ReadWrite,
}

impl Capabilities {
    /// The text in `status.capabilities`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "ReadOnly",
            Self::WriteOnly => "WriteOnly",
            Self::ReadWrite => "ReadWrite",
        }
    }
}

/// A store's verdict about itself (ESO's `Validate`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validation {
    /// No error: the store is `Valid`, also where nothing was contacted.
    Valid,
    /// An error that proves nothing: `Ready=True`, reason `ValidationUnknown`.
    Unknown(ProviderError),
    /// An error: `Ready=False`, reason `InvalidProviderConfig`.
    Invalid(ProviderError),
}

/// One open client of a store, acting for one namespace.
#[async_trait]
pub trait Provider: Send + Sync {
    /// One value (`data[]`).
    async fn get(&self, key: &RemoteRef) -> Result<SecretValue, ProviderError>;
    /// All keys of one remote secret (`dataFrom[].extract`).
    async fn get_map(&self, key: &RemoteRef) -> Result<SecretData, ProviderError>;
    /// All remote secrets that match (`dataFrom[].find`).
    async fn find(&self, query: &Find) -> Result<SecretData, ProviderError>;
    /// Checks configuration and credential, as ESO does when it validates a store.
    async fn validate(&self) -> Validation;
    /// The writing half, where the store can be written.
    fn writer(&self) -> Option<&dyn Writer> {
        None
    }
}

/// The writing half of a store (PushSecret).
#[async_trait]
pub trait Writer: Send + Sync {
    /// Writes what `data` names out of `secret` (its type, labels, annotations and data, already templated).
    async fn push(&self, secret: &PushSource, data: &PushData) -> Result<(), ProviderError>;
    /// Deletes a remote secret or one property of it; absent is success.
    async fn delete(&self, remote: &PushRemoteRef) -> Result<(), ProviderError>;
    /// Whether the remote secret (or the property) exists.
    async fn exists(&self, remote: &PushRemoteRef) -> Result<bool, ProviderError>;
    /// As [`Writer::exists`], at the place the entry's envelope names.
    async fn exists_entry(&self, data: &PushData) -> Result<bool, ProviderError> {
        self.exists(&data.match_.remote_ref).await
    }
    /// Deletes what an earlier push of `data` wrote, and nothing else. `proven` says that the status proves the push;
    /// a store that keeps its own evidence goes by that.
    async fn delete_written(&self, data: &PushData, proven: bool) -> Result<Deletion, ProviderError> {
        if !proven {
            return Ok(Deletion::Left(
                "it existed before, and the store does not tell who wrote it".to_owned(),
            ));
        }
        self.delete(&data.match_.remote_ref).await.map(|()| Deletion::Done)
    }
    /// What tells one remote object from another, whichever store leads to it; `None` if the store cannot tell.
    async fn identity(&self, _data: &PushData) -> Result<Option<String>, ProviderError> {
        Ok(None)
    }
    /// What [`Writer::push`] would do now.
    async fn preview(&self, _secret: &PushSource, data: &PushData) -> Result<Preview, ProviderError> {
        Ok(if self.exists_entry(data).await? {
            Preview::Update
        } else {
            Preview::Create
        })
    }
}

/// What became of a deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deletion {
    /// It is gone, or was gone before.
    Done,
    /// It was left alone, wholly or in part, for this reason.
    Left(String),
}

/// What a push would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preview {
    /// Make a remote object.
    Create,
    /// Write into one that exists.
    Update,
    /// Nothing: it holds that already.
    Unchanged,
}

/// The Secret a PushSecret pushes from.
#[derive(Debug, Clone, Default)]
pub struct PushSource {
    /// Name of the Secret in the PushSecret's namespace (empty for a generator's output).
    pub name: String,
    /// Its `type`.
    pub secret_type: Option<String>,
    /// Its labels.
    pub labels: std::collections::BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: std::collections::BTreeMap<String, String>,
    /// Its data.
    pub data: SecretData,
}

/// Which store is opened, for whom, and with whose eyes references are read.
#[derive(Clone)]
pub struct OpenRequest<'a> {
    /// `SecretStore` or `ClusterSecretStore`.
    pub store_kind: &'a str,
    /// The store's name.
    pub store_name: &'a str,
    /// The namespace of the object that asks; empty when a ClusterSecretStore is validated.
    pub namespace: &'a str,
    /// The value under `spec.provider.<key>`.
    pub config: &'a Value,
    /// `spec.retrySettings`, raw.
    pub retry: Option<&'a Value>,
    /// Reads Secrets, ConfigMaps and ServiceAccount tokens of the cluster the store lives in.
    pub credentials: &'a Credentials,
}

impl OpenRequest<'_> {
    /// True for a ClusterSecretStore: its references may name a namespace.
    pub fn is_cluster_scoped(&self) -> bool {
        self.store_kind == "ClusterSecretStore"
    }

    /// What providers keep between two openings, as long as the credentials live.
    fn shared(&self) -> std::sync::Arc<Shared> {
        self.credentials.attached()
    }
}

/// Lets sources of this cluster's stores be watched; until then every read goes to the store.
pub fn watch_sources(credentials: &Credentials, hooks: SourceHooks) {
    credentials.attached::<Shared>().sources.enable(hooks);
}

/// Opens a client; no client state outlives the reconcile unless the provider's own cache says so.
pub type OpenFn = for<'a> fn(OpenRequest<'a>) -> BoxFuture<'a, Result<Box<dyn Provider>, ProviderError>>;

/// One row of the registry.
pub struct Entry {
    /// The key under `spec.provider`.
    pub key: &'static str,
    /// What `status.capabilities` says.
    pub capabilities: Capabilities,
    /// False where ESO emits `StoreUnmaintained`.
    pub maintained: bool,
    /// Opens a client.
    pub open: OpenFn,
}

/// Every provider this build serves; other names ESO knows are listed in [`crate::api::secret_store`].
pub static PROVIDERS: &[Entry] = &[fake::ENTRY, kubernetes::ENTRY, webhook::ENTRY];

/// The row of the provider with this key under `spec.provider`.
pub fn entry(key: &str) -> Option<&'static Entry> {
    PROVIDERS.iter().find(|entry| entry.key == key)
}
