//! Real control planes: readiness, isolation of the clusters, tokens, restarts, the guardian, and the fault proxy.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, ServiceAccount};
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use serde_json::json;
use xtask::controlplane::{ControlPlanes, Entry, Options, TokenClaims, User, exists, free_port};
use xtask::metrics::{AuditMark, RequestCounts};
use xtask::proxy::{Action, Front, Proxy, Rule, Script};

/// One set for all tests of this file.
fn planes() -> &'static ControlPlanes {
    static PLANES: OnceLock<ControlPlanes> = OnceLock::new();
    PLANES.get_or_init(|| ControlPlanes::start(Options::count(2)).unwrap())
}

async fn new_namespace(client: &Client, prefix: &str) -> String {
    let namespace = json!({ "metadata": { "generateName": format!("{prefix}-") } });
    let api: Api<Namespace> = Api::all(client.clone());
    let made = api
        .create(&PostParams::default(), &serde_json::from_value(namespace).unwrap())
        .await
        .unwrap();
    made.metadata.name.unwrap()
}

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "key": value } })).unwrap()
}

async fn user_of(client: &Client) -> String {
    let api: Api<SelfSubjectReview> = Api::all(client.clone());
    let review = api
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await
        .unwrap();
    review.status.unwrap().user_info.unwrap().username.unwrap()
}

#[tokio::test]
async fn clusters_are_separate_and_both_ends_of_a_kubeconfig_work() {
    let (one, two) = (planes().cluster(0), planes().cluster(1));
    let (first, second) = (one.client().await.unwrap(), two.http2_client().await.unwrap());
    let namespace = new_namespace(&first, "separate").await;
    assert!(
        Api::<Namespace>::all(second.clone())
            .get_opt(&namespace)
            .await
            .unwrap()
            .is_none()
    );
    let system = async |client: &Client| {
        Api::<Namespace>::all(client.clone())
            .get("kube-system")
            .await
            .unwrap()
            .metadata
            .uid
            .unwrap()
    };
    assert_ne!(system(&first).await, system(&second).await);
    let published = Api::<ConfigMap>::namespaced(first, "default")
        .get("kube-root-ca.crt")
        .await
        .unwrap();
    assert_eq!(published.data.unwrap()["ca.crt"], one.ca_pem());
    assert_ne!(one.ca_pem(), two.ca_pem());
    let wrong = two
        .client_for(Entry::admin("wrong-ca", two).ca(Some(one.ca_pem())))
        .await
        .unwrap();
    assert!(wrong.apiserver_version().await.is_err());
}

#[tokio::test]
async fn tokens_signed_by_the_harness_are_accepted_until_they_expire() {
    let cluster = planes().cluster(0);
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.client().await.unwrap(), "default");
    let uid = accounts.get("default").await.unwrap().metadata.uid.unwrap();
    let claims = TokenClaims {
        namespace: "default".into(),
        name: "default".into(),
        uid,
        issued: -7200,
        expires: 3600,
        audience: None,
    };
    let as_token = async |claims: &TokenClaims, on: usize| {
        let token = User::Token(cluster.sign_token(claims).unwrap());
        let on = planes().cluster(on);
        on.client_for(Entry::admin("token", on).user(token)).await.unwrap()
    };
    let valid = as_token(&claims, 0).await;
    assert_eq!(user_of(&valid).await, "system:serviceaccount:default:default");
    for (claims, on) in [
        (
            TokenClaims {
                expires: -60,
                ..claims.clone()
            },
            0,
        ),
        (
            TokenClaims {
                audience: Some("elsewhere".into()),
                ..claims.clone()
            },
            0,
        ),
        (claims, 1),
    ] {
        let refused = as_token(&claims, on).await.list_api_groups().await;
        assert!(
            matches!(&refused, Err(kube::Error::Api(status)) if status.code == 401),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn requests_are_counted_in_metrics_and_in_the_audit_log() {
    let cluster = planes().cluster(1);
    let client = cluster.client().await.unwrap();
    let namespace = new_namespace(&client, "counted").await;
    let before = RequestCounts::read(&client).await.unwrap();
    let mark = AuditMark::set(cluster).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
    for number in 0..3 {
        let secret = serde_json::from_value(json!({ "metadata": { "name": format!("s{number}") } })).unwrap();
        secrets.create(&PostParams::default(), &secret).await.unwrap();
    }
    secrets.get("s1").await.unwrap();
    let after = RequestCounts::read(&client).await.unwrap().since(&before);
    assert_eq!(after.of("POST", "secrets"), 3);
    let events = mark.events().await.unwrap();
    let ours: Vec<_> = events.iter().filter(|event| event.namespace() == namespace).collect();
    let writes: Vec<_> = ours
        .iter()
        .filter(|event| event.is_write())
        .map(|event| event.name())
        .collect();
    assert_eq!(writes, ["s0", "s1", "s2"], "{ours:?}");
    assert!(
        ours.iter()
            .any(|event| event.verb == "get" && event.resource() == "secrets" && event.name() == "s1")
    );
    assert!(ours.iter().all(|event| event.user.username == "admin"));
}

#[tokio::test]
async fn the_proxy_passes_the_administrator_tokens_and_watches() {
    let cluster = planes().cluster(0);
    let script = Script::new();
    let proxy = Proxy::start(cluster, &script).unwrap();
    let client = cluster.client_for(proxy.entry("through", cluster)).await.unwrap();
    assert_eq!(user_of(&client).await, "admin");
    let nobody = cluster
        .client_for(proxy.entry("nobody", cluster).user(User::Anonymous))
        .await
        .unwrap();
    assert!(script.bearer_tokens().is_empty());
    let stranger = proxy
        .entry("stranger", cluster)
        .user(User::Token("no-token-at-all".into()));
    let refused = cluster.client_for(stranger).await.unwrap().list_api_groups().await;
    assert!(
        matches!(&refused, Err(kube::Error::Api(status)) if status.code == 401),
        "{refused:?}"
    );
    assert_eq!(script.bearer_tokens(), ["no-token-at-all"]);
    let refused = Api::<Secret>::default_namespaced(nobody)
        .list(&ListParams::default())
        .await;
    assert!(
        matches!(&refused, Err(kube::Error::Api(status)) if status.code == 403),
        "{refused:?}"
    );

    let namespace = new_namespace(&client, "watched").await;
    let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);
    let params = WatchParams {
        bookmarks: false,
        ..WatchParams::default().fields("metadata.name=seen")
    };
    let mut events = Box::pin(maps.watch(&params, "0").await.unwrap());
    maps.create(&PostParams::default(), &map("seen", "x")).await.unwrap();
    let event = futures::StreamExt::next(&mut events).await.unwrap().unwrap();
    assert!(
        matches!(&event, WatchEvent::Added(map) if map.metadata.name.as_deref() == Some("seen")),
        "{event:?}"
    );
    let seen = script.seen();
    assert_eq!(seen.iter().filter(|seen| seen.is_watch()).count(), 1);
    assert_eq!(script.writes(), 3, "{seen:?}");
    assert_eq!(seen.last().unwrap().status, Some(201));
}

/// A client through a proxy with these rules, and a namespace made beside it.
async fn through(rules: &[Rule], prefix: &str) -> (Proxy, Api<ConfigMap>, Api<ConfigMap>) {
    let cluster = planes().cluster(0);
    let script = rules.iter().cloned().fold(Script::new(), Script::with);
    let proxy = Proxy::start(cluster, &script).unwrap();
    let direct = cluster.client().await.unwrap();
    let namespace = new_namespace(&direct, prefix).await;
    let client = cluster.client_for(proxy.entry("faulty", cluster)).await.unwrap();
    (
        proxy,
        Api::namespaced(client, &namespace),
        Api::namespaced(direct, &namespace),
    )
}

#[tokio::test]
async fn a_cut_before_leaves_nothing_and_a_cut_after_leaves_the_object() {
    let rules = [
        Rule::new(Action::CutBefore).method("POST").nth(1),
        Rule::new(Action::CutAfter).method("POST").nth(2),
    ];
    let (_proxy, faulty, direct) = through(&rules, "cut").await;
    assert!(faulty.create(&PostParams::default(), &map("a", "x")).await.is_err());
    assert!(direct.get_opt("a").await.unwrap().is_none());
    assert!(faulty.create(&PostParams::default(), &map("b", "x")).await.is_err());
    assert!(direct.get_opt("b").await.unwrap().is_some());
    faulty.create(&PostParams::default(), &map("c", "x")).await.unwrap();
}

#[tokio::test]
async fn a_half_body_and_a_stalled_body_never_decode() {
    let rules = [
        Rule::new(Action::HalfBody).path("/configmaps/big").nth(1),
        Rule::new(Action::StallBody).path("/configmaps/big").nth(2),
    ];
    let (_proxy, faulty, direct) = through(&rules, "half").await;
    direct
        .create(&PostParams::default(), &map("big", &"x".repeat(50_000)))
        .await
        .unwrap();
    let error = faulty.get("big").await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "{error}");
    let silent = tokio::time::timeout(Duration::from_millis(300), faulty.get("big")).await;
    assert!(silent.is_err());
    assert_eq!(faulty.get("big").await.unwrap().data.unwrap()["key"].len(), 50_000);
}

#[tokio::test]
async fn statuses_watch_expiry_delays_and_throttles_are_injected() {
    let rules = [
        Rule::new(Action::Status {
            code: 500,
            reason: "InternalError",
            retry_after: None,
        })
        .path("/m-status$"),
        Rule::new(Action::WatchExpired).watches(true),
        Rule::new(Action::Delay(Duration::from_millis(200))).path("/m-slow$"),
        Rule::new(Action::Throttle(20_000)).path("/m-thin$"),
        Rule::new(Action::Hang).path("/m-hang$"),
        Rule::new(Action::Respond {
            code: 200,
            headers: vec![("content-type", "text/html".into())],
            body: "<html>".into(),
        })
        .path("/m-html$"),
    ];
    let (_proxy, faulty, direct) = through(&rules, "faults").await;
    direct
        .create(&PostParams::default(), &map("m-thin", &"x".repeat(10_000)))
        .await
        .unwrap();
    let error = faulty.get("m-status").await.unwrap_err();
    assert!(
        matches!(&error, kube::Error::Api(status) if status.code == 500),
        "{error:?}"
    );
    let mut events = Box::pin(faulty.watch(&WatchParams::default(), "0").await.unwrap());
    let event = futures::StreamExt::next(&mut events).await.unwrap().unwrap();
    assert!(
        matches!(&event, WatchEvent::Error(error) if error.code == 410),
        "{event:?}"
    );
    for (name, least) in [("m-slow", 200), ("m-thin", 400)] {
        let started = Instant::now();
        let _ = faulty.get_opt(name).await.unwrap();
        assert!(
            started.elapsed() >= Duration::from_millis(least),
            "{name}: {:?}",
            started.elapsed()
        );
    }
    assert!(matches!(faulty.get("m-html").await, Err(kube::Error::SerdeError(_))));
    assert!(
        tokio::time::timeout(Duration::from_millis(200), faulty.get("m-hang"))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_victim_is_killed_at_a_chosen_request() {
    let cluster = planes().cluster(0);
    for (action, stored) in [(Action::KillBefore, false), (Action::KillAfter, true)] {
        let script = Script::new().with(Rule::new(action).method("POST").path("/configmaps").nth(1));
        let proxy = Proxy::start(cluster, &script).unwrap();
        let direct = cluster.client().await.unwrap();
        let namespace = new_namespace(&direct, "victim").await;
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("config");
        xtask::controlplane::Kubeconfig::new()
            .with(proxy.entry("via", cluster))
            .write(&kubeconfig)
            .unwrap();
        let mut kubectl = Command::new(planes().assets().kubectl())
            .args(["create", "configmap", "made", "-n", &namespace])
            .env("KUBECONFIG", &kubeconfig)
            .env("HOME", folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        script.set_victim(kubectl.id());
        let status = tokio::task::spawn_blocking(move || kubectl.wait().unwrap())
            .await
            .unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
        let maps: Api<ConfigMap> = Api::namespaced(direct, &namespace);
        assert_eq!(maps.get_opt("made").await.unwrap().is_some(), stored);
    }
}

#[tokio::test]
async fn a_certificate_can_be_wrong() {
    let cluster = planes().cluster(0);
    for front in [
        Front {
            names: vec!["elsewhere.example".into()],
            ..Front::default()
        },
        Front {
            foreign_ca: true,
            ..Front::default()
        },
    ] {
        let proxy = Proxy::start_as(cluster, &Script::new(), &front).unwrap();
        let client = cluster.client_for(proxy.entry("wrong", cluster)).await.unwrap();
        assert!(client.apiserver_version().await.is_err(), "{front:?}");
    }
}

#[tokio::test]
async fn the_bare_loop_makes_every_object_ready() {
    let report = xtask::bench::floor::run(planes().cluster(1), 40, 8).await.unwrap();
    assert_eq!(report.objects, 40);
    assert!(report.seconds > 0.0);
    assert_eq!(report.requests, 120, "{report:?}");
}

/// This one has its own set, because it breaks it: restart on the same data, the limit on tokens, and the end by guard.
#[tokio::test]
async fn an_api_server_restarts_with_its_data_and_everything_ends_with_the_guard() {
    let options = Options {
        max_token_ttl: Some(Duration::from_secs(3600)),
        ..Options::count(1)
    };
    let planes = ControlPlanes::start(options).unwrap();
    let cluster = planes.cluster(0).clone();
    let client = cluster.client().await.unwrap();
    let namespace = new_namespace(&client, "kept").await;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let request = serde_json::from_value(json!({ "spec": { "audiences": [], "expirationSeconds": 86400 } })).unwrap();
    let granted = accounts
        .create_token_request("default", &PostParams::default(), &request)
        .await
        .unwrap();
    let expiry = granted.status.unwrap().expiration_timestamp.unwrap().0;
    let life = expiry.duration_since(k8s_openapi::jiff::Timestamp::now()).as_secs();
    assert!((3500..=3600).contains(&life), "granted {life} s");

    assert!(cluster.freeze());
    assert!(
        tokio::time::timeout(Duration::from_millis(300), client.apiserver_version())
            .await
            .is_err()
    );
    assert!(cluster.thaw());
    planes.kill_apiserver(0).unwrap();
    let fresh = cluster.client().await.unwrap();
    assert!(fresh.apiserver_version().await.is_err());
    planes.restart_apiserver(0).unwrap();
    assert!(
        Api::<Namespace>::all(fresh)
            .get_opt(&namespace)
            .await
            .unwrap()
            .is_some()
    );

    let (dir, pid) = (planes.dir().to_path_buf(), cluster.apiserver_pid());
    drop(planes);
    assert!(!dir.exists() && !exists(pid));
}

fn xtask(args: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(args).output().unwrap()
}

/// Polls until `condition` holds.
fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn detached_clusters_outlive_the_command_and_stop_by_folder() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().display().to_string();
    let started = xtask(&["clusters", "start", "--count", "1", "--dir", &dir, "--no-audit"]);
    assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
    let pids: Vec<u32> = std::fs::read_to_string(folder.path().join("pids"))
        .unwrap()
        .lines()
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(pids.len(), 3);
    assert!(pids.iter().all(|pid| exists(*pid)));
    assert!(!xtask(&["clusters", "start", "--dir", &dir]).status.success());
    let ready = Command::new(planes().assets().kubectl())
        .args(["--context", "c1", "get", "--raw", "/readyz"])
        .env("KUBECONFIG", folder.path().join("kubeconfig"))
        .env("HOME", folder.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&ready.stdout), "ok");
    assert!(xtask(&["clusters", "stop", "--dir", &dir]).status.success());
    wait_until("the processes end", || pids.iter().all(|pid| !exists(*pid)));
    assert!(!Path::new(&dir).join("etcd").exists());
}

#[test]
fn nothing_outlives_an_owner_that_is_killed() {
    if let Some(dir) = std::env::var_os("XTASK_TEST_OWNER") {
        let planes = ControlPlanes::start(Options::count(1)).unwrap();
        let pids = std::fs::read_to_string(planes.dir().join("pids")).unwrap();
        std::fs::write(dir, format!("{}\n{pids}", planes.dir().display())).unwrap();
        loop {
            std::thread::park();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nothing_outlives_an_owner_that_is_killed"])
        .env("XTASK_TEST_OWNER", &note)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(150);
    while std::fs::read_to_string(&note).map_or(true, |text| text.lines().count() < 4) {
        assert!(
            Instant::now() < deadline && owner.try_wait().unwrap().is_none(),
            "the owner never got ready"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    owner.kill().unwrap();
    owner.wait().unwrap();
    let text = std::fs::read_to_string(&note).unwrap();
    let mut lines = text.lines();
    let dir = Path::new(lines.next().unwrap()).to_path_buf();
    let pids: Vec<u32> = lines
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .collect();
    wait_until("the guardian cleans up", || {
        !dir.exists() && pids.iter().all(|pid| !exists(*pid))
    });
}

#[test]
fn free_ports_are_free_and_below_the_ephemeral_range() {
    let port = free_port().unwrap();
    assert!((18_000..32_000).contains(&port));
    std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
}
