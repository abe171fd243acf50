//! One write to the cluster, with the guards that make it safe to send late or twice.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

/// An object by kind and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace; `None` for cluster-scoped objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl ObjectRef {
    /// A namespaced object.
    #[must_use]
    pub fn new(api_version: &str, kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        }
    }

    /// A Secret.
    #[must_use]
    pub fn secret(namespace: &str, name: &str) -> Self {
        Self::new("v1", "Secret", namespace, name)
    }

    /// ESO's `ExternalSecret`.
    #[must_use]
    pub fn external_secret(namespace: &str, name: &str) -> Self {
        Self::new("external-secrets.io/v1", "ExternalSecret", namespace, name)
    }

    /// KES's `ExternalSecret`.
    #[must_use]
    pub fn kes(namespace: &str, name: &str) -> Self {
        Self::new("kubernetes-client.io/v1", "ExternalSecret", namespace, name)
    }

    /// The object a manifest describes; `None` without kind or name.
    #[must_use]
    pub fn of(manifest: &Value) -> Option<Self> {
        let field = |v: &Value| v.as_str().map(str::to_owned);
        Some(Self {
            api_version: field(&manifest["apiVersion"])?,
            kind: field(&manifest["kind"])?,
            namespace: field(&manifest["metadata"]["namespace"]),
            name: field(&manifest["metadata"]["name"])?,
        })
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = self.api_version.split_once('/').map_or("", |(g, _)| g);
        let kind = self.kind.to_lowercase();
        let plural = if group.is_empty() {
            kind
        } else {
            format!("{kind}.{group}")
        };
        match &self.namespace {
            Some(namespace) => write!(f, "{plural} {namespace}/{}", self.name),
            None => write!(f, "{plural} {}", self.name),
        }
    }
}

/// One operation of a JSON patch (RFC 6902).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PatchOp {
    /// The patch fails as a whole unless the value is there.
    Test {
        /// JSON pointer.
        path: String,
        /// Expected value.
        value: Value,
    },
    /// Adds or replaces.
    Add {
        /// JSON pointer.
        path: String,
        /// New value.
        value: Value,
    },
    /// Removes.
    Remove {
        /// JSON pointer.
        path: String,
    },
}

/// A JSON pointer from its parts.
#[must_use]
pub fn pointer<const N: usize>(parts: [&str; N]) -> String {
    parts.iter().fold(String::new(), |out, part| {
        out + "/" + &part.replace('~', "~0").replace('/', "~1")
    })
}

/// Tests that the object is the one that was read, in the state it was read in.
#[must_use]
pub fn identity_tests(uid: &str, resource_version: &str) -> Vec<PatchOp> {
    vec![
        PatchOp::Test {
            path: "/metadata/uid".to_owned(),
            value: uid.into(),
        },
        PatchOp::Test {
            path: "/metadata/resourceVersion".to_owned(),
            value: resource_version.into(),
        },
    ]
}

/// How a write is sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Server-side apply of the whole object.
    Apply {
        /// The manifest.
        manifest: Value,
    },
    /// JSON patch. The executor adds an `add` for every pointer of `restore`, with the value its own copy of the object
    /// has there, so that no secret value is part of a step.
    JsonPatch {
        /// Tests first, then changes.
        operations: Vec<PatchOp>,
        /// JSON pointers of what is put back.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        restore: Vec<String>,
    },
    /// Merge patch; `metadata.resourceVersion` inside it is the precondition.
    MergePatch {
        /// The patch.
        patch: Value,
    },
    /// Merge patch of the `scale` subresource with the same precondition.
    Scale {
        /// Wanted replicas.
        replicas: u32,
        /// Precondition; `None` to scale whatever is there.
        resource_version: Option<String>,
    },
    /// Delete with preconditions.
    Delete {
        /// UID the object must have.
        uid: String,
        /// State the object must be in; `None` for any.
        resource_version: Option<String>,
    },
}

/// One write and why it is made.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// What is written to.
    pub target: ObjectRef,
    /// How.
    pub action: Action,
    /// Reason, as a fragment for tables.
    pub why: String,
}

impl Step {
    /// A step.
    pub fn new(target: ObjectRef, action: Action, why: impl Into<String>) -> Self {
        Self {
            target,
            action,
            why: why.into(),
        }
    }

    /// The API verb.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self.action {
            Action::Delete { .. } => "delete",
            _ => "patch",
        }
    }

    /// One line for dry runs: verb, object, reason.
    #[must_use]
    pub fn line(&self) -> String {
        let detail = match &self.action {
            Action::Apply { .. } => "apply".to_owned(),
            Action::JsonPatch { operations, .. } => {
                let guards = operations.iter().filter(|o| matches!(o, PatchOp::Test { .. })).count();
                format!("json patch, {guards} guards")
            }
            Action::MergePatch { .. } => "merge patch".to_owned(),
            Action::Scale { replicas, .. } => format!("scale to {replicas}"),
            Action::Delete { .. } => "uid guarded".to_owned(),
        };
        format!("{} {} ({detail}): {}", self.verb(), self.target, self.why)
    }

    /// Body of the scale patch or delete options, where the action has one of fixed form.
    #[must_use]
    pub fn body(&self) -> Value {
        match &self.action {
            Action::Apply { manifest } => manifest.clone(),
            Action::JsonPatch { operations, .. } => json!(operations),
            Action::MergePatch { patch } => patch.clone(),
            Action::Scale {
                replicas,
                resource_version: None,
            } => json!({"spec": {"replicas": replicas}}),
            Action::Scale {
                replicas,
                resource_version: Some(rv),
            } => json!({"metadata": {"resourceVersion": rv}, "spec": {"replicas": replicas}}),
            Action::Delete { uid, resource_version } => {
                let mut preconditions = json!({"uid": uid});
                if let Some(rv) = resource_version {
                    preconditions["resourceVersion"] = rv.as_str().into();
                }
                json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions, "propagationPolicy": "Background"})
            }
        }
    }
}

/// What to do with one object next.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision<R> {
    /// Send this, then look again.
    Do(Box<Step>),
    /// Nothing to send; look again until something changed or the time is over.
    Wait {
        /// What is waited for, as a fragment.
        for_what: String,
        /// Longest time in seconds.
        seconds: u64,
    },
    /// Nothing is left to do.
    Done,
    /// Stop here.
    Refuse(R),
}
