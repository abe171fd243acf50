//! A backend in memory, read the way ESO's providers read theirs.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::migrate::kes::base64;

/// What ESO fetches for an `ExternalSecret`: key → bytes.
pub fn fetch(backend: &Json, external_secret: &Json, stores: &[Json]) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    let store = stores
        .iter()
        .find(|s| s["metadata"]["name"] == external_secret["spec"]["secretStoreRef"]["name"])
        .cloned()
        .unwrap_or_default();
    for entry in external_secret["spec"]["dataFrom"].as_array().into_iter().flatten() {
        if entry["extract"].is_object() {
            let Json::Object(fields) = as_object(&read(backend, &store, &entry["extract"])) else {
                panic!("not an object")
            };
            out.extend(fields.iter().map(|(k, v)| (k.clone(), text(v))));
        } else {
            let regexp = regex::Regex::new(entry["find"]["name"]["regexp"].as_str().unwrap()).unwrap();
            for (key, value) in backend["data"]
                .as_object()
                .unwrap()
                .iter()
                .filter(|(k, _)| regexp.is_match(k))
            {
                out.insert(key.rsplit('/').next().unwrap().to_owned(), text(value));
            }
        }
    }
    for entry in external_secret["spec"]["data"].as_array().into_iter().flatten() {
        let remote = &entry["remoteRef"];
        let mut value = read(backend, &store, remote);
        if let Some(property) = remote["property"].as_str() {
            value = select(&as_object(&value), property).unwrap_or_else(|| panic!("no property {property}"));
        }
        let mut bytes = text(&value);
        if remote["decodingStrategy"] == "Base64" {
            bytes = base64::decode(std::str::from_utf8(&bytes).unwrap()).unwrap();
        }
        out.insert(entry["secretKey"].as_str().unwrap().to_owned(), bytes);
    }
    out
}

fn read(backend: &Json, store: &Json, remote: &Json) -> Json {
    let key = remote["key"].as_str().unwrap();
    let version = remote["version"].as_str();
    let name = match backend["kind"].as_str().unwrap() {
        "awssm" => format!(
            "{key}#{}",
            version.map_or("AWSCURRENT", |v| v.strip_prefix("uuid/").unwrap_or(v))
        ),
        "gcp" => format!("{key}#{}", version.unwrap_or("latest")),
        "vault" => match store["spec"]["provider"]["vault"]["path"].as_str() {
            Some(mount) => {
                let key = key.strip_prefix(&format!("{mount}/")).unwrap_or(key);
                format!("{mount}/data/{}", key.strip_prefix("data/").unwrap_or(key))
            }
            None => key.to_owned(),
        },
        _ => key.to_owned(),
    };
    let value = backend["data"]
        .get(&name)
        .unwrap_or_else(|| panic!("nothing at {name}"))
        .clone();
    if backend["kind"] == "ibm" && remote["property"].is_null() {
        return value
            .get("payload")
            .or_else(|| value.get("api_key"))
            .cloned()
            .unwrap_or(value);
    }
    value
}

fn as_object(value: &Json) -> Json {
    value
        .as_str()
        .map_or_else(|| value.clone(), |s| serde_json::from_str(s).unwrap())
}

/// Literal key first, then a path with backslash escapes.
fn select(value: &Json, property: &str) -> Option<Json> {
    if let Some(found) = value.get(property) {
        return Some(found.clone());
    }
    let (mut tokens, mut chars) = (vec![String::new()], property.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => tokens.last_mut()?.push(chars.next()?),
            '.' => tokens.push(String::new()),
            c => tokens.last_mut()?.push(c),
        }
    }
    let mut at = value;
    for token in tokens {
        at = match at {
            Json::Array(list) => list.get(token.parse::<usize>().ok()?)?,
            other => other.get(&token)?,
        };
    }
    Some(at.clone())
}

fn text(value: &Json) -> Vec<u8> {
    match value {
        Json::String(s) => s.clone().into_bytes(),
        Json::Null => Vec::new(),
        other => other.to_string().into_bytes(),
    }
}
