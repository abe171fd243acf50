//! What ClusterExternalSecret and ClusterPushSecret share: choosing namespaces, and one child in each.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use serde_json::{Value, json};

use super::context::Context;
use super::objects::NamespaceMeta;
use super::store_access::selects;
use crate::api::{GROUP, MetadataTemplate};
use crate::cluster::cache::{Delta, Health};
use crate::cluster::error::ClusterError;
use crate::cluster::rest::Resource;

/// How many namespaces are worked on at once.
pub const AT_ONCE: usize = 24;

/// The object whose children these are.
#[derive(Clone, Copy)]
pub struct Parent<'a> {
    /// `kind`.
    pub kind: &'static str,
    /// `apiVersion`.
    pub api_version: &'static str,
    /// Name.
    pub name: &'a str,
    /// UID.
    pub uid: &'a str,
}

impl Parent<'_> {
    /// Whether the controller of an object is this parent: by group, kind and name, not by UID (as in ESO).
    pub fn controls(&self, meta: &ObjectMeta) -> bool {
        controller(meta, self.kind).as_deref() == Some(self.name)
    }

    fn reference(&self) -> Value {
        json!({
            "apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid,
            "controller": true, "blockOwnerDeletion": true,
        })
    }

    /// Whether the owner reference is there as this parent would write it.
    pub fn is_referenced(&self, meta: &ObjectMeta) -> bool {
        let ours = |o: &OwnerReference| o.controller == Some(true) && o.uid == self.uid && o.kind == self.kind;
        meta.owner_references.iter().flatten().any(ours)
    }
}

/// Name of the controlling object of this kind of ESO's group, if there is one.
pub fn controller(meta: &ObjectMeta, kind: &str) -> Option<String> {
    let owners = meta.owner_references.iter().flatten();
    let mut ours = owners
        .filter(|o| o.controller == Some(true) && o.kind == kind && o.api_version.split('/').next() == Some(GROUP));
    ours.next().map(|o| o.name.clone())
}

/// Whether a change of a namespace can change what is chosen.
pub fn namespace_moved(delta: &Delta<NamespaceMeta>) -> bool {
    match (&delta.old, &delta.new) {
        (Some(old), Some(new)) => {
            old.metadata.labels != new.metadata.labels
                || old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        }
        _ => true,
    }
}

/// Whether any selector selects the namespace as it was or is.
pub fn concerns(selectors: &[LabelSelector], delta: &Delta<NamespaceMeta>) -> bool {
    let empty = BTreeMap::new();
    [&delta.old, &delta.new].into_iter().flatten().any(|n| {
        let labels = n.metadata.labels.as_ref().unwrap_or(&empty);
        selectors.iter().any(|s| selects(s, labels) == Ok(true))
    })
}

/// Names of the namespaces that any selector selects, selector by selector, each in the order of names.
///
/// # Errors
/// A selector cannot be read, or the namespaces cannot.
pub fn choose(cx: &Context, selectors: &[LabelSelector]) -> Result<Vec<String>, String> {
    if let Health::Absent(error) = &*cx.namespaces.health().borrow() {
        return Err(error.to_string());
    }
    let mut all = cx.namespaces.all();
    all.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let empty = BTreeMap::new();
    let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
    for selector in selectors {
        for namespace in &all {
            let labels = namespace.metadata.labels.as_ref().unwrap_or(&empty);
            if selects(selector, labels)? && seen.insert(&namespace.metadata.name) {
                names.push(namespace.metadata.name.clone());
            }
        }
    }
    Ok(names)
}

/// A child as it should be.
pub struct Child<'a> {
    /// Where it is written.
    pub resource: &'a Resource,
    /// `kind`.
    pub kind: &'static str,
    /// `apiVersion`.
    pub api_version: &'static str,
    /// Namespace.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// Labels and annotations, exactly.
    pub metadata: &'a MetadataTemplate,
    /// Spec, verbatim.
    pub spec: &'a Value,
    /// Its parent.
    pub parent: Parent<'a>,
}

/// Why a child is not as it should be.
pub enum ChildError {
    /// Somebody wrote in between.
    Conflict(String),
    /// Somebody else's object has the name.
    Foreign,
    /// Anything else.
    Other(String),
}

impl From<ClusterError> for ChildError {
    fn from(error: ClusterError) -> Self {
        if error.is_conflict() {
            Self::Conflict(error.to_string())
        } else {
            Self::Other(error.to_string())
        }
    }
}

impl Child<'_> {
    /// Makes it; the answer is the object as it is then.
    ///
    /// # Errors
    /// As the server says; an object that exists meanwhile is updated instead, if it is the parent's.
    pub async fn create(&self, cx: &Context) -> Result<Option<bytes::Bytes>, ChildError> {
        let body = json!({
            "apiVersion": self.api_version, "kind": self.kind,
            "metadata": {
                "namespace": self.namespace, "name": self.name,
                "labels": self.metadata.labels, "annotations": self.metadata.annotations,
                "ownerReferences": [self.parent.reference()],
            },
            "spec": self.spec,
        });
        let body = body.to_string().into_bytes();
        match cx
            .writer
            .create(self.resource, self.namespace, self.name, body, "")
            .await
        {
            Ok(answer) => Ok(answer),
            Err(error) if error.is_already_exists() => self.update(cx).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Brings the live object in line: labels, annotations and spec are replaced, everything else stays.
    ///
    /// # Errors
    /// As the server says; a foreign object is never touched.
    pub async fn update(&self, cx: &Context) -> Result<Option<bytes::Bytes>, ChildError> {
        let mut live: Value = cx.rest.get(&self.resource.object(self.namespace, self.name)).await?;
        let meta: ObjectMeta = live
            .get("metadata")
            .cloned()
            .and_then(|m| serde_json::from_value(m).ok())
            .ok_or_else(|| ChildError::Other("the object cannot be read".to_owned()))?;
        if !self.parent.controls(&meta) {
            return Err(ChildError::Foreign);
        }
        let before = live.clone();
        let set = |live: &mut Value, key: &str, map: &BTreeMap<String, String>| {
            if map.is_empty() {
                live["metadata"].as_object_mut().map(|m| m.remove(key));
            } else {
                live["metadata"][key] = json!(map);
            }
        };
        set(&mut live, "labels", &self.metadata.labels);
        set(&mut live, "annotations", &self.metadata.annotations);
        live["spec"] = self.spec.clone();
        if !self.parent.is_referenced(&meta) {
            let others = meta
                .owner_references
                .iter()
                .flatten()
                .filter(|o| o.controller != Some(true));
            let mut owners: Vec<Value> = others.map(|o| json!(o)).collect();
            owners.push(self.parent.reference());
            live["metadata"]["ownerReferences"] = json!(owners);
        }
        if live == before {
            return Ok(None);
        }
        if let Some(m) = live["metadata"].as_object_mut() {
            m.remove("managedFields");
        }
        let body = live.to_string().into_bytes();
        Ok(cx
            .writer
            .replace(self.resource, self.namespace, self.name, body, "")
            .await?)
    }
}

/// Whether metadata is exactly what the parent asks for.
pub fn same_metadata(meta: &ObjectMeta, wanted: &MetadataTemplate) -> bool {
    meta.labels.clone().unwrap_or_default() == wanted.labels
        && meta.annotations.clone().unwrap_or_default() == wanted.annotations
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::controller;

    #[test]
    fn only_the_controlling_reference_of_the_group_counts() {
        let meta = |api: &str, controls: bool| {
            serde_json::from_value(json!({"ownerReferences": [
                {"apiVersion": api, "kind": "ClusterExternalSecret", "name": "c", "uid": "u", "controller": controls},
            ]}))
            .unwrap()
        };
        let of = |api, controls| controller(&meta(api, controls), "ClusterExternalSecret");
        assert_eq!(of("external-secrets.io/v1", true).as_deref(), Some("c"));
        assert_eq!(of("external-secrets.io/v1", false), None);
        assert_eq!(of("example.org/v1", true), None);
    }
}
