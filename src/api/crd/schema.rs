//! A vocabulary for structural schemas: small functions that return OpenAPI fragments.

use serde_json::{Map, Value, json};

const DNS: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
const LABEL: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const KEY: &str = r"^[-._a-zA-Z0-9]+$";

/// An object; a name that ends in `!` is required.
pub fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, schema) in fields {
        let plain = name.trim_end_matches('!');
        if plain != name {
            required.push(Value::String(plain.to_owned()));
        }
        properties.insert(plain.to_owned(), schema);
    }
    let mut out = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        out["required"] = Value::Array(required);
    }
    out
}

/// Adds `fields` of a JSON object to a schema (`default`, limits, validations).
pub fn with(mut schema: Value, extra: &Value) -> Value {
    if let (Some(map), Some(extra)) = (schema.as_object_mut(), extra.as_object()) {
        map.extend(extra.clone());
    }
    schema
}

/// Exactly one member.
pub fn one_of(schema: Value) -> Value {
    with(schema, &json!({"minProperties": 1, "maxProperties": 1}))
}

/// Free text.
pub fn text() -> Value {
    json!({"type": "string"})
}

/// Text with a default.
pub fn text_or(default: &str) -> Value {
    json!({"type": "string", "default": default})
}

/// `true` or `false`.
pub fn boolean() -> Value {
    json!({"type": "boolean"})
}

/// A whole number.
pub fn integer() -> Value {
    json!({"type": "integer"})
}

/// RFC 3339.
pub fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

/// Base64.
pub fn bytes() -> Value {
    json!({"type": "string", "format": "byte"})
}

/// One of these words.
pub fn choice(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// One of these words, the default among them.
pub fn choice_or(words: &[&str], default: &str) -> Value {
    json!({"type": "string", "enum": words, "default": default})
}

/// A list.
pub fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

/// Text → schema.
pub fn map(values: Value) -> Value {
    json!({"type": "object", "additionalProperties": values})
}

/// Text → text.
pub fn texts() -> Value {
    map(text())
}

/// An object name (DNS subdomain, RFC 1123).
pub fn name() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 253, "pattern": DNS})
}

/// A namespace name (DNS label, RFC 1123).
pub fn namespace() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 63, "pattern": LABEL})
}

/// A key of a Secret or ConfigMap.
pub fn data_key() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 253, "pattern": KEY})
}

/// Anything.
pub fn anything() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

/// An object whose inside is somebody else's business.
pub fn open_object() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// `metav1.LabelSelector`.
pub fn label_selector() -> Value {
    let atomic = |schema: Value| with(schema, &json!({"x-kubernetes-list-type": "atomic"}));
    let expression = object([
        ("key!", text()),
        ("operator!", text()),
        ("values", atomic(list(text()))),
    ]);
    let selector = object([("matchExpressions", atomic(list(expression))), ("matchLabels", texts())]);
    with(selector, &json!({"x-kubernetes-map-type": "atomic"}))
}

/// `SecretKeySelector` of External Secrets.
pub fn secret_key() -> Value {
    object([("name", name()), ("namespace", namespace()), ("key", data_key())])
}

/// `ServiceAccountSelector` of External Secrets.
pub fn service_account() -> Value {
    object([
        ("name!", name()),
        ("namespace", namespace()),
        ("audiences", list(text())),
    ])
}

/// `caProvider`.
pub fn ca_provider() -> Value {
    object([
        ("type!", choice(&["Secret", "ConfigMap"])),
        ("name!", name()),
        ("key", data_key()),
        ("namespace", namespace()),
    ])
}

/// A condition list with reasons and times.
pub fn conditions(kind: Value) -> Value {
    list(object([
        ("type!", kind),
        ("status!", text()),
        ("reason", text()),
        ("message", text()),
        ("lastTransitionTime", time()),
    ]))
}

/// `status.failedNamespaces` of the Cluster kinds.
pub fn failed_namespaces() -> Value {
    list(object([("namespace!", text()), ("reason", text())]))
}

/// Labels and annotations of generated objects.
pub fn metadata() -> Value {
    object([("labels", texts()), ("annotations", texts())])
}
