//! What the recorded cases do not cover: refusals, options, output forms.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::migrate::document;
use crate::migrate::kes::convert::{Conversion, State, convert};
use crate::migrate::kes::options::{Options, interval};
use crate::migrate::kes::output;

fn run(documents: &str, options: &Json) -> Conversion {
    convert(
        &document::values(documents).unwrap(),
        &Options::parse(&options.to_string()).unwrap(),
    )
}

fn options() -> Json {
    json!({"controller": {"pollerIntervalMilliseconds": 10000, "env": {"AWS_REGION": "r", "VAULT_ADDR": "https://v"}}, "auth": {}})
}

fn object(spec: &str) -> String {
    format!(
        "{{apiVersion: kubernetes-client.io/v1, kind: ExternalSecret, metadata: {{name: o, namespace: n}}, spec: {spec}}}"
    )
}

fn findings(c: &Conversion) -> BTreeSet<String> {
    c.objects
        .iter()
        .flat_map(|o| &o.findings)
        .map(|f| format!("{} {}", f.code, f.path))
        .collect()
}

fn spec(c: &Conversion) -> Json {
    serde_json::to_value(c.objects[0].manifest.as_ref().unwrap()).unwrap()["spec"].clone()
}

fn provider(c: &Conversion) -> Json {
    serde_json::to_value(&c.stores[0]).unwrap()["spec"]["provider"].clone()
}

#[test]
fn refusals() {
    for (text, want) in [
        (
            "{backendType: alicloudSecretsManager, data: [{key: a, name: b}]}",
            "E_BACKEND_UNSUPPORTED spec.backendType",
        ),
        (
            "{backendType: other, data: [{key: a, name: b}]}",
            "E_SCHEMA spec.backendType",
        ),
        (
            "{backendType: vault, vaultRole: r, vaultMountPoint: m, data: [{key: kv/app, name: b, property: p}]}",
            "E_VAULT_PATH spec.data[0].key",
        ),
        (
            "{backendType: azureKeyVault, keyVaultName: v, data: [{key: a/b, name: b}]}",
            "E_AZURE_KEY spec.data[0].key",
        ),
        (
            "{backendType: ibmcloudSecretsManager, keyByName: true, data: [{key: a, name: b, property: p, secretType: arbitrary}]}",
            "E_IBM_GROUP spec.keyByName",
        ),
        ("{backendType: secretsManager, data: []}", "E_NO_SOURCES spec.data"),
        ("{backendType: secretsManager}", "E_NO_SOURCES spec"),
        (
            "{backendType: secretsManager, data: [{key: a}]}",
            "E_SCHEMA spec.data[0].name",
        ),
        (
            "{backendType: secretsManager, data: [{key: a, name: b}], template: {type: bootstrap.kubernetes.io/token}}",
            "E_TYPE_FORBIDDEN spec.template.type",
        ),
        (
            "{backendType: secretsManager, data: [{key: a, name: b}], template: {stringData: {x: '<%= new Date() %>'}}}",
            "E_TEMPLATE_UNSUPPORTED spec.template.stringData.x",
        ),
    ] {
        let c = run(&object(text), &options());
        assert!(findings(&c).contains(want), "{text}: {:?}", findings(&c));
        assert_eq!(
            (c.stream().len(), c.exit_code(), c.objects[0].state),
            (0, 1, State::Refused),
            "{text}"
        );
    }
    let c = run(
        &object("{backendType: systemManager, data: [{key: a, name: b}]}"),
        &json!({"controller": {}}),
    );
    assert!(findings(&c).contains("E_REGION_MISSING spec.region"));
}

#[test]
fn one_refused_object_does_not_stop_the_others() {
    let good = object("{backendType: secretsManager, data: [{key: a, name: b}]}");
    let bad = object("{backendType: secretsManager, data: []}").replace("name: o", "name: p");
    let list = format!("{{apiVersion: v1, kind: List, items: [{good}, {bad}, {{apiVersion: v1, kind: ConfigMap}}]}}");
    let c = run(&list, &options());
    assert_eq!((c.stream().len(), c.exit_code()), (2, 3));
    assert_eq!(c.objects[1].position, (0, Some(1)));
}

#[test]
fn ibm_secrets_without_property() {
    let text = "{backendType: ibmcloudSecretsManager, data: [{key: a, name: login, secretType: username_password}, {key: b, name: note, secretType: arbitrary}, {key: c, name: api, secretType: iam_credentials}], template: {stringData: {all: '<%= data.login %>|<%= data.note %>|<%= data.api %>'}}}";
    let mut o = options();
    o["faithful"] = true.into();
    let c = run(&object(text), &o);
    assert_eq!(findings(&c), ["W_IBM_IAM_QUOTES spec.data[2]".to_owned()].into());
    let spec = spec(&c);
    assert_eq!(spec["target"]["template"]["mergePolicy"], "Replace");
    let manifest = json!({"spec": spec});
    let fetched = [
        ("login.username", "u"),
        ("login.password", "p\""),
        ("note", "n"),
        ("api", "k"),
    ]
    .map(|(k, v)| (k.to_owned(), v.as_bytes().to_vec()))
    .into();
    let keys: BTreeSet<&str> = manifest["spec"]["target"]["template"]["data"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, ["all", "api", "login", "note"].into());
    let secret = super::render::secret(&manifest, &fetched).unwrap();
    let text = |k: &str| {
        String::from_utf8(super::super::base64::decode(secret["data"][k].as_str().unwrap()).unwrap()).unwrap()
    };
    assert_eq!(text("login"), r#"{"username":"u","password":"p\""}"#);
    assert_eq!(text("note"), r#"{"payload":"n"}"#);
    assert_eq!(text("api"), r#""k""#);
    assert_eq!(text("all"), r#"{"username":"u","password":"p\""}|{"payload":"n"}|"k""#);
}

#[test]
fn vault_mounts() {
    let text = "{backendType: vault, vaultRole: r, vaultMountPoint: m, data: [{key: a/data/x, name: x, property: p}, {key: b/data/x, name: y, property: p}]}";
    let c = run(&object(text), &options());
    assert!(findings(&c).contains("I_VAULT_NO_PATH spec"));
    assert_eq!(spec(&c)["data"][1]["remoteRef"]["key"], "b/data/x");
    assert!(provider(&c)["vault"].get("path").is_none());
}

#[test]
fn templates_beside_whole_objects() {
    let text = "{backendType: secretsManager, dataFrom: [a], template: {data: {k: 'eA=='}, stringData: {t: '<%= data.q %>'}, metadata: {name: z}, kind: Secret}}";
    let c = run(&object(text), &options());
    assert_eq!(
        findings(&c),
        [
            "W_TEMPLATE_FIELD_DROPPED spec.template.kind".to_owned(),
            "W_TEMPLATE_FIELD_DROPPED spec.template.metadata.name".to_owned()
        ]
        .into()
    );
    let data = spec(&c)["target"]["template"]["data"].clone();
    assert_eq!(data["t"], r#"{{ index . "q" }}"#);
    let render = |pairs: &[(&str, &str)]| {
        let fetched = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec()))
            .collect();
        String::from_utf8(super::render::render(data["k"].as_str().unwrap(), &fetched).unwrap()).unwrap()
    };
    assert_eq!(
        (render(&[]), render(&[("k", "y")]), render(&[("k", "")])),
        ("x".to_owned(), "y".to_owned(), String::new())
    );
}

#[test]
fn duplicates_paths_and_options_of_other_backends() {
    let text = "{backendType: systemManager, vaultRole: r, data: [{key: a, name: x, versionId: i}, {path: /p/, recursive: true}, {key: b, name: x}]}";
    let c = run(&object(text), &options());
    let want = [
        "I_DUPLICATE_NAME spec.data[0].name",
        "W_BASENAME_COLLISION spec.data[1].recursive",
        "W_OPTION_NOT_FOR_BACKEND spec.vaultRole",
        "W_PATH_ORDER spec.data[1]",
    ];
    assert_eq!(findings(&c), want.map(str::to_owned).into());
    assert_eq!(spec(&c)["data"].as_array().unwrap().len(), 1);
    assert_eq!(
        spec(&c)["dataFrom"][0]["find"],
        json!({"path": "/p/", "name": {"regexp": "^/p/.+$"}})
    );
}

#[test]
fn credentials_stay_out_of_files() {
    let mut o = options();
    o["controller"]["env"]["AWS_ACCESS_KEY_ID"] = "AKIAEXAMPLE".into();
    o["controller"]["env"]["AWS_SECRET_ACCESS_KEY"] = "hunter2".into();
    let c = run(&object("{backendType: secretsManager, data: [{key: a, name: b}]}"), &o);
    let text = output::stream(&c).unwrap() + &output::report(&c, true).to_json();
    assert!(!text.contains("hunter2") && !text.contains("AKIA"), "{text}");
    assert!(findings(&c).contains("W_CREDENTIAL_IN_ENV controller.env.AWS_SECRET_ACCESS_KEY"));
    assert_eq!(
        provider(&c)["aws"]["auth"]["secretRef"]["secretAccessKeySecretRef"]["name"],
        "kes-migrated-secretsmanager"
    );
    assert!(!format!("{:?}", Options::parse(&o.to_string()).unwrap()).contains("hunter2"));
}

#[test]
fn choices_of_the_user() {
    let text = object("{backendType: secretsManager, data: [{key: a, name: b}]}")
        + "\n---\n"
        + &object("{backendType: secretsManager, data: [{key: a, name: b}]}").replace("namespace: n", "namespace: m");
    let mut o = options();
    o["auth"] = json!({"aws": {"jwt": {"serviceAccountRef": {"name": "s", "namespace": "kes"}}}});
    o["storeKind"] = "SecretStore".into();
    o["targetSuffix"] = "-eso".into();
    let c = run(&text, &o);
    let places: Vec<&str> = c
        .stores
        .iter()
        .map(|s| s["metadata"]["namespace"].as_str().unwrap())
        .collect();
    assert_eq!(places, ["m", "n"]);
    assert_eq!(
        provider(&c)["aws"]["auth"],
        json!({"jwt": {"serviceAccountRef": {"name": "s"}}})
    );
    assert_eq!(spec(&c)["target"]["name"], "o-eso");
    o["storeMap"] =
        json!([{"match": {"backendType": "secretsManager"}, "store": {"kind": "ClusterSecretStore", "name": "aws"}}]);
    let c = run(&text, &o);
    assert_eq!(
        (c.stores.len(), spec(&c)["secretStoreRef"]["name"].as_str()),
        (0, Some("aws"))
    );
}

#[test]
fn instances_and_intervals() {
    let text = object("{backendType: secretsManager, controllerId: x, data: [{key: a, name: b}]}");
    assert!(findings(&run(&text, &options())).contains("W_CONTROLLER_ID_MISMATCH spec.controllerId"));
    let c = run(&text, &json!({"controller": null, "auth": {}}));
    assert!(findings(&c).contains("W_CONTROLLER_ID spec.controllerId"));
    for (ms, want) in [
        (10_000, "10s"),
        (60_000, "1m"),
        (3_600_000, "1h"),
        (90_000, "90s"),
        (1_500, "1500ms"),
        (0, "0ms"),
    ] {
        assert_eq!(interval(ms), want);
    }
    let mut o = options();
    o["controller"]["watchedNamespaces"] = json!(["other"]);
    assert_eq!(run(&text, &o).objects[0].state, State::Skipped);
}

#[test]
fn files_are_the_same_every_time() {
    let text = object("{backendType: secretsManager, data: [{key: a, name: b}]}");
    let tree = output::tree(&run(&text, &options())).unwrap();
    let names: Vec<&str> = tree.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 4);
    assert!(names.contains(&"kustomization.yaml") && names.contains(&"n/o.yaml") && names.contains(&"report.json"));
    assert_eq!(tree, output::tree(&run(&text, &options())).unwrap());
    assert!(
        tree["kustomization.yaml"].ends_with("resources:\n- n/o.yaml\n- stores/kes-secretsmanager-d3a19d4c.yaml\n")
            || tree["kustomization.yaml"].contains("- n/o.yaml\n- stores/kes-secretsmanager-")
    );
}

#[test]
fn edits_in_place_keep_the_rest() {
    let kes = "# first\napiVersion: kubernetes-client.io/v1\nkind: ExternalSecret\nmetadata:\n  name: o # c\n  namespace: n\nspec:\n  # why\n  backendType: secretsManager\n  data: [{key: a, name: b}]\n";
    let file = format!("# top\n---\na: 1 # keep\n---\n{kes}# last\n---\nb: 2\n");
    let documents = document::split(&file).unwrap();
    let values: Vec<_> = documents.iter().map(|d| d.value.clone()).collect();
    let c = convert(&values, &Options::parse(&options().to_string()).unwrap());
    let text = output::in_place(&documents, 0, &c).unwrap();
    assert!(
        text.starts_with("# top\n---\na: 1 # keep\n---\n# first\n# why\napiVersion: external-secrets.io/v1\n"),
        "{text}"
    );
    assert!(text.ends_with("# last\n---\nb: 2\n"), "{text}");
    assert_eq!(document::values(&text).unwrap().len(), 3);
}
