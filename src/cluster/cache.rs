//! What a watch knows, in memory: objects by namespace and name, kept current by the watch and by our own writes.
//!
//! Our writes enter at once, so that the next pass does not work on what was before; the watch then brings the same
//! resource version again, which is no change. An older version never replaces a newer one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use serde_json::value::RawValue;
use tokio::sync::watch as signal;

use super::error::ClusterError;
use super::watch::Signal;

/// Namespace and name; the namespace is empty for cluster-scoped kinds.
pub type Id = (Arc<str>, Arc<str>);

/// An object that can live in a [`Cache`].
pub trait Cached: Sized + Send + Sync + 'static {
    /// Decodes what the server sent; `None` drops the object.
    fn from_raw(raw: &RawValue) -> Option<Self>;
    /// Namespace, or empty.
    fn namespace(&self) -> &str;
    /// Name.
    fn name(&self) -> &str;
    /// `metadata.resourceVersion`.
    fn resource_version(&self) -> &str;
}

/// One change, as the listeners see it.
pub struct Delta<T> {
    /// What was known before.
    pub old: Option<Arc<T>>,
    /// What is known now; `None` after a deletion.
    pub new: Option<Arc<T>>,
    /// True where our own write brought it.
    pub own_write: bool,
}

type Listener<T> = Box<dyn Fn(&Id, &Delta<T>) + Send + Sync>;

/// State of the connection behind a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// No list yet.
    Starting,
    /// Listed and watched.
    Current,
    /// The connection is gone; what is known may be old.
    Stale(ClusterError),
    /// The kind does not exist or may not be read; the cache counts as empty.
    Absent(ClusterError),
}

/// See the module.
pub struct Cache<T> {
    objects: RwLock<HashMap<Id, Arc<T>>>,
    relist: RwLock<Option<HashSet<Id>>>,
    listeners: OnceLock<Vec<Listener<T>>>,
    health: signal::Sender<Health>,
}

impl<T: Cached> Default for Cache<T> {
    fn default() -> Self {
        Self {
            objects: RwLock::default(),
            relist: RwLock::default(),
            listeners: OnceLock::new(),
            health: signal::Sender::new(Health::Starting),
        }
    }
}

impl<T: Cached> Cache<T> {
    /// Sets who hears of changes, once, before the watch starts.
    pub fn listen(&self, listeners: Vec<Listener<T>>) {
        let _ = self.listeners.set(listeners);
    }

    /// The object, if it is known.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<T>> {
        let id: Id = (namespace.into(), name.into());
        self.objects
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&id)
            .cloned()
    }

    /// All objects, in no order.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.objects
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .cloned()
            .collect()
    }

    /// How many objects are known.
    pub fn len(&self) -> usize {
        self.objects.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// True if none is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The state of the connection, to look at or to wait for.
    pub fn health(&self) -> signal::Receiver<Health> {
        self.health.subscribe()
    }

    /// Waits until the first list is whole, or known to be impossible.
    pub async fn ready(&self) {
        let mut health = self.health();
        let _ = health
            .wait_for(|h| matches!(h, Health::Current | Health::Absent(_)))
            .await;
    }

    /// Takes in the answer to one of our writes.
    pub fn put(&self, object: T) -> Arc<T> {
        self.apply(object, true)
    }

    /// Forgets an object we deleted, if it still is the one we know.
    pub fn remove(&self, namespace: &str, name: &str) {
        self.take_out(&(namespace.into(), name.into()), true);
    }

    /// Takes in what the watch brings.
    pub fn receive(&self, signal: Signal<'_>) {
        match signal {
            Signal::ListStarted => {
                *self.relist.write().unwrap_or_else(PoisonError::into_inner) = Some(HashSet::new());
            }
            Signal::Listed(raw) => {
                if let Some(object) = T::from_raw(raw) {
                    let id = id_of(&object);
                    if let Some(seen) = self.relist.write().unwrap_or_else(PoisonError::into_inner).as_mut() {
                        seen.insert(id);
                    }
                    self.apply(object, false);
                }
            }
            Signal::ListDone(version) => self.finish_list(version),
            Signal::Applied(raw) => {
                if let Some(object) = T::from_raw(raw) {
                    self.apply(object, false);
                }
            }
            Signal::Deleted(raw) => {
                if let Some(object) = T::from_raw(raw) {
                    self.delete(&object);
                }
            }
            Signal::Alive => self.set_health(Health::Current),
            Signal::Lost(error) => self.lose(error),
        }
    }

    fn set_health(&self, health: Health) {
        self.health.send_if_modified(|current| {
            let changed = *current != health;
            *current = health;
            changed
        });
    }

    fn lose(&self, error: &ClusterError) {
        let first = matches!(*self.health.borrow(), Health::Starting | Health::Absent(_));
        match (first, error.code()) {
            (true, Some(404 | 403 | 401)) => self.set_health(Health::Absent(error.clone())),
            (true, _) => {}
            (false, _) => self.set_health(Health::Stale(error.clone())),
        }
    }

    fn apply(&self, object: T, own_write: bool) -> Arc<T> {
        let id = id_of(&object);
        let object = Arc::new(object);
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = objects.get(&id)
            && at_least(known.resource_version(), object.resource_version())
        {
            return known.clone();
        }
        let old = objects.insert(id.clone(), object.clone());
        drop(objects);
        self.tell(
            &id,
            &Delta {
                old,
                new: Some(object.clone()),
                own_write,
            },
        );
        object
    }

    fn delete(&self, object: &T) {
        let id = id_of(object);
        let known = self.get(&id.0, &id.1);
        // A deletion seen late must not take out an object made anew since.
        let stale = known.is_some_and(|k| newer(k.resource_version(), object.resource_version()) == Some(true));
        if !stale {
            self.take_out(&id, false);
        }
    }

    fn take_out(&self, id: &Id, own_write: bool) {
        let old = self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        if old.is_some() {
            self.tell(
                id,
                &Delta {
                    old,
                    new: None,
                    own_write,
                },
            );
        }
    }

    fn finish_list(&self, version: &str) {
        let Some(seen) = self.relist.write().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        let gone: Vec<Id> = {
            let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
            let old = |object: &T| newer(object.resource_version(), version) != Some(true);
            objects
                .iter()
                .filter(|(id, o)| !seen.contains(*id) && old(o))
                .map(|(id, _)| id.clone())
                .collect()
        };
        for id in gone {
            self.take_out(&id, false);
        }
    }

    fn tell(&self, id: &Id, delta: &Delta<T>) {
        for listener in self.listeners.get().into_iter().flatten() {
            listener(id, delta);
        }
    }
}

fn id_of<T: Cached>(object: &T) -> Id {
    (object.namespace().into(), object.name().into())
}

/// True if `known` is as new as `other`, or the same text.
fn at_least(known: &str, other: &str) -> bool {
    known == other || newer(known, other) == Some(true)
}

/// True if `known` is newer than `other`; `None` if they cannot be compared.
/// Resource versions of one collection are numbers that grow (a promise of the API since Kubernetes 1.35, kept before).
fn newer(known: &str, other: &str) -> Option<bool> {
    let (known, other): (u64, u64) = (known.parse().ok()?, other.parse().ok()?);
    Some(known > other)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::value::RawValue;

    use super::{Cache, Cached, Health};
    use crate::cluster::error::ClusterError;
    use crate::cluster::watch::Signal;

    struct Thing(String, String);

    impl Cached for Thing {
        fn from_raw(raw: &RawValue) -> Option<Self> {
            let (name, version): (String, String) = serde_json::from_str(raw.get()).ok()?;
            Some(Self(name, version))
        }
        fn namespace(&self) -> &'static str {
            "ns"
        }
        fn name(&self) -> &str {
            &self.0
        }
        fn resource_version(&self) -> &str {
            &self.1
        }
    }

    fn raw(name: &str, version: &str) -> Box<RawValue> {
        RawValue::from_string(format!(r#"["{name}","{version}"]"#)).unwrap()
    }

    fn version(cache: &Cache<Thing>, name: &str) -> Option<String> {
        cache.get("ns", name).map(|t| t.1.clone())
    }

    #[test]
    fn older_versions_and_late_deletions_are_ignored() {
        let cache = Cache::<Thing>::default();
        cache.put(Thing("a".into(), "9".into()));
        cache.receive(Signal::Applied(&raw("a", "8")));
        cache.receive(Signal::Deleted(&raw("a", "8")));
        assert_eq!(version(&cache, "a").as_deref(), Some("9"));
        cache.receive(Signal::Deleted(&raw("a", "12")));
        assert!(cache.is_empty());
    }

    #[test]
    fn the_echo_of_our_own_write_is_no_change() {
        let cache = Cache::<Thing>::default();
        let heard = Arc::new(Mutex::new(0));
        let count = heard.clone();
        cache.listen(vec![Box::new(move |_, _| *count.lock().unwrap() += 1)]);
        cache.put(Thing("a".into(), "9".into()));
        cache.receive(Signal::Applied(&raw("a", "9")));
        assert_eq!(*heard.lock().unwrap(), 1);
    }

    #[test]
    fn a_list_takes_out_what_it_does_not_name_but_not_what_is_newer() {
        let cache = Cache::<Thing>::default();
        cache.put(Thing("old".into(), "3".into()));
        cache.put(Thing("new".into(), "30".into()));
        cache.receive(Signal::ListStarted);
        cache.receive(Signal::Listed(&raw("kept", "5")));
        cache.receive(Signal::ListDone("20"));
        assert!(version(&cache, "old").is_none());
        assert!(version(&cache, "new").is_some() && version(&cache, "kept").is_some());
    }

    #[test]
    fn a_kind_that_may_not_be_read_counts_as_absent_until_it_may() {
        let cache = Cache::<Thing>::default();
        let refused = ClusterError::Api {
            code: 403,
            reason: "Forbidden".into(),
            message: "no".into(),
            retry_after: None,
        };
        cache.receive(Signal::Lost(&refused));
        assert!(matches!(*cache.health().borrow(), Health::Absent(_)));
        cache.receive(Signal::Alive);
        assert_eq!(*cache.health().borrow(), Health::Current);
    }
}
