use serde_json::{Value, json};

use super::{base, content_hash, for_update, is_valid, seal};
use crate::api::external_secret::{CreationPolicy, ExternalSecretSpec};
use crate::target::build::Writer;

const WRITER: Writer<'_> = Writer {
    namespace: "orchard",
    name: "es",
    uid: "u",
    labels: None,
    annotations: None,
};

fn spec(policy: &str) -> ExternalSecretSpec {
    serde_json::from_value(json!({"target": {"creationPolicy": policy}})).unwrap()
}

fn rendered() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"pear": "ripe"},
        "metadata": {"name": "es", "labels": {"reconcile.external-secrets.io/managed": "true"}}})
}

#[test]
fn only_merging_policies_start_from_what_exists() {
    let existing = rendered();
    assert!(base(&spec("Merge"), Some(&existing)).is_some());
    assert!(base(&spec("CreateOrMerge"), Some(&existing)).is_some());
    assert!(base(&spec("Owner"), Some(&existing)).is_none());
}

#[test]
fn sealed_objects_are_valid_until_their_content_moves() {
    let owner = spec("Owner");
    let mut object = rendered();
    seal(&mut object, &owner, WRITER, "es").unwrap();
    assert_eq!(is_valid(&CreationPolicy::Owner, Some(&object)), Ok(true));
    assert_eq!(object["metadata"]["ownerReferences"][0]["name"], "es");
    object["data"]["pear"] = json!("rotten");
    assert_eq!(is_valid(&CreationPolicy::Owner, Some(&object)), Ok(false));
    object["data"] = json!(null);
    assert!(
        is_valid(&CreationPolicy::Owner, Some(&object))
            .unwrap_err()
            .starts_with("failed to hash target: ")
    );
    assert!(content_hash(&json!({"spec": {}})).is_ok());
}

#[test]
fn an_orphan_gives_up_the_reference_and_the_owner_label() {
    let mut object = rendered();
    seal(&mut object, &spec("Owner"), WRITER, "es").unwrap();
    seal(&mut object, &spec("Orphan"), WRITER, "es").unwrap();
    assert!(object["metadata"].get("ownerReferences").is_none());
    assert!(
        object["metadata"]["labels"]
            .get("reconcile.external-secrets.io/created-by")
            .is_none()
    );
}

#[test]
fn an_update_carries_the_identity_of_what_exists() {
    let existing = json!({"metadata": {"uid": "u1", "resourceVersion": "7", "managedFields": []}});
    let body = for_update(json!({"metadata": {"name": "es", "managedFields": []}}), &existing);
    assert_eq!(
        body["metadata"],
        json!({"name": "es", "uid": "u1", "resourceVersion": "7"})
    );
}
