use serde_json::json;

use super::{base, content_hash, for_update, go_text, is_valid, merge_at, parse_path, put_plain, replace_at, seal};
use crate::api::external_secret::{CreationPolicy, ExternalSecretSpec};
use crate::secret::{SecretData, SecretValue};
use crate::target::build::Writer;

const WRITER: Writer<'_> = Writer { namespace: "orchard", name: "es", uid: "u", labels: None, annotations: None };

fn spec(policy: &str, kind: &str) -> ExternalSecretSpec {
    let value = json!({"target": {"creationPolicy": policy, "manifest": {"apiVersion": "v1", "kind": kind}}});
    serde_json::from_value(value).unwrap()
}

fn pear() -> SecretData {
    SecretData::from([("pear".to_owned(), SecretValue::from("ripe".to_owned()))])
}

#[test]
fn paths_are_refused_with_their_fault() {
    for (path, fault) in [
        ("", "empty segment"),
        ("a..b", "empty segment"),
        ("[0].x", "path must start with a key"),
        ("a[0", "unterminated '['"),
        ("a[x]", r#"bad index "x""#),
        ("a[-1]", "negative index -1"),
        ("a[10001]", "index 10001 exceeds maximum (10000)"),
    ] {
        assert_eq!(parse_path(path).unwrap_err(), format!(r#"invalid path "{path}": {fault}"#));
    }
    assert_eq!(parse_path("spec.list[2].name").unwrap().len(), 4);
}

#[test]
fn missing_maps_and_gaps_are_made() {
    let mut object = json!({});
    replace_at(&mut object, "spec.list[2].name", json!("x")).unwrap();
    assert_eq!(object, json!({"spec": {"list": [null, null, {"name": "x"}]}}));
}

#[test]
fn merging_is_one_level_deep_and_replaces_at_a_single_token() {
    let mut object = json!({"spec": {"a": {"old": 1, "both": {"x": 1}}}, "data": {"kept": 1}});
    merge_at(&mut object, "spec.a", json!({"both": {"y": 2}})).unwrap();
    merge_at(&mut object, "data", json!({"new": 2})).unwrap();
    assert_eq!(object, json!({"spec": {"a": {"old": 1, "both": {"y": 2}}}, "data": {"new": 2}}));
}

#[test]
fn a_config_map_is_replaced_and_others_get_spec_data() {
    let existing = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "es"}, "data": {"mine": "1"}});
    let mut merged = base(&spec("Merge", "ConfigMap"), WRITER, Some(&existing), "es");
    put_plain(&mut merged, &pear());
    assert_eq!(merged["data"], json!({"pear": "ripe"}));
    let mut other = base(&spec("Owner", "Bowl"), WRITER, None, "es");
    put_plain(&mut other, &pear());
    assert_eq!(other["spec"], json!({"data": {"pear": "ripe"}}));
}

#[test]
fn sealed_objects_are_valid_until_their_content_moves() {
    let owner = spec("Owner", "ConfigMap");
    let mut object = base(&owner, WRITER, None, "es");
    put_plain(&mut object, &pear());
    seal(&mut object, &owner, WRITER, "es").unwrap();
    assert_eq!(is_valid(&CreationPolicy::Owner, Some(&object)), Ok(true));
    assert_eq!(object["metadata"]["ownerReferences"][0]["name"], "es");
    object["data"]["pear"] = json!("rotten");
    assert_eq!(is_valid(&CreationPolicy::Owner, Some(&object)), Ok(false));
    object["data"] = json!(null);
    assert!(is_valid(&CreationPolicy::Owner, Some(&object)).unwrap_err().starts_with("failed to hash target: "));
    assert!(content_hash(&json!({"spec": {}})).is_ok());
}

#[test]
fn an_update_carries_the_identity_of_what_exists() {
    let existing = json!({"metadata": {"uid": "u1", "resourceVersion": "7", "managedFields": []}});
    let body = for_update(json!({"metadata": {"name": "es", "managedFields": []}}), &existing);
    assert_eq!(body["metadata"], json!({"name": "es", "uid": "u1", "resourceVersion": "7"}));
}

#[test]
fn every_broken_byte_is_one_replacement() {
    assert_eq!(go_text(&[0xE2, 0x82, b'x']), "\u{FFFD}\u{FFFD}x");
}
