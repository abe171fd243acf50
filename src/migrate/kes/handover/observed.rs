//! What was read from the cluster, cut down to what decisions need. Secret values are fingerprints from here on.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fingerprint::{Fingerprint, Fingerprinter};
use crate::migrate::kes::base64;

/// Group of KES, whose owner references the hand-over removes.
pub const KES_GROUP: &str = "kubernetes-client.io";
/// Group of ESO.
pub const ESO_GROUP: &str = "external-secrets.io";
/// Label of Secrets ESO manages.
pub const MANAGED_LABEL: &str = "reconcile.external-secrets.io/managed";
/// Label that names the object that created a Secret; left behind, it makes a later `ExternalSecret` delete the Secret.
pub const CREATED_BY_LABEL: &str = "reconcile.external-secrets.io/created-by";
/// Annotation with ESO's own hash of the data.
pub const DATA_HASH_ANNOTATION: &str = "reconcile.external-secrets.io/data-hash";

/// An owner reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// True for the managing owner.
    pub controller: bool,
}

impl Owner {
    /// Group without version.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(g, _)| g)
    }

    /// True for a KES object.
    #[must_use]
    pub fn is_kes(&self) -> bool {
        self.group() == KES_GROUP
    }

    /// True for an `ExternalSecret` of ESO.
    #[must_use]
    pub fn is_eso(&self) -> bool {
        self.group() == ESO_GROUP && self.kind == "ExternalSecret"
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Owner references of any object, in order.
#[must_use]
pub fn owners(object: &Value) -> Vec<Owner> {
    let list = object["metadata"]["ownerReferences"].as_array();
    list.into_iter()
        .flatten()
        .map(|o| Owner {
            api_version: text(&o["apiVersion"]),
            kind: text(&o["kind"]),
            name: text(&o["name"]),
            uid: text(&o["uid"]),
            controller: o["controller"].as_bool().unwrap_or(false),
        })
        .collect()
}

/// A live Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSecret {
    /// UID.
    pub uid: String,
    /// Resource version.
    pub resource_version: String,
    /// `type`.
    pub secret_type: String,
    /// `immutable`.
    pub immutable: bool,
    /// Owner references, in order.
    pub owners: Vec<Owner>,
    /// Labels by fingerprint: annotations and labels can repeat secret values.
    pub labels: BTreeMap<String, Fingerprint>,
    /// Annotations by fingerprint.
    pub annotations: BTreeMap<String, Fingerprint>,
    /// Data by fingerprint.
    pub data: BTreeMap<String, Fingerprint>,
    /// True while deletion waits for finalizers.
    pub deleting: bool,
}

impl LiveSecret {
    /// Reads a Secret as the API server returns it.
    #[must_use]
    pub fn read(object: &Value, fingerprinter: &Fingerprinter) -> Self {
        let texts = |field: &str| {
            let map = object["metadata"][field].as_object().into_iter().flatten();
            map.map(|(k, v)| (k.clone(), fingerprinter.of(k, text(v).as_bytes())))
                .collect()
        };
        let data = object["data"].as_object().into_iter().flatten();
        let data = data.map(|(k, v)| {
            let bytes = v.as_str().and_then(base64::decode).unwrap_or_default();
            (k.clone(), fingerprinter.of(k, &bytes))
        });
        Self {
            uid: text(&object["metadata"]["uid"]),
            resource_version: text(&object["metadata"]["resourceVersion"]),
            secret_type: object["type"].as_str().unwrap_or("Opaque").to_owned(),
            immutable: object["immutable"].as_bool().unwrap_or(false),
            owners: owners(object),
            labels: texts("labels"),
            annotations: texts("annotations"),
            data: data.collect(),
            deleting: object["metadata"]["deletionTimestamp"].is_string(),
        }
    }

    /// The owner that controls the Secret.
    #[must_use]
    pub fn controller(&self) -> Option<&Owner> {
        self.owners.iter().find(|o| o.controller)
    }
}

/// A live `ExternalSecret` of ESO.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveExternalSecret {
    /// UID.
    pub uid: String,
    /// Resource version.
    pub resource_version: String,
    /// `spec`, as the API server returns it.
    pub spec: Value,
    /// Reason of condition Ready when its status is True.
    pub ready: Option<String>,
    /// Reason of condition Ready when its status is False.
    pub failed: Option<String>,
    /// True when the status speaks of the present generation.
    pub current: bool,
    /// `status.refreshTime` in RFC 3339, UTC.
    pub refresh_time: Option<String>,
    /// True while deletion waits for finalizers.
    pub deleting: bool,
}

impl LiveExternalSecret {
    /// Reads an `ExternalSecret` as the API server returns it.
    #[must_use]
    pub fn read(object: &Value) -> Self {
        let conditions = object["status"]["conditions"].as_array();
        let ready = conditions.into_iter().flatten().find(|c| c["type"] == "Ready");
        let reason = |status: &str| ready.filter(|c| c["status"] == status).map(|c| text(&c["reason"]));
        let generation = object["metadata"]["generation"].to_string();
        let synced = text(&object["status"]["syncedResourceVersion"]);
        Self {
            uid: text(&object["metadata"]["uid"]),
            resource_version: text(&object["metadata"]["resourceVersion"]),
            spec: object["spec"].clone(),
            ready: reason("True"),
            failed: reason("False"),
            current: synced.split_once('-').is_some_and(|(g, _)| g == generation),
            refresh_time: object["status"]["refreshTime"].as_str().map(str::to_owned),
            deleting: object["metadata"]["deletionTimestamp"].is_string(),
        }
    }

    /// `spec.target.creationPolicy`, the default filled in.
    #[must_use]
    pub fn creation_policy(&self) -> &str {
        self.spec["target"]["creationPolicy"].as_str().unwrap_or("Owner")
    }
}

/// A live KES object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveKes {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

impl LiveKes {
    /// Reads a KES object.
    #[must_use]
    pub fn read(object: &Value) -> Self {
        let field = |n: &str| text(&object["metadata"][n]);
        Self {
            namespace: field("namespace"),
            name: field("name"),
            uid: field("uid"),
        }
    }
}

/// A KES Deployment with the pods that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveDeployment {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Resource version.
    pub resource_version: String,
    /// `spec.replicas`, the default filled in.
    pub replicas: u32,
    /// Pods that exist, also terminating ones.
    pub pods: usize,
}

impl LiveDeployment {
    /// Reads a Deployment; `pods` is the number of pods its selector matches.
    #[must_use]
    pub fn read(object: &Value, pods: usize) -> Self {
        let field = |n: &str| text(&object["metadata"][n]);
        let replicas = object["spec"]["replicas"].as_u64().unwrap_or(1);
        Self {
            namespace: field("namespace"),
            name: field("name"),
            uid: field("uid"),
            resource_version: field("resourceVersion"),
            replicas: u32::try_from(replicas).unwrap_or(u32::MAX),
            pods,
        }
    }

    /// True when nothing of it runs or will run.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.replicas == 0 && self.pods == 0
    }
}
