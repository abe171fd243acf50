//! Reads. Each returns plain JSON objects, so that the pure rooms can look at them.

use kube::api::{Api, ListParams};
use kube::core::{ApiResource, DynamicObject};
use serde_json::Value;

use super::{Cluster, RequestError};

/// `kind.group/name`, as kubectl prints objects.
pub fn display(kind: &str, group: &str, name: &str) -> String {
    let kind = kind.to_lowercase();
    if group.is_empty() {
        format!("{kind}/{name}")
    } else {
        format!("{kind}.{group}/{name}")
    }
}

/// The API handle of a resource, in a namespace or cluster-wide.
pub fn api(cluster: &Cluster, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(ns) => Api::namespaced_with(cluster.client.clone(), ns, resource),
        None => Api::all_with(cluster.client.clone(), resource),
    }
}

/// One object as JSON, `None` where it does not exist (or its namespace does not).
///
/// # Errors
/// Everything but 404 of the object.
pub async fn get(
    cluster: &Cluster,
    resource: &ApiResource,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<Value>, RequestError> {
    let label = display(&resource.kind, &resource.group, name);
    let handle = api(cluster, resource, namespace);
    let found = cluster
        .call("get", &within(&label, namespace), handle.get_opt(name))
        .await?;
    found.map(|o| to_json(&o, &label, cluster)).transpose()
}

/// All objects that match, in pages of 500.
///
/// # Errors
/// Any failure, 404 of the kind included.
pub async fn list(
    cluster: &Cluster,
    resource: &ApiResource,
    namespace: Option<&str>,
    selector: Option<&str>,
) -> Result<Vec<Value>, RequestError> {
    let label = format!(
        "{}{}",
        resource.plural,
        if resource.group.is_empty() {
            String::new()
        } else {
            format!(".{}", resource.group)
        }
    );
    let handle = api(cluster, resource, namespace);
    let mut params = ListParams::default().limit(500);
    if let Some(selector) = selector {
        params = params.labels(selector);
    }
    let mut out = Vec::new();
    loop {
        let page = cluster
            .call("list", &within(&label, namespace), handle.list(&params))
            .await?;
        for object in &page.items {
            let mut json = to_json(object, &label, cluster)?;
            // Items of a list carry neither, a single object does.
            json["apiVersion"] = Value::String(resource.api_version.clone());
            json["kind"] = Value::String(resource.kind.clone());
            out.push(json);
        }
        match page.metadata.continue_.filter(|c| !c.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(out),
        }
    }
}

/// The object's label with its namespace, for error texts.
pub fn within(label: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(ns) => format!("{label} in namespace {ns:?}"),
        None => label.to_owned(),
    }
}

fn to_json(object: &DynamicObject, label: &str, cluster: &Cluster) -> Result<Value, RequestError> {
    serde_json::to_value(object)
        .map_err(|e| RequestError::local("read", label, &cluster.context, super::Reason::Other, e.to_string()))
}
