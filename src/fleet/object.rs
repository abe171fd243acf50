//! Small readers for API objects that came as JSON.
use base64::Engine as _;
use serde_json::Value;
use std::collections::BTreeMap;

use super::error::FleetError;
use crate::secret::value::SecretValue;

/// Text at a JSON pointer; empty when absent.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Number at a JSON pointer; zero when absent.
pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// Boolean at a JSON pointer; false when absent.
pub(super) fn flag(object: &Value, pointer: &str) -> bool {
    object.pointer(pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// A map of text at a JSON pointer.
pub(super) fn text_map(object: &Value, pointer: &str) -> BTreeMap<String, String> {
    let map = object.pointer(pointer).and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect()
}

/// `Kind namespace/name` for messages.
pub(super) fn describe(object: &Value) -> String {
    let kind = text(object, "/kind");
    let kind = if kind.is_empty() { "object" } else { kind };
    format!(
        "{kind} {}/{}",
        text(object, "/metadata/namespace"),
        text(object, "/metadata/name")
    )
}

/// Decoded bytes of one key of a Secret.
pub(super) fn secret_key(secret: &Value, key: &str) -> Result<SecretValue, FleetError> {
    let wrong = |problem: String| FleetError::Object {
        object: describe(secret),
        problem,
    };
    let encoded = secret
        .get("data")
        .and_then(|data| data.get(key))
        .and_then(Value::as_str);
    let encoded = encoded.ok_or_else(|| wrong(format!("has no key `{key}`")))?;
    base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .map(SecretValue::new)
        .map_err(|_| wrong(format!("key `{key}` is not base64")))
}

/// A condition of an object's status.
pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object
        .pointer("/status/conditions")?
        .as_array()?
        .iter()
        .find(|condition| text(condition, "/type") == kind)
}

/// Message of a condition; empty when there is none.
pub(super) fn condition_message<'a>(object: &'a Value, kind: &str) -> &'a str {
    condition(object, kind).map_or("", |condition| text(condition, "/message"))
}

/// Seconds since 1970 of an RFC 3339 time such as `2026-11-30T22:00:00Z`.
pub(super) fn seconds(time: &str) -> Option<i64> {
    let part = |range: std::ops::Range<usize>| time.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (part(0..4)?, part(5..7)?, part(8..10)?);
    let (hour, minute, second) = (part(11..13)?, part(14..16)?, part(17..19)?);
    let rest = time
        .get(19..)?
        .trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let offset = match rest {
        "Z" | "z" => 0,
        _ => {
            let sign = if rest.starts_with('-') { -1 } else { 1 };
            let (hours, minutes) = rest.get(1..)?.split_once(':')?;
            sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60)
        }
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year < 1 {
        return None;
    }
    // Days from civil date, with the year starting in March so that leap days come last.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second - offset)
}
