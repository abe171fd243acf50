//! The floor: what the writes of a first synchronisation cost when nothing else happens.
//!
//! A bare loop sends, for each ExternalSecret, the three writes that no operator can avoid: the patch that sets its
//! finalizer, the create of its Secret, and the patch of its status. One HTTP/2 connection, a fixed number in flight.

use std::time::Instant;

use anyhow::{Context as _, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use crate::controlplane::Cluster;

const GROUP: &str = "floor.kubectl-eso.example";
const FINALIZER: &str = "floor.kubectl-eso.example/cleanup";
const SETUP_IN_FLIGHT: usize = 32;
const WRITES_AN_OBJECT: u64 = 3;

/// A definition with a status subresource and open fields, so that the floor can be measured on any cluster, whatever
/// else it serves.
const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: floorsecrets.floor.kubectl-eso.example}
spec:
  group: floor.kubectl-eso.example
  scope: Namespaced
  names: {kind: FloorSecret, listKind: FloorSecretList, plural: floorsecrets, singular: floorsecret}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

/// What the loop took.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Report {
    /// Objects written.
    pub objects: usize,
    /// Writes in flight at a time.
    pub in_flight: usize,
    /// Requests sent in the measured part.
    pub requests: u64,
    /// Seconds of the measured part.
    pub seconds: f64,
}

/// Makes `objects` objects in a namespace of their own, then measures their writes, `in_flight` at a time, and removes
/// the namespace again.
pub async fn run(cluster: &Cluster, objects: usize, in_flight: usize) -> Result<Report> {
    let client = cluster.http2_client().await?;
    crate::crds::apply(&client, CRD).await?;
    let namespace = make_namespace(&client).await?;
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace, &resource());
    let uids: Vec<String> = stream::iter((0..objects).map(|number| create_source(&api, number)))
        .buffered(SETUP_IN_FLIGHT)
        .try_collect()
        .await?;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    let started = Instant::now();
    stream::iter(
        uids.iter()
            .enumerate()
            .map(|(number, uid)| write(&api, &secrets, number, uid)),
    )
    .buffer_unordered(in_flight)
    .try_collect::<()>()
    .await?;
    let seconds = started.elapsed().as_secs_f64();
    remove(client, &namespace, &api, objects).await?;
    Ok(Report {
        objects,
        in_flight,
        requests: WRITES_AN_OBJECT * objects as u64,
        seconds,
    })
}

fn resource() -> ApiResource {
    ApiResource {
        group: GROUP.into(),
        version: "v1".into(),
        api_version: format!("{GROUP}/v1"),
        kind: "FloorSecret".into(),
        plural: "floorsecrets".into(),
    }
}

async fn make_namespace(client: &Client) -> Result<String> {
    let metadata = ObjectMeta {
        generate_name: Some("floor-".into()),
        ..ObjectMeta::default()
    };
    let namespace = Namespace {
        metadata,
        ..Namespace::default()
    };
    let made = Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await?;
    made.metadata.name.context("the API server names what it makes")
}

/// The shape of an ExternalSecret with two properties; returns its UID.
async fn create_source(api: &Api<DynamicObject>, number: usize) -> Result<String> {
    let name = object_name(number);
    let entry = |property: &str| json!({ "secretKey": property, "remoteRef": { "key": name, "property": property, "decodingStrategy": "None" } });
    let object = DynamicObject::new(&name, &resource()).data(json!({ "spec": {
        "refreshInterval": "1h",
        "secretStoreRef": { "kind": "SecretStore", "name": "upstream-store" },
        "target": { "name": name, "creationPolicy": "Owner" },
        "data": [entry("username"), entry("password")],
    }}));
    let made = api.create(&PostParams::default(), &object).await?;
    made.metadata.uid.context("the API server gives every object a UID")
}

async fn write(api: &Api<DynamicObject>, secrets: &Api<Secret>, number: usize, uid: &str) -> Result<()> {
    let name = object_name(number);
    let params = PatchParams::default();
    let finalizer = json!({ "metadata": { "finalizers": [FINALIZER] } });
    api.patch(&name, &params, &Patch::Merge(finalizer)).await?;
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {
            "name": name,
            "labels": { "reconcile.external-secrets.io/managed": "true" },
            "annotations": { "reconcile.external-secrets.io/data-hash": "0".repeat(56) },
            "ownerReferences": [{
                "apiVersion": format!("{GROUP}/v1"), "kind": "FloorSecret", "name": name, "uid": uid,
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "type": "Opaque",
        "data": { "username": "dXNlcg==", "password": "cGFzc3dvcmQtMDEyMzQ1Njc=" },
    }))?;
    let made = secrets.create(&PostParams::default(), &secret).await?;
    let status = json!({ "status": {
        "refreshTime": "2026-01-01T00:00:00Z",
        "syncedResourceVersion": format!("1-{}", "0".repeat(56)),
        "binding": { "name": made.metadata.name },
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "SecretSynced", "message": "secret synced",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }],
    }});
    api.patch_status(&name, &params, &Patch::Merge(status)).await?;
    Ok(())
}

/// A namespace whose objects carry finalizers would never go.
async fn remove(client: Client, namespace: &str, api: &Api<DynamicObject>, objects: usize) -> Result<()> {
    let release = json!({ "metadata": { "finalizers": [] } });
    stream::iter((0..objects).map(async |number| {
        api.patch(&object_name(number), &PatchParams::default(), &Patch::Merge(&release))
            .await
            .map(drop)
    }))
    .buffer_unordered(SETUP_IN_FLIGHT)
    .try_collect::<()>()
    .await?;
    Api::<Namespace>::all(client)
        .delete(namespace, &DeleteParams::default())
        .await?;
    Ok(())
}

fn object_name(number: usize) -> String {
    format!("floor-{number:05}")
}
