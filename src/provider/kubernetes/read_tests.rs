//! What each reference to a remote Secret gives.

use k8s_openapi::api::core::v1::Secret;
use serde_json::json;

use super::{found, map, value};
use crate::api::external_secret::{Find, FindName, MetadataPolicy, RemoteRef};
use crate::provider::values::name_matcher;
use crate::secret::SecretData;

fn secret() -> Secret {
    serde_json::from_value(json!({
        "metadata": {
            "name": "tree", "labels": {"tier": "db", "app.kubernetes.io/name": "x"},
            "annotations": {"conf": "{\"op\":{\"q\":7}}", "plain": "text"},
        },
        "data": {
            "conf": "eyJkYiI6eyJob3N0IjoiaCIsInBvcnQiOjU0MzIsIm5vbmUiOm51bGx9LCJpZCI6OTAwNzE5OTI1NDc0MDk5MywicmF0ZSI6MS41MH0=",
            "app.yaml": "bGl0ZXJhbA==",
            "app": "eyJ5YW1sIjoicGF0aCJ9",
            "bin": "/4A=",
        },
    }))
    .unwrap()
}

fn reference(property: &str, fetch: bool) -> RemoteRef {
    let metadata_policy = if fetch {
        MetadataPolicy::Fetch
    } else {
        MetadataPolicy::None
    };
    RemoteRef {
        key: "tree".to_owned(),
        property: property.to_owned(),
        metadata_policy,
        ..RemoteRef::default()
    }
}

fn one(property: &str, fetch: bool) -> Result<String, String> {
    let found = value(&secret(), &reference(property, fetch)).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(found.expose()).into_owned())
}

fn shown(data: SecretData) -> Vec<(String, String)> {
    data.into_iter()
        .map(|(key, value)| (key, String::from_utf8_lossy(value.expose()).into_owned()))
        .collect()
}

fn many(property: &str, fetch: bool) -> Result<Vec<(String, String)>, String> {
    map(secret(), &reference(property, fetch))
        .map(shown)
        .map_err(|error| error.to_string())
}

#[test]
fn a_property_is_a_key_first_and_a_path_second() {
    assert_eq!(one("app.yaml", false).as_deref(), Ok("literal"));
    assert_eq!(one("conf.db.host", false).as_deref(), Ok("h"));
    assert_eq!(one("conf.db.port", false).as_deref(), Ok("5432"));
    assert_eq!(one("conf.db.none", false).as_deref(), Ok(""));
    assert_eq!(
        value(&secret(), &reference("bin", false)).unwrap().expose(),
        [0xff, 0x80]
    );
    for property in ["nope", "conf.db.nope", "conf.", ".conf", "bin.x"] {
        let error = format!("property {property} does not exist in data of secret \"tree\"");
        assert_eq!(one(property, false), Err(error));
    }
}

#[test]
fn without_property_the_whole_secret_is_json() {
    let json = one("", false).unwrap();
    assert!(
        json.starts_with(r#"{"app":"{\"yaml\":\"path\"}","app.yaml":"literal","bin":"\ufffd\ufffd","conf":"#),
        "{json}"
    );
}

#[test]
fn metadata_is_addressed_part_by_part() {
    assert_eq!(one("labels.tier", true).as_deref(), Ok("db"));
    assert_eq!(
        one("labels", true).as_deref(),
        Ok(r#"{"app.kubernetes.io/name":"x","tier":"db"}"#)
    );
    // The parts after the entry are joined without dots: `o.p` is the path `op`.
    assert_eq!(one("annotations.conf.o.p", true).as_deref(), Ok(r#"{"q":7}"#));
    assert!(one("", true).unwrap().starts_with(r#"{"annotations":{"conf":"#));
    let error = "property labels.app.kubernetes.io/name does not exist in metadata of secret \"tree\"";
    assert_eq!(one("labels.app.kubernetes.io/name", true), Err(error.to_owned()));
    assert!(one("name", true).is_err());
}

#[test]
fn missing_metadata_maps_are_null() {
    let bare = Secret::default();
    let json = value(&bare, &reference("", true)).unwrap();
    assert_eq!(json.expose(), br#"{"annotations":null,"labels":null}"#);
}

#[test]
fn extract_with_property_keeps_json_quotes_and_digits() {
    let pairs = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    };
    let wanted: Vec<_> = pairs(&[
        ("db", r#"{"host":"h","none":null,"port":5432}"#),
        ("id", "9007199254740993"),
        ("rate", "1.5"),
    ]);
    assert_eq!(many("conf", false), Ok(wanted));
    assert_eq!(
        many("app.yaml", false),
        Err("failed to unmarshal secret: invalid JSON format".to_owned())
    );
    assert_eq!(
        many("nope", false),
        Err("property nope does not exist in key tree".to_owned())
    );
    assert_eq!(
        many("labels", true),
        Ok(pairs(&[("app.kubernetes.io/name", "\"x\""), ("tier", "\"db\"")]))
    );
}

#[test]
fn extract_of_metadata_gives_two_maps() {
    let keys: Vec<_> = many("", true).unwrap().into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["annotations", "labels"]);
}

#[test]
fn find_matches_names_anywhere() {
    let query = Find {
        name: Some(FindName {
            regexp: "re".to_owned(),
        }),
        ..Find::default()
    };
    let matcher = name_matcher(&query).unwrap();
    assert_eq!(found(vec![secret()], Some(&matcher), &query).unwrap().len(), 1);
    let query = Find {
        name: Some(FindName {
            regexp: "^re".to_owned(),
        }),
        ..Find::default()
    };
    let matcher = name_matcher(&query).unwrap();
    assert_eq!(found(vec![secret()], Some(&matcher), &query).unwrap().len(), 0);
}
