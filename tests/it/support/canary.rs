//! Values that must never be seen.
//!
//! A test registers each source value and each token it works with. Everything that the commands under test print, and
//! every command line they run, is searched for them: as they are, percent-encoded, JSON-escaped, in hexadecimal, and in
//! base64 at each of the three alignments. What was printed before a value was registered is searched then.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::discovery::{Discovery, Scope, verbs};
use xtask::controlplane::Cluster;

/// Shorter values would be found by chance.
const SHORTEST: usize = 16;

struct Canary {
    /// What is printed when it is found: never the value.
    label: String,
    forms: Vec<String>,
}

struct Output {
    label: String,
    text: String,
}

#[derive(Default)]
struct Registry {
    known: BTreeSet<String>,
    canaries: Vec<Canary>,
    outputs: Vec<Output>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    known: BTreeSet::new(),
    canaries: Vec::new(),
    outputs: Vec::new(),
});

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A fresh random value, registered. The prefix may say what it is.
pub fn fresh(prefix: &str) -> String {
    let random: String = std::iter::repeat_with(fastrand::alphanumeric).take(24).collect();
    let value = format!("{prefix}-{random}");
    register(&value);
    value
}

/// Registers a value; fails the test if it has been printed already.
pub fn register(value: &str) {
    assert!(
        value.len() >= SHORTEST,
        "a canary of {} bytes would be found by chance",
        value.len()
    );
    let leak = {
        let mut registry = registry();
        if !registry.known.insert(value.to_owned()) {
            return;
        }
        let canary = Canary {
            label: format!("canary {} ({} bytes)", registry.canaries.len() + 1, value.len()),
            forms: forms(value),
        };
        let leak = registry.outputs.iter().find_map(|output| found(&canary, output));
        registry.canaries.push(canary);
        leak
    };
    assert!(leak.is_none(), "{}", leak.unwrap_or_default());
}

/// Registers a token, and its signature alone: a shortened token still gives itself away.
pub fn register_token(token: &str) {
    register(token);
    if let Some((_, signature)) = token.rsplit_once('.')
        && signature.len() >= SHORTEST
    {
        register(signature);
    }
}

/// Searches a text for all canaries, keeps it for those to come, and fails the test when one is found.
pub fn check(label: &str, text: &str) {
    let leak = {
        let mut registry = registry();
        let output = Output {
            label: label.to_owned(),
            text: text.to_owned(),
        };
        let leak = registry.canaries.iter().find_map(|canary| found(canary, &output));
        registry.outputs.push(output);
        leak
    };
    assert!(leak.is_none(), "{}", leak.unwrap_or_default());
}

fn found(canary: &Canary, output: &Output) -> Option<String> {
    // Long base64 is wrapped by some printers.
    let joined: String = output.text.split_whitespace().collect();
    let hit = canary
        .forms
        .iter()
        .any(|form| output.text.contains(form) || joined.contains(form));
    hit.then(|| format!("{} is visible in {}", canary.label, output.label))
}

fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![
        value.to_owned(),
        percent(value),
        percent(value).to_lowercase(),
        hex(value),
    ];
    let quoted = serde_json::to_string(value).unwrap_or_default();
    forms.push(quoted.trim_matches('"').to_owned());
    for shift in 0..3 {
        forms.push(inner_base64(&STANDARD_NO_PAD, value, shift));
        forms.push(inner_base64(&URL_SAFE_NO_PAD, value, shift));
    }
    forms.sort();
    forms.dedup();
    forms
}

/// The characters of the base64 of `shift` unknown bytes, the value, and more unknown bytes, that depend on the value
/// alone.
fn inner_base64(engine: &impl base64::Engine, value: &str, shift: usize) -> String {
    let mut bytes = vec![0; shift];
    bytes.extend_from_slice(value.as_bytes());
    let text = engine.encode(&bytes);
    let (first, last) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
    text[first..last].to_owned()
}

fn percent(value: &str) -> String {
    value.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

fn hex(value: &str) -> String {
    value.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads everything a cluster stores: registers the tokens its Secrets hold, then searches all objects — of Secrets the
/// metadata alone — for canaries: events, statuses, conditions, annotations.
pub async fn sweep(cluster: &Cluster) {
    let client = cluster.client().await.unwrap();
    let discovery = Discovery::new(client.clone()).run().await.unwrap();
    for group in discovery.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            if !capabilities.supports_operation(verbs::LIST) {
                continue;
            }
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            // A resource may vanish between discovery and list when another test removes its definition.
            let Ok(list) = api.list(&ListParams::default()).await else {
                continue;
            };
            for object in list.items {
                let scope = if capabilities.scope == Scope::Namespaced {
                    "namespaced"
                } else {
                    "cluster"
                };
                sweep_object(cluster, &resource.kind, scope, object);
            }
        }
    }
}

fn sweep_object(cluster: &Cluster, kind: &str, scope: &str, mut object: DynamicObject) {
    if kind == "Secret" {
        for value in object.data["data"]
            .as_object()
            .into_iter()
            .flat_map(serde_json::Map::values)
        {
            let bytes = base64::engine::general_purpose::STANDARD.decode(value.as_str().unwrap_or_default());
            if let Some(token) = bytes
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .filter(is_token)
            {
                register_token(&token);
            }
        }
        object.data = serde_json::Value::Null;
    }
    let name = object.metadata.name.clone().unwrap_or_default();
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let label = format!("{scope} {kind} {namespace}/{name} of {}", cluster.name());
    check(&label, &serde_json::to_string(&object).unwrap());
}

#[expect(clippy::ptr_arg, reason = "Option::filter passes a reference to the String")]
fn is_token(text: &String) -> bool {
    text.starts_with("eyJ") && text.split('.').count() == 3
}
