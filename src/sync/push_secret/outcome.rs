//! How a pass ends: status, events, and when the object is looked at again.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pass::Pass;
use crate::api::push_secret::{PushSecret, PushSecretSpec, PushSecretStatus, SyncedPushSecrets, UpdatePolicy};
use crate::cluster::error::ClusterError;
use crate::cluster::rest::PUSH_SECRETS;
use crate::sync::event::{Change, SyncEvent};
use crate::sync::external_secret::Retry;
use crate::sync::queue::{Key, Next};
use crate::sync::recorder::Severity;
use crate::sync::retry;
use crate::target::push::look_again;
use crate::target::{condition, patch};

const ERRORED: &str = "Errored";
/// Reason of a push whose source went, after the providers were cleaned up.
pub const SOURCE_DELETED: &str = "SourceDeleted";
/// An unchanged object's refresh time is written at most this often.
const QUIET: Duration = Duration::from_secs(300);

/// How a pass ends.
pub enum End {
    /// Everything was pushed: the entries that arrived, and the versions of the sources.
    Done(SyncedPushSecrets, Vec<(String, String)>),
    /// The source is gone, and the providers were cleaned up.
    SourceDeleted,
    /// It still is; nothing new to say.
    StillDeleted,
    /// Nothing to do and nothing to say.
    Silent,
    /// Something moved under the pass.
    Again,
    /// A failure.
    Failed(Failure),
}

pub struct Failure {
    /// Message of the condition, in ESO's words.
    pub message: String,
    /// The true cause, where the condition does not show it.
    pub cause: Option<String>,
    /// Whether it is tried again.
    pub retry: Retry,
    /// The entries that are recorded now; `None`: as before.
    pub map: Option<SyncedPushSecrets>,
}

impl Failure {
    /// With this message, tried again.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            cause: None,
            retry: Retry::Backoff,
            map: None,
        }
    }
}

/// Tells whoever watches of a failure.
pub fn tell_failed(pass: &Pass<'_>, message: String, again: bool) {
    let retry = again.then(|| retry::backoff(pass.cx.queue.failures(pass.key)));
    pass.cx.tell(SyncEvent::Failed {
        key: pass.key.clone(),
        message,
        retry,
        took: pass.begun.elapsed(),
    });
}

/// Status, events and the next look.
pub async fn finish(pass: &Pass<'_>, spec: &PushSecretSpec, version: &str, end: End) -> Next {
    let mut status = pass.status();
    let period = spec.interval().is_positive().then(|| spec.interval().to_std());
    let later = period.map_or(Next::Wait, Next::After);
    match end {
        End::Again => Next::Again,
        // ESO would never look again; a store that appears later is found this way.
        End::Silent | End::StillDeleted => later,
        End::SourceDeleted => {
            let message = "source secret deleted; provider secrets cleaned up";
            pass.event(Severity::Normal, SOURCE_DELETED, message);
            status.synced_push_secrets.clear();
            condition::set(
                &mut status.conditions,
                condition::ready(false, SOURCE_DELETED, message),
                pass.start,
            );
            let took = pass.begun.elapsed();
            pass.cx.tell(SyncEvent::Synced {
                key: pass.key.clone(),
                change: Change::Deleted,
                took,
            });
            write_status(pass, &status)
                .await
                .map_or_else(|e| after_status_error(&e, later), |()| later)
        }
        End::Failed(failure) => fail(pass, spec, status, failure).await,
        End::Done(map, versions) => {
            let message = match spec.update_policy {
                UpdatePolicy::IfNotExists => "PushSecret synced successfully. Existing secrets in providers unchanged.",
                _ => "PushSecret synced successfully",
            };
            pass.event(Severity::Normal, "Synced", message);
            condition::set(
                &mut status.conditions,
                condition::ready(true, "Synced", message),
                pass.start,
            );
            status.synced_push_secrets = map;
            version.clone_into(&mut status.synced_resource_version);
            pass.state.remember_sources(pass.key, versions.into_iter().collect());
            pass.cx.memory.clear_failing(pass.key);
            succeed(pass, spec, status).await
        }
    }
}

async fn succeed(pass: &Pass<'_>, spec: &PushSecretSpec, mut status: PushSecretStatus) -> Next {
    let at = condition::whole_seconds(pass.start);
    let old = pass.status();
    let same = PushSecretStatus {
        refresh_time: old.refresh_time.clone(),
        ..status.clone()
    } == old;
    let quiet = spec.interval().to_std().max(QUIET);
    let recent = old
        .refresh_time
        .as_ref()
        .is_some_and(|t| t.0 <= at && Duration::try_from(at.duration_since(t.0)).is_ok_and(|age| age < quiet));
    status.refresh_time = Some(Time(at));
    pass.cx.memory.set_refreshed(pass.key, at);
    let took = pass.begun.elapsed();
    pass.cx.tell(SyncEvent::Synced {
        key: pass.key.clone(),
        change: Change::Updated,
        took,
    });
    let next = look_again(at, spec.interval(), Timestamp::now()).map_or(Next::Wait, Next::After);
    if same && recent {
        return next;
    }
    write_status(pass, &status)
        .await
        .map_or_else(|e| after_status_error(&e, next), |()| next)
}

async fn fail(pass: &Pass<'_>, spec: &PushSecretSpec, mut status: PushSecretStatus, failure: Failure) -> Next {
    pass.event(Severity::Warning, ERRORED, failure.message.clone());
    condition::set(
        &mut status.conditions,
        condition::ready(false, ERRORED, &failure.message),
        pass.start,
    );
    if let Some(map) = failure.map {
        status.synced_push_secrets = map;
    }
    let (next, again) = match failure.retry {
        Retry::Backoff => (Next::Backoff, true),
        Retry::AtLeast(delay) => (Next::BackoffAtLeast(delay), true),
        Retry::Never => (Next::Wait, false),
    };
    if again {
        pass.cx.memory.set_failing(pass.key, store_keys(pass, spec));
    }
    let told = match failure.cause {
        Some(cause) => format!("{}: {cause}", failure.message),
        None => failure.message,
    };
    tell_failed(pass, told, again);
    write_status(pass, &status)
        .await
        .map_or_else(|e| after_status_error(&e, next), |()| next)
}

/// The stores whose recovery wakes this object.
fn store_keys(pass: &Pass<'_>, spec: &PushSecretSpec) -> Vec<Key> {
    let named = spec.secret_store_refs.iter().filter(|r| !r.name.is_empty());
    named
        .map(|r| {
            let namespace = if r.kind.is_cluster() { "" } else { &*pass.key.namespace };
            let kind = if r.kind.is_cluster() {
                "ClusterSecretStore"
            } else {
                "SecretStore"
            };
            Key::new(kind, namespace, &r.name)
        })
        .collect()
}

fn after_status_error(error: &ClusterError, next: Next) -> Next {
    if error.is_not_found() || error.is_conflict() {
        next
    } else {
        Next::Backoff
    }
}

async fn write_status(pass: &Pass<'_>, status: &PushSecretStatus) -> Result<(), ClusterError> {
    let object = &pass.object;
    let old = serde_json::to_value(pass.status()).unwrap_or_default();
    let new = serde_json::to_value(status).unwrap_or_default();
    let Some(change) = patch::merge_patch(&old, &new) else {
        return Ok(());
    };
    let uid = object.metadata.uid.as_deref().unwrap_or_default();
    let answer = pass
        .cx
        .writer
        .patch_status(&PUSH_SECRETS, object.namespace(), object.name(), uid, &change)
        .await?;
    if let Some(mut fresh) = answer.and_then(|bytes| serde_json::from_slice::<PushSecret>(&bytes).ok()) {
        fresh.metadata.managed_fields = None;
        pass.cx.push_secrets.put(fresh);
    }
    Ok(())
}
