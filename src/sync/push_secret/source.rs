//! What is pushed: one Secret, many by labels, or a generator's output.

use std::collections::BTreeMap;

use http::Method;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::pass::Pass;
use crate::api::push_secret::PushSecretSpec;
use crate::cluster::error::ClusterError;
use crate::cluster::rest::{SECRETS, query_escape};
use crate::provider::PushSource;
use crate::sync::external_secret::{EntryError, Retry};
use crate::sync::generate::Session;
use crate::target::TargetSecret;

/// Under which generator states of a PushSecret are kept.
const STATE_KEY: &str = "__pushsecret";
const GENERATED: &str = "___generated-secret";

/// One source and the version that was read.
pub struct Source {
    /// What is pushed.
    pub secret: PushSource,
    /// resourceVersion; empty for a generator's output.
    pub version: String,
    /// A generator would make it; it was not run, because nothing is to be written.
    pub pending: bool,
}

/// Why there is no source.
pub enum SourceError {
    /// The Secret that is named does not exist.
    Missing(String),
    /// Anything else; whether it is worth another try.
    Failed(String, Retry),
}

/// The sources, in the order they are pushed.
///
/// # Errors
/// The true cause; the condition does not show it.
pub async fn resolve(pass: &Pass<'_>, spec: &PushSecretSpec) -> Result<Vec<Source>, SourceError> {
    let secret = spec.selector.secret.as_ref();
    if let Some(named) = secret.filter(|s| !s.name.is_empty()) {
        let mut session = Session::default();
        session.supersede(STATE_KEY);
        commit(pass, session).await;
        return one(pass, &named.name).await.map(|source| vec![source]);
    }
    if spec.selector.generator_ref.is_some() {
        return generated(pass, spec).await;
    }
    match secret.and_then(|s| s.selector.as_ref()) {
        Some(selector) => listed(pass, selector).await,
        None => Err(SourceError::Failed(
            "no secret selector provided".to_owned(),
            Retry::Backoff,
        )),
    }
}

async fn commit(pass: &Pass<'_>, session: Session) {
    if let Err(error) = session.commit(&pass.owner()).await {
        tracing::warn!(key = %pass.key, %error, "generator states not kept");
    }
}

async fn one(pass: &Pass<'_>, name: &str) -> Result<Source, SourceError> {
    let path = SECRETS.object(&pass.key.namespace, name);
    match pass.cx.rest.call(Method::GET, &path, None, Vec::new()).await {
        Ok(bytes) => decode(&bytes),
        Err(error) if error.is_not_found() => Err(SourceError::Missing(error.to_string())),
        Err(error) => Err(failed(&error)),
    }
}

fn failed(error: &ClusterError) -> SourceError {
    SourceError::Failed(error.to_string(), Retry::Backoff)
}

fn decode(bytes: &[u8]) -> Result<Source, SourceError> {
    let secret = TargetSecret::from_json(bytes).map_err(|e| SourceError::Failed(e, Retry::Backoff))?;
    Ok(Source {
        version: secret.resource_version.clone(),
        pending: false,
        secret: PushSource {
            name: secret.name.clone(),
            secret_type: Some(secret.secret_type.clone()),
            labels: secret.labels.clone(),
            annotations: secret.annotations.clone(),
            data: secret.data.clone(),
        },
    })
}

async fn generated(pass: &Pass<'_>, spec: &PushSecretSpec) -> Result<Vec<Source>, SourceError> {
    let Some(reference) = &spec.selector.generator_ref else {
        return Ok(Vec::new());
    };
    let mut source = PushSource {
        name: GENERATED.to_owned(),
        ..PushSource::default()
    };
    if pass.cx.settings.shadow {
        return Ok(vec![Source {
            secret: source,
            version: String::new(),
            pending: true,
        }]);
    }
    let mut session = Session::default();
    let made = session.generate(&pass.owner(), reference, STATE_KEY).await;
    let made = made.map_err(|error| {
        let (text, retry) = match error {
            EntryError::Other(text, retry) => (text, retry),
            EntryError::NoSecret(text) => (text, Retry::Backoff),
            EntryError::Parked(key) => (key.to_string(), Retry::Backoff),
        };
        SourceError::Failed(
            format!("could not resolve secret from generator ref {}: {text}", reference.name),
            retry,
        )
    })?;
    commit(pass, session).await;
    source.data = made;
    Ok(vec![Source {
        secret: source,
        version: String::new(),
        pending: false,
    }])
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

async fn listed(pass: &Pass<'_>, selector: &LabelSelector) -> Result<Vec<Source>, SourceError> {
    let text = selector_text(selector).map_err(|e| SourceError::Failed(e, Retry::Backoff))?;
    let path = format!(
        "{}?labelSelector={}",
        SECRETS.collection(&pass.key.namespace),
        query_escape(&text)
    );
    let bytes = pass
        .cx
        .rest
        .call(Method::GET, &path, None, Vec::new())
        .await
        .map_err(|e| failed(&e))?;
    let list: List<'_> = serde_json::from_slice(&bytes)
        .map_err(|_| SourceError::Failed("unexpected answer to a list of Secrets".to_owned(), Retry::Backoff))?;
    list.items.iter().map(|raw| decode(raw.get().as_bytes())).collect()
}

/// A label selector as a query takes it.
fn selector_text(selector: &LabelSelector) -> Result<String, String> {
    let empty = BTreeMap::new();
    let mut parts: Vec<String> = selector
        .match_labels
        .as_ref()
        .unwrap_or(&empty)
        .iter()
        .map(|(k, v)| format!("{k}={v}"))
        .collect();
    for rule in selector.match_expressions.iter().flatten() {
        let values = rule.values.as_deref().unwrap_or_default().join(",");
        let key = &rule.key;
        parts.push(match rule.operator.as_str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.clone(),
            "DoesNotExist" => format!("!{key}"),
            other => return Err(format!("{other:?} is not a valid label selector operator")),
        });
    }
    Ok(parts.join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::selector_text;

    #[test]
    fn a_selector_becomes_a_query() {
        let selector = serde_json::from_value(json!({
            "matchLabels": {"a": "1"},
            "matchExpressions": [
                {"key": "b", "operator": "In", "values": ["x", "y"]}, {"key": "c", "operator": "DoesNotExist"},
            ],
        }));
        assert_eq!(selector_text(&selector.unwrap()).unwrap(), "a=1,b in (x,y),!c");
    }
}
