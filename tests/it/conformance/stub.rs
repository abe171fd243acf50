//! The HTTP stub the webhook cases talk to: canned answers, echoes, a small store, and a memory of requests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const JSON: &[(&str, &str)] = &[
    (
        "tree",
        r#"{"site":{"name":"Rowan Farm","beds":[{"id":"n1","crop":"beet"},{"id":"n2","crop":"kale"}],"open":true},"count":3}"#,
    ),
    (
        "types",
        r#"{"id":9007199254740993,"rate":12.75,"big":1e3,"on":true,"off":false,"gone":null,"word":"oak","none":"","o":{"z":1,"a":"<b>&"},"l":["x","y"]}"#,
    ),
    (
        "numbers",
        r#"{"id":9007199254740993,"rate":12.75,"on":true,"gone":null,"o":{"k":1}}"#,
    ),
    ("escapes", r#"{"tok":"a\/b\u002Bc","tab":"1\t2","snow":"\u2603"}"#),
    (
        "wrapped",
        r#"{"payload":"{\"user\":\"ida\",\"pin\":4711}","plain":"no json here"}"#,
    ),
    ("list", r#"[{"name":"ash","tag":"a"},{"name":"elm","tag":"b"}]"#),
    ("string", r#""only text""#),
    ("empty", r"{}"),
    (
        "dashed",
        r#"{"api-key":"k-1","9lives":"cat","dotted.name":"dn","with space":"ws"}"#,
    ),
];

const TEXT: &[(&str, &str)] = &[
    ("plum", "just-text"),
    ("fig", "f"),
    ("line", "just a line\n"),
    ("crlf", "one\r\ntwo\r\n"),
    ("nothing", ""),
    ("half", "{\"broken\": "),
];

/// Headers that depend on the client library.
const CLIENT: &[&str] = &[
    "host",
    "user-agent",
    "accept-encoding",
    "connection",
    "content-length",
    "transfer-encoding",
    "traceparent",
];

#[derive(Default)]
struct Memory {
    kept: BTreeMap<String, Vec<u8>>,
    seen: BTreeMap<String, (Value, BTreeSet<String>)>,
}

/// Ends when dropped.
pub struct Stub {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    _tasks: JoinSet<()>,
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    body: Vec<u8>,
    kind: &'static str,
    location: Option<String>,
}

impl Stub {
    /// Listens on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let memory = Arc::new(Mutex::new(Memory::default()));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let memory = memory.clone();
                connections.spawn(async move { serve(stream, &memory).await });
                while connections.try_join_next().is_some() {}
            }
        });
        Self { url, _tasks: tasks }
    }
}

async fn serve(stream: TcpStream, memory: &Mutex<Memory>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await {
        let head = request.method == "HEAD";
        let answer = route(&request, memory).await;
        let mut text = format!("HTTP/1.1 {} Stub\r\n", answer.status);
        if let Some(to) = &answer.location {
            text.push_str(&format!("Location: {to}\r\n"));
        }
        let empty = matches!(answer.status, 204 | 304);
        if !empty {
            text.push_str(&format!(
                "Content-Type: {}\r\nContent-Length: {}\r\n",
                answer.kind,
                answer.body.len()
            ));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        if !empty && !head {
            bytes.extend(answer.body);
        }
        if stream.get_mut().write_all(&bytes).await.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|n| *n > 0)?;
    let mut parts = line.split_whitespace();
    let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|l| l.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let (path, query) = target.split_once('?').map_or((target.as_str(), ""), |(p, q)| (p, q));
    Some(Request {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body,
    })
}

impl Request {
    fn shown(&self) -> Value {
        let headers: BTreeMap<&String, &String> = self
            .headers
            .iter()
            .filter(|(k, v)| !(CLIENT.contains(&k.as_str()) || *k == "accept" && *v == "*/*"))
            .collect();
        json!({ "method": self.method, "path": self.path, "query": self.query, "headers": headers,
            "body": String::from_utf8_lossy(&self.body) })
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let raw = self
            .query
            .split('&')
            .find_map(|p| p.strip_prefix(&format!("{name}=")))?;
        Some(raw.replace("%2F", "/").replace("%3A", ":"))
    }
}

fn plain(status: u16, body: impl Into<Vec<u8>>) -> Answer {
    Answer {
        status,
        body: body.into(),
        kind: "text/plain",
        location: None,
    }
}

fn as_json(body: impl Into<Vec<u8>>) -> Answer {
    Answer {
        status: 200,
        body: body.into(),
        kind: "application/json",
        location: None,
    }
}

async fn route(request: &Request, memory: &Mutex<Memory>) -> Answer {
    let path = request.path.trim_start_matches('/');
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let canned = |table: &[(&str, &str)]| table.iter().find(|(k, _)| *k == rest).map(|(_, v)| (*v).to_owned());
    match first {
        "json" if canned(JSON).is_some() => as_json(canned(JSON).unwrap()),
        "text" if canned(TEXT).is_some() => plain(200, canned(TEXT).unwrap()),
        "status" if rest.parse::<u16>().is_ok() => plain(rest.parse().unwrap(), format!("status {rest}")),
        "redirect" => Answer {
            location: request.parameter("to"),
            ..plain(302, "")
        },
        "slow" => {
            let seconds = request.parameter("s").unwrap_or_else(|| "1".to_owned());
            tokio::time::sleep(Duration::from_secs_f64(seconds.parse::<f64>().unwrap().min(20.0))).await;
            as_json(python_json(&json!({ "slow": seconds })))
        }
        "echo" => as_json(python_json(&request.shown())),
        _ => remember(first, rest, request, &mut memory.lock().unwrap()),
    }
}

fn remember(first: &str, rest: &str, request: &Request, memory: &mut Memory) -> Answer {
    const OK: &str = r#"{"ok":true}"#;
    match (first, request.method.as_str()) {
        ("kv", "PUT" | "POST") => {
            memory.kept.insert(rest.to_owned(), request.body.clone());
            as_json(OK)
        }
        ("kv", "DELETE") if memory.kept.remove(rest).is_some() => as_json(OK),
        ("kv", "DELETE") => plain(404, "no such key"),
        ("kv", _) => memory
            .kept
            .get(rest)
            .map_or_else(|| plain(404, "no such key"), |body| as_json(body.clone())),
        ("rec", method) => {
            let mut shown = request.shown();
            shown["path"] = json!("/rec");
            let entry = memory.seen.entry(rest.to_owned()).or_default();
            entry.1.insert(method.to_owned());
            shown["methods"] = json!(entry.1);
            entry.0 = shown;
            as_json(OK)
        }
        ("seen", _) => memory
            .seen
            .get(rest)
            .map_or_else(|| plain(404, "nothing seen"), |s| as_json(python_json(&s.0))),
        ("forget", _) => {
            memory.kept.retain(|k, _| !k.starts_with(rest));
            memory.seen.retain(|k, _| !k.starts_with(rest));
            as_json(OK)
        }
        _ => plain(404, "no such page"),
    }
}

/// JSON as the recorded stub wrote it: sorted members, a space after `,` and `:`, ASCII only.
fn python_json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<_, _> = map.iter().collect();
            let parts: Vec<String> = sorted
                .iter()
                .map(|(k, v)| format!("{}: {}", python_json(&json!(k)), python_json(v)))
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(python_json).collect::<Vec<_>>().join(", ")),
        Value::String(text) => {
            let quoted = json!(text).to_string();
            let mut out = String::new();
            for unit in quoted.encode_utf16() {
                match u8::try_from(unit) {
                    Ok(byte) if byte.is_ascii() => out.push(char::from(byte)),
                    _ => out.push_str(&format!("\\u{unit:04x}")),
                }
            }
            out
        }
        other => other.to_string(),
    }
}
