//! Generators of an ExternalSecret or a PushSecret: find the object, make the values, keep the state for a later clean-up.

use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use super::context::Context;
use super::external_secret::{EntryError, Retry};
use super::queue::Key;
use crate::api::generator::{GeneratorKindInfo, GeneratorRef, generator_kind};
use crate::api::{GENERATORS_GROUP, V1ALPHA1};
use crate::cluster::error::ClusterError;
use crate::cluster::rest::{Resource, query_escape};
use crate::generator::{GenerateRequest, entry};
use crate::secret::SecretData;
use crate::target::hash;

const BASE: &str = "apis/generators.external-secrets.io/v1alpha1";
const STATES: Resource = Resource {
    base: BASE,
    plural: "generatorstates",
};
const CLUSTER_GENERATORS: Resource = Resource {
    base: BASE,
    plural: "clustergenerators",
};
const OWNER_KEY: &str = "generators.external-secrets.io/owner-key";

/// Whom a generator runs for, and who owns the states it leaves.
pub struct Owner<'a> {
    /// The cluster.
    pub cx: &'a Context,
    /// Kind, namespace and name.
    pub key: &'a Key,
    /// `apiVersion` of the kind.
    pub api_version: &'static str,
    /// UID.
    pub uid: &'a str,
    /// States are kept whatever the settings say (ESO's flag is about ExternalSecrets).
    pub always: bool,
}

impl Owner<'_> {
    fn keeps_state(&self) -> bool {
        self.always || self.cx.settings.generator_state
    }
}

/// A generator as it runs: its kind and the whole object.
struct Resolved {
    kind: String,
    object: Value,
}

/// Why no generator can be had.
enum ResolveError {
    /// Never worth another try.
    Terminal(String),
    /// Perhaps later.
    Later(String),
}

impl From<ResolveError> for EntryError {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::Terminal(e) => {
                Self::Other(format!("unable to get generator: terminal error: {e}"), Retry::Never)
            }
            ResolveError::Later(e) => Self::Other(format!("unable to get generator: {e}"), Retry::Backoff),
        }
    }
}

/// True where the generator can be read and names another class.
pub async fn is_foreign(pass: &Owner<'_>, reference: &GeneratorRef) -> bool {
    let worth_reading =
        reference.kind == "ClusterGenerator" || generator_kind(&reference.kind).is_some_and(|row| row.has_controller);
    if !worth_reading {
        return false;
    }
    let Ok(found) = resolve(pass, reference).await else {
        return false;
    };
    let controller = found
        .object
        .pointer("/spec/controller")
        .and_then(Value::as_str)
        .unwrap_or_default();
    !controller.is_empty() && controller != pass.cx.settings.class
}

async fn resolve(pass: &Owner<'_>, reference: &GeneratorRef) -> Result<Resolved, ResolveError> {
    check_group(reference)?;
    if reference.kind == "ClusterGenerator" {
        return resolve_cluster(pass, reference).await;
    }
    let row = generator_kind(&reference.kind).ok_or_else(|| {
        let gvk = format!("{}, Kind={}", reference.api_version, reference.kind);
        ResolveError::Terminal(format!("generatorRef references unknown GVK {gvk}"))
    })?;
    let resource = Resource {
        base: BASE,
        plural: row.plural,
    };
    let object = read(pass, resource, &pass.key.namespace, &reference.name, &reference.kind).await?;
    Ok(Resolved {
        kind: reference.kind.clone(),
        object,
    })
}

fn check_group(reference: &GeneratorRef) -> Result<(), ResolveError> {
    let version = &reference.api_version;
    let mut parts = version.split('/');
    let (first, second, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    if more.is_some() {
        let text = format!("generatorRef has invalid APIVersion: unexpected GroupVersion string: {version}");
        return Err(ResolveError::Terminal(text));
    }
    let group = if second.is_some() { first } else { "" };
    if group != GENERATORS_GROUP {
        let text = format!("generatorRef may only reference the generators group, but got {group}");
        return Err(ResolveError::Terminal(text));
    }
    Ok(())
}

async fn read(
    pass: &Owner<'_>,
    resource: Resource,
    namespace: &str,
    name: &str,
    kind: &str,
) -> Result<Value, ResolveError> {
    let read: Result<Value, ClusterError> = pass.cx.rest.get(&resource.object(namespace, name)).await;
    read.map_err(|error| {
        if error.is_not_found() {
            ResolveError::Later(format!(r#"{kind}.{GENERATORS_GROUP} "{name}" not found"#))
        } else {
            ResolveError::Later(error.to_string())
        }
    })
}

async fn resolve_cluster(pass: &Owner<'_>, reference: &GeneratorRef) -> Result<Resolved, ResolveError> {
    let object = read(pass, CLUSTER_GENERATORS, "", &reference.name, "ClusterGenerator").await?;
    let kind = object
        .pointer("/spec/kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let Some(row) = generator_kind(&kind) else {
        return Err(ResolveError::Terminal(format!(
            "ClusterGenerator has unknown kind {kind}"
        )));
    };
    let spec = object
        .pointer("/spec/generator")
        .and_then(|g| g.get(row.spec_member))
        .filter(|s| !s.is_null());
    let Some(spec) = spec else {
        let text = format!(
            "invalid ClusterGenerator: when kind is {kind}, {} must be set",
            go_member(row)
        );
        return Err(ResolveError::Terminal(text));
    };
    let object = json!({
        "apiVersion": format!("{GENERATORS_GROUP}/{V1ALPHA1}"), "kind": kind,
        "metadata": { "creationTimestamp": null }, "spec": spec,
    });
    Ok(Resolved { kind, object })
}

/// The member as Go's type names it: `UUIDSpec` for `uuidSpec`.
fn go_member(row: &GeneratorKindInfo) -> String {
    format!("{}Spec", row.kind)
}

/// What one pass generated, and what is to become of the states.
#[derive(Default)]
pub struct Session {
    made: Vec<Made>,
    superseded: Vec<String>,
}

struct Made {
    index: String,
    kind: String,
    object: Value,
    state: Option<Value>,
}

impl Session {
    /// An entry that is no generator (any more) flags the states an earlier one left.
    pub fn supersede(&mut self, index: impl ToString) {
        self.superseded.push(index.to_string());
    }

    /// Runs one generator.
    ///
    /// # Errors
    /// ESO's texts.
    pub async fn generate(
        &mut self,
        pass: &Owner<'_>,
        reference: &GeneratorRef,
        index: impl ToString,
    ) -> Result<SecretData, EntryError> {
        let found = resolve(pass, reference).await?;
        let Some(row) = entry(&found.kind) else {
            let text = format!(
                "generator {} is known to the External Secrets Operator but not served",
                found.kind
            );
            return Err(ResolveError::Later(text).into());
        };
        let request = GenerateRequest {
            object: &found.object,
            namespace: &pass.key.namespace,
            credentials: &pass.cx.credentials,
        };
        let made = (row.generate)(request)
            .await
            .map_err(|e| EntryError::Other(format!("error using generator: {e}"), Retry::Backoff))?;
        self.made.push(Made {
            index: index.to_string(),
            kind: found.kind,
            object: found.object,
            state: made.state,
        });
        Ok(made.data)
    }

    /// After a good fetch: older states get their deadline, new ones are kept.
    ///
    /// # Errors
    /// The fetch counts as failed then.
    pub async fn commit(self, pass: &Owner<'_>) -> Result<(), String> {
        if !pass.keeps_state() {
            return Ok(());
        }
        // Only an ExternalSecret that ever had a generator with state can have something to flag.
        let stateful = self.made.iter().any(|m| m.state.is_some());
        for made in self.made.iter().filter(|m| m.state.is_some()) {
            flag_older(pass, &owner_key(pass, &made.index))
                .await
                .map_err(|e| e.to_string())?;
            keep(pass, made, None).await.map_err(|e| e.to_string())?;
        }
        if !stateful && pass.cx.memory.may_have_states(pass.key) {
            for index in self.superseded.iter().chain(self.made.iter().map(|m| &m.index)) {
                flag_older(pass, &owner_key(pass, index))
                    .await
                    .map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    }

    /// After a failed fetch: what was made is taken back, or kept with a deadline of now.
    ///
    /// # Errors
    /// The state could not be kept.
    pub async fn roll_back(self, pass: &Owner<'_>) -> Result<(), String> {
        for made in self.made {
            let (Some(state), Some(row)) = (&made.state, entry(&made.kind)) else {
                continue;
            };
            let namespace = &*pass.key.namespace;
            let request = GenerateRequest {
                object: &made.object,
                namespace,
                credentials: &pass.cx.credentials,
            };
            if (row.clean_up)(request, state).await.is_err() && pass.keeps_state() {
                keep(pass, &made, Some(Timestamp::now()))
                    .await
                    .map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    }
}

fn owner_key(pass: &Owner<'_>, index: &str) -> String {
    let (namespace, name) = (&*pass.key.namespace, &*pass.key.name);
    hash::of_text(&format!("{}-{namespace}-{name}-{index}", pass.key.kind))
}

#[derive(Deserialize)]
struct StateList {
    #[serde(default)]
    items: Vec<StateItem>,
}

#[derive(Deserialize)]
struct StateItem {
    metadata: StateMeta,
    #[serde(default)]
    spec: StateSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StateMeta {
    name: String,
    #[serde(default)]
    creation_timestamp: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct StateSpec {
    #[serde(default)]
    garbage_collection_deadline: Option<String>,
}

/// Gives every unflagged state of this entry but the newest its deadline.
async fn flag_older(pass: &Owner<'_>, owner: &str) -> Result<(), ClusterError> {
    let namespace = &*pass.key.namespace;
    let selector = query_escape(&format!("{OWNER_KEY}={owner}"));
    let path = format!("{}?labelSelector={selector}", STATES.collection(namespace));
    let list: StateList = serde_json::from_slice(&pass.cx.rest.call(Method::GET, &path, None, Vec::new()).await?)
        .map_err(|_| ClusterError::Decode {
            message: "a list of generator states".to_owned(),
        })?;
    let mut open: Vec<&StateItem> = list
        .items
        .iter()
        .filter(|s| s.spec.garbage_collection_deadline.is_none())
        .collect();
    open.sort_by(|a, b| b.metadata.creation_timestamp.cmp(&a.metadata.creation_timestamp));
    let grace = SignedDuration::try_from(pass.cx.settings.generator_grace).unwrap_or(SignedDuration::ZERO);
    let deadline =
        crate::target::condition::whole_seconds(Timestamp::now().saturating_add(grace).unwrap_or(Timestamp::MAX));
    for state in open.into_iter().skip(1) {
        let patch = json!({ "spec": { "garbageCollectionDeadline": deadline.to_string() } });
        pass.cx
            .writer
            .merge_patch(&STATES, namespace, &state.metadata.name, &patch, "")
            .await?;
    }
    Ok(())
}

async fn keep(pass: &Owner<'_>, made: &Made, deadline: Option<Timestamp>) -> Result<(), ClusterError> {
    let Some(state) = &made.state else { return Ok(()) };
    let (namespace, name) = (&*pass.key.namespace, &*pass.key.name);
    let mut spec = json!({ "resource": made.object, "state": state });
    if let Some(at) = deadline {
        spec["garbageCollectionDeadline"] = json!(crate::target::condition::whole_seconds(at).to_string());
    }
    let prefix = format!("gen-{}-{name}-", pass.key.kind.to_lowercase());
    let body = json!({
        "apiVersion": format!("{GENERATORS_GROUP}/{V1ALPHA1}"),
        "kind": "GeneratorState",
        "metadata": {
            "generateName": prefix, "namespace": namespace,
            "labels": { OWNER_KEY: owner_key(pass, &made.index) },
            "ownerReferences": [{
                "apiVersion": pass.api_version, "kind": pass.key.kind,
                "name": name, "uid": pass.uid,
            }],
        },
        "spec": spec,
    });
    pass.cx.memory.set_may_have_states(pass.key);
    pass.cx
        .writer
        .create(&STATES, namespace, &prefix, body.to_string().into_bytes(), "")
        .await
        .map(|_| ())
}
