//! The support's own tests: a guard that cannot fail guards nothing.

use std::panic::catch_unwind;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use k8s_openapi::api::core::v1::{Event, Namespace, Secret};
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use xtask::controlplane::{Kubeconfig, Signal};

use super::wait::block_until;
use super::{Eso, TempNamespace, canary, shared, wait_until, within};

fn sh(script: &str) -> Eso {
    Eso::program(Path::new("/bin/sh"), &shared().kubeconfig_path()).args(["-c", script])
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// Asserts that `work` fails because a canary was seen, and that the failure does not show it again.
fn leaks(value: &str, work: impl FnOnce() + std::panic::UnwindSafe) {
    let panic = catch_unwind(work).expect_err("the canary was not noticed");
    let message = message(&*panic);
    assert!(
        message.contains("is visible in") && !message.contains(value),
        "{message}"
    );
}

#[test]
fn a_canary_is_found_in_every_form() {
    let value = canary::fresh("form/+?");
    let percent = value.replace('/', "%2F").replace('+', "%2B").replace('?', "%3F");
    let mut texts = vec![value.clone(), format!("\"{value}\""), percent];
    for before in ["", "x", "xy"] {
        texts.push(STANDARD.encode(format!("{before}{value}after")));
        texts.push(URL_SAFE.encode(format!("{before}{value}")));
    }
    let encoded = STANDARD.encode(format!("user:{value}"));
    let wrapped = encoded
        .as_bytes()
        .chunks(10)
        .map(String::from_utf8_lossy)
        .collect::<Vec<_>>();
    texts.push(wrapped.join("\n    "));
    for text in texts {
        // The text goes through a file so that it is in no command line.
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &text).unwrap();
        let path = file.path().display().to_string();
        leaks(&value, || drop(sh(&format!("cat {path}")).run()));
        leaks(&value, || drop(sh(&format!("cat {path} >&2")).run()));
    }
    sh("echo nothing of interest").run().success();
}

#[test]
fn a_canary_in_a_command_line_is_found_even_of_a_grandchild() {
    let value = canary::fresh("argv");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &value).unwrap();
    let path = file.path().display().to_string();
    leaks(&value, || {
        drop(sh(&format!("sh -c 'sleep 0.3; true' $(cat {path}); true")).run());
    });
}

#[test]
fn a_value_registered_late_is_found_in_what_was_printed_before() {
    let value = format!("late-{}", fastrand::u128(..));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &value).unwrap();
    sh(&format!("cat {}", file.path().display())).run().success();
    let registered = value.clone();
    leaks(&value, move || canary::register(&registered));
    sh("true").run().success();
}

#[test]
fn values_shown_by_design_are_allowed_on_standard_output_alone() {
    let value = canary::fresh("shown");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &value).unwrap();
    let path = file.path().display().to_string();
    assert_eq!(sh(&format!("cat {path}")).shows_values().run().success().stdout, value);
    leaks(&value, || drop(sh(&format!("cat {path} >&2")).shows_values().run()));
}

#[test]
fn nothing_of_this_machine_reaches_the_command() {
    let finished = sh("env; pwd; cat").stdin("input").run().success();
    let names: Vec<_> = finished
        .stdout
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    assert!(
        names
            .iter()
            .all(|name| ["PATH", "HOME", "KUBECONFIG", "PWD", "SHLVL", "_", "OLDPWD"].contains(name)),
        "{names:?}"
    );
    assert!(finished.stdout.ends_with("input"));
}

#[test]
fn a_kubeconfig_of_a_real_cluster_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let entry = xtask::controlplane::Entry::admin("prod", shared().cluster(0));
    Kubeconfig::new()
        .with(entry.server("https://10.0.0.1:6443"))
        .write(&path)
        .unwrap();
    let panic = catch_unwind(|| drop(Eso::new(&path))).expect_err("it was accepted");
    assert!(message(&*panic).contains("no cluster of the harness"));
}

#[test]
fn a_running_command_can_be_watched_signalled_and_timed_out() {
    let mut running = sh("trap 'echo caught; exit 7' TERM; echo ready >&2; while :; do sleep 0.05; done").start();
    running.wait_for_stderr("ready", within(20));
    running.signal(Signal::TERM);
    let finished = running.wait(Duration::from_secs(20)).expect(7);
    assert_eq!(finished.stdout, "caught\n");
    let killed = sh("exec sleep 100").start().kill();
    assert_eq!((killed.code(), killed.signal()), (None, Some(9)));
    let panic = catch_unwind(|| drop(sh("echo begun >&2; exec sleep 100").timeout(1).run())).expect_err("no timeout");
    assert!(message(&*panic).contains("still ran after 1s") && message(&*panic).contains("begun"));
}

#[tokio::test]
async fn a_namespace_goes_with_its_guard() {
    let cluster = shared().cluster(0);
    let namespaces = TempNamespace::on_each(&[cluster, shared().cluster(1)], "temp").await;
    let name = namespaces[0].name().to_owned();
    assert_eq!(name, namespaces[1].name());
    let api: Api<Namespace> = Api::all(cluster.client().await.unwrap());
    assert!(api.get_opt(&name).await.unwrap().is_some());
    drop(namespaces);
    wait_until("the namespace is gone", within(30), async || {
        api.get_opt(&name).await.unwrap().is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_sweep_finds_tokens_in_secrets_and_canaries_in_events() {
    let planes = super::own_clusters(xtask::controlplane::Options::count(1));
    let cluster = planes.cluster(0);
    let namespace = TempNamespace::new(cluster, "sweep").await;
    let token = format!("eyJhbGciOiJFUzI1NiJ9.{}.{}", fastrand::u128(..), fastrand::u128(..));
    let secret = json!({ "metadata": { "name": "t" }, "stringData": { "token": token } });
    let secrets = namespace.api::<Secret>().await;
    secrets
        .create(&PostParams::default(), &serde_json::from_value(secret).unwrap())
        .await
        .unwrap();
    canary::sweep(cluster).await;
    let event = json!({
        "metadata": { "name": "e" }, "reason": "Leak", "message": format!("login with {token} failed"),
        "involvedObject": { "kind": "Secret", "name": "t", "namespace": namespace.name() },
    });
    let events = namespace.api::<Event>().await;
    events
        .create(&PostParams::default(), &serde_json::from_value(event).unwrap())
        .await
        .unwrap();
    let cluster = cluster.clone();
    let mut sweeps = tokio::task::JoinSet::new();
    sweeps.spawn(async move { canary::sweep(&cluster).await });
    let swept = sweeps.join_next().await.unwrap();
    let panic = swept.expect_err("the token in the event was not noticed").into_panic();
    assert!(message(&*panic).contains("Event"), "{}", message(&*panic));
}

#[test]
fn waiting_ends_with_the_condition_or_the_deadline() {
    let mut rounds = 0;
    let value = block_until("three rounds", within(10), || {
        rounds += 1;
        (rounds == 3).then_some(rounds)
    });
    assert_eq!(value, 3);
    let late = catch_unwind(|| block_until::<()>("never", std::time::Instant::now(), || None));
    assert!(message(&*late.expect_err("no deadline")).contains("not in time: never"));
}
