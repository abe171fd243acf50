//! Ten contexts, one of them a refused port.

use std::time::Duration;

use xtask::controlplane::{Cluster, Entry, Kubeconfig, Options, free_port};
use xtask::metrics::AuditMark;

use super::{Config, stored_token, whoami};
use crate::support::{own_clusters, with_crds};

#[tokio::test(flavor = "multi_thread")]
async fn nine_of_ten_are_done_in_parallel_and_a_second_run_changes_nothing() {
    let planes = own_clusters(Options::count(10));
    let (hub, live) = (planes.cluster(0), &planes.clusters()[1..]);
    futures::future::join_all(live.iter().map(with_crds)).await;
    let config = Config::new(&kubeconfig(hub, live));
    config.eso(&["bootstrap", "--allow-local-url"]).run().success();

    let all: String = (1..=10).map(|i| format!("d{i}")).collect::<Vec<_>>().join(",");
    let wide = [
        "distribute-token",
        "--contexts",
        &all,
        "--with-store",
        "--allow-local-url",
        "--concurrency",
        "10",
    ];
    let first = config.eso(&wide).run().expect(3);
    assert_eq!(
        first
            .stdout
            .matches("secretstore.external-secrets.io/upstream-store created")
            .count(),
        9,
        "{}",
        first.stdout
    );
    assert!(first.stderr.contains("10 clusters: 9 ok, 1 failed"), "{}", first.stderr);
    assert!(
        first.stderr.contains("[d10]") && first.stderr.contains("refused"),
        "{}",
        first.stderr
    );
    for cluster in live {
        let token = stored_token(cluster, "default").await.unwrap();
        assert!(
            whoami(hub, &token)
                .await
                .unwrap()
                .starts_with("system:serviceaccount:eso-identities:upstream-store-")
        );
    }

    nothing_changes_again(&config, hub, live, &wide).await;
    faster_than_one_after_the_other(&config, &all);
}

fn kubeconfig(hub: &Cluster, live: &[Cluster]) -> Kubeconfig {
    let mut kubeconfig = Kubeconfig::new().admin("hub", hub).current("hub");
    for (i, cluster) in live.iter().enumerate() {
        kubeconfig = kubeconfig.admin(&format!("d{}", i + 1), cluster);
    }
    let dead = format!("https://127.0.0.1:{}", free_port().unwrap());
    kubeconfig.with(Entry::admin("d10", hub).server(&dead))
}

async fn nothing_changes_again(config: &Config, hub: &Cluster, live: &[Cluster], wide: &[&str]) {
    let mut marks = vec![AuditMark::set(hub).await.unwrap()];
    for cluster in live {
        marks.push(AuditMark::set(cluster).await.unwrap());
    }
    let again = config.eso(wide).run().expect(3);
    assert!(
        again.stdout.lines().all(|l| l.ends_with(" unchanged")),
        "{}",
        again.stdout
    );
    for mark in marks {
        let writes = mark.writes().await.unwrap();
        assert!(writes.is_empty(), "{writes:?}");
    }
}

/// New tokens for all, once in parallel and once one context after the other.
fn faster_than_one_after_the_other(config: &Config, all: &str) {
    let forced = |contexts: &str, code: i32| -> Duration {
        let args = [
            "distribute-token",
            "--contexts",
            contexts,
            "--with-store",
            "--allow-local-url",
            "--force",
            "--concurrency",
            "10",
        ];
        config.eso(&args).run().expect(code).elapsed
    };
    let parallel = forced(all, 3);
    let serial: Duration = (1..=10).map(|i| forced(&format!("d{i}"), i32::from(i == 10))).sum();
    println!("ten contexts: {parallel:?} in parallel, {serial:?} one after the other");
    assert!(parallel < serial, "{parallel:?} is not faster than {serial:?}");
}
