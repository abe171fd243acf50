//! `push --dry-run`: what PushSecrets would do at their providers, before anything is written.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use super::exit::ExitCode;
use super::global::{OutputArgs, TargetArgs};
use super::session::{Session, failure};
use crate::sync::push_secret::PUSH_SECRET;
use crate::sync::queue::Key;
use crate::sync::{self, Mode, RemoteAction, Settings, Sink, SyncEvent};
use crate::ui::table::Table;

/// Show what PushSecrets would create, update, skip and delete
///
/// Sources and stores are read, entries expanded, and every remote key is compared. Nothing is written, and no generator
/// runs: what it would make counts as a change. The pushing itself is the work of sync.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # Every PushSecret of the context's namespace
  kubectl eso push --dry-run

  # One of them, in two clusters
  kubectl eso push orders-db --dry-run -n shop --contexts a,b")]
pub struct PushArgs {
    /// Only these PushSecrets
    #[arg(value_name = "NAME", conflicts_with = "all_namespaces")]
    names: Vec<String>,
    /// Only look; required, because sync does the pushing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    targets: TargetArgs,
    /// All namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Stores of this class
    #[arg(long, default_value = "default", value_name = "CLASS")]
    controller_class: String,
    #[command(flatten)]
    output: OutputArgs,
}

impl PushArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine()
    }
}

/// What one run heard.
#[derive(Default)]
struct Heard {
    rows: BTreeSet<(String, Key, String, String, RemoteAction)>,
    failed: BTreeSet<(String, Key, String)>,
    seen: BTreeSet<(String, String)>,
}

/// Runs the command.
///
/// # Errors
/// In three lines; clusters that cannot be read are results.
pub async fn run(session: &Session, args: PushArgs) -> Result<ExitCode, CliError> {
    if !args.dry_run {
        return Err(CliError::usage("push only looks")
            .cause("--dry-run is missing")
            .hint("kubectl eso push --dry-run shows what would be done; kubectl eso sync does it"));
    }
    let heard: Arc<Mutex<Heard>> = Arc::default();
    let (mut targets, mut broken) = (Vec::new(), 0);
    for target in super::sync::connect(session, &args.targets).await? {
        match &target.cluster {
            Ok(cluster) => {
                let namespace = (!args.all_namespaces).then(|| cluster.namespace.clone());
                targets.push(sync::Target {
                    cluster: cluster.clone(),
                    namespace,
                    holder: String::new(),
                });
            }
            Err(error) => {
                broken += 1;
                session.ui.error(&failure(error).text());
            }
        }
    }
    let settings = Settings {
        class: args.controller_class.clone(),
        mode: Mode::Once,
        shadow: true,
        focus: Some(PUSH_SECRET),
        ..Settings::default()
    };
    let into = heard.clone();
    let sink: Sink = Arc::new(move |cluster: &str, event: SyncEvent| hear(&into, cluster, event));
    let reports = sync::run(Arc::new(settings), targets, sink, session.cancel.clone()).await;
    for report in reports.iter().filter(|r| r.error.is_some()) {
        broken += 1;
        session.ui.error(&format!(
            "{}: {}",
            report.cluster,
            report.error.as_deref().unwrap_or_default()
        ));
    }
    let mut heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
    let asked = |key: &Key| args.names.is_empty() || args.names.iter().any(|n| **n == *key.name);
    heard.rows.retain(|row| asked(&row.1));
    heard.failed.retain(|row| asked(&row.1));
    let missing: Vec<&String> = args
        .names
        .iter()
        .filter(|n| !heard.seen.iter().any(|(_, name)| name == *n))
        .collect();
    for name in &missing {
        session.ui.error(&format!("PushSecret {name} was not found"));
    }
    let exit = if broken + heard.failed.len() + missing.len() == 0 {
        ExitCode::Done
    } else {
        ExitCode::Failed
    };
    show(session, &args, &heard, reports.len() > 1, exit)?;
    Ok(exit)
}

fn hear(heard: &Mutex<Heard>, cluster: &str, event: SyncEvent) {
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    match event {
        SyncEvent::Remote {
            key,
            store,
            entry,
            action,
        } => {
            heard.seen.insert((cluster.to_owned(), key.name.to_string()));
            heard.rows.insert((cluster.to_owned(), key, store, entry, action));
        }
        SyncEvent::Failed { key, message, .. } if key.kind == PUSH_SECRET => {
            heard.seen.insert((cluster.to_owned(), key.name.to_string()));
            heard.failed.insert((cluster.to_owned(), key, message));
        }
        SyncEvent::Synced { key, .. } | SyncEvent::NotOurs { key } if key.kind == PUSH_SECRET => {
            heard.seen.insert((cluster.to_owned(), key.name.to_string()));
        }
        _ => {}
    }
}

fn show(session: &Session, args: &PushArgs, heard: &Heard, many: bool, exit: ExitCode) -> Result<(), CliError> {
    if args.is_machine() {
        return super::output::value(session, args.output.output, &document(heard, exit));
    }
    let mut headers = vec!["NAMESPACE", "PUSHSECRET", "STORE", "REMOTE KEY", "ACTION"];
    if many {
        headers.insert(0, "CONTEXT");
    }
    let mut table = Table::new(headers);
    for (cluster, key, store, entry, action) in &heard.rows {
        let mut cells = vec![
            key.namespace.to_string(),
            key.name.to_string(),
            store.clone(),
            entry.clone(),
        ];
        cells.push(action.as_str().to_owned());
        if many {
            cells.insert(0, cluster.clone());
        }
        table.row(cells);
    }
    session.ui.document(&table.render(true));
    for (cluster, key, message) in &heard.failed {
        let place = if many { format!("{cluster}: ") } else { String::new() };
        session.ui.error(&format!("{place}{key} would fail\n  {message}"));
    }
    if heard.rows.is_empty() && heard.failed.is_empty() {
        session.ui.note("no PushSecret would write anything");
    }
    Ok(())
}

fn document(heard: &Heard, exit: ExitCode) -> Value {
    let items: Vec<Value> = heard
        .rows
        .iter()
        .map(|(cluster, key, store, entry, action)| {
            json!({
                "context": cluster, "namespace": &*key.namespace, "name": &*key.name, "store": store,
                "remoteKey": entry, "action": action.as_str(),
            })
        })
        .collect();
    let failed: Vec<Value> = heard
        .failed
        .iter()
        .map(|(cluster, key, message)| {
            json!({ "context": cluster, "namespace": &*key.namespace, "name": &*key.name, "message": message })
        })
        .collect();
    json!({
        "apiVersion": "kubectl-eso/v1", "kind": "PushPlan", "items": items, "failed": failed, "exitCode": exit.code(),
    })
}
