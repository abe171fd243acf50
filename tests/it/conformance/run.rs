//! Runs cases side by side against one cluster and takes a snapshot after every step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use kubectl_eso::cluster::error::ClusterError;
use kubectl_eso::cluster::rest::Rest;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use xtask::controlplane::Cluster;

use super::case::{Case, substitute};
use super::compare::{self, Difference};
use super::snapshot::{self, KINDS, State};

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json";
/// A snapshot is taken once nothing has changed for this long.
const SETTLE: Duration = Duration::from_millis(2500);
/// No step takes longer.
const LIMIT: Duration = Duration::from_secs(30);
/// A state that is not the wanted one is looked at again for this long: on a busy machine the loop's next retry may be
/// later than the recording's.
const AGAIN: Duration = Duration::from_secs(60);

/// What became of one case.
pub struct Outcome {
    pub case: String,
    pub differences: Vec<Difference>,
}

struct Bed {
    rest: Rest,
    names: Vec<(String, String)>,
    plurals: tokio::sync::Mutex<BTreeMap<String, BTreeMap<String, (String, bool)>>>,
    state: watch::Receiver<Arc<State>>,
}

/// Runs all of them, `at_once` at a time.
pub async fn all(cluster: &Cluster, stub: &str, cases: Vec<Case>, at_once: usize) -> Vec<Outcome> {
    let rest = Rest::new(cluster.client().await.unwrap());
    let (sender, state) = watch::channel(Arc::new(State::new()));
    let mut background = JoinSet::new();
    background.spawn(poll(rest.clone(), sender));
    let encode = |text: &str| STANDARD.encode(text);
    let host = cluster.url().trim_start_matches("https://").to_owned();
    let admin = cluster.admin();
    let names = vec![
        ("$SERVER".to_owned(), cluster.url().to_owned()),
        ("$HOSTPORT".to_owned(), host),
        ("$CADATA".to_owned(), encode(cluster.ca_pem())),
        ("$CAPEM".to_owned(), cluster.ca_pem().to_owned()),
        ("$CERTDATA".to_owned(), encode(&admin.cert_pem)),
        ("$KEYDATA".to_owned(), encode(&admin.key_pem)),
        ("$STUB".to_owned(), stub.to_owned()),
    ];
    let bed = Arc::new(Bed {
        rest,
        names,
        plurals: tokio::sync::Mutex::default(),
        state,
    });
    let gate = Arc::new(Semaphore::new(at_once));
    let mut running = JoinSet::new();
    for case in cases {
        let (bed, gate) = (bed.clone(), gate.clone());
        running.spawn(async move {
            let _turn = gate.acquire().await.unwrap();
            let snapshots = one(&bed, &case).await;
            let differences = if case.parity {
                compare::differences(&snapshots, &case.recorded())
            } else {
                compare::unmet(snapshots.last().unwrap(), &case.want, snapshots.len() - 1)
            };
            Outcome {
                case: case.name,
                differences,
            }
        });
    }
    let mut outcomes = Vec::new();
    while let Some(outcome) = running.join_next().await {
        outcomes.push(outcome.unwrap());
    }
    outcomes
}

/// Lists everything of interest a few times a second, so that many cases can wait side by side.
async fn poll(rest: Rest, sender: watch::Sender<Arc<State>>) {
    let core = ["namespaces", "secrets", "events", "configmaps"].map(|p| (p, format!("/api/v1/{p}")));
    let own = KINDS
        .iter()
        .map(|(version, plural)| (*plural, format!("/apis/{version}/{plural}")));
    let paths: Vec<(&'static str, String)> = core.into_iter().chain(own).collect();
    loop {
        let mut state = State::new();
        for (plural, path) in &paths {
            let listed: Result<Value, ClusterError> = rest.get(path).await;
            let items = listed
                .ok()
                .and_then(|l| l["items"].as_array().cloned())
                .unwrap_or_default();
            state.insert(plural, items);
        }
        if sender.send(Arc::new(state)).is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

impl Bed {
    async fn call(&self, method: Method, path: &str, kind: &str, body: &Value) -> Result<Value, ClusterError> {
        let bytes = self
            .rest
            .call(method, path, Some(kind), body.to_string().into_bytes())
            .await?;
        Ok(serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn path(&self, version: &str, kind: &str, name: &str, namespace: &str) -> String {
        let base = if version.contains('/') {
            format!("/apis/{version}")
        } else {
            format!("/api/{version}")
        };
        let mut plurals = self.plurals.lock().await;
        if plurals.get(version).is_none_or(|known| !known.contains_key(kind)) {
            let listed: Value = self.rest.get(&base).await.unwrap();
            let table = listed["resources"].as_array().unwrap().iter().filter_map(|r| {
                let plural = r["name"].as_str()?;
                let known = (plural.to_owned(), r["namespaced"].as_bool()?);
                (!plural.contains('/')).then(|| (r["kind"].as_str().unwrap_or_default().to_owned(), known))
            });
            plurals.insert(version.to_owned(), table.collect());
        }
        let (plural, namespaced) = &plurals[version][kind];
        if *namespaced {
            format!("{base}/namespaces/{namespace}/{plural}/{name}")
        } else {
            format!("{base}/{plural}/{name}")
        }
    }

    async fn path_of(&self, reference: &Value, namespace: &str) -> String {
        let text = |key: &str| reference[key].as_str().unwrap_or_default();
        let namespace = reference["namespace"].as_str().unwrap_or(namespace);
        self.path(text("apiVersion"), text("kind"), text("name"), namespace)
            .await
    }
}

async fn one(bed: &Bed, case: &Case) -> Vec<Value> {
    let main = format!(
        "cf-{}-{:05x}",
        case.name.chars().take(40).collect::<String>(),
        fastrand::u32(..0xF_FFFF)
    );
    let mut namespaces = vec![main.clone()];
    namespaces.extend(case.namespaces.keys().map(|k| format!("{main}-{k}")));
    let mut names = vec![("$NS".to_owned(), main.clone())];
    names.extend(bed.names.iter().cloned());
    let none = BTreeMap::new();
    let labels = std::iter::once(&none).chain(case.namespaces.values().map(|l| l.as_ref().unwrap_or(&none)));
    for (namespace, labels) in namespaces.iter().zip(labels) {
        let body =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace, "labels": labels } });
        let path = format!("/api/v1/namespaces/{namespace}?fieldManager=conform");
        bed.call(Method::PATCH, &path, APPLY, &substitute(&body, &names))
            .await
            .unwrap();
    }
    let mut snapshots = Vec::new();
    let mut wide = Vec::new();
    let recorded = if case.parity { case.recorded() } else { Vec::new() };
    for step in &case.steps {
        let rejected = act(bed, step, &main, &mut names, &mut wide).await;
        let least = step.wait.max(if snapshots.is_empty() { 1.0 } else { 4.0 });
        let begun = Instant::now();
        let mut least = Duration::from_secs_f64(least);
        let snapshot = loop {
            let mut snapshot = settle(bed, &namespaces, least).await;
            if !rejected.is_empty() {
                snapshot["rejected"] = json!(rejected);
            }
            if begun.elapsed() > AGAIN || as_wanted(case, &snapshot, snapshots.len(), &recorded) {
                break snapshot;
            }
            least = Duration::ZERO;
        };
        snapshots.push(snapshot);
    }
    clean(bed, &namespaces, &wide).await;
    snapshots
}

/// Whether everything but messages and events is as the step wants it.
fn as_wanted(case: &Case, snapshot: &Value, step: usize, recorded: &[Value]) -> bool {
    if case.parity {
        let want = recorded.get(step..=step).unwrap_or_default();
        let found = compare::differences(std::slice::from_ref(snapshot), want);
        return found.iter().all(|d| matches!(d.facet.as_str(), "events" | "messages"));
    }
    step + 1 < case.steps.len() || compare::unmet(snapshot, &case.want, step).is_empty()
}

/// Does one step; gives back what the server refused.
async fn act(
    bed: &Bed,
    step: &super::case::Step,
    main: &str,
    names: &mut Vec<(String, String)>,
    wide: &mut Vec<String>,
) -> Vec<String> {
    let mut rejected = Vec::new();
    if let Some(request) = &step.http {
        send(&substitute(request, names)).await;
    }
    for object in &step.apply {
        let object = substitute(object, names);
        let (kind, name) = (
            object["kind"].as_str().unwrap(),
            object["metadata"]["name"].as_str().unwrap(),
        );
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or(main);
        let path = bed
            .path(object["apiVersion"].as_str().unwrap(), kind, name, namespace)
            .await;
        if !path.contains("/namespaces/") || kind == "Namespace" {
            wide.push(path.clone());
        }
        match bed
            .call(
                Method::PATCH,
                &format!("{path}?fieldManager=conform&force=true"),
                APPLY,
                &object,
            )
            .await
        {
            Ok(made) => {
                names.push((
                    format!("$UID:{kind}/{name}"),
                    made["metadata"]["uid"].as_str().unwrap().to_owned(),
                ));
            }
            Err(error) => {
                rejected.push(format!("{kind}/{name}: {}", error.code().unwrap_or_default()).replace(main, "$NS"));
            }
        }
    }
    rejected.sort();
    if let Some(patch) = &step.patch {
        let patch = substitute(patch, names);
        let path = bed.path_of(&patch, main).await;
        bed.call(Method::PATCH, &path, MERGE, &patch["patch"]).await.unwrap();
    }
    if let Some(delete) = &step.delete {
        let delete = substitute(delete, names);
        let cascade = delete["cascade"]
            .as_str()
            .map(|c| format!("?propagationPolicy={c}"))
            .unwrap_or_default();
        let path = format!("{}{cascade}", bed.path_of(&delete, main).await);
        bed.rest.call(Method::DELETE, &path, None, Vec::new()).await.unwrap();
    }
    if let Some(token) = &step.token {
        mint(bed, &substitute(token, names), main).await;
    }
    rejected
}

async fn mint(bed: &Bed, wanted: &Value, main: &str) {
    let text = |key: &str| wanted[key].as_str();
    let namespace = text("namespace").unwrap_or(main);
    let spec = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "expirationSeconds": wanted["seconds"].as_i64().unwrap_or(3600) } });
    let path = format!(
        "/api/v1/namespaces/{namespace}/serviceaccounts/{}/token",
        text("serviceAccount").unwrap()
    );
    let made = bed.call(Method::POST, &path, JSON, &spec).await.unwrap();
    let token = made["status"]["token"].as_str().unwrap();
    let secret = text("secret").unwrap();
    let value = text("template").unwrap_or("$TOKEN").replace("$TOKEN", token);
    let body = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": secret, "labels": { "conform": "input" } },
        "stringData": { text("key").unwrap_or("token"): value } });
    let place = text("toNamespace").unwrap_or(main);
    let path = format!("/api/v1/namespaces/{place}/secrets/{secret}?fieldManager=conform");
    bed.call(Method::PATCH, &path, APPLY, &body).await.unwrap();
}

/// One request to the stub.
async fn send(request: &Value) {
    let method = reqwest::Method::from_bytes(request["method"].as_str().unwrap().as_bytes()).unwrap();
    let client = reqwest::Client::builder().build().unwrap();
    let body = request["body"].as_str().unwrap_or_default().to_owned();
    client
        .request(method, request["url"].as_str().unwrap())
        .body(body)
        .send()
        .await
        .unwrap();
}

/// Waits until the snapshot has stood still long enough (three times as long while an object has no condition).
async fn settle(bed: &Bed, namespaces: &[String], least: Duration) -> Value {
    let mut state = bed.state.clone();
    let begun = Instant::now();
    let (mut last, mut since, mut same) = (Value::Null, Instant::now(), 0);
    loop {
        state.changed().await.unwrap();
        let snapshot = snapshot::take(&state.borrow_and_update().clone(), namespaces);
        same += 1;
        if snapshot != last {
            (last, since, same) = (snapshot, Instant::now(), 0);
        }
        let unsaid = |(key, object): (&String, &Value)| {
            let said = object["conditions"].as_array().is_some_and(|c| !c.is_empty());
            !said && !key.starts_with("cluster") && !key.starts_with("namespaces")
        };
        let patience = if last["status"].as_object().unwrap().iter().any(unsaid) {
            SETTLE * 3
        } else {
            SETTLE
        };
        if begun.elapsed() > LIMIT || (begun.elapsed() >= least && same >= 3 && since.elapsed() >= patience) {
            return last;
        }
    }
}

/// Takes the case's objects away; what a finalizer would keep for ever is released.
async fn clean(bed: &Bed, namespaces: &[String], wide: &[String]) {
    let state = bed.state.borrow().clone();
    let mut paths = wide.to_vec();
    for (version, plural) in KINDS {
        for object in state.get(plural).into_iter().flatten() {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
            if namespaces.iter().any(|n| n == namespace) {
                paths.push(format!("/apis/{version}/namespaces/{namespace}/{plural}/{name}"));
            }
        }
    }
    paths.extend(namespaces.iter().map(|n| format!("/api/v1/namespaces/{n}")));
    for path in &paths {
        // What is gone already is as it should be.
        let _ = bed.rest.call(Method::DELETE, path, None, Vec::new()).await;
    }
}
