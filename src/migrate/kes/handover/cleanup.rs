//! Removing KES, last: its objects, its Deployments, its CRD.
//!
//! Deleting the CRD deletes all KES objects, and the garbage collector every Secret one of them still owns. Nothing is
//! deleted while a single Secret has such an owner.

use thiserror::Error;

use super::observed::{LiveDeployment, LiveKes};
use super::step::{Action, Decision, ObjectRef, Step};

/// Why nothing is removed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CleanupRefusal {
    /// Secrets that would be deleted with the KES objects, as `namespace/name`.
    #[error("{} Secrets are still owned by KES and would be deleted: {}", .0.len(), .0.join(", "))]
    Owned(Vec<String>),
    /// KES runs and would own Secrets again.
    #[error("KES deployment {0} is running")]
    KesRunning(String),
    /// KES objects that have no counterpart, as `namespace/name`.
    #[error("{} KES objects have no ExternalSecret of ESO: {}", .0.len(), .0.join(", "))]
    Unconverted(Vec<String>),
}

/// What is left of KES.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remains {
    /// Secrets with an owner of KES's group, in all namespaces, as `namespace/name`.
    pub owned_secrets: Vec<String>,
    /// KES objects, in all namespaces.
    pub objects: Vec<LiveKes>,
    /// KES objects without a ready `ExternalSecret` of ESO, as `namespace/name`.
    pub unconverted: Vec<String>,
    /// KES Deployments.
    pub deployments: Vec<LiveDeployment>,
    /// UID of the CRD, `None` when it is gone.
    pub crd_uid: Option<String>,
}

/// Name of KES's CRD.
pub const CRD: &str = "externalsecrets.kubernetes-client.io";

/// The next step; call again with what is left after every step. `even_unconverted` also removes objects nobody replaced.
#[must_use]
pub fn decide(remains: &Remains, even_unconverted: bool) -> Decision<CleanupRefusal> {
    if !remains.owned_secrets.is_empty() {
        return Decision::Refuse(CleanupRefusal::Owned(remains.owned_secrets.clone()));
    }
    if let Some(d) = remains.deployments.iter().find(|d| !d.stopped()) {
        return Decision::Refuse(CleanupRefusal::KesRunning(format!("{}/{}", d.namespace, d.name)));
    }
    if !even_unconverted && !remains.unconverted.is_empty() {
        return Decision::Refuse(CleanupRefusal::Unconverted(remains.unconverted.clone()));
    }
    if let Some(object) = remains.objects.first() {
        return delete(
            ObjectRef::kes(&object.namespace, &object.name),
            &object.uid,
            "ESO has taken over",
        );
    }
    if let Some(d) = remains.deployments.first() {
        return delete(
            ObjectRef::new("apps/v1", "Deployment", &d.namespace, &d.name),
            &d.uid,
            "KES has nothing left to do",
        );
    }
    match &remains.crd_uid {
        Some(uid) => {
            let target = ObjectRef {
                api_version: "apiextensions.k8s.io/v1".to_owned(),
                kind: "CustomResourceDefinition".to_owned(),
                namespace: None,
                name: CRD.to_owned(),
            };
            delete(target, uid, "no object of it is left")
        }
        None => Decision::Done,
    }
}

fn delete(target: ObjectRef, uid: &str, why: &str) -> Decision<CleanupRefusal> {
    Decision::Do(Box::new(Step::new(
        target,
        Action::Delete {
            uid: uid.to_owned(),
            resource_version: None,
        },
        why,
    )))
}
