//! From a remote Secret to values: the rules of `property`, `metadataPolicy` and `find`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::Secret;
use zeroize::Zeroizing;

use super::config::illegal_base64;
use crate::api::external_secret::{Find, MetadataPolicy, RemoteRef};
use crate::lang::gjson;
use crate::lang::gojson::{Escape, Numbers, parse_with};
use crate::lang::regexp::Regexp;
use crate::provider::ProviderError;
use crate::provider::values::{
    convert_keys, go_numbers, json_of_data, json_of_texts, name_matcher as compile, secret_value, unexpected_find,
};
use crate::secret::{SecretData, SecretValue};

/// The data of a Secret, in redacting values.
pub fn data_of(secret: &mut Secret) -> SecretData {
    let data = secret.data.take().unwrap_or_default();
    data.into_iter()
        .map(|(key, value)| (key, SecretValue::new(value.0)))
        .collect()
}

/// One value (`data[]`).
pub fn value(secret: &Secret, key: &RemoteRef) -> Result<SecretValue, ProviderError> {
    let fetch = key.metadata_policy == MetadataPolicy::Fetch;
    match (key.property.as_str(), fetch) {
        ("", false) => Ok(secret_value(json_of_data(&data_of(&mut secret.clone())))),
        ("", true) => Ok(secret_value(metadata_json(secret))),
        (property, false) => data_property(secret, property).ok_or_else(|| {
            ProviderError::invalid(format!(
                "property {property} does not exist in data of secret {:?}",
                key.key
            ))
        }),
        (property, true) => metadata_property(secret, property).ok_or_else(|| {
            ProviderError::invalid(format!(
                "property {property} does not exist in metadata of secret {:?}",
                key.key
            ))
        }),
    }
}

/// A data key of that very name, else the part before the first dot as data key and the rest as a path into its text.
fn data_property(secret: &Secret, property: &str) -> Option<SecretValue> {
    let data = secret.data.as_ref()?;
    if let Some(bytes) = data.get(property) {
        return Some(SecretValue::new(bytes.0.clone()));
    }
    let at = property.find('.').filter(|at| *at > 0 && at + 1 < property.len())?;
    let found = gjson::get(&data.get(&property[..at])?.0, &property.as_bytes()[at + 1..])?.text();
    Some(secret_value(found))
}

/// `labels` or `annotations`, one entry of it, or a path into that entry (whose parts ESO joins without the dots).
fn metadata_property(secret: &Secret, property: &str) -> Option<SecretValue> {
    let parts: Vec<&str> = property.split('.').collect();
    let map = match parts[0] {
        "labels" => secret.metadata.labels.as_ref(),
        "annotations" => secret.metadata.annotations.as_ref(),
        _ => return None,
    };
    match parts.as_slice() {
        [_] => Some(secret_value(map_json(map))),
        [_, name] => Some(SecretValue::from(map?.get(*name)?.clone())),
        [_, name, path @ ..] => Some(secret_value(
            gjson::get(map?.get(*name)?.as_bytes(), path.concat().as_bytes())?.text(),
        )),
        [] => None,
    }
}

fn map_json(map: Option<&BTreeMap<String, String>>) -> Zeroizing<Vec<u8>> {
    match map {
        Some(map) => json_of_texts(map.iter().map(|(key, value)| (key.as_str(), value.as_bytes()))),
        None => Zeroizing::new(b"null".to_vec()),
    }
}

fn metadata_json(secret: &Secret) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(b"{\"annotations\":".to_vec());
    out.extend_from_slice(&map_json(secret.metadata.annotations.as_ref()));
    out.extend_from_slice(b",\"labels\":");
    out.extend_from_slice(&map_json(secret.metadata.labels.as_ref()));
    out.push(b'}');
    out
}

/// All keys of a Secret, or the members of the JSON object under a property (`dataFrom[].extract`).
pub fn map(mut secret: Secret, key: &RemoteRef) -> Result<SecretData, ProviderError> {
    let data = if key.metadata_policy == MetadataPolicy::Fetch {
        let labels = secret_value(map_json(secret.metadata.labels.as_ref()));
        let annotations = secret_value(map_json(secret.metadata.annotations.as_ref()));
        SecretData::from([("labels".to_owned(), labels), ("annotations".to_owned(), annotations)])
    } else {
        data_of(&mut secret)
    };
    if key.property.is_empty() {
        return Ok(data);
    }
    property_map(&data, key)
}

/// ESO looks the property up among base64 texts, decodes the hit, and gives every member as JSON again: texts keep
/// their quotes.
fn property_map(data: &SecretData, key: &RemoteRef) -> Result<SecretData, ProviderError> {
    let property = key.property.as_str();
    let encoded: BTreeMap<&str, Zeroizing<String>> = data
        .iter()
        .map(|(key, value)| (key.as_str(), Zeroizing::new(STANDARD.encode(value.expose()))))
        .collect();
    let json = json_of_texts(encoded.iter().map(|(key, value)| (*key, value.as_bytes())));
    let literal = property.contains('.').then(|| gjson::escape_dots(property));
    let hit = literal
        .and_then(|path| gjson::get(&json, path.as_bytes()))
        .or_else(|| gjson::get(&json, property.as_bytes()));
    let Some(hit) = hit else {
        return Err(ProviderError::invalid(format!(
            "property {property} does not exist in key {}",
            key.key
        )));
    };
    let text = hit.text();
    let text = Zeroizing::new(String::from_utf8_lossy(&text).into_owned());
    let decoded = STANDARD.decode(text.as_bytes());
    let decoded = Zeroizing::new(decoded.map_err(|error| ProviderError::invalid(illegal_base64(&text, &error)))?);
    members(&decoded)
}

fn members(json: &[u8]) -> Result<SecretData, ProviderError> {
    let invalid = || ProviderError::invalid("failed to unmarshal secret: invalid JSON format");
    let value = parse_with(json, Numbers::Text).map_err(|_| invalid())?;
    let members = value.as_object().ok_or_else(invalid)?;
    Ok(members
        .iter()
        .map(|(name, member)| (name.clone(), secret_value(go_numbers(member).to_json(Escape::Plain))))
        .collect())
}

/// Refuses a search that names nothing.
pub fn check_find(query: &Find) -> Result<(), ProviderError> {
    if query.tags.is_none() && query.name.is_none() {
        Err(unexpected_find(query))
    } else {
        Ok(())
    }
}

/// The pattern of a search by name.
pub fn name_matcher(query: &Find) -> Result<Regexp, ProviderError> {
    compile(query)
}

/// Name → whole Secret as JSON, for those that match; names are converted.
pub fn found(secrets: Vec<Secret>, matcher: Option<&Regexp>, query: &Find) -> Result<SecretData, ProviderError> {
    let mut out = SecretData::new();
    for mut secret in secrets {
        let name = secret.metadata.name.clone().unwrap_or_default();
        if matcher.is_none_or(|matcher| matcher.is_match(name.as_bytes())) {
            out.insert(name, secret_value(json_of_data(&data_of(&mut secret))));
        }
    }
    convert_keys(out, &query.conversion_strategy)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
