//! `sync`: the operator's loop, once or in the foreground.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::error::CliError;
use super::exit::ExitCode;
use super::global::{OutputArgs, TargetArgs};
use super::random_bytes;
use super::session::{Session, Target, failure};
use crate::sync::{self, Change, ClusterReport, Mode, Settings, Sink, SourceWatch, SyncEvent};

/// Whether sources are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SourceWatchArg {
    /// Where the store's role allows it.
    Auto,
    /// Never: polling at the refresh interval, as the operator does.
    Off,
}

/// Be the operator: reconcile stores and ExternalSecrets
///
/// Without --watch everything is reconciled once, and the exit code says whether all of it is ready. With names, only
/// those ExternalSecrets are refreshed, due or not.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # Once, in the context's namespace; exit code 0 if everything is ready
  kubectl eso sync

  # In the foreground, two clusters, all namespaces
  kubectl eso sync --watch -A --contexts a,b

  # Refresh one ExternalSecret now
  kubectl eso sync orders-db -n shop

  # See what would be written beside a running operator
  kubectl eso sync -A --shadow")]
pub struct SyncArgs {
    /// Refresh only these ExternalSecrets, now
    #[arg(value_name = "NAME", conflicts_with_all = ["watch", "all_namespaces"])]
    names: Vec<String>,
    #[command(flatten)]
    targets: TargetArgs,
    /// All namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Stay in the foreground and keep everything in step
    #[arg(short = 'w', long)]
    watch: bool,
    /// Watch the sources, so that a change arrives at once
    #[arg(long, value_enum, default_value = "auto", value_name = "MODE")]
    source_watch: SourceWatchArg,
    /// Serve ExternalSecrets whose target is not a Secret
    #[arg(long)]
    allow_generic_targets: bool,
    /// Serve stores of this class
    #[arg(long, default_value = "default", value_name = "CLASS")]
    controller_class: String,
    /// Write nothing, report what would be written
    #[arg(long, conflicts_with = "take_over")]
    shadow: bool,
    /// Start although an operator serves the same class
    #[arg(long)]
    take_over: bool,
    /// Fail where anything that was asked for is missing
    #[arg(long)]
    strict: bool,
    /// Objects handled at once, per cluster
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    workers: u16,
    /// File of namespaces (one a line) that nothing is written to
    #[arg(long, value_name = "FILE")]
    pause_file: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

impl SyncArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine()
    }

    fn settings(&self, namespace: &str) -> Settings {
        let mode = match (self.watch, self.names.as_slice()) {
            (true, _) => Mode::Watch,
            (false, []) => Mode::Once,
            (false, names) => Mode::Names(names.iter().map(|name| (namespace.to_owned(), name.clone())).collect()),
        };
        Settings {
            class: self.controller_class.clone(),
            concurrency: usize::from(self.workers),
            source_watch: match self.source_watch {
                SourceWatchArg::Auto => SourceWatch::Auto,
                SourceWatchArg::Off => SourceWatch::Off,
            },
            allow_generic_targets: self.allow_generic_targets,
            mode,
            shadow: self.shadow,
            take_over: self.take_over,
            pause_file: self.pause_file.clone(),
            ..Settings::default()
        }
    }
}

/// Runs the command.
///
/// # Errors
/// In three lines; clusters that cannot be served are results.
pub async fn run(session: &Session, args: SyncArgs) -> Result<ExitCode, CliError> {
    let (mut targets, mut broken) = (Vec::new(), Vec::new());
    let holder = holder()?;
    let mut namespace = "default".to_owned();
    for target in connect(session, &args.targets).await? {
        match &target.cluster {
            Ok(cluster) => {
                namespace.clone_from(&cluster.namespace);
                let scope = (!args.all_namespaces).then(|| cluster.namespace.clone());
                targets.push(sync::Target {
                    cluster: cluster.clone(),
                    namespace: scope,
                    holder: holder.clone(),
                });
            }
            Err(error) => broken.push(failure(error).text()),
        }
    }
    for text in &broken {
        session.ui.error(text);
    }
    let (sender, mut events) = mpsc::unbounded_channel();
    let sink: Sink = Arc::new(move |cluster: &str, event: SyncEvent| {
        // Nobody listens any more once the run is over.
        let _ = sender.send((cluster.to_owned(), event));
    });
    let many = targets.len() > 1;
    let settings = Arc::new(args.settings(&namespace));
    let work = sync::run(settings, targets, sink, session.cancel.clone());
    tokio::pin!(work);
    let mut printer = Printer {
        session,
        many,
        machine: args.is_machine(),
        warnings: 0,
    };
    let reports = loop {
        tokio::select! {
            biased;
            Some((cluster, event)) = events.recv() => printer.print(&cluster, &event),
            reports = &mut work => break reports,
        }
    };
    while let Ok((cluster, event)) = events.try_recv() {
        printer.print(&cluster, &event);
    }
    let strict = args.strict && printer.warnings > 0;
    conclude(session, &args, &reports, broken.len(), strict)
}

/// The clusters that are named, or the one of the context.
///
/// # Errors
/// The selection cannot be made.
pub async fn connect(session: &Session, targets: &TargetArgs) -> Result<Vec<Target>, CliError> {
    if targets.is_used() {
        return session.targets(targets, None).await;
    }
    let context = session.context()?;
    let cluster = session.connect(&context).await;
    Ok(vec![Target {
        context,
        cluster,
        uid: None,
    }])
}

/// A name no other run has.
fn holder() -> Result<String, CliError> {
    let random = crate::plan::cid::hex(&random_bytes::<8>()?);
    Ok(crate::cluster::process::holder(&random))
}

/// Says what happens, as it happens.
struct Printer<'a> {
    session: &'a Session,
    many: bool,
    machine: bool,
    warnings: usize,
}

impl Printer<'_> {
    fn print(&mut self, cluster: &str, event: &SyncEvent) {
        let ui = &self.session.ui;
        let place = |text: String| if self.many { format!("{cluster}: {text}") } else { text };
        match event {
            SyncEvent::Started {
                external_secrets,
                stores,
            } => {
                ui.note(&place(format!("{external_secrets} ExternalSecrets, {stores} stores")));
            }
            SyncEvent::Synced { key, change, .. } => {
                if let Some(verb) = verb(*change)
                    && !self.machine
                {
                    ui.line(&place(format!("{key} {verb}")));
                }
            }
            SyncEvent::Failed {
                key, message, retry, ..
            } => {
                let next = match retry {
                    Some(pause) => format!("next attempt in {} s", pause.as_secs()),
                    None => "not tried again before something changes".to_owned(),
                };
                ui.error(&place(format!("{key} failed\n  {message}\n  {next}")));
            }
            SyncEvent::Warning { key, message } => {
                self.warnings += 1;
                ui.warn(&place(format!("{key}: {message}")));
            }
            SyncEvent::Store {
                key,
                ready: false,
                message,
                ..
            } => {
                ui.error(&place(format!("{key} is not usable\n  {message}")));
            }
            SyncEvent::Watch {
                resource,
                stale: Some(why),
            } => {
                ui.warn(&place(format!("{resource} may be out of date: {why}")));
            }
            SyncEvent::Watch { resource, stale: None } => ui.note(&place(format!("{resource} are current again"))),
            SyncEvent::Would {
                verb,
                resource,
                namespace,
                name,
            } => {
                if !self.machine {
                    ui.line(&place(format!("would {verb} {resource} {namespace}/{name}")));
                }
            }
            SyncEvent::Remote {
                key,
                store,
                entry,
                action,
            } => {
                if !self.machine {
                    ui.line(&place(format!(
                        "would {} {entry} in {store} for {key}",
                        action.as_str()
                    )));
                }
            }
            SyncEvent::Note { message } => ui.note(&place(message.clone())),
            SyncEvent::Store { .. } | SyncEvent::NotOurs { .. } | SyncEvent::Released { .. } => {}
        }
    }
}

fn verb(change: Change) -> Option<&'static str> {
    match change {
        Change::Created => Some("created"),
        Change::Updated => Some("updated"),
        Change::Deleted => Some("deleted its Secret"),
        Change::Unchanged | Change::NotWritten | Change::NotDue => None,
    }
}

fn conclude(
    session: &Session,
    args: &SyncArgs,
    reports: &[ClusterReport],
    broken: usize,
    strict: bool,
) -> Result<ExitCode, CliError> {
    for report in reports {
        if let Some(error) = &report.error {
            session.ui.error(&format!(
                "{} is not served\n  {error}\n  {}",
                report.cluster,
                hint(error)
            ));
        }
        if report.with_finalizer > 0 && args.watch {
            let count = report.with_finalizer;
            session.ui.note(&format!(
                "{}: {count} ExternalSecrets carry the finalizer of this loop",
                report.cluster
            ));
        }
    }
    let bad = reports.iter().filter(|r| r.error.is_some()).count() + broken;
    let failed: usize = reports.iter().map(|r| r.failed.len()).sum();
    let ready: usize = reports.iter().map(|r| r.ready).sum();
    let exit = if bad + failed == 0 && !strict {
        ExitCode::Done
    } else {
        ExitCode::Failed
    };
    if args.is_machine() {
        super::output::value(session, args.output.output, &document(reports, exit))?;
    } else if !args.watch {
        session.ui.note(&format!("{ready} ready, {failed} failed"));
    }
    // A loop that was told to stop has done what it was for.
    Ok(if args.watch && bad == 0 { ExitCode::Done } else { exit })
}

fn hint(error: &str) -> &'static str {
    if error.contains("an operator serves") {
        "stop it, choose another --controller-class, or pass --take-over to run beside it"
    } else {
        "kubectl eso status shows what can be reached"
    }
}

fn document(reports: &[ClusterReport], exit: ExitCode) -> Value {
    let items: Vec<Value> = reports
        .iter()
        .map(|r| {
            let failed: Vec<Value> = r
                .failed
                .iter()
                .map(|(object, message)| json!({ "object": object, "message": message }))
                .collect();
            json!({ "context": r.cluster, "ready": r.ready, "failed": failed, "error": r.error })
        })
        .collect();
    json!({ "apiVersion": "kubectl-eso/v1", "kind": "SyncResult", "items": items, "exitCode": exit.code() })
}
