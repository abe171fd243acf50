//! `toYaml`, `fromYaml`, and the two readers that whole-Secret assembly needs.

use std::collections::BTreeMap;

use crate::lang::goyaml::{self, Json, YamlError};
use crate::template::engine::functions::{Env, ParamType as P, Row, arg, json};
use crate::template::engine::{Failure, List, Map, Str, Value};

/// The functions of this family.
pub const ROWS: &[Row] =
    &[Row::new("toYaml", &[P::Any], to_yaml), Row::new("fromYaml", &[P::String], from_yaml)];

/// Bytes of text that one step of the budget pays for.
const BYTES_PER_STEP: u64 = 2;

/// A flat YAML map whose values are text, as `KeysAndValues` templates render it.
///
/// # Errors
/// What Go appends to `could not unmarshal template to 'map[string][]byte': `.
pub fn string_map(text: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let entries = goyaml::unmarshal_text_map(text).map_err(failure)?;
    Ok(entries.into_iter().map(|(key, value)| (lossy(&key), value.to_vec())).collect())
}

/// Any YAML document, as nested path targets of generic resources read it.
///
/// # Errors
/// `error converting YAML to JSON: …`
pub fn any(text: &[u8]) -> Result<serde_json::Value, Failure> {
    goyaml::unmarshal_any(text).map(|tree| to_serde(&tree)).map_err(failure)
}

fn to_yaml(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let json = match json::encode(&arg::value(args, 0), true) {
        Ok(json) => json,
        Err(error) if error.is_limit() => return Err(error),
        // Whatever cannot be written is the empty text, as in ESO.
        Err(_) => return Ok(Value::str("")),
    };
    charge(env, json.len())?;
    let Ok(mut yaml) = goyaml::json_text_to_yaml(&json) else { return Ok(Value::str("")) };
    if yaml.last() == Some(&b'\n') {
        yaml.pop();
    }
    Ok(Value::str(yaml))
}

fn from_yaml(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let text = arg::bytes(args, 0);
    charge(env, text.len())?;
    let map = Map::new();
    match goyaml::unmarshal_map(text) {
        Ok(entries) => {
            for (key, value) in entries {
                set(&map, key, to_value(value));
            }
        }
        Err(error) => set(&map, b"Error".to_vec(), Value::str(error.text())),
    }
    Ok(Value::Map(map))
}

fn charge(env: &mut Env<'_>, bytes: usize) -> Result<(), Failure> {
    env.spend(u64::try_from(bytes).unwrap_or(u64::MAX) / BYTES_PER_STEP)
}

fn set(map: &Map, key: Vec<u8>, value: Value) {
    // Only the nil map refuses an entry, and these maps are fresh.
    let _written = map.insert(Str::new(key), value);
}

fn to_value(tree: Json) -> Value {
    match tree {
        Json::Null => Value::NilAny,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => Value::Float(number),
        Json::Text(text) => Value::str(text.to_vec()),
        Json::List(items) => Value::List(List::new(items.into_iter().map(to_value).collect())),
        Json::Map(entries) => {
            let entries = entries.into_iter().map(|(key, value)| (Str::new(key), to_value(value))).collect();
            Value::Map(Map::from_entries(entries))
        }
    }
}

fn to_serde(tree: &Json) -> serde_json::Value {
    match tree {
        Json::Null => serde_json::Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => number_to_serde(*number),
        Json::Text(text) => lossy(text).into(),
        Json::List(items) => items.iter().map(to_serde).collect(),
        Json::Map(entries) => {
            serde_json::Value::Object(entries.iter().map(|(key, value)| (lossy(key), to_serde(value))).collect())
        }
    }
}

/// Whole numbers are written without a fraction, as Go's JSON writer does.
fn number_to_serde(number: f64) -> serde_json::Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within 53 bits")]
        return (number as i64).into();
    }
    number.into()
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

#[expect(clippy::needless_pass_by_value, reason = "used as a function of `map_err`")]
fn failure(error: YamlError) -> Failure {
    Failure::with_data(error.text(), error.redacted())
}
