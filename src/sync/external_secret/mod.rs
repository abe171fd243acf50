//! ExternalSecret: what makes one due, and the steps of a pass in ESO's order.
//!
//! `deletion → finalizer → class → target → due? → fetch → empty? → build → write → status`

mod class;
mod fetch;
mod finalize;
mod manifest;
mod outcome;
mod pass;
mod sources;
mod target;

pub use class::stores as stores_of;
pub use fetch::EntryError;
pub use manifest::GenericTargets;
pub use outcome::Retry;
pub use sources::{render_push, transform};

use std::sync::Arc;

use async_trait::async_trait;

use super::context::Context;
use super::generate;
use super::kind::{Hub, Kind, Watch};
use super::queue::{Key, Next, Priority, Queue};
use crate::api::external_secret::ExternalSecret;
use crate::cluster::cache::Delta;
use crate::cluster::rest::{EXTERNAL_SECRETS, NAMESPACES, SECRETS};
use crate::cluster::watch::Scope;
use crate::target::names::MANAGED_SELECTOR;

/// `kind`.
pub const EXTERNAL_SECRET: &str = "ExternalSecret";

/// Drives ExternalSecrets.
pub struct ExternalSecretKind;

impl ExternalSecretKind {
    /// The kind.
    pub fn boxed() -> Box<dyn Kind> {
        Box::new(Self)
    }
}

/// The key of an ExternalSecret.
pub fn key_of(namespace: &str, name: &str) -> Key {
    Key::new(EXTERNAL_SECRET, namespace, name)
}

/// Only these changes of an ExternalSecret are a reason for a pass; a status write is none.
fn concerns_us(old: &ExternalSecret, new: &ExternalSecret) -> bool {
    let (old, new) = (&old.metadata, &new.metadata);
    let differs = |a: &Option<_>, b: &Option<_>| a.as_ref().unwrap_or(&NONE) != b.as_ref().unwrap_or(&NONE);
    old.uid != new.uid
        || old.generation != new.generation
        || differs(&old.labels, &new.labels)
        || differs(&old.annotations, &new.annotations)
        || old.finalizers.as_deref().unwrap_or_default() != new.finalizers.as_deref().unwrap_or_default()
        || old.deletion_timestamp != new.deletion_timestamp
}

static NONE: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();

fn priority(object: &ExternalSecret) -> Priority {
    match &object.status {
        Some(status) if !status.synced_resource_version.is_empty() => Priority::Changed,
        _ => Priority::NeverSynced,
    }
}

fn hear_external_secret(queue: &Queue, key: Key, delta: &Delta<ExternalSecret>) {
    match (&delta.old, &delta.new) {
        _ if delta.own_write => {}
        (Some(old), Some(new)) if concerns_us(old, new) => queue.add(key, priority(new)),
        (Some(_), Some(_)) | (None, None) => {}
        (None, Some(new)) => queue.add(key, priority(new)),
        (Some(_), None) => queue.add(key, Priority::Changed),
    }
}

#[async_trait]
impl Kind for ExternalSecretKind {
    fn name(&self) -> &'static str {
        EXTERNAL_SECRET
    }

    fn start(&self, cx: &Arc<Context>, hub: &mut Hub) {
        let namespace = cx.namespace.as_deref().unwrap_or_default();
        let (queue, index) = (cx.queue.clone(), cx.index.clone());
        hub.external_secrets.push(Box::new(move |(namespace, name), delta| {
            index.move_external_secret(delta.old.as_deref(), delta.new.as_deref());
            hear_external_secret(&queue, key_of(namespace, name), delta);
        }));
        let (queue, index, memory) = (cx.queue.clone(), cx.index.clone(), cx.memory.clone());
        hub.secrets.push(Box::new(move |id, delta| {
            index.move_secret(delta.old.as_deref().map(|e| &e.0), delta.new.as_deref().map(|e| &e.0));
            if delta.own_write {
                return;
            }
            let users = index.with_target(&id.0, &id.1);
            if let (Some(old), None, false) = (&delta.old, &delta.new, users.is_empty()) {
                memory.set_vanished(id, &old.0.uid);
            }
            for user in users {
                queue.add(key_of(&id.0, &user), Priority::Changed);
            }
        }));
        let scope = Scope::all(EXTERNAL_SECRETS.collection(namespace));
        hub.watches
            .push(Watch::of(EXTERNAL_SECRETS, scope, &cx.external_secrets));
        let mut scope = Scope::all(SECRETS.collection(namespace));
        MANAGED_SELECTOR.clone_into(&mut scope.labels);
        scope.page = 200;
        hub.watches.push(Watch::of(SECRETS, scope, &cx.secrets));
        let mut scope = Scope::all(NAMESPACES.collection(""));
        scope.metadata_only = true;
        hub.watches.push(Watch::of(NAMESPACES, scope, &cx.namespaces));
    }

    fn lane(&self, cx: &Context, key: &Key) -> Option<Arc<str>> {
        let object = cx.external_secrets.get(&key.namespace, &key.name)?;
        let store = &object.spec.ok()?.secret_store_ref;
        if store.name.is_empty() {
            return None;
        }
        Some(class::store_key(store, &key.namespace).to_string().into())
    }

    async fn reconcile(&self, cx: &Arc<Context>, key: &Key) -> Next {
        pass::reconcile(cx, key).await
    }
}
