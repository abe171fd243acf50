//! What counts of a cluster's state: Secrets, ConfigMaps, their metadata, conditions, events; volatile parts taken out.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::{Map, Value, json};

/// Everything listed at one moment, by plural name.
pub type State = BTreeMap<&'static str, Vec<Value>>;

/// The operator's kinds whose status counts.
pub const KINDS: &[(&str, &str)] = &[
    ("external-secrets.io/v1", "externalsecrets"),
    ("external-secrets.io/v1", "secretstores"),
    ("external-secrets.io/v1", "clustersecretstores"),
    ("external-secrets.io/v1", "clusterexternalsecrets"),
    ("external-secrets.io/v1alpha1", "pushsecrets"),
    ("external-secrets.io/v1alpha1", "clusterpushsecrets"),
];

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// Takes out what differs from run to run.
fn scrub(text: &str, main: &str) -> String {
    let volatile = [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
        (r"resourceVersion[^,]*", "<rv>"),
        (r"0x[0-9a-f]{6,}", "<ptr>"),
        (r"127\.0\.0\.1:\d+", "<server>"),
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "<time>"),
    ];
    volatile.iter().fold(text.replace(main, "$NS"), |text, (pattern, instead)| {
        Regex::new(pattern).unwrap().replace_all(&text, *instead).into_owned()
    })
}

fn owners(object: &Value, main: &str) -> Value {
    let shown = |o: &Value| {
        let flag = |name: &str| if o[name].as_bool().unwrap_or(false) { "True" } else { "False" };
        let (controller, block) = (flag("controller"), flag("blockOwnerDeletion"));
        format!("{}/{} controller={controller} block={block}", text(o, "/kind"), text(o, "/name").replace(main, "$NS"))
    };
    json!(list(object, "/metadata/ownerReferences").map(shown).collect::<BTreeSet<_>>())
}

fn texts(object: &Value, pointer: &str, main: Option<&str>) -> Value {
    let map = object.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
    let value = |v: &Value| match main {
        Some(main) => v.as_str().unwrap_or_default().replace(main, "$NS"),
        None => v.as_str().unwrap_or_default().to_owned(),
    };
    Value::Object(map.iter().map(|(k, v)| (k.clone(), json!(value(v)))).collect())
}

/// One namespace's view (and that of its companions).
struct View<'a> {
    namespaces: &'a [String],
    main: &'a str,
}

impl View<'_> {
    fn mine(&self, object: &Value) -> bool {
        self.namespaces.iter().any(|n| n == text(object, "/metadata/namespace"))
    }

    fn short(&self, object: &Value) -> String {
        let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
        let name = name.replace(self.main, "$NS");
        if namespace.is_empty() || namespace == self.main {
            name
        } else {
            format!("{}/{name}", namespace.replace(self.main, "$NS"))
        }
    }

    fn is_input(object: &Value) -> bool {
        text(object, "/metadata/labels/conform") == "input"
    }

    fn metadata(&self, object: &Value, annotations: bool) -> Value {
        json!({
            "labels": texts(object, "/metadata/labels", Some(self.main)),
            "annotations": texts(object, "/metadata/annotations", annotations.then_some(self.main)),
            "owners": owners(object, self.main),
        })
    }

    fn status(&self, object: &Value) -> Value {
        let conditions: BTreeSet<String> = list(object, "/status/conditions")
            .map(|c| {
                let message = scrub(text(c, "/message"), self.main);
                format!("{}={} {}: {message}", text(c, "/type"), text(c, "/status"), text(c, "/reason"))
            })
            .collect();
        let mut entry = Map::from_iter([("conditions".to_owned(), json!(conditions))]);
        let fields = ["binding", "capabilities", "failedNamespaces", "provisionedNamespaces", "externalSecretName"];
        for field in fields.into_iter().chain(["syncedPushSecrets"]) {
            let value = &object["status"][field];
            let empty = value.is_null()
                || value.as_str() == Some("")
                || value.as_array().is_some_and(Vec::is_empty)
                || value.as_object().is_some_and(Map::is_empty);
            if !empty {
                let scrubbed = scrub(&value.to_string(), self.main);
                entry.insert(field.to_owned(), serde_json::from_str(&scrubbed).unwrap());
            }
        }
        let finalizers: BTreeSet<&str> = list(object, "/metadata/finalizers").filter_map(Value::as_str).collect();
        if !finalizers.is_empty() {
            entry.insert("finalizers".to_owned(), json!(finalizers));
        }
        Value::Object(entry)
    }
}

/// The snapshot of a case in its namespaces; the first is its own.
pub fn take(state: &State, namespaces: &[String]) -> Value {
    let view = View { namespaces, main: &namespaces[0] };
    let all = |plural: &str| state.get(plural).map(Vec::as_slice).unwrap_or_default();
    let (mut secrets, mut metadata, mut status) = (Map::new(), Map::new(), Map::new());
    let (mut maps, mut map_metadata) = (Map::new(), Map::new());
    for secret in all("secrets").iter().filter(|s| view.mine(s) && !View::is_input(s)) {
        let data = secret.get("data").filter(|d| !d.is_null()).cloned().unwrap_or_else(|| json!({}));
        let immutable = secret["immutable"].as_bool().unwrap_or(false);
        secrets.insert(view.short(secret), json!({ "type": secret["type"], "data": data, "immutable": immutable }));
        metadata.insert(view.short(secret), view.metadata(secret, true));
    }
    for (_, plural) in KINDS {
        let concerned = |o: &&Value| view.mine(o) || text(o, "/metadata/name").contains(view.main);
        for object in all(plural).iter().filter(concerned) {
            status.insert(format!("{plural}/{}", view.short(object)), view.status(object));
        }
    }
    for namespace in all("namespaces").iter().filter(|n| namespaces.iter().any(|m| m == text(n, "/metadata/name"))) {
        let finalizers: BTreeSet<String> = list(namespace, "/metadata/finalizers")
            .filter_map(Value::as_str)
            .map(|f| f.replace(view.main, "$NS"))
            .collect();
        if !finalizers.is_empty() {
            let key = format!("namespaces/{}", view.short(namespace));
            status.insert(key, json!({ "conditions": [], "finalizers": finalizers }));
        }
    }
    let foreign = |c: &&Value| view.mine(c) && text(c, "/metadata/name") != "kube-root-ca.crt" && !View::is_input(c);
    for map in all("configmaps").iter().filter(foreign) {
        let data = map.get("data").filter(|d| !d.is_null()).cloned().unwrap_or_else(|| json!({}));
        maps.insert(view.short(map), json!({ "data": data }));
        map_metadata.insert(view.short(map), view.metadata(map, false));
    }
    let mut snapshot = json!({ "secrets": secrets, "metadata": metadata, "status": status, "events": events(&view, all("events")) });
    if !maps.is_empty() {
        snapshot["configmaps"] = Value::Object(maps);
        snapshot["configmapMetadata"] = Value::Object(map_metadata);
    }
    snapshot
}

fn events(view: &View<'_>, events: &[Value]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    for event in events {
        let (kind, name) = (text(event, "/involvedObject/kind"), text(event, "/involvedObject/name"));
        let namespace = text(event, "/involvedObject/namespace");
        let ours = view.namespaces.iter().any(|n| n == namespace) || name.contains(view.main);
        let noise = matches!(kind, "Namespace" | "ServiceAccount" | "ConfigMap")
            || text(event, "/reason") == "StoreUnmaintained";
        if ours && !noise {
            let message = scrub(text(event, "/message"), view.main);
            let name = name.replace(view.main, "$NS");
            seen.insert(format!("{kind}/{name} {} {}: {message}", text(event, "/type"), text(event, "/reason")));
        }
    }
    seen
}
