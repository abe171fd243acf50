//! A PushSecret never deletes what it did not write, and never hangs in deletion.

use serde_json::json;

use super::{Bed, PUSHES, STORES, login};
use crate::support::{Eso, shared, wait_until, within};

#[tokio::test(flavor = "multi_thread")]
async fn a_move_between_two_stores_of_one_place_keeps_the_remote_secret() {
    let bed = Bed::new().await;
    bed.store("second").await;
    bed.source(json!({"user": "ida"})).await;
    let _loop = bed.sync(&[]);
    bed.push("ps", login("first", "Delete")).await;
    bed.wait_reason("ps", "Synced").await;
    let before = bed.read(&bed.there, "api/v1", "secrets", "copy").await.unwrap()["metadata"]["uid"].clone();
    bed.push("ps", login("second", "Delete")).await;
    wait_until("the status names the second store alone", within(60), async || {
        let object = bed.read(&bed.here, PUSHES, "pushsecrets", "ps").await?;
        let stores = object["status"]["syncedPushSecrets"]
            .as_object()?
            .keys()
            .cloned()
            .collect::<Vec<_>>();
        (stores == ["SecretStore/second"]).then_some(())
    })
    .await;
    let after = bed.read(&bed.there, "api/v1", "secrets", "copy").await.unwrap()["metadata"]["uid"].clone();
    assert_eq!(before, after, "the Secret was never deleted");
    bed.delete(&bed.here, PUSHES, "pushsecrets", "ps").await;
    bed.wait_gone("ps").await;
    assert_eq!(
        bed.remote("copy").await,
        None,
        "what was written is taken back at the end"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_turned_none_keeps_and_a_second_pushsecret_keeps_its_own() {
    let bed = Bed::new().await;
    bed.source(json!({"user": "ida"})).await;
    let _loop = bed.sync(&[]);
    for name in ["one", "two"] {
        bed.push(name, login("first", "Delete")).await;
        bed.wait_reason(name, "Synced").await;
    }
    bed.delete(&bed.here, PUSHES, "pushsecrets", "one").await;
    bed.wait_gone("one").await;
    assert_eq!(
        bed.remote_text("copy", "login").await.as_deref(),
        Some("ida"),
        "the other still pushes it"
    );
    bed.merge(
        &bed.here,
        PUSHES,
        "pushsecrets",
        "two",
        json!({"spec": {"deletionPolicy": "None"}}),
    )
    .await;
    wait_until("the finalizer is off", within(60), async || {
        let object = bed.read(&bed.here, PUSHES, "pushsecrets", "two").await?;
        object["metadata"].get("finalizers").is_none().then_some(())
    })
    .await;
    bed.delete(&bed.here, PUSHES, "pushsecrets", "two").await;
    bed.wait_gone("two").await;
    assert_eq!(bed.remote_text("copy", "login").await.as_deref(), Some("ida"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vanished_source_takes_only_what_was_pushed() {
    let bed = Bed::new().await;
    bed.source(json!({"user": "ida"})).await;
    let theirs = json!({"kind": "Secret", "stringData": {"other": "kept"}});
    bed.apply(&bed.there, "api/v1", "secrets", "copy", theirs).await;
    bed.apply(
        &bed.there,
        "api/v1",
        "secrets",
        "before",
        json!({"kind": "Secret", "stringData": {"user": "old"}}),
    )
    .await;
    let _loop = bed.sync(&[]);
    bed.push("ps", login("first", "Delete")).await;
    let mut careful = login("first", "Delete");
    careful["updatePolicy"] = json!("IfNotExists");
    careful["data"] =
        json!([{"match": {"remoteRef": {"remoteKey": "before"}}}, {"match": {"remoteRef": {"remoteKey": "fresh"}}}]);
    bed.push("careful", careful).await;
    bed.wait_reason("ps", "Synced").await;
    bed.wait_reason("careful", "Synced").await;
    assert_eq!(bed.remote_text("copy", "login").await.as_deref(), Some("ida"));
    assert_eq!(bed.remote_text("fresh", "user").await.as_deref(), Some("ida"));
    bed.delete(&bed.here, "api/v1", "secrets", "src").await;
    bed.wait_reason("ps", "SourceDeleted").await;
    bed.wait_reason("careful", "SourceDeleted").await;
    assert_eq!(bed.remote_text("copy", "login").await, None);
    assert_eq!(
        bed.remote_text("copy", "other").await.as_deref(),
        Some("kept"),
        "managedFields name somebody else"
    );
    assert_eq!(
        bed.remote_text("before", "user").await.as_deref(),
        Some("old"),
        "it was there before and was skipped"
    );
    assert_eq!(bed.remote("fresh").await, None);
    for name in ["ps", "careful"] {
        bed.delete(&bed.here, PUSHES, "pushsecrets", name).await;
        bed.wait_gone(name).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_gone_or_another_classs_does_not_hold_a_deletion() {
    let bed = Bed::new().await;
    bed.store("second").await;
    bed.source(json!({"user": "ida"})).await;
    let _loop = bed.sync(&[]);
    let mut other = login("second", "Delete");
    other["data"][0]["match"]["remoteRef"]["remoteKey"] = json!("elsewhere");
    bed.push("ps", login("first", "Delete")).await;
    bed.push("other", other).await;
    bed.wait_reason("ps", "Synced").await;
    bed.wait_reason("other", "Synced").await;
    bed.delete(&bed.here, STORES, "secretstores", "first").await;
    bed.merge(
        &bed.here,
        STORES,
        "secretstores",
        "first",
        json!({"metadata": {"finalizers": null}}),
    )
    .await;
    bed.merge(
        &bed.here,
        STORES,
        "secretstores",
        "second",
        json!({"spec": {"controller": "somebody-else"}}),
    )
    .await;
    wait_until("the store is gone", within(60), async || {
        bed.read(&bed.here, STORES, "secretstores", "first")
            .await
            .is_none()
            .then_some(())
    })
    .await;
    for name in ["ps", "other"] {
        bed.delete(&bed.here, PUSHES, "pushsecrets", name).await;
        bed.wait_gone(name).await;
    }
    assert_eq!(
        bed.remote_text("copy", "login").await.as_deref(),
        Some("ida"),
        "what cannot be reached stays"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_names_every_remote_key_and_writes_nothing() {
    let bed = Bed::new().await;
    bed.source(json!({"user": "ida", "pin": "4711"})).await;
    let there = |name, value| (name, json!({"kind": "Secret", "stringData": {"login": value}}));
    for (name, object) in [there("same", "ida"), there("changed", "old")] {
        bed.apply(&bed.there, "api/v1", "secrets", name, object).await;
    }
    let entry = |name| json!({"match": {"secretKey": "user", "remoteRef": {"remoteKey": name, "property": "login"}}});
    let mut spec = login("first", "Delete");
    spec["data"] = json!([entry("same"), entry("changed"), entry("absent")]);
    bed.push("ps", spec.clone()).await;
    spec["updatePolicy"] = json!("IfNotExists");
    bed.push("careful", spec).await;
    let before = bed.read(&bed.here, PUSHES, "pushsecrets", "ps").await;
    let eso = Eso::new(&shared().kubeconfig_path());
    let args = [
        "push",
        "--dry-run",
        "-n",
        bed.here.name(),
        "--context",
        bed.cluster().name(),
        "-o",
        "json",
    ];
    let plan = eso.args(args).run().success().json();
    let rows: Vec<String> = plan["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| {
            format!(
                "{} {} {}",
                i["name"].as_str().unwrap(),
                i["remoteKey"].as_str().unwrap(),
                i["action"].as_str().unwrap()
            )
        })
        .collect();
    let expected = [
        "careful absent/login create",
        "careful changed/login skip",
        "careful same/login skip",
        "ps absent/login create",
        "ps changed/login update",
        "ps same/login unchanged",
    ];
    assert_eq!(rows, expected);
    assert_eq!(bed.remote("absent").await, None);
    assert_eq!(bed.remote_text("changed", "login").await.as_deref(), Some("old"));
    assert_eq!(
        bed.read(&bed.here, PUSHES, "pushsecrets", "ps").await,
        before,
        "neither status nor finalizer"
    );
}
