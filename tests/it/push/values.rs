//! Every byte survives the way to a remote Secret and back, and a changed source is pushed at once where it is watched.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{Bed, STORES, login};
use crate::support::{wait_until, within};

#[tokio::test(flavor = "multi_thread")]
async fn all_256_byte_values_survive_there_and_back() {
    let bed = Bed::new().await;
    let bytes: Vec<u8> = (0..=255).collect();
    let secret = json!({"kind": "Secret", "data": {"blob": STANDARD.encode(&bytes)}});
    bed.apply(&bed.here, "api/v1", "secrets", "src", secret).await;
    let _loop = bed.sync(&[]);
    let mut spec = login("first", "None");
    spec["data"] = json!([
        {"match": {"remoteRef": {"remoteKey": "whole"}}},
        {"match": {"secretKey": "blob", "remoteRef": {"remoteKey": "one", "property": "b"}}},
    ]);
    bed.push("ps", spec).await;
    bed.wait_reason("ps", "Synced").await;
    let back = json!({"kind": "ExternalSecret", "spec": {
        "refreshInterval": "1h", "secretStoreRef": {"name": "first"}, "target": {"name": "back"},
        "data": [{"secretKey": "b", "remoteRef": {"key": "one", "property": "b"}}],
    }});
    bed.apply(&bed.here, STORES, "externalsecrets", "back", back).await;
    let target = wait_until("the target exists", within(60), async || {
        bed.read(&bed.here, "api/v1", "secrets", "back").await
    })
    .await;
    let wanted = Sha256::digest(&bytes);
    assert_eq!(Sha256::digest(&bed.remote("whole").await.unwrap()["blob"]), wanted);
    assert_eq!(Sha256::digest(&bed.remote("one").await.unwrap()["b"]), wanted);
    let read = STANDARD.decode(target["data"]["b"].as_str().unwrap()).unwrap();
    assert_eq!(Sha256::digest(read), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_source_is_pushed_before_its_interval_has_passed() {
    let bed = Bed::new().await;
    bed.source(json!({"user": "ida"})).await;
    let _loop = bed.sync(&[]);
    bed.push("ps", login("first", "None")).await;
    bed.wait_reason("ps", "Synced").await;
    bed.source(json!({"user": "eve"})).await;
    wait_until("the new value is there", within(30), async || {
        (bed.remote_text("copy", "login").await.as_deref() == Some("eve")).then_some(())
    })
    .await;
}
