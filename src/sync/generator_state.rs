//! GeneratorState: what a generator made is taken back when its time has come or its owner is gone.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::context::Context;
use super::event::SyncEvent;
use super::kind::{Hub, Kind, Watch};
use super::queue::{Key, Next, Priority};
use crate::api::generator::{GeneratorState, GeneratorStateSpec};
use crate::cluster::cache::Cache;
use crate::cluster::error::ClusterError;
use crate::cluster::rest::GENERATOR_STATES;
use crate::cluster::watch::Scope;
use crate::generator::{GenerateRequest, entry};

const GENERATOR_STATE: &str = "GeneratorState";
const FINALIZER: &str = "generatorstate.externalsecrets.io/finalizer";
/// No clean-up takes longer.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(120);

/// Drives GeneratorStates.
#[derive(Default)]
pub struct GeneratorStateKind {
    objects: Arc<Cache<GeneratorState>>,
}

impl GeneratorStateKind {
    /// The kind.
    pub fn boxed() -> Box<dyn Kind> {
        Box::new(Self::default())
    }

    async fn set_finalizer(&self, cx: &Context, object: &GeneratorState, wanted: bool) -> Result<(), ClusterError> {
        let meta = &object.metadata;
        let mut finalizers = meta.finalizers.clone().unwrap_or_default();
        finalizers.retain(|f| f != FINALIZER);
        if wanted {
            finalizers.push(FINALIZER.to_owned());
        }
        let gone = finalizers.is_empty() && meta.deletion_timestamp.is_some();
        let patch = json!({ "metadata": { "finalizers": finalizers, "resourceVersion": meta.resource_version } });
        let (namespace, name) = (object.namespace(), object.name());
        let answer = cx
            .writer
            .merge_patch(&GENERATOR_STATES, namespace, name, &patch, "")
            .await?;
        if let (Some(bytes), false) = (answer, gone)
            && let Ok(fresh) = serde_json::from_slice::<GeneratorState>(&bytes)
        {
            self.objects.put(fresh);
        }
        Ok(())
    }

    async fn step(&self, cx: &Context, object: &GeneratorState) -> Result<Next, String> {
        let carries = object.metadata.finalizers.iter().flatten().any(|f| f == FINALIZER);
        let text = |e: ClusterError| e.to_string();
        let spec = object.spec.as_result().map_err(str::to_owned)?;
        if object.metadata.deletion_timestamp.is_some() {
            if carries {
                clean_up(cx, object.namespace(), spec).await?;
                self.set_finalizer(cx, object, false)
                    .await
                    .or_else(absent_is_done)
                    .map_err(text)?;
            }
            return Ok(Next::Wait);
        }
        if !carries {
            self.set_finalizer(cx, object, true)
                .await
                .or_else(absent_is_done)
                .map_err(text)?;
        }
        let Some(deadline) = &spec.garbage_collection_deadline else {
            return Ok(Next::Wait);
        };
        let left = Duration::try_from(deadline.0.duration_since(Timestamp::now())).unwrap_or_default();
        if !left.is_zero() {
            return Ok(Next::After(left.saturating_add(Duration::from_millis(20))));
        }
        let uid = object.metadata.uid.as_deref().unwrap_or_default();
        cx.writer
            .delete(&GENERATOR_STATES, object.namespace(), object.name(), uid)
            .await
            .map_err(text)?;
        Ok(Next::Wait)
    }
}

fn absent_is_done(error: ClusterError) -> Result<(), ClusterError> {
    if error.is_not_found() { Ok(()) } else { Err(error) }
}

async fn clean_up(cx: &Context, namespace: &str, spec: &GeneratorStateSpec) -> Result<(), String> {
    let object = spec.resource.expose();
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let Some(row) = entry(kind) else {
        return Err("could not get generator: generator not found".to_owned());
    };
    if cx.settings.shadow {
        return Ok(());
    }
    let request = GenerateRequest {
        object,
        namespace,
        credentials: &cx.credentials,
    };
    let work = (row.clean_up)(request, spec.state.expose());
    match tokio::time::timeout(CLEAN_UP_TIMEOUT, work).await {
        Ok(done) => done.map_err(|e| format!("could not cleanup generator state: {e}")),
        Err(_) => Err("could not cleanup generator state: no answer in 120 seconds".to_owned()),
    }
}

#[async_trait]
impl Kind for GeneratorStateKind {
    fn name(&self) -> &'static str {
        GENERATOR_STATE
    }

    fn start(&self, cx: &Arc<Context>, hub: &mut Hub) {
        let namespace = cx.namespace.as_deref().unwrap_or_default();
        let queue = cx.queue.clone();
        self.objects.listen(vec![Box::new(move |(namespace, name), delta| {
            if !delta.own_write {
                queue.add(Key::new(GENERATOR_STATE, namespace, name), Priority::Periodic);
            }
        })]);
        let scope = Scope::all(GENERATOR_STATES.collection(namespace));
        hub.watches.push(Watch::of(GENERATOR_STATES, scope, &self.objects));
    }

    async fn reconcile(&self, cx: &Arc<Context>, key: &Key) -> Next {
        let Some(object) = self.objects.get(&key.namespace, &key.name) else {
            return Next::Wait;
        };
        match self.step(cx, &object).await {
            Ok(next) => next,
            Err(message) => {
                cx.tell(SyncEvent::Failed {
                    key: key.clone(),
                    message,
                    retry: None,
                    took: Duration::ZERO,
                });
                Next::Backoff
            }
        }
    }
}
