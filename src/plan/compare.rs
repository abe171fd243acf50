//! Is an apply needed? Compares only the fields we own, so that defaults and other writers' fields do not count.

use serde_json::Value;

use super::Manifest;
use super::names::{LABEL_MANAGED_BY, MANAGED_BY};

/// What to do about one manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Not there yet.
    Create,
    /// There, and different in fields we own.
    Configure,
    /// There and equal; no request.
    Unchanged,
    /// There, made by somebody else, and adoption was not asked for.
    Foreign,
    /// `roleRef` of a binding differs, which the API server cannot change.
    ImmutableRoleRef,
}

/// How strict to be about what is already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Refuse objects that lack our label (user files are applied without this).
    pub require_label: bool,
    /// `--adopt`: take such objects over.
    pub adopt: bool,
    /// `--recreate`: an immutable `roleRef` may be replaced by deleting and creating.
    pub recreate: bool,
}

/// Field manager whose entries in `managedFields` are ours.
pub const MANAGER: &str = "kubectl-eso";

/// Decides from the manifest and what was read.
pub fn decide(manifest: &Manifest, live: Option<&Value>, policy: Policy) -> Verdict {
    let Some(live) = live else { return Verdict::Create };
    if policy.require_label && !policy.adopt && !is_ours(live) && manifest.kind() != "Namespace" {
        return Verdict::Foreign;
    }
    let wanted = manifest.value();
    if let (Some(a), Some(b)) = (wanted.get("roleRef"), live.get("roleRef"))
        && !covers(a, b)
        && !policy.recreate
    {
        return Verdict::ImmutableRoleRef;
    }
    if covers(&comparable(wanted), live) && !owns_more(wanted, live) && !written_client_side(live) {
        Verdict::Unchanged
    } else {
        Verdict::Configure
    }
}

/// True for an object that carries our label.
pub fn is_ours(object: &Value) -> bool {
    object
        .pointer("/metadata/labels")
        .and_then(|l| l.get(LABEL_MANAGED_BY))
        .and_then(Value::as_str)
        == Some(MANAGED_BY)
}

/// True where `kubectl apply` (client-side) owns fields that we are about to own.
pub fn written_client_side(live: &Value) -> bool {
    managed(live).any(is_client_side)
}

/// kubectl's entry for client-side apply.
pub fn is_client_side(entry: &Value) -> bool {
    entry["manager"] == "kubectl-client-side-apply"
        && entry["operation"] == "Update"
        && entry
            .get("subresource")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .is_empty()
}

fn managed(live: &Value) -> impl Iterator<Item = &Value> {
    live.pointer("/metadata/managedFields")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// `stringData` never comes back; it is compared as what it becomes.
fn comparable(wanted: &Value) -> Value {
    use base64::Engine;
    let mut out = wanted.clone();
    let Some(Value::Object(strings)) = out.get("stringData").cloned() else {
        return out;
    };
    for (key, value) in strings {
        let text = value.as_str().unwrap_or_default();
        out["data"][&key] = Value::String(base64::engine::general_purpose::STANDARD.encode(text));
    }
    if let Some(map) = out.as_object_mut() {
        map.remove("stringData");
    }
    out
}

/// Every field of `wanted` stands in `live` with the same value; lists must have the same length. An empty map or list
/// equals an absent one, since the API server drops empty ones.
pub fn covers(wanted: &Value, live: &Value) -> bool {
    match (wanted, live) {
        (Value::Object(w), Value::Object(l)) => w.iter().all(|(k, v)| match l.get(k) {
            Some(other) => covers(v, other),
            None => is_empty(v),
        }),
        (Value::Array(w), Value::Array(l)) => w.len() == l.len() && w.iter().zip(l).all(|(a, b)| covers(a, b)),
        (Value::Number(w), Value::Number(l)) => w == l || w.as_f64() == l.as_f64(),
        (w, l) => w == l,
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(m) => m.is_empty(),
        Value::Array(a) => a.is_empty(),
        _ => false,
    }
}

/// True where an earlier apply of ours owns a field that is no longer wanted.
fn owns_more(wanted: &Value, live: &Value) -> bool {
    managed(live)
        .filter(|e| e["manager"] == MANAGER && e["operation"] == "Apply")
        .filter_map(|e| e.get("fieldsV1"))
        .any(|fields| has_extra(fields, wanted))
}

fn has_extra(fields: &Value, wanted: &Value) -> bool {
    let Value::Object(fields) = fields else { return false };
    fields.iter().any(|(key, inner)| {
        // List items (`k:`, `v:`) are compared as whole lists already; `.` is the field itself.
        let Some(name) = key.strip_prefix("f:") else {
            return false;
        };
        match wanted.get(name) {
            Some(next) => has_extra(inner, next),
            None => !(name == "data" && wanted.get("stringData").is_some()),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Policy, Verdict, decide};
    use crate::plan::Manifest;

    fn role(names: &[&str]) -> Value {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "r", "namespace": "n", "labels": {"app.kubernetes.io/managed-by": "kubectl-eso"}},
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": names}]})
    }

    fn verdict(wanted: Value, live: Option<Value>, policy: Policy) -> Verdict {
        decide(&Manifest::new(wanted).unwrap(), live.as_ref(), policy)
    }

    #[test]
    fn absent_equal_and_different() {
        assert_eq!(verdict(role(&["a"]), None, Policy::default()), Verdict::Create);
        let mut live = role(&["a"]);
        live["metadata"]["uid"] = json!("u");
        assert_eq!(
            verdict(role(&["a"]), Some(live.clone()), Policy::default()),
            Verdict::Unchanged
        );
        assert_eq!(
            verdict(role(&["a", "b"]), Some(live), Policy::default()),
            Verdict::Configure
        );
    }

    #[test]
    fn a_field_we_own_but_no_longer_want_is_a_change() {
        let mut live = role(&["a"]);
        live["metadata"]["labels"]["old"] = json!("x");
        live["metadata"]["managedFields"] = json!([{"manager": "kubectl-eso", "operation": "Apply",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:old": {}}}, "f:rules": {}}}]);
        assert_eq!(verdict(role(&["a"]), Some(live), Policy::default()), Verdict::Configure);
    }

    #[test]
    fn foreign_objects_are_refused_unless_adopted() {
        let mut live = role(&["a"]);
        live["metadata"]["labels"] = json!({});
        let strict = Policy {
            require_label: true,
            ..Policy::default()
        };
        assert_eq!(verdict(role(&["a"]), Some(live.clone()), strict), Verdict::Foreign);
        assert_eq!(
            verdict(role(&["a"]), Some(live), Policy { adopt: true, ..strict }),
            Verdict::Configure
        );
    }

    #[test]
    fn string_data_is_compared_as_data() {
        let wanted = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "v"}});
        let live = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": "dg=="}, "type": "Opaque"});
        assert_eq!(verdict(wanted, Some(live), Policy::default()), Verdict::Unchanged);
    }

    #[test]
    fn a_binding_to_another_role_needs_recreate() {
        let binding = |role: &str| {
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role}, "subjects": []})
        };
        assert_eq!(
            verdict(binding("a"), Some(binding("b")), Policy::default()),
            Verdict::ImmutableRoleRef
        );
    }
}
