//! The provider's rules, one by one.

use serde_json::{Value, json};

use crate::api::external_secret::{ConversionStrategy, Find, FindName, RemoteRef};
use crate::api::push_secret::{PushData, PushRemoteRef};
use crate::provider::testing::{Cluster, open};
use crate::provider::{Provider, ProviderError, PushSource, Validation};
use crate::secret::{SecretData, SecretValue};

async fn store(cluster: &Cluster, config: Value) -> Box<dyn Provider> {
    open(cluster, "fake", "SecretStore", "own", &config).await.unwrap()
}

fn reference(key: &str, version: &str, property: &str) -> RemoteRef {
    RemoteRef {
        key: key.to_owned(),
        version: version.to_owned(),
        property: property.to_owned(),
        ..RemoteRef::default()
    }
}

fn text(value: Result<SecretValue, ProviderError>) -> Result<String, String> {
    value
        .map(|value| String::from_utf8_lossy(value.expose()).into_owned())
        .map_err(|error| error.to_string())
}

fn shown(data: SecretData) -> Vec<(String, String)> {
    data.into_iter()
        .map(|(key, value)| (key, String::from_utf8_lossy(value.expose()).into_owned()))
        .collect()
}

fn find(regexp: &str) -> Find {
    Find {
        name: Some(FindName {
            regexp: regexp.to_owned(),
        }),
        ..Find::default()
    }
}

const MISSING: &str = "Secret does not exist";

#[tokio::test]
async fn values_are_found_by_key_and_version() {
    let config = json!({"data": [
        {"key": "a", "value": "plain"}, {"key": "b", "value": "one", "version": "1"}, {"key": "a", "value": "later"},
        {"key": "j", "value": "{\"u\":\"ida\",\"n\":null}"},
    ]});
    let store = store(&Cluster::new(), config).await;
    for (key, version, property, wanted) in [
        ("a", "", "", Ok("later")),
        ("b", "1", "", Ok("one")),
        ("b", "", "", Err(MISSING)),
        ("b", "2", "", Err(MISSING)),
        // Key and version are one text to the table, but the version must be the same.
        ("b1", "", "", Err(MISSING)),
        ("j", "", "u", Ok("ida")),
        ("j", "", "n", Ok("")),
        ("j", "", "nope", Err(MISSING)),
    ] {
        let found = store.get(&reference(key, version, property)).await;
        if wanted.is_err() {
            assert!(matches!(found, Err(ProviderError::NoSecret { .. })), "{key}");
        }
        assert_eq!(
            text(found),
            wanted.map(str::to_owned).map_err(str::to_owned),
            "{key} {version} {property}"
        );
    }
}

#[tokio::test]
async fn extract_keeps_the_bytes_of_members() {
    let config = json!({"data": [{"key": "j", "value": "{\"a\":1.50,\"s\":\"x\",\"o\":{ \"k\":1 }}"}, {"key": "t", "value": "text"}]});
    let store = store(&Cluster::new(), config).await;
    let found = store.get_map(&reference("j", "", "")).await.unwrap();
    let wanted = [("a", "1.50"), ("o", "{ \"k\":1 }"), ("s", "x")];
    assert_eq!(
        shown(found),
        wanted.map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    let error = store.get_map(&reference("t", "", "")).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "unable to unmarshal secret: invalid character 'e' in literal true (expecting 'r')"
    );
}

#[tokio::test]
async fn find_takes_the_version_that_is_greatest_as_text() {
    let config = json!({"data": [
        {"key": "team/a", "value": "1", "version": "9"}, {"key": "team/a", "value": "2", "version": "10"}, {"key": "x", "value": "3"},
    ]});
    let store = store(&Cluster::new(), config).await;
    assert_eq!(
        shown(store.find(&find("^team")).await.unwrap()),
        [("team_a".to_owned(), "1".to_owned())]
    );
    let unicode = Find {
        conversion_strategy: ConversionStrategy::Unicode,
        ..find("team")
    };
    assert_eq!(shown(store.find(&unicode).await.unwrap())[0].0, "team_U002f_a");
    let error = store.find(&find("(")).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "could not compile find.name.regexp [(]: error parsing regexp: missing closing ): `(`"
    );
    assert!(
        store
            .find(&Find::default())
            .await
            .unwrap_err()
            .to_string()
            .starts_with("unexpected find operator")
    );
}

#[tokio::test]
async fn validation_says_what_the_store_says() {
    let error = || ProviderError::invalid("unable to validate");
    for (result, wanted) in [
        (json!(null), Validation::Valid),
        (json!(0), Validation::Valid),
        (json!(1), Validation::Unknown(error())),
        (json!(2), Validation::Invalid(error())),
    ] {
        let store = store(&Cluster::new(), json!({"validationResult": result})).await;
        assert_eq!(store.validate().await, wanted);
    }
}

fn entry(secret_key: &str, remote_key: &str) -> PushData {
    serde_json::from_value(json!({"match": {"secretKey": secret_key, "remoteRef": {"remoteKey": remote_key}}})).unwrap()
}

fn source(value: &str) -> PushSource {
    let data = [("user".to_owned(), SecretValue::from(value.to_owned()))].into();
    PushSource {
        data,
        ..PushSource::default()
    }
}

#[tokio::test]
async fn what_is_pushed_stays_and_belongs_to_one_store() {
    let cluster = Cluster::new();
    let config = json!({"data": [{"key": "own", "value": "mine"}]});
    let writing = store(&cluster, config.clone()).await;
    let writer = writing.writer().unwrap();
    writer.push(&source("ida"), &entry("user", "new")).await.unwrap();
    writer.push(&source("eve"), &entry("user", "new")).await.unwrap();
    let clash = writer.push(&source("ida"), &entry("user", "own")).await.unwrap_err();
    assert_eq!(clash.to_string(), "key already exists");
    let exists = async |key: &str| {
        let remote = PushRemoteRef {
            remote_key: key.to_owned(),
            property: String::new(),
        };
        writer.exists(&remote).await.unwrap()
    };
    assert_eq!(
        (exists("new").await, exists("own").await, exists("nope").await),
        (true, true, false)
    );
    writer
        .delete(&PushRemoteRef {
            remote_key: "new".to_owned(),
            property: String::new(),
        })
        .await
        .unwrap();

    let again = store(&cluster, config.clone()).await;
    assert_eq!(text(again.get(&reference("new", "", "")).await), Ok("eve".to_owned()));
    let elsewhere = open(&cluster, "fake", "SecretStore", "other", &config).await.unwrap();
    assert_eq!(
        text(elsewhere.get(&reference("new", "", "")).await),
        Err(MISSING.to_owned())
    );
}

#[tokio::test]
async fn an_open_client_does_not_see_another_opening() {
    let cluster = Cluster::new();
    let first = store(&cluster, json!({"data": [{"key": "a", "value": "1"}]})).await;
    let second = store(&cluster, json!({"data": [{"key": "a", "value": "2"}]})).await;
    assert_eq!(text(first.get(&reference("a", "", "")).await), Ok("1".to_owned()));
    assert_eq!(text(second.get(&reference("a", "", "")).await), Ok("2".to_owned()));
}
