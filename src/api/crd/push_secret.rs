//! PushSecret and ClusterPushSecret.

use serde_json::{Value, json};

use super::external_secret::{generator_ref, rewrite_regexp, rewrite_transform, template};
use super::schema::{
    anything, choice_or, conditions, failed_namespaces, label_selector, list, map, metadata, name, object, one_of,
    text, text_or, time, with,
};
use super::{AGE, Definition, READY_REASON};
use crate::api::{GROUP, V1ALPHA1};

pub(super) fn definitions() -> Vec<Definition> {
    vec![push_secret(), cluster_push_secret()]
}

fn push_secret() -> Definition {
    Definition {
        group: GROUP,
        version: V1ALPHA1,
        kind: "PushSecret",
        plural: "pushsecrets".to_owned(),
        short: Some("ps"),
        cluster_scoped: false,
        columns: vec![
            AGE,
            ("Status", "string", READY_REASON),
            ("Last Sync", "date", ".status.refreshTime"),
        ],
        selectable: &[],
        spec: spec(),
        status: Some(object([
            ("conditions", conditions(text())),
            ("refreshTime", with(time(), &json!({"nullable": true}))),
            ("syncedPushSecrets", map(map(data()))),
            ("syncedResourceVersion", text()),
        ])),
    }
}

fn cluster_push_secret() -> Definition {
    Definition {
        group: GROUP,
        version: V1ALPHA1,
        kind: "ClusterPushSecret",
        plural: "clusterpushsecrets".to_owned(),
        short: None,
        cluster_scoped: true,
        columns: vec![AGE, ("Status", "string", READY_REASON)],
        selectable: &[],
        spec: object([
            ("pushSecretSpec!", spec()),
            ("pushSecretName", name()),
            ("pushSecretMetadata", metadata()),
            ("namespaceSelectors", list(label_selector())),
            ("refreshTime", text()),
        ]),
        status: Some(object([
            ("conditions", conditions(text())),
            ("failedNamespaces", failed_namespaces()),
            ("provisionedNamespaces", list(text())),
            ("pushSecretName", text()),
        ])),
    }
}

fn spec() -> Value {
    let secret = object([("name", name()), ("selector", label_selector())]);
    let selector = one_of(object([("secret", secret), ("generatorRef", generator_ref())]));
    object([
        ("refreshInterval", text_or("1h0m0s")),
        ("secretStoreRefs!", list(store_ref())),
        ("updatePolicy", choice_or(&["Replace", "IfNotExists"], "Replace")),
        ("deletionPolicy", choice_or(&["Delete", "None"], "None")),
        ("selector!", selector),
        ("data", list(data())),
        ("dataTo", list(data_to())),
        ("template", template()),
    ])
}

fn store_ref() -> Value {
    object([
        ("name", name()),
        ("labelSelector", label_selector()),
        ("kind", choice_or(&["SecretStore", "ClusterSecretStore"], "SecretStore")),
    ])
}

fn conversion() -> Value {
    choice_or(&["None", "ReverseUnicode"], "None")
}

fn data() -> Value {
    let remote = object([("remoteKey!", text()), ("property", text())]);
    object([
        ("match!", object([("secretKey", text()), ("remoteRef!", remote)])),
        ("metadata", anything()),
        ("conversionStrategy", conversion()),
    ])
}

fn data_to() -> Value {
    let either = json!({"x-kubernetes-validations": [{
        "rule": "(has(self.regexp) && !has(self.transform)) || (!has(self.regexp) && has(self.transform))",
        "message": "exactly one of regexp or transform must be set",
    }]});
    let rewrite = with(
        object([("regexp", rewrite_regexp()), ("transform", rewrite_transform())]),
        &either,
    );
    let rules = json!({"x-kubernetes-validations": [
        {
            "rule": "has(self.storeRef) && (has(self.storeRef.name) || has(self.storeRef.labelSelector))",
            "message": "storeRef must specify either name or labelSelector",
        },
        {
            "rule": "!has(self.remoteKey) || !has(self.rewrite) || size(self.rewrite) == 0",
            "message": "remoteKey and rewrite are mutually exclusive: rewrite is only supported in per-key mode (without remoteKey)",
        },
    ]});
    let fields = object([
        ("storeRef", store_ref()),
        ("match", object([("regexp", text())])),
        ("remoteKey", text()),
        ("rewrite", list(rewrite)),
        ("metadata", anything()),
        ("conversionStrategy", conversion()),
    ]);
    with(fields, &rules)
}
