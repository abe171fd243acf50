//! ESO's ObjectHash: SHA3-224 over the text Go prints for a value.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha3::{Digest as _, Sha3_224};

use crate::secret::SecretData;

/// Of a text.
pub fn of_text(text: &str) -> String {
    hex(Sha3_224::digest(text.as_bytes()).as_slice())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

/// Of a Secret's data: `map[k:[98 97 114]]`.
pub fn of_data(data: &SecretData) -> String {
    let mut digest = Sha3_224::new();
    digest.update(b"map[");
    for (i, (key, value)) in data.iter().enumerate() {
        if i > 0 {
            digest.update(b" ");
        }
        digest.update(key.as_bytes());
        digest.update(b":[");
        let mut text = String::with_capacity(value.len() * 4);
        for (i, byte) in value.expose().iter().enumerate() {
            if i > 0 {
                text.push(' ');
            }
            let _ = write!(text, "{byte}");
        }
        digest.update(text.as_bytes());
        digest.update(b"]");
    }
    digest.update(b"]");
    hex(digest.finalize().as_slice())
}

/// Of labels and annotations: `{annotations:map[] labels:map[]}`.
pub fn of_metadata(labels: &BTreeMap<String, String>, annotations: &BTreeMap<String, String>) -> String {
    let map = |m: &BTreeMap<String, String>| {
        let pairs: Vec<String> = m.iter().map(|(k, v)| format!("{k}:{v}")).collect();
        format!("map[{}]", pairs.join(" "))
    };
    of_text(&format!("{{annotations:{} labels:{}}}", map(annotations), map(labels)))
}

/// Of an untyped object, as Go prints it with `%+v`.
pub fn of_json(value: &serde_json::Value) -> String {
    of_text(&go_print(value))
}

fn go_print(value: &serde_json::Value) -> String {
    use serde_json::Value as V;
    match value {
        V::Null => "<nil>".to_owned(),
        V::Bool(b) => b.to_string(),
        V::Number(n) => n.to_string(),
        V::String(s) => s.clone(),
        V::Array(a) => format!("[{}]", a.iter().map(go_print).collect::<Vec<_>>().join(" ")),
        V::Object(m) => {
            let sorted: BTreeMap<_, _> = m.iter().collect();
            format!("map[{}]", sorted.iter().map(|(k, v)| format!("{k}:{}", go_print(v))).collect::<Vec<_>>().join(" "))
        }
    }
}
