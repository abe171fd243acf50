//! What the commands leave behind, and how they behave when run again.

use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use xtask::controlplane::{Kubeconfig, Options};
use xtask::metrics::AuditMark;

use super::{Config, anchors, config, stored_generation, stored_token, whoami};
use crate::support::{canary, own_clusters, with_crds};

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_life_of_a_credential() {
    let planes = own_clusters(Options::count(3));
    let (hub, a, b) = (planes.cluster(0), planes.cluster(1), planes.cluster(2));
    with_crds(a).await;
    with_crds(b).await;
    let config = config(hub, &[("a", a), ("b", b)]);
    let value = canary::fresh("database");
    config.eso(&["bootstrap", "--allow-local-url"]).run().success();
    config
        .eso(&["put", "database", "--from-file", "password=-"])
        .stdin(value.clone())
        .run()
        .success();
    config
        .eso(&[
            "distribute-token",
            "--contexts",
            "a,b",
            "--with-store",
            "--allow-local-url",
        ])
        .run()
        .success();

    let token = stored_token(a, "default").await.unwrap();
    assert_eq!(
        whoami(hub, &token).await.as_deref(),
        Some("system:serviceaccount:eso-identities:upstream-store-a")
    );
    let maps: Api<ConfigMap> = Api::namespaced(a.client().await.unwrap(), "default");
    let ca = maps.get("upstream-ca").await.unwrap().data.unwrap();
    assert!(ca["ca.crt"].contains("BEGIN CERTIFICATE"));

    renewal_retires_the_old_anchor(&config, hub, a).await;
    scope_is_kept(&config, hub).await;
    another_kubeconfig_finds_the_same_identity(hub, a).await;
    dry_runs_write_nothing(&config, &planes).await;
    request_checks_upstream(&config, a).await;
    canary::sweep(hub).await;
    canary::sweep(a).await;
}

async fn renewal_retires_the_old_anchor(
    config: &Config,
    hub: &xtask::controlplane::Cluster,
    a: &xtask::controlplane::Cluster,
) {
    let args = ["distribute-token", "--contexts", "a", "--allow-local-url"];
    config.eso(&[&args[..], &["--force"]].concat()).run().success();
    assert_eq!(stored_generation(a, "default").await, Some(2));
    // The overlap: both tokens work until it has passed.
    assert_eq!(
        anchors(hub, "default").await.iter().filter(|g| **g == 1).count(),
        2,
        "generation 1 of a and of b"
    );
    config.eso(&[&args[..], &["--overlap", "0s"]].concat()).run().success();
    assert!(anchors(hub, "default").await.contains(&2));
    assert_eq!(
        anchors(hub, "default").await.iter().filter(|g| **g == 1).count(),
        1,
        "only b's"
    );
}

async fn scope_is_kept(config: &Config, hub: &xtask::controlplane::Cluster) {
    let args = ["distribute-token", "--contexts", "b", "--allow-local-url"];
    let refused = config
        .eso(&[&args[..], &["--secrets", "database"]].concat())
        .run()
        .expect(1);
    assert!(refused.stderr.contains("--recreate"), "{}", refused.stderr);
    config
        .eso(&[&args[..], &["--secrets", "database", "--recreate"]].concat())
        .run()
        .success();
    config.eso(&args).run().success();
    let roles: Api<Role> = Api::namespaced(hub.client().await.unwrap(), "eso-data");
    let rules = roles.get("upstream-store-b").await.unwrap().rules.unwrap();
    assert_eq!(rules[0].resource_names.as_deref(), Some(&["database".to_owned()][..]));
    let bindings: Api<RoleBinding> = Api::namespaced(hub.client().await.unwrap(), "eso-data");
    assert_eq!(
        bindings.get("upstream-store-b").await.unwrap().role_ref.name,
        "upstream-store-b"
    );
}

async fn another_kubeconfig_finds_the_same_identity(
    hub: &xtask::controlplane::Cluster,
    a: &xtask::controlplane::Cluster,
) {
    let colleague = Config::new(
        &Kubeconfig::new()
            .admin("main", hub)
            .admin("my-own-name", a)
            .current("main"),
    );
    let finished = colleague
        .eso(&[
            "distribute-token",
            "--contexts",
            "my-own-name",
            "--allow-local-url",
            "-o",
            "json",
        ])
        .run()
        .success();
    assert_eq!(finished.json()["items"][0]["clusterId"], "a");
    let accounts: Api<ServiceAccount> = Api::namespaced(hub.client().await.unwrap(), "eso-identities");
    assert!(accounts.get_opt("upstream-store-my-own-name").await.unwrap().is_none());
}

async fn dry_runs_write_nothing(config: &Config, planes: &xtask::controlplane::ControlPlanes) {
    let mut marks = Vec::new();
    for cluster in planes.clusters() {
        marks.push(AuditMark::set(cluster).await.unwrap());
    }
    for mode in ["--dry-run=client", "--dry-run=server", "--export"] {
        config
            .eso(&[
                "distribute-token",
                "--contexts",
                "a,b",
                "--with-store",
                "--allow-local-url",
                "--force",
                mode,
            ])
            .run()
            .success();
        config.eso(&["bootstrap", "--allow-local-url", mode]).run().success();
        config
            .eso(&["request", "database", "--contexts", "a", mode])
            .run()
            .success();
        config
            .eso(&["put", "other", "--from-file", "k=-", mode])
            .stdin(canary::fresh("dry"))
            .run()
            .success();
    }
    for mark in marks {
        let events = mark.events().await.unwrap();
        assert!(
            events.iter().all(|e| e.subresource() != "token"),
            "a dry run issued a token"
        );
        assert_eq!(mark.writes().await.unwrap().len(), 0);
    }
}

async fn request_checks_upstream(config: &Config, a: &xtask::controlplane::Cluster) {
    let missing = config.eso(&["request", "nothing", "--contexts", "a"]).run().expect(1);
    assert!(missing.stderr.contains("does not exist upstream"), "{}", missing.stderr);
    let no_key = config
        .eso(&["request", "database", "--contexts", "a", "--property", "user"])
        .run()
        .expect(1);
    assert!(no_key.stderr.contains("its keys are password"), "{}", no_key.stderr);
    let made = config
        .eso(&[
            "request",
            "database",
            "--contexts",
            "a",
            "--property",
            "secret=password",
        ])
        .run()
        .success();
    assert!(
        made.stdout
            .contains("externalsecret.external-secrets.io/database created"),
        "{}",
        made.stdout
    );
    let again = config
        .eso(&[
            "request",
            "database",
            "--contexts",
            "a",
            "--property",
            "secret=password",
        ])
        .run()
        .success();
    assert!(again.stdout.contains("unchanged"), "{}", again.stdout);
    let exported = config
        .eso(&[
            "request",
            "database",
            "--contexts",
            "a",
            "--property",
            "secret=password",
            "--export",
        ])
        .run()
        .success();
    let file = exported.yaml().remove(0);
    let live: Api<kube::core::DynamicObject> = Api::namespaced_with(
        a.client().await.unwrap(),
        "default",
        &kube::core::ApiResource::from_gvk_with_plural(
            &kube::core::GroupVersionKind::gvk("external-secrets.io", "v1", "ExternalSecret"),
            "externalsecrets",
        ),
    );
    let live = live.get("database").await.unwrap();
    assert_eq!(
        file["spec"], live.data["spec"],
        "an exported file equals the live object"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_up_made_by_hand_is_refused_and_then_adopted() {
    let planes = own_clusters(Options::count(2));
    let (hub, a) = (planes.cluster(0), planes.cluster(1));
    let config = config(hub, &[("a", a)]);
    config.eso(&["bootstrap", "--allow-local-url"]).run().success();
    let secrets: Api<Secret> = Api::namespaced(a.client().await.unwrap(), "default");
    let by_hand = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "upstream-token"}, "data": {"token": "YnkgaGFuZA=="}});
    secrets
        .patch("upstream-token", &PatchParams::apply("helm"), &Patch::Apply(&by_hand))
        .await
        .unwrap();
    let args = ["distribute-token", "--contexts", "a", "--allow-local-url"];
    let refused = config.eso(&args).run().expect(1);
    assert!(refused.stderr.contains("--adopt"), "{}", refused.stderr);
    assert!(
        anchors(hub, "default").await.is_empty(),
        "a refusal leaves nothing behind"
    );
    let conflict = config.eso(&[&args[..], &["--adopt"]].concat()).run().expect(1);
    assert!(
        conflict.stderr.contains("owned by") && conflict.stderr.contains("--force-conflicts"),
        "{}",
        conflict.stderr
    );
    config
        .eso(&[&args[..], &["--adopt", "--force-conflicts"]].concat())
        .run()
        .success();
    assert!(whoami(hub, &stored_token(a, "default").await.unwrap()).await.is_some());
}
