//! Runs the loop over many clusters: one task each, each with its own watches, queue and passes.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::KINDS;
use super::context::{Context, Memory};
use super::credential_watch::CredentialWatches;
use super::event::{Change, Sink, SyncEvent};
use super::gate::{Fence, LoopGate};
use super::guard;
use super::index::Index;
use super::kind::{Hub, Kind, Watch};
use super::leader::{self, Place, Taken};
use super::pause::Pause;
use super::queue::{Key, Next, Priority, Queue};
use super::recorder::Recorder;
use super::settings::{Mode, Settings, SourceWatch};
use super::source_watch;
use crate::cluster::Cluster;
use crate::cluster::cache::Health;
use crate::cluster::credentials::Credentials;
use crate::cluster::rest::Rest;
use crate::cluster::watch::follow;
use crate::cluster::write::Writer;

/// One cluster to serve.
pub struct Target {
    /// The cluster.
    pub cluster: Cluster,
    /// Only this namespace; `None`: all.
    pub namespace: Option<String>,
    /// A name of this run that no other has.
    pub holder: String,
}

/// What became of one cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterReport {
    /// Name of the kubeconfig context.
    pub cluster: String,
    /// ExternalSecrets whose last pass ended well.
    pub ready: usize,
    /// Those whose last pass failed, with the cause.
    pub failed: Vec<(String, String)>,
    /// How many ExternalSecrets carry the finalizer.
    pub with_finalizer: usize,
    /// Why the cluster could not be served at all.
    pub error: Option<String>,
}

/// Serves every target until `stop`, or (by mode) until everything was done once.
pub async fn run(
    settings: Arc<Settings>,
    targets: Vec<Target>,
    sink: Sink,
    stop: CancellationToken,
) -> Vec<ClusterReport> {
    let mut clusters = JoinSet::new();
    for target in targets {
        let (settings, sink, stop) = (settings.clone(), sink.clone(), stop.child_token());
        clusters.spawn(async move {
            let name = target.cluster.context.clone();
            match AssertUnwindSafe(serve(settings, target, sink, stop))
                .catch_unwind()
                .await
            {
                Ok(report) => report,
                Err(_) => ClusterReport {
                    cluster: name,
                    error: Some("internal error".to_owned()),
                    ..ClusterReport::default()
                },
            }
        });
    }
    let mut reports = Vec::new();
    while let Some(done) = clusters.join_next().await {
        reports.extend(done);
    }
    reports.sort_by(|a, b| a.cluster.cmp(&b.cluster));
    reports
}

/// Outcomes by object, for the report; fed by the events themselves.
#[derive(Default)]
struct Tally {
    failed: HashMap<Key, String>,
    ready: std::collections::HashSet<Key>,
}

impl Tally {
    fn hear(&mut self, event: &SyncEvent) {
        match event {
            SyncEvent::Synced { key, change, .. } => {
                // Not being due says nothing about how the last refresh went.
                if *change != Change::NotDue {
                    self.failed.remove(key);
                }
                self.ready.insert(key.clone());
            }
            SyncEvent::Failed { key, message, .. } => {
                self.ready.remove(key);
                self.failed.insert(key.clone(), message.clone());
            }
            SyncEvent::Released { key } | SyncEvent::NotOurs { key } => {
                self.ready.remove(key);
                self.failed.remove(key);
            }
            _ => {}
        }
    }
}

/// Serves one cluster: takes the Lease, runs the loop, and begins anew when the Lease is lost.
async fn serve(settings: Arc<Settings>, target: Target, sink: Sink, stop: CancellationToken) -> ClusterReport {
    let name: Arc<str> = target.cluster.context.as_str().into();
    let failed = |error: String| ClusterReport {
        cluster: name.to_string(),
        error: Some(error),
        ..ClusterReport::default()
    };
    if !settings.shadow && !settings.take_over {
        let rest = Rest::new(target.cluster.client.clone());
        let found = tokio::select! {
            () = stop.cancelled() => None,
            found = guard::live_operator(&rest, &settings.class, Timestamp::now()) => found,
        };
        if let Some(found) = found {
            return failed(format!("an operator serves class {} here: {found}", settings.class));
        }
    }
    if settings.shadow {
        return serve_once(settings, &target, sink, stop, Arc::new(Fence::open())).await;
    }
    let place = Place::new(target.namespace.as_deref(), &settings.class, &target.holder);
    loop {
        let held = match wait_for_lease(&settings, &target, &place, &sink, &stop).await {
            Ok(held) => held,
            Err(error) => return failed(error),
        };
        let Some((held, asked)) = held else {
            return serve_once(settings, &target, sink, stop, Arc::new(Fence::open())).await;
        };
        let (fence, over, lost) = (Arc::new(Fence::default()), CancellationToken::new(), stop.child_token());
        let keeping = leader::keep(&target.cluster, held, asked, fence.clone(), &over, &lost);
        let working = async {
            let report = serve_once(settings.clone(), &target, sink.clone(), lost.clone(), fence.clone()).await;
            over.cancel();
            report
        };
        let (report, ()) = tokio::join!(working, keeping);
        if stop.is_cancelled() || settings.mode != Mode::Watch || report.error.is_some() {
            return report;
        }
        sink(
            &name,
            SyncEvent::Note {
                message: "the Lease is lost; standing by".to_owned(),
            },
        );
    }
}

type Lease = Option<(
    Box<crate::cluster::lease::Held>,
    (std::time::Instant, std::time::SystemTime),
)>;

/// Waits for the Lease; `None` where Leases cannot be kept.
async fn wait_for_lease(
    settings: &Settings,
    target: &Target,
    place: &Place,
    sink: &Sink,
    stop: &CancellationToken,
) -> Result<Lease, String> {
    let mut said = false;
    loop {
        let taken = tokio::select! {
            () = stop.cancelled() => return Err("stopped before the Lease was free".to_owned()),
            taken = leader::take(&target.cluster, place, Duration::from_secs(12)) => taken,
        };
        match taken {
            Taken::Held(held, asked) => return Ok(Some((held, asked))),
            Taken::Impossible(why) => {
                let message = format!("no Lease keeps other loops away: {why}");
                sink(&target.cluster.context, SyncEvent::Note { message });
                return Ok(None);
            }
            Taken::Busy(who) if settings.mode != Mode::Watch => return Err(format!("another loop runs here: {who}")),
            Taken::Busy(who) if !said => {
                said = true;
                let message = format!("another loop runs here ({who}); standing by");
                sink(&target.cluster.context, SyncEvent::Note { message });
            }
            Taken::Busy(_) => {}
        }
    }
}

async fn serve_once(
    settings: Arc<Settings>,
    target: &Target,
    sink: Sink,
    stop: CancellationToken,
    fence: Arc<Fence>,
) -> ClusterReport {
    let tally = Arc::new(Mutex::new(Tally::default()));
    let heard = tally.clone();
    let sink: Sink = Arc::new(move |cluster: &str, event: SyncEvent| {
        heard.lock().unwrap_or_else(PoisonError::into_inner).hear(&event);
        sink(cluster, event);
    });
    let (tasks, incoming) = mpsc::unbounded_channel();
    let cx = Arc::new(build_context(settings, target, sink, stop, tasks, fence));
    let kinds: Arc<HashMap<&'static str, Box<dyn Kind>>> = Arc::new(
        KINDS
            .iter()
            .map(|make| make())
            .map(|kind| (kind.name(), kind))
            .collect(),
    );
    let watches = start(&cx, &kinds);
    if cx.settings.source_watch == SourceWatch::Auto {
        source_watch::enable(&cx);
    }
    let mut background = JoinSet::new();
    let ready: Vec<_> = watches.iter().map(|w| w.health.clone()).collect();
    for watch in watches {
        background.spawn(run_watch(cx.clone(), watch));
    }
    let recorder_stop = CancellationToken::new();
    let mut recorder = JoinSet::new();
    recorder.spawn({
        let (cx, stop) = (cx.clone(), recorder_stop.clone());
        async move { cx.recorder.run(&cx.writer, &stop).await }
    });
    let listed = wait_ready(&cx, ready).await;
    if listed {
        cx.tell(SyncEvent::Started {
            external_secrets: cx.external_secrets.len(),
            stores: cx.secret_stores.len() + cx.cluster_secret_stores.len(),
        });
        drive(&cx, &kinds, incoming, &mut background).await;
        for kind in kinds.values() {
            kind.finish(&cx).await;
        }
    }
    recorder_stop.cancel();
    let _ = tokio::time::timeout(cx.settings.drain, recorder.join_next()).await;
    cx.stop.cancel();
    background.shutdown().await;
    report(&cx, &tally.lock().unwrap_or_else(PoisonError::into_inner), listed)
}

fn build_context(
    settings: Arc<Settings>,
    target: &Target,
    sink: Sink,
    stop: CancellationToken,
    tasks: mpsc::UnboundedSender<BoxFuture<'static, ()>>,
    fence: Arc<Fence>,
) -> Context {
    let cluster: Arc<str> = target.cluster.context.as_str().into();
    let rest = Rest::new(target.cluster.client.clone());
    let gate = LoopGate::new(cluster.clone(), settings.shadow, sink.clone(), fence);
    Context {
        cluster,
        namespace: target.namespace.clone(),
        writer: Writer::new(rest.clone(), Arc::new(gate)),
        credentials: Credentials::new(target.cluster.client.clone(), target.cluster.server.clone()),
        queue: Arc::new(Queue::new(settings.concurrency)),
        recorder: Recorder::default(),
        external_secrets: Arc::default(),
        secret_stores: Arc::default(),
        cluster_secret_stores: Arc::default(),
        push_secrets: Arc::default(),
        secrets: Arc::default(),
        namespaces: Arc::default(),
        index: Arc::new(Index::default()),
        memory: Arc::new(Memory::default()),
        credential_watches: CredentialWatches::default(),
        generic_targets: super::external_secret::GenericTargets::default(),
        pause: Pause::new(settings.pause_file.clone()),
        rest,
        stop,
        tasks,
        sink,
        settings,
    }
}

/// Registers every kind's listeners, and gives back the watches to run.
fn start(cx: &Arc<Context>, kinds: &HashMap<&'static str, Box<dyn Kind>>) -> Vec<Watch> {
    let mut hub = Hub::default();
    for kind in kinds.values() {
        kind.start(cx, &mut hub);
    }
    cx.external_secrets.listen(hub.external_secrets);
    cx.secret_stores.listen(hub.secret_stores);
    cx.cluster_secret_stores.listen(hub.cluster_secret_stores);
    cx.push_secrets.listen(hub.push_secrets);
    cx.secrets.listen(hub.secrets);
    cx.namespaces.listen(hub.namespaces);
    hub.watches
}

async fn run_watch(cx: Arc<Context>, mut watch: Watch) {
    let mut health = watch.health.clone();
    let announce = async {
        let mut stale = false;
        while health.changed().await.is_ok() {
            let now = health.borrow_and_update().clone();
            let event = |why: Option<String>| SyncEvent::Watch {
                resource: watch.resource.to_owned(),
                stale: why,
            };
            match now {
                Health::Stale(error) | Health::Absent(error) => {
                    stale = true;
                    cx.tell(event(Some(error.to_string())));
                }
                Health::Current if stale => {
                    stale = false;
                    cx.tell(event(None));
                }
                Health::Current | Health::Starting => {}
            }
        }
    };
    let following = follow(&cx.rest, &watch.scope, &cx.stop, &mut *watch.sink);
    tokio::select! {
        () = following => {}
        () = announce => {}
    }
}

/// Waits until every watch has listed; false if told to stop before.
async fn wait_ready(cx: &Context, watches: Vec<tokio::sync::watch::Receiver<Health>>) -> bool {
    for mut health in watches {
        let listed = health.wait_for(|h| matches!(h, Health::Current | Health::Absent(_)));
        tokio::select! {
            () = cx.stop.cancelled() => return false,
            _ = listed => {}
        }
    }
    true
}

/// Takes keys from the queue and runs passes until told to stop, or (once) until nothing is left; then waits for the
/// passes in hand.
async fn drive(
    cx: &Arc<Context>,
    kinds: &Arc<HashMap<&'static str, Box<dyn Kind>>>,
    mut incoming: mpsc::UnboundedReceiver<BoxFuture<'static, ()>>,
    background: &mut JoinSet<()>,
) {
    for (namespace, name) in wanted(&cx.settings.mode) {
        let key = super::external_secret::key_of(namespace, name);
        cx.memory.force(&key);
        cx.queue.add(key, Priority::NeverSynced);
    }
    let endless = cx.settings.mode == Mode::Watch;
    let lane = {
        let (cx, kinds) = (cx.clone(), kinds.clone());
        move |key: &Key| kinds.get(key.kind).and_then(|kind| kind.lane(&cx, key))
    };
    let mut passes = JoinSet::new();
    loop {
        let room = passes.len() < cx.settings.concurrency;
        if !endless && passes.is_empty() && cx.queue.is_idle() {
            break;
        }
        tokio::select! {
            biased;
            () = cx.stop.cancelled() => break,
            Some(_) = passes.join_next() => {}
            Some(task) = incoming.recv() => { background.spawn(task); }
            key = cx.queue.next(&lane), if room => { passes.spawn(pass(cx.clone(), kinds.clone(), key)); }
        }
    }
    let _ = tokio::time::timeout(cx.settings.drain, async { while passes.join_next().await.is_some() {} }).await;
}

fn wanted(mode: &Mode) -> impl Iterator<Item = (&str, &str)> {
    let names = match mode {
        Mode::Names(names) => names.as_slice(),
        Mode::Watch | Mode::Once => &[],
    };
    names
        .iter()
        .map(|(namespace, name)| (namespace.as_str(), name.as_str()))
}

static PASSES: AtomicU64 = AtomicU64::new(0);

async fn pass(cx: Arc<Context>, kinds: Arc<HashMap<&'static str, Box<dyn Kind>>>, key: Key) {
    let Some(kind) = kinds.get(key.kind) else { return };
    if cx.settings.focus.is_some_and(|only| only != key.kind) {
        cx.queue.done(&key, Next::Wait, 0);
        return;
    }
    let next = match AssertUnwindSafe(kind.reconcile(&cx, &key)).catch_unwind().await {
        Ok(next) => next,
        Err(_) => {
            let message = "internal error in this pass; it is tried again".to_owned();
            cx.tell(SyncEvent::Failed {
                key: key.clone(),
                message,
                retry: None,
                took: Duration::ZERO,
            });
            Next::Backoff
        }
    };
    // Any well-spread number serves: it only keeps periodic refreshes from marching in step.
    let noise = PASSES
        .fetch_add(1, Ordering::Relaxed)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        >> 16;
    cx.queue.done(&key, next, noise);
}

fn report(cx: &Context, tally: &Tally, listed: bool) -> ClusterReport {
    let error = (!listed).then(|| "the cluster could not be read".to_owned());
    let mut failed: Vec<(String, String)> = tally
        .failed
        .iter()
        .map(|(key, message)| (key.to_string(), message.clone()))
        .collect();
    failed.sort();
    let carries = |o: &crate::api::external_secret::ExternalSecret| {
        o.metadata
            .finalizers
            .iter()
            .flatten()
            .any(|f| f == crate::target::names::FINALIZER)
    };
    ClusterReport {
        cluster: cx.cluster.to_string(),
        ready: tally
            .ready
            .iter()
            .filter(|k| k.kind == super::external_secret::EXTERNAL_SECRET)
            .count(),
        failed,
        with_finalizer: cx.external_secrets.all().iter().filter(|o| carries(o)).count(),
        error,
    }
}
