//! The finalizer of a ClusterExternalSecret on its namespaces, and the children there.

use std::sync::Arc;

use serde_json::json;

use crate::api::external_secret::ExternalSecret;
use crate::cluster::error::ClusterError;
use crate::cluster::rest::{EXTERNAL_SECRETS, NAMESPACES};
use crate::sync::children::Parent;
use crate::sync::context::Context;
use crate::sync::objects::NamespaceMeta;

/// A Namespace is often written by others; its finalizers are tried so often against a newer version.
const ATTEMPTS: usize = 5;

/// Namespaces that carry a finalizer.
pub fn carrying(cx: &Context, finalizer: &str) -> Vec<String> {
    let all = cx.namespaces.all();
    let with = all
        .iter()
        .filter(|n| n.metadata.finalizers.iter().flatten().any(|f| f == finalizer));
    with.map(|n| n.metadata.name.clone()).collect()
}

/// Puts a finalizer on a Namespace, or takes it off; a Namespace that is gone is done.
///
/// # Errors
/// As the server says.
pub async fn mark(cx: &Context, namespace: &str, finalizer: &str, wanted: bool) -> Result<(), ClusterError> {
    let mut known = cx.namespaces.get("", namespace).map(|n| (*n).clone());
    for attempt in 1..=ATTEMPTS {
        let current = match known.take() {
            Some(known) => known,
            None => match cx
                .rest
                .get_metadata_opt::<NamespaceMeta>(&NAMESPACES.object("", namespace))
                .await?
            {
                Some(live) => live,
                None => return Ok(()),
            },
        };
        let mut finalizers = current.metadata.finalizers.clone().unwrap_or_default();
        if finalizers.iter().any(|f| f == finalizer) == wanted {
            return Ok(());
        }
        finalizers.retain(|f| f != finalizer);
        if wanted {
            finalizers.push(finalizer.to_owned());
        }
        let change =
            json!({ "metadata": { "finalizers": finalizers, "resourceVersion": current.metadata.resource_version } });
        match cx.writer.merge_patch(&NAMESPACES, "", namespace, &change, "").await {
            Ok(answer) => {
                let gone = finalizers.is_empty() && current.metadata.deletion_timestamp.is_some();
                if let (Some(bytes), false) = (answer, gone)
                    && let Ok(fresh) = serde_json::from_slice::<NamespaceMeta>(&bytes)
                {
                    cx.namespaces.put(fresh);
                }
                return Ok(());
            }
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => {}
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Deletes the child of this name, if it is the parent's.
///
/// # Errors
/// As the server says.
pub async fn delete_child(cx: &Context, parent: Parent<'_>, namespace: &str, name: &str) -> Result<(), ClusterError> {
    // The UID guards against deleting what was made anew; only a child the cache does not have is asked for.
    let child = match cx.external_secrets.get(namespace, name) {
        Some(known) => Some(known),
        None => cx
            .rest
            .get_opt(&EXTERNAL_SECRETS.object(namespace, name))
            .await?
            .map(Arc::new),
    };
    let Some(child) = child.filter(|c: &Arc<ExternalSecret>| parent.controls(&c.metadata)) else {
        return Ok(());
    };
    if child.metadata.deletion_timestamp.is_none() {
        let uid = child.metadata.uid.as_deref().unwrap_or_default();
        cx.writer.delete(&EXTERNAL_SECRETS, namespace, name, uid).await?;
    }
    Ok(())
}
