//! The bytes that would result against the live ones, key by key, with the reason where one is recognised. No value is
//! part of a result.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::api::yaml_tree as yaml;

/// Why two values of one key differ although the conversion is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Reason {
    /// The same JSON, written with other blanks, order or escapes.
    JsonText,
    /// KES writes `null`, ESO nothing.
    JsonNull,
    /// The same number, written another way or rounded by KES.
    Number,
    /// KES took the top bit off every byte above 127.
    NonAscii,
    /// KES put JSON quotes around the value.
    JsonQuotes,
    /// The same YAML, quoted another way.
    YamlText,
    /// Only line breaks at the end differ.
    LineEnd,
    /// No reason is recognised.
    Unknown,
}

/// What became of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyResult {
    /// The same bytes.
    Equal,
    /// Other bytes.
    Differs(Reason),
    /// The live Secret has it, the result does not: with policy Owner it would be removed.
    OnlyLive,
    /// The result has it, the live Secret does not: KES skips values that are not JSON, ESO does not.
    OnlyNew,
}

/// Compares two sets of values.
#[must_use]
pub fn compare(live: &BTreeMap<String, &[u8]>, new: &BTreeMap<String, &[u8]>) -> BTreeMap<String, KeyResult> {
    let keys: BTreeSet<&String> = live.keys().chain(new.keys()).collect();
    let result = |key: &String| match (live.get(key), new.get(key)) {
        (Some(a), Some(b)) if a == b => KeyResult::Equal,
        (Some(a), Some(b)) => KeyResult::Differs(explain(a, b)),
        (Some(_), None) => KeyResult::OnlyLive,
        (None, _) => KeyResult::OnlyNew,
    };
    keys.into_iter().map(|k| (k.clone(), result(k))).collect()
}

/// True when everything is equal or explicitly accepted, as `namespace/name:key`.
#[must_use]
pub fn acceptable(
    namespace: &str,
    name: &str,
    results: &BTreeMap<String, KeyResult>,
    accepted: &BTreeSet<String>,
) -> bool {
    results
        .iter()
        .all(|(key, result)| *result == KeyResult::Equal || accepted.contains(&format!("{namespace}/{name}:{key}")))
}

/// Recognises why KES's bytes are not ESO's.
#[must_use]
pub fn explain(kes: &[u8], eso: &[u8]) -> Reason {
    if kes == b"null" && eso.is_empty() {
        return Reason::JsonNull;
    }
    if kes.len() == eso.len() && eso.iter().any(|b| *b > 127) && kes.iter().zip(eso).all(|(k, e)| *k == e & 0x7f) {
        return Reason::NonAscii;
    }
    let (Ok(kes_text), Ok(eso_text)) = (std::str::from_utf8(kes), std::str::from_utf8(eso)) else {
        return Reason::Unknown;
    };
    if kes_text.trim_end_matches(['\r', '\n']) == eso_text.trim_end_matches(['\r', '\n']) {
        return Reason::LineEnd;
    }
    if serde_json::to_string(eso_text).is_ok_and(|quoted| quoted == kes_text) {
        return Reason::JsonQuotes;
    }
    if let (Ok(a), Ok(b)) = (kes_text.trim().parse::<f64>(), eso_text.trim().parse::<f64>()) {
        // Equal once rounded to JavaScript's numbers, which is what KES did.
        if a.to_bits() == b.to_bits() {
            return Reason::Number;
        }
    }
    let json = |t: &str| {
        serde_json::from_str::<Value>(t)
            .ok()
            .filter(|v| v.is_object() || v.is_array())
    };
    if let (Some(a), Some(b)) = (json(kes_text), json(eso_text)) {
        return if a == b { Reason::JsonText } else { Reason::Unknown };
    }
    let yaml = |t: &str| {
        yaml::from_str::<yaml::Value>(t)
            .ok()
            .filter(|v| v.is_mapping() || v.is_sequence())
    };
    match (yaml(kes_text), yaml(eso_text)) {
        (Some(a), Some(b)) if a == b => Reason::YamlText,
        _ => Reason::Unknown,
    }
}
