//! Sources kept current by a watch: one LIST and WATCH per server, CA, identity and namespace, for everything that reads
//! through them.
//!
//! Nothing is shared between identities, and only Secrets that some ExternalSecret names stay in memory. Where the role
//! allows no list or watch, or the connection is gone, reads go to the server as before.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch as signal;
use tokio_util::sync::CancellationToken;

use super::connection::{Remote, RemoteIdentity};
use crate::cluster::go_error::ApiFailure;
use crate::cluster::rest::{Rest, SECRETS};
use crate::cluster::watch::{Scope, Signal, follow};

/// Longest a read waits for the first list; after that it goes to the server itself.
const PATIENCE: Duration = Duration::from_secs(20);
/// Secrets per page: they may be large, and most are thrown away at once.
const PAGE: u32 = 100;

/// What the loop tells the watches, and hears from them.
pub struct Hooks {
    /// Runs a watch for as long as the loop runs.
    pub spawn: Box<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>,
    /// True if some ExternalSecret names this remote Secret.
    pub is_referenced: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// All remote Secrets that ExternalSecrets name.
    pub referenced: Box<dyn Fn() -> HashSet<String> + Send + Sync>,
    /// A Secret (namespace, name) of a watched source changed, or (`first`) was listed for the first time.
    pub changed: Box<dyn Fn(&str, &str, bool) + Send + Sync>,
    /// A watch ended because its credential is refused.
    pub refused: Box<dyn Fn() + Send + Sync>,
    /// Ends everything.
    pub stop: CancellationToken,
}

/// The watches of one cluster's loop; without hooks every read goes to the server.
#[derive(Clone, Default)]
pub struct SourceWatches {
    shared: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    hooks: OnceLock<Hooks>,
    watches: Mutex<HashMap<RemoteIdentity, Arc<Watched>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Starting,
    Current,
    /// The connection is gone; it is tried again.
    Stale,
    /// It may not be watched.
    Impossible,
}

struct Watched {
    state: signal::Sender<State>,
    known: RwLock<HashMap<String, Arc<Secret>>>,
    /// Names about which `known` has the last word, also where it has no such Secret.
    covered: RwLock<HashSet<String>>,
    relist: Mutex<Option<HashSet<String>>>,
    listed_before: AtomicBool,
    ended: CancellationToken,
}

#[derive(Deserialize)]
struct Named {
    metadata: NamedMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedMeta {
    name: String,
    #[serde(default)]
    resource_version: String,
}

impl SourceWatches {
    /// Switches the watches on, once.
    pub fn enable(&self, hooks: Hooks) {
        let _ = self.shared.hooks.set(hooks);
    }

    /// Starts the watch of this connection, if there is none yet.
    pub fn ensure(&self, remote: &Remote) {
        let hooks = self.shared.hooks.get().filter(|_| !remote.clear_text);
        if let Some(hooks) = hooks.filter(|h| !(h.referenced)().is_empty()) {
            self.watch_of(remote, hooks);
        }
    }

    /// The Secret as the watch knows it; `None` where the server must be asked.
    pub async fn read(&self, remote: &Remote, name: &str) -> Option<Result<Secret, ApiFailure>> {
        let hooks = self.shared.hooks.get().filter(|_| !remote.clear_text)?;
        let watched = self.watch_of(remote, hooks);
        watched.wait().await?;
        if !lock_read(&watched.covered).contains(name) {
            return None;
        }
        let found = lock_read(&watched.known).get(name).cloned();
        Some(found.map(|secret| (*secret).clone()).ok_or_else(|| ApiFailure {
            code: 404,
            message: format!("secrets \"{name}\" not found"),
            retry_after: None,
        }))
    }

    /// Keeps what the server answered for a name the watch knew nothing about.
    pub fn note(&self, remote: &Remote, name: &str, answer: &Result<Secret, ApiFailure>) {
        let watches = self.shared.watches.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(watched) = watches.get(&remote.identity).cloned() else {
            return;
        };
        drop(watches);
        match answer {
            Ok(secret) => watched.keep(name, secret.clone()),
            Err(failure) if failure.is_not_found() => {}
            Err(_) => return,
        }
        watched
            .covered
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_owned());
    }

    fn watch_of(&self, remote: &Remote, hooks: &Hooks) -> Arc<Watched> {
        let mut watches = self.shared.watches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = watches.get(&remote.identity) {
            return found.clone();
        }
        let watched = Arc::new(Watched::new(&hooks.stop));
        watches.insert(remote.identity.clone(), watched.clone());
        drop(watches);
        let (shared, remote, own) = (self.shared.clone(), remote.clone(), watched.clone());
        (hooks.spawn)(Box::pin(async move { own.run(&shared, &remote).await }));
        watched
    }
}

fn lock_read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

impl Watched {
    fn new(stop: &CancellationToken) -> Self {
        Self {
            state: signal::Sender::new(State::Starting),
            known: RwLock::default(),
            covered: RwLock::default(),
            relist: Mutex::default(),
            listed_before: AtomicBool::new(false),
            ended: stop.child_token(),
        }
    }

    /// Waits for the first list; `None` where the watch has nothing to say.
    async fn wait(&self) -> Option<()> {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|s| *s != State::Starting);
        let settled = *tokio::time::timeout(PATIENCE, settled).await.ok()?.ok()?;
        (settled == State::Current).then_some(())
    }

    async fn run(&self, shared: &Arc<Inner>, remote: &Remote) {
        let Some(hooks) = shared.hooks.get() else { return };
        let namespace = &remote.identity.namespace;
        let mut scope = Scope::all(SECRETS.collection(namespace));
        scope.page = PAGE;
        let rest = Rest::new(remote.client.clone());
        let mut sink = |signal: Signal<'_>| self.receive(signal, hooks, namespace);
        follow(&rest, &scope, &self.ended, &mut sink).await;
        let mut watches = shared.watches.lock().unwrap_or_else(PoisonError::into_inner);
        watches.remove(&remote.identity);
        drop(watches);
        if !hooks.stop.is_cancelled() {
            (hooks.refused)();
        }
    }

    fn receive(&self, signal: Signal<'_>, hooks: &Hooks, namespace: &str) {
        match signal {
            Signal::ListStarted => {
                let names = (hooks.referenced)();
                *self.covered.write().unwrap_or_else(PoisonError::into_inner) = names;
                *self.relist.lock().unwrap_or_else(PoisonError::into_inner) = Some(HashSet::new());
                // Until the list is whole, a name that is not known may exist all the same.
                self.set(State::Starting);
            }
            Signal::Listed(raw) => {
                let Some(name) = self.apply(raw, hooks, namespace, true) else {
                    return;
                };
                if let Some(seen) = self.relist.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                    seen.insert(name);
                }
            }
            Signal::ListDone(_) => self.finish_list(hooks, namespace),
            Signal::Applied(raw) => {
                self.apply(raw, hooks, namespace, false);
            }
            Signal::Deleted(raw) => {
                let Ok(named) = serde_json::from_str::<Named>(raw.get()) else {
                    return;
                };
                self.known
                    .write()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&named.metadata.name);
                (hooks.changed)(namespace, &named.metadata.name, false);
            }
            Signal::Alive => {
                if self.listed_before.load(Ordering::Relaxed) {
                    self.set(State::Current);
                }
            }
            Signal::Lost(error) => self.lose(error),
        }
    }

    fn lose(&self, error: &crate::cluster::error::ClusterError) {
        let listed = self.listed_before.load(Ordering::Relaxed);
        match error.code() {
            // A token that ran out: another identity has its own watch by then.
            Some(401) if listed => self.ended.cancel(),
            Some(401 | 403 | 404) => self.set(State::Impossible),
            _ => self.set(State::Stale),
        }
    }

    fn set(&self, state: State) {
        self.state.send_if_modified(|current| {
            let changed = *current != state;
            *current = state;
            changed
        });
    }

    /// Takes in one Secret if somebody names it; gives its name back.
    fn apply(&self, raw: &RawValue, hooks: &Hooks, namespace: &str, listed: bool) -> Option<String> {
        let named: Named = serde_json::from_str(raw.get()).ok()?;
        let name = named.metadata.name;
        if !(hooks.is_referenced)(&name) && !lock_read(&self.covered).contains(&name) {
            if !listed {
                // A search may match it, although nobody names it.
                (hooks.changed)(namespace, &name, false);
            }
            return Some(name);
        }
        let version = named.metadata.resource_version;
        let old = lock_read(&self.known)
            .get(&name)
            .and_then(|s| s.metadata.resource_version.clone());
        if old.as_deref() == Some(version.as_str()) {
            return Some(name);
        }
        let mut secret: Secret = serde_json::from_str(raw.get()).ok()?;
        secret.metadata.managed_fields = None;
        self.known
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.clone(), Arc::new(secret));
        let first = listed && !self.listed_before.load(Ordering::Relaxed);
        (hooks.changed)(namespace, &name, first);
        Some(name)
    }

    /// Keeps an answer of the server unless the watch brought something newer meanwhile.
    fn keep(&self, name: &str, mut secret: Secret) {
        secret.metadata.managed_fields = None;
        let version = |s: &Secret| s.metadata.resource_version.as_ref().and_then(|v| v.parse::<u64>().ok());
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.get(name).is_none_or(|there| version(there) < version(&secret)) {
            known.insert(name.to_owned(), Arc::new(secret));
        }
    }

    fn finish_list(&self, hooks: &Hooks, namespace: &str) {
        let seen = self
            .relist
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .unwrap_or_default();
        let gone: Vec<String> = lock_read(&self.known)
            .keys()
            .filter(|name| !seen.contains(*name))
            .cloned()
            .collect();
        for name in gone {
            self.known.write().unwrap_or_else(PoisonError::into_inner).remove(&name);
            (hooks.changed)(namespace, &name, false);
        }
        self.listed_before.store(true, Ordering::Relaxed);
        self.set(State::Current);
    }
}
