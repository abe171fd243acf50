//! While something fails, the Secrets and ConfigMaps its store takes credentials from are watched: a credential that
//! becomes good again is noticed at once and not at the end of a backoff.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::context::Context;
use super::queue::{Key, Priority};
use super::store::{CLUSTER_SECRET_STORE, StoreView};
use crate::api::ready_condition;
use crate::cluster::rest::{CONFIG_MAPS, Resource, SECRETS};
use crate::cluster::watch::{Scope, Signal, follow};

/// Stores whose credentials are watched.
#[derive(Default)]
pub struct CredentialWatches(Mutex<HashMap<Key, CancellationToken>>);

/// An object a credential is read from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    config_map: bool,
    namespace: String,
    name: String,
}

/// Watches the credentials of a store that fails, or with which something fails.
pub fn begin(cx: &Context, store: &StoreView) {
    let mut watches = cx.credential_watches.0.lock().unwrap_or_else(PoisonError::into_inner);
    let key = store.key();
    if watches.contains_key(&key) {
        return;
    }
    let Some(config) = store
        .spec
        .as_ref()
        .ok()
        .and_then(|s| s.provider.only().ok())
        .map(|(_, config)| config)
    else {
        return;
    };
    let mut places = BTreeSet::new();
    collect(
        config,
        store.kind == CLUSTER_SECRET_STORE,
        &store.namespace,
        &mut places,
    );
    if places.is_empty() {
        return;
    }
    let stop = cx.stop.child_token();
    watches.insert(key.clone(), stop.clone());
    drop(watches);
    for place in places {
        watch(cx, place, key.clone(), stop.clone());
    }
}

/// Ends that, once nothing fails with the store any more.
pub fn end(cx: &Context, store: &Key) {
    if let Some(stop) = cx
        .credential_watches
        .0
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(store)
    {
        stop.cancel();
    }
}

fn watch(cx: &Context, place: Place, store: Key, stop: CancellationToken) {
    let resource: Resource = if place.config_map { CONFIG_MAPS } else { SECRETS };
    let mut scope = Scope::all(resource.collection(&place.namespace));
    scope.fields = format!("metadata.name={}", place.name);
    scope.metadata_only = true;
    let (rest, queue, credentials, memory) = (
        cx.rest.clone(),
        cx.queue.clone(),
        cx.credentials.clone(),
        cx.memory.clone(),
    );
    let (stores, cluster_stores) = (cx.secret_stores.clone(), cx.cluster_secret_stores.clone());
    cx.spawn(Box::pin(async move {
        let is_valid = |key: &Key| {
            let status = if key.kind == CLUSTER_SECRET_STORE {
                cluster_stores.get("", &key.name).and_then(|s| s.status.clone())
            } else {
                stores.get(&key.namespace, &key.name).and_then(|s| s.status.clone())
            };
            status.is_some_and(|s| ready_condition(&s.conditions).is_some_and(|c| c.reason == "Valid"))
        };
        let mut sink = |signal: Signal<'_>| {
            // What the first list names may have come between the failure and the watch.
            if !matches!(signal, Signal::Listed(_) | Signal::Applied(_) | Signal::Deleted(_)) {
                return;
            }
            credentials.forget(&place.namespace, &place.name);
            // A store that is valid stays so until its next validation is due, as recorded; only what fails is tried.
            if is_valid(&store) {
                for failing in memory.failing_with(&store) {
                    queue.add(failing, Priority::Failed);
                }
            } else {
                queue.add(store.clone(), Priority::Changed);
            }
        };
        follow(&rest, &scope, &stop, &mut sink).await;
    }));
}

/// Every reference in a provider's configuration: an object with a `name` and a `key` or `type` beside it. A namespaced
/// store reads in its own namespace only, whatever a reference says.
fn collect(config: &Value, cluster_scoped: bool, own: &str, places: &mut BTreeSet<Place>) {
    match config {
        Value::Object(map) => {
            let text = |key: &str| map.get(key).and_then(Value::as_str);
            if let Some(name) = text("name")
                && (map.contains_key("key") || map.contains_key("type"))
            {
                let named = text("namespace").filter(|_| cluster_scoped);
                let namespace = named.unwrap_or(own).to_owned();
                if !namespace.is_empty() {
                    let config_map = text("type") == Some("ConfigMap");
                    places.insert(Place {
                        config_map,
                        namespace,
                        name: name.to_owned(),
                    });
                }
            }
            map.values().for_each(|v| collect(v, cluster_scoped, own, places));
        }
        Value::Array(items) => items.iter().for_each(|v| collect(v, cluster_scoped, own, places)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::{Place, collect};

    #[test]
    fn finds_references_and_keeps_a_namespaced_store_at_home() {
        let config = json!({
            "server": {"caProvider": {"type": "ConfigMap", "name": "roots", "key": "ca.crt", "namespace": "cellar"}},
            "auth": {"token": {"bearerToken": {"name": "token", "key": "token"}}, "serviceAccount": {"name": "reader"}},
        });
        let places = |cluster: bool| {
            let mut found = BTreeSet::new();
            collect(&config, cluster, "orchard", &mut found);
            found
                .into_iter()
                .map(|Place { namespace, name, .. }| format!("{namespace}/{name}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(places(false), ["orchard/token", "orchard/roots"]);
        assert_eq!(places(true), ["orchard/token", "cellar/roots"]);
    }
}
