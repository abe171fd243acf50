//! Defaults of the kinds we write.

use serde_json::json;

use super::{api_defaults, same_spec, strip};
use crate::api::yaml_tree::{self as yaml, Value};

fn with_defaults(text: &str) -> Value {
    let mut value: Value = yaml::from_str(text).unwrap();
    api_defaults(&mut value);
    value
}

#[test]
fn external_secrets() {
    let got = with_defaults(
        "{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: a}, spec: {target: {template: {}}}}",
    );
    let want: Value = yaml::from_str(
        "{apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: a}, spec: {refreshInterval: 1h0m0s, \
         target: {creationPolicy: Owner, deletionPolicy: Retain, template: {engineVersion: v2, mergePolicy: Replace}}}}",
    )
    .unwrap();
    assert_eq!(got, want);
    let bare = with_defaults("{apiVersion: external-secrets.io/v1, kind: ExternalSecret, spec: {refreshInterval: 5m}}");
    assert_eq!(bare["spec"]["target"]["creationPolicy"], "Owner");
    assert_eq!(bare["spec"]["refreshInterval"], "5m");
    assert!(bare["spec"]["target"].get("template").is_none());
}

#[test]
fn stores_only_below_what_exists() {
    let got = with_defaults(
        "{apiVersion: external-secrets.io/v1, kind: SecretStore, spec: {provider: {kubernetes: {server: {}}}}}",
    );
    assert_eq!(
        got["spec"]["provider"]["kubernetes"]["server"]["url"],
        "kubernetes.default"
    );
    assert!(got["spec"]["provider"].get("vault").is_none());
}

#[test]
fn core_kinds() {
    assert_eq!(with_defaults("{apiVersion: v1, kind: Secret}")["type"], "Opaque");
    let namespace = with_defaults("{apiVersion: v1, kind: Namespace, metadata: {name: x}}");
    assert_eq!(namespace["metadata"]["labels"]["kubernetes.io/metadata.name"], "x");
    let binding = with_defaults(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: r}, subjects: [{kind: User, name: u}, {kind: ServiceAccount, name: s}]}",
    );
    assert_eq!(binding["subjects"][0]["apiGroup"], "rbac.authorization.k8s.io");
    assert!(binding["subjects"][1].get("apiGroup").is_none());
    let deployment = with_defaults(
        "{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {serviceAccountName: a, containers: [{name: c, image: 'r:5000/x'}, {name: d, image: 'x:1'}]}}}}",
    );
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["imagePullPolicy"], "Always");
    assert_eq!(pod["containers"][1]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(pod["serviceAccount"], "a");
    assert_eq!(deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"], "25%");
}

#[test]
fn live_objects_are_compared_by_what_the_manifest_says() {
    let manifest = json!({"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "spec": {"target": {"name": "a"}, "data": [{"secretKey": "k", "remoteRef": {"key": "x", "decodingStrategy": "None"}}]}});
    let live = json!({"refreshInterval": "1h0m0s", "target": {"name": "a", "creationPolicy": "Owner", "deletionPolicy": "Retain", "immutable": false},
        "data": [{"secretKey": "k", "remoteRef": {"key": "x", "metadataPolicy": "None"}}]});
    assert!(same_spec(&manifest, &live));
    let mut other = live.clone();
    other["target"]["creationPolicy"] = "Orphan".into();
    assert!(!same_spec(&manifest, &other));
}

#[test]
fn server_made_fields_go() {
    let mut live: Value = yaml::from_str(
        "{metadata: {name: a, uid: u, resourceVersion: '1', creationTimestamp: t, annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}, status: {}}",
    )
    .unwrap();
    strip(&mut live);
    assert_eq!(live, yaml::from_str::<Value>("{metadata: {name: a}}").unwrap());
}
