//! Takes back what earlier pushes wrote and the spec no longer asks for, and nothing else.
//!
//! An entry is left alone where somebody else still wants it there (another store of the same place, another PushSecret),
//! where nothing proves that we wrote it, and where no client can be had any more: a deletion must neither take what is
//! not ours nor wait for ever. What is left is said.

use super::pass::Pass;
use super::push::{bounded, retry_of, writer};
use super::stores;
use crate::api::push_secret::{PushData, SyncedPushSecrets, UpdatePolicy};
use crate::provider::{Deletion, Provider, Writer};
use crate::sync::event::{RemoteAction, SyncEvent};
use crate::sync::external_secret::Retry;
use crate::sync::recorder::Severity;
use crate::sync::store::{self, StoreView};
use crate::sync::store_access::admitted;
use crate::target::push::{merge, namespace_override, stale};

/// A failed deletion.
pub struct CleanError {
    /// ESO's text.
    pub message: String,
    /// Whether it is worth another try.
    pub retry: Retry,
    /// What is still recorded.
    pub left: SyncedPushSecrets,
}

/// Deletes the entries of `old` that `new` does not have.
///
/// # Errors
/// The first failure; the rest is tried again later.
pub async fn delete_stale(pass: &Pass<'_>, old: &SyncedPushSecrets, new: &SyncedPushSecrets) -> Result<(), CleanError> {
    let mut working = merge(new, old);
    let mut clients: std::collections::BTreeMap<String, Access> = std::collections::BTreeMap::new();
    for (store, key, data) in stale(old, new) {
        if !clients.contains_key(&store) {
            let access = access(pass, &store).await.map_err(|(message, retry)| CleanError {
                message,
                retry,
                left: working.clone(),
            })?;
            clients.insert(store.clone(), access);
        }
        let Some(access) = clients.get(&store) else { continue };
        let done = one(
            pass,
            access,
            &Stale {
                store: &store,
                key: &key,
                data: &data,
                new,
            },
        )
        .await;
        done.map_err(|(message, retry)| CleanError {
            message,
            retry,
            left: working.clone(),
        })?;
        let kept = new.get(&store).and_then(|entries| entries.get(&key)).cloned();
        if let Some(entries) = working.get_mut(&store) {
            match kept {
                Some(kept) => entries.insert(key, kept),
                None => entries.remove(&key),
            };
            if entries.is_empty() && !new.contains_key(&store) {
                working.remove(&store);
            }
        }
    }
    Ok(())
}

struct Stale<'a> {
    store: &'a str,
    key: &'a str,
    data: &'a PushData,
    new: &'a SyncedPushSecrets,
}

/// A recorded store, as far as it can still be reached.
enum Access {
    Open(Box<dyn Provider>, Option<String>),
    Lost(String),
}

async fn access(pass: &Pass<'_>, status_key: &str) -> Result<Access, (String, Retry)> {
    let Some((cluster, name)) = stores::split(status_key) else {
        return Ok(Access::Lost("its store cannot be named".to_owned()));
    };
    let reference = stores::reference(cluster, name);
    let (cx, namespace) = (pass.cx, &pass.key.namespace);
    let wrap = |(e, retry): (String, Retry)| {
        (
            format!("could not get secrets client for store {status_key}: {e}"),
            retry,
        )
    };
    let Some(view) = store::find(cx, cluster, namespace, name) else {
        return gone(pass, cluster, name).await.map_err(wrap);
    };
    if admitted(cx, &reference, namespace).await.is_err() {
        let foreign = view.spec.as_ref().is_ok_and(|s| !cx.settings.serves(&s.controller));
        let why = if foreign {
            "its store belongs to another controller class"
        } else {
            "its store no longer admits this namespace"
        };
        // A store whose spec cannot be read, or a Namespace that cannot, may be well again later.
        if foreign || (view.spec.is_ok() && cx.namespaces.get("", namespace).is_some()) {
            return Ok(Access::Lost(why.to_owned()));
        }
    }
    let client = stores::open(cx, &reference, namespace).await.map_err(wrap)?;
    Ok(Access::Open(client, stores::place(&view)))
}

/// The store is not in the cache: gone for good only if the server says so too.
async fn gone(pass: &Pass<'_>, cluster: bool, name: &str) -> Result<Access, (String, Retry)> {
    use crate::cluster::rest::{CLUSTER_SECRET_STORES, SECRET_STORES};
    let path = if cluster {
        CLUSTER_SECRET_STORES.object("", name)
    } else {
        SECRET_STORES.object(&pass.key.namespace, name)
    };
    let live: Result<Option<serde_json::Value>, _> = pass.cx.rest.get_metadata_opt(&path).await;
    match live {
        Ok(None) => Ok(Access::Lost("its store is gone".to_owned())),
        Ok(Some(_)) => Err(("the store was made a moment ago".to_owned(), Retry::Backoff)),
        Err(error) => Err((error.to_string(), Retry::Backoff)),
    }
}

async fn one(pass: &Pass<'_>, access: &Access, entry: &Stale<'_>) -> Result<(), (String, Retry)> {
    let (client, place) = match access {
        Access::Open(client, place) => (client, place),
        Access::Lost(why) => {
            leave(pass, entry, why);
            return Ok(());
        }
    };
    let writer = writer(&**client, entry.store)?;
    let claimed = claimed_by_config(pass, entry, place.as_deref());
    if claimed || same_object(pass, entry, writer).await? {
        leave(pass, entry, "it is still pushed there");
        return Ok(());
    }
    if pass.cx.settings.shadow {
        tell(pass, entry, RemoteAction::Delete);
        return Ok(());
    }
    let careful = pass
        .object
        .spec
        .ok()
        .is_some_and(|s| s.update_policy == UpdatePolicy::IfNotExists);
    let proven = !careful || pass.state.has_written(pass.key, entry.store, entry.key);
    match bounded(writer.delete_written(entry.data, proven)).await {
        Ok(Deletion::Done) => Ok(()),
        Ok(Deletion::Left(why)) => {
            leave(pass, entry, &why);
            Ok(())
        }
        Err(error) => Err((error.to_string(), retry_of(&error))),
    }
}

fn same_destination(a: &PushData, b: &PushData) -> bool {
    a.match_.remote_ref == b.match_.remote_ref && namespace_override(a) == namespace_override(b)
}

/// Another store of the same place, or another PushSecret, holds the same destination.
fn claimed_by_config(pass: &Pass<'_>, entry: &Stale<'_>, place: Option<&str>) -> bool {
    let same_place = |namespace: &str, status_key: &str| {
        let view = stores::split(status_key).and_then(|(c, name)| store::find(pass.cx, c, namespace, name));
        let theirs = view.as_ref().and_then(|v: &StoreView| stores::place(v));
        place.is_some() && theirs.as_deref() == place
    };
    let here = &*pass.key.namespace;
    let in_new = entry.new.iter().any(|(store, entries)| {
        store != entry.store && entries.values().any(|d| same_destination(d, entry.data)) && same_place(here, store)
    });
    in_new
        || pass.cx.push_secrets.all().iter().any(|other| {
            let another = other.namespace() != here || other.name() != pass.object.name();
            let alive = other.metadata.deletion_timestamp.is_none();
            let recorded = other.status.as_ref().map(|s| &s.synced_push_secrets);
            another
                && alive
                && recorded.into_iter().flatten().any(|(store, entries)| {
                    entries.values().any(|d| same_destination(d, entry.data)) && same_place(other.namespace(), store)
                })
        })
}

/// Two stores may lead to one object by different addresses: then the object itself tells.
async fn same_object(pass: &Pass<'_>, entry: &Stale<'_>, writer: &dyn Writer) -> Result<bool, (String, Retry)> {
    for (status_key, entries) in entry.new.iter().filter(|(store, _)| *store != entry.store) {
        let Some(twin) = entries
            .values()
            .find(|d| d.match_.remote_ref == entry.data.match_.remote_ref)
        else {
            continue;
        };
        let failed = |e: crate::provider::ProviderError| (e.to_string(), retry_of(&e));
        let Some(ours) = bounded(writer.identity(entry.data)).await.map_err(failed)? else {
            return Ok(false);
        };
        let Some((cluster, name)) = stores::split(status_key) else {
            continue;
        };
        let other = stores::open(pass.cx, &stores::reference(cluster, name), &pass.key.namespace).await?;
        let theirs = bounded(super::push::writer(&*other, status_key)?.identity(twin))
            .await
            .map_err(failed)?;
        if theirs.as_deref() == Some(&*ours) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn leave(pass: &Pass<'_>, entry: &Stale<'_>, why: &str) {
    let message = format!("{} of {} was left alone: {why}", entry.key, entry.store);
    if pass.cx.settings.shadow {
        tell(pass, entry, RemoteAction::Leave);
        return;
    }
    if why != "it is still pushed there" {
        pass.event(Severity::Warning, "RemoteSecretKept", message.clone());
        pass.cx.tell(SyncEvent::Warning {
            key: pass.key.clone(),
            message,
        });
    }
}

fn tell(pass: &Pass<'_>, entry: &Stale<'_>, action: RemoteAction) {
    pass.cx.tell(SyncEvent::Remote {
        key: pass.key.clone(),
        store: entry.store.to_owned(),
        entry: entry.key.to_owned(),
        action,
    });
}
