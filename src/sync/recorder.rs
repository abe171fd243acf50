//! Kubernetes events, as client-go records them: identical ones are counted, similar ones combined, floods cut off, and
//! none of it delays the work.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use futures::stream;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::cluster::rest::EVENTS;
use crate::cluster::write::Writer;

/// How many events may wait; the oldest is dropped beyond that.
const WAITING: usize = 20_000;
/// How many are sent at once: they trail behind the work.
const AT_ONCE: usize = 4;
/// More distinct messages of one reason than this within [`SIMILAR_SECONDS`] are combined.
const SIMILAR: usize = 10;
const SIMILAR_SECONDS: i64 = 600;
/// Events per object, severity and component before the flood gate closes; one more every [`REFILL_SECONDS`].
const BURST: f64 = 25.0;
const REFILL_SECONDS: f64 = 300.0;
/// Remembered events; beyond that memory starts anew.
const REMEMBERED: usize = 8_192;

/// `Normal` or `Warning`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Something happened.
    Normal,
    /// Something failed.
    Warning,
}

/// The object an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Involved {
    /// `apiVersion`.
    pub api_version: &'static str,
    /// `kind`.
    pub kind: &'static str,
    /// Namespace, or empty.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// resourceVersion; not part of the identity.
    pub resource_version: String,
}

/// One occurrence.
#[derive(Debug, Clone)]
pub struct Record {
    /// About what.
    pub involved: Involved,
    /// How bad.
    pub severity: Severity,
    /// Machine-readable cause.
    pub reason: &'static str,
    /// Text.
    pub message: String,
    /// Which of ESO's controllers says so.
    pub component: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct SimilarKey {
    uid: String,
    name: String,
    kind: &'static str,
    severity: Severity,
    reason: &'static str,
    component: &'static str,
}

struct Seen {
    event_name: String,
    count: u64,
}

#[derive(Default)]
struct Memory {
    seen: HashMap<(SimilarKey, String), Seen>,
    similar: HashMap<SimilarKey, (i64, BTreeSet<String>)>,
    buckets: HashMap<(String, String, Severity, &'static str), (f64, i64)>,
}

/// Takes records from anywhere; [`Recorder::run`] sends them.
#[derive(Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

struct Shared {
    waiting: Mutex<VecDeque<Record>>,
    wake: Notify,
    serial: AtomicU64,
}

impl Default for Recorder {
    fn default() -> Self {
        let shared = Shared {
            waiting: Mutex::default(),
            wake: Notify::new(),
            serial: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(shared),
        }
    }
}

impl Recorder {
    /// Queues a record; never blocks.
    pub fn record(&self, record: Record) {
        let mut waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= WAITING {
            waiting.pop_front();
        }
        waiting.push_back(record);
        drop(waiting);
        self.shared.wake.notify_one();
    }

    /// Sends until `stop`, then sends what is left and returns.
    pub async fn run(&self, writer: &Writer, stop: &CancellationToken) {
        let mut memory = Memory::default();
        loop {
            let batch = self.take();
            if batch.is_empty() {
                if stop.is_cancelled() {
                    return;
                }
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = self.shared.wake.notified() => {}
                }
                continue;
            }
            let serial = self.shared.serial.fetch_add(batch.len() as u64, Ordering::Relaxed);
            let requests = memory.plan(batch, Timestamp::now(), serial);
            stream::iter(requests)
                .for_each_concurrent(AT_ONCE, |request| send(writer, request))
                .await;
        }
    }

    fn take(&self) -> Vec<Record> {
        let mut waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let count = waiting.len().min(256);
        waiting.drain(..count).collect()
    }
}

/// A create, or a count raised on an event that exists.
struct Request {
    namespace: String,
    name: String,
    body: Value,
    raise: Option<Value>,
}

async fn send(writer: &Writer, request: Request) {
    // An event that cannot be written is lost, as client-go loses it: it must never fail the work it speaks of.
    if let Some(patch) = &request.raise {
        match writer
            .merge_patch(&EVENTS, &request.namespace, &request.name, patch, "")
            .await
        {
            Err(e) if e.is_not_found() => {}
            _ => return,
        }
    }
    let body = request.body.to_string().into_bytes();
    if let Err(error) = writer
        .create(&EVENTS, &request.namespace, &request.name, body, "")
        .await
    {
        tracing::debug!(%error, "event not recorded");
    }
}

impl Memory {
    fn plan(&mut self, batch: Vec<Record>, now: Timestamp, serial: u64) -> Vec<Request> {
        if self.seen.len() > REMEMBERED {
            *self = Self::default();
        }
        let mut planned: Vec<Request> = Vec::new();
        let mut places: HashMap<(SimilarKey, String), usize> = HashMap::new();
        for (offset, record) in (0_u64..).zip(batch) {
            if !self.admit(&record, now) {
                continue;
            }
            let similar = similar_key(&record);
            let (identity, message) = self.combine(&similar, record.message.clone(), now);
            let key = (similar, identity);
            let request = self.one(&key, &record, &message, now, serial + offset);
            match places.get(&key) {
                // Twice in one batch: the later count replaces the earlier one.
                Some(&place) if planned[place].raise.is_some() => planned[place] = request,
                Some(&place) => planned[place].body = request.body,
                None => {
                    places.insert(key, planned.len());
                    planned.push(request);
                }
            }
        }
        planned
    }

    fn admit(&mut self, record: &Record, now: Timestamp) -> bool {
        let key = (
            record.involved.uid.clone(),
            record.involved.name.clone(),
            record.severity,
            record.component,
        );
        let second = now.as_second();
        let (tokens, at) = self.buckets.entry(key).or_insert((BURST, second));
        #[expect(clippy::cast_precision_loss, reason = "seconds between two events")]
        let refilled = *tokens + (second - *at).max(0) as f64 / REFILL_SECONDS;
        (*tokens, *at) = (refilled.min(BURST), second);
        if *tokens < 1.0 {
            return false;
        }
        *tokens -= 1.0;
        true
    }

    /// The identity under which the event is counted, and its text.
    fn combine(&mut self, similar: &SimilarKey, message: String, now: Timestamp) -> (String, String) {
        let second = now.as_second();
        let (last, messages) = self.similar.entry(similar.clone()).or_insert((second, BTreeSet::new()));
        if second - *last > SIMILAR_SECONDS {
            messages.clear();
        }
        *last = second;
        if messages.contains(&message) || messages.len() < SIMILAR {
            messages.insert(message.clone());
            return (message.clone(), message);
        }
        (String::new(), format!("(combined from similar events): {message}"))
    }

    fn one(
        &mut self,
        key: &(SimilarKey, String),
        record: &Record,
        message: &str,
        now: Timestamp,
        serial: u64,
    ) -> Request {
        let involved = &record.involved;
        let namespace = if involved.namespace.is_empty() {
            "default"
        } else {
            &involved.namespace
        }
        .to_owned();
        let time = crate::target::condition::whole_seconds(now).to_string();
        let nanos = u64::try_from(now.as_nanosecond())
            .unwrap_or_default()
            .wrapping_add(serial);
        let fresh = format!("{}.{nanos:x}", involved.name);
        let seen = self.seen.entry(key.clone()).or_insert(Seen {
            event_name: fresh,
            count: 0,
        });
        seen.count += 1;
        let raise = (seen.count > 1).then(|| json!({ "count": seen.count, "lastTimestamp": time, "message": message }));
        let body = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": { "namespace": namespace, "name": seen.event_name },
            "involvedObject": {
                "apiVersion": involved.api_version, "kind": involved.kind, "namespace": involved.namespace,
                "name": involved.name, "uid": involved.uid, "resourceVersion": involved.resource_version,
            },
            "type": match record.severity { Severity::Normal => "Normal", Severity::Warning => "Warning" },
            "reason": record.reason,
            "message": message,
            "source": { "component": record.component },
            "reportingComponent": record.component,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": seen.count,
        });
        Request {
            namespace,
            name: seen.event_name.clone(),
            body,
            raise,
        }
    }
}

fn similar_key(record: &Record) -> SimilarKey {
    SimilarKey {
        uid: record.involved.uid.clone(),
        name: record.involved.name.clone(),
        kind: record.involved.kind,
        severity: record.severity,
        reason: record.reason,
        component: record.component,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Involved, Memory, Record, Severity};

    fn record(message: &str) -> Record {
        let involved = Involved {
            api_version: "external-secrets.io/v1",
            kind: "ExternalSecret",
            namespace: "orchard".into(),
            name: "es".into(),
            uid: "u".into(),
            resource_version: "1".into(),
        };
        let message = message.to_owned();
        Record {
            involved,
            severity: Severity::Warning,
            reason: "UpdateFailed",
            message,
            component: "external-secrets",
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn identical_events_are_counted_on_one_object() {
        let mut memory = Memory::default();
        let first = memory.plan(vec![record("a"), record("a")], at(1), 0);
        assert_eq!(first.len(), 1);
        assert!(first[0].raise.is_none());
        assert_eq!(first[0].body["count"], 2);
        let second = memory.plan(vec![record("a")], at(2), 9);
        assert_eq!(second[0].raise.as_ref().unwrap()["count"], 3);
        assert_eq!(second[0].name, first[0].name);
    }

    #[test]
    fn many_messages_of_one_reason_are_combined_and_then_cut_off() {
        let mut memory = Memory::default();
        let batch = (0..40).map(|n| record(&format!("m{n}"))).collect();
        let sent = memory.plan(batch, at(1), 0);
        assert_eq!(sent.len(), 11, "ten single ones and one combined");
        assert!(
            sent[10].body["message"]
                .as_str()
                .unwrap()
                .starts_with("(combined from similar events): ")
        );
        assert_eq!(sent[10].body["count"], 15, "25 in all, then the gate is closed");
        assert!(memory.plan(vec![record("later")], at(2), 50).is_empty());
        assert_eq!(memory.plan(vec![record("later")], at(302), 60).len(), 1);
    }
}
