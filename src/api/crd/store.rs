//! SecretStore and ClusterSecretStore. Three providers are typed, the others are known by name.

use serde_json::{Map, Value, json};

use super::schema::{
    bytes, ca_provider, conditions, integer, label_selector, list, namespace, object, one_of, secret_key,
    service_account, text, text_or, texts, with,
};
use super::{AGE, Definition, READY_REASON, READY_STATUS};
use crate::api::secret_store::KNOWN_PROVIDERS;
use crate::api::{GROUP, V1};

pub(super) fn definitions() -> Vec<Definition> {
    vec![
        store("SecretStore", "secretstores", "ss", false),
        store("ClusterSecretStore", "clustersecretstores", "css", true),
    ]
}

fn store(kind: &'static str, plural: &str, short: &'static str, cluster_scoped: bool) -> Definition {
    Definition {
        group: GROUP,
        version: V1,
        kind,
        plural: plural.to_owned(),
        short: Some(short),
        cluster_scoped,
        columns: vec![
            AGE,
            ("Status", "string", READY_REASON),
            ("Capabilities", "string", ".status.capabilities"),
            ("Ready", "string", READY_STATUS),
        ],
        selectable: &[],
        spec: spec(),
        status: Some(object([("capabilities", text()), ("conditions", conditions(text()))])),
    }
}

fn spec() -> Value {
    let condition = object([
        ("namespaces", list(namespace())),
        ("namespaceSelector", label_selector()),
        ("namespaceRegexes", list(text())),
    ]);
    let interval = json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true});
    let retries = json!({"type": "integer", "format": "int32"});
    object([
        ("controller", text()),
        ("provider!", providers()),
        ("refreshInterval", interval),
        (
            "retrySettings",
            object([("maxRetries", retries), ("retryInterval", text())]),
        ),
        ("conditions", list(condition)),
    ])
}

fn providers() -> Value {
    let mut properties = Map::new();
    for known in KNOWN_PROVIDERS {
        properties.insert(known.key.to_owned(), super::vendor::provider(known.key));
    }
    for (name, schema) in [
        ("kubernetes", kubernetes()),
        ("fake", fake()),
        ("webhook", webhook_store()),
    ] {
        properties.insert(name.to_owned(), schema);
    }
    one_of(json!({"type": "object", "properties": properties}))
}

fn kubernetes() -> Value {
    let auth = one_of(object([
        (
            "cert",
            object([("clientCert!", secret_key()), ("clientKey!", secret_key())]),
        ),
        ("serviceAccount", service_account()),
        ("token", object([("bearerToken!", secret_key())])),
    ]));
    object([
        ("auth", auth),
        ("authRef", secret_key()),
        ("remoteNamespace", with(namespace(), &json!({"default": "default"}))),
        (
            "server",
            object([
                ("url", text_or("kubernetes.default")),
                ("caBundle", bytes()),
                ("caProvider", ca_provider()),
            ]),
        ),
    ])
}

fn fake() -> Value {
    object([
        (
            "data!",
            list(object([("key!", text()), ("value!", text()), ("version", text())])),
        ),
        ("validationResult", integer()),
    ])
}

fn webhook_store() -> Value {
    webhook(object([("name!", text()), ("secretRef!", secret_key())]), "result")
}

/// The webhook's fields, shared with the generator, which requires `result` and has another `secretRef`.
pub(super) fn webhook(secret: Value, result: &str) -> Value {
    let ntlm = object([("usernameSecret!", secret_key()), ("passwordSecret!", secret_key())]);
    object([
        ("url!", text()),
        ("method", text()),
        ("headers", texts()),
        ("body", text()),
        ("timeout", text()),
        ("auth", one_of(object([("ntlm", ntlm)]))),
        (result, object([("jsonPath", text())])),
        ("secrets", list(secret)),
        ("caBundle", bytes()),
        ("caProvider", ca_provider()),
    ])
}
