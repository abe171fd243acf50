//! Bad input and trouble: three lines, the right exit code, nothing sent that should not be.

use xtask::controlplane::{Authority, Cluster, Entry, Kubeconfig, TokenClaims, User, free_port};
use xtask::proxy::{Front, Proxy, Script};

use super::Config;
use crate::support::{Finished, TempNamespace, shared};

fn three_lines(finished: &Finished, what: &str, cause: &str) {
    let text = &finished.stderr;
    let lines: Vec<&str> = text.lines().skip_while(|l| !l.starts_with("error: ")).collect();
    assert!(lines.len() >= 3, "{text}");
    assert!(lines[0].contains(what), "{what:?} is not in {:?}", lines[0]);
    assert!(
        lines[1].starts_with("  cause: ") && lines[1].contains(cause),
        "{cause:?} is not in {:?}",
        lines[1]
    );
    assert!(lines[2].starts_with("  hint:  "), "{text}");
}

fn hub_and(entries: impl IntoIterator<Item = Entry>) -> Config {
    let mut kubeconfig = Kubeconfig::new().admin("hub", shared().cluster(0)).current("hub");
    for entry in entries {
        kubeconfig = kubeconfig.with(entry);
    }
    Config::new(&kubeconfig)
}

fn downstream() -> &'static Cluster {
    shared().cluster(1)
}

#[test]
fn an_unknown_context_names_the_nearest() {
    let config = hub_and([Entry::admin("prod-eu", downstream())]);
    let finished = config.eso(&["status", "--contexts", "prod-ue"]).run().expect(2);
    three_lines(&finished, "context \"prod-ue\" does not exist", "prod-eu");
    let finished = config.eso(&["bootstrap", "--context", "hubb"]).run().expect(2);
    three_lines(&finished, "context \"hubb\" does not exist", "hub");
}

#[test]
fn a_refused_port_and_an_unknown_host_say_so() {
    let dead = format!("https://127.0.0.1:{}", free_port().unwrap());
    let config = hub_and([
        Entry::admin("dead", downstream()).server(&dead),
        Entry::admin("lost", downstream()).server("https://nowhere.invalid:6443"),
    ]);
    three_lines(
        &config.eso(&["status", "--contexts", "dead"]).run().expect(1),
        "[dead]",
        "refused",
    );
    three_lines(
        &config.eso(&["status", "--contexts", "lost"]).run().expect(1),
        "[lost]",
        "does not resolve",
    );
}

#[test]
fn three_tls_faults_have_three_messages() {
    let other = Authority::new("other").unwrap();
    let pem = other.ca_pem();
    let script = Script::new();
    let wrong_name = Proxy::start_as(
        downstream(),
        &script,
        &Front {
            names: vec!["elsewhere.example".to_owned()],
            ..Front::default()
        },
    )
    .unwrap();
    let config = hub_and([
        Entry::admin("wrong-ca", downstream()).ca(Some(&pem)),
        wrong_name.entry("wrong-name", downstream()),
    ]);
    three_lines(
        &config.eso(&["status", "--contexts", "wrong-ca"]).run().expect(1),
        "[wrong-ca]",
        "unknown authority",
    );
    three_lines(
        &config.eso(&["status", "--contexts", "wrong-name"]).run().expect(1),
        "[wrong-name]",
        "not valid for the host",
    );
}

#[test]
fn an_expired_token_is_unauthorized() {
    let claims = TokenClaims {
        namespace: "default".to_owned(),
        name: "default".to_owned(),
        issued: -7200,
        expires: -3600,
        uid: String::new(),
        audience: None,
    };
    let token = downstream().sign_token(&claims).unwrap();
    crate::support::canary::register_token(&token);
    let config = hub_and([Entry::admin("old", downstream()).user(User::Token(token))]);
    three_lines(
        &config.eso(&["status", "--contexts", "old", "-v", "10"]).run().expect(1),
        "[old]",
        "Unauthorized",
    );
}

#[test]
fn a_forbidden_verb_names_object_and_context() {
    let config = hub_and([]);
    let finished = config
        .eso(&["put", "x", "--from-file", "k=-", "--as", "nobody"])
        .stdin("value")
        .run()
        .expect(1);
    three_lines(&finished, "[hub]", "Forbidden");
}

#[test]
fn missing_definitions_are_named_with_the_command_that_installs_them() {
    let config = Config::new(&Kubeconfig::new().admin("bare", shared().cluster(2)).current("bare"));
    let finished = config.eso(&["status"]).run().expect(1);
    three_lines(
        &finished,
        "External Secrets is not installed [bare]",
        "external-secrets.io",
    );
    assert!(
        finished.stderr.contains("kubectl eso crds --apply --contexts bare"),
        "{}",
        finished.stderr
    );
}

#[test]
fn broken_yaml_is_named_by_file_and_document() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("es.yaml");
    std::fs::write(
        &file,
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\na: [\n",
    )
    .unwrap();
    let path = file.to_str().unwrap();
    let finished = hub_and([]).eso(&["apply", "-f", path]).run().expect(2);
    three_lines(&finished, "document 2 is not valid YAML", "line");
    let finished = hub_and([]).eso(&["apply", "-f", "no-such-file.yaml"]).run().expect(2);
    three_lines(&finished, "no-such-file.yaml", "No such file");
}

#[test]
fn two_contexts_of_one_cluster_and_the_upstream_are_refused() {
    let config = hub_and([
        Entry::admin("a", downstream()),
        Entry::admin("b", downstream()),
        Entry::admin("mirror", shared().cluster(0)),
    ]);
    let args = ["distribute-token", "--allow-local-url", "--contexts"];
    let run = |contexts: &str| config.eso(&[&args[..], &[contexts]].concat()).run().expect(2);
    three_lines(&run("a,b"), "reach the same cluster", "UID");
    three_lines(&run("mirror"), "the upstream is among the targets", "upstream");
    three_lines(&run("hub"), "the upstream is among the targets", "upstream");
}

#[test]
fn overrides_of_one_connection_are_refused_with_contexts() {
    let config = hub_and([Entry::admin("a", downstream())]);
    let finished = config
        .eso(&["status", "--contexts", "a", "--server", "https://127.0.0.1:1"])
        .run()
        .expect(2);
    three_lines(
        &finished,
        "--server cannot be used with --contexts",
        "each context has its own",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_namespace_is_refused_before_any_write() {
    let space = TempNamespace::new(downstream(), "missing").await;
    let config = hub_and([Entry::admin("a", downstream())]);
    config.eso(&["bootstrap", "--allow-local-url"]).run().success();
    let args = [
        "distribute-token",
        "--contexts",
        "a",
        "--allow-local-url",
        "-n",
        "not-there-at-all",
    ];
    let finished = config.eso(&args).run().expect(1);
    three_lines(
        &finished,
        "namespace \"not-there-at-all\" does not exist [a]",
        "namespace",
    );
    drop(space);
}

#[test]
fn a_short_token_life_is_refused_before_anything_is_sent() {
    let config = hub_and([Entry::admin("a", downstream())]);
    let finished = config
        .eso(&["distribute-token", "--contexts", "a", "--token-ttl", "5m"])
        .run()
        .expect(2);
    three_lines(&finished, "--token-ttl", "10 minutes");
}

#[test]
fn local_addresses_are_not_told_to_others() {
    let finished = hub_and([]).eso(&["bootstrap"]).run().expect(1);
    three_lines(&finished, "no address of the upstream is usable", "local address");
    assert!(finished.stderr.contains("--allow-local-url"), "{}", finished.stderr);
}

#[test]
fn usage_errors_point_to_the_help_and_send_nothing() {
    let finished = hub_and([]).eso(&["bootstrap", "--no-such-flag"]).run().expect(2);
    assert!(
        finished
            .stderr
            .contains("See 'kubectl eso bootstrap --help' for usage."),
        "{}",
        finished.stderr
    );
    let finished = hub_and([]).eso(&["bootstrapp"]).run().expect(2);
    assert!(finished.stderr.contains("bootstrap"), "{}", finished.stderr);
}
