//! A cluster that exists only in a test: Secrets, ConfigMaps and ServiceAccounts behind the API's own URLs.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::{OpenRequest, Provider, ProviderError, entry};
use crate::cluster::credentials::Credentials;

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    requests: Vec<String>,
}

/// A cluster of a test; its credentials are remembered, so that openings share what they keep.
pub struct Cluster {
    state: Arc<Mutex<State>>,
    credentials: Credentials,
}

impl Cluster {
    /// An empty one.
    pub fn new() -> Self {
        let state = Arc::<Mutex<State>>::default();
        let served = Arc::clone(&state);
        let service = tower::service_fn(move |request: Request<Body>| {
            let answer = answer(&mut served.lock().unwrap(), &request);
            async move { Ok::<_, Infallible>(answer) }
        });
        let credentials = Credentials::new(Client::new(service, "default"), "https://cluster.test");
        Self { state, credentials }
    }

    /// With this Secret.
    pub fn secret(self, namespace: &str, name: &str, labels: &[(&str, &str)], data: &[(&str, &str)]) -> Self {
        let labels: BTreeMap<_, _> = labels.iter().copied().collect();
        let data: BTreeMap<_, _> = data.iter().map(|(key, value)| (*key, STANDARD.encode(value))).collect();
        let object = json!({"metadata": {"name": name, "namespace": namespace, "labels": labels}, "data": data});
        self.object(namespace, "secrets", name, object)
    }

    /// With this ConfigMap.
    pub fn config_map(self, namespace: &str, name: &str, data: &[(&str, &str)]) -> Self {
        let data: BTreeMap<_, _> = data.iter().copied().collect();
        self.object(
            namespace,
            "configmaps",
            name,
            json!({"metadata": {"name": name, "namespace": namespace}, "data": data}),
        )
    }

    fn object(self, namespace: &str, plural: &str, name: &str, object: Value) -> Self {
        let path = format!("/api/v1/namespaces/{namespace}/{plural}/{name}");
        self.state.lock().unwrap().objects.insert(path, object);
        self
    }

    /// Its credentials.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// How many requests it saw.
    pub fn requests(&self) -> usize {
        self.state.lock().unwrap().requests.len()
    }

    /// Whether this Secret was asked for.
    pub fn was_read(&self, namespace: &str, name: &str) -> bool {
        let path = format!("/api/v1/namespaces/{namespace}/secrets/{name}");
        self.state.lock().unwrap().requests.contains(&path)
    }
}

fn answer(state: &mut State, request: &Request<Body>) -> Response<Body> {
    let path = request.uri().path().to_owned();
    state.requests.push(path.clone());
    let (code, body) = match state.objects.get(&path) {
        Some(object) => (200, object.clone()),
        None => {
            let parts: Vec<&str> = path.split('/').collect();
            let message = format!("{} \"{}\" not found", parts[parts.len() - 2], parts[parts.len() - 1]);
            (
                404,
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": "NotFound", "code": 404}),
            )
        }
    };
    Response::builder()
        .status(code)
        .body(Body::from(body.to_string().into_bytes()))
        .unwrap()
}

/// Opens a store named `s`.
pub async fn open(
    cluster: &Cluster,
    key: &str,
    kind: &str,
    namespace: &str,
    config: &Value,
) -> Result<Box<dyn Provider>, ProviderError> {
    let credentials = cluster.credentials();
    let request = OpenRequest {
        store_kind: kind,
        store_name: "s",
        namespace,
        config,
        retry: None,
        credentials,
    };
    (entry(key).unwrap().open)(request).await
}
