//! What the API server adds to an object: a file with the same fields stays equal to the live object, and tools that
//! compare the two see no difference.
//!
//! Server-made fields (`status`, UIDs, timestamps, managed fields) are no defaults and are never written; [`strip`]
//! takes them off a live object.

mod table;

#[cfg(test)]
mod tests;

use crate::api::yaml_tree::{self as yaml, Mapping, Value};

/// Fills in every default of a kind that is known here. Other kinds are left as they are.
pub fn api_defaults(object: &mut Value) {
    let text = |v: &Value, k: &str| v.get(k).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text(object, "apiVersion"), text(object, "kind"));
    let group = api_version.split_once('/').map_or("", |(g, _)| g);
    for (path, default) in table::of(group, &kind) {
        let parts: Vec<&str> = path.split('/').skip(1).collect();
        if let Ok(default) = yaml::from_str(default) {
            fill(object, &parts, &default);
        }
    }
    match (group, kind.as_str()) {
        ("", "Namespace") => namespace(object),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => subjects(object),
        ("apps", "Deployment") => deployment(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crd_names(object),
        _ => {}
    }
}

/// Sets the last part where everything before it exists and it does not.
fn fill(at: &mut Value, parts: &[&str], default: &Value) {
    match parts {
        [] => {}
        ["[]", rest @ ..] => {
            for item in at.as_sequence_mut().into_iter().flatten() {
                fill(item, rest, default);
            }
        }
        ["*", rest @ ..] => {
            for (_, item) in at.as_mapping_mut().into_iter().flatten() {
                fill(item, rest, default);
            }
        }
        [last] => insert_missing(at, last, default.clone()),
        [first, rest @ ..] => {
            if let Some(inner) = at.get_mut(*first) {
                fill(inner, rest, default);
            }
        }
    }
}

fn insert_missing(at: &mut Value, key: &str, value: Value) {
    if let Some(map) = at.as_mapping_mut() {
        // An explicit null is defaulted as a missing field is.
        if map.get(key).is_none_or(Value::is_null) {
            map.insert(key.into(), value);
        }
    }
}

/// The namespace controller's finalizer and the label every namespace carries.
fn namespace(object: &mut Value) {
    let name = object.get("metadata").and_then(|m| m.get("name")).cloned();
    insert_missing(object, "spec", Mapping::new().into());
    if let Some(spec) = object.get_mut("spec") {
        insert_missing(spec, "finalizers", Value::Sequence(vec!["kubernetes".into()]));
    }
    if let (Some(name), Some(metadata)) = (name, object.get_mut("metadata")) {
        insert_missing(metadata, "labels", Mapping::new().into());
        if let Some(labels) = metadata.get_mut("labels") {
            insert_missing(labels, "kubernetes.io/metadata.name", name);
        }
    }
}

/// Users and groups have a group of their own, service accounts none.
fn subjects(object: &mut Value) {
    for subject in object
        .get_mut("subjects")
        .and_then(Value::as_sequence_mut)
        .into_iter()
        .flatten()
    {
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            insert_missing(subject, "apiGroup", "rbac.authorization.k8s.io".into());
        }
    }
}

/// Defaults that depend on other fields.
fn deployment(object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else { return };
    if let Some(strategy) = spec
        .get_mut("strategy")
        .filter(|s| s.get("type").and_then(Value::as_str) == Some("RollingUpdate"))
    {
        insert_missing(strategy, "rollingUpdate", Mapping::new().into());
        if let Some(rolling) = strategy.get_mut("rollingUpdate") {
            insert_missing(rolling, "maxSurge", "25%".into());
            insert_missing(rolling, "maxUnavailable", "25%".into());
        }
    }
    let Some(pod) = spec.get_mut("template").and_then(|t| t.get_mut("spec")) else {
        return;
    };
    if let Some(account) = pod.get("serviceAccountName").cloned() {
        // The old name of the field is written beside the new one.
        insert_missing(pod, "serviceAccount", account);
    }
    for container in pod
        .get_mut("containers")
        .and_then(Value::as_sequence_mut)
        .into_iter()
        .flatten()
    {
        let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
        let name = image.rsplit('/').next().unwrap_or_default();
        let latest = !image.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
        insert_missing(
            container,
            "imagePullPolicy",
            if latest { "Always" } else { "IfNotPresent" }.into(),
        );
    }
}

fn crd_names(object: &mut Value) {
    let Some(names) = object.get_mut("spec").and_then(|s| s.get_mut("names")) else {
        return;
    };
    if let Some(kind) = names.get("kind").and_then(Value::as_str).map(str::to_owned) {
        insert_missing(names, "listKind", format!("{kind}List").into());
        insert_missing(names, "singular", kind.to_lowercase().into());
    }
}

/// Takes off what only the server and its clients write.
pub fn strip(object: &mut Value) {
    if let Some(map) = object.as_mapping_mut() {
        map.remove("status");
    }
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_mapping_mut) else {
        return;
    };
    for field in [
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
        "selfLink",
        "ownerReferences",
        "finalizers",
    ] {
        metadata.remove(field);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_mapping_mut) {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        annotations.remove("deployment.kubernetes.io/revision");
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

/// Values that older CRDs filled in and newer ones do not; absent means the same.
const SILENT: &[(&str, &str)] = &[
    ("conversionStrategy", "Default"),
    ("decodingStrategy", "None"),
    ("metadataPolicy", "None"),
    ("nullBytePolicy", "Ignore"),
];

/// True when the live spec holds everything the manifest says, defaults counted. Fields of others do not matter, because
/// server-side apply would not remove them either.
#[must_use]
pub fn same_spec(manifest: &serde_json::Value, live_spec: &serde_json::Value) -> bool {
    let (Ok(mut manifest), Ok(live)) = (yaml::to_value(manifest), yaml::to_value(live_spec)) else {
        return false;
    };
    api_defaults(&mut manifest);
    manifest.get("spec").is_some_and(|spec| holds(&live, spec))
}

fn holds(live: &Value, wanted: &Value) -> bool {
    match (live, wanted) {
        (Value::Mapping(live), Value::Mapping(wanted)) => wanted.iter().all(|(key, wanted)| match live.get(key) {
            Some(live) => holds(live, wanted),
            None => {
                SILENT
                    .iter()
                    .any(|(k, v)| key.as_str() == Some(k) && wanted.as_str() == Some(v))
                    || wanted.is_null()
            }
        }),
        (Value::Sequence(live), Value::Sequence(wanted)) => {
            live.len() == wanted.len() && live.iter().zip(wanted).all(|(l, w)| holds(l, w))
        }
        (live, wanted) => live == wanted,
    }
}
