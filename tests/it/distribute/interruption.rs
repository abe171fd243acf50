//! `distribute-token` killed with SIGKILL at its n-th request, for every n, and run again.

use xtask::controlplane::{Cluster, Kubeconfig, Options};
use xtask::proxy::{Action, Proxy, Rule, Script};

use super::{Config, anchors, stored_generation, stored_token, whoami};
use crate::support::{own_clusters, with_crds};

/// Fewer points than this would prove too little; every further one costs two runs.
const AT_LEAST: usize = 12;
const AT_MOST: usize = 24;

struct Bed {
    hub: Cluster,
    downstream: Cluster,
    script: Script,
    config: Config,
    _proxies: [Proxy; 2],
}

fn bed(hub: &Cluster, downstream: &Cluster) -> Bed {
    let script = Script::new();
    let proxies = [
        Proxy::start(hub, &script).unwrap(),
        Proxy::start(downstream, &script).unwrap(),
    ];
    let kubeconfig = Kubeconfig::new()
        .with(proxies[0].entry("hub", hub))
        .with(proxies[1].entry("d", downstream))
        .current("hub");
    let config = Config::new(&kubeconfig);
    Bed {
        hub: hub.clone(),
        downstream: downstream.clone(),
        script,
        config,
        _proxies: proxies,
    }
}

impl Bed {
    fn args<'a>(&self, namespace: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let mut args = vec![
            "distribute-token",
            "--contexts",
            "d",
            "--with-store",
            "--allow-local-url",
            "-n",
            namespace,
            "--create-namespace",
            "--overlap",
            "0s",
            "--lease-wait",
            "40s",
        ];
        args.extend(more);
        args
    }

    /// Runs it and kills it around its n-th request; true where it was still running then.
    fn killed_at(&self, n: usize, namespace: &str, more: &[&str]) -> bool {
        let action = if n.is_multiple_of(2) {
            Action::KillBefore
        } else {
            Action::KillAfter
        };
        self.script.clear_rules();
        self.script.push(Rule::new(action).nth(n));
        let running = self.config.eso(&self.args(namespace, more)).start();
        self.script.set_victim(running.pid());
        let finished = running.wait(std::time::Duration::from_secs(90));
        self.script.clear_rules();
        if finished.signal() == Some(9) {
            return true;
        }
        finished.success();
        false
    }

    async fn check_converged(&self, namespace: &str, n: usize) {
        let token = stored_token(&self.downstream, namespace).await.unwrap();
        assert!(
            whoami(&self.hub, &token).await.is_some(),
            "after request {n}: the stored token is refused"
        );
        let generation = stored_generation(&self.downstream, namespace).await.unwrap();
        assert_eq!(
            anchors(&self.hub, namespace).await,
            [generation],
            "after request {n}: anchors left over"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_request_it_converges_and_a_working_token_stays_one() {
    let planes = own_clusters(Options::count(2));
    let bed = bed(planes.cluster(0), planes.cluster(1));
    with_crds(&bed.downstream).await;
    bed.config.eso(&["bootstrap", "--allow-local-url"]).run().success();
    let first = first_time(&bed).await;
    let renewals = renewal(&bed).await;
    println!("killed at {first} requests of a first run and at {renewals} of a renewal");
    assert!(
        first >= AT_LEAST && renewals >= AT_LEAST,
        "{first} and {renewals} points"
    );
}

/// A namespace without a credential each time.
async fn first_time(bed: &Bed) -> usize {
    for n in 1..=AT_MOST {
        let namespace = format!("first-{n}");
        if !bed.killed_at(n, &namespace, &[]) {
            return n - 1;
        }
        bed.config.eso(&bed.args(&namespace, &[])).run().success();
        bed.check_converged(&namespace, n).await;
    }
    AT_MOST
}

/// A namespace whose token works: it must work right after the kill as well.
async fn renewal(bed: &Bed) -> usize {
    bed.config.eso(&bed.args("renew", &[])).run().success();
    for n in 1..=AT_MOST {
        let ended = !bed.killed_at(n, "renew", &["--force"]);
        let token = stored_token(&bed.downstream, "renew").await.unwrap();
        assert!(
            whoami(&bed.hub, &token).await.is_some(),
            "killed at request {n}: the stored token is refused"
        );
        bed.config.eso(&bed.args("renew", &[])).run().success();
        bed.check_converged("renew", n).await;
        if ended {
            return n - 1;
        }
    }
    AT_MOST
}
