//! `push-target` on real clusters: the upstream's loop pushes a Secret to two downstreams.

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::Role;
use kube::Api;
use xtask::controlplane::{Cluster, ControlPlanes, Options, Signal};
use xtask::metrics::AuditMark;

use crate::distribute::{Config, config};
use crate::support::{canary, own_clusters, wait_until, with_crds, within};

const TARGET: [&str; 7] = [
    "push-target",
    "--contexts",
    "a,b",
    "--secrets",
    "database",
    "--create-namespace",
    "--allow-local-url",
];

async fn bed() -> (ControlPlanes, Config, String) {
    let planes = own_clusters(Options::count(3));
    with_crds(planes.cluster(0)).await;
    let config = config(planes.cluster(0), &[("a", planes.cluster(1)), ("b", planes.cluster(2))]);
    let value = canary::fresh("pushed");
    config.eso(&["bootstrap", "--allow-local-url"]).run().success();
    let put = ["put", "database", "--from-file", "password=-"];
    config.eso(&put).stdin(value.clone()).run().success();
    (planes, config, value)
}

async fn pushed(cluster: &Cluster, namespace: &str) -> Option<Vec<u8>> {
    let api: Api<Secret> = Api::namespaced(cluster.client().await.unwrap(), namespace);
    Some(api.get_opt("database").await.unwrap()?.data?.remove("password")?.0)
}

async fn writes(planes: &ControlPlanes, work: impl FnOnce()) -> usize {
    let mut marks = Vec::new();
    for cluster in planes.clusters() {
        marks.push(AuditMark::set(cluster).await.unwrap());
    }
    work();
    let mut count = 0;
    for mark in &marks {
        // Reviews and the token's proof are questions, although they are asked with POST.
        let all = mark.writes().await.unwrap();
        count += all.iter().filter(|w| !w.resource().ends_with("reviews")).count();
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn the_upstreams_loop_pushes_to_two_downstreams() {
    let (planes, config, value) = bed().await;
    let target = [&TARGET[..], &["-n", "pushed"]].concat();
    let dry = [&target[..], &["--dry-run=client"]].concat();
    let written = writes(&planes, || drop(config.eso(&dry).run().success())).await;
    assert_eq!(written, 0, "a dry run writes nothing");
    config.eso(&target).run().success();

    let again = writes(&planes, || drop(config.eso(&target).run().success())).await;
    assert_eq!(again, 0, "a second run writes nothing");

    let eso = config.eso(&["sync", "--watch", "-A"]).timeout(300).start();
    for cluster in &planes.clusters()[1..] {
        wait_until("the Secret is pushed", within(60), async || {
            (pushed(cluster, "pushed").await? == value.as_bytes()).then_some(())
        })
        .await;
        let roles: Api<Role> = Api::namespaced(cluster.client().await.unwrap(), "pushed");
        let rules = roles.get("upstream-push").await.unwrap().rules.unwrap();
        assert_eq!(rules[0].verbs, ["create"]);
        assert_eq!(rules[1].resource_names.as_deref(), Some(&["database".to_owned()][..]));
    }
    eso.signal(Signal::TERM);
    assert_eq!(eso.wait(std::time::Duration::from_secs(30)).code(), Some(0));

    let data: Api<Secret> = Api::namespaced(planes.cluster(0).client().await.unwrap(), "eso-data");
    let names: Vec<String> = data
        .list(&kube::api::ListParams::default())
        .await
        .unwrap()
        .items
        .into_iter()
        .filter_map(|s| s.metadata.name)
        .collect();
    assert_eq!(names, ["database"], "no credential lies beside the reader role");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_converges_and_machines_can_read_it() {
    let (planes, config, _) = bed().await;
    let target = [&TARGET[..], &["-n", "pushed"]].concat();
    let first = config.eso(&target).start();
    // The marker is written before the token: killed here, the run has made rights and no store.
    let markers: Api<Secret> = Api::namespaced(planes.cluster(1).client().await.unwrap(), "pushed");
    wait_until("the marker exists", within(60), async || {
        let found = markers.get_opt("upstream-store-a-gen-1").await.unwrap();
        found.map(drop)
    })
    .await;
    first.kill();
    let done = config.eso(&[&target[..], &["-o", "json"]].concat()).run().success();
    let result: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(result["apiVersion"], "kubectl-eso/v1");
    assert_eq!(result["kind"], "PushTargetResult");
    assert_eq!(result["summary"]["failed"], 0);
    let again = writes(&planes, || drop(config.eso(&target).run().success())).await;
    assert_eq!(again, 0, "the state is whole");

    let exported = config.eso(&[&target[..], &["--export"]].concat()).run().success();
    assert!(
        exported.stdout.contains("kind: ClusterSecretStore"),
        "{}",
        exported.stdout
    );
    assert!(exported.stdout.contains("name: database-to-a"), "{}", exported.stdout);
    assert!(!exported.stdout.contains("kind: Secret\n"), "{}", exported.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_never_lie_beside_the_reader_role() {
    let (_planes, config, _) = bed().await;
    let refused = config
        .eso(&[&TARGET[..], &["--data-namespace", "eso-push"]].concat())
        .run();
    assert_eq!(refused.code(), Some(2), "{}", refused.stderr);
    let bootstrap = ["bootstrap", "--allow-local-url", "--data-namespace", "eso-push"];
    config.eso(&bootstrap).run().success();
    let refused = config.eso(&TARGET).run().expect(1);
    assert!(refused.stderr.contains("has a reader role"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint:"), "{}", refused.stderr);
}
