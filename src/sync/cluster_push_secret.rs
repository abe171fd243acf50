//! ClusterPushSecret: one PushSecret in every namespace that is chosen.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt as _, stream};

use super::children::{
    AT_ONCE, Child, ChildError, Parent, choose, concerns, controller, namespace_moved, same_metadata,
};
use super::context::Context;
use super::event::{Change, SyncEvent};
use super::kind::{Hub, Kind, Watch};
use super::push_secret::{PUSH_SECRET, key_of};
use super::queue::{Key, Next, Priority};
use super::recorder::{Involved, Record, Severity};
use crate::api::cluster_external_secret::NamespaceFailure;
use crate::api::push_secret::{ClusterPushSecret, ClusterPushSecretSpec, ClusterPushSecretStatus, PushSecret};
use crate::api::{Condition, READY};
use crate::cluster::cache::Cache;
use crate::cluster::error::ClusterError;
use crate::cluster::rest::{CLUSTER_PUSH_SECRETS, PUSH_SECRETS};
use crate::cluster::watch::Scope;
use crate::target::patch;

/// `kind`.
pub const CLUSTER_PUSH_SECRET: &str = "ClusterPushSecret";
const API_VERSION: &str = "external-secrets.io/v1alpha1";
const HOUR: Duration = Duration::from_secs(3600);

/// Drives ClusterPushSecrets.
#[derive(Default)]
pub struct ClusterPushSecretKind {
    objects: Arc<Cache<ClusterPushSecret>>,
}

impl ClusterPushSecretKind {
    /// The kind.
    pub fn boxed() -> Box<dyn Kind> {
        Box::new(Self::default())
    }
}

#[async_trait]
impl Kind for ClusterPushSecretKind {
    fn name(&self) -> &'static str {
        CLUSTER_PUSH_SECRET
    }

    fn start(&self, cx: &Arc<Context>, hub: &mut Hub) {
        if !cx.settings.is_default_class() || cx.namespace.is_some() {
            return;
        }
        let queue = cx.queue.clone();
        self.objects.listen(vec![Box::new(move |(_, name), delta| {
            if !delta.own_write {
                queue.add(Key::new(CLUSTER_PUSH_SECRET, "", name), Priority::Changed);
            }
        })]);
        let queue = cx.queue.clone();
        hub.push_secrets.push(Box::new(move |_, delta| {
            let moved = match (&delta.old, &delta.new) {
                (Some(old), Some(new)) => {
                    old.metadata.generation != new.metadata.generation
                        || old.metadata.labels != new.metadata.labels
                        || old.metadata.annotations != new.metadata.annotations
                        || old.metadata.owner_references != new.metadata.owner_references
                }
                (Some(_), None) => true,
                _ => false,
            };
            if delta.own_write || !moved {
                return;
            }
            for object in [&delta.old, &delta.new].into_iter().flatten() {
                if let Some(name) = controller(&object.metadata, CLUSTER_PUSH_SECRET) {
                    queue.add(Key::new(CLUSTER_PUSH_SECRET, "", &name), Priority::Changed);
                }
            }
        }));
        let (queue, objects) = (cx.queue.clone(), self.objects.clone());
        hub.namespaces.push(Box::new(move |_, delta| {
            if delta.own_write || !namespace_moved(delta) {
                return;
            }
            for object in objects.all() {
                if object
                    .spec
                    .ok()
                    .is_some_and(|s| concerns(&s.namespace_selectors, delta))
                {
                    queue.add(Key::new(CLUSTER_PUSH_SECRET, "", object.name()), Priority::Changed);
                }
            }
        }));
        let scope = Scope::all(CLUSTER_PUSH_SECRETS.collection(""));
        hub.watches.push(Watch::of(CLUSTER_PUSH_SECRETS, scope, &self.objects));
    }

    async fn reconcile(&self, cx: &Arc<Context>, key: &Key) -> Next {
        let Some(object) = self.objects.get("", &key.name) else {
            return Next::Wait;
        };
        if object.metadata.deletion_timestamp.is_some() {
            return Next::Wait;
        }
        let spec = match object.spec.as_result() {
            Ok(spec) => spec,
            Err(error) => {
                let message = error.to_owned();
                cx.tell(SyncEvent::Failed {
                    key: key.clone(),
                    message,
                    retry: None,
                    took: Duration::ZERO,
                });
                return Next::Wait;
            }
        };
        let mut status = object.status.clone().unwrap_or_default();
        let pass = Pass {
            cx,
            object: &object,
            spec,
        };
        let result = pass.run(&mut status).await;
        if let Err(error) = self.write_status(cx, &object, &status).await {
            tracing::warn!(%key, %error, "status not written");
        }
        let took = Duration::ZERO;
        match result {
            Ok(()) => {
                cx.tell(SyncEvent::Synced {
                    key: key.clone(),
                    change: Change::Unchanged,
                    took,
                });
                match spec.refresh_time {
                    None => Next::After(HOUR),
                    Some(every) if every.is_positive() => Next::After(every.to_std()),
                    Some(_) => Next::Wait,
                }
            }
            Err(message) => {
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

impl ClusterPushSecretKind {
    async fn write_status(
        &self,
        cx: &Context,
        object: &ClusterPushSecret,
        status: &ClusterPushSecretStatus,
    ) -> Result<(), ClusterError> {
        let old = serde_json::to_value(object.status.clone().unwrap_or_default()).unwrap_or_default();
        let new = serde_json::to_value(status).unwrap_or_default();
        let Some(change) = patch::merge_patch(&old, &new) else {
            return Ok(());
        };
        let uid = object.metadata.uid.as_deref().unwrap_or_default();
        let answer = cx
            .writer
            .patch_status(&CLUSTER_PUSH_SECRETS, "", object.name(), uid, &change)
            .await?;
        if let Some(mut fresh) = answer.and_then(|b| serde_json::from_slice::<ClusterPushSecret>(&b).ok()) {
            fresh.metadata.managed_fields = None;
            self.objects.put(fresh);
        }
        Ok(())
    }
}

struct Pass<'a> {
    cx: &'a Context,
    object: &'a ClusterPushSecret,
    spec: &'a ClusterPushSecretSpec,
}

impl Pass<'_> {
    fn parent(&self) -> Parent<'_> {
        let uid = self.object.metadata.uid.as_deref().unwrap_or_default();
        Parent {
            kind: CLUSTER_PUSH_SECRET,
            api_version: API_VERSION,
            name: self.object.name(),
            uid,
        }
    }

    fn child_name(&self) -> &str {
        if self.spec.push_secret_name.is_empty() {
            self.object.name()
        } else {
            &self.spec.push_secret_name
        }
    }

    async fn run(&self, status: &mut ClusterPushSecretStatus) -> Result<(), String> {
        let name = self.child_name().to_owned();
        if !status.push_secret_name.is_empty() && status.push_secret_name != name {
            let failed = self
                .delete_in(&status.provisioned_namespaces, &status.push_secret_name)
                .await;
            if !failed.is_empty() {
                status.failed_namespaces = failed;
                return Err(self.errored(status, "failed to delete push secret", "failed to delete push secret"));
            }
        }
        status.push_secret_name.clone_from(&name);
        let chosen = match choose(self.cx, &self.spec.namespace_selectors) {
            Ok(chosen) => chosen,
            Err(error) => return Err(self.errored(status, "failed to get target Namespaces", &error)),
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
        let work = chosen.into_iter().map(|namespace| {
            let name = &name;
            async move {
                let result = self.ensure(&namespace, name).await;
                (namespace, result)
            }
        });
        let done: Vec<(String, Result<(), String>)> = stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
        for (namespace, result) in done {
            match result {
                Ok(()) => provisioned.push(namespace),
                Err(reason) => failed.push(NamespaceFailure { namespace, reason }),
            }
        }
        let good = failed.is_empty();
        failed.sort_by(|a, b| a.namespace.cmp(&b.namespace));
        provisioned.sort();
        status.failed_namespaces = failed;
        status.provisioned_namespaces = provisioned;
        status.conditions = vec![verdict(good)];
        Ok(())
    }

    fn errored(&self, status: &mut ClusterPushSecretStatus, message: &str, cause: &str) -> String {
        let mut condition = verdict(false);
        "Errored".clone_into(&mut condition.reason);
        message.clone_into(&mut condition.message);
        status.conditions = vec![condition];
        let meta = &self.object.metadata;
        let involved = Involved {
            api_version: API_VERSION,
            kind: CLUSTER_PUSH_SECRET,
            namespace: String::new(),
            name: self.object.name().to_owned(),
            uid: meta.uid.clone().unwrap_or_default(),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
        };
        self.cx.recorder.record(Record {
            involved,
            severity: Severity::Warning,
            reason: "Errored",
            message: message.to_owned(),
            component: "external-secrets-controller",
        });
        format!("{message}: {cause}")
    }

    async fn delete_in(&self, namespaces: &[String], name: &str) -> Vec<NamespaceFailure> {
        let work = namespaces.iter().cloned().map(|namespace| async move {
            let gone = self.delete_child(&namespace, name).await;
            gone.err().map(|e| NamespaceFailure {
                namespace,
                reason: e.to_string(),
            })
        });
        let failed: Vec<Option<NamespaceFailure>> = stream::iter(work).buffer_unordered(AT_ONCE).collect().await;
        failed.into_iter().flatten().collect()
    }

    async fn delete_child(&self, namespace: &str, name: &str) -> Result<(), ClusterError> {
        let child = match self.cx.push_secrets.get(namespace, name) {
            Some(known) => Some(known),
            None => self
                .cx
                .rest
                .get_opt(&PUSH_SECRETS.object(namespace, name))
                .await?
                .map(Arc::new),
        };
        let Some(child) = child.filter(|c: &Arc<PushSecret>| self.parent().controls(&c.metadata)) else {
            return Ok(());
        };
        if child.metadata.deletion_timestamp.is_none() {
            let uid = child.metadata.uid.as_deref().unwrap_or_default();
            self.cx.writer.delete(&PUSH_SECRETS, namespace, name, uid).await?;
        }
        Ok(())
    }

    async fn ensure(&self, namespace: &str, name: &str) -> Result<(), String> {
        let cx = self.cx;
        let child = Child {
            resource: &PUSH_SECRETS,
            kind: PUSH_SECRET,
            api_version: API_VERSION,
            namespace,
            name,
            metadata: &self.spec.push_secret_metadata,
            spec: self.spec.push_secret_spec.raw.expose(),
            parent: self.parent(),
        };
        let known = cx.push_secrets.get(namespace, name);
        let written = match &known {
            None => child.create(cx).await,
            Some(known) if !self.parent().controls(&known.metadata) => Err(ChildError::Foreign),
            Some(known) if self.is_same(known) => return Ok(()),
            Some(_) => child.update(cx).await,
        };
        match written {
            Ok(answer) => {
                if let Some(mut fresh) = answer.and_then(|b| serde_json::from_slice::<PushSecret>(&b).ok()) {
                    fresh.metadata.managed_fields = None;
                    cx.push_secrets.put(fresh);
                    // Our own write is no event of that kind, so its pass is asked for.
                    cx.queue.add(key_of(namespace, name), Priority::NeverSynced);
                }
                Ok(())
            }
            Err(ChildError::Foreign) => Err("push secret already exists in namespace".to_owned()),
            Err(ChildError::Conflict(e) | ChildError::Other(e)) => {
                Err(format!("could not create or update push secret: {e}"))
            }
        }
    }

    fn is_same(&self, known: &PushSecret) -> bool {
        same_metadata(&known.metadata, &self.spec.push_secret_metadata)
            && self.parent().is_referenced(&known.metadata)
            && known.spec.ok() == Some(&self.spec.push_secret_spec.parsed)
    }
}

/// The condition of a pass: neither reason nor time on success (as in ESO).
fn verdict(good: bool) -> Condition {
    Condition {
        type_: READY.to_owned(),
        status: if good { "True" } else { "False" }.to_owned(),
        reason: String::new(),
        message: if good {
            String::new()
        } else {
            "one or more namespaces failed".to_owned()
        },
        last_transition_time: None,
    }
}
