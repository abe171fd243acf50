//! Sources of the provider `kubernetes` are watched: a change is refreshed at once where the policy would ever refresh it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::context::{Context, Memory};
use super::external_secret::{key_of, stores_of};
use super::index::Index;
use super::queue::{Priority, Queue};
use super::store;
use crate::api::external_secret::ExternalSecret;
use crate::api::secret_store::{ClusterSecretStore, SecretStore};
use crate::cluster::cache::Cache;
use crate::provider::{SourceHooks, watch_sources};
use crate::target::refresh;

/// A search is run again this long after a change, so that many changes make one search.
const GATHER: Duration = Duration::from_millis(200);

/// Lets providers watch, and turns what they see into passes.
pub fn enable(cx: &Arc<Context>) {
    let (tasks, known, all, refused) = (cx.tasks.clone(), cx.index.clone(), cx.index.clone(), wake_stores(cx));
    let follower = Follower {
        index: cx.index.clone(),
        queue: cx.queue.clone(),
        memory: cx.memory.clone(),
        objects: cx.external_secrets.clone(),
        stores: cx.secret_stores.clone(),
        cluster_stores: cx.cluster_secret_stores.clone(),
    };
    let hooks = SourceHooks {
        spawn: Box::new(move |task| {
            // The loop that would run it is over.
            let _ = tasks.send(task);
        }),
        is_referenced: Box::new(move |name| known.is_remote(name)),
        referenced: Box::new(move || all.remotes()),
        changed: Box::new(move |namespace, name, first| follower.changed(namespace, name, first)),
        refused,
        stop: cx.stop.clone(),
    };
    watch_sources(&cx.credentials, hooks);
}

/// A watch whose credential ran out is begun anew by the validation of its store.
fn wake_stores(cx: &Context) -> Box<dyn Fn() + Send + Sync> {
    let (queue, stores, cluster) = (
        cx.queue.clone(),
        cx.secret_stores.clone(),
        cx.cluster_secret_stores.clone(),
    );
    Box::new(move || {
        for store in stores.all() {
            let key = super::queue::Key::new(store::SECRET_STORE, store.namespace(), store.name());
            queue.add(key, Priority::Changed);
        }
        for store in cluster.all() {
            let key = super::queue::Key::new(store::CLUSTER_SECRET_STORE, "", store.name());
            queue.add(key, Priority::Changed);
        }
    })
}

struct Follower {
    index: Arc<Index>,
    queue: Arc<Queue>,
    memory: Arc<Memory>,
    objects: Arc<Cache<ExternalSecret>>,
    stores: Arc<Cache<SecretStore>>,
    cluster_stores: Arc<Cache<ClusterSecretStore>>,
}

impl Follower {
    fn changed(&self, source_namespace: &str, name: &str, first: bool) {
        for (namespace, object) in self.index.readers(name) {
            self.refresh(source_namespace, &namespace, &object, first, None);
        }
        if !first {
            for (namespace, object) in self.index.searchers() {
                self.refresh(source_namespace, &namespace, &object, false, Some(GATHER));
            }
        }
    }

    /// Refreshes one reader now. At the first list only those that were synced before this process began: what they hold
    /// may be old.
    fn refresh(&self, source: &str, namespace: &str, name: &str, first: bool, delay: Option<Duration>) {
        let Some(object) = self.objects.get(namespace, name) else {
            return;
        };
        let Some(spec) = object
            .spec
            .ok()
            .filter(|spec| refresh::follows_source(spec, Timestamp::now()))
        else {
            return;
        };
        if !stores_of(spec).into_iter().any(|r| self.reads(r, namespace, source)) {
            return;
        }
        let key = key_of(namespace, name);
        let synced = object
            .status
            .as_ref()
            .is_some_and(|s| !s.synced_resource_version.is_empty());
        if first && (!synced || self.memory.refreshed(&key).is_some()) {
            return;
        }
        self.memory.force(&key);
        match delay {
            Some(delay) => self.queue.add_after(key, Priority::Changed, delay),
            None => self.queue.add(key, Priority::Changed),
        }
    }

    /// True if this store reads that namespace through the provider `kubernetes`.
    fn reads(&self, reference: &crate::api::external_secret::StoreRef, namespace: &str, source: &str) -> bool {
        let spec = if reference.kind.is_cluster() {
            self.cluster_stores
                .get("", &reference.name)
                .and_then(|s| s.spec.ok().cloned())
        } else {
            self.stores
                .get(namespace, &reference.name)
                .and_then(|s| s.spec.ok().cloned())
        };
        spec.is_some_and(|spec| match spec.provider.only() {
            Ok(("kubernetes", config)) => {
                let remote = config.get("remoteNamespace").and_then(serde_json::Value::as_str);
                remote.unwrap_or("default") == source
            }
            _ => false,
        })
    }
}
