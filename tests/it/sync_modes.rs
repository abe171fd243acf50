//! The flags that decide whether the loop may write: beside an operator, of another class, paused, strict.

use kubectl_eso::cluster::rest::{EXTERNAL_SECRETS, Rest};
use serde_json::{Value, json};
use xtask::controlplane::{ControlPlanes, Options};

use crate::support::{Eso, Finished, TempNamespace, own_clusters};

struct Bed {
    planes: ControlPlanes,
    rest: Rest,
}

impl Bed {
    async fn new() -> Self {
        let planes = own_clusters(Options::count(1));
        crate::support::with_crds(planes.cluster(0)).await;
        let rest = Rest::new(planes.cluster(0).client().await.unwrap());
        Self { planes, rest }
    }

    async fn apply(&self, path: &str, object: Value) {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let path = format!("{path}/{name}?fieldManager=test&force=true");
        let kind = Some("application/apply-patch+yaml");
        let body = object.to_string().into_bytes();
        self.rest.call(http::Method::PATCH, &path, kind, body).await.unwrap();
    }

    /// A store, of a class perhaps, and an ExternalSecret that reads `key` from it.
    async fn ask(&self, namespace: &str, class: Option<&str>, key: &str) {
        let mut store = json!({"apiVersion": "external-secrets.io/v1", "kind": "SecretStore", "metadata": {"name": "shelf"},
            "spec": {"provider": {"fake": {"data": [{"key": "pear", "value": "ripe"}]}}}});
        if let Some(class) = class {
            store["spec"]["controller"] = json!(class);
        }
        let stores = format!("/apis/external-secrets.io/v1/namespaces/{namespace}/secretstores");
        self.apply(&stores, store).await;
        let object = json!({"apiVersion": "external-secrets.io/v1", "kind": "ExternalSecret", "metadata": {"name": "es"},
            "spec": {"refreshInterval": "1h", "secretStoreRef": {"name": "shelf"},
                "data": [{"secretKey": "a", "remoteRef": {"key": key}}]}});
        self.apply(&EXTERNAL_SECRETS.collection(namespace), object).await;
    }

    fn sync(&self, more: &[&str]) -> Finished {
        let first = ["sync", "-A", "--context", self.planes.cluster(0).name()];
        let all: Vec<&str> = first.iter().chain(more).copied().collect();
        Eso::new(&self.planes.kubeconfig_path()).args(all).run()
    }

    async fn has_target(&self, namespace: &str) -> bool {
        let path = format!("/api/v1/namespaces/{namespace}/secrets/es");
        self.rest.get_opt::<Value>(&path).await.unwrap().is_some()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_live_operator_it_starts_only_when_told_to() {
    let bed = Bed::new().await;
    let namespace = TempNamespace::new(bed.planes.cluster(0), "beside").await;
    bed.ask(namespace.name(), None, "pear").await;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "external-secrets-controller"},
        "spec": {"holderIdentity": "pod_1", "leaseDurationSeconds": 3600,
            "renewTime": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string()}});
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", namespace.name());
    bed.apply(&leases, lease).await;
    let refused = bed.sync(&[]).expect(1);
    assert!(refused.stderr.contains("--take-over"), "{}", refused.stderr);
    assert!(!bed.has_target(namespace.name()).await);
    bed.sync(&["--shadow"]).success();
    assert!(!bed.has_target(namespace.name()).await);
    bed.sync(&["--take-over"]).success();
    assert!(bed.has_target(namespace.name()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_serves_its_own_stores_only() {
    let bed = Bed::new().await;
    let (plain, named) = (
        TempNamespace::new(bed.planes.cluster(0), "plain").await,
        TempNamespace::new(bed.planes.cluster(0), "named").await,
    );
    bed.ask(plain.name(), None, "pear").await;
    bed.ask(named.name(), Some("garden"), "pear").await;
    bed.sync(&["--controller-class", "garden"]);
    assert!(bed.has_target(named.name()).await);
    assert!(!bed.has_target(plain.name()).await);
    bed.sync(&[]);
    assert!(bed.has_target(plain.name()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_namespace_is_not_written_to() {
    let bed = Bed::new().await;
    let (filed, marked, free) = (
        TempNamespace::new(bed.planes.cluster(0), "filed").await,
        TempNamespace::new(bed.planes.cluster(0), "marked").await,
        TempNamespace::new(bed.planes.cluster(0), "free").await,
    );
    for namespace in [&filed, &marked, &free] {
        bed.ask(namespace.name(), None, "pear").await;
    }
    let mark = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": marked.name(), "annotations": {"kubectl-eso.dev/pause": "true"}}});
    bed.apply("/api/v1/namespaces", mark).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("paused");
    std::fs::write(&file, format!("# harvest\n{}\n", filed.name())).unwrap();
    bed.sync(&["--pause-file", file.to_str().unwrap()]);
    assert!(bed.has_target(free.name()).await);
    assert!(!bed.has_target(filed.name()).await);
    assert!(!bed.has_target(marked.name()).await);
    bed.sync(&[]);
    assert!(bed.has_target(filed.name()).await, "without the file the pause is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_key_is_named_and_fails_the_run() {
    let bed = Bed::new().await;
    let namespace = TempNamespace::new(bed.planes.cluster(0), "strict").await;
    bed.ask(namespace.name(), None, "quince").await;
    let failed = bed.sync(&["--strict"]).expect(1);
    assert!(failed.stderr.contains("quince"), "{}", failed.stderr);
    assert!(!bed.has_target(namespace.name()).await);
}
