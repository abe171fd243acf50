//! `data` and `dataTo`, expanded over one Secret for one store. The error texts are ESO's.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::push_secret::{DataTo, PushConversionStrategy, PushData, PushRewrite, PushSecretSpec, PushStoreRef};
use crate::lang::regexp::Regexp;
use crate::secret::convert::reverse_unicode;
use crate::secret::rewrite::TemplateFault;
use crate::secret::{SecretData, SecretValue};

/// Runs a rewrite's template: the template, the key.
pub type Transform<'a> = &'a mut dyn FnMut(&str, &str) -> Result<String, TemplateFault>;

/// One entry and what it may draw on.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// As it goes to the provider, and into the status.
    pub data: PushData,
    /// The converted keys a bundle holds; `None`: the whole Secret.
    pub bundle: Option<SecretData>,
}

impl Entry {
    /// The keys and values the provider gets.
    ///
    /// # Errors
    /// Two keys become one.
    pub fn payload(&self, secret: &SecretData) -> Result<SecretData, String> {
        match &self.bundle {
            Some(kept) => Ok(kept.clone()),
            None => convert(self.data.conversion_strategy.as_ref(), secret)
                .map_err(|e| format!("could not apply conversion strategy to keys: {e}")),
        }
    }
}

fn convert(strategy: Option<&PushConversionStrategy>, data: &SecretData) -> Result<SecretData, String> {
    match strategy {
        Some(PushConversionStrategy::ReverseUnicode) => reverse_unicode(data.clone()).map_err(|e| e.to_string()),
        _ => Ok(data.clone()),
    }
}

/// The store an entry is expanded for.
#[derive(Debug, Clone, Copy)]
pub struct Store<'a> {
    /// `SecretStore` or `ClusterSecretStore`.
    pub kind: &'a str,
    /// Name.
    pub name: &'a str,
    /// Labels.
    pub labels: &'a BTreeMap<String, String>,
}

/// Decides whether a label selector selects labels.
pub type Selects<'a> = &'a dyn Fn(&PushStoreRef, &BTreeMap<String, String>) -> Result<bool, String>;

/// Every `dataTo` names a store of `secretStoreRefs`, as far as that shows before any store is read.
///
/// # Errors
/// ESO's text.
pub fn check_store_refs(spec: &PushSecretSpec) -> Result<(), String> {
    for (i, entry) in spec.data_to.iter().enumerate() {
        let Some(reference) = &entry.store_ref else {
            return Err(format!("dataTo[{i}]: storeRef is required"));
        };
        if reference.name.is_empty() && reference.label_selector.is_none() {
            return Err(format!("dataTo[{i}]: storeRef must have name or labelSelector"));
        }
        let named = |r: &PushStoreRef| r.name == reference.name && r.kind.as_str() == reference.kind.as_str();
        if !reference.name.is_empty() && !spec.secret_store_refs.iter().any(named) {
            return Err(format!(
                "dataTo[{i}]: storeRef {:?} not found in secretStoreRefs",
                reference.name
            ));
        }
    }
    Ok(())
}

/// Every `dataTo` that chooses by labels hits a store.
///
/// # Errors
/// ESO's text.
pub fn check_label_refs(spec: &PushSecretSpec, stores: &[Store<'_>], selects: Selects<'_>) -> Result<(), String> {
    for (i, entry) in spec.data_to.iter().enumerate() {
        let Some(reference) = entry.store_ref.as_ref().filter(|r| r.name.is_empty()) else {
            continue;
        };
        let mut hit = false;
        for store in stores.iter().filter(|s| s.kind == reference.kind.as_str()) {
            hit |= selects(reference, store.labels).map_err(|e| format!("dataTo[{i}]: invalid labelSelector: {e}"))?;
        }
        if !hit {
            return Err(format!(
                "dataTo[{i}]: labelSelector does not match any store in secretStoreRefs"
            ));
        }
    }
    Ok(())
}

fn applies(entry: &DataTo, store: Store<'_>, selects: Selects<'_>) -> Result<bool, String> {
    let Some(reference) = &entry.store_ref else {
        return Ok(false);
    };
    if reference.kind.as_str() != store.kind {
        return Ok(false);
    }
    if reference.name.is_empty() {
        selects(reference, store.labels)
    } else {
        Ok(reference.name == store.name)
    }
}

/// The entries for one store and one Secret, in the order they are pushed: expanded ones, then `data`.
///
/// # Errors
/// ESO's text, without `set secret failed: `.
pub fn for_store(
    spec: &PushSecretSpec,
    store: Store<'_>,
    secret: &SecretData,
    selects: Selects<'_>,
    transform: Transform<'_>,
) -> Result<Vec<Entry>, String> {
    let mut expanded: Vec<Entry> = Vec::new();
    let mut taken: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut index = 0;
    for entry in &spec.data_to {
        if !applies(entry, store, selects).map_err(|e| format!("failed to expand dataTo: {e}"))? {
            continue;
        }
        // ESO counts within the entries that concern the store.
        let i = index;
        index += 1;
        let made =
            expand(entry, secret, transform).map_err(|e| format!("failed to expand dataTo: dataTo[{i}]: {e}"))?;
        for one in made {
            let remote = &one.data.match_.remote_ref.remote_key;
            let source = match &one.bundle {
                Some(_) => "(bundle)".to_owned(),
                None => one.data.match_.secret_key.clone(),
            };
            if let Some((j, other)) = taken.get(remote) {
                return Err(format!(
                    "failed to expand dataTo: dataTo[{i}]: duplicate remote key {remote:?} from source key {source:?} \
                     (conflicts with dataTo[{j}]:{other})"
                ));
            }
            taken.insert(remote.clone(), (i, source));
            expanded.push(one);
        }
    }
    combine(expanded, &spec.data, secret).map_err(|e| format!("failed to merge data entries: {e}"))
}

fn expand(entry: &DataTo, secret: &SecretData, transform: Transform<'_>) -> Result<Vec<Entry>, String> {
    if !entry.remote_key.is_empty() && !entry.rewrite.is_empty() {
        return Err("remoteKey and rewrite are mutually exclusive: rewrite is only supported in per-key mode (without remoteKey)".to_owned());
    }
    let strategy = entry.conversion_strategy.as_ref();
    let converted = convert(strategy, secret).map_err(|e| format!("conversion failed: {e}"))?;
    let pattern = entry.match_.as_ref().map(|m| m.regexp.as_str()).unwrap_or_default();
    let mut kept = converted;
    if !pattern.is_empty() {
        let compiled = Regexp::new(pattern)
            .map_err(|e| format!("match failed: failed to compile regexp pattern {pattern:?}: {e}"))?;
        kept.retain(|key, _| compiled.is_match(key.as_bytes()));
    }
    if kept.is_empty() {
        return Ok(Vec::new());
    }
    let data = |secret_key: &str, remote_key: String| {
        let mut data = PushData {
            metadata: entry.metadata.clone(),
            conversion_strategy: Some(PushConversionStrategy::None),
            ..PushData::default()
        };
        secret_key.clone_into(&mut data.match_.secret_key);
        data.match_.remote_ref.remote_key = remote_key;
        data
    };
    if !entry.remote_key.is_empty() {
        return Ok(vec![Entry {
            data: data("", entry.remote_key.clone()),
            bundle: Some(kept),
        }]);
    }
    let mut out = Vec::new();
    for key in kept.keys() {
        let original = original_key(strategy, secret, key)?;
        let remote = rewrite(&entry.rewrite, key, transform)?;
        if remote.is_empty() {
            return Err(format!("empty remote key produced for source key {original:?}"));
        }
        out.push(Entry {
            data: data(&original, remote),
            bundle: None,
        });
    }
    Ok(out)
}

/// The key as the Secret has it, of a converted one.
fn original_key(
    strategy: Option<&PushConversionStrategy>,
    secret: &SecretData,
    converted: &str,
) -> Result<String, String> {
    for key in secret.keys() {
        let one = SecretData::from([(key.clone(), SecretValue::default())]);
        if convert(strategy, &one)?.contains_key(converted) {
            return Ok(key.clone());
        }
    }
    Ok(converted.to_owned())
}

fn rewrite(steps: &[PushRewrite], key: &str, transform: Transform<'_>) -> Result<String, String> {
    let mut current = key.to_owned();
    for (n, step) in steps.iter().enumerate() {
        if let Some(regexp) = &step.regexp {
            let compiled = Regexp::new(&regexp.source)
                .map_err(|e| format!("rewrite failed: rewrite[{n}]: invalid regexp {:?}: {e}", regexp.source))?;
            let replaced = compiled.replace_all(current.as_bytes(), regexp.target.as_bytes());
            current = String::from_utf8_lossy(&replaced).into_owned();
        } else if let Some(template) = &step.transform {
            current = transform(&template.template, &current).map_err(|fault| match fault {
                TemplateFault::Parse(text) => format!("rewrite failed: rewrite[{n}]: invalid template: {text}"),
                TemplateFault::Execute(text) => {
                    format!("rewrite failed: rewrite[{n}] on key {current:?}: template exec: {text}")
                }
            })?;
        }
    }
    Ok(current)
}

/// Explicit entries win over expanded ones of the same source key; no two may have one destination.
fn combine(expanded: Vec<Entry>, explicit: &[PushData], secret: &SecretData) -> Result<Vec<Entry>, String> {
    let mut named = BTreeSet::new();
    for data in explicit {
        named.insert(original_key(
            data.conversion_strategy.as_ref(),
            secret,
            &data.match_.secret_key,
        )?);
    }
    let kept = expanded
        .into_iter()
        .filter(|e| !named.contains(&e.data.match_.secret_key));
    let all: Vec<Entry> = kept
        .chain(explicit.iter().map(|data| Entry {
            data: data.clone(),
            bundle: None,
        }))
        .collect();
    let mut seen = BTreeMap::new();
    for entry in &all {
        let (remote, source) = (&entry.data.match_.remote_ref, &entry.data.match_.secret_key);
        if let Some(other) = seen.insert((&remote.remote_key, &remote.property), source) {
            let property = if remote.property.is_empty() {
                String::new()
            } else {
                format!(" with property {:?}", remote.property)
            };
            return Err(format!(
                "duplicate remote key {:?}{property}: source keys {other:?} and {source:?} both map to the same destination",
                remote.remote_key
            ));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::{Store, check_store_refs, for_store};
    use crate::api::push_secret::PushSecretSpec;
    use crate::secret::{SecretData, SecretValue};

    fn made(spec: Value, keys: &[&str]) -> Result<Vec<String>, String> {
        let spec: PushSecretSpec = serde_json::from_value(spec).unwrap();
        let secret: SecretData = keys
            .iter()
            .map(|k| ((*k).to_owned(), SecretValue::from("v".to_owned())))
            .collect();
        let labels = BTreeMap::new();
        let store = Store {
            kind: "SecretStore",
            name: "s",
            labels: &labels,
        };
        let mut upper = |_: &str, key: &str| Ok(key.to_uppercase());
        let entries = for_store(&spec, store, &secret, &|_, _| Ok(true), &mut upper)?;
        Ok(entries
            .iter()
            .map(|e| format!("{}>{}", e.data.match_.secret_key, e.data.match_.remote_ref.remote_key))
            .collect())
    }

    fn to(more: Value) -> Value {
        let mut entry = json!({"storeRef": {"name": "s"}});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    }

    #[test]
    fn keys_are_matched_rewritten_and_sorted() {
        let rewrite = json!([{"regexp": {"source": "^db-", "target": "x-$0"}}, {"transform": {"template": "t"}}]);
        let spec = json!({"dataTo": [to(json!({"match": {"regexp": "^db"}, "rewrite": rewrite}))]});
        assert_eq!(
            made(spec, &["web", "db-user", "db-pass"]).unwrap(),
            ["db-pass>X-DB-PASS", "db-user>X-DB-USER"]
        );
    }

    #[test]
    fn explicit_entries_win_and_a_whole_one_takes_every_bundle_out() {
        let explicit = json!([{"match": {"remoteRef": {"remoteKey": "all"}}}]);
        let spec = json!({"data": explicit, "dataTo": [to(json!({"remoteKey": "bundle"}))]});
        assert_eq!(made(spec, &["a"]).unwrap(), [">all"]);
    }

    #[test]
    fn the_original_key_is_named_and_the_converted_one_is_sent() {
        let spec = json!({"dataTo": [to(json!({"conversionStrategy": "ReverseUnicode"}))]});
        assert_eq!(made(spec, &["a_U002f_b"]).unwrap(), ["a_U002f_b>a/b"]);
    }

    #[test]
    fn refusals_in_the_operators_words() {
        let same = json!([{"regexp": {"source": ".*", "target": ""}}]);
        let cases = [
            (
                json!({"dataTo": [to(json!({"match": {"regexp": "("}}))]}),
                "failed to expand dataTo: dataTo[0]: match failed: failed to compile regexp pattern \"(\": error parsing regexp: missing closing ): `(`",
            ),
            (
                json!({"dataTo": [to(json!({"rewrite": same}))]}),
                "failed to expand dataTo: dataTo[0]: empty remote key produced for source key \"a\"",
            ),
            (
                json!({"dataTo": [to(json!({})), to(json!({"remoteKey": "a"}))]}),
                "failed to expand dataTo: dataTo[1]: duplicate remote key \"a\" from source key \"(bundle)\" (conflicts with dataTo[0]:a)",
            ),
            (
                json!({"data": [{"match": {"secretKey": "a", "remoteRef": {"remoteKey": "x", "property": "p"}}},
                             {"match": {"secretKey": "b", "remoteRef": {"remoteKey": "x", "property": "p"}}}]}),
                "failed to merge data entries: duplicate remote key \"x\" with property \"p\": source keys \"a\" and \"b\" both map to the same destination",
            ),
        ];
        for (spec, expected) in cases {
            assert_eq!(made(spec, &["a", "b"]).unwrap_err(), expected);
        }
    }

    #[test]
    fn a_named_store_must_be_among_the_references() {
        let spec: PushSecretSpec = serde_json::from_value(
            json!({"secretStoreRefs": [{"name": "a"}], "dataTo": [{"storeRef": {"name": "b"}}]}),
        )
        .unwrap();
        assert_eq!(
            check_store_refs(&spec).unwrap_err(),
            "dataTo[0]: storeRef \"b\" not found in secretStoreRefs"
        );
    }
}
