//! Charts in OCI registries: addresses, tags, manifests and the challenge for a token.
//!
//! Sources: the OCI distribution specification and Helm's media types.
use serde_json::Value;

use super::{names, version};

/// Media type of the layer that holds a chart's archive (Helm).
const CHART_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
/// Media type to ask for.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// `registry/repository` of an `oci://` address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Host and port.
    pub registry: String,
    /// Path of the repository.
    pub name: String,
}

impl Repository {
    /// Splits an address without its scheme; `None` when it has no path.
    #[must_use]
    pub fn parse(reference: &str) -> Option<Self> {
        let (registry, name) = reference.trim_end_matches('/').split_once('/')?;
        let proper = !registry.is_empty() && !name.is_empty() && !name.contains([':', '@', '?', '#']);
        proper.then(|| Self {
            registry: registry.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Address below `/v2/NAME/`. `plain`: without TLS.
    #[must_use]
    pub fn url(&self, path: &str, plain: bool) -> String {
        let scheme = if plain { "http" } else { "https" };
        format!("{scheme}://{}/v2/{}/{path}", self.registry, self.name)
    }
}

/// The tag of an exact version; tags cannot hold the `+` of build metadata. `None` for ranges.
#[must_use]
pub fn exact_tag(wanted: &str) -> Option<String> {
    let whole = wanted
        .split(['-', '+'])
        .next()
        .is_some_and(|core| core.matches('.').count() == 2);
    (whole && version::Version::parse(wanted).is_some()).then(|| wanted.replace('+', "_"))
}

/// The newest tag of a tag list (JSON) that a range takes.
#[must_use]
pub fn select_tag(list: &[u8], wanted: &str) -> Option<String> {
    let list: Value = serde_json::from_slice(list).ok()?;
    let tags: Vec<&str> = list.get("tags")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let versions: Vec<String> = tags.iter().map(|tag| tag.replace('_', "+")).collect();
    let texts: Vec<&str> = versions.iter().map(String::as_str).collect();
    version::select(&texts, wanted).map(|at| tags[at].to_owned())
}

/// Digest of the chart's archive in a manifest (JSON).
#[must_use]
pub fn chart_digest(manifest: &[u8]) -> Option<String> {
    let manifest: Value = serde_json::from_slice(manifest).ok()?;
    let layers = manifest.get("layers")?.as_array()?;
    let layer = layers
        .iter()
        .find(|layer| layer.get("mediaType").and_then(Value::as_str) == Some(CHART_LAYER))?;
    layer.get("digest").and_then(Value::as_str).map(str::to_owned)
}

/// Whether bytes have a `sha256:` digest.
#[must_use]
pub fn verify(bytes: &[u8], digest: &str) -> bool {
    digest
        .strip_prefix("sha256:")
        .is_some_and(|hex| hex.eq_ignore_ascii_case(&names::sha256_hex(bytes)))
}

/// Address that hands out a token, from a `WWW-Authenticate: Bearer …` header. `None` for other schemes.
#[must_use]
pub fn token_url(challenge: &str) -> Option<String> {
    let (scheme, rest) = challenge.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let value = |key: &str| {
        let start = rest.find(&format!("{key}=\""))? + key.len() + 2;
        rest[start..].split_once('"').map(|(value, _)| value.to_owned())
    };
    let realm =
        value("realm").filter(|realm| realm.starts_with("https://") || realm.starts_with("http://127.0.0.1"))?;
    let query: Vec<String> = ["service", "scope"]
        .iter()
        .filter_map(|key| value(key).map(|value| format!("{key}={}", escape(&value))))
        .collect();
    let joint = if realm.contains('?') { '&' } else { '?' };
    Some(if query.is_empty() {
        realm
    } else {
        format!("{realm}{joint}{}", query.join("&"))
    })
}

/// Percent-encoding of a query value.
fn escape(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    text.bytes()
        .map(|b| {
            if plain(b) {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}
