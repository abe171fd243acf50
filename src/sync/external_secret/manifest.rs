//! Targets of other kinds than Secret: look, fetch, render, write; and the watch that notices drift.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::Value;

use super::fetch::{self, FetchError};
use super::outcome::{ERROR, FETCH_FAILED, Outcome, Retry, WRITE_FAILED};
use super::pass::Pass;
use super::sources;
use crate::api::external_secret::{CreationPolicy, ExternalSecretSpec, Manifest};
use crate::cluster::error::ClusterError;
use crate::cluster::rest::decode;
use crate::cluster::watch::{Scope, Signal, follow};
use crate::secret::SecretData;
use crate::sync::context::Context;
use crate::sync::event::Change;
use crate::sync::objects::NamespaceMeta;
use crate::sync::queue::Priority;
use crate::sync::recorder::Severity;
use crate::target::build::{Writer, target_name};
use crate::target::decide::{self, Empty};
use crate::target::manifest as build;
use crate::target::names::MANAGED_SELECTOR;
use crate::target::refresh::Due;

/// Reason of every failure from the first look at the target on.
const RESOURCE_ERROR: &str = "ResourceSyncedError";
const INVALID: &str = "invalid generic target";

/// Which collections of generic targets are known and watched; one per cluster.
#[derive(Default)]
pub struct GenericTargets {
    plurals: Mutex<HashMap<(String, String), Arc<Collection>>>,
    watched: Mutex<BTreeMap<String, ()>>,
}

/// A collection of a kind found by discovery.
pub struct Collection {
    base: String,
    plural: String,
    namespaced: bool,
}

impl Collection {
    fn path(&self, namespace: &str) -> String {
        if self.namespaced && !namespace.is_empty() {
            format!("/{}/namespaces/{namespace}/{}", self.base, self.plural)
        } else {
            format!("/{}/{}", self.base, self.plural)
        }
    }

    fn object(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.path(namespace))
    }
}

#[derive(Deserialize)]
struct ResourceList {
    #[serde(default)]
    resources: Vec<ResourceItem>,
}

#[derive(Deserialize)]
struct ResourceItem {
    name: String,
    kind: String,
    #[serde(default)]
    namespaced: bool,
}

async fn collection(cx: &Context, manifest: &Manifest) -> Result<Arc<Collection>, String> {
    let key = (manifest.api_version.clone(), manifest.kind.clone());
    let known = &cx.generic_targets.plurals;
    if let Some(found) = known.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(found.clone());
    }
    let missing = || {
        format!(
            r#"no matches for kind "{}" in version "{}""#,
            manifest.kind, manifest.api_version
        )
    };
    let base = if manifest.api_version.contains('/') {
        format!("apis/{}", manifest.api_version)
    } else {
        format!("api/{}", manifest.api_version)
    };
    let list: ResourceList = match cx.rest.get(&format!("/{base}")).await {
        Ok(list) => list,
        Err(error) if error.is_not_found() => return Err(missing()),
        Err(error) => return Err(error.to_string()),
    };
    let item = list
        .resources
        .into_iter()
        .find(|r| r.kind == manifest.kind && !r.name.contains('/'));
    let item = item.ok_or_else(missing)?;
    let found = Arc::new(Collection {
        base,
        plural: item.name,
        namespaced: item.namespaced,
    });
    known
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(key, found.clone());
    Ok(found)
}

/// Steps for a generic target.
pub async fn sync(pass: &Pass<'_>, spec: &ExternalSecretSpec) -> Outcome {
    match steps(pass, spec).await {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

fn failed(message: &'static str, cause: impl Into<String>) -> Outcome {
    Outcome::Failed {
        reason: RESOURCE_ERROR,
        message,
        cause: cause.into(),
        retry: Retry::Backoff,
    }
}

fn done(reason: &'static str, message: &'static str, change: Change) -> Outcome {
    Outcome::Done {
        reason,
        message,
        change,
    }
}

fn check_allowed(pass: &Pass<'_>, manifest: &Manifest) -> Result<(), Outcome> {
    let refuse = |cause: &str| {
        Err(Outcome::Failed {
            reason: ERROR,
            message: INVALID,
            cause: cause.to_owned(),
            retry: Retry::Never,
        })
    };
    if !pass.cx.settings.allow_generic_targets {
        return refuse("generic targets are disabled. Enable with --unsafe-allow-generic-targets flag");
    }
    if manifest.api_version.is_empty() {
        return refuse("target.manifest.apiVersion is required");
    }
    if manifest.kind.is_empty() {
        return refuse("target.manifest.kind is required");
    }
    Ok(())
}

async fn steps(pass: &Pass<'_>, spec: &ExternalSecretSpec) -> Result<Outcome, Outcome> {
    let manifest = spec.target.manifest.clone().unwrap_or_default();
    check_allowed(pass, &manifest)?;
    let policy = &spec.target.creation_policy;
    let name = target_name(spec, pass.object.name());
    let existing = if *policy == CreationPolicy::None {
        None
    } else {
        let unreadable = |e: String| {
            failed(
                "could not get target resource",
                format!("failed to get target resource: {e}"),
            )
        };
        let place = collection(pass.cx, &manifest).await.map_err(unreadable)?;
        read(pass, &place, name).await.map_err(|e| unreadable(e.to_string()))?
    };
    let due = pass.due(spec);
    let valid = build::is_valid(policy, existing.as_ref()).map_err(Outcome::ApiError)?;
    if due != Due::Yes && valid {
        return Ok(Outcome::NotDue {
            held_back: due == Due::HeldBack,
        });
    }
    let data = fetch::provider_data(pass, spec).await.map_err(|error| match error {
        FetchError::Parked => Outcome::Parked,
        FetchError::Failed { message, retry } => Outcome::Failed {
            reason: RESOURCE_ERROR,
            message: FETCH_FAILED,
            cause: message,
            retry,
        },
    })?;
    if data.is_empty()
        && let Some(outcome) = empty(pass, spec, &manifest, name).await
    {
        return Ok(outcome);
    }
    let object = make(pass, spec, existing.as_ref(), &data, name)
        .await
        .map_err(|cause| failed("could not apply template to manifest", cause))?;
    write(pass, spec, &manifest, existing, object).await
}

async fn read(pass: &Pass<'_>, place: &Collection, name: &str) -> Result<Option<Value>, ClusterError> {
    pass.cx.rest.get_opt(&place.object(pass.object.namespace(), name)).await
}

async fn empty(pass: &Pass<'_>, spec: &ExternalSecretSpec, manifest: &Manifest, name: &str) -> Option<Outcome> {
    match decide::empty(spec) {
        Empty::Continue => None,
        Empty::Retain => Some(done(
            "ResourceSynced",
            "secret retained due to DeletionPolicy=Retain",
            Change::NotWritten,
        )),
        Empty::NotOwner => {
            let cause = format!(
                "unable to delete resource: creationPolicy={} is not Owner",
                spec.target.creation_policy
            );
            let (reason, message) = (RESOURCE_ERROR, "could not delete resource");
            Some(Outcome::Failed {
                reason,
                message,
                cause,
                retry: Retry::Never,
            })
        }
        Empty::Delete => Some(match delete(pass, manifest, name).await {
            Ok(()) => done(
                "ResourceDeleted",
                "secret deleted due to DeletionPolicy=Delete",
                Change::Deleted,
            ),
            Err(cause) => failed("could not delete resource", cause),
        }),
    }
}

/// Deletes the target whoever owns it, and says so even if it was gone.
async fn delete(pass: &Pass<'_>, manifest: &Manifest, name: &str) -> Result<(), String> {
    let place = collection(pass.cx, manifest).await?;
    let namespace = pass.object.namespace();
    pass.cx
        .writer
        .delete_at(&place.plural, &place.object(namespace, name), namespace, name)
        .await
        .map_err(|e| e.to_string())?;
    pass.event(Severity::Normal, "Deleted", format!("Deleted {} {name}", manifest.kind));
    Ok(())
}

/// Deletes the target of a removed ExternalSecret, where generic targets are served.
///
/// # Errors
/// As the server says.
pub async fn delete_for_removed(pass: &Pass<'_>, spec: &ExternalSecretSpec) -> Result<(), ClusterError> {
    let Some(manifest) = spec
        .target
        .manifest
        .as_ref()
        .filter(|_| pass.cx.settings.allow_generic_targets)
    else {
        return Ok(());
    };
    let name = target_name(spec, pass.object.name());
    delete(pass, manifest, name)
        .await
        .map_err(|message| ClusterError::Transport { message })
}

async fn make(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    existing: Option<&Value>,
    data: &SecretData,
    name: &str,
) -> Result<Value, String> {
    let writer = Writer::of(&pass.object);
    let mut object = sources::render_manifest(pass, spec, build::base(spec, existing), data, name).await?;
    build::seal(&mut object, spec, writer, name)?;
    Ok(object)
}

async fn write(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    manifest: &Manifest,
    existing: Option<Value>,
    object: Value,
) -> Result<Outcome, Outcome> {
    let policy = &spec.target.creation_policy;
    if *policy == CreationPolicy::None {
        return Ok(done("ResourceSynced", "secret synced", Change::NotWritten));
    }
    let name = target_name(spec, pass.object.name());
    let place = collection(pass.cx, manifest)
        .await
        .map_err(|e| failed(WRITE_FAILED, e))?;
    let (writer, namespace) = (&pass.cx.writer, pass.object.namespace());
    let (sent, verb, change) = match existing {
        None if *policy == CreationPolicy::Merge => {
            let message = "resource will not be created due to CreationPolicy=Merge";
            return Ok(done("ResourceMissing", message, Change::NotWritten));
        }
        None => {
            let body = object.to_string().into_bytes();
            let sent = writer
                .create_at(&place.plural, &place.path(namespace), namespace, name, body)
                .await;
            (sent.map_err(|e| ("create", e)), "Created", Change::Created)
        }
        Some(found) => {
            let body = build::for_update(object, &found).to_string().into_bytes();
            let sent = writer
                .replace_at(&place.plural, &place.object(namespace, name), namespace, name, body)
                .await;
            (sent.map_err(|e| ("update", e)), "Updated", Change::Updated)
        }
    };
    match sent {
        Ok(_) => {}
        Err(("update", error)) if error.is_conflict() => return Err(Outcome::Conflict),
        Err((what, error)) => {
            return Err(failed(
                WRITE_FAILED,
                format!("failed to {what} target resource: {error}"),
            ));
        }
    }
    pass.event(Severity::Normal, verb, format!("{verb} {} {name}", manifest.kind));
    watch(pass.cx, manifest, &place);
    Ok(done("ResourceSynced", "secret synced", change))
}

/// Starts the watch of a kind's managed objects, once a cluster.
fn watch(cx: &Context, manifest: &Manifest, place: &Arc<Collection>) {
    let path = place.path(cx.namespace.as_deref().unwrap_or_default());
    let mut watched = cx
        .generic_targets
        .watched
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if watched.insert(path.clone(), ()).is_some() {
        return;
    }
    drop(watched);
    let mut scope = Scope::all(path);
    MANAGED_SELECTOR.clone_into(&mut scope.labels);
    scope.metadata_only = true;
    let (rest, stop, queue) = (cx.rest.clone(), cx.stop.clone(), cx.queue.clone());
    let (objects, wanted) = (cx.external_secrets.clone(), manifest.clone());
    cx.spawn(Box::pin(async move {
        let users = move |changed: Option<&NamespaceMeta>| {
            for object in objects.all() {
                let target = object
                    .spec
                    .ok()
                    .filter(|spec| spec.target.manifest.as_ref() == Some(&wanted));
                let Some(name) = target.map(|spec| target_name(spec, object.name())) else {
                    continue;
                };
                let concerned =
                    changed.is_none_or(|c| c.metadata.name == name && c.metadata.namespace == object.namespace());
                if concerned {
                    queue.add(super::key_of(object.namespace(), object.name()), Priority::Changed);
                }
            }
        };
        let mut lists = 0_u32;
        let mut sink = |signal: Signal<'_>| match signal {
            Signal::Applied(raw) | Signal::Deleted(raw) => {
                if let Ok(changed) = decode::<NamespaceMeta>(raw.get().as_bytes()) {
                    users(Some(&changed));
                }
            }
            // What happened while the connection was gone is not told one by one.
            Signal::ListDone(_) => {
                lists += 1;
                if lists > 1 {
                    users(None);
                }
            }
            Signal::ListStarted | Signal::Listed(_) | Signal::Alive | Signal::Lost(_) => {}
        };
        follow(&rest, &scope, &stop, &mut sink).await;
    }));
}
