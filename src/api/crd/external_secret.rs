//! ExternalSecret and ClusterExternalSecret.

use serde_json::{Value, json};

use super::schema::{
    boolean, choice, choice_or, conditions, data_key, failed_namespaces, label_selector, list, metadata, name,
    namespace, object, one_of, text, text_or, texts, time, with,
};
use super::{Definition, READY_REASON, READY_STATUS};
use crate::api::generator::GENERATOR_KINDS;
use crate::api::{GENERATORS_API_VERSION, GROUP, V1};

const SCHEDULE: &str =
    r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|@every [^\s]+.*|[^\s]+( [^\s]+){4})$";

pub(super) fn definitions() -> Vec<Definition> {
    vec![external_secret(), cluster_external_secret()]
}

fn external_secret() -> Definition {
    Definition {
        group: GROUP,
        version: V1,
        kind: "ExternalSecret",
        plural: "externalsecrets".to_owned(),
        short: Some("es"),
        cluster_scoped: false,
        columns: vec![
            ("StoreType", "string", ".spec.secretStoreRef.kind"),
            ("Store", "string", ".spec.secretStoreRef.name"),
            ("Refresh Interval", "string", ".spec.refreshInterval"),
            ("Status", "string", READY_REASON),
            ("Ready", "string", READY_STATUS),
            ("Last Sync", "date", ".status.refreshTime"),
        ],
        selectable: &[
            ".spec.secretStoreRef.name",
            ".spec.secretStoreRef.kind",
            ".spec.target.name",
            ".spec.refreshInterval",
        ],
        spec: spec(),
        status: Some(object([
            (
                "binding",
                with(
                    object([("name", text_or(""))]),
                    &json!({"x-kubernetes-map-type": "atomic"}),
                ),
            ),
            ("conditions", conditions(choice(&["Ready", "Deleted"]))),
            ("refreshTime", with(time(), &json!({"nullable": true}))),
            ("syncedResourceVersion", text()),
        ])),
    }
}

fn cluster_external_secret() -> Definition {
    Definition {
        group: GROUP,
        version: V1,
        kind: "ClusterExternalSecret",
        plural: "clusterexternalsecrets".to_owned(),
        short: Some("ces"),
        cluster_scoped: true,
        columns: vec![
            ("Store", "string", ".spec.externalSecretSpec.secretStoreRef.name"),
            ("Refresh Interval", "string", ".spec.refreshTime"),
            ("Ready", "string", READY_STATUS),
        ],
        selectable: &[],
        spec: object([
            ("externalSecretSpec!", spec()),
            ("externalSecretName", name()),
            ("externalSecretMetadata", metadata()),
            ("namespaceSelector", label_selector()),
            ("namespaceSelectors", list(label_selector())),
            ("namespaces", list(namespace())),
            ("refreshTime", text()),
        ]),
        status: Some(object([
            (
                "conditions",
                list(object([("type!", text()), ("status!", text()), ("message", text())])),
            ),
            ("externalSecretName", text()),
            ("failedNamespaces", failed_namespaces()),
            ("provisionedNamespaces", list(text())),
        ])),
    }
}

fn spec() -> Value {
    let source = || one_of(object([("storeRef", store_ref()), ("generatorRef", generator_ref())]));
    object([
        ("secretStoreRef", store_ref()),
        ("refreshPolicy", choice(&["CreatedOnce", "Periodic", "OnChange"])),
        ("refreshInterval", text_or("1h0m0s")),
        ("syncWindows", sync_windows()),
        ("target", target()),
        (
            "data",
            list(object([
                ("secretKey!", data_key()),
                ("remoteRef!", remote_ref()),
                ("sourceRef", source()),
            ])),
        ),
        (
            "dataFrom",
            list(object([
                ("extract", remote_ref()),
                ("find", find()),
                ("rewrite", list(rewrite())),
                ("sourceRef", source()),
            ])),
        ),
    ])
}

fn store_ref() -> Value {
    object([
        ("name", name()),
        ("kind", choice(&["SecretStore", "ClusterSecretStore"])),
    ])
}

/// Reference to a generator.
pub(super) fn generator_ref() -> Value {
    let kinds: Vec<&str> = GENERATOR_KINDS
        .iter()
        .map(|g| g.kind)
        .chain(["ClusterGenerator"])
        .collect();
    object([
        ("apiVersion", text_or(GENERATORS_API_VERSION)),
        ("kind!", choice(&kinds)),
        ("name!", name()),
    ])
}

fn decoding() -> Value {
    choice(&["Auto", "Base64", "Base64URL", "None"])
}

fn remote_ref() -> Value {
    object([
        ("key!", text()),
        ("property", text()),
        ("version", text()),
        ("metadataPolicy", choice(&["None", "Fetch"])),
        ("conversionStrategy", choice(&["Default", "Unicode"])),
        ("decodingStrategy", decoding()),
        ("nullBytePolicy", choice(&["Ignore", "Fail"])),
    ])
}

fn find() -> Value {
    object([
        ("path", text()),
        ("name", object([("regexp", text())])),
        ("tags", texts()),
        ("conversionStrategy", choice(&["Default", "Unicode"])),
        ("decodingStrategy", decoding()),
        ("nullBytePolicy", choice(&["Ignore", "Fail"])),
    ])
}

/// `regexp` of a rewrite.
pub(super) fn rewrite_regexp() -> Value {
    object([("source!", text()), ("target!", text())])
}

/// `transform` of a rewrite.
pub(super) fn rewrite_transform() -> Value {
    object([("template!", text())])
}

fn rewrite() -> Value {
    let merge = object([
        ("into", text_or("")),
        ("priority", list(text())),
        ("priorityPolicy", choice_or(&["IgnoreNotFound", "Strict"], "Strict")),
        ("conflictPolicy", choice_or(&["Ignore", "Error"], "Error")),
        ("strategy", choice_or(&["Extract", "JSON"], "Extract")),
    ]);
    one_of(object([
        ("merge", merge),
        ("regexp", rewrite_regexp()),
        ("transform", rewrite_transform()),
    ]))
}

fn sync_windows() -> Value {
    let schedule = json!({"type": "string", "minLength": 1, "pattern": SCHEDULE});
    let window = object([("schedule!", schedule), ("duration!", text())]);
    object([
        ("kind!", choice(&["allow", "deny"])),
        ("windows!", with(list(window), &json!({"minItems": 1}))),
    ])
}

fn target() -> Value {
    let required = || json!({"type": "string", "minLength": 1});
    let target = object([
        ("name", name()),
        (
            "creationPolicy",
            choice_or(&["Owner", "Orphan", "Merge", "None", "CreateOrMerge"], "Owner"),
        ),
        ("deletionPolicy", choice_or(&["Delete", "Merge", "Retain"], "Retain")),
        ("immutable", boolean()),
        ("manifest", object([("apiVersion!", required()), ("kind!", required())])),
        ("template", template()),
    ]);
    with(
        target,
        &json!({"default": {"creationPolicy": "Owner", "deletionPolicy": "Retain"}}),
    )
}

/// The blueprint of a Secret, shared with PushSecret.
pub(super) fn template() -> Value {
    let item = object([
        ("key!", data_key()),
        ("templateAs", choice_or(&["Values", "KeysAndValues"], "Values")),
    ]);
    let source = || object([("name!", name()), ("items!", list(item.clone()))]);
    let from = object([
        ("configMap", source()),
        ("secret", source()),
        ("literal", text()),
        ("target", text_or("Data")),
        ("valuesDecodingStrategy", decoding()),
    ]);
    object([
        ("type", text()),
        ("engineVersion", choice_or(&["v2"], "v2")),
        ("mergePolicy", choice_or(&["Replace", "Merge"], "Replace")),
        (
            "metadata",
            object([
                ("labels", texts()),
                ("annotations", texts()),
                ("finalizers", list(text())),
            ]),
        ),
        ("data", texts()),
        ("templateFrom", list(from)),
    ])
}
