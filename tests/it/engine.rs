//! The loop on real clusters: what no recorded case shows.

use k8s_openapi::api::core::v1::Secret;
use kubectl_eso::cluster::rest::{EXTERNAL_SECRETS, Rest};
use serde_json::{Value, json};
use xtask::controlplane::{Cluster, ControlPlanes, Options, Signal};
use xtask::metrics::AuditMark;

use crate::support::eso::Running;
use crate::support::{Eso, TempNamespace, own_clusters, wait_until, within};

async fn bed(count: usize) -> ControlPlanes {
    let planes = own_clusters(Options::count(count));
    for cluster in planes.clusters() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/eso-2.9.0-crds.yaml");
        xtask::crds::apply_file(&cluster.client().await.unwrap(), &path)
            .await
            .unwrap();
    }
    planes
}

fn start(planes: &ControlPlanes, arguments: &[&str]) -> Running {
    let all = ["sync", "--watch", "-A"].iter().chain(arguments);
    let mut eso = Eso::new(&planes.kubeconfig_path())
        .args(all.copied())
        .timeout(300)
        .start();
    eso.wait_for_stderr("ExternalSecrets", within(60));
    eso
}

fn stop(eso: Running) {
    eso.signal(Signal::TERM);
    let ended = eso.wait(std::time::Duration::from_secs(30));
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
}

async fn apply(cluster: &Cluster, path: &str, object: Value) {
    let rest = Rest::new(cluster.client().await.unwrap());
    let path = format!(
        "{path}/{}?fieldManager=test&force=true",
        object["metadata"]["name"].as_str().unwrap()
    );
    let body = object.to_string().into_bytes();
    rest.call(http::Method::PATCH, &path, Some("application/apply-patch+yaml"), body)
        .await
        .unwrap();
}

fn fake_store(namespace: &str) -> (String, Value) {
    let path = format!("/apis/external-secrets.io/v1/namespaces/{namespace}/secretstores");
    let object = json!({"apiVersion": "external-secrets.io/v1", "kind": "SecretStore", "metadata": {"name": "shelf"},
        "spec": {"provider": {"fake": {"data": [{"key": "pear", "value": "ripe"}]}}}});
    (path, object)
}

fn external_secret(name: &str, interval: &str, store: &str, remote: Value) -> Value {
    json!({"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": {"name": name},
        "spec": {"refreshInterval": interval, "secretStoreRef": {"name": store},
            "data": [{"secretKey": "a", "remoteRef": remote}]}})
}

/// Reason and message of `Ready`, once there is one.
async fn ready(cluster: &Cluster, namespace: &str, name: &str) -> (String, String) {
    let rest = Rest::new(cluster.client().await.unwrap());
    let path = EXTERNAL_SECRETS.object(namespace, name);
    wait_until(&format!("{name} has a condition"), within(30), async || {
        let object: Value = rest.get(&path).await.ok()?;
        let condition = object.pointer("/status/conditions/0")?;
        Some((
            condition["reason"].as_str()?.to_owned(),
            condition["message"].as_str()?.to_owned(),
        ))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_object_holds_up_nobody() {
    let planes = bed(1).await;
    let cluster = planes.cluster(0);
    let namespace = TempNamespace::new(cluster, "bad").await;
    let (stores, store) = fake_store(namespace.name());
    apply(cluster, &stores, store).await;
    let objects = EXTERNAL_SECRETS.collection(namespace.name());
    apply(
        cluster,
        &objects,
        external_secret("bad", "1d", "shelf", json!({"key": "pear"})),
    )
    .await;
    let eso = start(&planes, &["--source-watch=off", "--context", cluster.name()]);
    apply(
        cluster,
        &objects,
        external_secret("good", "1h", "shelf", json!({"key": "pear"})),
    )
    .await;
    assert_eq!(ready(cluster, namespace.name(), "good").await.0, "SecretSynced");
    let (reason, message) = ready(cluster, namespace.name(), "bad").await;
    assert_eq!(
        (reason.as_str(), message.as_str()),
        ("SecretSyncedError", "could not read the spec")
    );
    stop(eso);
}

#[tokio::test(flavor = "multi_thread")]
async fn taking_over_what_is_in_order_writes_nothing() {
    let planes = bed(1).await;
    let cluster = planes.cluster(0);
    let namespace = TempNamespace::new(cluster, "hand").await;
    let (stores, store) = fake_store(namespace.name());
    apply(cluster, &stores, store).await;
    let objects = EXTERNAL_SECRETS.collection(namespace.name());
    for name in ["one", "two", "three"] {
        apply(
            cluster,
            &objects,
            external_secret(name, "1h", "shelf", json!({"key": "pear"})),
        )
        .await;
    }
    let first = start(&planes, &["--context", cluster.name()]);
    for name in ["one", "two", "three"] {
        assert_eq!(ready(cluster, namespace.name(), name).await.0, "SecretSynced");
    }
    stop(first);
    let mark = AuditMark::set(cluster).await.unwrap();
    Eso::new(&planes.kubeconfig_path())
        .args(["sync", "-A", "--context", cluster.name()])
        .run()
        .success();
    let writes: Vec<String> = mark
        .writes()
        .await
        .unwrap()
        .iter()
        .filter(|w| w.resource() != "events")
        .map(|w| format!("{} {} {}", w.verb, w.resource(), w.name()))
        .collect();
    assert!(writes.is_empty(), "{writes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_reports_and_writes_nothing() {
    let planes = bed(1).await;
    let cluster = planes.cluster(0);
    let namespace = TempNamespace::new(cluster, "shadow").await;
    let (stores, store) = fake_store(namespace.name());
    apply(cluster, &stores, store).await;
    let objects = EXTERNAL_SECRETS.collection(namespace.name());
    apply(
        cluster,
        &objects,
        external_secret("es", "1h", "shelf", json!({"key": "pear"})),
    )
    .await;
    let mark = AuditMark::set(cluster).await.unwrap();
    let done = Eso::new(&planes.kubeconfig_path())
        .args(["sync", "-A", "--shadow", "--context", cluster.name()])
        .run()
        .success();
    assert!(
        done.stdout
            .contains(&format!("would create secrets {}/es", namespace.name())),
        "{}",
        done.stdout
    );
    assert!(mark.writes().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_source_arrives_at_once_and_costs_no_polling() {
    let planes = bed(1).await;
    let cluster = planes.cluster(0);
    let source = TempNamespace::new(cluster, "cellar").await;
    let namespace = TempNamespace::new(cluster, "orchard").await;
    let admin = cluster.admin();
    let keys = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"},
        "stringData": {"crt": admin.cert_pem, "key": admin.key_pem}});
    apply(
        cluster,
        &format!("/api/v1/namespaces/{}/secrets", namespace.name()),
        keys,
    )
    .await;
    let jars = format!("/api/v1/namespaces/{}/secrets", source.name());
    let jar = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "jar"}, "stringData": {"user": value}});
    apply(cluster, &jars, jar("ida")).await;
    use base64::Engine as _;
    let ca = base64::engine::general_purpose::STANDARD.encode(cluster.ca_pem());
    let store = json!({"apiVersion": "external-secrets.io/v1", "kind": "SecretStore", "metadata": {"name": "up"},
        "spec": {"provider": {"kubernetes": {"remoteNamespace": source.name(), "server": {"url": cluster.url(), "caBundle": ca},
            "auth": {"cert": {"clientCert": {"name": "login", "key": "crt"}, "clientKey": {"name": "login", "key": "key"}}}}}}});
    apply(
        cluster,
        &format!(
            "/apis/external-secrets.io/v1/namespaces/{}/secretstores",
            namespace.name()
        ),
        store,
    )
    .await;
    let objects = EXTERNAL_SECRETS.collection(namespace.name());
    apply(
        cluster,
        &objects,
        external_secret("es", "1h", "up", json!({"key": "jar", "property": "user"})),
    )
    .await;
    let eso = start(&planes, &["--context", cluster.name()]);
    assert_eq!(ready(cluster, namespace.name(), "es").await.0, "SecretSynced");
    apply(cluster, &jars, jar("eve")).await;
    let secrets = namespace.api::<Secret>().await;
    wait_until("the change arrives", within(5), async || {
        let data = secrets.get("es").await.ok()?.data?;
        (data["a"].0 == b"eve").then_some(())
    })
    .await;
    stop(eso);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_cluster_costs_the_others_nothing() {
    let planes = bed(2).await;
    let (dead, good) = (planes.cluster(0), planes.cluster(1));
    let namespace = TempNamespace::new(good, "good").await;
    let (stores, store) = fake_store(namespace.name());
    apply(good, &stores, store).await;
    let objects = EXTERNAL_SECRETS.collection(namespace.name());
    apply(
        good,
        &objects,
        external_secret("es", "1h", "shelf", json!({"key": "pear"})),
    )
    .await;
    dead.freeze();
    let contexts = format!("{},{}", dead.name(), good.name());
    let eso = Eso::new(&planes.kubeconfig_path())
        .args(["sync", "--watch", "-A", "--contexts", &contexts])
        .timeout(120)
        .start();
    assert_eq!(ready(good, namespace.name(), "es").await.0, "SecretSynced");
    dead.thaw();
    eso.signal(Signal::TERM);
    assert!(eso.wait(std::time::Duration::from_secs(60)).code().is_some());
}
