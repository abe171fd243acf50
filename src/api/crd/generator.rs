//! Generators, ClusterGenerator and GeneratorState.

use serde_json::{Map, Value, json};

use super::schema::{
    anything, boolean, choice, choice_or, conditions, data_key, integer, list, name, object, one_of, secret_key, text,
    texts, time, with,
};
use super::{Column, Definition};
use crate::api::generator::GENERATOR_KINDS;
use crate::api::{GENERATORS_GROUP, V1ALPHA1};

pub(super) fn definitions() -> Vec<Definition> {
    let mut out: Vec<Definition> = GENERATOR_KINDS
        .iter()
        .map(|g| define(g.kind, g.plural, spec(g.kind), false))
        .collect();
    out.push(define(
        "ClusterGenerator",
        "clustergenerators",
        cluster_generator(),
        true,
    ));
    out.push(generator_state());
    out
}

fn define(kind: &'static str, plural: &str, spec: Value, cluster_scoped: bool) -> Definition {
    Definition {
        group: GENERATORS_GROUP,
        version: V1ALPHA1,
        kind,
        plural: plural.to_owned(),
        short: None,
        cluster_scoped,
        columns: Vec::new(),
        selectable: &[],
        spec,
        status: None,
    }
}

/// The spec of one generator kind; those that need an account are open but for what must be there.
fn spec(kind: &str) -> Value {
    match kind {
        "Password" => password(),
        "UUID" => json!({"type": "object"}),
        "SSHKey" => object([
            ("keyType", choice_or(&["rsa", "ecdsa", "ed25519"], "rsa")),
            ("keySize", with(integer(), &json!({"minimum": 256, "maximum": 8192}))),
            ("comment", text()),
        ]),
        "Fake" => object([("controller", text()), ("data", texts())]),
        "MFA" => object([
            ("secret!", secret_key()),
            ("algorithm", text()),
            ("length", integer()),
            ("timePeriod", integer()),
            ("when", time()),
        ]),
        "Webhook" => {
            let reference = object([("name", name()), ("key", data_key())]);
            super::store::webhook(object([("name!", text()), ("secretRef!", reference)]), "result!")
        }
        _ => super::vendor::generator(kind),
    }
}

fn password() -> Value {
    let off = || with(boolean(), &json!({"default": false}));
    object([
        ("length!", with(integer(), &json!({"default": 24}))),
        ("digits", integer()),
        ("symbols", integer()),
        ("symbolCharacters", text()),
        ("noUpper!", off()),
        ("allowRepeat!", off()),
        (
            "encoding",
            choice_or(&["base64", "base64url", "base32", "hex", "raw"], "raw"),
        ),
        ("secretKeys", with(list(text()), &json!({"minItems": 1}))),
    ])
}

fn cluster_generator() -> Value {
    let mut members = Map::new();
    for known in GENERATOR_KINDS {
        members.insert(known.spec_member.to_owned(), spec(known.kind));
    }
    let kinds: Vec<&str> = GENERATOR_KINDS.iter().map(|g| g.kind).collect();
    let generator = one_of(json!({"type": "object", "properties": members}));
    object([("kind!", choice(&kinds)), ("generator!", generator)])
}

fn generator_state() -> Definition {
    let columns: Vec<Column> = vec![
        ("GC Deadline", "string", ".spec.garbageCollectionDeadline"),
        ("Age", "date", ".metadata.creationTimestamp"),
    ];
    Definition {
        short: Some("gs"),
        columns,
        status: Some(object([("conditions", conditions(text()))])),
        ..define(
            "GeneratorState",
            "generatorstates",
            object([
                ("garbageCollectionDeadline", time()),
                ("resource!", anything()),
                ("state!", anything()),
            ]),
            false,
        )
    }
}
