//! The pure parts on values: trees, flags, status, access, values documents.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::build::build;
use super::clusters::{FleetCluster, Reach, selects};
use super::discover::Dir;
use super::effect::{Decision, decide};
use super::error::{FleetError, Notice};
use super::install::InstallOptions;
use super::options::{NamedFile, Options, Source, ValuesFrom};
use super::prepare::prepare;
use super::status::{Reason, State, bundle_status};
use super::tree::{Entry, LinkTarget, Tree};
use super::values_doc::{Shape, as_values, template};
use super::wait::{Verdict, Wait, WaitRules};
use super::{argocd, collect, emit, encode, manifests, names, object, pattern, size, version, yaml11};

fn tree(files: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::new();
    for (path, text) in files {
        tree.insert(path, Entry::File(text.as_bytes().to_vec()));
    }
    tree.mark_complete("a");
    tree
}

fn options() -> Options {
    let source = Source {
        dir: Dir::new("a"),
        file: String::new(),
        scan: true,
    };
    Options {
        name: "n".to_owned(),
        namespace: "fleet-default".to_owned(),
        sources: vec![source],
        ..Options::default()
    }
}

fn make(files: &[(&str, &str)], options: &Options) -> Result<super::build::Built, FleetError> {
    let tree = tree(files);
    let prepared = prepare(&tree, options)?;
    assert!(prepared.missing.is_empty() && prepared.charts.is_empty());
    build(prepared, &tree, &BTreeMap::new(), options)
}

#[test]
fn unknown_keys_stop_with_line_and_suggestion() {
    let files = [
        ("a/fleet.yaml", "paused: true\ndefaultNamspace: x\n"),
        ("a/x.yaml", "x: 1\n"),
    ];
    let error = make(&files, &options()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a/fleet.yaml:2: unknown key `defaultNamspace` in the file (did you mean `defaultNamespace`?)"
    );
    let built = make(
        &files,
        &Options {
            lenient: true,
            ..options()
        },
    )
    .unwrap();
    assert!(built.notices.contains(&Notice::IgnoredKey {
        file: "a/fleet.yaml".to_owned(),
        line: 2,
        key: "defaultNamspace".to_owned()
    }));
}

#[test]
fn yaml_1_1_scalars_are_read_as_the_original_does_and_remarked() {
    let files = [
        ("a/fleet.yaml", "helm:\n  chart: .\n  valuesFiles: [v.yaml]\n"),
        ("a/v.yaml", "mode: 0644\non: yes\n"),
        ("a/x.yaml", ""),
    ];
    let built = make(&files, &options()).unwrap();
    assert_eq!(
        built.bundles[0]["spec"]["helm"]["values"],
        json!({"mode": 420, "true": true})
    );
    let lines: Vec<String> = built
        .notices
        .iter()
        .filter(|notice| matches!(notice, Notice::Yaml11 { .. }))
        .map(ToString::to_string)
        .collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("W_YAML11 a/v.yaml:1: `0644`"), "{}", lines[0]);
}

#[test]
fn extra_flags_add_to_the_spec() {
    let values = ValuesFrom::parse("relay-values/values.yaml").unwrap();
    let options = Options {
        default_namespace: "external-secrets".to_owned(),
        depends_on: vec!["external-secrets".to_owned()],
        values_from: vec![values],
        bundle_name: "pinned".to_owned(),
        ..options()
    };
    let built = make(&[("a/x.yaml", "x: 1\n")], &options).unwrap();
    let bundle = &built.bundles[0];
    assert_eq!(bundle["metadata"]["name"], "pinned");
    assert_eq!(bundle["spec"]["defaultNamespace"], "external-secrets");
    assert_eq!(bundle["spec"]["dependsOn"], json!([{"name": "external-secrets"}]));
    assert_eq!(
        bundle["spec"]["helm"],
        json!({"valuesFrom": [{"secretKeyRef": {"name": "relay-values", "key": "values.yaml"}}]})
    );
    assert!(
        built
            .notices
            .iter()
            .any(|notice| matches!(notice, Notice::DefaultTarget { .. }))
    );
    assert!(ValuesFrom::parse("a/b/c/d").is_err() && ValuesFrom::parse("/x").is_err());
}

#[test]
fn colliding_names_are_refused() {
    let mut tree = tree(&[("a/x.yaml", "x: 1\n")]);
    tree.insert("b/x.yaml", Entry::File(b"x: 1\n".to_vec()));
    tree.insert("b/fleet.yaml", Entry::File(b"name: n-a\n".to_vec()));
    tree.mark_complete("b");
    let mut options = options();
    options.sources.push(Source {
        dir: Dir::new("b"),
        file: String::new(),
        scan: true,
    });
    let error = build(prepare(&tree, &options).unwrap(), &tree, &BTreeMap::new(), &options).unwrap_err();
    assert_eq!(
        error,
        FleetError::NameCollision {
            name: "n-a".to_owned(),
            first: "a".to_owned(),
            second: "b".to_owned()
        }
    );
}

#[test]
fn secret_material_is_refused_without_its_value() {
    let token = format!("eyJ{}.eyJ{}.{}", "a".repeat(20), "b".repeat(20), "c".repeat(40));
    let config = "apiVersion: v1\nkind: Config\nclusters: [{name: a}]\nusers: [{name: a}]\n";
    let pem = "a: |\n  -----BEGIN RSA PRIVATE KEY-----\n";
    for (text, line, kind) in [
        ("kind: Secret\ndata: {a: Yg==}\n", 1, "Secret with data"),
        (
            "a: 1\n---\nkind: List\nitems: [{kind: Secret, stringData: {a: b}}]\n",
            3,
            "Secret with data",
        ),
        (config, 2, "kubeconfig"),
        (pem, 2, "private key"),
        (&format!("a: 1\nb: {token}\n"), 2, "token"),
    ] {
        let error = make(&[("a/x.yaml", text)], &options()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("a/x.yaml:{line} ({kind})")), "{error}");
        assert!(!error.contains(&token));
        assert!(
            make(
                &[("a/x.yaml", text)],
                &Options {
                    allow_secret_content: true,
                    ..options()
                }
            )
            .is_ok()
        );
    }
    // A Secret without data, a certificate and a chart's template are no secret material.
    for (path, text) in [
        ("a/x.yaml", "kind: Secret\ndata: {}\n"),
        ("a/x.yaml", "ca: -----BEGIN CERTIFICATE-----\n"),
        ("a/templates/x.yaml", "kind: Secret\ndata: {a: b}\n"),
    ] {
        assert!(make(&[(path, text)], &options()).is_ok(), "{text}");
    }
    let inline = make(
        &[
            ("a/fleet.yaml", &format!("helm: {{values: {{t: {token}}}}}\n")),
            ("a/x.yaml", ""),
        ],
        &options(),
    )
    .unwrap_err();
    assert!(!inline.to_string().contains(&token) && matches!(inline, FleetError::SecretContent { .. }));
}

#[test]
fn old_api_versions_and_leaking_labels_are_remarked() {
    let text = "apiVersion: external-secrets.io/v1beta1\nkind: ExternalSecret\nspec: {target: {name: x}}\n";
    let built = make(&[("a/x.yaml", text)], &options()).unwrap();
    assert!(
        built
            .notices
            .iter()
            .any(|notice| matches!(notice, Notice::OldApi { .. }))
    );
    assert!(
        built
            .notices
            .iter()
            .any(|notice| matches!(notice, Notice::LabelLeak { .. }))
    );
}

#[test]
fn large_bundles_are_compressed_and_limits_named() {
    let mut state = 7_u32;
    let noise: String = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'a' + u8::try_from((state >> 24) % 26).unwrap())
    })
    .take(1_100_000)
    .collect();
    let built = make(&[("a/x.yaml", &noise)], &options()).unwrap();
    assert_eq!(built.bundles[0]["spec"]["resources"][0]["encoding"], encode::GZIP);
    assert_eq!(
        encode::decode(&built.bundles[0]["spec"]["resources"][0], 2_000_000).unwrap(),
        noise.as_bytes()
    );
    assert!(encode::decode(&built.bundles[0]["spec"]["resources"][0], 1_000).is_err());
    let text: String = built.notices.iter().map(ToString::to_string).collect();
    assert!(
        text.contains("was compressed") && text.contains("kubectl apply --server-side") && text.contains("HelmOp"),
        "{text}"
    );
    assert!(size::check(&make(&[("a/x.yaml", "x: 1\n")], &options()).unwrap().bundles[0]).is_empty());
}

#[test]
fn links_out_of_the_bundle_are_refused() {
    let mut tree = tree(&[("a/x.yaml", "x: 1\n"), ("a/sub/y.yaml", "y: 1\n")]);
    tree.insert("a/sub/up", Entry::Link(LinkTarget::Inside("a/x.yaml".to_owned())));
    assert_eq!(collect::collect(&tree, "a", &[]).unwrap().len(), 3);
    assert!(matches!(
        collect::collect(&tree, "a/sub", &[]),
        Err(FleetError::LinkEscapes { .. })
    ));
    tree.insert("a/sub/up", Entry::Link(LinkTarget::Outside));
    assert!(matches!(
        collect::collect(&tree, "a", &[]),
        Err(FleetError::LinkEscapes { .. })
    ));
    tree.insert("a/sub/up", Entry::Link(LinkTarget::Broken));
    assert!(matches!(
        collect::collect(&tree, "a", &[]),
        Err(FleetError::LinkBroken { .. })
    ));
}

#[test]
fn what_is_printed_reads_back_by_both_yaml_versions() {
    let value = json!({"a": ["yes", "0644", "1_000", "2026-01-02", "", " x", "x ", "-", "# c", "a: b", "line\nmore\n", "line\nmore", "\n\nx\n\n", "tab\there", "\u{1}", "é", "null", "~", "y", ".5", "0x_1", "1e400", "=", "<<", "%", "@x", "a #b"],
        "on": {"1": {}, "~": [], "x y": null}, "n": [[1, 2], {"b": 1.5e300, "a": -0.25}], "big": 18_446_744_073_709_551_615_u64});
    let text = emit::document(&value);
    assert_eq!(serde_yaml::from_str::<Value>(&text).unwrap(), value, "{text}");
    assert_eq!(yaml11::value(text.as_bytes()).unwrap(), value, "{text}");
    let stream = emit::stream(&[json!({"a": 1}), json!({"b": 2})]);
    assert_eq!(stream, "a: 1\n---\nb: 2\n");
}

#[test]
fn manifests_from_a_pipe_become_one_bundle() {
    let file = |path: &str, text: &str| NamedFile {
        path: path.to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let store = "apiVersion: external-secrets.io/v1\nkind: SecretStore\n---\napiVersion: v1\nkind: ConfigMap\n";
    let (tree, source) =
        manifests::source(&[file("-", store), file("dir/x", "a: 1\n"), file("x.yaml", "b: 1\n")]).unwrap();
    let options = Options {
        name: "eso-cfg".to_owned(),
        sources: vec![source],
        ..options()
    };
    let built = build(prepare(&tree, &options).unwrap(), &tree, &BTreeMap::new(), &options).unwrap();
    let names: Vec<&str> = built.bundles[0]["spec"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        (built.bundles[0]["metadata"]["name"].as_str(), names),
        (Some("eso-cfg"), vec!["2-x.yaml", "manifests.yaml", "x.yaml"])
    );
    assert!(manifests::source(&[file("-", "# nothing\n")]).is_err());
    assert!(
        manifests::source(&[file("b", "apiVersion: fleet.cattle.io/v1alpha1\nkind: Bundle\n")])
            .unwrap_err()
            .to_string()
            .contains("already holds a Bundle")
    );
}

#[test]
fn the_operator_is_a_helm_op_or_a_bundle() {
    let values = NamedFile {
        path: "v.yaml".to_owned(),
        bytes: b"replicaCount: 2\n".to_vec(),
    };
    let mut install = InstallOptions {
        values: vec![values],
        ..InstallOptions::new("fleet-default")
    };
    let (object, notices) = install.helm_op().unwrap();
    assert!(notices.is_empty());
    assert_eq!(
        object,
        json!({"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "HelmOp", "metadata": {"name": "external-secrets", "namespace": "fleet-default"}, "spec": {
            "labels": {"role": "eso-operator"}, "defaultNamespace": "external-secrets",
            "helm": {"releaseName": "external-secrets", "repo": "https://charts.external-secrets.io", "chart": "external-secrets", "version": "2.9.0",
                "values": {"installCRDs": true, "replicaCount": 2}},
            "targets": [{"clusterSelector": {}}]}})
    );
    let (tree, options, _) = install.bundle_source().unwrap();
    let prepared = prepare(&tree, &options).unwrap();
    let (prefix, request) = prepared.charts.iter().next().unwrap();
    assert_eq!(
        (request.chart.as_str(), request.version.as_str()),
        ("external-secrets", "2.9.0")
    );
    let mut chart = Tree::new();
    chart.insert(
        "external-secrets/Chart.yaml",
        Entry::File(b"apiVersion: v2\nname: external-secrets\nversion: 2.9.0\n".to_vec()),
    );
    chart.mark_complete(".");
    let charts = BTreeMap::from([(prefix.clone(), chart)]);
    let bundle = build(prepared, &tree, &charts, &options).unwrap().bundles.remove(0);
    assert_eq!(bundle["spec"]["helm"], object["spec"]["helm"]);
    assert_eq!(bundle["spec"]["targets"], object["spec"]["targets"]);
    assert_eq!(bundle["metadata"]["labels"], json!({"role": "eso-operator"}));
    install.polling_interval = "1h".to_owned();
    assert!(install.helm_op().is_err() && install.bundle_source().is_err());
    install.version = "~2.9".to_owned();
    assert_eq!(install.helm_op().unwrap().0["spec"]["pollingInterval"], "1h");
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn kubeconfig(user: &str, cluster: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u, namespace: apps}}}}]\nclusters: [{{name: k, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    )
}

#[test]
fn fleet_clusters_lead_to_kubeconfigs() {
    let cluster = |spec: Value, labels: Value| {
        FleetCluster::parse(
            &json!({"metadata": {"name": "c-1", "namespace": "fleet-default", "labels": labels}, "spec": spec,
            "status": {"namespace": "cluster-fleet-default-c-1-abc", "agent": {"lastSeen": "2026-11-30T22:00:00Z"}}}),
        )
        .unwrap()
    };
    let shown = cluster(
        json!({"kubeConfigSecret": "k"}),
        json!({"management.cattle.io/cluster-display-name": "prod"}),
    );
    assert_eq!(
        (shown.display_name.as_str(), shown.last_seen),
        ("prod", Some(1_796_076_000))
    );
    assert_eq!(
        shown.reach,
        Reach::Secret {
            namespace: "fleet-default".to_owned(),
            name: "k".to_owned()
        }
    );
    assert_eq!(cluster(json!({}), json!({})).reach, Reach::AgentOnly);
    assert_eq!(
        cluster(
            json!({"kubeConfigSecret": "k", "kubeConfigSecretNamespace": "cluster-x"}),
            json!({})
        )
        .reach,
        Reach::Secret {
            namespace: "cluster-x".to_owned(),
            name: "k".to_owned()
        }
    );
    assert_eq!(
        cluster(
            json!({"kubeConfigSecret": "k", "kubeConfigSecretNamespace": "kube-system"}),
            json!({})
        )
        .reach,
        Reach::Refused {
            namespace: "kube-system".to_owned()
        }
    );
    assert_eq!(
        cluster(
            json!({"kubeConfigSecret": "k"}),
            json!({"fleet.cattle.io/cluster-management": "x"})
        )
        .reach,
        Reach::ManagedElsewhere
    );
}

#[test]
fn kubeconfigs_that_point_outside_are_refused() {
    let shown = online();
    let secret = |text: &str| json!({"kind": "Secret", "metadata": {"name": "k", "namespace": "fleet-default"}, "data": {"value": base64(text)}});
    let good = kubeconfig("token: hush", "server: 'https://k:6443'");
    let access = shown.access(&secret(&good), false).unwrap();
    assert_eq!(
        (
            access.server.as_str(),
            access.namespace.as_str(),
            access.kubeconfig.expose()
        ),
        ("https://k:6443", "apps", good.as_bytes())
    );
    assert!(!format!("{access:?}").contains("hush"));
    for (user, server) in [
        ("exec: {command: rm}", "server: 'https://k'"),
        ("auth-provider: {name: x}", "server: 'https://k'"),
        ("tokenFile: /t", "server: 'https://k'"),
        ("client-key: /t", "server: 'https://k'"),
        ("token: hush", "server: 'https://k', certificate-authority: /ca"),
        ("token: hush", "server: 'https://k', insecure-skip-tls-verify: true"),
        ("token: hush", "server: 'http://k'"),
        ("token: hush", ""),
    ] {
        let error = shown.access(&secret(&kubeconfig(user, server)), false).unwrap_err();
        assert!(
            matches!(error, FleetError::Kubeconfig { .. }) && !error.to_string().contains("hush"),
            "{error}"
        );
    }
    assert!(
        shown
            .access(
                &secret(&kubeconfig(
                    "token: hush",
                    "server: 'https://k', insecure-skip-tls-verify: true"
                )),
                true
            )
            .is_ok()
    );
    assert!(shown.access(&secret("{"), false).is_err());
    assert!(shown.access(&json!({"data": {}}), false).is_err());
}

#[test]
fn selectors_keep_absent_and_empty_apart() {
    let labels = BTreeMap::from([("env".to_owned(), "prod".to_owned())]);
    assert!(!selects(None, &labels));
    assert!(selects(Some(&json!({})), &labels));
    assert!(selects(
        Some(
            &json!({"matchLabels": {"env": "prod"}, "matchExpressions": [{"key": "env", "operator": "In", "values": ["prod"]}, {"key": "x", "operator": "DoesNotExist"}]})
        ),
        &labels
    ));
    assert!(!selects(
        Some(&json!({"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]})),
        &labels
    ));
}

#[test]
fn argo_cd_secrets_lead_to_kubeconfigs() {
    let secret = |server: &str, config: Value| {
        json!({"kind": "Secret", "metadata": {"name": "s", "namespace": "argocd", "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
            "data": {"name": base64("prod"), "server": base64(server), "config": base64(&config.to_string()), "namespaces": base64("apps, other")}})
    };
    let config =
        json!({"bearerToken": "hush", "tlsClientConfig": {"insecure": false, "caData": "Q0E=", "serverName": "k"}});
    let access = argocd::access(&secret("https://k:6443", config), false).unwrap();
    let made: Value = serde_json::from_slice(access.kubeconfig.expose()).unwrap();
    assert_eq!(made["users"][0]["user"], json!({"token": "hush"}));
    assert_eq!(
        made["clusters"][0]["cluster"],
        json!({"server": "https://k:6443", "certificate-authority-data": "Q0E=", "tls-server-name": "k"})
    );
    assert_eq!((access.name.as_str(), access.namespace.as_str()), ("prod", "apps"));
    assert!(super::kubeconfig::check("prod", access.kubeconfig.expose(), false).is_ok());
    for (server, config) in [
        ("https://k", json!({"execProviderConfig": {"command": "x"}})),
        ("https://k", json!({"awsAuthConfig": {"clusterName": "x"}})),
        (
            "https://k",
            json!({"bearerToken": "hush", "tlsClientConfig": {"insecure": true}}),
        ),
        ("http://k", json!({"bearerToken": "hush"})),
        (argocd::IN_CLUSTER, json!({})),
    ] {
        let error = argocd::access(&secret(server, config), false).unwrap_err().to_string();
        assert!(!error.contains("hush"), "{error}");
    }
    assert!(argocd::access(&json!({"metadata": {"name": "x"}}), false).is_err());
}

fn deployment(applied: &str, ready: bool, staged: &str, clean: bool, more: Value) -> Value {
    let mut out = json!({"metadata": {"name": "b", "namespace": "cluster-a", "labels": {"fleet.cattle.io/bundle-name": "b", "fleet.cattle.io/bundle-namespace": "fleet-default", "fleet.cattle.io/cluster": "a"}},
        "spec": {"deploymentID": "1", "stagedDeploymentID": staged}, "status": {"appliedDeploymentID": applied, "ready": ready, "nonModified": clean}});
    if let Value::Object(more) = more {
        for (key, value) in more {
            let target = if key == "conditions" || key == "nonReadyStatus" {
                "status"
            } else {
                "spec"
            };
            out[target][key] = value;
        }
    }
    out
}

fn bundle(ready: i64, desired: i64) -> Value {
    json!({"metadata": {"name": "b", "namespace": "fleet-default", "generation": 2}, "spec": {}, "status": {"observedGeneration": 2, "summary": {"ready": ready, "desiredReady": desired}}})
}

fn online() -> FleetCluster {
    FleetCluster::parse(&json!({"metadata": {"name": "a", "namespace": "fleet-default"}, "spec": {}, "status": {"namespace": "cluster-a", "agent": {"lastSeen": "2026-11-30T22:00:00Z"}}})).unwrap()
}

const NOW: i64 = 1_796_076_000;

#[test]
fn states_are_decided_in_fleets_order() {
    let failed = json!({"conditions": [{"type": "Deployed", "status": "False", "message": "no matches for kind \"SecretStore\""}]});
    for (deployment, state) in [
        (deployment("0", true, "1", true, failed), State::ErrApplied),
        (deployment("0", true, "1", true, json!({})), State::WaitApplied),
        (deployment("1", false, "2", false, json!({})), State::NotReady),
        (deployment("1", true, "2", false, json!({})), State::OutOfSync),
        (deployment("1", true, "1", false, json!({})), State::Modified),
        (deployment("1", true, "1", true, json!({})), State::Ready),
    ] {
        assert_eq!(State::of(&deployment), state);
    }
}

#[test]
fn waiting_names_reasons_and_fails_after_its_grace() {
    let rules = WaitRules {
        generation: 2,
        allow_empty: false,
        ignore_offline: false,
        error_grace: 60,
    };
    let failed = deployment(
        "0",
        false,
        "1",
        true,
        json!({"conditions": [{"type": "Deployed", "status": "False", "message": "no matches for kind \"SecretStore\""}]}),
    );
    let status = bundle_status(&bundle(0, 1), &[failed], &[online()], NOW);
    assert_eq!(status.deployments[0].reasons, [Reason::MissingKind]);
    assert_eq!(status.worst(), Some(State::ErrApplied));
    let mut wait = Wait::default();
    assert!(
        matches!(wait.look(&status, rules, NOW), Verdict::Waiting(lines) if lines[0].starts_with("a: ErrApplied: no matches"))
    );
    assert!(matches!(wait.look(&status, rules, NOW + 60), Verdict::Waiting(_)));
    assert!(matches!(wait.look(&status, rules, NOW + 61), Verdict::Failed(_)));
    // Healed in between: the grace starts anew.
    let good = bundle_status(
        &bundle(1, 1),
        &[deployment("1", true, "1", true, json!({}))],
        &[online()],
        NOW,
    );
    assert_eq!(wait.look(&good, rules, NOW + 62), Verdict::Done);
    assert!(matches!(wait.look(&status, rules, NOW + 63), Verdict::Waiting(_)));
}

#[test]
fn waiting_knows_false_successes_and_stuck_clusters() {
    let rules = WaitRules {
        generation: 3,
        allow_empty: false,
        ignore_offline: false,
        error_grace: 60,
    };
    let good = deployment("1", true, "1", true, json!({}));
    let old = bundle_status(&bundle(1, 1), &[good], &[online()], NOW);
    assert!(
        matches!(Wait::default().look(&old, rules, NOW), Verdict::Waiting(lines) if lines[0].contains("generation 2 of 3"))
    );
    let rules = WaitRules { generation: 0, ..rules };
    let none = bundle_status(&bundle(0, 0), &[], &[online()], NOW);
    assert!(matches!(Wait::default().look(&none, rules, NOW), Verdict::Failed(_)));
    assert_eq!(
        Wait::default().look(
            &none,
            WaitRules {
                allow_empty: true,
                ..rules
            },
            NOW
        ),
        Verdict::Done
    );
    let waiting = deployment(
        "0",
        false,
        "1",
        true,
        json!({"offSchedule": true, "waitingForValues": true}),
    );
    let late = bundle_status(&bundle(0, 1), std::slice::from_ref(&waiting), &[online()], NOW + 3_000);
    assert_eq!(
        late.deployments[0].reasons,
        [
            Reason::OffSchedule,
            Reason::WaitingForValues,
            Reason::Offline(Some(3_000))
        ]
    );
    assert!(matches!(Wait::default().look(&late, rules, NOW), Verdict::Waiting(_)));
    assert_eq!(
        Wait::default().look(
            &late,
            WaitRules {
                ignore_offline: true,
                ..rules
            },
            NOW
        ),
        Verdict::Done
    );
    let mut paused = bundle(0, 1);
    paused["spec"]["paused"] = json!(true);
    let status = bundle_status(&paused, &[waiting], &[online()], NOW);
    assert!(
        matches!(Wait::default().look(&status, rules, NOW), Verdict::Failed(lines) if lines[0].contains("the bundle is paused"))
    );
}

#[test]
fn pending_clusters_come_from_the_summary() {
    let mut pending = bundle(0, 1);
    pending["status"]["summary"]["nonReadyResources"] = json!([{"name": "fleet-default/a", "bundleState": "Pending"}]);
    let status = bundle_status(&pending, &[], &[online()], NOW);
    assert_eq!(
        (status.deployments[0].state, status.deployments[0].cluster.as_str()),
        (State::Pending, "a")
    );
}

#[test]
fn objects_that_are_not_ready_are_named() {
    let list = json!({"nonReadyStatus": [{"kind": "ExternalSecret", "apiVersion": "external-secrets.io/v1", "namespace": "apps", "name": "db", "summary": {"state": "x", "error": true, "message": ["could not get secret"]}}]});
    let status = bundle_status(
        &bundle(0, 1),
        &[deployment("1", false, "1", true, list)],
        &[online()],
        NOW,
    );
    assert_eq!(
        status.deployments[0].objects,
        ["externalsecret.external-secrets.io/db in apps [error] could not get secret"]
    );
}

#[test]
fn live_encodings_are_kept() {
    let ours = make(
        &[("a/x.yaml", "x: 1\n"), ("a/y.yaml", "y: 1\n")],
        &Options {
            compress: true,
            ..options()
        },
    )
    .unwrap()
    .bundles
    .remove(0);
    let mut live = ours.clone();
    live["spec"]["resources"][0] = encode::resource("x.yaml", b"x: 1\n", false);
    live["spec"]["targetCustomizationMode"] = json!("FirstMatch");
    live["metadata"]["labels"] = json!({"other": "one"});
    assert_eq!(decide(&ours, Some(&live), false).unwrap(), Decision::Unchanged);
    assert_eq!(decide(&ours, None, false).unwrap(), Decision::Create);
    live["spec"]["resources"][1] = encode::resource("y.yaml", b"y: 2\n", false);
    let Decision::Update(written) = decide(&ours, Some(&live), false).unwrap() else {
        panic!("must be written")
    };
    assert_eq!(written["spec"]["resources"][0], live["spec"]["resources"][0]);
    assert_eq!(written["spec"]["resources"][1], ours["spec"]["resources"][1]);
    live["spec"]["contentsId"] = json!("s-1");
    assert!(decide(&ours, Some(&live), false).is_err() && decide(&ours, Some(&live), true).is_ok());
    live["spec"]["helmOpOptions"] = json!({});
    assert!(decide(&ours, Some(&live), true).is_err());
}

#[test]
fn fetched_keys_become_one_values_document() {
    let arguments = ["db.password=password", "db.user=user-name", "a\\.b=x"].map(str::to_owned);
    let text = template(&Shape::parse(&arguments).unwrap()).unwrap();
    assert_eq!(
        text,
        "\"a.b\": {{ .x | toJson }}\n\"db\":\n  \"password\": {{ .password | toJson }}\n  \"user\": {{ (index . \"user-name\") | toJson }}\n"
    );
    assert_eq!(
        template(&Shape::Everything("db.auth".to_owned())).unwrap(),
        "\"db\":\n  \"auth\": {{ . | toJson }}\n"
    );
    assert_eq!(template(&Shape::parse(&[]).unwrap()).unwrap(), "{{ . | toJson }}\n");
    for bad in [
        vec!["a=x", "a.b=y"],
        vec!["a=x", "a=y"],
        vec!["=x"],
        vec!["a..b=x"],
        vec!["{{x=y"],
        vec!["a=*", "b=c"],
    ] {
        let arguments: Vec<String> = bad.iter().map(|argument| (*argument).to_owned()).collect();
        assert!(
            Shape::parse(&arguments).and_then(|shape| template(&shape)).is_err(),
            "{bad:?}"
        );
    }
    let made = as_values(
        json!({"spec": {"target": {"name": "t"}}}),
        "values.yaml",
        &Shape::Everything(String::new()),
    )
    .unwrap();
    assert_eq!(
        made["spec"]["target"]["template"],
        json!({"engineVersion": "v2", "mergePolicy": "Replace", "data": {"values.yaml": "{{ . | toJson }}\n"}})
    );
    assert!(as_values(made, "values.yaml", &Shape::Everything(String::new())).is_err());
    assert!(as_values(json!({}), "a/b", &Shape::Everything(String::new())).is_err());
}

#[test]
fn chart_versions_follow_helm() {
    let versions = ["1.2.1", "1.2.3", "1.3.0", "2.0.0-rc.1", "0.0.3", "0.1.9"];
    let pick = |wanted: &str| version::select(&versions, wanted).map(|at| versions[at]);
    for (wanted, found) in [
        ("", Some("1.3.0")),
        ("~1.2.0", Some("1.2.3")),
        ("^1.2", Some("1.3.0")),
        ("2.0.0-rc.1", Some("2.0.0-rc.1")),
        (">=2.0.0-0", Some("2.0.0-rc.1")),
        ("^0.0.3", Some("0.0.3")),
        ("1.2.x || 9", Some("1.2.3")),
        ("1.0 - 1.2", Some("1.2.3")),
        (">1.2.1 <1.3", Some("1.2.3")),
        ("3", None),
        ("==1.3.0", None),
    ] {
        assert_eq!(pick(wanted), found, "{wanted}");
    }
}

#[test]
fn names_patterns_and_times() {
    assert_eq!(
        names::bundle_name("eso", "a", "s/q.v1.yaml"),
        names::release_name("eso/a/s/q.v1")
    );
    assert_eq!(names::limit("1-3456789", 8), "1-9b657");
    assert_eq!(names::limit("12345678", 7), "1-25d55");
    assert!(names::is_object_name("a.b-c") && !names::is_object_name("A") && !names::is_object_name("-a"));
    for (pattern, name, wanted) in [
        ("*.txt", "a.txt", true),
        ("a*b*c", "axxbyyc", true),
        ("*", "a/b", false),
        ("[^a-c]x", "dx", true),
        ("[a-c]x", "dx", false),
        ("\\*", "*", true),
        ("?", "é", true),
        ("", "", true),
        ("a", "", false),
    ] {
        assert_eq!(pattern::matches(pattern, name), Ok(wanted), "{pattern} {name}");
    }
    for bad in ["[", "[]a]", "a\\", "[a-]"] {
        assert!(pattern::matches(bad, "a").is_err(), "{bad}");
    }
    assert_eq!(object::seconds("1970-01-01T00:00:00Z"), Some(0));
    assert_eq!(object::seconds("2026-11-30T23:00:00.5+01:00"), Some(NOW));
    assert_eq!(object::seconds("nonsense"), None);
}

#[test]
fn missing_chart_dependencies_are_added_without_touching_the_source() {
    let chart = "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies:\n- {name: d, version: ~1.0, repository: 'https://repo/x'}\n- {name: o, version: 1.0.0, repository: 'oci://reg/charts'}\n- {name: l, version: 1.0.0, repository: 'file://../lib'}\n- {name: q, version: 1.0.0, repository: '@q'}\n- {name: here, version: 1.0.0}\n";
    let own = "apiVersion: v2\nname: l\nversion: 1.0.0\n";
    let tree = tree(&[
        ("a/c/Chart.yaml", chart),
        ("a/c/charts/here/Chart.yaml", own),
        ("a/lib/Chart.yaml", own),
        ("a/lib/templates/t.yaml", "t: 1\n"),
    ]);
    let prepared = prepare(&tree, &options()).unwrap();
    let wanted: Vec<(&str, &str)> = prepared
        .charts
        .values()
        .map(|request| (request.chart.as_str(), request.repo.as_str()))
        .collect();
    assert!(
        wanted.len() == 2 && wanted.contains(&("d", "https://repo/x")) && wanted.contains(&("", "oci://reg/charts/o")),
        "{wanted:?}"
    );
    let charts: BTreeMap<String, Tree> = prepared
        .charts
        .iter()
        .filter(|(_, request)| request.chart == "d")
        .map(|(prefix, _)| {
            let mut fetched = Tree::new();
            fetched.insert("d/Chart.yaml", Entry::File(own.as_bytes().to_vec()));
            (prefix.clone(), fetched)
        })
        .collect();
    let built = build(prepared, &tree, &charts, &options()).unwrap();
    let names: Vec<&str> = built.bundles[0]["spec"]["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|resource| resource["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "c/Chart.yaml",
            "c/charts/d/Chart.yaml",
            "c/charts/here/Chart.yaml",
            "c/charts/l/Chart.yaml",
            "c/charts/l/templates/t.yaml",
            "lib/Chart.yaml",
            "lib/templates/t.yaml"
        ]
    );
    let missing: Vec<String> = built
        .notices
        .iter()
        .filter_map(|notice| {
            if let Notice::MissingDependency { dependency, .. } = notice {
                Some(dependency.clone())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(missing, ["o", "q"]);
}
