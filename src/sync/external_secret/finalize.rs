//! A deleted ExternalSecret: clean up what its policy says, then let it go.

use serde_json::json;

use super::{manifest, pass::Pass};
use crate::api::external_secret::DeletionPolicy;
use crate::cluster::error::ClusterError;
use crate::cluster::rest::{EXTERNAL_SECRETS, SECRETS};
use crate::sync::event::SyncEvent;
use crate::sync::queue::Next;
use crate::target::build::target_name;
use crate::target::names::FINALIZER;

/// The pass over an object with a deletion timestamp.
pub async fn finalize(pass: &Pass<'_>) -> Next {
    match release(pass).await {
        Ok(()) => {
            pass.cx.memory.forget(pass.key);
            pass.cx.tell(SyncEvent::Released { key: pass.key.clone() });
            Next::Wait
        }
        Err(error) if error.is_not_found() => Next::Wait,
        Err(error) => {
            let message = error.to_string();
            pass.tell_failed(message, Some(pass.next_backoff()));
            Next::Backoff
        }
    }
}

async fn release(pass: &Pass<'_>) -> Result<(), ClusterError> {
    let object = &pass.object;
    let finalizers = object.metadata.finalizers.clone().unwrap_or_default();
    if !finalizers.iter().any(|f| f == FINALIZER) {
        return Ok(());
    }
    if let Some(spec) = object.spec.ok()
        && spec.target.deletion_policy == DeletionPolicy::Delete
    {
        if spec.target.manifest.is_some() {
            manifest::delete_for_removed(pass, spec).await?;
        } else {
            delete_owned(pass, target_name(spec, object.name())).await?;
        }
    }
    let left: Vec<&String> = finalizers.iter().filter(|f| *f != FINALIZER).collect();
    let patch = json!({ "metadata": { "finalizers": left, "uid": object.metadata.uid } });
    let writer = &pass.cx.writer;
    match writer
        .merge_patch(&EXTERNAL_SECRETS, object.namespace(), object.name(), &patch, "")
        .await
    {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Deletes the target only if this very object (by UID) controls it.
async fn delete_owned(pass: &Pass<'_>, name: &str) -> Result<(), ClusterError> {
    let namespace = pass.object.namespace();
    let Some(secret) = super::target::read_live(pass.cx, namespace, name).await? else {
        return Ok(());
    };
    let ours = pass.object.metadata.uid.as_deref().unwrap_or_default();
    if secret
        .owners
        .iter()
        .any(|o| o.controller == Some(true) && o.uid == ours)
    {
        pass.cx.writer.delete(&SECRETS, namespace, name, &secret.uid).await?;
        pass.cx.secrets.remove(namespace, name);
    }
    Ok(())
}
