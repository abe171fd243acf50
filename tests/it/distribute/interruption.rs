//! `distribute-token` killed with SIGKILL at its n-th request, for many n, and run again.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use xtask::controlplane::{Cluster, ControlPlanes, Kubeconfig, Options};
use xtask::proxy::{Action, Proxy, Rule, Script};

use super::{Config, anchors, stored_generation, stored_token, whoami};
use crate::support::{Finished, own_clusters, with_crds};

/// Points of a renewal: an old token has to survive every one of them.
const RENEWALS: usize = 22;
/// Points of a first run, where nothing has to survive.
const FIRST: usize = 8;
const DOWNSTREAMS: [&str; 2] = ["a", "b"];

struct Bed {
    planes: ControlPlanes,
    script: Script,
    config: Config,
    _proxies: Vec<Proxy>,
}

impl Bed {
    fn new() -> Self {
        let planes = own_clusters(Options::count(3));
        let script = Script::new();
        let proxies: Vec<Proxy> = planes
            .clusters()
            .iter()
            .map(|cluster| Proxy::start(cluster, &script).unwrap())
            .collect();
        let mut kubeconfig = Kubeconfig::new().current("hub");
        for ((name, proxy), cluster) in ["hub", "a", "b"].iter().zip(&proxies).zip(planes.clusters()) {
            kubeconfig = kubeconfig.with(proxy.entry(name, cluster));
        }
        let config = Config::new(&kubeconfig);
        Self {
            planes,
            script,
            config,
            _proxies: proxies,
        }
    }

    fn hub(&self) -> &Cluster {
        self.planes.cluster(0)
    }

    fn downstreams(&self) -> [&Cluster; 2] {
        [self.planes.cluster(1), self.planes.cluster(2)]
    }

    fn args<'a>(&self, namespace: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let mut args = vec![
            "distribute-token",
            "--contexts",
            "a,b",
            "--with-store",
            "--allow-local-url",
        ];
        args.extend(["-n", namespace, "--create-namespace", "--overlap", "0s"]);
        args.extend(more);
        args
    }

    /// Runs it whole; how many requests it sends.
    fn whole(&self, namespace: &str, more: &[&str]) -> usize {
        let before = self.script.count();
        self.config.eso(&self.args(namespace, more)).run().success();
        self.script.count() - before
    }

    /// Runs it and kills it at its n-th request.
    fn killed_at(&self, n: usize, namespace: &str, more: &[&str]) {
        let action = if n.is_multiple_of(2) {
            Action::KillBefore
        } else {
            Action::KillAfter
        };
        self.script.clear_rules();
        self.script.push(Rule::new(action).nth(n));
        let running = self.config.eso(&self.args(namespace, more)).start();
        self.script.set_victim(running.pid());
        let finished = running.wait(Duration::from_secs(60));
        self.script.clear_rules();
        // Requests of two clusters run side by side: near the end a run may send one or two fewer than another.
        if finished.signal() != Some(9) {
            finished.success();
        }
    }

    /// The repeated run, which must not wait for the Lease of the dead one to end.
    fn again(&self, namespace: &str, n: usize) -> Finished {
        let finished = self.config.eso(&self.args(namespace, &[])).run();
        let took = finished.elapsed;
        assert!(
            took < Duration::from_secs(12),
            "after request {n}: the dead run's Lease was waited out: {took:?}"
        );
        finished
    }

    async fn tokens_work(&self, namespace: &str, when: &str) {
        for (name, cluster) in DOWNSTREAMS.iter().zip(self.downstreams()) {
            let token = stored_token(cluster, namespace).await.unwrap();
            let user = whoami(self.hub(), &token).await;
            assert!(
                user.is_some_and(|u| u.ends_with(name)),
                "{when}: the token of {name} is refused"
            );
        }
    }

    /// Both tokens work, and no anchor is there but theirs.
    async fn converged(&self, namespace: &str, n: usize) {
        self.tokens_work(namespace, &format!("repeated after request {n}"))
            .await;
        let mut wanted = Vec::new();
        for cluster in self.downstreams() {
            wanted.push(stored_generation(cluster, namespace).await.unwrap());
        }
        wanted.sort_unstable();
        assert_eq!(
            anchors(self.hub(), namespace).await,
            wanted,
            "after request {n}: anchors left over"
        );
    }
}

/// `count` different numbers from 1 to `total`, spread evenly.
fn points(total: usize, count: usize) -> BTreeSet<usize> {
    (0..count).map(|i| 1 + i * (total - 1) / (count - 1)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_request_it_converges_and_a_working_token_stays_one() {
    let bed = Bed::new();
    for cluster in bed.downstreams() {
        with_crds(cluster).await;
    }
    bed.config.eso(&["bootstrap", "--allow-local-url"]).run().success();

    let first = points(bed.whole("first", &[]), FIRST);
    bed.converged("first", 0).await;
    for n in &first {
        let namespace = format!("first-{n}");
        bed.killed_at(*n, &namespace, &[]);
        bed.again(&namespace, *n).success();
        bed.converged(&namespace, *n).await;
    }

    bed.whole("renew", &[]);
    let renewals = points(bed.whole("renew", &["--force"]), RENEWALS);
    bed.converged("renew", 0).await;
    for n in &renewals {
        bed.killed_at(*n, "renew", &["--force"]);
        bed.tokens_work("renew", &format!("killed at request {n}")).await;
        bed.again("renew", *n).success();
        bed.converged("renew", *n).await;
    }
    assert!(renewals.len() >= 20, "{renewals:?}");
    a_lease_of_another_machine_is_waited_for(&bed).await;
}

async fn a_lease_of_another_machine_is_waited_for(bed: &Bed) {
    let api: Api<Lease> = Api::namespaced(bed.hub().client().await.unwrap(), "eso-data");
    let mut lease = api
        .list(&kube::api::ListParams::default())
        .await
        .unwrap()
        .items
        .remove(0);
    let now: k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime =
        serde_json::from_value(json!(k8s_openapi::jiff::Timestamp::now().to_string())).unwrap();
    let spec = lease.spec.as_mut().unwrap();
    spec.holder_identity = Some("kubectl-eso/elsewhere/1/another-boot/1/0/1/abcd".to_owned());
    spec.renew_time = Some(now);
    spec.lease_duration_seconds = Some(5);
    let name = lease.metadata.name.clone().unwrap();
    api.replace(&name, &PostParams::default(), &lease).await.unwrap();
    let refused = bed
        .config
        .eso(&bed.args("renew", &["--lease-wait", "0s"]))
        .run()
        .expect(1);
    assert!(
        refused
            .stderr
            .contains("another run holds it: kubectl-eso/elsewhere/1/"),
        "{}",
        refused.stderr
    );
    let start = Instant::now();
    bed.config.eso(&bed.args("renew", &[])).run().success();
    assert!(start.elapsed() > Duration::from_secs(1), "it was taken before it ended");
}
