//! Executes plan steps: server-side apply, compared first, never forced unless asked; deletes guarded by UID.

use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::{Value, json};

use super::discovery::Served;
use super::observe::{api, within};
use super::{Cluster, FIELD_MANAGER, Reason, RequestError};
use crate::plan::compare::{is_client_side, written_client_side};
use crate::plan::{Action, Apply, Delete, Outcome, Step, Verdict};

/// How steps are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// `--dry-run=server`: every write carries `dryRun=All`.
    pub server_dry_run: bool,
    /// `--force-conflicts`.
    pub force: bool,
    /// `fieldValidation`: unknown fields are errors unless switched off.
    pub lenient: bool,
}

/// Executes one step.
///
/// # Errors
/// The server's refusal, or ours where the verdict forbids the write.
pub async fn execute(
    cluster: &Cluster,
    served: &Served,
    step: &Step,
    options: Options,
) -> Result<Outcome, RequestError> {
    match step {
        Step::Apply(apply) => apply_one(cluster, served, apply, options).await,
        Step::Delete(delete) => delete_one(cluster, served, delete, options).await,
    }
}

async fn apply_one(
    cluster: &Cluster,
    served: &Served,
    step: &Apply,
    options: Options,
) -> Result<Outcome, RequestError> {
    let manifest = &step.manifest;
    let label = manifest.display();
    let outcome = |action| Outcome {
        object: label.clone(),
        namespace: manifest.namespace().map(str::to_owned),
        action,
    };
    let place = within(&label, manifest.namespace());
    let refuse = |message: &str| {
        Err(RequestError::local(
            "apply",
            &place,
            &cluster.context,
            Reason::Conflict,
            message,
        ))
    };
    match step.verdict {
        Verdict::Unchanged => return Ok(outcome(Action::Unchanged)),
        Verdict::Foreign => return refuse("it exists and was not made by kubectl-eso (use --adopt to take it over)"),
        Verdict::ImmutableRoleRef => {
            return refuse(
                "it refers to another role, which cannot be changed in place (use --recreate to replace it)",
            );
        }
        Verdict::Create | Verdict::Configure => {}
    }
    let resource = resolve(cluster, served, manifest.api_version(), manifest.kind(), &place)?;
    let handle = api(cluster, &resource, manifest.namespace());
    if let Some(live) = &step.live {
        if role_ref_differs(manifest.value(), live) {
            recreate(cluster, &handle, manifest.name(), live, &place, options).await?;
        } else if written_client_side(live) && !options.server_dry_run {
            take_over(cluster, &handle, manifest.name(), live, &place).await?;
        }
    }
    let mut params = PatchParams::apply(FIELD_MANAGER);
    params.force = options.force;
    params.dry_run = options.server_dry_run;
    if !options.lenient {
        params = params.validation_strict();
    }
    let patch = Patch::Apply(manifest.value());
    let applied = cluster
        .call("apply", &place, handle.patch(manifest.name(), &params, &patch))
        .await?;
    let before = step
        .live
        .as_ref()
        .and_then(|l| l.pointer("/metadata/resourceVersion"))
        .and_then(Value::as_str);
    Ok(outcome(match before {
        None => Action::Created,
        Some(version) if applied.metadata.resource_version.as_deref() == Some(version) => Action::Unchanged,
        Some(_) => Action::Configured,
    }))
}

async fn delete_one(
    cluster: &Cluster,
    served: &Served,
    step: &Delete,
    options: Options,
) -> Result<Outcome, RequestError> {
    let label = Step::Delete(step.clone()).display();
    let place = within(&label, step.namespace.as_deref());
    let resource = resolve(cluster, served, &step.api_version, &step.kind, &place)?;
    let handle = api(cluster, &resource, step.namespace.as_deref());
    let params = DeleteParams {
        dry_run: options.server_dry_run,
        preconditions: Some(Preconditions {
            uid: Some(step.uid.clone()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    match cluster.call("delete", &place, handle.delete(&step.name, &params)).await {
        Ok(_) => {}
        Err(e) if e.is_not_found() => {}
        Err(e) => return Err(e),
    }
    Ok(Outcome {
        object: label,
        namespace: step.namespace.clone(),
        action: Action::Deleted,
    })
}

/// The resource of a kind, or an error that names what is missing.
///
/// # Errors
/// [`Reason::KindMissing`] where the cluster does not serve it.
pub fn resolve(
    cluster: &Cluster,
    served: &Served,
    api_version: &str,
    kind: &str,
    place: &str,
) -> Result<kube::core::ApiResource, RequestError> {
    served
        .resource(api_version, kind)
        .map(|(r, _)| r.clone())
        .ok_or_else(|| {
            RequestError::local(
                "apply",
                place,
                &cluster.context,
                Reason::KindMissing,
                format!("the cluster does not serve {kind} in {api_version}"),
            )
        })
}

fn role_ref_differs(wanted: &Value, live: &Value) -> bool {
    match (wanted.get("roleRef"), live.get("roleRef")) {
        (Some(a), Some(b)) => !crate::plan::compare::covers(a, b),
        _ => false,
    }
}

async fn recreate(
    cluster: &Cluster,
    handle: &kube::Api<kube::core::DynamicObject>,
    name: &str,
    live: &Value,
    place: &str,
    options: Options,
) -> Result<(), RequestError> {
    let uid = live.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned);
    let params = DeleteParams {
        dry_run: options.server_dry_run,
        preconditions: Some(Preconditions {
            uid,
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    cluster
        .call("delete", place, handle.delete(name, &params))
        .await
        .map(|_| ())
}

/// Fields that `kubectl apply` wrote client-side would conflict with ours for ever: its entry in `managedFields`
/// becomes ours and its bookkeeping annotation goes, as kubectl itself does when it moves to server-side apply.
async fn take_over(
    cluster: &Cluster,
    handle: &kube::Api<kube::core::DynamicObject>,
    name: &str,
    live: &Value,
    place: &str,
) -> Result<(), RequestError> {
    let version = live
        .pointer("/metadata/resourceVersion")
        .cloned()
        .unwrap_or(Value::Null);
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": version}),
        json!({"op": "replace", "path": "/metadata/managedFields", "value": migrated(live)}),
    ];
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    if live
        .pointer("/metadata/annotations")
        .is_some_and(|a| a.get(annotation).is_some())
    {
        patch.push(
            json!({"op": "remove", "path": "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"}),
        );
    }
    let patch: json_patch::Patch = serde_json::from_value(Value::Array(patch))
        .map_err(|e| RequestError::local("patch", place, &cluster.context, Reason::Other, e.to_string()))?;
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    cluster
        .call("patch", place, handle.patch(name, &params, &Patch::Json::<()>(patch)))
        .await
        .map(|_| ())
}

/// `managedFields` with kubectl's client-side entries merged into one Apply entry of ours.
fn migrated(live: &Value) -> Value {
    let entries = live
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let mut fields = json!({});
    let mut kept = Vec::new();
    let mut model = None;
    for entry in entries {
        let ours =
            entry["manager"] == FIELD_MANAGER && entry["operation"] == "Apply" && entry.get("subresource").is_none();
        if ours || is_client_side(&entry) {
            merge(&mut fields, &entry["fieldsV1"]);
            model = Some(entry);
        } else {
            kept.push(entry);
        }
    }
    if let Some(mut entry) = model {
        if let Some(Value::Object(annotations)) = fields.pointer_mut("/f:metadata/f:annotations") {
            annotations.remove("f:kubectl.kubernetes.io/last-applied-configuration");
        }
        entry["manager"] = json!(FIELD_MANAGER);
        entry["operation"] = json!("Apply");
        entry["fieldsV1"] = fields;
        kept.push(entry);
    }
    Value::Array(kept)
}

fn merge(into: &mut Value, from: &Value) {
    let (Value::Object(a), Value::Object(b)) = (into, from) else {
        return;
    };
    for (key, value) in b {
        merge(a.entry(key.clone()).or_insert_with(|| json!({})), value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::migrated;

    #[test]
    fn client_side_fields_become_ours_and_others_stay() {
        let live = json!({"metadata": {"managedFields": [
            {"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "v1",
             "fieldsV1": {"f:metadata": {"f:annotations": {".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}}, "f:data": {"f:a": {}}}},
            {"manager": "kubectl-eso", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:b": {}}}},
            {"manager": "helm", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:c": {}}}},
        ]}});
        let out = migrated(&live);
        assert_eq!(out.as_array().unwrap().len(), 2);
        assert_eq!(out[0]["manager"], "helm");
        assert_eq!(out[1]["manager"], "kubectl-eso");
        assert_eq!(out[1]["operation"], "Apply");
        assert_eq!(out[1]["fieldsV1"]["f:data"], json!({"f:a": {}, "f:b": {}}));
        assert_eq!(out[1]["fieldsV1"]["f:metadata"]["f:annotations"], json!({".": {}}));
    }
}
