//! May this namespace use that store, now? ESO's checks, in its order and words.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::context::Context;
use super::external_secret::{EntryError, Retry};
use super::objects::{NamespaceMeta, PartialMeta};
use super::store::{self, StoreView};
use crate::api::external_secret::StoreRef;
use crate::api::secret_store::StoreCondition;
use crate::cluster::rest::NAMESPACES;
use crate::lang::regexp::Regexp;

const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// The store, if it is of our class and `namespace` may use it, whatever its condition says.
///
/// # Errors
/// ESO's texts.
pub async fn admitted(cx: &Context, reference: &StoreRef, namespace: &str) -> Result<StoreView, EntryError> {
    let cluster = reference.kind.is_cluster();
    let kind = if cluster {
        store::CLUSTER_SECRET_STORE
    } else {
        store::SECRET_STORE
    };
    let name = &reference.name;
    let fail = |text: String| EntryError::Other(text, Retry::Backoff);
    let Some(found) = store::find(cx, cluster, namespace, name) else {
        let text = format!(r#"could not get {kind} "{name}", {kind}.external-secrets.io "{name}" not found"#);
        return Err(fail(text));
    };
    let spec = found
        .spec
        .as_ref()
        .map_err(|e| fail(format!(r#"could not get {kind} "{name}", {e}"#)))?;
    if !cx.settings.serves(&spec.controller) {
        return Err(fail("can not reference unmanaged store".to_owned()));
    }
    if cluster && !spec.conditions.is_empty() && !admits(cx, &spec.conditions, namespace).await.map_err(fail)? {
        let text = format!(
            r#"using cluster store "{name}" is not allowed from namespace "{namespace}": denied by spec.condition"#
        );
        return Err(fail(text));
    }
    Ok(found)
}

/// As [`admitted`], and the store must have been found good (ESO's flood gate).
///
/// # Errors
/// ESO's texts; parked where the store was not looked at yet in this process and says nothing about itself.
pub async fn usable(cx: &Context, reference: &StoreRef, namespace: &str) -> Result<StoreView, EntryError> {
    let found = admitted(cx, reference, namespace).await?;
    if cx.settings.flood_gate {
        let (kind, name) = (found.kind, &found.name);
        let fail = |text: String| EntryError::Other(text, Retry::Backoff);
        let key = found.key();
        if !cx.memory.is_validated(&key) && !found.is_ready() {
            return Err(EntryError::Parked(key));
        }
        if !cx.memory.store_ready(&key).unwrap_or(found.is_ready()) {
            return Err(fail(format!(r#"{kind} "{name}" is not ready"#)));
        }
    }
    Ok(found)
}

async fn admits(cx: &Context, conditions: &[StoreCondition], namespace: &str) -> Result<bool, String> {
    let meta = namespace_meta(cx, namespace).await?;
    for condition in conditions {
        if admits_one(condition, &meta, namespace)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A Namespace from the cache, or read where it may not be watched.
///
/// # Errors
/// ESO's text.
pub async fn namespace_meta(cx: &Context, namespace: &str) -> Result<PartialMeta, String> {
    if let Some(known) = cx.namespaces.get("", namespace) {
        return Ok(known.metadata.clone());
    }
    let read: Result<NamespaceMeta, _> = cx.rest.get(&NAMESPACES.object("", namespace)).await;
    read.map(|n| n.metadata)
        .map_err(|e| format!(r#"failed to get a namespace "{namespace}": {e}"#))
}

fn admits_one(condition: &StoreCondition, meta: &PartialMeta, namespace: &str) -> Result<bool, String> {
    let empty = std::collections::BTreeMap::new();
    let labels = meta.labels.as_ref().unwrap_or(&empty);
    if let Some(selector) = &condition.namespace_selector
        && selects(selector, labels)?
    {
        return Ok(true);
    }
    if labels
        .get(NAME_LABEL)
        .is_some_and(|name| condition.namespaces.contains(name))
    {
        return Ok(true);
    }
    for source in &condition.namespace_regexes {
        let compiled = Regexp::new(source).map_err(|e| format!("failed to compile regex {source}: {e}"))?;
        if compiled.is_match(namespace.as_bytes()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether `selector` selects an object with these labels.
///
/// # Errors
/// The selector has an unknown operator or a wrong number of values.
pub fn selects(selector: &LabelSelector, labels: &std::collections::BTreeMap<String, String>) -> Result<bool, String> {
    let equal = selector
        .match_labels
        .iter()
        .flatten()
        .all(|(k, v)| labels.get(k) == Some(v));
    let mut all = equal;
    for rule in selector.match_expressions.iter().flatten() {
        let value = labels.get(&rule.key);
        let values = rule.values.as_deref().unwrap_or_default();
        let holds = match rule.operator.as_str() {
            "In" => value.is_some_and(|v| values.contains(v)),
            "NotIn" => value.is_none_or(|v| !values.contains(v)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            other => {
                return Err(format!(
                    r#"failed to convert label selector into selector {selector:?}: "{other}" is not a valid label selector operator"#
                ));
            }
        };
        all = all && holds;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::admits_one;
    use crate::sync::objects::PartialMeta;

    fn admits(condition: serde_json::Value, namespace: &str) -> Result<bool, String> {
        let labels = [("kubernetes.io/metadata.name", namespace), ("team", "red")];
        let labels = labels.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let meta = PartialMeta {
            labels: Some(labels),
            ..PartialMeta::default()
        };
        admits_one(&serde_json::from_value(condition).unwrap(), &meta, namespace)
    }

    #[test]
    fn any_member_of_a_condition_admits_and_none_admits_nobody() {
        for (condition, expected) in [
            (json!({}), false),
            (json!({"namespaceSelector": {}}), true),
            (json!({"namespaceSelector": {"matchLabels": {"team": "blue"}}}), false),
            (
                json!({"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]}}),
                true,
            ),
            (json!({"namespaces": ["east"]}), true),
            (json!({"namespaces": ["west"]}), false),
            (json!({"namespaceRegexes": ["^w", "as"]}), true),
        ] {
            assert_eq!(admits(condition.clone(), "east"), Ok(expected), "{condition}");
        }
    }

    #[test]
    fn a_pattern_that_does_not_compile_is_named() {
        let error = admits(json!({"namespaceRegexes": ["east("]}), "east").unwrap_err();
        assert!(error.starts_with("failed to compile regex east(: "), "{error}");
    }
}
