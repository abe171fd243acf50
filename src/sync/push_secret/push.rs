//! One source to every store, entry by entry; the first failure ends it.

use std::time::Duration;

use super::pass::Pass;
use super::source::Source;
use super::stores::{self, PushStore};
use crate::api::push_secret::{PushData, PushSecretSpec, SyncedPushSecrets, UpdatePolicy};
use crate::provider::{Preview, Provider, ProviderError, PushSource, Writer};
use crate::sync::event::{RemoteAction, SyncEvent};
use crate::sync::external_secret::{Retry, transform};
use crate::target::push::entries::{self, Entry};
use crate::target::push::entry_key;

/// No single answer takes longer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// A failure: the text without `set secret failed: `, and whether it is worth another try.
pub type PushError = (String, Retry);

/// Gives every answer of a provider a limit.
///
/// # Errors
/// The provider's, or that there was no answer.
pub async fn bounded<T>(ask: impl Future<Output = Result<T, ProviderError>>) -> Result<T, ProviderError> {
    tokio::time::timeout(ANSWER_TIMEOUT, ask).await.unwrap_or_else(|_| {
        Err(ProviderError::Transport {
            message: "the store did not answer in 120 seconds".to_owned(),
        })
    })
}

/// Whether a provider's failure is worth another try, and when.
pub fn retry_of(error: &ProviderError) -> Retry {
    match error {
        ProviderError::Throttled { after: Some(after), .. } => Retry::AtLeast(*after),
        _ => Retry::Backoff,
    }
}

/// The writing half of a client.
///
/// # Errors
/// The store cannot be written.
pub fn writer<'p>(client: &'p dyn Provider, store: &str) -> Result<&'p dyn Writer, PushError> {
    client
        .writer()
        .ok_or_else(|| (format!("store {store} is read-only"), Retry::Backoff))
}

/// Pushes one source to all stores; `out` gets every store that was begun and every entry that arrived.
///
/// # Errors
/// The first failure.
pub async fn push(
    pass: &Pass<'_>,
    spec: &PushSecretSpec,
    source: &Source,
    stores: &[PushStore],
    out: &mut SyncedPushSecrets,
) -> Result<(), PushError> {
    for store in stores {
        let status_key = store.status_key();
        out.entry(status_key.clone()).or_default();
        let reference = stores::reference(store.kind == crate::sync::store::CLUSTER_SECRET_STORE, &store.name);
        let client = stores::open(pass.cx, &reference, &pass.key.namespace)
            .await
            .map_err(|(e, retry)| {
                (
                    format!("could not get secrets client for store {}: {e}", store.name),
                    retry,
                )
            })?;
        let writer = writer(&*client, &store.name)?;
        let made = entries::for_store(
            spec,
            store.as_entry(),
            &source.secret.data,
            &stores::selects_store,
            &mut transform,
        )
        .map_err(|e| (e, Retry::Backoff))?;
        for entry in made {
            let key = entry_key(&entry.data);
            let one = One {
                pass,
                spec,
                source,
                store,
                writer,
                status_key: &status_key,
            };
            one.push(&entry, &key).await?;
            out.entry(status_key.clone()).or_default().insert(key, entry.data);
        }
    }
    Ok(())
}

struct One<'a> {
    pass: &'a Pass<'a>,
    spec: &'a PushSecretSpec,
    source: &'a Source,
    store: &'a PushStore,
    writer: &'a dyn Writer,
    status_key: &'a str,
}

impl One<'_> {
    async fn push(&self, entry: &Entry, key: &str) -> Result<(), PushError> {
        let data = &entry.data;
        let payload = entry
            .payload(&self.source.secret.data)
            .map_err(|e| (e, Retry::Backoff))?;
        let secret_key = &data.match_.secret_key;
        if !secret_key.is_empty() && !payload.contains_key(secret_key) && !self.source.pending {
            return Err((format!("secret key {secret_key} does not exist"), Retry::Backoff));
        }
        if self.spec.update_policy == UpdatePolicy::IfNotExists && self.exists(data).await? {
            self.preview(key, RemoteAction::Skip);
            return Ok(());
        }
        let secret = PushSource {
            data: payload,
            ..self.source.secret.clone()
        };
        let written = if self.pass.cx.settings.shadow {
            self.look(&secret, data, key).await
        } else {
            bounded(self.writer.push(&secret, data)).await
        };
        written.map_err(|e| {
            let retry = retry_of(&e);
            (
                format!(
                    "could not write remote ref {secret_key} to target secretstore {}: {e}",
                    self.store.name
                ),
                retry,
            )
        })?;
        if self.spec.update_policy == UpdatePolicy::IfNotExists {
            self.pass.state.remember_written(self.pass.key, self.status_key, key);
        }
        Ok(())
    }

    async fn exists(&self, data: &PushData) -> Result<bool, PushError> {
        bounded(self.writer.exists_entry(data)).await.map_err(|e| {
            let retry = retry_of(&e);
            (format!("could not verify if secret exists in store: {e}"), retry)
        })
    }

    /// What would be done, where nothing is to be written.
    async fn look(&self, secret: &PushSource, data: &PushData, key: &str) -> Result<(), ProviderError> {
        let action = if self.source.pending {
            if bounded(self.writer.exists_entry(data)).await? {
                RemoteAction::Update
            } else {
                RemoteAction::Create
            }
        } else {
            match bounded(self.writer.preview(secret, data)).await? {
                Preview::Create => RemoteAction::Create,
                Preview::Update => RemoteAction::Update,
                Preview::Unchanged => RemoteAction::Unchanged,
            }
        };
        self.preview(key, action);
        Ok(())
    }

    fn preview(&self, key: &str, action: RemoteAction) {
        if self.pass.cx.settings.shadow {
            self.pass.cx.tell(SyncEvent::Remote {
                key: self.pass.key.clone(),
                store: self.status_key.to_owned(),
                entry: key.to_owned(),
                action,
            });
        }
    }
}
