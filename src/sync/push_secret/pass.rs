//! One pass over one PushSecret.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::json;

use super::outcome::{End, Failure, SOURCE_DELETED, finish, tell_failed};
use super::source::{self, SourceError};
use super::stores::{self, PushStore, StoresError};
use super::{FINALIZER, State, clean, push};
use crate::api::push_secret::{PushDeletionPolicy, PushSecret, PushSecretSpec, PushSecretStatus, SyncedPushSecrets};
use crate::api::ready_condition;
use crate::cluster::error::ClusterError;
use crate::cluster::rest::PUSH_SECRETS;
use crate::sync::context::Context;
use crate::sync::event::{Change, SyncEvent};
use crate::sync::external_secret::{Retry, render_push};
use crate::sync::generate::Owner;
use crate::sync::queue::{Key, Next};
use crate::sync::recorder::{Involved, Record, Severity};
use crate::target::push::{entries, is_due, look_again, merge};
use crate::target::refresh;

const NO_SOURCE: &str = "could not get source secret";
/// In a namespace that is going, so many failures are enough: the credentials go first and never come back.
const LAST_ATTEMPTS: u32 = 3;

/// What every step of a pass needs.
pub struct Pass<'a> {
    /// The cluster.
    pub cx: &'a Context,
    /// The key.
    pub key: &'a Key,
    /// The object as this pass works on it.
    pub object: Arc<PushSecret>,
    /// Remembered between passes.
    pub state: &'a State,
    /// When the pass began; becomes the refresh time.
    pub start: Timestamp,
    /// The same, to measure with.
    pub begun: Instant,
}

impl Pass<'_> {
    /// The object as generators see it.
    pub fn owner(&self) -> Owner<'_> {
        let uid = self.object.metadata.uid.as_deref().unwrap_or_default();
        Owner {
            cx: self.cx,
            key: self.key,
            api_version: "external-secrets.io/v1alpha1",
            uid,
            always: true,
        }
    }

    /// Records a Kubernetes event about the object.
    pub fn event(&self, severity: Severity, reason: &'static str, message: impl Into<String>) {
        let meta = &self.object.metadata;
        let involved = Involved {
            api_version: "external-secrets.io/v1alpha1",
            kind: super::PUSH_SECRET,
            namespace: self.object.namespace().to_owned(),
            name: self.object.name().to_owned(),
            uid: meta.uid.clone().unwrap_or_default(),
            resource_version: meta.resource_version.clone().unwrap_or_default(),
        };
        let record = Record {
            involved,
            severity,
            reason,
            message: message.into(),
            component: "pushsecret",
        };
        self.cx.recorder.record(record);
    }

    /// The status as last read.
    pub fn status(&self) -> PushSecretStatus {
        self.object.status.clone().unwrap_or_default()
    }

    fn has_finalizer(&self) -> bool {
        self.object.metadata.finalizers.iter().flatten().any(|f| f == FINALIZER)
    }

    fn deleting(&self) -> bool {
        self.object.metadata.deletion_timestamp.is_some()
    }

    /// Writes the list of finalizers with ours in it, or without.
    async fn set_finalizer(&mut self, wanted: bool) -> Result<(), ClusterError> {
        let meta = &self.object.metadata;
        let mut finalizers = meta.finalizers.clone().unwrap_or_default();
        finalizers.retain(|f| f != FINALIZER);
        if wanted {
            finalizers.push(FINALIZER.to_owned());
        }
        // The version guards against taking off a finalizer that somebody else adds at the same moment.
        let change = json!({ "metadata": { "finalizers": finalizers, "resourceVersion": meta.resource_version } });
        let (namespace, name) = (self.object.namespace(), self.object.name());
        let answer = self
            .cx
            .writer
            .merge_patch(&PUSH_SECRETS, namespace, name, &change, "")
            .await?;
        if let Some(mut fresh) = answer.and_then(|bytes| serde_json::from_slice::<PushSecret>(&bytes).ok()) {
            fresh.metadata.managed_fields = None;
            if fresh.metadata.deletion_timestamp.is_none() || fresh.metadata.finalizers.is_some() {
                self.object = self.cx.push_secrets.put(fresh);
            }
        }
        Ok(())
    }
}

/// The pass.
pub async fn reconcile(cx: &Context, state: &State, key: &Key) -> Next {
    let Some(object) = cx.push_secrets.get(&key.namespace, &key.name) else {
        return Next::Wait;
    };
    let mut pass = Pass {
        cx,
        key,
        object,
        state,
        start: Timestamp::now(),
        begun: Instant::now(),
    };
    let Some(spec) = pass.object.spec.ok().cloned() else {
        return refuse_unreadable(&pass).await;
    };
    let recorded = pass.status().synced_push_secrets.into_keys();
    if !cx.settings.is_default_class() && !stores::any_ours(cx, key, &spec, recorded) {
        cx.tell(SyncEvent::NotOurs { key: key.clone() });
        return Next::Wait;
    }
    if let Some(pause) = cx.pause.is_paused(cx, &key.namespace) {
        cx.tell(SyncEvent::Note {
            message: format!("{key}: {pause}"),
        });
        return Next::After(Duration::from_secs(30));
    }
    match settle_finalizer(&mut pass, &spec).await {
        Ok(None) => {}
        Ok(Some(next)) => return next,
        Err(error) if error.is_not_found() || error.is_conflict() => return Next::Again,
        Err(error) => return api_error(&pass, error.to_string()),
    }
    let written = pass.status().refresh_time.map(|t| t.0);
    let refreshed = cx.memory.refreshed(key).max(written);
    let version = version_of(&pass.object);
    let forced = cx.memory.take_forced(key) || cx.settings.shadow;
    if !forced && !is_due(&pass.status(), refreshed, spec.interval(), &version, pass.start) {
        cx.tell(SyncEvent::Synced {
            key: key.clone(),
            change: Change::NotDue,
            took: pass.begun.elapsed(),
        });
        let at = refreshed.unwrap_or(pass.start);
        return look_again(at, spec.interval(), Timestamp::now()).map_or(Next::Wait, Next::After);
    }
    let end = sync(&pass, &spec).await;
    finish(&pass, &spec, &version, end).await
}

fn version_of(object: &PushSecret) -> String {
    let meta = &object.metadata;
    refresh::version(
        meta.generation.unwrap_or_default(),
        meta.labels.as_ref(),
        meta.annotations.as_ref(),
    )
}

/// A spec that cannot be read fails this object and no other.
async fn refuse_unreadable(pass: &Pass<'_>) -> Next {
    let cause = pass.object.spec.as_result().err().unwrap_or_default().to_owned();
    let failure = Failure {
        cause: Some(cause),
        retry: Retry::Never,
        ..Failure::new("could not read the spec")
    };
    finish(pass, &PushSecretSpec::default(), "", End::Failed(failure)).await
}

fn api_error(pass: &Pass<'_>, message: String) -> Next {
    tell_failed(pass, message, true);
    Next::Backoff
}

/// The finalizer as the policy wants it; for an object that is being deleted also the end of the pass.
async fn settle_finalizer(pass: &mut Pass<'_>, spec: &PushSecretSpec) -> Result<Option<Next>, ClusterError> {
    let delete = spec.deletion_policy == PushDeletionPolicy::Delete;
    if pass.deleting() {
        if delete && pass.has_finalizer() {
            return release(pass).await.map(Some);
        }
        if pass.has_finalizer() {
            pass.set_finalizer(false).await?;
        }
        pass.cx.memory.forget(pass.key);
        return Ok(Some(Next::Wait));
    }
    if delete != pass.has_finalizer() {
        pass.set_finalizer(delete).await?;
    }
    Ok(None)
}

/// Takes everything back that is recorded, then lets the object go.
async fn release(pass: &mut Pass<'_>) -> Result<Next, ClusterError> {
    let old = pass.status().synced_push_secrets;
    if let Err(error) = clean::delete_stale(pass, &old, &SyncedPushSecrets::new()).await {
        if !namespace_goes(pass) || pass.cx.queue.failures(pass.key) < LAST_ATTEMPTS {
            let failure = Failure {
                retry: error.retry,
                map: Some(error.left),
                ..Failure::new(format!("Failed to Delete Secrets from Provider: {}", error.message))
            };
            let next = finish(pass, &PushSecretSpec::default(), "", End::Failed(failure)).await;
            let message = format!(
                "{}: set deletionPolicy to None to let it go and keep what was pushed",
                pass.key
            );
            pass.cx.tell(SyncEvent::Note { message });
            return Ok(next);
        }
        let message = format!("what was pushed stays: {}", error.message);
        pass.event(Severity::Warning, "RemoteSecretKept", message.clone());
        pass.cx.tell(SyncEvent::Warning {
            key: pass.key.clone(),
            message,
        });
    }
    pass.set_finalizer(false).await?;
    pass.cx.memory.forget(pass.key);
    pass.cx.tell(SyncEvent::Released { key: pass.key.clone() });
    Ok(Next::Wait)
}

fn namespace_goes(pass: &Pass<'_>) -> bool {
    pass.cx
        .namespaces
        .get("", &pass.key.namespace)
        .is_some_and(|n| n.metadata.deletion_timestamp.is_some())
}

async fn sync(pass: &Pass<'_>, spec: &PushSecretSpec) -> End {
    let old = pass.status().synced_push_secrets;
    if let Err(text) = entries::check_store_refs(spec) {
        return End::Failed(Failure::new(text));
    }
    let sources = match source::resolve(pass, spec).await {
        Ok(sources) => sources,
        Err(SourceError::Missing(cause)) => return source_missing(pass, spec, &old, cause).await,
        Err(SourceError::Failed(cause, retry)) => {
            return End::Failed(Failure {
                cause: Some(cause),
                retry,
                ..Failure::new(NO_SOURCE)
            });
        }
    };
    let stores = match stores::resolve(pass, spec).await {
        Ok(stores) => stores,
        Err(StoresError::Failed(text)) => return End::Failed(Failure::new(text)),
        Err(StoresError::Behind) => return End::Again,
    };
    if stores.is_empty() {
        return End::Silent;
    }
    let views: Vec<_> = stores.iter().map(PushStore::as_entry).collect();
    if let Err(text) = entries::check_label_refs(spec, &views, &stores::selects_store) {
        return End::Failed(Failure::new(text));
    }
    push_all(pass, spec, sources, &stores, &old).await
}

/// Every source to every store; then, once for all sources, what is stale goes.
async fn push_all(
    pass: &Pass<'_>,
    spec: &PushSecretSpec,
    sources: Vec<source::Source>,
    stores: &[PushStore],
    old: &SyncedPushSecrets,
) -> End {
    let mut total = SyncedPushSecrets::new();
    let versions = sources
        .iter()
        .map(|s| (s.secret.name.clone(), s.version.clone()))
        .collect();
    for mut source in sources {
        if let Some(template) = &spec.template
            && !source.pending
        {
            source.secret = match render_push(pass.cx, &pass.key.namespace, template, &source.secret).await {
                Ok(rendered) => rendered,
                Err(text) => {
                    let map = Some(merge(&total, old));
                    return End::Failed(Failure {
                        map,
                        ..Failure::new(format!("could not apply template: {text}"))
                    });
                }
            };
        }
        if let Err((text, retry)) = push::push(pass, spec, &source, stores, &mut total).await {
            let map = Some(merge(&total, old));
            return End::Failed(Failure {
                retry,
                map,
                ..Failure::new(format!("set secret failed: {text}"))
            });
        }
    }
    if spec.deletion_policy == PushDeletionPolicy::Delete
        && let Err(error) = clean::delete_stale(pass, old, &total).await
    {
        let message = format!("Failed to Delete Secrets from Provider: {}", error.message);
        return End::Failed(Failure {
            retry: error.retry,
            map: Some(error.left),
            ..Failure::new(message)
        });
    }
    End::Done(total, versions)
}

async fn source_missing(pass: &Pass<'_>, spec: &PushSecretSpec, old: &SyncedPushSecrets, cause: String) -> End {
    if spec.deletion_policy == PushDeletionPolicy::Delete {
        if !old.is_empty() {
            return match clean::delete_stale(pass, old, &SyncedPushSecrets::new()).await {
                Ok(()) => End::SourceDeleted,
                Err(error) => {
                    let message = format!("failed to cleanup provider secrets: {}", error.message);
                    End::Failed(Failure {
                        retry: error.retry,
                        map: Some(error.left),
                        ..Failure::new(message)
                    })
                }
            };
        }
        let status = pass.status();
        if ready_condition(&status.conditions).is_some_and(|c| c.reason == SOURCE_DELETED) {
            return End::StillDeleted;
        }
    }
    End::Failed(Failure {
        cause: Some(cause),
        ..Failure::new(NO_SOURCE)
    })
}
