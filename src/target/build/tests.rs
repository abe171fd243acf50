use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::json;
use zeroize::Zeroizing;

use super::{BuildError, Writer, build, is_frozen, managed_keys, set_owner, target_name};
use crate::api::external_secret::ExternalSecretSpec;
use crate::secret::SecretValue;
use crate::target::managed::ManagedKeys;
use crate::target::{TargetSecret, hash, names};
use crate::template::Rendered;

const WRITER: Writer<'_> = Writer {
    namespace: "orchard",
    name: "es",
    uid: "u",
    labels: None,
    annotations: None,
};

fn spec(target: serde_json::Value) -> ExternalSecretSpec {
    serde_json::from_value(json!({ "target": target })).unwrap()
}

fn rendered(value: &str) -> Rendered {
    let data = BTreeMap::from([("a".to_owned(), Zeroizing::new(value.as_bytes().to_vec()))]);
    Rendered {
        data,
        ..Rendered::default()
    }
}

fn owner(kind: &str, name: &str, controller: bool) -> OwnerReference {
    let api_version = if kind == "ExternalSecret" {
        "external-secrets.io/v1beta1"
    } else {
        "v1"
    };
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: "old".to_owned(),
        controller: Some(controller),
        block_owner_deletion: None,
    }
}

#[test]
fn a_new_secret_carries_owner_labels_and_hash() {
    let made = build(&spec(json!({})), WRITER, None, Some(rendered("ripe"))).unwrap();
    assert_eq!(made.name, "es");
    assert_eq!(made.labels[names::MANAGED_LABEL], "true");
    assert_eq!(made.labels[names::OWNER_LABEL], names::owner_hash("orchard", "es"));
    assert_eq!(made.annotations[names::HASH_ANNOTATION], hash::of_data(&made.data));
    assert_eq!(made.owners[0].controller, Some(true));
    assert_eq!(target_name(&spec(json!({"name": "gate"})), "es"), "gate");
}

#[test]
fn an_own_reference_is_replaced_whatever_its_uid_and_version() {
    let mut owners = vec![owner("Other", "x", false), owner("ExternalSecret", "es", true)];
    set_owner(&mut owners, true, WRITER, "orchard", "gate").unwrap();
    assert_eq!(owners.len(), 2);
    assert_eq!(
        (owners[1].uid.as_str(), owners[1].api_version.as_str()),
        ("u", "external-secrets.io/v1")
    );
    set_owner(&mut owners, false, WRITER, "orchard", "gate").unwrap();
    assert_eq!(owners.len(), 1);
}

#[test]
fn another_external_secret_is_refused_even_without_owning() {
    for owned in [true, false] {
        let refused = set_owner(
            &mut vec![owner("ExternalSecret", "first", true)],
            owned,
            WRITER,
            "orchard",
            "gate",
        );
        assert_eq!(
            refused.unwrap_err(),
            BuildError::OtherExternalSecret {
                owner: "first".to_owned()
            }
        );
    }
    let mut foreign = vec![owner("Deployment", "d", true)];
    set_owner(&mut foreign, false, WRITER, "orchard", "gate").unwrap();
    let refused = set_owner(&mut foreign, true, WRITER, "orchard", "gate").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "could not set controller reference on secret: Object orchard/gate is already owned by another Deployment controller d"
    );
}

#[test]
fn an_immutable_target_keeps_the_content_of_what_exists() {
    let immutable = spec(json!({"immutable": true}));
    let mut existing = TargetSecret::new("orchard", "es");
    existing
        .data
        .insert("mine".to_owned(), SecretValue::from("1".to_owned()));
    assert!(is_frozen(&immutable, Some(&existing)) && !is_frozen(&immutable, None));
    let kept = build(&immutable, WRITER, Some(&existing), None).unwrap();
    assert_eq!(kept.data, existing.data);
    assert!(kept.immutable);
}

#[test]
fn policies_without_ownership_take_the_owner_label_off() {
    let owned = build(&spec(json!({})), WRITER, None, Some(rendered("ripe"))).unwrap();
    let orphan = build(
        &spec(json!({"creationPolicy": "Orphan"})),
        WRITER,
        Some(&owned),
        Some(rendered("ripe")),
    )
    .unwrap();
    assert!(orphan.owners.is_empty() && !orphan.labels.contains_key(names::OWNER_LABEL));
}

#[test]
fn stale_metadata_of_names_between_28_and_63_bytes_is_not_found() {
    let name = "a".repeat(40);
    let mut secret = TargetSecret::new("orchard", "gate");
    let keys = ManagedKeys {
        data: ["k".to_owned()].into(),
        labels: ["l".to_owned()].into(),
        ..ManagedKeys::default()
    };
    secret.managed.insert(names::field_manager(&name), keys);
    let found = managed_keys(&secret, &name);
    assert!(found.data.contains("k") && found.labels.is_empty());
}
