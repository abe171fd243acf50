//! The stores of a PushSecret: by name or by labels, without those that go or are another class's.

use std::collections::BTreeMap;

use super::pass::Pass;
use crate::api::Object;
use crate::api::external_secret::StoreRef;
use crate::api::push_secret::{PushSecretSpec, PushStoreRef};
use crate::api::secret_store::{SecretStoreSpec, SecretStoreStatus};
use crate::cluster::rest::{CLUSTER_SECRET_STORES, SECRET_STORES};
use crate::provider::Provider;
use crate::sync::external_secret::{EntryError, Retry};
use crate::sync::store::{self, CLUSTER_SECRET_STORE, SECRET_STORE, StoreView};
use crate::sync::store_access::{admitted, selects};
use crate::sync::{context::Context, queue::Key};
use crate::target::push::entries;

/// A store that is pushed to.
pub struct PushStore {
    /// `SecretStore` or `ClusterSecretStore`.
    pub kind: &'static str,
    /// Name.
    pub name: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    deleting: bool,
    controller: Result<String, String>,
}

impl PushStore {
    fn of<K>(kind: &'static str, object: &Object<K>) -> Self
    where
        K: crate::api::Kind<Spec = SecretStoreSpec, Status = SecretStoreStatus>,
    {
        Self {
            kind,
            name: object.name().to_owned(),
            labels: object.metadata.labels.clone().unwrap_or_default(),
            deleting: object.metadata.deletion_timestamp.is_some(),
            controller: object
                .spec
                .as_result()
                .map(|s| s.controller.clone())
                .map_err(str::to_owned),
        }
    }

    /// Its key in the status.
    pub fn status_key(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }

    /// As the entries of a push are expanded for it.
    pub fn as_entry(&self) -> entries::Store<'_> {
        entries::Store {
            kind: self.kind,
            name: &self.name,
            labels: &self.labels,
        }
    }

    fn is_served(&self, cx: &Context) -> bool {
        // One that cannot be read is kept: opening it then says why.
        self.controller.as_ref().is_ok_and(|c| cx.settings.serves(c)) || self.controller.is_err()
    }
}

/// Why there are no stores.
pub enum StoresError {
    /// ESO's text.
    Failed(String),
    /// A store exists that the cache does not have yet.
    Behind,
}

/// Every store of the spec that is left after the filters, in the order of kind and name.
///
/// # Errors
/// ESO's text.
pub async fn resolve(pass: &Pass<'_>, spec: &PushSecretSpec) -> Result<Vec<PushStore>, StoresError> {
    let mut found = BTreeMap::new();
    for reference in &spec.secret_store_refs {
        if reference.label_selector.is_some() {
            for store in by_labels(pass, reference).map_err(StoresError::Failed)? {
                found.insert(store.status_key(), store);
            }
            continue;
        }
        if reference.name.is_empty() {
            return Err(StoresError::Failed("refStore Name must be provided".to_owned()));
        }
        let store = by_name(pass, reference).await?;
        found.insert(store.status_key(), store);
    }
    Ok(found
        .into_values()
        .filter(|s| !s.deleting && s.is_served(pass.cx))
        .collect())
}

fn by_labels(pass: &Pass<'_>, reference: &PushStoreRef) -> Result<Vec<PushStore>, String> {
    let cx = pass.cx;
    let all: Vec<PushStore> = if reference.kind.is_cluster() {
        cx.cluster_secret_stores
            .all()
            .iter()
            .map(|s| PushStore::of(CLUSTER_SECRET_STORE, s))
            .collect()
    } else {
        let here = cx.secret_stores.all();
        here.iter()
            .filter(|s| s.namespace() == &*pass.key.namespace)
            .map(|s| PushStore::of(SECRET_STORE, s))
            .collect()
    };
    let mut out = Vec::new();
    for store in all {
        if selects_store(reference, &store.labels)? {
            out.push(store);
        }
    }
    Ok(out)
}

/// Whether the labels of a store are the ones a reference asks for.
///
/// # Errors
/// The selector cannot be read.
pub fn selects_store(reference: &PushStoreRef, labels: &BTreeMap<String, String>) -> Result<bool, String> {
    reference
        .label_selector
        .as_ref()
        .map_or(Ok(false), |selector| selects(selector, labels))
}

async fn by_name(pass: &Pass<'_>, reference: &PushStoreRef) -> Result<PushStore, StoresError> {
    let (cx, name) = (pass.cx, &reference.name);
    let (found, kind, path) = if reference.kind.is_cluster() {
        let found = cx
            .cluster_secret_stores
            .get("", name)
            .map(|s| PushStore::of(CLUSTER_SECRET_STORE, &s));
        (found, CLUSTER_SECRET_STORE, CLUSTER_SECRET_STORES.object("", name))
    } else {
        let found = cx
            .secret_stores
            .get(&pass.key.namespace, name)
            .map(|s| PushStore::of(SECRET_STORE, &s));
        (found, SECRET_STORE, SECRET_STORES.object(&pass.key.namespace, name))
    };
    if let Some(store) = found {
        return Ok(store);
    }
    // Made in the same moment as the PushSecret: the watch will bring it.
    let live: Result<Option<serde_json::Value>, _> = cx.rest.get_metadata_opt(&path).await;
    match live {
        Ok(Some(_)) => Err(StoresError::Behind),
        Ok(None) => Err(StoresError::Failed(format!(
            r#"could not get {kind} "{name}", {kind}.external-secrets.io "{name}" not found"#
        ))),
        Err(error) => Err(StoresError::Failed(format!(
            r#"could not get {kind} "{name}", {error}"#
        ))),
    }
}

/// Whether any store of the spec or of the status is one this run serves; a run of another class than `default` leaves
/// the rest to whoever serves it.
pub fn any_ours(cx: &Context, key: &Key, spec: &PushSecretSpec, recorded: impl Iterator<Item = String>) -> bool {
    let ours = |cluster: bool, name: &str| {
        store::find(cx, cluster, &key.namespace, name)
            .is_some_and(|s| s.spec.as_ref().is_ok_and(|spec| cx.settings.serves(&spec.controller)))
    };
    let named = spec
        .secret_store_refs
        .iter()
        .any(|r| ours(r.kind.is_cluster(), &r.name));
    let chosen = || {
        let all = cx.secret_stores.all();
        let mut here = all
            .iter()
            .filter(|s| s.namespace() == &*key.namespace)
            .map(|s| PushStore::of(SECRET_STORE, s));
        here.any(|s| {
            ours(false, &s.name)
                && spec
                    .secret_store_refs
                    .iter()
                    .any(|r| selects_store(r, &s.labels) == Ok(true))
        })
    };
    let mut recorded = recorded;
    named || chosen() || recorded.any(|store| split(&store).is_some_and(|(cluster, name)| ours(cluster, name)))
}

/// Kind (true: ClusterSecretStore) and name out of a status key.
pub fn split(status_key: &str) -> Option<(bool, &str)> {
    let (kind, name) = status_key.split_once('/')?;
    Some((kind == CLUSTER_SECRET_STORE, name))
}

/// A reference to a store of the status.
pub fn reference(cluster: bool, name: &str) -> StoreRef {
    StoreRef {
        name: name.to_owned(),
        kind: if cluster { CLUSTER_SECRET_STORE } else { SECRET_STORE }.into(),
    }
}

/// A client of the store, if `namespace` may use it; the text is the cause only.
///
/// # Errors
/// ESO's text, and whether it is worth another try.
pub async fn open(cx: &Context, store: &StoreRef, namespace: &str) -> Result<Box<dyn Provider>, (String, Retry)> {
    let view = admitted(cx, store, namespace).await.map_err(parts)?;
    store::open(cx, &view, namespace).await.map_err(|e| parts(e.into()))
}

fn parts(error: EntryError) -> (String, Retry) {
    match error {
        EntryError::Other(text, retry) => (text, retry),
        EntryError::NoSecret(text) => (text, Retry::Backoff),
        EntryError::Parked(key) => (key.to_string(), Retry::Backoff),
    }
}

/// What two stores of one place have in common, as far as their configuration shows it.
pub fn place(store: &StoreView) -> Option<String> {
    let (entry, config) = store::entry_of(store).ok()?;
    let text = |path: &str| {
        config
            .pointer(path)
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default()
    };
    match entry.key {
        "kubernetes" => {
            let namespace = match text("/remoteNamespace") {
                "" => "default",
                other => other,
            };
            Some(format!(
                "kubernetes {} {namespace}",
                text("/server/url").trim_end_matches('/')
            ))
        }
        "webhook" => Some(format!("webhook {}", text("/url"))),
        _ => None,
    }
}
