//! Decoding of whole objects: defaults, leniency, Go's texts.

use kube::Resource;
use serde_json::json;

use super::external_secret::{
    CreationPolicy, DecodingStrategy, DeletionPolicy, ExternalSecret, RefreshPolicy, StoreKind, TemplateMergePolicy,
};
use super::push_secret::PushSecret;
use super::secret_store::{ClusterSecretStore, SecretStore};
use super::{GoDuration, Parsed, Raw};

fn external_secret(spec: serde_json::Value) -> ExternalSecret {
    serde_json::from_value(json!({
        "apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret",
        "metadata": {"name": "app", "namespace": "default", "generation": 3}, "spec": spec,
    }))
    .unwrap()
}

#[test]
fn an_empty_spec_has_the_documented_defaults() {
    let bare: ExternalSecret = serde_json::from_value(json!({"metadata": {"name": "app"}})).unwrap();
    let explicit = external_secret(json!({
        "refreshPolicy": "Periodic", "secretStoreRef": {"kind": "SecretStore"}, "newField": 1, "dataFrom": null,
        "target": {"creationPolicy": "Owner", "deletionPolicy": "Retain", "template": null},
    }));
    assert_eq!(bare.spec, explicit.spec);
    let spec = bare.spec.ok().unwrap();
    assert_eq!(spec.interval(), GoDuration::HOUR);
    assert_eq!(spec.target.creation_policy, CreationPolicy::Owner);
    assert_eq!(spec.target.deletion_policy, DeletionPolicy::Retain);
    assert_eq!(spec.refresh_policy, RefreshPolicy::Periodic);
}

#[test]
fn every_field_of_the_spec_is_understood() {
    let object = external_secret(json!({
        "secretStoreRef": {"name": "s", "kind": "ClusterSecretStore"}, "refreshPolicy": "OnChange", "refreshInterval": "1h30m",
        "syncWindows": {"kind": "deny", "windows": [{"schedule": "@daily", "duration": "2h"}]},
        "target": {
            "name": "t", "immutable": true, "manifest": {"apiVersion": "v1", "kind": "ConfigMap"},
            "template": {
                "type": "Opaque", "mergePolicy": "Merge", "metadata": {"labels": {"a": "b"}, "finalizers": ["x/y"]},
                "data": {"k": "{{ .v }}"},
                "templateFrom": [
                    {"configMap": {"name": "cm", "items": [{"key": "k", "templateAs": "KeysAndValues"}]}},
                    {"literal": "a: b", "target": "", "valuesDecodingStrategy": "Base64"},
                ],
            },
        },
        "data": [{"secretKey": "k", "remoteRef": {"key": "r", "property": "p", "nullBytePolicy": "Fail"}, "sourceRef": {"storeRef": {"name": "o"}}}],
        "dataFrom": [
            {"find": {"name": {"regexp": "^a"}, "tags": {}}, "rewrite": [{"merge": {"strategy": "JSON"}}, {"regexp": {"source": "a", "target": "b"}}]},
            {"sourceRef": {"generatorRef": {"kind": "Password", "name": "pw"}}},
        ],
    }));
    let spec = object.spec.ok().unwrap();
    assert_eq!(spec.secret_store_ref.kind, StoreKind::ClusterSecretStore);
    assert_eq!(spec.interval().to_string(), "1h30m0s");
    assert_eq!(
        spec.sync_windows.as_ref().unwrap().windows[0].duration.to_string(),
        "2h0m0s"
    );
    let template = spec.target.template.as_ref().unwrap();
    assert_eq!(
        (template.engine_version.as_str(), &template.merge_policy),
        ("v2", &TemplateMergePolicy::Merge)
    );
    assert_eq!(template.template_from[0].target, "Data");
    assert_eq!(template.template_from[1].target, "");
    assert_eq!(
        template.template_from[1].values_decoding_strategy,
        DecodingStrategy::Base64
    );
    assert_eq!(
        spec.data_from[0]
            .find
            .as_ref()
            .unwrap()
            .tags
            .as_ref()
            .map(std::collections::BTreeMap::len),
        Some(0)
    );
    let generator = spec.data_from[1]
        .source_ref
        .as_ref()
        .unwrap()
        .generator_ref
        .as_ref()
        .unwrap();
    assert_eq!(generator.api_version, "generators.external-secrets.io/v1alpha1");
}

#[test]
fn a_bad_duration_spoils_one_object_only() {
    let list = json!([
        {"metadata": {"name": "bad", "namespace": "n"}, "spec": {"refreshInterval": "1d"}},
        {"metadata": {"name": "worse", "namespace": "n"}, "spec": {"refreshInterval": 5}},
        {"metadata": {"name": "odd", "namespace": "n"}, "spec": {"data": "text"}, "status": {"conditions": 7}},
        {"metadata": {"name": "good", "namespace": "n"}, "spec": {}},
    ]);
    let objects: Vec<ExternalSecret> = serde_json::from_value(list).unwrap();
    let error = |index: usize| objects[index].spec.as_result().err().unwrap_or_default().to_owned();
    assert_eq!(error(0), r#"time: unknown unit "d" in duration "1d""#);
    assert_eq!(error(1), "json: cannot unmarshal number into Go value of type string");
    assert!(!error(2).is_empty() && objects[2].status.is_none());
    assert!(matches!(objects[3].spec, Parsed::Ok(_)));
}

#[test]
fn broken_metadata_keeps_the_identity() {
    let object: ExternalSecret =
        serde_json::from_value(json!({"metadata": {"name": "x", "namespace": "n", "labels": {"a": 1}}})).unwrap();
    assert_eq!((object.namespace(), object.name()), ("n", "x"));
    assert!(object.spec.ok().is_none());
}

#[test]
fn unknown_enum_text_is_kept() {
    let object = external_secret(json!({"refreshPolicy": "Weekly"}));
    assert_eq!(
        object.spec.ok().unwrap().refresh_policy,
        RefreshPolicy::Other("Weekly".to_owned())
    );
}

#[test]
fn debug_of_a_fake_store_shows_no_value() {
    let store: SecretStore = serde_json::from_value(json!({
        "metadata": {"name": "s", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}},
        "spec": {"provider": {"fake": {"data": [{"key": "a", "value": "hunter2"}]}}},
    }))
    .unwrap();
    let shown = format!("{store:?}");
    assert!(shown.contains("fake") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_store_has_one_provider_and_a_period() {
    let store = |spec: serde_json::Value| -> ClusterSecretStore {
        serde_json::from_value(json!({"metadata": {"name": "s"}, "spec": spec})).unwrap()
    };
    let two = store(json!({"provider": {"fake": {}, "webhook": {}}}));
    assert_eq!(two.spec.ok().unwrap().provider.only(), Err(2));
    let null = store(json!({"provider": {"fake": {}, "webhook": null}}));
    assert_eq!(null.spec.ok().unwrap().provider.only().unwrap().0, "fake");
    let period = |value: serde_json::Value| {
        store(json!({"refreshInterval": value}))
            .spec
            .ok()
            .unwrap()
            .revalidation()
    };
    assert_eq!(period(json!(30)).unwrap().unwrap().to_string(), "30s");
    assert_eq!(period(json!("1h")).unwrap().unwrap().to_string(), "1h0m0s");
    assert_eq!(period(json!("0s")), Ok(None));
    assert_eq!(
        period(json!(-1)),
        Err("invalid refreshInterval -1: must not be negative".to_owned())
    );
    assert_eq!(
        period(json!("-1s")),
        Err(r#"invalid refreshInterval "-1s": must not be negative"#.to_owned())
    );
    let missing_unit = r#"invalid refreshInterval "3600": time: missing unit in duration "3600""#;
    assert_eq!(period(json!("3600")), Err(missing_unit.to_owned()));
}

#[test]
fn push_data_is_written_back_as_it_was_read() {
    let entry = json!({"match": {"secretKey": "k", "remoteRef": {"remoteKey": "r"}}, "conversionStrategy": "None"});
    let object: PushSecret = serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "n"}, "spec": {"selector": {"secret": {"name": "s"}}, "data": [entry]},
    }))
    .unwrap();
    assert_eq!(serde_json::to_value(&object.spec.ok().unwrap().data[0]).unwrap(), entry);
}

#[test]
fn kube_sees_the_right_urls() {
    assert_eq!(
        ExternalSecret::url_path(&(), Some("n")),
        "/apis/external-secrets.io/v1/namespaces/n/externalsecrets"
    );
    assert_eq!(
        ClusterSecretStore::url_path(&(), None),
        "/apis/external-secrets.io/v1/clustersecretstores"
    );
}

#[test]
fn raw_never_shows_values() {
    let raw = Raw::new(json!({"data": [{"key": "a", "value": "hunter2"}]}));
    assert_eq!(format!("{raw:?}"), "Raw({data})");
    assert_eq!(format!("{:?}", Raw::new(json!("hunter2"))), "Raw(***)");
}
