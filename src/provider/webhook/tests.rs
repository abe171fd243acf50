//! The provider against an endpoint of this process.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::api::external_secret::{Find, RemoteRef};
use crate::api::push_secret::{PushData, PushRemoteRef};
use crate::provider::testing::{Cluster, open};
use crate::provider::{Provider, ProviderError, PushSource, Validation};
use crate::secret::SecretValue;

/// One request as the endpoint saw it.
#[derive(Debug, Clone, Default)]
struct Seen {
    line: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

type Handler = fn(&Seen) -> (u16, Vec<(&'static str, String)>, String);

/// An endpoint that answers with `Handler` and remembers what it saw; gone when dropped.
struct Endpoint {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    _tasks: JoinSet<()>,
}

impl Endpoint {
    async fn start(handler: Handler) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::<Mutex<Vec<Seen>>>::default();
        let record = Arc::clone(&seen);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&record), handler));
            }
        });
        Self {
            url,
            seen,
            _tasks: tasks,
        }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    fn last(&self) -> Seen {
        self.seen().pop().unwrap()
    }
}

async fn serve(stream: TcpStream, record: Arc<Mutex<Vec<Seen>>>, handler: Handler) {
    let mut stream = BufReader::new(stream);
    while let Some(seen) = read_request(&mut stream).await {
        let (code, headers, body) = handler(&seen);
        record.lock().unwrap().push(seen);
        let mut text = format!(
            "HTTP/1.1 {code} {}\r\n",
            if code == 599 { "Very Odd" } else { "Whatever" }
        );
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if code != 304 && code != 204 {
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        text.push_str("\r\n");
        let body = if code == 304 || code == 204 { "" } else { &body };
        if stream
            .get_mut()
            .write_all(format!("{text}{body}").as_bytes())
            .await
            .is_err()
        {
            return;
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut seen = Seen::default();
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|length| *length > 0)?;
    line.trim_end().clone_into(&mut seen.line);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        seen.headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length: usize = seen.header("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    seen.body = String::from_utf8(body).unwrap();
    Some(seen)
}

/// `/status/N` answers N, `/redirect` leads to `/json`, all else a small JSON text.
fn routes(seen: &Seen) -> (u16, Vec<(&'static str, String)>, String) {
    let path = seen.line.split(' ').nth(1).unwrap_or_default();
    if let Some(code) = path.strip_prefix("/status/") {
        return (code.parse().unwrap(), Vec::new(), "said".to_owned());
    }
    if path == "/redirect" {
        return (302, vec![("location", "/json".to_owned())], String::new());
    }
    (200, Vec::new(), r#"{"user":"ida","n":12.75,"list":[1]}"#.to_owned())
}

async fn store(cluster: &Cluster, config: Value) -> Box<dyn Provider> {
    open(cluster, "webhook", "SecretStore", "own", &config).await.unwrap()
}

fn reference(key: &str, property: &str) -> RemoteRef {
    RemoteRef {
        key: key.to_owned(),
        property: property.to_owned(),
        ..RemoteRef::default()
    }
}

fn text(value: Result<SecretValue, ProviderError>) -> Result<String, String> {
    value
        .map(|value| String::from_utf8_lossy(value.expose()).into_owned())
        .map_err(|error| error.to_string())
}

fn cluster() -> Cluster {
    Cluster::new()
        .secret(
            "own",
            "hook",
            &[("external-secrets.io/type", "webhook")],
            &[("user", "ida"), ("token", "t-1\n")],
        )
        .secret("own", "bare", &[], &[("user", "x")])
        .secret("own", "odd", &[("external-secrets.io/type", "other")], &[("user", "x")])
        .secret(
            "far",
            "hook",
            &[("external-secrets.io/type", "webhook")],
            &[("user", "eve"), ("token", "t-2")],
        )
}

#[tokio::test]
async fn url_headers_and_body_are_expanded() {
    let endpoint = Endpoint::start(routes).await;
    let config = json!({
        "url": format!("{}/get?k={{{{ .remoteRef.key }}}}&u={{{{ .cred.user }}}}", endpoint.url), "method": "POST",
        "headers": {"Authorization": "Bearer {{ .cred.token }}", "Host": "ignored.test", "X-Key": "{{ .remoteRef.key }}"},
        "body": "{\"k\":\"{{ .remoteRef.key }}\",\"ns\":\"{{ .remoteRef.namespace }}\"}",
        "secrets": [{"name": "cred", "secretRef": {"name": "hook", "key": "nope", "namespace": "far"}}],
        "result": {"jsonPath": "$.{{ .remoteRef.property }}"},
    });
    let cluster = cluster();
    let store = store(&cluster, config).await;
    assert_eq!(
        text(store.get(&reference("/garden/north bed", "user")).await),
        Ok("ida".to_owned())
    );
    let seen = endpoint.last();
    assert_eq!(seen.line, "POST /get?k=%2Fgarden%2Fnorth+bed&u=ida HTTP/1.1");
    assert_eq!(seen.body, r#"{"k":"/garden/north bed","ns":"own"}"#);
    // The line break at the end of the stored token is not part of it.
    assert_eq!(seen.header("authorization"), Some("Bearer t-1"));
    assert_eq!(seen.header("x-key"), Some("/garden/north bed"));
    assert!(seen.header("host").is_some_and(|host| host.starts_with("127.0.0.1:")));
    assert!(!cluster.was_read("far", "hook"));
}

#[tokio::test]
async fn values_and_maps() {
    let endpoint = Endpoint::start(routes).await;
    let whole = store(&cluster(), json!({"url": format!("{}/json", endpoint.url)})).await;
    assert_eq!(
        text(whole.get(&reference("x", "")).await),
        Ok(r#"{"user":"ida","n":12.75,"list":[1]}"#.to_owned())
    );
    let keys: Vec<_> = whole.get_map(&reference("x", "")).await.unwrap().into_keys().collect();
    assert_eq!(keys, ["list", "n", "user"]);
    let redirected = store(
        &cluster(),
        json!({"url": format!("{}/redirect", endpoint.url), "result": {"jsonPath": "$.n"}}),
    )
    .await;
    assert_eq!(text(redirected.get(&reference("x", "")).await), Ok("12.75".to_owned()));
    let error = whole.find(&Find::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "not implemented");
}

#[tokio::test]
async fn statuses_have_their_texts() {
    let endpoint = Endpoint::start(routes).await;
    let store = store(
        &cluster(),
        json!({"url": format!("{}/status/{{{{ .remoteRef.key }}}}", endpoint.url)}),
    )
    .await;
    for (code, wanted) in [
        ("204", Ok("")),
        ("201", Ok("said")),
        ("404", Err("Secret does not exist")),
        ("304", Err("not modified")),
        ("500", Err("endpoint gave error 500 Whatever")),
        ("401", Err("endpoint gave error 401 Whatever")),
        ("599", Err("endpoint gave error 599 Very Odd")),
    ] {
        let found = text(store.get(&reference(code, "")).await);
        assert_eq!(found, wanted.map(str::to_owned).map_err(str::to_owned), "{code}");
    }
    assert!(matches!(
        store.get(&reference("404", "")).await,
        Err(ProviderError::NoSecret { .. })
    ));
}

#[tokio::test]
async fn secrets_need_their_label_and_a_cluster_store_their_namespace() {
    let config =
        |secret: Value| json!({"url": "http://127.0.0.1:1/", "secrets": [{"name": "cred", "secretRef": secret}]});
    let needed = "secret does not contain needed label 'external-secrets.io/type: webhook'. Update secret label to use it with webhook";
    let missing = "failed to get clustersecretstore webhook secret gone: secrets \"gone\" not found";
    for (kind, secret, wanted) in [
        ("SecretStore", json!({"name": "bare"}), needed),
        ("SecretStore", json!({"name": "odd"}), "secret type is not 'webhook'"),
        ("SecretStore", json!({"name": "gone"}), missing),
        (
            "ClusterSecretStore",
            json!({"name": "hook"}),
            "no namespace on ClusterScoped webhook secret hook",
        ),
    ] {
        let store = open(&cluster(), "webhook", kind, "own", &config(secret)).await.unwrap();
        assert_eq!(text(store.get(&reference("x", "")).await), Err(wanted.to_owned()));
    }
}

#[tokio::test]
async fn a_cluster_store_reads_the_namespace_it_names() {
    let endpoint = Endpoint::start(routes).await;
    let config = json!({
        "url": format!("{}/{{{{ .cred.user }}}}", endpoint.url),
        "secrets": [{"name": "cred", "secretRef": {"name": "hook", "namespace": "far"}}],
    });
    let store = open(&cluster(), "webhook", "ClusterSecretStore", "own", &config)
        .await
        .unwrap();
    store.get(&reference("x", "")).await.unwrap();
    assert_eq!(endpoint.last().line, "GET /eve HTTP/1.1");
}

#[tokio::test]
async fn what_goes_wrong_on_the_wire_is_told_as_go_does() {
    let gone = format!("http://127.0.0.1:{}", free_port().await);
    let store = store(&cluster(), json!({"url": gone})).await;
    let refused = format!(
        "dial tcp {}: connect: connection refused",
        gone.trim_start_matches("http://")
    );
    assert_eq!(
        text(store.get(&reference("x", "")).await),
        Err(format!("failed to call endpoint: Get \"{gone}\": {refused}"))
    );
    assert_eq!(
        store.validate().await,
        Validation::Invalid(ProviderError::Transport {
            message: format!("error accessing external store: {refused}")
        })
    );
}

async fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

#[tokio::test]
async fn an_answer_slower_than_the_timeout_fails() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/slow", listener.local_addr().unwrap());
    let store = store(&cluster(), json!({"url": url, "timeout": "200ms"})).await;
    let wanted = format!(
        "failed to call endpoint: Get \"{url}\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    );
    assert_eq!(text(store.get(&reference("x", "")).await), Err(wanted));
    drop(listener);
}

#[tokio::test]
async fn validation_dials_only() {
    let endpoint = Endpoint::start(routes).await;
    let good = store(
        &cluster(),
        json!({"url": format!("{}/{{{{ .remoteRef.key }}}}", endpoint.url)}),
    )
    .await;
    assert_eq!(good.validate().await, Validation::Valid);
    assert!(endpoint.seen().is_empty());
    let bad = store(&cluster(), json!({"url": "http://{{ .x }}/"})).await;
    let Validation::Invalid(error) = bad.validate().await else {
        panic!("a URL no one can read is invalid")
    };
    assert_eq!(
        error.to_string(),
        "could not parse url: parse \"http://{{ .x }}/\": invalid character \"{\" in host name"
    );
}

fn entry(secret_key: &str, remote_key: &str) -> PushData {
    serde_json::from_value(json!({"match": {"secretKey": secret_key, "remoteRef": {"remoteKey": remote_key}}})).unwrap()
}

fn source() -> PushSource {
    let data =
        [("user", "ida"), ("pin", "a b")].map(|(key, value)| (key.to_owned(), SecretValue::from(value.to_owned())));
    PushSource {
        data: data.into(),
        ..PushSource::default()
    }
}

#[tokio::test]
async fn pushes_send_the_value_under_the_name_of_the_remote_key() {
    let endpoint = Endpoint::start(routes).await;
    let url = format!(
        "{}/put/{{{{ .remoteRef.remoteKey }}}}?v={{{{ .remoteRef.word }}}}",
        endpoint.url
    );
    let store = store(
        &cluster(),
        json!({"url": url, "headers": {"X-From": "{{ .remoteRef.secretKey }}"}}),
    )
    .await;
    let writer = store.writer().unwrap();
    writer.push(&source(), &entry("pin", "word")).await.unwrap();
    let seen = endpoint.last();
    assert_eq!(
        (seen.line.as_str(), seen.body.as_str()),
        ("POST /put/word?v=a+b HTTP/1.1", "a b")
    );
    assert_eq!(seen.header("x-from"), Some("pin"));
    writer.push(&source(), &entry("", "word")).await.unwrap();
    assert_eq!(endpoint.last().body, r#"{"pin":"a b","user":"ida"}"#);

    for (entry, wanted) in [
        (entry("pin", ""), "remote key must be defined"),
        (
            entry("nope", "word"),
            "failed to find secret key in secret with key: nope",
        ),
        (
            entry("pin", "my-key"),
            "failed to push webhook data: failed to parse body: template: webhooktemplate:1: bad character U+002D '-'",
        ),
    ] {
        assert_eq!(writer.push(&source(), &entry).await.unwrap_err().to_string(), wanted);
    }
}

#[tokio::test]
async fn a_refused_push_is_wrapped_twice() {
    let endpoint = Endpoint::start(routes).await;
    let store = store(
        &cluster(),
        json!({"url": format!("{}/status/{{{{ .remoteRef.remoteKey }}}}", endpoint.url), "body": "x"}),
    )
    .await;
    let writer = store.writer().unwrap();
    for (code, wanted) in [
        ("500", "endpoint gave error 500 Whatever"),
        ("404", "Secret does not exist"),
    ] {
        let error = writer
            .push(&source(), &entry("pin", code))
            .await
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            format!("failed to push webhook data: failed to push webhook data: {wanted}")
        );
    }
}

#[tokio::test]
async fn deleting_and_asking() {
    let endpoint = Endpoint::start(routes).await;
    let url = format!("{}/status/{{{{ .remoteRef.remoteKey }}}}", endpoint.url);
    let deleting = store(&cluster(), json!({"url": url, "method": "PUT", "body": "x"})).await;
    let remote = |key: &str| PushRemoteRef {
        remote_key: key.to_owned(),
        property: String::new(),
    };
    let writer = deleting.writer().unwrap();
    writer.delete(&remote("404")).await.unwrap();
    writer.delete(&remote("200")).await.unwrap();
    let seen = endpoint.last();
    assert_eq!(
        (seen.line.as_str(), seen.body.as_str()),
        ("DELETE /status/200 HTTP/1.1", "")
    );
    let error = writer.delete(&remote("500")).await.unwrap_err().to_string();
    assert_eq!(error, "delete endpoint gave error 500 Whatever");

    let asking = store(
        &cluster(),
        json!({"url": format!("{}/status/{{{{ .remoteRef.key }}}}", endpoint.url)}),
    )
    .await;
    let writer = asking.writer().unwrap();
    assert!(writer.exists(&remote("200")).await.unwrap());
    assert!(!writer.exists(&remote("404")).await.unwrap());
    assert!(writer.exists(&remote("500")).await.is_err());
}

/// Offers NTLM, answers its first message with a challenge, and takes any third message.
fn ntlm_routes(seen: &Seen) -> (u16, Vec<(&'static str, String)>, String) {
    let sent = seen
        .header("authorization")
        .and_then(|text| STANDARD.decode(text.strip_prefix("NTLM ")?).ok());
    match sent.as_deref().and_then(|message| message.get(8)) {
        Some(1) => {
            let mut challenge = b"NTLMSSP\0\x02\0\0\0".to_vec();
            challenge.extend_from_slice(&[0; 12]);
            challenge.extend_from_slice(&[9; 8]);
            challenge.extend_from_slice(&[0; 16]);
            (
                401,
                vec![("www-authenticate", format!("NTLM {}", STANDARD.encode(challenge)))],
                String::new(),
            )
        }
        Some(3) => (200, Vec::new(), "in".to_owned()),
        _ => (401, vec![("www-authenticate", "NTLM".to_owned())], String::new()),
    }
}

#[tokio::test]
async fn ntlm_takes_three_steps_and_hides_the_password() {
    let endpoint = Endpoint::start(ntlm_routes).await;
    let selector = |key: &str| json!({"name": "hook", "key": key});
    let auth = json!({"ntlm": {"usernameSecret": selector("user"), "passwordSecret": selector("token")}});
    let config = json!({"url": endpoint.url, "auth": auth, "headers": {"Authorization": "Bearer own"}});
    let store = store(&cluster(), config).await;
    assert_eq!(text(store.get(&reference("x", "")).await), Ok("in".to_owned()));
    let seen = endpoint.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[0].header("authorization"), None);
    let third = STANDARD
        .decode(seen[2].header("authorization").unwrap().strip_prefix("NTLM ").unwrap())
        .unwrap();
    let user: Vec<u8> = "ida".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(third.windows(user.len()).any(|part| part == user));
}

fn basic_routes(seen: &Seen) -> (u16, Vec<(&'static str, String)>, String) {
    match seen.header("authorization") {
        Some(text) => (200, Vec::new(), text.to_owned()),
        None => (
            401,
            vec![("www-authenticate", "Basic realm=x".to_owned())],
            String::new(),
        ),
    }
}

#[tokio::test]
async fn without_ntlm_on_the_other_side_it_is_basic() {
    let endpoint = Endpoint::start(basic_routes).await;
    let selector = |key: &str| json!({"name": "hook", "key": key});
    let auth = json!({"ntlm": {"usernameSecret": selector("user"), "passwordSecret": selector("nope")}});
    let store = store(&cluster(), json!({"url": endpoint.url, "auth": auth})).await;
    assert_eq!(
        text(store.get(&reference("x", "")).await),
        Ok(format!("Basic {}", STANDARD.encode("ida:")))
    );
}
