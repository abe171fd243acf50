//! ClusterExternalSecret: one ExternalSecret in every namespace that is chosen, and a finalizer on each of those.

mod namespace;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::{Value, json};

use self::namespace::{carrying, delete_child, mark};
use super::children::{
    AT_ONCE, Child, ChildError, Parent, choose, concerns, controller, namespace_moved, same_metadata,
};
use super::context::Context;
use super::event::{Change, SyncEvent};
use super::external_secret::{EXTERNAL_SECRET, key_of};
use super::kind::{Hub, Kind, Watch};
use super::queue::{Key, Next, Priority};
use crate::api::cluster_external_secret::{
    ClusterExternalSecret, ClusterExternalSecretSpec, ClusterExternalSecretStatus, NamespaceFailure,
};
use crate::api::external_secret::ExternalSecret;
use crate::api::{Condition, MetadataTemplate, READY};
use crate::cluster::cache::Cache;
use crate::cluster::error::ClusterError;
use crate::cluster::rest::{CLUSTER_EXTERNAL_SECRETS, EXTERNAL_SECRETS};
use crate::cluster::watch::Scope;
use crate::target::patch;

/// `kind`.
pub const CLUSTER_EXTERNAL_SECRET: &str = "ClusterExternalSecret";
/// Keeps a ClusterExternalSecret until its children were deleted.
pub const FINALIZER: &str = "externalsecrets.external-secrets.io/clusterexternalsecret-cleanup";
const API_VERSION: &str = "external-secrets.io/v1";
const FORCE_SYNC: &str = "external-secrets.io/force-sync";
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const FAILED: &str = "one or more namespaces failed";
const HOUR: Duration = Duration::from_secs(3600);

/// Drives ClusterExternalSecrets.
#[derive(Default)]
pub struct ClusterExternalSecretKind {
    objects: Arc<Cache<ClusterExternalSecret>>,
    /// Children that were written and whose own pass was not asked for yet.
    written: Mutex<BTreeSet<Key>>,
}

impl ClusterExternalSecretKind {
    /// The kind.
    pub fn boxed() -> Box<dyn Kind> {
        Box::new(Self::default())
    }
}

/// The finalizer a ClusterExternalSecret puts on its namespaces.
pub fn namespace_finalizer(name: &str) -> String {
    format!("externalsecrets.external-secrets.io/ces-{name}")
}

/// Every way to choose a namespace, as selectors, in the order they count.
fn selectors(spec: &ClusterExternalSecretSpec) -> Vec<LabelSelector> {
    let named = spec.namespaces.iter().map(|name| LabelSelector {
        match_labels: Some(BTreeMap::from([(NAME_LABEL.to_owned(), name.clone())])),
        match_expressions: None,
    });
    named
        .chain(spec.namespace_selector.clone())
        .chain(spec.namespace_selectors.iter().cloned())
        .collect()
}

#[async_trait]
impl Kind for ClusterExternalSecretKind {
    fn name(&self) -> &'static str {
        CLUSTER_EXTERNAL_SECRET
    }

    fn start(&self, cx: &Arc<Context>, hub: &mut Hub) {
        if !cx.settings.is_default_class() || cx.namespace.is_some() {
            return;
        }
        let queue = cx.queue.clone();
        self.objects.listen(vec![Box::new(move |(_, name), delta| {
            if !delta.own_write {
                queue.add(Key::new(CLUSTER_EXTERNAL_SECRET, "", name), Priority::Changed);
            }
        })]);
        let queue = cx.queue.clone();
        hub.external_secrets.push(Box::new(move |_, delta| {
            if delta.new.is_some() && (delta.own_write || !child_moved(delta.old.as_deref(), delta.new.as_deref())) {
                return;
            }
            for object in [&delta.old, &delta.new].into_iter().flatten() {
                if let Some(name) = controller(&object.metadata, CLUSTER_EXTERNAL_SECRET) {
                    queue.add(Key::new(CLUSTER_EXTERNAL_SECRET, "", &name), Priority::Changed);
                }
            }
        }));
        let (queue, objects) = (cx.queue.clone(), self.objects.clone());
        hub.namespaces.push(Box::new(move |_, delta| {
            if delta.own_write || !namespace_moved(delta) {
                return;
            }
            for object in objects.all() {
                if object.spec.ok().is_some_and(|s| concerns(&selectors(s), delta)) {
                    queue.add(Key::new(CLUSTER_EXTERNAL_SECRET, "", object.name()), Priority::Changed);
                }
            }
        }));
        let scope = Scope::all(CLUSTER_EXTERNAL_SECRETS.collection(""));
        hub.watches
            .push(Watch::of(CLUSTER_EXTERNAL_SECRETS, scope, &self.objects));
    }

    async fn reconcile(&self, cx: &Arc<Context>, key: &Key) -> Next {
        let Some(object) = self.objects.get("", &key.name) else {
            return Next::Wait;
        };
        let fail = |message: String| {
            cx.tell(SyncEvent::Failed {
                key: key.clone(),
                message,
                retry: None,
                took: Duration::ZERO,
            });
            Next::Backoff
        };
        if object.metadata.deletion_timestamp.is_some() {
            return match self.release(cx, &object).await {
                Ok(()) => Next::Wait,
                Err(message) => fail(message),
            };
        }
        let object = match self.set_finalizer(cx, object, true).await {
            Ok(object) => object,
            Err(error) if error.is_conflict() || error.is_not_found() => return Next::Again,
            Err(error) => return fail(error.to_string()),
        };
        let spec = match object.spec.as_result() {
            Ok(spec) => spec,
            Err(error) => {
                fail(error.to_owned());
                return Next::Wait;
            }
        };
        let mut status = object.status.clone().unwrap_or_default();
        let pass = Pass {
            cx,
            name: object.name(),
            uid: object.metadata.uid.as_deref().unwrap_or_default(),
            force: force_sync(&object),
            spec,
            written: &self.written,
        };
        let result = pass.run(&mut status).await;
        // Our own writes are no events of that kind. Their passes are asked for once no more children are to be made at
        // once, so that the first ones do not hold up the last.
        if !cx.queue.is_wanted_again(key) {
            for child in std::mem::take(&mut *self.written.lock().unwrap_or_else(PoisonError::into_inner)) {
                cx.queue.add(child, Priority::NeverSynced);
            }
        }
        if let Err(error) = self.write_status(cx, &object, &status).await {
            tracing::warn!(%key, %error, "status not written");
        }
        match result {
            Ok(()) => {
                cx.tell(SyncEvent::Synced {
                    key: key.clone(),
                    change: Change::Unchanged,
                    took: Duration::ZERO,
                });
                match spec.refresh_time {
                    None => Next::After(HOUR),
                    Some(every) if every.is_positive() => Next::After(every.to_std()),
                    Some(_) => Next::Wait,
                }
            }
            Err(message) => fail(message),
        }
    }
}

fn child_moved(old: Option<&ExternalSecret>, new: Option<&ExternalSecret>) -> bool {
    let (Some(old), Some(new)) = (old, new) else {
        return old.is_some();
    };
    let (old, new) = (&old.metadata, &new.metadata);
    old.generation != new.generation
        || old.labels != new.labels
        || old.annotations != new.annotations
        || old.owner_references != new.owner_references
}

fn force_sync(object: &ClusterExternalSecret) -> Option<String> {
    object.metadata.annotations.as_ref()?.get(FORCE_SYNC).cloned()
}

impl ClusterExternalSecretKind {
    async fn set_finalizer(
        &self,
        cx: &Context,
        object: Arc<ClusterExternalSecret>,
        wanted: bool,
    ) -> Result<Arc<ClusterExternalSecret>, ClusterError> {
        let meta = &object.metadata;
        let mut finalizers = meta.finalizers.clone().unwrap_or_default();
        if finalizers.iter().any(|f| f == FINALIZER) == wanted {
            return Ok(object);
        }
        finalizers.retain(|f| f != FINALIZER);
        if wanted {
            finalizers.push(FINALIZER.to_owned());
        }
        let gone = finalizers.is_empty() && meta.deletion_timestamp.is_some();
        let change = json!({ "metadata": { "finalizers": finalizers, "resourceVersion": meta.resource_version } });
        let answer = cx
            .writer
            .merge_patch(&CLUSTER_EXTERNAL_SECRETS, "", object.name(), &change, "")
            .await?;
        let fresh = answer.and_then(|b| serde_json::from_slice::<ClusterExternalSecret>(&b).ok());
        match fresh {
            Some(mut fresh) if !gone => {
                fresh.metadata.managed_fields = None;
                Ok(self.objects.put(fresh))
            }
            _ => Ok(object),
        }
    }

    /// Deletes the children and lets the namespaces go, then the object itself.
    async fn release(&self, cx: &Context, object: &Arc<ClusterExternalSecret>) -> Result<(), String> {
        if !object.metadata.finalizers.iter().flatten().any(|f| f == FINALIZER) {
            return Ok(());
        }
        let status = object.status.clone().unwrap_or_default();
        let uid = object.metadata.uid.as_deref().unwrap_or_default();
        let parent = Parent {
            kind: CLUSTER_EXTERNAL_SECRET,
            api_version: API_VERSION,
            name: object.name(),
            uid,
        };
        let recorded = if status.external_secret_name.is_empty() {
            object.name()
        } else {
            &status.external_secret_name
        };
        let finalizer = namespace_finalizer(object.name());
        let held = carrying(cx, &finalizer)
            .into_iter()
            .chain(status.provisioned_namespaces.iter().cloned());
        let namespaces: BTreeSet<String> = held.collect();
        let work = namespaces.into_iter().map(|namespace| {
            let finalizer = &finalizer;
            async move {
                let error = |e: ClusterError| format!("{namespace}: {e}");
                mark(cx, &namespace, finalizer, false).await.map_err(error)?;
                delete_child(cx, parent, &namespace, recorded).await.map_err(error)
            }
        });
        let done: Vec<Result<(), String>> = stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
        let failed: Vec<String> = done.into_iter().filter_map(Result::err).collect();
        if !failed.is_empty() {
            return Err(failed.join("; "));
        }
        match self.set_finalizer(cx, object.clone(), false).await {
            Err(error) if !error.is_not_found() => Err(error.to_string()),
            _ => Ok(()),
        }
    }

    async fn write_status(
        &self,
        cx: &Context,
        object: &ClusterExternalSecret,
        status: &ClusterExternalSecretStatus,
    ) -> Result<(), ClusterError> {
        let old = serde_json::to_value(object.status.clone().unwrap_or_default()).unwrap_or_default();
        let new = serde_json::to_value(status).unwrap_or_default();
        let Some(change) = patch::merge_patch(&old, &new) else {
            return Ok(());
        };
        let uid = object.metadata.uid.as_deref().unwrap_or_default();
        let answer = cx
            .writer
            .patch_status(&CLUSTER_EXTERNAL_SECRETS, "", object.name(), uid, &change)
            .await?;
        if let Some(mut fresh) = answer.and_then(|b| serde_json::from_slice::<ClusterExternalSecret>(&b).ok()) {
            fresh.metadata.managed_fields = None;
            self.objects.put(fresh);
        }
        Ok(())
    }
}

struct Pass<'a> {
    cx: &'a Context,
    name: &'a str,
    uid: &'a str,
    force: Option<String>,
    spec: &'a ClusterExternalSecretSpec,
    written: &'a Mutex<BTreeSet<Key>>,
}

enum Outcome {
    /// Made or changed: its own pass is to follow.
    Written,
    /// As it should be.
    Provisioned,
    /// Terminating.
    Skipped,
    Conflict(String),
    Failed(String),
}

impl Pass<'_> {
    fn parent(&self) -> Parent<'_> {
        Parent {
            kind: CLUSTER_EXTERNAL_SECRET,
            api_version: API_VERSION,
            name: self.name,
            uid: self.uid,
        }
    }

    fn child_name(&self) -> &str {
        if self.spec.external_secret_name.is_empty() {
            self.name
        } else {
            &self.spec.external_secret_name
        }
    }

    async fn run(&self, status: &mut ClusterExternalSecretStatus) -> Result<(), String> {
        let name = self.child_name().to_owned();
        if !status.external_secret_name.is_empty() && status.external_secret_name != name {
            let old = status.external_secret_name.clone();
            let failed = self.delete_in(&status.provisioned_namespaces, &old).await;
            if !failed.is_empty() {
                status.failed_namespaces = failed;
                status.conditions = vec![verdict(false)];
                return Err("could not delete the children of the old name".to_owned());
            }
        }
        status.external_secret_name.clone_from(&name);
        let chosen = match choose(self.cx, &selectors(self.spec)) {
            Ok(chosen) => chosen,
            Err(reason) => {
                status.failed_namespaces = vec![NamespaceFailure {
                    namespace: "unknown".to_owned(),
                    reason: reason.clone(),
                }];
                status.conditions = vec![verdict(false)];
                return Err(reason);
            }
        };
        let left: Vec<String> = status
            .provisioned_namespaces
            .iter()
            .filter(|n| !chosen.contains(n))
            .cloned()
            .collect();
        let mut failed = self.delete_in(&left, &name).await;
        // ESO forgets a namespace whose child it could not delete; kept, it is tried again.
        let mut provisioned: Vec<String> = failed.iter().map(|f| f.namespace.clone()).collect();
        for failure in &mut failed {
            failure.reason = format!(
                "external secret in non matching namespace could not be deleted: {}",
                failure.reason
            );
        }
        self.let_go(&chosen, &name).await;
        let (wanted, metadata) = (self.spec.external_secret_spec.raw.expose(), self.metadata());
        let work = chosen.into_iter().map(|namespace| {
            let (name, metadata) = (&name, &metadata);
            async move {
                let outcome = self.ensure(&namespace, name, metadata, wanted).await;
                (namespace, outcome)
            }
        });
        let done: Vec<(String, Outcome)> = stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
        let mut conflict = None;
        for (namespace, outcome) in done {
            match outcome {
                Outcome::Written => {
                    self.written
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(key_of(&namespace, &name));
                    provisioned.push(namespace);
                }
                Outcome::Provisioned => provisioned.push(namespace),
                Outcome::Skipped => {}
                Outcome::Conflict(e) => {
                    let reason = format!("could not create or update ExternalSecret: {e}");
                    failed.push(NamespaceFailure { namespace, reason });
                    conflict = Some(e);
                }
                Outcome::Failed(reason) => failed.push(NamespaceFailure { namespace, reason }),
            }
        }
        status.conditions = vec![verdict(failed.is_empty())];
        failed.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        provisioned.sort();
        status.failed_namespaces = failed;
        status.provisioned_namespaces = provisioned;
        conflict.map_or(Ok(()), |e| Err(format!("conflict detected, will retry: {e}")))
    }

    /// Labels and annotations of every child.
    fn metadata(&self) -> MetadataTemplate {
        let mut metadata = self.spec.external_secret_metadata.clone();
        metadata.annotations.remove(FORCE_SYNC);
        if let Some(force) = &self.force {
            metadata.annotations.insert(FORCE_SYNC.to_owned(), force.clone());
        }
        metadata
    }

    async fn delete_in(&self, namespaces: &[String], name: &str) -> Vec<NamespaceFailure> {
        let work = namespaces.iter().cloned().map(|namespace| async move {
            let gone = delete_child(self.cx, self.parent(), &namespace, name).await;
            gone.err().map(|e| NamespaceFailure {
                namespace,
                reason: e.to_string(),
            })
        });
        let failed: Vec<Option<NamespaceFailure>> = stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
        failed.into_iter().flatten().collect()
    }

    /// Takes the finalizer off namespaces that are no longer chosen, once the child there is gone. (ESO leaves it for
    /// ever, and the namespace can then never be deleted.)
    async fn let_go(&self, chosen: &[String], name: &str) {
        let finalizer = namespace_finalizer(self.name);
        let mut free = carrying(self.cx, &finalizer);
        free.retain(|namespace| {
            let child = self.cx.external_secrets.get(namespace, name);
            !chosen.contains(namespace) && child.is_none_or(|c| !self.parent().controls(&c.metadata))
        });
        let work = free.into_iter().map(|namespace| {
            let finalizer = &finalizer;
            async move {
                if let Err(error) = mark(self.cx, &namespace, finalizer, false).await {
                    tracing::warn!(%namespace, %error, "namespace finalizer not removed");
                    self.cx.queue.add_after(
                        Key::new(CLUSTER_EXTERNAL_SECRET, "", self.name),
                        Priority::Failed,
                        Duration::from_secs(5),
                    );
                }
            }
        });
        stream::iter(work).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    }

    async fn ensure(&self, namespace: &str, name: &str, metadata: &MetadataTemplate, wanted: &Value) -> Outcome {
        let cx = self.cx;
        let finalizer = namespace_finalizer(self.name);
        let terminating = cx
            .namespaces
            .get("", namespace)
            .is_some_and(|n| n.metadata.deletion_timestamp.is_some());
        if terminating {
            return match mark(cx, namespace, &finalizer, false).await {
                Ok(()) => Outcome::Skipped,
                Err(error) => Outcome::Failed(format!("could not remove namespace finalizer: {error}")),
            };
        }
        let known = cx.external_secrets.get(namespace, name);
        if known.as_ref().is_some_and(|k| !self.parent().controls(&k.metadata)) {
            return Outcome::Failed("external secret already exists in namespace".to_owned());
        }
        if let Err(error) = mark(cx, namespace, &finalizer, true).await {
            return Outcome::Failed(format!("could not add namespace finalizer: {error}"));
        }
        let child = Child {
            resource: &EXTERNAL_SECRETS,
            kind: EXTERNAL_SECRET,
            api_version: API_VERSION,
            namespace,
            name,
            metadata,
            spec: wanted,
            parent: self.parent(),
        };
        let written = match &known {
            None => child.create(cx).await,
            Some(known) if self.is_same(known, metadata) => return Outcome::Provisioned,
            Some(_) => child.update(cx).await,
        };
        match written {
            Ok(answer) => {
                if let Some(mut fresh) = answer.and_then(|b| serde_json::from_slice::<ExternalSecret>(&b).ok()) {
                    fresh.metadata.managed_fields = None;
                    cx.external_secrets.put(fresh);
                    return Outcome::Written;
                }
                Outcome::Provisioned
            }
            Err(ChildError::Foreign) => Outcome::Failed("external secret already exists in namespace".to_owned()),
            Err(ChildError::Conflict(e)) => Outcome::Conflict(e),
            Err(ChildError::Other(e)) => Outcome::Failed(format!("could not create or update ExternalSecret: {e}")),
        }
    }

    fn is_same(&self, known: &ExternalSecret, metadata: &MetadataTemplate) -> bool {
        same_metadata(&known.metadata, metadata)
            && self.parent().is_referenced(&known.metadata)
            && known.spec.ok() == Some(&self.spec.external_secret_spec.parsed)
    }
}

/// The condition of a pass: neither reason nor time (as in ESO).
fn verdict(good: bool) -> Condition {
    Condition {
        type_: READY.to_owned(),
        status: if good { "True" } else { "False" }.to_owned(),
        reason: String::new(),
        message: if good { String::new() } else { FAILED.to_owned() },
        last_transition_time: None,
    }
}
