//! What a push makes of a remote Secret.

use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use super::{Envelope, desired, same};
use crate::api::push_secret::PushData;
use crate::provider::PushSource;
use crate::secret::SecretValue;

fn source() -> PushSource {
    PushSource {
        name: "src".to_owned(),
        secret_type: Some("Opaque".to_owned()),
        labels: [("team".to_owned(), "red".to_owned())].into(),
        annotations: [("note".to_owned(), "local".to_owned())].into(),
        data: [("user", "ida"), ("pin", "4711")]
            .map(|(key, value)| (key.to_owned(), SecretValue::from(value.to_owned())))
            .into(),
    }
}

fn entry(secret_key: &str, property: &str, spec: Option<Value>) -> PushData {
    let metadata = spec.map(|spec| {
        json!({"apiVersion": "kubernetes.external-secrets.io/v1alpha1", "kind": "PushSecretMetadata", "spec": spec})
    });
    let match_ = json!({"secretKey": secret_key, "remoteRef": {"remoteKey": "copy", "property": property}});
    let mut entry: PushData = serde_json::from_value(json!({"match": match_})).unwrap();
    entry.metadata = metadata;
    entry
}

fn remote() -> Secret {
    serde_json::from_value(json!({
        "metadata": {"name": "copy", "labels": {"keep": "1", "team": "blue"}}, "type": "Opaque", "data": {"old": "eA=="},
    }))
    .unwrap()
}

fn pushed(entry: &PushData) -> Value {
    let envelope = Envelope::parse(entry).unwrap();
    serde_json::to_value(desired(remote(), &source(), entry, &envelope).unwrap()).unwrap()
}

#[test]
fn a_whole_secret_replaces_the_data_and_merges_metadata() {
    let secret = pushed(&entry("", "", None));
    assert_eq!(secret["data"], json!({"user": "aWRh", "pin": "NDcxMQ=="}));
    assert_eq!(secret["metadata"]["labels"], json!({"keep": "1", "team": "red"}));
    assert_eq!(secret["metadata"]["annotations"], json!({"note": "local"}));
}

#[test]
fn a_property_is_set_beside_other_keys() {
    assert_eq!(
        pushed(&entry("user", "login", None))["data"],
        json!({"old": "eA==", "login": "aWRh"})
    );
    let whole = pushed(&entry("", "all", None));
    assert_eq!(whole["data"]["all"], json!("eyJwaW4iOiI0NzExIiwidXNlciI6ImlkYSJ9"));
    assert_eq!(pushed(&entry("nope", "login", None))["data"]["login"], json!(""));
}

#[test]
fn metadata_policies() {
    let labels = |spec: Value| pushed(&entry("", "", Some(spec)))["metadata"]["labels"].clone();
    assert_eq!(
        labels(json!({"labels": {"a": "b"}})),
        json!({"a": "b", "keep": "1", "team": "red"})
    );
    assert_eq!(
        labels(json!({"labels": {"a": "b"}, "sourceMergePolicy": "Replace"})),
        json!({"a": "b", "keep": "1", "team": "blue"})
    );
    assert_eq!(
        labels(json!({"labels": {"a": "b"}, "targetMergePolicy": "Replace"})),
        json!({"a": "b", "team": "red"})
    );
    assert_eq!(
        labels(json!({"targetMergePolicy": "Ignore"})),
        json!({"keep": "1", "team": "blue"})
    );
}

#[test]
fn unknown_policies_are_told() {
    for (spec, error) in [
        (
            json!({"sourceMergePolicy": "X"}),
            "failed to merge source metadata: unexpected source merge policy \"X\"",
        ),
        (
            json!({"targetMergePolicy": "X"}),
            "failed to merge target metadata: unexpected target merge policy \"X\"",
        ),
    ] {
        let entry = entry("", "", Some(spec));
        let envelope = Envelope::parse(&entry).unwrap();
        let failed = desired(remote(), &source(), &entry, &envelope).unwrap_err();
        assert_eq!(failed.to_string(), error);
    }
}

#[test]
fn an_empty_map_equals_an_absent_one() {
    let mut other = remote();
    other.metadata.annotations = Some(std::collections::BTreeMap::default());
    assert!(same(&remote(), &other));
    other.type_ = Some("x".to_owned());
    assert!(!same(&remote(), &other));
}
