//! The hand-over of one Secret: release from KES, apply, adopt, check.

use serde_json::{Value, json};
use thiserror::Error;

use super::observed::{LiveDeployment, LiveExternalSecret, LiveKes, LiveSecret};
use super::plan::{Entry, Plan, Readiness, scale};
use super::step::{Action, Decision, ObjectRef, PatchOp, Step, identity_tests};
use crate::migrate::defaults;

/// Longest time an adoption may take, in seconds.
pub const ADOPTION_SECONDS: u64 = 60;
/// After this many seconds KES is looked at again, in case somebody started it.
pub const RECHECK_SECONDS: u64 = 15;

/// Why a Secret is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The plan says so.
    #[error("{0}")]
    Planned(String),
    /// KES runs; it would write the Secret back.
    #[error("KES deployment {0} is running")]
    KesRunning(String),
    /// No Secret.
    #[error("the Secret is gone")]
    Gone,
    /// A new Secret has the name.
    #[error("the Secret was recreated since the plan was made")]
    Recreated,
    /// Somebody deletes it.
    #[error("the Secret is being deleted")]
    Deleting,
    /// The type is another one.
    #[error("the Secret has another type than in the plan")]
    Type,
    /// Keys differ.
    #[error("keys changed since the plan was made: {}", .0.join(", "))]
    Data(Vec<String>),
    /// Labels or annotations are gone or changed.
    #[error("labels or annotations changed since the plan was made: {}", .0.join(", "))]
    Metadata(Vec<String>),
    /// Another owner.
    #[error("the Secret is also owned by {0}")]
    Owner(String),
    /// KES's object was recreated, so the reference on the Secret points to nothing and the garbage collector is near.
    #[error("the owner reference names a KES object that does not exist")]
    StaleOwner,
    /// ESO says no.
    #[error("ESO does not adopt the Secret: {0}")]
    NotAdopted(String),
}

/// What is live for one entry.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// The Secret.
    pub secret: Option<LiveSecret>,
    /// The `ExternalSecret` of ESO.
    pub external_secret: Option<LiveExternalSecret>,
    /// The KES object.
    pub kes: Option<LiveKes>,
}

/// Stops KES: the next scale step, or a wait for its pods, or done.
#[must_use]
pub fn stop_kes(plan: &Plan, live: &[LiveDeployment]) -> Decision<Refusal> {
    for workload in &plan.workloads {
        let Some(d) = live
            .iter()
            .find(|d| d.namespace == workload.namespace && d.name == workload.name)
        else {
            continue;
        };
        if d.replicas > 0 {
            let step = scale(
                workload,
                0,
                Some(d.resource_version.clone()),
                "KES must not write while ESO adopts",
            );
            return Decision::Do(Box::new(step));
        }
    }
    match live.iter().find(|d| !d.stopped()) {
        // A Deployment the plan does not know: it appeared later, and nobody asked to stop it.
        Some(d) if d.replicas > 0 => Decision::Refuse(Refusal::KesRunning(format!("{}/{}", d.namespace, d.name))),
        Some(_) => Decision::Wait {
            for_what: "the pods of KES to end".to_owned(),
            seconds: 120,
        },
        None => Decision::Done,
    }
}

/// The next step for one Secret. Call again after every step and every change, until done or refused.
///
/// `kes` are all KES Deployments as they are now; `since` is the time of the last apply in this run (RFC 3339, UTC),
/// `None` when this run did not apply.
#[must_use]
pub fn decide(entry: &Entry, observed: &Observed, kes: &[LiveDeployment], since: Option<&str>) -> Decision<Refusal> {
    if let Readiness::Refused(reason) = &entry.readiness {
        return Decision::Refuse(Refusal::Planned(reason.clone()));
    }
    if let Some(d) = kes.iter().find(|d| !d.stopped()) {
        return Decision::Refuse(Refusal::KesRunning(format!("{}/{}", d.namespace, d.name)));
    }
    if entry.readiness == Readiness::NoSecret {
        return without_secret(entry, observed);
    }
    let secret = match unchanged(entry, observed) {
        Ok(secret) => secret,
        Err(refusal) => return Decision::Refuse(refusal),
    };
    if let Some(step) = release(entry, observed, secret) {
        return step.map_or_else(Decision::Refuse, |s| Decision::Do(Box::new(s)));
    }
    adoption(entry, observed, secret, since)
}

/// The Secret, when it is the one of the plan and nothing of it changed.
fn unchanged<'a>(entry: &Entry, observed: &'a Observed) -> Result<&'a LiveSecret, Refusal> {
    let secret = observed.secret.as_ref().ok_or(Refusal::Gone)?;
    if secret.uid != entry.secret_uid {
        return Err(Refusal::Recreated);
    }
    if secret.deleting {
        return Err(Refusal::Deleting);
    }
    if secret.secret_type != entry.secret_type {
        return Err(Refusal::Type);
    }
    let mut changed: Vec<String> = entry
        .data
        .iter()
        .filter(|(k, v)| secret.data.get(*k) != Some(v))
        .map(|(k, _)| k.clone())
        .collect();
    changed.extend(secret.data.keys().filter(|k| !entry.data.contains_key(*k)).cloned());
    if !changed.is_empty() {
        return Err(Refusal::Data(changed));
    }
    let lost =
        |before: &std::collections::BTreeMap<String, _>, now: &std::collections::BTreeMap<String, _>| -> Vec<String> {
            before
                .iter()
                .filter(|(k, v)| now.get(*k) != Some(*v))
                .map(|(k, _)| k.clone())
                .collect()
        };
    let mut metadata = lost(&entry.labels, &secret.labels);
    metadata.extend(lost(&entry.annotations, &secret.annotations));
    if metadata.is_empty() {
        Ok(secret)
    } else {
        Err(Refusal::Metadata(metadata))
    }
}

/// The guarded removal of KES's owner reference, while there is one.
fn release(entry: &Entry, observed: &Observed, secret: &LiveSecret) -> Option<Result<Step, Refusal>> {
    let eso_uid = observed.external_secret.as_ref().map(|e| e.uid.as_str());
    if let Some(other) = secret
        .owners
        .iter()
        .find(|o| !o.is_kes() && Some(o.uid.as_str()) != eso_uid)
    {
        return Some(Err(Refusal::Owner(format!("{} {}", other.kind, other.name))));
    }
    let (index, owner) = secret.owners.iter().enumerate().find(|(_, o)| o.is_kes())?;
    if owner.uid != entry.kes_uid || observed.kes.as_ref().is_none_or(|k| k.uid != owner.uid) {
        return Some(Err(Refusal::StaleOwner));
    }
    let path = format!("/metadata/ownerReferences/{index}");
    let mut operations = identity_tests(&secret.uid, &secret.resource_version);
    operations.push(PatchOp::Test {
        path: format!("{path}/uid"),
        value: owner.uid.as_str().into(),
    });
    operations.push(PatchOp::Remove { path });
    let action = Action::JsonPatch {
        operations,
        restore: Vec::new(),
    };
    Some(Ok(Step::new(
        ObjectRef::secret(&entry.namespace, &entry.name),
        action,
        "release from KES",
    )))
}

fn apply(entry: &Entry, why: &str) -> Step {
    let name = entry.manifest["metadata"]["name"].as_str().unwrap_or(&entry.name);
    Step::new(
        ObjectRef::external_secret(&entry.namespace, name),
        Action::Apply {
            manifest: entry.manifest.clone(),
        },
        why,
    )
}

/// Nobody owns the Secret, or ESO does: apply, wait, check.
fn adoption(entry: &Entry, observed: &Observed, secret: &LiveSecret, since: Option<&str>) -> Decision<Refusal> {
    let Some(live) = &observed.external_secret else {
        return Decision::Do(Box::new(apply(entry, "ESO adopts the Secret")));
    };
    if live.deleting {
        return Decision::Wait {
            for_what: "the old ExternalSecret to go".to_owned(),
            seconds: ADOPTION_SECONDS,
        };
    }
    if !defaults::same_spec(&entry.manifest, &live.spec) {
        return Decision::Do(Box::new(apply(entry, "ESO adopts the Secret")));
    }
    let adopted = secret.controller().is_some_and(|o| o.uid == live.uid);
    let fresh = since.is_none_or(|s| live.refresh_time.as_deref().is_some_and(|t| t >= s));
    match (&live.ready, &live.failed) {
        (Some(reason), _) if reason == "SecretSynced" && live.current && adopted && fresh => Decision::Done,
        _ => Decision::Wait {
            for_what: "ESO to adopt the Secret".to_owned(),
            seconds: ADOPTION_SECONDS,
        },
    }
}

/// There was no Secret when the plan was made: only the `ExternalSecret` is applied.
fn without_secret(entry: &Entry, observed: &Observed) -> Decision<Refusal> {
    if let Some(owner) = observed
        .secret
        .as_ref()
        .and_then(|s| s.owners.iter().find(|o| o.is_kes()))
    {
        return Decision::Refuse(Refusal::Owner(format!(
            "KES object {}, which made it after the plan",
            owner.name
        )));
    }
    match &observed.external_secret {
        Some(live) if defaults::same_spec(&entry.manifest, &live.spec) => match &live.ready {
            Some(reason) if reason == "SecretSynced" && live.current => Decision::Done,
            _ => Decision::Wait {
                for_what: "ESO to write the Secret".to_owned(),
                seconds: ADOPTION_SECONDS,
            },
        },
        _ => Decision::Do(Box::new(apply(entry, "ESO writes the Secret"))),
    }
}

/// Asks ESO to look again, for an `ExternalSecret` that failed before the Secret was released: it does not retry by itself
/// when the Secret carries no label of ESO. `now` is Unix time in seconds.
#[must_use]
pub fn nudge(entry: &Entry, live: &LiveExternalSecret, now: u64) -> Option<Step> {
    live.failed.as_ref()?;
    let name = entry.manifest["metadata"]["name"].as_str().unwrap_or(&entry.name);
    let patch = json!({"metadata": {"resourceVersion": live.resource_version, "annotations": {"external-secrets.io/force-sync": now.to_string()}}});
    Some(Step::new(
        ObjectRef::external_secret(&entry.namespace, name),
        Action::MergePatch { patch },
        "ESO looks again",
    ))
}

/// The owner reference written by hand, for clusters where ESO is scaled to 0 meanwhile. The `ExternalSecret` must exist.
#[must_use]
pub fn replace_owner(entry: &Entry, secret: &LiveSecret, external_secret: &LiveExternalSecret) -> Option<Step> {
    let (index, owner) = secret
        .owners
        .iter()
        .enumerate()
        .find(|(_, o)| o.is_kes() && o.uid == entry.kes_uid)?;
    let path = format!("/metadata/ownerReferences/{index}");
    let mut operations = identity_tests(&secret.uid, &secret.resource_version);
    operations.push(PatchOp::Test {
        path: format!("{path}/uid"),
        value: owner.uid.as_str().into(),
    });
    operations.push(PatchOp::Remove { path: path.clone() });
    operations.push(PatchOp::Add {
        path,
        value: eso_owner(entry, &external_secret.uid),
    });
    Some(Step::new(
        ObjectRef::secret(&entry.namespace, &entry.name),
        Action::JsonPatch {
            operations,
            restore: Vec::new(),
        },
        "hand the ownership over",
    ))
}

/// The owner reference ESO writes.
fn eso_owner(entry: &Entry, uid: &str) -> Value {
    json!({
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "name": entry.manifest["metadata"]["name"],
        "uid": uid,
        "controller": true,
        "blockOwnerDeletion": true,
    })
}
