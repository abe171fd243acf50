//! The plan: which Secrets are taken over, in which state they were, and what will be written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fingerprint::{Fingerprint, Fingerprinter};
use super::observed::{LiveDeployment, LiveKes, LiveSecret};
use super::shadow;
use super::step::{Action, ObjectRef, PatchOp, Step, identity_tests};
use crate::migrate::kes::finding::Code;

/// Version of the plan file.
pub const VERSION: u32 = 1;

/// A KES Deployment and what a rollback needs to start it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Replicas when the plan was made.
    pub replicas: u32,
}

/// Whether an entry may be handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state", content = "reason")]
pub enum Readiness {
    /// Yes.
    Ready,
    /// There is no Secret yet; the `ExternalSecret` is applied, nothing is taken over.
    NoSecret,
    /// No; the text says why.
    Refused(String),
}

/// One Secret of the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Namespace.
    pub namespace: String,
    /// Name of the KES object, the Secret and the `ExternalSecret`.
    pub name: String,
    /// Whether it may be handed over.
    pub readiness: Readiness,
    /// UID of the KES object.
    pub kes_uid: String,
    /// UID of the Secret, empty when there is none.
    pub secret_uid: String,
    /// Type of the Secret.
    pub secret_type: String,
    /// `immutable` of the Secret.
    pub immutable: bool,
    /// Keys of the Secret by fingerprint.
    pub data: BTreeMap<String, Fingerprint>,
    /// Labels of the Secret by fingerprint.
    pub labels: BTreeMap<String, Fingerprint>,
    /// Annotations of the Secret by fingerprint.
    pub annotations: BTreeMap<String, Fingerprint>,
    /// The `ExternalSecret` to apply.
    pub manifest: Value,
}

/// A plan, as it is kept in the plan file (mode 0600: it holds the key of its fingerprints).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// [`VERSION`].
    pub version: u32,
    /// Key of all fingerprints.
    pub fingerprints: Fingerprinter,
    /// UID of the cluster's `kube-system` namespace: a plan is for one cluster.
    pub cluster: String,
    /// KES Deployments.
    pub workloads: Vec<Workload>,
    /// Stores to apply.
    pub stores: Vec<Value>,
    /// Secrets, sorted by namespace and name.
    pub entries: Vec<Entry>,
}

/// What is known about one KES object when the plan is made.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The KES object.
    pub kes: LiveKes,
    /// Its Secret.
    pub secret: Option<LiveSecret>,
    /// The converted object, or why there is none.
    pub manifest: Result<Value, String>,
    /// Another `ExternalSecret` of ESO that writes the same Secret, by name.
    pub rival: Option<String>,
}

/// Makes a plan.
#[must_use]
pub fn build(
    candidates: &[Candidate],
    deployments: &[LiveDeployment],
    stores: Vec<Value>,
    cluster: &str,
    fingerprints: Fingerprinter,
) -> Plan {
    let mut entries: Vec<Entry> = candidates.iter().map(entry).collect();
    entries.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    let workloads = deployments
        .iter()
        .map(|d| Workload {
            namespace: d.namespace.clone(),
            name: d.name.clone(),
            uid: d.uid.clone(),
            replicas: d.replicas,
        })
        .collect();
    Plan {
        version: VERSION,
        fingerprints,
        cluster: cluster.to_owned(),
        workloads,
        stores,
        entries,
    }
}

fn entry(candidate: &Candidate) -> Entry {
    let secret = candidate.secret.as_ref();
    Entry {
        namespace: candidate.kes.namespace.clone(),
        name: candidate.kes.name.clone(),
        readiness: readiness(candidate),
        kes_uid: candidate.kes.uid.clone(),
        secret_uid: secret.map(|s| s.uid.clone()).unwrap_or_default(),
        secret_type: secret.map(|s| s.secret_type.clone()).unwrap_or_default(),
        immutable: secret.is_some_and(|s| s.immutable),
        data: secret.map(|s| s.data.clone()).unwrap_or_default(),
        labels: secret.map(|s| s.labels.clone()).unwrap_or_default(),
        annotations: secret.map(|s| s.annotations.clone()).unwrap_or_default(),
        manifest: candidate.manifest.clone().unwrap_or_default(),
    }
}

fn readiness(candidate: &Candidate) -> Readiness {
    let manifest = match &candidate.manifest {
        Ok(m) => m,
        Err(reason) => return Readiness::Refused(reason.clone()),
    };
    if let Some(rival) = &candidate.rival {
        return Readiness::Refused(format!("externalsecret {rival} writes the same Secret already"));
    }
    let Some(secret) = &candidate.secret else {
        return Readiness::NoSecret;
    };
    if secret.deleting {
        return Readiness::Refused("the Secret is being deleted".to_owned());
    }
    let target = &manifest["spec"]["target"];
    let wanted = target["template"]["type"].as_str().unwrap_or("Opaque");
    if wanted != secret.secret_type {
        return Readiness::Refused(format!(
            "{}: the Secret has type {}, the ExternalSecret says {wanted}, and a type cannot be changed",
            Code::TypeMismatch,
            secret.secret_type
        ));
    }
    for owner in &secret.owners {
        let same = owner.is_eso() && owner.name == manifest["metadata"]["name"].as_str().unwrap_or_default();
        if owner.is_kes() && owner.uid != candidate.kes.uid {
            return Readiness::Refused(format!(
                "the Secret is owned by another KES object {} than the one that exists",
                owner.name
            ));
        }
        if !owner.is_kes() && !same {
            return Readiness::Refused(format!("the Secret is also owned by {} {}", owner.kind, owner.name));
        }
    }
    Readiness::Ready
}

impl Plan {
    /// Entries that will be handed over.
    pub fn ready(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|e| e.readiness == Readiness::Ready)
    }

    /// The writes of a whole hand-over, in order, for reading: stores, shadows, stop, then each Secret.
    #[must_use]
    pub fn steps(&self, with_shadow: bool) -> Vec<Step> {
        let mut out: Vec<Step> = self
            .stores
            .iter()
            .filter_map(|s| apply(s, "store of the converted objects"))
            .collect();
        if with_shadow {
            for entry in self.ready() {
                let shadow = shadow::manifest(&entry.manifest);
                let Some(target) = ObjectRef::of(&shadow) else { continue };
                out.extend(apply(&shadow, "compare with the live Secret"));
                out.push(Step::new(
                    target,
                    Action::Delete {
                        uid: String::new(),
                        resource_version: None,
                    },
                    "after the comparison",
                ));
            }
        }
        for workload in &self.workloads {
            out.push(scale(workload, 0, None, "KES must not write while ESO adopts"));
        }
        for entry in self
            .entries
            .iter()
            .filter(|e| !matches!(e.readiness, Readiness::Refused(_)))
        {
            if entry.readiness == Readiness::Ready {
                let mut operations = identity_tests(&entry.secret_uid, "(as read)");
                operations.push(PatchOp::Test {
                    path: "/metadata/ownerReferences/0/uid".to_owned(),
                    value: entry.kes_uid.as_str().into(),
                });
                operations.push(PatchOp::Remove {
                    path: "/metadata/ownerReferences/0".to_owned(),
                });
                let action = Action::JsonPatch {
                    operations,
                    restore: Vec::new(),
                };
                out.push(Step::new(
                    ObjectRef::secret(&entry.namespace, &entry.name),
                    action,
                    "release from KES",
                ));
            }
            out.extend(apply(&entry.manifest, "ESO adopts the Secret"));
        }
        out
    }

    /// Rights every step needs: verb, group, resource, subresource, namespace.
    #[must_use]
    pub fn permissions(&self) -> Vec<Permission> {
        let mut out = Vec::new();
        let mut need = |verb: &'static str,
                        group: &'static str,
                        resource: &'static str,
                        subresource: &'static str,
                        namespace: Option<&str>| {
            let permission = Permission {
                verb,
                group,
                resource,
                subresource,
                namespace: namespace.map(str::to_owned),
            };
            if !out.contains(&permission) {
                out.push(permission);
            }
        };
        for store in &self.stores {
            let resource = if store["kind"] == "ClusterSecretStore" {
                "clustersecretstores"
            } else {
                "secretstores"
            };
            let namespace = store["metadata"]["namespace"].as_str();
            for verb in ["get", "create", "patch"] {
                need(verb, "external-secrets.io", resource, "", namespace);
            }
        }
        for workload in &self.workloads {
            need("get", "apps", "deployments", "", Some(&workload.namespace));
            need("patch", "apps", "deployments", "scale", Some(&workload.namespace));
            need("list", "", "pods", "", Some(&workload.namespace));
        }
        for entry in &self.entries {
            let namespace = Some(entry.namespace.as_str());
            need("get", "kubernetes-client.io", "externalsecrets", "", namespace);
            for verb in ["get", "patch"] {
                need(verb, "", "secrets", "", namespace);
            }
            for verb in ["get", "create", "patch", "delete"] {
                need(verb, "external-secrets.io", "externalsecrets", "", namespace);
            }
        }
        out
    }
}

/// One right, as a `SelfSubjectAccessReview` asks for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Permission {
    /// Verb.
    pub verb: &'static str,
    /// API group, empty for core.
    pub group: &'static str,
    /// Resource.
    pub resource: &'static str,
    /// Subresource, empty for none.
    pub subresource: &'static str,
    /// Namespace; `None` for cluster-scoped resources.
    pub namespace: Option<String>,
}

fn apply(manifest: &Value, why: &str) -> Option<Step> {
    Some(Step::new(
        ObjectRef::of(manifest)?,
        Action::Apply {
            manifest: manifest.clone(),
        },
        why,
    ))
}

/// The step that scales a KES Deployment.
#[must_use]
pub fn scale(workload: &Workload, replicas: u32, resource_version: Option<String>, why: &str) -> Step {
    let target = ObjectRef::new("apps/v1", "Deployment", &workload.namespace, &workload.name);
    Step::new(
        target,
        Action::Scale {
            replicas,
            resource_version,
        },
        why,
    )
}

/// Who would undo a change to an object: the tool and the mark it left.
#[must_use]
pub fn managed_by(object: &Value) -> Option<(&'static str, String)> {
    const MARKS: &[(&str, &str)] = &[
        ("argocd.argoproj.io/tracking-id", "Argo CD"),
        ("argocd.argoproj.io/instance", "Argo CD"),
        ("kustomize.toolkit.fluxcd.io/name", "Flux"),
        ("helm.toolkit.fluxcd.io/name", "Flux"),
        ("objectset.rio.cattle.io/id", "Fleet"),
        ("meta.helm.sh/release-name", "Helm"),
    ];
    for (mark, tool) in MARKS {
        for place in ["labels", "annotations"] {
            if let Some(value) = object["metadata"][place].get(*mark).and_then(Value::as_str) {
                return Some((tool, value.to_owned()));
            }
        }
    }
    None
}
