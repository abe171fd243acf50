//! A ClusterExternalSecret over 200 namespaces labelled at once, beside the time of the bare writes.

use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use http::Method;
use kubectl_eso::cluster::rest::Rest;
use serde_json::{Value, json};
use xtask::controlplane::Options;

use crate::support::{Eso, own_clusters, wait_until, with_crds, within};

const NAMESPACES: usize = 200;
const AT_ONCE: usize = 24;
const JSON: &str = "application/json";
const BASE: &str = "/apis/external-secrets.io/v1";

async fn send(rest: &Rest, method: Method, path: String, kind: &str, body: Value) {
    rest.call(method, &path, Some(kind), body.to_string().into_bytes())
        .await
        .unwrap();
}

async fn each(work: impl Iterator<Item = impl Future<Output = ()>>) -> Duration {
    let begun = Instant::now();
    stream::iter(work).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    begun.elapsed()
}

fn name(i: usize) -> String {
    format!("orchard-{i:03}")
}

async fn label(rest: &Rest, value: Value) -> Duration {
    let patch = json!({"metadata": {"labels": {"crew": value}}});
    each((0..NAMESPACES).map(|i| {
        let path = format!("/api/v1/namespaces/{}", name(i));
        send(rest, Method::PATCH, path, "application/merge-patch+json", patch.clone())
    }))
    .await
}

/// How many objects there are, without reading them all: the measurement must not be the load.
async fn count(rest: &Rest, path: &str) -> usize {
    let listed: Value = rest.get(path).await.unwrap();
    let more = listed["metadata"]["remainingItemCount"].as_u64().unwrap_or_default();
    listed["items"].as_array().unwrap().len() + usize::try_from(more).unwrap()
}

async fn targets(rest: &Rest) -> usize {
    let path = "/api/v1/secrets?labelSelector=reconcile.external-secrets.io%2Fmanaged%3Dtrue";
    let listed: Value = rest.get(path).await.unwrap();
    listed["items"].as_array().unwrap().len()
}

/// How many children there are; no other ExternalSecrets exist when it is asked.
async fn children(rest: &Rest) -> usize {
    count(rest, &format!("{BASE}/externalsecrets?limit=1")).await
}

async fn mark(rest: &Rest, i: usize, value: Value) {
    let path = format!("/api/v1/namespaces/{}", name(i));
    let patch = json!({"metadata": {"annotations": {"bare": value}}});
    send(rest, Method::PATCH, path, "application/merge-patch+json", patch).await;
}

/// What has to be written by anybody who does this: a mark on the namespace and an ExternalSecret; then the deletion, a
/// finalizer taken off, and the mark.
async fn bare_writes(rest: &Rest) -> (Duration, Duration) {
    let made = each((0..NAMESPACES).map(|i| async move {
        mark(rest, i, json!("1")).await;
        let object = json!({"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret",
            "metadata": {"name": "bare", "finalizers": ["example.org/hold"]},
            "spec": {"secretStoreRef": {"name": "none"}, "data": [{"secretKey": "v", "remoteRef": {"key": "k"}}]}});
        let path = format!("{BASE}/namespaces/{}/externalsecrets", name(i));
        send(rest, Method::POST, path, "application/json", object).await;
    }))
    .await;
    let gone = each((0..NAMESPACES).map(|i| async move {
        let path = format!("{BASE}/namespaces/{}/externalsecrets/bare", name(i));
        send(rest, Method::DELETE, path.clone(), "application/json", json!({})).await;
        let patch = json!({"metadata": {"finalizers": null}});
        send(rest, Method::PATCH, path, "application/merge-patch+json", patch).await;
        mark(rest, i, Value::Null).await;
    }))
    .await;
    (made, gone)
}

/// The namespaces, without labels.
async fn plant(rest: &Rest) {
    each((0..NAMESPACES).map(|i| {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name(i)}});
        send(rest, Method::POST, "/api/v1/namespaces".to_owned(), JSON, body)
    }))
    .await;
}

/// A store, and a ClusterExternalSecret for every namespace with the label.
async fn ask(rest: &Rest) {
    let store = json!({"apiVersion": "external-secrets.io/v1", "kind": "ClusterSecretStore", "metadata": {"name": "basket"},
        "spec": {"provider": {"fake": {"data": [{"key": "k", "value": "plum"}]}}}});
    send(rest, Method::POST, format!("{BASE}/clustersecretstores"), JSON, store).await;
    let reference = json!({"name": "basket", "kind": "ClusterSecretStore"});
    let child = json!({"refreshInterval": "1h", "secretStoreRef": reference,
        "data": [{"secretKey": "v", "remoteRef": {"key": "k"}}]});
    let object = json!({"apiVersion": "external-secrets.io/v1", "kind": "ClusterExternalSecret",
        "metadata": {"name": "ces"}, "spec": {"externalSecretName": "shared", "externalSecretSpec": child,
        "namespaceSelectors": [{"matchLabels": {"crew": "all"}}]}});
    send(
        rest,
        Method::POST,
        format!("{BASE}/clusterexternalsecrets"),
        JSON,
        object,
    )
    .await;
}

async fn any_finalizer(rest: &Rest) -> bool {
    let listed: Value = rest.get("/api/v1/namespaces").await.unwrap();
    let mut all = listed["items"].as_array().unwrap().iter();
    all.any(|n| n["metadata"].get("finalizers").is_some())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_namespaces_labelled_at_once_are_served_at_the_speed_of_the_writes() {
    let planes = own_clusters(Options::count(1));
    let cluster = planes.cluster(0);
    with_crds(cluster).await;
    let rest = Rest::new(cluster.client().await.unwrap());
    plant(&rest).await;
    let (bare_made, bare_gone) = bare_writes(&rest).await;
    let kubeconfig = planes.kubeconfig_path();
    let mut eso = Eso::new(&kubeconfig)
        .args(["sync", "--watch", "-A", "--context", cluster.name()])
        .timeout(300)
        .start();
    eso.wait_for_stderr("ExternalSecrets", within(60));
    ask(&rest).await;
    let labelled = label(&rest, json!("all")).await;
    let begun = Instant::now();
    wait_until("every child exists", within(60), async || {
        (children(&rest).await == NAMESPACES).then_some(())
    })
    .await;
    let made = begun.elapsed();
    wait_until("every target exists", within(60), async || {
        (targets(&rest).await == NAMESPACES).then_some(())
    })
    .await;
    let unlabelled = label(&rest, Value::Null).await;
    let begun = Instant::now();
    wait_until("every child is gone", within(60), async || {
        (children(&rest).await == 0).then_some(())
    })
    .await;
    let gone = begun.elapsed();
    wait_until("no namespace keeps the finalizer", within(60), async || {
        (!any_finalizer(&rest).await).then_some(())
    })
    .await;
    println!("bare {bare_made:?} and {bare_gone:?}; labels {labelled:?} and {unlabelled:?}");
    println!("made {made:?} later, gone {gone:?} later");
    let grace = Duration::from_secs(2);
    assert!(
        made <= bare_made + grace,
        "made after {made:?}; bare writes {bare_made:?}"
    );
    assert!(
        gone <= bare_gone + grace,
        "gone after {gone:?}; bare writes {bare_gone:?}"
    );
}
