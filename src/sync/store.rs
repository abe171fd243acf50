//! SecretStore and ClusterSecretStore: validate, write the condition, wake what failed for the store.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::context::Context;
use super::credential_watch;
use super::event::SyncEvent;
use super::kind::{Hub, Kind, Listener, Watch};
use super::queue::{Key, Next, Priority, Queue};
use super::recorder::{Involved, Record, Severity};
use crate::api::secret_store::{SecretStoreSpec, SecretStoreStatus, unserved_text};
use crate::api::{Condition, Object, ready_condition};
use crate::cluster::cache::Cache;
use crate::cluster::rest::{CLUSTER_SECRET_STORES, Resource, SECRET_STORES};
use crate::cluster::watch::Scope;
use crate::provider::{Capabilities, Entry, OpenRequest, PROVIDERS, Provider, ProviderError, Validation};
use crate::target::condition;

/// `kind` of a namespaced store.
pub const SECRET_STORE: &str = "SecretStore";
/// `kind` of a cluster-wide store.
pub const CLUSTER_SECRET_STORE: &str = "ClusterSecretStore";
const SILENCE_ANNOTATION: &str = "external-secrets.io/ignore-maintenance-checks";

/// A store of either kind, as both kinds' passes and every consumer see it.
#[derive(Clone)]
pub struct StoreView {
    /// `SecretStore` or `ClusterSecretStore`.
    pub kind: &'static str,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// resourceVersion.
    pub resource_version: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// The maintenance warning is silenced.
    pub silenced: bool,
    /// The spec, or Go's reason why it cannot be read.
    pub spec: Result<SecretStoreSpec, String>,
    /// The status.
    pub status: SecretStoreStatus,
}

impl StoreView {
    fn of<K>(kind: &'static str, object: &Object<K>) -> Self
    where
        K: crate::api::Kind<Spec = SecretStoreSpec, Status = SecretStoreStatus>,
    {
        let meta = &object.metadata;
        Self {
            kind,
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            uid: meta.uid.clone().unwrap_or_default(),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            silenced: meta
                .annotations
                .as_ref()
                .is_some_and(|a| a.contains_key(SILENCE_ANNOTATION)),
            spec: object.spec.as_result().cloned().map_err(str::to_owned),
            status: object.status.clone().unwrap_or_default(),
        }
    }

    /// Its key in the queue.
    pub fn key(&self) -> Key {
        Key::new(self.kind, &self.namespace, &self.name)
    }

    /// True where the condition lets it be used.
    pub fn is_ready(&self) -> bool {
        ready_condition(&self.status.conditions).is_some_and(Condition::is_ready)
    }

    fn resource(&self) -> Resource {
        if self.kind == SECRET_STORE {
            SECRET_STORES
        } else {
            CLUSTER_SECRET_STORES
        }
    }
}

/// The store, if it exists.
pub fn find(cx: &Context, cluster_scoped: bool, namespace: &str, name: &str) -> Option<StoreView> {
    if cluster_scoped {
        cx.cluster_secret_stores
            .get("", name)
            .map(|s| StoreView::of(CLUSTER_SECRET_STORE, &s))
    } else {
        cx.secret_stores
            .get(namespace, name)
            .map(|s| StoreView::of(SECRET_STORE, &s))
    }
}

/// The row of the registry that serves this store, and its configuration.
///
/// # Errors
/// ESO's text.
pub fn entry_of(store: &StoreView) -> Result<(&'static Entry, &serde_json::Value), ProviderError> {
    let spec = store.spec.as_ref().map_err(|e| ProviderError::invalid(e.clone()))?;
    let (key, config) = spec.provider.only().map_err(|found| {
        let text = format!(
            "store error for {}: secret stores must only have exactly one backend specified, found {found}",
            store.name
        );
        ProviderError::invalid(text)
    })?;
    let entry = PROVIDERS.iter().find(|e| e.key == key).ok_or_else(|| {
        let text = format!(
            "failed to find registered store backend for type: {key}, name: {}",
            store.name
        );
        tracing::debug!(store = %store.name, "{}", unserved_text(key));
        ProviderError::invalid(text)
    })?;
    Ok((entry, config))
}

/// Opens a client of `store`, acting for `namespace`.
///
/// # Errors
/// The provider's, in ESO's words.
pub async fn open(cx: &Context, store: &StoreView, namespace: &str) -> Result<Box<dyn Provider>, ProviderError> {
    let (entry, config) = entry_of(store)?;
    let retry = store.spec.as_ref().ok().and_then(|s| s.retry_settings.as_ref());
    let retry = retry.and_then(|r| serde_json::to_value(r).ok());
    let request = OpenRequest {
        store_kind: store.kind,
        store_name: &store.name,
        namespace,
        config,
        retry: retry.as_ref(),
        credentials: &cx.credentials,
    };
    (entry.open)(request).await
}

/// Drives one of the two kinds.
pub struct StoreKind {
    kind: &'static str,
}

impl StoreKind {
    /// SecretStore.
    pub fn namespaced() -> Box<dyn Kind> {
        Box::new(Self { kind: SECRET_STORE })
    }

    /// ClusterSecretStore.
    pub fn cluster_wide() -> Box<dyn Kind> {
        Box::new(Self {
            kind: CLUSTER_SECRET_STORE,
        })
    }

    fn find(&self, cx: &Context, key: &Key) -> Option<StoreView> {
        find(cx, self.kind == CLUSTER_SECRET_STORE, &key.namespace, &key.name)
    }
}

fn listener<K>(kind: &'static str, queue: &Arc<Queue>) -> Listener<Object<K>>
where
    K: crate::api::Kind,
{
    let queue = queue.clone();
    Box::new(move |(namespace, name), delta| {
        // The echo of our own status patch is no reason to validate again.
        if !delta.own_write {
            let first = delta.old.is_none() && delta.new.as_ref().is_some_and(|s| s.status.is_none());
            let priority = if first {
                Priority::NeverSynced
            } else {
                Priority::Changed
            };
            queue.add(
                Key {
                    kind,
                    namespace: namespace.clone(),
                    name: name.clone(),
                },
                priority,
            );
        }
    })
}

#[async_trait]
impl Kind for StoreKind {
    fn name(&self) -> &'static str {
        self.kind
    }

    fn start(&self, cx: &Arc<Context>, hub: &mut Hub) {
        let namespace = cx.namespace.as_deref().unwrap_or_default();
        if self.kind == SECRET_STORE {
            hub.secret_stores.push(listener(self.kind, &cx.queue));
            let scope = Scope::all(SECRET_STORES.collection(namespace));
            hub.watches.push(Watch::of(SECRET_STORES, scope, &cx.secret_stores));
        } else {
            if cx.settings.is_default_class() {
                hub.cluster_secret_stores.push(listener(self.kind, &cx.queue));
            }
            let scope = Scope::all(CLUSTER_SECRET_STORES.collection(""));
            hub.watches
                .push(Watch::of(CLUSTER_SECRET_STORES, scope, &cx.cluster_secret_stores));
        }
    }

    fn lane(&self, _cx: &Context, key: &Key) -> Option<Arc<str>> {
        Some(key.to_string().into())
    }

    async fn reconcile(&self, cx: &Arc<Context>, key: &Key) -> Next {
        let Some(store) = self.find(cx, key) else {
            cx.memory.forget(key);
            credential_watch::end(cx, key);
            wake(cx, key, false);
            return Next::Wait;
        };
        let next = match &store.spec {
            Ok(spec) if !cx.settings.serves(&spec.controller) => Next::Wait,
            Ok(spec) => reconcile(cx, &store, spec, key).await,
            Err(error) => {
                tell(cx, key, false, String::new(), error.clone());
                Next::Backoff
            }
        };
        wake(cx, key, cx.memory.store_ready(key) == Some(true));
        next
    }
}

/// Wakes what waited for the first look at the store and, where the store is good, what failed with it.
fn wake(cx: &Context, key: &Key, ready: bool) {
    for waiting in cx.memory.set_validated(key) {
        cx.queue.add(waiting, Priority::NeverSynced);
    }
    if ready {
        let failing = cx.memory.failing_with(key);
        if failing.is_empty() {
            credential_watch::end(cx, key);
        }
        for failing in failing {
            cx.queue.add(failing, Priority::Failed);
        }
    }
}

fn tell(cx: &Context, key: &Key, ready: bool, reason: String, message: String) {
    cx.tell(SyncEvent::Store {
        key: key.clone(),
        ready,
        reason,
        message,
    });
}

async fn reconcile(cx: &Context, store: &StoreView, spec: &SecretStoreSpec, key: &Key) -> Next {
    let period = match spec.revalidation() {
        Ok(period) => period.map_or(cx.settings.store_requeue, crate::api::GoDuration::to_std),
        Err(error) => {
            // ESO leaves the condition as it is here; people would otherwise never learn why the store is not used.
            tell(
                cx,
                key,
                false,
                String::new(),
                format!("invalid refreshInterval: {error}"),
            );
            return Next::Backoff;
        }
    };
    let verdict = judge(cx, store).await;
    announce(cx, key, &verdict);
    let event = |severity, reason, message: String| record(cx, store, severity, reason, message);
    let (condition, capabilities, next) = match verdict {
        Verdict::Good(entry) => {
            if !entry.maintained && !store.silenced {
                let text = "store isn't currently maintained. Please plan and prepare accordingly.";
                event(Severity::Warning, "StoreUnmaintained", text.to_owned());
            }
            event(Severity::Normal, "Valid", "store validated".to_owned());
            let capabilities = Some(capabilities_text(entry.capabilities));
            (
                condition::ready(true, "Valid", "store validated"),
                capabilities,
                Next::After(period),
            )
        }
        Verdict::Unknown(error) => {
            event(Severity::Warning, "ValidationUnknown", error.to_string());
            credential_watch::begin(cx, store);
            let text = "could not determine validation status";
            (
                condition::ready(true, "ValidationUnknown", text),
                None,
                Next::After(period),
            )
        }
        Verdict::Bad(message, error) => {
            event(Severity::Warning, "InvalidProviderConfig", error.to_string());
            credential_watch::begin(cx, store);
            (
                condition::ready(false, "InvalidProviderConfig", message),
                None,
                backoff(&error),
            )
        }
    };
    write_status(cx, store, condition, capabilities, key).await;
    next
}

fn announce(cx: &Context, key: &Key, verdict: &Verdict) {
    let (ready, reason, message) = match verdict {
        Verdict::Good(_) => (true, "Valid", "store validated".to_owned()),
        Verdict::Unknown(error) => (true, "ValidationUnknown", error.to_string()),
        Verdict::Bad(what, error) => (false, "InvalidProviderConfig", format!("{what}: {error}")),
    };
    cx.memory.set_store_ready(key, Some(ready));
    tell(cx, key, ready, reason.to_owned(), message);
}

fn backoff(error: &ProviderError) -> Next {
    match error {
        ProviderError::Throttled { after: Some(after), .. } => Next::BackoffAtLeast(*after),
        _ => Next::Backoff,
    }
}

enum Verdict {
    Good(&'static Entry),
    Unknown(ProviderError),
    Bad(&'static str, ProviderError),
}

/// No validation takes longer, so that a store that never answers is a store that failed.
const VALIDATION_TIMEOUT: Duration = Duration::from_secs(60);

async fn judge(cx: &Context, store: &StoreView) -> Verdict {
    let work = async {
        let client = match open(cx, store, &store.namespace).await {
            Ok(client) => client,
            Err(error) => return Verdict::Bad("unable to create client", error),
        };
        let entry = entry_of(store).map(|(entry, _)| entry);
        match (client.validate().await, entry) {
            (Validation::Valid, Ok(entry)) => Verdict::Good(entry),
            (Validation::Unknown(error), _) => Verdict::Unknown(error),
            (Validation::Invalid(error), _) | (Validation::Valid, Err(error)) => {
                Verdict::Bad("unable to validate store", error)
            }
        }
    };
    tokio::time::timeout(VALIDATION_TIMEOUT, work)
        .await
        .unwrap_or_else(|_| {
            let error = ProviderError::Transport {
                message: "the store did not answer in 60 seconds".to_owned(),
            };
            Verdict::Bad("unable to validate store", error)
        })
}

fn capabilities_text(capabilities: Capabilities) -> &'static str {
    match capabilities {
        Capabilities::ReadOnly => "ReadOnly",
        Capabilities::WriteOnly => "WriteOnly",
        Capabilities::ReadWrite => "ReadWrite",
    }
}

fn record(cx: &Context, store: &StoreView, severity: Severity, reason: &'static str, message: String) {
    let component = if store.kind == SECRET_STORE {
        "secret-store"
    } else {
        "cluster-secret-store"
    };
    let involved = Involved {
        api_version: "external-secrets.io/v1",
        kind: store.kind,
        namespace: store.namespace.clone(),
        name: store.name.clone(),
        uid: store.uid.clone(),
        resource_version: store.resource_version.clone(),
    };
    cx.recorder.record(Record {
        involved,
        severity,
        reason,
        message,
        component,
    });
}

async fn write_status(cx: &Context, store: &StoreView, new: Condition, capabilities: Option<&'static str>, key: &Key) {
    let mut conditions = store.status.conditions.clone();
    condition::set(&mut conditions, new, Timestamp::now());
    let mut patch = Map::new();
    if conditions != store.status.conditions {
        patch.insert("conditions".to_owned(), json!(conditions));
    }
    if let Some(text) = capabilities.filter(|text| *text != store.status.capabilities) {
        patch.insert("capabilities".to_owned(), json!(text));
    }
    if patch.is_empty() {
        return;
    }
    let resource = store.resource();
    let status = Value::Object(patch);
    let sent = cx
        .writer
        .patch_status(&resource, &store.namespace, &store.name, &store.uid, &status)
        .await;
    match sent {
        Ok(Some(bytes)) if store.kind == SECRET_STORE => take_in(&cx.secret_stores, &bytes),
        Ok(Some(bytes)) => take_in(&cx.cluster_secret_stores, &bytes),
        Ok(None) => {}
        // As in ESO, the next pass writes it: nothing else depends on this write.
        Err(error) => tracing::warn!(store = %key, %error, "store status not written"),
    }
}

fn take_in<K: crate::api::Kind>(cache: &Cache<Object<K>>, bytes: &[u8]) {
    if let Ok(mut object) = serde_json::from_slice::<Object<K>>(bytes) {
        object.metadata.managed_fields = None;
        cache.put(object);
    }
}
