//! Sizes at which a Bundle stops fitting through one of the doors on its way.
use serde_json::Value;

use super::gojson;

/// JSON bytes at which Fleet's own command compresses a bundle.
pub const COMPRESSION_THRESHOLD: usize = 1_000_000;
/// All annotations of one object together (Kubernetes API validation). Client-side `kubectl apply` puts
/// the whole object into one.
pub const ANNOTATIONS_LIMIT: usize = 262_144;
/// Default request limit of etcd.
pub const ETCD_LIMIT: usize = 1_572_864;
/// Largest request body the API server reads.
pub const REQUEST_LIMIT: usize = 3_145_728;

/// Key of the annotation that client-side apply writes.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A limit that a bundle passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeNotice {
    /// Name of the bundle.
    pub bundle: String,
    /// Bytes of its JSON form.
    pub bytes: usize,
    /// The limit in bytes.
    pub limit: usize,
    /// Which limit.
    pub kind: SizeLimit,
}

/// The limits, from the one that is met first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SizeLimit {
    /// Client-side apply: the last-applied annotation.
    ClientSideApply,
    /// etcd's request size.
    Etcd,
    /// The API server's request body.
    Request,
}

impl std::fmt::Display for SizeNotice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            bundle,
            bytes,
            limit,
            kind,
        } = self;
        match kind {
            SizeLimit::ClientSideApply => write!(
                f,
                "bundle {bundle} is {bytes} bytes: plain `kubectl apply` fails above {limit} (its annotation holds the whole object); use `kubectl apply --server-side`, `kubectl create` or `--apply`, or make it smaller with --compress or a HelmOp"
            ),
            SizeLimit::Etcd => write!(
                f,
                "bundle {bundle} is {bytes} bytes: etcd refuses requests above {limit} by default; use --compress, split it, or install the chart as a HelmOp"
            ),
            SizeLimit::Request => write!(
                f,
                "bundle {bundle} is {bytes} bytes: the API server refuses requests above {limit}; use --compress, split it, or install the chart as a HelmOp"
            ),
        }
    }
}

/// JSON bytes of a bundle as the original measures it: with an empty status, before the namespace is set.
#[must_use]
pub fn json_bytes(bundle: &Value) -> usize {
    // kind, apiVersion and namespace are set later there; status and an unset time are already printed.
    const EMPTY_STATUS: &str = r#","status":{"summary":{"ready":0,"desiredReady":0},"unavailable":0,"unavailablePartitions":0,"maxUnavailable":0,"maxUnavailablePartitions":0,"display":{},"observedGeneration":0}"#;
    let mut measured = bundle.clone();
    if let Value::Object(map) = &mut measured {
        map.remove("kind");
        map.remove("apiVersion");
        if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
            metadata.remove("namespace");
        }
    }
    gojson::encode(&measured).len() + EMPTY_STATUS.len()
}

/// The limits a finished bundle passes, the lowest first.
#[must_use]
pub fn check(bundle: &Value) -> Vec<SizeNotice> {
    let bytes = gojson::encode(bundle).len();
    let name = bundle
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    // The annotation ends in a line break and the object in it carries an empty annotation map.
    let annotation = bytes + LAST_APPLIED.len() + r#""annotations":{},"#.len() + 1 + other_annotations(bundle);
    [
        (SizeLimit::ClientSideApply, annotation, ANNOTATIONS_LIMIT),
        (SizeLimit::Etcd, bytes, ETCD_LIMIT),
        (SizeLimit::Request, bytes, REQUEST_LIMIT),
    ]
    .into_iter()
    .filter(|(_, size, limit)| size > limit)
    .map(|(kind, _, limit)| SizeNotice {
        bundle: name.to_owned(),
        bytes,
        limit,
        kind,
    })
    .collect()
}

fn other_annotations(bundle: &Value) -> usize {
    let annotations = bundle.pointer("/metadata/annotations").and_then(Value::as_object);
    annotations
        .into_iter()
        .flatten()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum()
}
