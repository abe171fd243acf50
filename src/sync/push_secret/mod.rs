//! PushSecret: what makes one due, and the steps of a pass in ESO's order.
//!
//! `policy and finalizer → due? → source → stores → template → push → delete what is stale → status`

mod clean;
mod outcome;
mod pass;
mod push;
mod source;
mod stores;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;

use super::context::Context;
use super::kind::{Hub, Kind, Watch};
use super::objects::NamespaceMeta;
use super::queue::{Key, Next, Priority, Queue};
use super::settings::{Mode, SourceWatch};
use super::store_access::selects;
use crate::api::push_secret::PushSecret;
use crate::cluster::cache::{Cache, Delta};
use crate::cluster::rest::{PUSH_SECRETS, SECRETS};
use crate::cluster::watch::{Scope, Signal, follow};

/// `kind`.
pub const PUSH_SECRET: &str = "PushSecret";
/// Keeps a PushSecret until the providers were cleaned up.
pub const FINALIZER: &str = "pushsecret.externalsecrets.io/finalizer";

/// The key of a PushSecret.
pub fn key_of(namespace: &str, name: &str) -> Key {
    Key::new(PUSH_SECRET, namespace, name)
}

/// What is remembered between passes and written nowhere.
#[derive(Default)]
pub struct State {
    /// resourceVersion of every source as it was last pushed, or first seen.
    seen: Mutex<HashMap<Key, HashMap<String, String>>>,
    /// Entries (store, entry) this process wrote where the policy is `IfNotExists`.
    written: Mutex<HashMap<Key, BTreeSet<(String, String)>>>,
    /// Namespaces whose Secrets are watched.
    watched: Mutex<BTreeSet<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn remember_sources(&self, key: &Key, sources: HashMap<String, String>) {
        lock(&self.seen).insert(key.clone(), sources);
    }

    fn remember_written(&self, key: &Key, store: &str, entry: &str) {
        lock(&self.written)
            .entry(key.clone())
            .or_default()
            .insert((store.to_owned(), entry.to_owned()));
    }

    fn has_written(&self, key: &Key, store: &str, entry: &str) -> bool {
        lock(&self.written)
            .get(key)
            .is_some_and(|set| set.contains(&(store.to_owned(), entry.to_owned())))
    }

    fn forget(&self, key: &Key) {
        lock(&self.seen).remove(key);
        lock(&self.written).remove(key);
    }

    /// PushSecrets of a namespace that pushed from a Secret which is not there any more; each is named once.
    fn without_source(&self, namespace: &str, exists: impl Fn(&str) -> bool) -> Vec<Key> {
        let mut gone = Vec::new();
        for (key, sources) in lock(&self.seen)
            .iter_mut()
            .filter(|(key, _)| &*key.namespace == namespace)
        {
            let before = sources.len();
            // A generator's output has no version and is no Secret.
            sources.retain(|name, version| version.is_empty() || exists(name));
            if sources.len() < before {
                gone.push(key.clone());
            }
        }
        gone
    }

    /// Whether this version of a source is news. One that was never pushed by this process only becomes known: the
    /// interval decides about it, as after every start of the operator.
    fn is_news(&self, key: &Key, source: &str, version: &str) -> bool {
        let mut seen = lock(&self.seen);
        let known = seen.entry(key.clone()).or_default();
        match known.get(source) {
            Some(old) if old == version => false,
            Some(_) => true,
            None => {
                known.insert(source.to_owned(), version.to_owned());
                false
            }
        }
    }
}

/// Drives PushSecrets.
#[derive(Default)]
pub struct PushSecretKind {
    state: Arc<State>,
}

impl PushSecretKind {
    /// The kind.
    pub fn boxed() -> Box<dyn Kind> {
        Box::new(Self::default())
    }
}

/// Only these changes are a reason for a pass; a status write is none.
fn concerns_us(old: &PushSecret, new: &PushSecret) -> bool {
    let (old, new) = (&old.metadata, &new.metadata);
    old.uid != new.uid
        || old.generation != new.generation
        || old.labels.clone().unwrap_or_default() != new.labels.clone().unwrap_or_default()
        || old.annotations.clone().unwrap_or_default() != new.annotations.clone().unwrap_or_default()
        || old.deletion_timestamp != new.deletion_timestamp
}

fn hear(queue: &Queue, key: Key, delta: &Delta<PushSecret>) {
    let due = match (&delta.old, &delta.new) {
        _ if delta.own_write => false,
        (Some(old), Some(new)) => concerns_us(old, new),
        (None, None) => false,
        _ => true,
    };
    if due {
        let synced = delta
            .new
            .as_ref()
            .and_then(|o| o.status.as_ref())
            .is_some_and(|s| !s.synced_resource_version.is_empty());
        queue.add(
            key,
            if synced {
                Priority::Changed
            } else {
                Priority::NeverSynced
            },
        );
    }
}

#[async_trait]
impl Kind for PushSecretKind {
    fn name(&self) -> &'static str {
        PUSH_SECRET
    }

    fn start(&self, cx: &Arc<Context>, hub: &mut Hub) {
        let namespace = cx.namespace.as_deref().unwrap_or_default();
        let queue = cx.queue.clone();
        hub.push_secrets.push(Box::new(move |(namespace, name), delta| {
            hear(&queue, key_of(namespace, name), delta);
        }));
        hub.watches.push(Watch::of(
            PUSH_SECRETS,
            Scope::all(PUSH_SECRETS.collection(namespace)),
            &cx.push_secrets,
        ));
    }

    fn lane(&self, cx: &Context, key: &Key) -> Option<Arc<str>> {
        let object = cx.push_secrets.get(&key.namespace, &key.name)?;
        let store = object
            .spec
            .ok()?
            .secret_store_refs
            .first()
            .filter(|r| !r.name.is_empty())?;
        let namespace = if store.kind.is_cluster() { "" } else { &*key.namespace };
        Some(format!("{} {namespace}/{}", store.kind.as_str(), store.name).into())
    }

    async fn reconcile(&self, cx: &Arc<Context>, key: &Key) -> Next {
        if cx.push_secrets.get(&key.namespace, &key.name).is_none() {
            cx.memory.forget(key);
            self.state.forget(key);
            return Next::Wait;
        }
        watch_sources(cx, &self.state, &key.namespace);
        pass::reconcile(cx, &self.state, key).await
    }
}

/// Follows the metadata of the Secrets of a namespace that has PushSecrets, from the first one on.
fn watch_sources(cx: &Arc<Context>, state: &Arc<State>, namespace: &str) {
    if cx.settings.source_watch == SourceWatch::Off || cx.settings.mode != Mode::Watch {
        return;
    }
    if !lock(&state.watched).insert(namespace.to_owned()) {
        return;
    }
    let cache: Arc<Cache<SourceMeta>> = Arc::default();
    let (queue, memory, objects, state) = (
        cx.queue.clone(),
        cx.memory.clone(),
        cx.push_secrets.clone(),
        state.clone(),
    );
    let lost = {
        let (queue, memory, objects, state) = (queue.clone(), memory.clone(), objects.clone(), state.clone());
        let namespace = namespace.to_owned();
        move |cache: &Cache<SourceMeta>| {
            for key in state.without_source(&namespace, |name| cache.get(&namespace, name).is_some()) {
                let object = objects.get(&key.namespace, &key.name);
                if object.is_some_and(|o| o.spec.ok().is_some_and(|s| s.interval().is_positive())) {
                    memory.force(&key);
                    queue.add(key, Priority::Changed);
                }
            }
        }
    };
    cache.listen(vec![Box::new(move |(namespace, name), delta| {
        for object in objects
            .all()
            .iter()
            .filter(|o| o.namespace() == &**namespace && follows(o, name, delta))
        {
            let key = key_of(namespace, object.name());
            let version = delta
                .new
                .as_ref()
                .map(|s| s.0.metadata.resource_version.as_str())
                .unwrap_or_default();
            if state.is_news(&key, name, version) {
                memory.force(&key);
                queue.add(key, Priority::Changed);
            }
        }
    })]);
    let mut scope = Scope::all(SECRETS.collection(namespace));
    scope.metadata_only = true;
    let (rest, stop) = (cx.rest.clone(), cx.stop.clone());
    cx.spawn(Box::pin(async move {
        let mut sink = move |signal: Signal<'_>| {
            let listed = matches!(signal, Signal::ListDone(_));
            cache.receive(signal);
            if listed {
                lost(&cache);
            }
        };
        follow(&rest, &scope, &stop, &mut sink).await;
    }));
}

/// Whether a Secret is (or was) a source of a PushSecret that would push again by itself.
fn follows(object: &PushSecret, secret: &str, delta: &Delta<SourceMeta>) -> bool {
    let Some(spec) = object.spec.ok().filter(|s| s.interval().is_positive()) else {
        return false;
    };
    let Some(source) = &spec.selector.secret else {
        return false;
    };
    if !source.name.is_empty() {
        return source.name == secret;
    }
    let Some(selector) = &source.selector else { return false };
    let empty = std::collections::BTreeMap::new();
    let hit = |meta: &Option<Arc<SourceMeta>>| {
        meta.as_ref()
            .is_some_and(|m| selects(selector, m.0.metadata.labels.as_ref().unwrap_or(&empty)) == Ok(true))
    };
    hit(&delta.old) || hit(&delta.new)
}

/// The metadata of a Secret.
struct SourceMeta(NamespaceMeta);

impl crate::cluster::cache::Cached for SourceMeta {
    fn from_raw(raw: &serde_json::value::RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok().map(Self)
    }

    fn namespace(&self) -> &str {
        &self.0.metadata.namespace
    }

    fn name(&self) -> &str {
        &self.0.metadata.name
    }

    fn resource_version(&self) -> &str {
        &self.0.metadata.resource_version
    }
}
