//! What the loop asks of a kind it drives. To add a kind: one file with an `impl Kind`, one line in [`super::KINDS`].

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch as signal;

use super::context::Context;
use super::queue::{Key, Next};
use crate::api::external_secret::ExternalSecret;
use crate::api::push_secret::PushSecret;
use crate::api::secret_store::{ClusterSecretStore, SecretStore};
use crate::cluster::cache::{Cache, Cached, Delta, Health, Id};
use crate::cluster::rest::Resource;
use crate::cluster::watch::{Scope, Signal};

use super::objects::{NamespaceMeta, SecretEntry};

/// Hears of changes in a cache.
pub type Listener<T> = Box<dyn Fn(&Id, &Delta<T>) + Send + Sync>;

/// A watch to run for as long as the loop runs.
pub struct Watch {
    /// Plural name, for messages.
    pub resource: &'static str,
    /// What to follow.
    pub scope: Scope,
    /// Receives what it brings.
    pub sink: Box<dyn FnMut(Signal<'_>) + Send>,
    /// State of the cache behind `sink`.
    pub health: signal::Receiver<Health>,
}

impl Watch {
    /// A watch of `resource` into `cache`.
    pub fn of<T: Cached>(resource: Resource, scope: Scope, cache: &Arc<Cache<T>>) -> Self {
        let into = cache.clone();
        let sink = Box::new(move |signal: Signal<'_>| into.receive(signal));
        Self {
            resource: resource.plural,
            scope,
            sink,
            health: cache.health(),
        }
    }
}

/// Collects listeners of the shared caches and watches of a kind's own, before anything runs.
#[derive(Default)]
pub struct Hub {
    /// Listeners of [`Context::external_secrets`].
    pub external_secrets: Vec<Listener<ExternalSecret>>,
    /// Listeners of [`Context::secret_stores`].
    pub secret_stores: Vec<Listener<SecretStore>>,
    /// Listeners of [`Context::cluster_secret_stores`].
    pub cluster_secret_stores: Vec<Listener<ClusterSecretStore>>,
    /// Listeners of [`Context::push_secrets`].
    pub push_secrets: Vec<Listener<PushSecret>>,
    /// Listeners of [`Context::secrets`] (managed Secrets only).
    pub secrets: Vec<Listener<SecretEntry>>,
    /// Listeners of [`Context::namespaces`].
    pub namespaces: Vec<Listener<NamespaceMeta>>,
    /// Watches of kinds that no other kind reads.
    pub watches: Vec<Watch>,
}

/// A kind the loop drives.
#[async_trait]
pub trait Kind: Send + Sync {
    /// `kind`, as in [`Key::kind`].
    fn name(&self) -> &'static str;

    /// Registers what makes keys of this kind due. Listeners must not hold the context itself: it owns the caches.
    fn start(&self, cx: &Arc<Context>, hub: &mut Hub);

    /// One pass over one object. Never called twice at once for a key.
    async fn reconcile(&self, cx: &Arc<Context>, key: &Key) -> Next;

    /// What the pass will wait for (its store): slow passes of one lane leave room for the others.
    fn lane(&self, _cx: &Context, _key: &Key) -> Option<Arc<str>> {
        None
    }

    /// Called once when the loop has drained, before the last events are sent.
    async fn finish(&self, _cx: &Arc<Context>) {}
}
