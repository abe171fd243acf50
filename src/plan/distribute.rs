//! Who a downstream is upstream, which of its tokens are alive, and whether a new one is due. Pure decisions of
//! `distribute-token`, `rotate` and `revoke`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Manifest;
use super::bootstrap::{labels, reader_rules, role, role_binding, service_account};
use super::names::{
    ANCHOR_TYPE, ANNOTATION_CLUSTER_UID, ANNOTATION_EXPIRES, ANNOTATION_GENERATION, ANNOTATION_HUB, ANNOTATION_ISSUED,
    ANNOTATION_TARGET, ANNOTATION_TOKEN_ID, CA_CONFIG_MAP, IDENTITY_NAMESPACE, LABEL_CLUSTER, Part, READER_ROLE, STORE,
    TOKEN_SECRET,
};

/// Which Secrets a downstream may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// The shared Role: everything in the data namespace.
    All,
    /// A Role of its own, limited to these names.
    Names(Vec<String>),
}

/// The ServiceAccount (and binding, and narrow Role) name of a downstream.
pub fn identity_name(cid: &str) -> String {
    format!("{STORE}-{cid}")
}

/// Name of the anchor of one token generation.
pub fn anchor_name(cid: &str, generation: u64) -> String {
    format!("{STORE}-{cid}-gen-{generation}")
}

/// ServiceAccount, Role (if narrow) and RoleBinding of one downstream; rights before credential.
pub fn identity(cid: &str, cluster_uid: Option<&str>, data_namespace: &str, scope: &Scope) -> Vec<Manifest> {
    let name = identity_name(cid);
    let annotations = cluster_uid.map_or(Value::Null, |uid| json!({ANNOTATION_CLUSTER_UID: uid}));
    let mut out = vec![service_account(IDENTITY_NAMESPACE, &name, Some(cid), &annotations)];
    let role_name = match scope {
        Scope::All => READER_ROLE.to_owned(),
        Scope::Names(names) => {
            out.push(role(data_namespace, &name, &reader_rules(Some(names)), Some(cid)));
            name.clone()
        }
    };
    out.push(role_binding(
        data_namespace,
        &name,
        &role_name,
        (IDENTITY_NAMESPACE, &name),
        Some(cid),
    ));
    out
}

/// The marker that one token generation is bound to; it holds no data and dies with the token.
pub fn anchor(namespace: &str, cid: &str, generation: u64, target: &str) -> Manifest {
    Manifest::ours(json!({
        "apiVersion": "v1", "kind": "Secret", "type": ANCHOR_TYPE,
        "metadata": {
            "name": anchor_name(cid, generation), "namespace": namespace, "labels": labels(Part::Anchor, Some(cid)),
            "annotations": {ANNOTATION_GENERATION: generation.to_string(), ANNOTATION_TARGET: target},
        },
    }))
}

/// What is recorded about a token beside it, downstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// Generation of its anchor.
    pub generation: u64,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// When it expires, as granted.
    pub expires_at: Timestamp,
    /// Its `jti`.
    pub token_id: String,
    /// UID of the upstream's `kube-system`.
    pub hub: String,
}

/// The downstream token Secret; `token` is `None` for display, where a placeholder stands for it.
pub fn token_secret(namespace: &str, cid: &str, record: Option<&TokenRecord>, token: Option<&str>) -> Manifest {
    let mut annotations = json!({});
    if let Some(record) = record {
        annotations = json!({
            ANNOTATION_EXPIRES: record.expires_at.to_string(),
            ANNOTATION_ISSUED: record.issued_at.to_string(),
            ANNOTATION_GENERATION: record.generation.to_string(),
            ANNOTATION_TOKEN_ID: record.token_id,
            ANNOTATION_HUB: record.hub,
        });
    }
    Manifest::ours(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": TOKEN_SECRET, "namespace": namespace, "labels": labels(Part::Credential, Some(cid)), "annotations": annotations},
        // Plain `data`: server-side apply does not track what it made of `stringData`.
        "data": {"token": token.map_or_else(|| "<token>".to_owned(), base64)},
    }))
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// The downstream CA ConfigMap.
pub fn ca_config_map(namespace: &str, cid: &str, pem: &str) -> Manifest {
    Manifest::ours(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": CA_CONFIG_MAP, "namespace": namespace, "labels": labels(Part::Credential, Some(cid))},
        "data": {"ca.crt": pem},
    }))
}

/// Reads the record back from a token Secret; `None` where it is not ours or incomplete.
pub fn record_of(secret: &Value) -> Option<TokenRecord> {
    let text = |key: &str| {
        secret
            .pointer("/metadata/annotations")
            .and_then(|a| a.get(key))
            .and_then(Value::as_str)
    };
    Some(TokenRecord {
        generation: text(ANNOTATION_GENERATION)?.parse().ok()?,
        issued_at: text(ANNOTATION_ISSUED)?.parse().ok()?,
        expires_at: text(ANNOTATION_EXPIRES)?.parse().ok()?,
        token_id: text(ANNOTATION_TOKEN_ID).unwrap_or_default().to_owned(),
        hub: text(ANNOTATION_HUB).unwrap_or_default().to_owned(),
    })
}

/// An anchor as seen upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Its generation.
    pub generation: u64,
    /// `namespace/name` of the downstream Secret its token was meant for.
    pub target: String,
    /// Object name.
    pub name: String,
    /// UID, the guard of its deletion.
    pub uid: String,
}

/// Reads an anchor; `None` for anything else.
pub fn anchor_of(secret: &Value) -> Option<Anchor> {
    if secret.get("type").and_then(Value::as_str) != Some(ANCHOR_TYPE) {
        return None;
    }
    let meta = secret.get("metadata")?;
    let text = |key: &str| meta.get("annotations").and_then(|a| a.get(key)).and_then(Value::as_str);
    Some(Anchor {
        generation: text(ANNOTATION_GENERATION)?.parse().ok()?,
        target: text(ANNOTATION_TARGET).unwrap_or_default().to_owned(),
        name: meta.get("name")?.as_str()?.to_owned(),
        uid: meta.get("uid")?.as_str()?.to_owned(),
    })
}

/// The id of the downstream with this `kube-system` UID, read back from the upstream's accounts: a colleague with other
/// context names finds the same identity.
pub fn cid_of_cluster(accounts: &[Value], cluster_uid: &str) -> Option<String> {
    accounts.iter().find_map(|account| {
        let meta = account.get("metadata")?;
        let uid = meta.pointer("/annotations")?.get(ANNOTATION_CLUSTER_UID)?.as_str()?;
        (uid == cluster_uid).then(|| meta.pointer("/labels")?.get(LABEL_CLUSTER)?.as_str().map(str::to_owned))?
    })
}

/// The `kube-system` UID recorded for an id, if any: two clusters must not share an id.
pub fn cluster_of_cid(accounts: &[Value], cid: &str) -> Option<String> {
    let account = accounts.iter().find(|a| {
        a.pointer("/metadata/labels")
            .and_then(|l| l.get(LABEL_CLUSTER))
            .and_then(Value::as_str)
            == Some(cid)
    })?;
    account
        .pointer("/metadata/annotations")?
        .get(ANNOTATION_CLUSTER_UID)?
        .as_str()
        .map(str::to_owned)
}

/// Why a new token is needed, or that none is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// The stored token is good for long enough.
    No,
    /// There is none, or not one of ours.
    Missing,
    /// Its anchor is gone: it was revoked.
    Revoked,
    /// It has run out, or soon will.
    Expiring,
    /// It comes from another upstream.
    OtherHub,
    /// The upstream refuses it, or it could not be proved.
    Refused,
    /// Asked for by the user.
    Forced,
}

/// What a decision about a token looks at.
#[derive(Debug, Clone)]
pub struct TokenState<'a> {
    /// Record of the stored token, if there is one of ours.
    pub record: Option<&'a TokenRecord>,
    /// Anchors of this id and target.
    pub anchors: &'a [Anchor],
    /// UID of the upstream's `kube-system`.
    pub hub: &'a str,
    /// Whether the upstream accepts the stored token; `None` where that was not asked.
    pub accepted: Option<bool>,
}

/// Is a new token due? `min_remaining`: absolute minimum; without it one third of the token's life.
pub fn due(state: &TokenState<'_>, now: Timestamp, min_remaining: Option<Duration>, force: bool) -> Due {
    let Some(record) = state.record else {
        return Due::Missing;
    };
    if force {
        return Due::Forced;
    }
    if !state.hub.is_empty() && record.hub != state.hub {
        return Due::OtherHub;
    }
    if !state.anchors.iter().any(|a| a.generation == record.generation) {
        return Due::Revoked;
    }
    let life = record.expires_at.duration_since(record.issued_at);
    let needed = min_remaining.map_or(life / 3, |d| SignedDuration::try_from(d).unwrap_or(SignedDuration::MAX));
    if record.expires_at.duration_since(now) <= needed {
        return Due::Expiring;
    }
    if state.accepted == Some(false) {
        Due::Refused
    } else {
        Due::No
    }
}

/// Generation of the next token: above everything that was ever seen.
pub fn next_generation(anchors: &[Anchor], record: Option<&TokenRecord>) -> u64 {
    let highest = anchors.iter().map(|a| a.generation).max().unwrap_or(0);
    highest.max(record.map_or(0, |r| r.generation)) + 1
}

/// Anchors that may go: those whose token never reached the downstream (generation above the stored one) at once, old
/// ones once the stored token has been in place for the overlap. The stored generation stays. Only anchors meant for
/// `target` are judged, since one cluster may hold tokens in several namespaces.
pub fn retirable(
    anchors: &[Anchor],
    target: &str,
    record: Option<&TokenRecord>,
    now: Timestamp,
    overlap: Duration,
) -> Vec<Anchor> {
    let overlap = SignedDuration::try_from(overlap).unwrap_or(SignedDuration::MAX);
    anchors
        .iter()
        .filter(|a| a.target == target)
        .filter(|a| match record {
            None => true,
            Some(r) if a.generation > r.generation => true,
            Some(r) => a.generation < r.generation && now.duration_since(r.issued_at) >= overlap,
        })
        .cloned()
        .collect()
}

/// A scope as the binding and the own Role say it, so that a rerun without flags keeps it.
pub fn scope_of(binding: Option<&Value>, own_role: Option<&Value>, cid: &str) -> Option<Scope> {
    let bound = binding?.pointer("/roleRef/name")?.as_str()?;
    if bound == READER_ROLE {
        return Some(Scope::All);
    }
    if bound != identity_name(cid) {
        return None;
    }
    own_role.map(scope_of_role)
}

/// What a reader Role admits: names, or everything where a rule carries none.
pub fn scope_of_role(role: &Value) -> Scope {
    let rules = role
        .get("rules")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut names = Vec::new();
    for rule in rules {
        match rule.get("resourceNames").and_then(Value::as_array) {
            None => return Scope::All,
            Some(listed) => names.extend(listed.iter().filter_map(|n| n.as_str().map(str::to_owned))),
        }
    }
    Scope::Names(names)
}

#[cfg(test)]
mod tests;
