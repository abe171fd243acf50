//! The registry and ClusterGenerator.

use serde_json::json;

use super::{GENERATORS, entry, from_cluster_generator};
use crate::api::generator::{ClusterGeneratorSpec, GENERATOR_KINDS};

fn cluster(spec: serde_json::Value) -> ClusterGeneratorSpec {
    serde_json::from_value(spec).unwrap()
}

#[test]
fn every_kind_of_the_schema_has_a_row() {
    assert_eq!(GENERATORS.len(), GENERATOR_KINDS.len());
    assert!(GENERATOR_KINDS.iter().all(|row| entry(row.kind).is_some()));
}

#[test]
fn a_cluster_generator_stands_for_a_nameless_object() {
    let spec = cluster(json!({"kind": "Password", "generator": {"passwordSpec": {"length": 8}}}));
    assert_eq!(
        from_cluster_generator(&spec).unwrap(),
        json!({
            "apiVersion": "generators.external-secrets.io/v1alpha1", "kind": "Password", "metadata": {}, "spec": {"length": 8},
        })
    );
}

#[test]
fn kind_and_spec_must_agree() {
    let error = |spec| from_cluster_generator(&cluster(spec)).unwrap_err().to_string();
    assert_eq!(
        error(json!({"kind": "UUID", "generator": {"fakeSpec": {}}})),
        "invalid ClusterGenerator: when kind is UUID, UUIDSpec must be set"
    );
    assert_eq!(
        error(json!({"kind": "Nope", "generator": {}})),
        "invalid ClusterGenerator: unknown kind Nope"
    );
}
