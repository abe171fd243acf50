//! Everything a pass over one object in one cluster may use.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::credential_watch::CredentialWatches;
use super::event::{Sink, SyncEvent};
use super::external_secret::GenericTargets;
use super::index::Index;
use super::objects::{NamespaceMeta, SecretEntry};
use super::pause::Pause;
use super::queue::{Key, Queue};
use super::recorder::Recorder;
use super::settings::Settings;
use crate::api::external_secret::ExternalSecret;
use crate::api::push_secret::PushSecret;
use crate::api::secret_store::{ClusterSecretStore, SecretStore};
use crate::cluster::cache::{Cache, Id};
use crate::cluster::credentials::Credentials;
use crate::cluster::rest::Rest;
use crate::cluster::write::Writer;

/// See the module. One per cluster.
pub struct Context {
    /// Name of the kubeconfig context.
    pub cluster: Arc<str>,
    /// Only this namespace; `None`: all.
    pub namespace: Option<String>,
    /// Settings of the run.
    pub settings: Arc<Settings>,
    /// Reads.
    pub rest: Rest,
    /// Writes.
    pub writer: Writer,
    /// References of stores and generators, read with our own identity.
    pub credentials: Credentials,
    /// What is to be done.
    pub queue: Arc<Queue>,
    /// Kubernetes events.
    pub recorder: Recorder,
    /// ExternalSecrets.
    pub external_secrets: Arc<Cache<ExternalSecret>>,
    /// SecretStores.
    pub secret_stores: Arc<Cache<SecretStore>>,
    /// ClusterSecretStores.
    pub cluster_secret_stores: Arc<Cache<ClusterSecretStore>>,
    /// PushSecrets.
    pub push_secrets: Arc<Cache<PushSecret>>,
    /// Managed Secrets.
    pub secrets: Arc<Cache<SecretEntry>>,
    /// Namespaces, metadata only.
    pub namespaces: Arc<Cache<NamespaceMeta>>,
    /// Who uses what.
    pub index: Arc<Index>,
    /// What is remembered between passes and written nowhere.
    pub memory: Arc<Memory>,
    /// Credentials watched because something fails.
    pub credential_watches: CredentialWatches,
    /// Kinds of generic targets that were found, and are watched.
    pub generic_targets: GenericTargets,
    /// Where nothing is to be written.
    pub pause: Pause,
    /// Ends the loop.
    pub stop: CancellationToken,
    /// Work beside the passes (watches started later).
    pub tasks: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    /// Receiver of events.
    pub sink: Sink,
}

impl Context {
    /// Tells whoever started the loop.
    pub fn tell(&self, event: SyncEvent) {
        (self.sink)(&self.cluster, event);
    }

    /// Runs `task` beside the passes; it must end when [`Context::stop`] is cancelled.
    pub fn spawn(&self, task: BoxFuture<'static, ()>) {
        // The receiver lives as long as the loop; after that nobody is left to run anything.
        let _ = self.tasks.send(task);
    }
}

/// What is remembered between passes.
#[derive(Default)]
pub struct Memory {
    refreshed: Mutex<HashMap<Key, Timestamp>>,
    validated: Mutex<BTreeSet<Key>>,
    parked: Mutex<HashMap<Key, BTreeSet<Key>>>,
    failing: Mutex<HashMap<Key, BTreeSet<Key>>>,
    forced: Mutex<BTreeSet<Key>>,
    stores: Mutex<HashMap<Key, bool>>,
    stateful: Mutex<BTreeSet<Key>>,
    vanished: Mutex<HashMap<Id, String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memory {
    /// When a refresh last found nothing to change and its time was not written.
    pub fn refreshed(&self, key: &Key) -> Option<Timestamp> {
        lock(&self.refreshed).get(key).copied()
    }

    /// Remembers such a refresh.
    pub fn set_refreshed(&self, key: &Key, at: Timestamp) {
        lock(&self.refreshed).insert(key.clone(), at);
    }

    /// True once a store was looked at in this process.
    pub fn is_validated(&self, store: &Key) -> bool {
        lock(&self.validated).contains(store)
    }

    /// Remembers that, and gives back the keys that waited for it.
    pub fn set_validated(&self, store: &Key) -> BTreeSet<Key> {
        lock(&self.validated).insert(store.clone());
        lock(&self.parked).remove(store).unwrap_or_default()
    }

    /// Lets `key` wait for the first validation of `store`; false if that has happened meanwhile.
    pub fn park(&self, store: &Key, key: &Key) -> bool {
        lock(&self.parked).entry(store.clone()).or_default().insert(key.clone());
        if !self.is_validated(store) {
            return true;
        }
        lock(&self.parked).remove(store);
        false
    }

    /// Remembers that `key` fails, and which stores it uses.
    pub fn set_failing(&self, key: &Key, stores: impl IntoIterator<Item = Key>) {
        let mut failing = lock(&self.failing);
        for store in stores {
            failing.entry(store).or_default().insert(key.clone());
        }
    }

    /// Forgets a failure.
    pub fn clear_failing(&self, key: &Key) {
        lock(&self.failing).retain(|_, keys| {
            keys.remove(key);
            !keys.is_empty()
        });
    }

    /// The keys that fail and use `store`.
    pub fn failing_with(&self, store: &Key) -> BTreeSet<Key> {
        lock(&self.failing).get(store).cloned().unwrap_or_default()
    }

    /// Whether a store was good at its last validation in this process.
    pub fn store_ready(&self, store: &Key) -> Option<bool> {
        lock(&self.stores).get(store).copied()
    }

    /// Remembers that; `None` where the validation gave no condition.
    pub fn set_store_ready(&self, store: &Key, ready: Option<bool>) {
        match ready {
            Some(ready) => lock(&self.stores).insert(store.clone(), ready),
            None => lock(&self.stores).remove(store),
        };
    }

    /// A managed Secret left the watch: it was deleted, or lost its label.
    pub fn set_vanished(&self, id: &Id, uid: &str) {
        lock(&self.vanished).insert(id.clone(), uid.to_owned());
    }

    /// The UID of the Secret that left the watch under this name, once.
    pub fn take_vanished(&self, namespace: &str, name: &str) -> Option<String> {
        lock(&self.vanished).remove(&(namespace.into(), name.into()))
    }

    /// True if a generator state was kept for `key` in this process.
    pub fn may_have_states(&self, key: &Key) -> bool {
        lock(&self.stateful).contains(key)
    }

    /// Remembers that.
    pub fn set_may_have_states(&self, key: &Key) {
        lock(&self.stateful).insert(key.clone());
    }

    /// Refresh `key` at its next pass, due or not.
    pub fn force(&self, key: &Key) {
        lock(&self.forced).insert(key.clone());
    }

    /// Takes that wish.
    pub fn take_forced(&self, key: &Key) -> bool {
        lock(&self.forced).remove(key)
    }

    /// Forgets a deleted object.
    pub fn forget(&self, key: &Key) {
        lock(&self.refreshed).remove(key);
        lock(&self.validated).remove(key);
        lock(&self.forced).remove(key);
        lock(&self.stores).remove(key);
        lock(&self.stateful).remove(key);
        self.clear_failing(key);
    }
}
