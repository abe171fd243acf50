//! The finalizer of a store: it stays while a PushSecret with `deletionPolicy: Delete` may need the store to take back
//! what it pushed.
//!
//! Apart from the validation of stores, so that a change of a PushSecret never costs a request to a provider.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use super::context::Context;
use super::event::SyncEvent;
use super::kind::{Hub, Kind, Listener};
use super::queue::{Key, Next, Priority};
use super::store::{CLUSTER_SECRET_STORE, SECRET_STORE};
use super::store_access::selects;
use crate::api::Object;
use crate::api::push_secret::{PushDeletionPolicy, PushSecret};
use crate::api::secret_store::{SecretStoreSpec, SecretStoreStatus};
use crate::cluster::cache::Cache;
use crate::cluster::error::ClusterError;
use crate::cluster::rest::{CLUSTER_SECRET_STORES, Resource, SECRET_STORES};

/// The finalizer.
pub const FINALIZER: &str = "secretstore.externalsecrets.io/finalizer";
const OF_STORE: &str = "SecretStore finalizer";
const OF_CLUSTER_STORE: &str = "ClusterSecretStore finalizer";

/// Drives the finalizer of one of the two kinds.
pub struct StoreFinalizer {
    cluster: bool,
}

impl StoreFinalizer {
    /// Of SecretStores.
    pub fn namespaced() -> Box<dyn Kind> {
        Box::new(Self { cluster: false })
    }

    /// Of ClusterSecretStores.
    pub fn cluster_wide() -> Box<dyn Kind> {
        Box::new(Self { cluster: true })
    }

    fn store(&self, cx: &Context, key: &Key) -> Option<Facts> {
        if self.cluster {
            cx.cluster_secret_stores.get("", &key.name).map(|s| Facts::of(&s))
        } else {
            cx.secret_stores.get(&key.namespace, &key.name).map(|s| Facts::of(&s))
        }
    }
}

/// What the decision needs of a store.
struct Facts {
    namespace: String,
    name: String,
    version: Option<String>,
    labels: BTreeMap<String, String>,
    finalizers: Vec<String>,
    deleting: bool,
    controller: Option<String>,
}

impl Facts {
    fn of<K>(object: &Object<K>) -> Self
    where
        K: crate::api::Kind<Spec = SecretStoreSpec, Status = SecretStoreStatus>,
    {
        let meta = &object.metadata;
        Self {
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            version: meta.resource_version.clone(),
            labels: meta.labels.clone().unwrap_or_default(),
            finalizers: meta.finalizers.clone().unwrap_or_default(),
            deleting: meta.deletion_timestamp.is_some(),
            controller: object.spec.ok().map(|s| s.controller.clone()),
        }
    }

    fn carries(&self) -> bool {
        self.finalizers.iter().any(|f| f == FINALIZER)
    }
}

/// Whether this PushSecret may still need the store.
fn needs(push: &PushSecret, cluster: bool, store: &Facts) -> bool {
    let Some(spec) = push.spec.ok() else { return false };
    if spec.deletion_policy != PushDeletionPolicy::Delete || (!cluster && push.namespace() != store.namespace) {
        return false;
    }
    let kind = if cluster { CLUSTER_SECRET_STORE } else { SECRET_STORE };
    let recorded = format!("{kind}/{}", store.name);
    push.status
        .as_ref()
        .is_some_and(|s| s.synced_push_secrets.contains_key(&recorded))
        || spec.secret_store_refs.iter().any(|r| {
            r.kind.is_cluster() == cluster
                && (r.name == store.name
                    || r.label_selector
                        .as_ref()
                        .is_some_and(|s| selects(s, &store.labels) == Ok(true)))
        })
}

type Queue = Arc<super::queue::Queue>;

fn on_push_secrets<K>(
    kind: &'static str,
    cluster: bool,
    queue: Queue,
    stores: Arc<Cache<Object<K>>>,
) -> Listener<PushSecret>
where
    K: crate::api::Kind<Spec = SecretStoreSpec, Status = SecretStoreStatus>,
{
    Box::new(move |(namespace, _), delta| {
        let deletes = |o: &Option<Arc<PushSecret>>| {
            o.as_ref().is_some_and(|p| {
                p.spec
                    .ok()
                    .is_some_and(|s| s.deletion_policy == PushDeletionPolicy::Delete)
            })
        };
        if !deletes(&delta.old) && !deletes(&delta.new) {
            return;
        }
        for store in stores
            .all()
            .iter()
            .map(|s| Facts::of(s))
            .filter(|s| cluster || *s.namespace == **namespace)
        {
            let now = delta.new.as_ref().is_some_and(|p| needs(p, cluster, &store));
            let before = delta.old.as_ref().is_some_and(|p| needs(p, cluster, &store));
            if now != store.carries() && (now || before) {
                queue.add(Key::new(kind, &store.namespace, &store.name), Priority::Changed);
            }
        }
    })
}

fn on_stores<K>(kind: &'static str, queue: Queue) -> Listener<Object<K>>
where
    K: crate::api::Kind<Spec = SecretStoreSpec, Status = SecretStoreStatus>,
{
    Box::new(move |(namespace, name), delta| {
        let facts = |o: &Option<Arc<Object<K>>>| {
            o.as_ref()
                .map(|o| Facts::of(o))
                .map(|f| (f.labels, f.finalizers, f.deleting))
        };
        if delta.new.is_some() && facts(&delta.old) != facts(&delta.new) {
            queue.add(
                Key {
                    kind,
                    namespace: namespace.clone(),
                    name: name.clone(),
                },
                Priority::Changed,
            );
        }
    })
}

#[async_trait]
impl Kind for StoreFinalizer {
    fn name(&self) -> &'static str {
        if self.cluster { OF_CLUSTER_STORE } else { OF_STORE }
    }

    fn start(&self, cx: &Arc<Context>, hub: &mut Hub) {
        let (kind, queue) = (self.name(), cx.queue.clone());
        if self.cluster {
            if cx.settings.is_default_class() && cx.namespace.is_none() {
                hub.push_secrets.push(on_push_secrets(
                    kind,
                    true,
                    queue.clone(),
                    cx.cluster_secret_stores.clone(),
                ));
                hub.cluster_secret_stores.push(on_stores(kind, queue));
            }
        } else {
            hub.push_secrets
                .push(on_push_secrets(kind, false, queue.clone(), cx.secret_stores.clone()));
            hub.secret_stores.push(on_stores(kind, queue));
        }
    }

    async fn reconcile(&self, cx: &Arc<Context>, key: &Key) -> Next {
        let Some(store) = self.store(cx, key) else {
            return Next::Wait;
        };
        // Without knowing the PushSecrets nothing can be said about who needs the store.
        let known = *cx.push_secrets.health().borrow() == crate::cluster::cache::Health::Current;
        if !known || !store.controller.as_deref().is_some_and(|c| cx.settings.serves(c)) {
            return Next::Wait;
        }
        let wanted = cx.push_secrets.all().iter().any(|p| needs(p, self.cluster, &store));
        if wanted == store.carries() || (wanted && store.deleting) {
            return Next::Wait;
        }
        match self.write(cx, store, wanted).await {
            Ok(()) => Next::Wait,
            Err(error) if error.is_not_found() => Next::Wait,
            Err(error) if error.is_conflict() => Next::Again,
            Err(error) => {
                let (message, took) = (error.to_string(), std::time::Duration::ZERO);
                cx.tell(SyncEvent::Failed {
                    key: key.clone(),
                    message,
                    retry: None,
                    took,
                });
                Next::Backoff
            }
        }
    }
}

impl StoreFinalizer {
    async fn write(&self, cx: &Context, store: Facts, wanted: bool) -> Result<(), ClusterError> {
        let mut finalizers = store.finalizers;
        finalizers.retain(|f| f != FINALIZER);
        if wanted {
            finalizers.push(FINALIZER.to_owned());
        }
        let patch = json!({ "metadata": { "finalizers": finalizers, "resourceVersion": store.version } });
        let resource: Resource = if self.cluster {
            CLUSTER_SECRET_STORES
        } else {
            SECRET_STORES
        };
        let answer = cx
            .writer
            .merge_patch(&resource, &store.namespace, &store.name, &patch, "")
            .await?;
        let gone = store.deleting && finalizers.is_empty();
        if let (Some(bytes), false) = (answer, gone) {
            if self.cluster {
                put(&cx.cluster_secret_stores, &bytes);
            } else {
                put(&cx.secret_stores, &bytes);
            }
        }
        Ok(())
    }
}

fn put<K: crate::api::Kind>(cache: &Cache<Object<K>>, bytes: &[u8]) {
    if let Ok(mut object) = serde_json::from_slice::<Object<K>>(bytes) {
        object.metadata.managed_fields = None;
        cache.put(object);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Facts, needs};
    use crate::api::push_secret::PushSecret;
    use crate::api::secret_store::SecretStore;

    fn asks(spec: Value, status: Value) -> bool {
        let store: SecretStore = serde_json::from_value(
            json!({"metadata": {"namespace": "a", "name": "s", "labels": {"tier": "gold"}}, "spec": {}}),
        )
        .unwrap();
        let object = json!({"metadata": {"namespace": "a", "name": "ps"}, "spec": spec, "status": status});
        let push: PushSecret = serde_json::from_value(object).unwrap();
        needs(&push, false, &Facts::of(&store))
    }

    #[test]
    fn a_store_is_needed_by_name_labels_or_record_under_delete_only() {
        for (policy, refs, status, expected) in [
            ("Delete", json!([{"name": "s"}]), json!({}), true),
            ("None", json!([{"name": "s"}]), json!({}), false),
            (
                "Delete",
                json!([{"labelSelector": {"matchLabels": {"tier": "gold"}}}]),
                json!({}),
                true,
            ),
            (
                "Delete",
                json!([{"name": "s", "kind": "ClusterSecretStore"}]),
                json!({}),
                false,
            ),
            (
                "Delete",
                json!([]),
                json!({"syncedPushSecrets": {"SecretStore/s": {}}}),
                true,
            ),
            ("Delete", json!([{"name": "t"}]), json!({}), false),
        ] {
            assert_eq!(
                asks(json!({"deletionPolicy": policy, "secretStoreRefs": refs}), status),
                expected,
                "{policy} {refs}"
            );
        }
    }
}
