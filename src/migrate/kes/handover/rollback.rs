//! Back to KES, one Secret at a time: let go, delete the `ExternalSecret`, clean and restore the Secret, give it back.

use serde_json::json;
use thiserror::Error;

use super::adopt::Observed;
use super::observed::{
    CREATED_BY_LABEL, DATA_HASH_ANNOTATION, LiveDeployment, LiveExternalSecret, LiveSecret, MANAGED_LABEL,
};
use super::plan::{Entry, Plan, Readiness, scale};
use super::step::{Action, Decision, ObjectRef, PatchOp, Step, identity_tests, pointer};

/// Why a Secret is not rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RollbackRefusal {
    /// No Secret.
    #[error("the Secret is gone; KES makes a new one when it runs again")]
    Gone,
    /// A new Secret has the name; running pods may hold the old one.
    #[error("the Secret was recreated; running pods may hold the old one")]
    Recreated,
    /// Another owner.
    #[error("the Secret is owned by {0}")]
    Owner(String),
    /// A type cannot be changed back.
    #[error("the Secret has another type than before")]
    Type,
    /// Keys differ and there is no copy.
    #[error("keys changed and no backup holds them: {}", .0.join(", "))]
    NoBackup(Vec<String>),
    /// An immutable Secret cannot be restored.
    #[error("the Secret is immutable and its keys changed: {}", .0.join(", "))]
    Immutable(Vec<String>),
}

/// What a rollback may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Means {
    /// A copy of the data is at hand.
    pub backup: bool,
    /// ESO does not run, so owner references have to be patched away.
    pub eso_stopped: bool,
    /// Restore ownership even when changed data cannot be restored.
    pub ownership_only: bool,
}

/// The next step for one Secret.
#[must_use]
pub fn decide(entry: &Entry, observed: &Observed, means: Means) -> Decision<RollbackRefusal> {
    if matches!(entry.readiness, Readiness::Refused(_)) {
        return Decision::Done;
    }
    if let Some(live) = &observed.external_secret {
        return let_go(entry, observed.secret.as_ref(), live, means);
    }
    let Some(secret) = &observed.secret else {
        return if entry.readiness == Readiness::NoSecret {
            Decision::Done
        } else {
            Decision::Refuse(RollbackRefusal::Gone)
        };
    };
    if entry.readiness == Readiness::NoSecret {
        return Decision::Done;
    }
    if secret.uid != entry.secret_uid {
        return Decision::Refuse(RollbackRefusal::Recreated);
    }
    if secret.secret_type != entry.secret_type {
        return Decision::Refuse(RollbackRefusal::Type);
    }
    give_back(entry, observed, secret, means)
}

/// The `ExternalSecret` still exists: make it let go of the Secret, then delete it.
fn let_go(
    entry: &Entry,
    secret: Option<&LiveSecret>,
    live: &LiveExternalSecret,
    means: Means,
) -> Decision<RollbackRefusal> {
    let name = entry.manifest["metadata"]["name"].as_str().unwrap_or(&entry.name);
    let target = ObjectRef::external_secret(&entry.namespace, name);
    if live.deleting {
        return Decision::Wait {
            for_what: "the ExternalSecret to go".to_owned(),
            seconds: 60,
        };
    }
    // While KES owns the Secret ESO cannot adopt it, and nothing of it depends on the ExternalSecret.
    let kept_by_kes = secret
        .is_some_and(|s| s.owners.iter().any(|o| o.uid == entry.kes_uid) && s.owners.iter().all(|o| o.uid != live.uid));
    if live.creation_policy() != "Orphan" && !kept_by_kes {
        // With policy Owner the Secret would go with the object.
        let patch = json!({
            "metadata": {"resourceVersion": live.resource_version},
            "spec": {"target": {"creationPolicy": "Orphan", "deletionPolicy": "Retain"}},
        });
        return Decision::Do(Box::new(Step::new(
            target,
            Action::MergePatch { patch },
            "ESO lets go of the Secret",
        )));
    }
    let held = secret.and_then(|s| s.owners.iter().position(|o| o.uid == live.uid).map(|i| (s, i)));
    match held {
        Some((secret, index)) if means.eso_stopped => {
            let path = format!("/metadata/ownerReferences/{index}");
            let mut operations = identity_tests(&secret.uid, &secret.resource_version);
            operations.push(PatchOp::Test {
                path: format!("{path}/uid"),
                value: live.uid.as_str().into(),
            });
            operations.push(PatchOp::Remove { path });
            let action = Action::JsonPatch {
                operations,
                restore: Vec::new(),
            };
            Decision::Do(Box::new(Step::new(
                ObjectRef::secret(&entry.namespace, &entry.name),
                action,
                "release from ESO",
            )))
        }
        Some(_) => Decision::Wait {
            for_what: "ESO to let go of the Secret".to_owned(),
            seconds: 60,
        },
        None => {
            // The state that was looked at, so that a change of policy in between stops the deletion.
            let action = Action::Delete {
                uid: live.uid.clone(),
                resource_version: Some(live.resource_version.clone()),
            };
            Decision::Do(Box::new(Step::new(target, action, "nothing depends on it any more")))
        }
    }
}

/// Marks of ESO off, data back, owner back, in one patch.
fn give_back(entry: &Entry, observed: &Observed, secret: &LiveSecret, means: Means) -> Decision<RollbackRefusal> {
    let mut changes = Vec::new();
    for label in [MANAGED_LABEL, CREATED_BY_LABEL] {
        if secret.labels.contains_key(label) && !entry.labels.contains_key(label) {
            changes.push(PatchOp::Remove {
                path: pointer(["metadata", "labels", label]),
            });
        }
    }
    if secret.annotations.contains_key(DATA_HASH_ANNOTATION) && !entry.annotations.contains_key(DATA_HASH_ANNOTATION) {
        changes.push(PatchOp::Remove {
            path: pointer(["metadata", "annotations", DATA_HASH_ANNOTATION]),
        });
    }
    let mut restore = match data(entry, secret, means, &mut changes) {
        Ok(restore) => restore,
        Err(refusal) => return Decision::Refuse(refusal),
    };
    if means.backup {
        restore.extend(metadata(entry, secret, &mut changes));
    }
    match owner(entry, observed, secret) {
        Ok(Some(op)) => changes.push(op),
        Ok(None) => {}
        Err(refusal) => return Decision::Refuse(refusal),
    }
    if changes.is_empty() && restore.is_empty() {
        return Decision::Done;
    }
    let mut operations = identity_tests(&secret.uid, &secret.resource_version);
    operations.extend(changes);
    let target = ObjectRef::secret(&entry.namespace, &entry.name);
    Decision::Do(Box::new(Step::new(
        target,
        Action::JsonPatch { operations, restore },
        "give the Secret back to KES",
    )))
}

/// Keys to put back; keys that were not there are removed.
fn data(
    entry: &Entry,
    secret: &LiveSecret,
    means: Means,
    changes: &mut Vec<PatchOp>,
) -> Result<Vec<String>, RollbackRefusal> {
    let lost: Vec<String> = entry
        .data
        .iter()
        .filter(|(k, v)| secret.data.get(*k) != Some(v))
        .map(|(k, _)| k.clone())
        .collect();
    let added: Vec<String> = secret
        .data
        .keys()
        .filter(|k| !entry.data.contains_key(*k))
        .cloned()
        .collect();
    let all: Vec<String> = lost.iter().chain(&added).cloned().collect();
    if all.is_empty() || (means.ownership_only && !means.backup) {
        return Ok(Vec::new());
    }
    if !means.backup {
        return Err(RollbackRefusal::NoBackup(all));
    }
    if secret.immutable {
        return if means.ownership_only {
            Ok(Vec::new())
        } else {
            Err(RollbackRefusal::Immutable(all))
        };
    }
    if secret.data.is_empty() && !lost.is_empty() {
        changes.push(PatchOp::Add {
            path: "/data".to_owned(),
            value: json!({}),
        });
    }
    changes.extend(added.iter().map(|k| PatchOp::Remove {
        path: pointer(["data", k]),
    }));
    Ok(lost.iter().map(|k| pointer(["data", k])).collect())
}

/// Labels and annotations that were lost or changed. What others added meanwhile stays.
fn metadata(entry: &Entry, secret: &LiveSecret, changes: &mut Vec<PatchOp>) -> Vec<String> {
    let mut restore = Vec::new();
    for (field, before, now) in [
        ("labels", &entry.labels, &secret.labels),
        ("annotations", &entry.annotations, &secret.annotations),
    ] {
        let lost: Vec<&String> = before
            .iter()
            .filter(|(k, v)| now.get(*k) != Some(v))
            .map(|(k, _)| k)
            .collect();
        if !lost.is_empty() && now.is_empty() {
            changes.push(PatchOp::Add {
                path: pointer(["metadata", field]),
                value: json!({}),
            });
        }
        restore.extend(lost.into_iter().map(|k| pointer(["metadata", field, k])));
    }
    restore
}

/// KES's owner reference, when its object is still the one that owned the Secret.
fn owner(entry: &Entry, observed: &Observed, secret: &LiveSecret) -> Result<Option<PatchOp>, RollbackRefusal> {
    if secret.owners.iter().any(|o| o.uid == entry.kes_uid) {
        return Ok(None);
    }
    if let Some(other) = secret.controller() {
        return Err(RollbackRefusal::Owner(format!("{} {}", other.kind, other.name)));
    }
    let Some(kes) = observed.kes.as_ref().filter(|k| k.uid == entry.kes_uid) else {
        return Ok(None);
    };
    let value = json!({"apiVersion": "kubernetes-client.io/v1", "kind": "ExternalSecret", "name": kes.name, "uid": kes.uid, "controller": true});
    Ok(Some(if secret.owners.is_empty() {
        PatchOp::Add {
            path: "/metadata/ownerReferences".to_owned(),
            value: json!([value]),
        }
    } else {
        PatchOp::Add {
            path: "/metadata/ownerReferences/-".to_owned(),
            value,
        }
    }))
}

/// Starts KES again, once every Secret is back.
#[must_use]
pub fn start_kes(plan: &Plan, live: &[LiveDeployment]) -> Vec<Step> {
    let mut out = Vec::new();
    for workload in &plan.workloads {
        let now = live
            .iter()
            .find(|d| d.namespace == workload.namespace && d.name == workload.name);
        if let Some(d) = now.filter(|d| d.replicas != workload.replicas) {
            out.push(scale(
                workload,
                workload.replicas,
                Some(d.resource_version.clone()),
                "as before the hand-over",
            ));
        }
    }
    out
}
