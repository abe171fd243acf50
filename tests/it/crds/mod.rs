//! What the operator's own definitions accept or refuse, ours accept or refuse as well: the same objects to two real API
//! servers, one with the definitions of External Secrets 2.9.0, one with ours.

use std::path::Path;

use futures::StreamExt as _;
use serde_json::{Value, json};
use xtask::controlplane::Options;

use crate::support::{own_clusters, with_crds};

const AT_ONCE: usize = 16;
/// Stores of other vendors are known by name and open inside: what is wrong in there, only their operator tells.
const TYPED_PROVIDERS: &[&str] = &["kubernetes", "fake", "webhook"];
/// Generators that need no account; of the others the same holds.
const TYPED_GENERATORS: &[&str] = &["Fake", "Password", "UUID", "SSHKey", "MFA", "Webhook"];

/// One object to try, and what was done to it.
struct Trial {
    object: Value,
    what: String,
}

fn samples() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/crds/samples.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    serde_yaml::Deserializer::from_str(&text)
        .map(|document| serde::Deserialize::deserialize(document).unwrap())
        .collect()
}

fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap()
}

/// How much our definition says about a place of an object.
#[derive(PartialEq)]
enum Known {
    Whole,
    /// Whether it has to be there.
    Presence,
    Nothing,
}

fn known(object: &Value, path: &str) -> Known {
    let depth = path.matches('/').count();
    let (typed, top) = match kind(object) {
        "SecretStore" | "ClusterSecretStore" => {
            let Some(rest) = path.strip_prefix("/spec/provider/") else {
                return Known::Whole;
            };
            (TYPED_PROVIDERS.contains(&rest.split('/').next().unwrap()), 3)
        }
        "ClusterGenerator" => (TYPED_GENERATORS.contains(&object["spec"]["kind"].as_str().unwrap()), 3),
        other if object["apiVersion"] == "generators.external-secrets.io/v1alpha1" => {
            (TYPED_GENERATORS.contains(&other), 1)
        }
        _ => return Known::Whole,
    };
    match depth {
        _ if typed => Known::Whole,
        _ if depth <= top => Known::Whole,
        _ if depth == top + 1 => Known::Presence,
        _ => Known::Nothing,
    }
}

/// Every pointer into the value.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    let mut step = |key: String, child: &Value| {
        let path = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
        out.push(path.clone());
        pointers(child, &path, out);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, child)| step(key.clone(), child)),
        Value::Array(all) => all.iter().enumerate().for_each(|(i, child)| step(i.to_string(), child)),
        _ => {}
    }
}

/// What else could stand at this place.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => vec![
            json!(""),
            json!("Nonsense_!"),
            json!("x".repeat(300)),
            json!(7),
            json!({}),
            json!(text.to_uppercase()),
        ],
        Value::Number(_) => vec![json!(-1), json!(0), json!(99_999), json!("7"), json!(1.5)],
        Value::Bool(_) => vec![json!("true"), json!(1)],
        Value::Array(_) => vec![json!([]), json!({}), json!("text"), json!([{}]), json!([7])],
        Value::Object(_) => vec![json!({}), json!([]), json!("text")],
        Value::Null => Vec::new(),
    }
}

/// The object itself, and the object with one thing changed, for every thing in its spec.
fn trials(sample: &Value) -> Vec<Trial> {
    let name = sample["metadata"]["name"].as_str().unwrap();
    let title = format!("{} {name}", kind(sample));
    let mut out = vec![Trial {
        object: sample.clone(),
        what: title.clone(),
    }];
    let mut paths = Vec::new();
    pointers(&sample["spec"], "/spec", &mut paths);
    paths.push("/spec".to_owned());
    for path in &paths {
        let known_here = known(sample, path);
        let mut add = |object: Value, what: String| {
            out.push(Trial {
                object,
                what: format!("{title}: {path} {what}"),
            });
        };
        let found = sample.pointer(path).unwrap();
        for other in others(found)
            .into_iter()
            .filter(|other| known_here == Known::Whole && other != found)
        {
            let mut object = sample.clone();
            *object.pointer_mut(path).unwrap() = other.clone();
            let text: String = other.to_string().chars().take(30).collect();
            add(object, format!("is {text}"));
        }
        if known_here == Known::Nothing {
            continue;
        }
        let (parent, key) = path.rsplit_once('/').unwrap();
        let mut object = sample.clone();
        match object.pointer_mut(parent).unwrap() {
            Value::Object(map) => {
                map.remove(&key.replace("~1", "/").replace("~0", "~"));
            }
            Value::Array(all) => {
                all.remove(key.parse().unwrap());
            }
            _ => continue,
        }
        add(object, "is missing".to_owned());
        if found.is_object() && known(sample, &format!("{path}/x")) == Known::Whole {
            let mut object = sample.clone();
            object.pointer_mut(path).unwrap()["noSuchField"] = json!("x");
            add(object, "has an unknown field".to_owned());
        }
    }
    out
}

/// Asks a server to create it without storing it; `None` where it would, else why not.
async fn refused(client: &kube::Client, object: &Value) -> Option<String> {
    let (group, version) = object["apiVersion"].as_str().unwrap().split_once('/').unwrap();
    let kind = kind(object);
    let resource = match kind {
        "UUID" => "uuids".to_owned(),
        "Grafana" => "grafanas".to_owned(),
        other => format!("{}s", other.to_lowercase()),
    };
    let place = if kind.starts_with("Cluster") {
        ""
    } else {
        "namespaces/default/"
    };
    let path = format!("/apis/{group}/{version}/{place}{resource}?dryRun=All&fieldValidation=Strict");
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(serde_json::to_vec(object).unwrap())
        .unwrap();
    match client.request::<Value>(request).await {
        Ok(_) => None,
        Err(kube::Error::Api(status)) => {
            assert!(
                status.code == 422 || status.code == 400,
                "{}: {}",
                status.code,
                status.message
            );
            Some(status.message.clone())
        }
        Err(e) => panic!("{e}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ours_accept_and_refuse_what_the_operators_do() {
    let planes = own_clusters(Options::count(2));
    let (theirs, ours) = (planes.cluster(0), planes.cluster(1));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/eso-2.9.0-crds.yaml");
    xtask::crds::apply_file(&theirs.client().await.unwrap(), &file)
        .await
        .unwrap();
    with_crds(ours).await;
    let (theirs, ours) = (theirs.client().await.unwrap(), ours.client().await.unwrap());
    let samples = samples();
    assert!(samples.len() >= 40, "{} samples", samples.len());
    let trials: Vec<Trial> = samples.iter().flat_map(trials).collect();
    let answers: Vec<_> = futures::stream::iter(&trials)
        .map(|trial| {
            let (theirs, ours) = (&theirs, &ours);
            async move {
                (
                    trial,
                    refused(theirs, &trial.object).await,
                    refused(ours, &trial.object).await,
                )
            }
        })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let refusals = answers.iter().filter(|(_, theirs, _)| theirs.is_some()).count();
    println!(
        "{} objects from {} samples, {refusals} refused",
        trials.len(),
        samples.len()
    );
    let differences: Vec<String> = answers
        .iter()
        .filter(|(_, theirs, ours)| theirs.is_some() != ours.is_some())
        .map(|(trial, theirs, ours)| format!("{}\n   theirs: {theirs:?}\n   ours:   {ours:?}", trial.what))
        .collect();
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
    assert!(
        refusals > 300 && trials.len() - refusals > 100,
        "both answers are tried"
    );
    for sample in &samples {
        let (_, theirs, _) = answers.iter().find(|(t, ..)| t.object == *sample).unwrap();
        let expected = sample["metadata"]["name"].as_str().unwrap().starts_with("bad-");
        assert_eq!(theirs.is_some(), expected, "{sample}: {theirs:?}");
    }
}
