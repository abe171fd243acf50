//! One pass over one ExternalSecret.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::outcome::{Outcome, Retry};
use super::{class, fetch, finalize, manifest, target};
use crate::api::external_secret::{ExternalSecret, ExternalSecretSpec, ExternalSecretStatus};
use crate::cluster::error::ClusterError;
use crate::cluster::rest::EXTERNAL_SECRETS;
use crate::sync::context::Context;
use crate::sync::credential_watch;
use crate::sync::event::{Change, SyncEvent};
use crate::sync::generate::Owner;
use crate::sync::queue::{Key, Next};
use crate::sync::recorder::{Involved, Record, Severity};
use crate::sync::settings::Mode;
use crate::sync::{retry, store};
use crate::target::condition;
use crate::target::names::FINALIZER;
use crate::target::refresh::{self, Due, LastSuccess};

/// An unchanged object's refresh time is written at most this often.
const QUIET: Duration = Duration::from_secs(300);

/// What every step of a pass needs.
pub struct Pass<'a> {
    /// The cluster.
    pub cx: &'a Context,
    /// The key.
    pub key: &'a Key,
    /// The object as this pass works on it.
    pub object: Arc<ExternalSecret>,
    /// When the pass began; becomes the refresh time.
    pub start: Timestamp,
    /// The version string of the object.
    pub version: String,
    /// The last success, with what was not written.
    pub refreshed: Option<Timestamp>,
    /// A person wants it refreshed now.
    pub forced: bool,
    begun: Instant,
}

impl Pass<'_> {
    /// The object as generators see it.
    pub fn owner(&self) -> Owner<'_> {
        let uid = self.object.metadata.uid.as_deref().unwrap_or_default();
        Owner {
            cx: self.cx,
            key: self.key,
            api_version: "external-secrets.io/v1",
            uid,
            always: false,
        }
    }

    /// Records a Kubernetes event about the object.
    pub fn event(&self, severity: Severity, reason: &'static str, message: impl Into<String>) {
        let meta = &self.object.metadata;
        let involved = Involved {
            api_version: "external-secrets.io/v1",
            kind: super::EXTERNAL_SECRET,
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
            component: "external-secrets",
        };
        self.cx.recorder.record(record);
    }

    /// Tells whoever watches that something is amiss although nothing failed.
    pub fn warn(&self, message: String) {
        self.cx.tell(SyncEvent::Warning {
            key: self.key.clone(),
            message,
        });
    }

    /// Tells whoever watches of a failure.
    pub fn tell_failed(&self, message: String, retry: Option<Duration>) {
        let took = self.begun.elapsed();
        self.cx.tell(SyncEvent::Failed {
            key: self.key.clone(),
            message,
            retry,
            took,
        });
    }

    /// The pause a backoff would make now.
    pub fn next_backoff(&self) -> Duration {
        retry::backoff(self.cx.queue.failures(self.key))
    }

    /// The status as last read.
    pub fn status(&self) -> ExternalSecretStatus {
        self.object.status.clone().unwrap_or_default()
    }

    /// What is known about the last success.
    pub fn last<'s>(&self, status: &'s ExternalSecretStatus) -> LastSuccess<'s> {
        LastSuccess {
            version: &status.synced_resource_version,
            at: self.refreshed,
        }
    }

    /// Whether provider data is to be read.
    pub fn due(&self, spec: &ExternalSecretSpec) -> Due {
        if self.forced {
            return Due::Yes;
        }
        refresh::due(spec, self.last(&self.status()), &self.version, self.start)
    }
}

/// The pass.
pub async fn reconcile(cx: &Context, key: &Key) -> Next {
    let Some(object) = cx.external_secrets.get(&key.namespace, &key.name) else {
        cx.memory.forget(key);
        return Next::Wait;
    };
    if let Mode::Names(names) = &cx.settings.mode
        && !names
            .iter()
            .any(|(namespace, name)| **namespace == *key.namespace && **name == *key.name)
    {
        return Next::Wait;
    }
    if let Some(pause) = cx.pause.is_paused(cx, &key.namespace) {
        cx.tell(SyncEvent::Note {
            message: format!("{key}: {pause}"),
        });
        return Next::After(Duration::from_secs(30));
    }
    let written = object
        .status
        .as_ref()
        .and_then(|s| s.refresh_time.as_ref())
        .map(|t| t.0);
    let mut pass = Pass {
        cx,
        key,
        version: version_of(&object),
        refreshed: cx.memory.refreshed(key).max(written),
        start: Timestamp::now(),
        forced: false,
        object,
        begun: Instant::now(),
    };
    if pass.object.metadata.deletion_timestamp.is_some() {
        return finalize::finalize(&pass).await;
    }
    let Some(spec) = pass.object.spec.ok().cloned() else {
        return refuse_unreadable(&pass).await;
    };
    match ensure_finalizer(&mut pass).await {
        Ok(()) => {}
        // What is known here is old; the watch brings what is, and with it the next pass.
        Err(error) if error.is_not_found() || error.is_conflict() => return Next::Backoff,
        Err(error) => {
            pass.tell_failed(error.to_string(), Some(pass.next_backoff()));
            return Next::Backoff;
        }
    }
    if class::is_foreign(cx, &spec, &key.namespace) || fetch::is_foreign_generator(&pass, &spec).await {
        cx.tell(SyncEvent::NotOurs { key: key.clone() });
        return Next::Wait;
    }
    pass.forced = cx.memory.take_forced(key);
    let mut status = pass.status();
    let outcome = if spec.target.manifest.is_some() {
        manifest::sync(&pass, &spec).await
    } else {
        target::sync(&pass, &spec, &mut status).await
    };
    finish(&pass, &spec, status, outcome).await
}

fn version_of(object: &ExternalSecret) -> String {
    let meta = &object.metadata;
    refresh::version(
        meta.generation.unwrap_or_default(),
        meta.labels.as_ref(),
        meta.annotations.as_ref(),
    )
}

/// A spec that cannot be read (`refreshInterval: 1d`) fails this object and no other.
async fn refuse_unreadable(pass: &Pass<'_>) -> Next {
    let cause = pass.object.spec.as_result().err().unwrap_or_default().to_owned();
    let outcome = Outcome::refused("could not read the spec", cause);
    finish(pass, &ExternalSecretSpec::default(), pass.status(), outcome).await
}

async fn ensure_finalizer(pass: &mut Pass<'_>) -> Result<(), ClusterError> {
    let meta = &pass.object.metadata;
    let mut finalizers = meta.finalizers.clone().unwrap_or_default();
    if finalizers.iter().any(|f| f == FINALIZER) {
        return Ok(());
    }
    finalizers.push(FINALIZER.to_owned());
    // The version guards against taking off a finalizer that somebody else adds at the same moment.
    let patch = json!({ "metadata": { "finalizers": finalizers, "resourceVersion": meta.resource_version } });
    let (namespace, name) = (pass.object.namespace(), pass.object.name());
    let answer = pass
        .cx
        .writer
        .merge_patch(&EXTERNAL_SECRETS, namespace, name, &patch, "")
        .await?;
    if let Some(fresh) = answer.and_then(|bytes| take_in(pass.cx, &bytes)) {
        pass.object = fresh;
    }
    Ok(())
}

/// Puts the server's answer into the cache.
fn take_in(cx: &Context, bytes: &[u8]) -> Option<Arc<ExternalSecret>> {
    let mut object: ExternalSecret = serde_json::from_slice(bytes).ok()?;
    object.metadata.managed_fields = None;
    Some(cx.external_secrets.put(object))
}

/// Status, events and the next look, from the outcome.
async fn finish(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    mut status: ExternalSecretStatus,
    outcome: Outcome,
) -> Next {
    let took = pass.begun.elapsed();
    match outcome {
        Outcome::NotDue { held_back } => {
            pass.cx.tell(SyncEvent::Synced {
                key: pass.key.clone(),
                change: Change::NotDue,
                took,
            });
            next_look(spec, pass.last(&status), held_back)
        }
        Outcome::Parked => Next::Parked,
        Outcome::Conflict => Next::Backoff,
        Outcome::ApiError(message) => {
            pass.tell_failed(message, Some(pass.next_backoff()));
            Next::Backoff
        }
        Outcome::Failed {
            reason,
            message,
            cause,
            retry,
        } => {
            pass.event(Severity::Warning, "UpdateFailed", cause.clone());
            condition::set(
                &mut status.conditions,
                condition::ready(false, reason, message),
                pass.start,
            );
            fail(pass, spec, &status, cause, retry).await
        }
        Outcome::Done {
            reason,
            message,
            change,
        } => {
            condition::set(
                &mut status.conditions,
                condition::ready(true, reason, message),
                pass.start,
            );
            pass.cx.memory.clear_failing(pass.key);
            let next = succeed(pass, spec, status, change).await;
            pass.cx.tell(SyncEvent::Synced {
                key: pass.key.clone(),
                change,
                took,
            });
            next
        }
    }
}

async fn fail(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    status: &ExternalSecretStatus,
    cause: String,
    retry: Retry,
) -> Next {
    let next = match retry {
        Retry::Backoff => Next::Backoff,
        Retry::AtLeast(delay) => Next::BackoffAtLeast(delay),
        Retry::Never => Next::Wait,
    };
    if retry == Retry::Never {
        pass.cx.memory.clear_failing(pass.key);
    } else {
        if pass.forced {
            // Not due by itself: without this the next attempt would find nothing to do.
            pass.cx.memory.force(pass.key);
        }
        let stores = class::stores(spec)
            .into_iter()
            .map(|r| class::store_key(r, &pass.key.namespace));
        pass.cx.memory.set_failing(pass.key, stores);
        for reference in class::stores(spec) {
            let cluster = reference.kind.is_cluster();
            if let Some(store) = store::find(pass.cx, cluster, &pass.key.namespace, &reference.name) {
                credential_watch::begin(pass.cx, &store);
            }
        }
    }
    pass.tell_failed(cause, (retry != Retry::Never).then(|| pass.next_backoff()));
    match write_status(pass, status).await {
        Ok(()) => next,
        Err(error) => after_status_error(&error, next),
    }
}

fn after_status_error(error: &ClusterError, next: Next) -> Next {
    match error {
        e if e.is_not_found() || e.is_conflict() => next,
        ClusterError::Api {
            retry_after: Some(seconds),
            ..
        } => Next::BackoffAtLeast(Duration::from_secs(*seconds)),
        _ => Next::Backoff,
    }
}

async fn succeed(pass: &Pass<'_>, spec: &ExternalSecretSpec, mut status: ExternalSecretStatus, change: Change) -> Next {
    let old = pass.status();
    let at = condition::whole_seconds(pass.start);
    status.synced_resource_version.clone_from(&pass.version);
    let silent = matches!(change, Change::Unchanged | Change::NotWritten) && {
        let same = ExternalSecretStatus {
            refresh_time: old.refresh_time.clone(),
            ..status.clone()
        } == old;
        same && old.refresh_time.as_ref().is_some_and(|t| is_recent(t, at, spec))
    };
    status.refresh_time = Some(Time(at));
    let last = LastSuccess {
        version: &status.synced_resource_version,
        at: Some(at),
    };
    let next = next_look(spec, last, false);
    pass.cx.memory.set_refreshed(pass.key, at);
    if silent {
        return next;
    }
    match write_status(pass, &status).await {
        Ok(()) => next,
        Err(error) => after_status_error(&error, next),
    }
}

/// Refreshed so lately that the time need not be written again.
fn is_recent(written: &Time, now: Timestamp, spec: &ExternalSecretSpec) -> bool {
    let period = spec.interval().to_std().max(QUIET);
    let age = Duration::try_from(now.duration_since(written.0)).unwrap_or(Duration::MAX);
    age < period && written.0 <= now
}

fn next_look(spec: &ExternalSecretSpec, last: LastSuccess<'_>, held_back: bool) -> Next {
    refresh::look_again(spec, last, Timestamp::now(), held_back).map_or(Next::Wait, Next::After)
}

async fn write_status(pass: &Pass<'_>, status: &ExternalSecretStatus) -> Result<(), ClusterError> {
    if pass.object.status.as_ref() == Some(status) {
        return Ok(());
    }
    let object = &pass.object;
    let uid = object.metadata.uid.as_deref().unwrap_or_default();
    let value = serde_json::to_value(status).unwrap_or_default();
    let writer = &pass.cx.writer;
    let answer = writer
        .patch_status(&EXTERNAL_SECRETS, object.namespace(), object.name(), uid, &value)
        .await;
    match answer {
        Ok(Some(bytes)) => {
            take_in(pass.cx, &bytes);
            Ok(())
        }
        Ok(None) => Ok(()),
        Err(error) => {
            tracing::debug!(key = %pass.key, %error, "status not written");
            Err(error)
        }
    }
}
