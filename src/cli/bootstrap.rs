//! `bootstrap`: the upstream's four objects, and the address and CA that downstream clusters will use.

use clap::Args;
use serde_json::json;

use super::error::CliError;
use super::exit::ExitCode;
use super::global::{Output, OutputArgs, WriteArgs};
use super::session::{Session, Stopwatch, exit_of, failure};
use super::steps::{Writer, export};
use super::upstream::{self, Upstream, UpstreamArgs};
use crate::cluster::discovery::{Served, discover};
use crate::plan::bootstrap::{Spec, objects};
use crate::plan::compare::Policy;
use crate::plan::distribute::{Scope, scope_of_role};
use crate::plan::{Manifest, Outcome};
use crate::ui::results::Report;

/// Prepare the upstream cluster
///
/// Makes the namespace of the source Secrets, the Role that may read them, and the account that reads; finds the
/// address and the CA of the API server and proves that they fit. Nothing is issued yet: `distribute-token` does that.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # Prepare the current context as upstream
  kubectl eso bootstrap

  # Let stores read two Secrets only
  kubectl eso bootstrap --secrets database-credentials,tls

  # See what would be made, as files for git
  kubectl eso bootstrap --export

  # Tell downstream clusters another address
  kubectl eso bootstrap --upstream-url https://hub.example.com:6443")]
pub struct BootstrapArgs {
    #[command(flatten)]
    upstream: UpstreamArgs,
    /// Limit the Role to these Secrets
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    secrets: Vec<String>,
    /// Let the Role read all Secrets of the namespace (again)
    #[arg(long, conflicts_with = "secrets")]
    all_secrets: bool,
    /// Take over objects of these names that something else made
    #[arg(long)]
    adopt: bool,
    /// Replace a RoleBinding that refers to another Role
    #[arg(long)]
    recreate: bool,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl BootstrapArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine() || self.write.export
    }
}

/// Runs the command.
///
/// # Errors
/// In three lines.
pub async fn run(session: &Session, args: BootstrapArgs) -> Result<ExitCode, CliError> {
    let watch = Stopwatch::start();
    let cluster = session.upstream().await?;
    let found = upstream::find(cluster, &args.upstream).await?;
    let served = discover(&found.cluster, &["", "rbac.authorization.k8s.io"]).await?;
    let policy = Policy {
        require_label: true,
        adopt: args.adopt,
        recreate: args.recreate,
    };
    let writer = Writer {
        cluster: &found.cluster,
        served: &served,
        write: &args.write,
        policy,
    };
    let spec = Spec {
        namespace: found.data_namespace.clone(),
        secrets: wanted_secrets(&writer, &args, &found, &served).await?,
    };
    let manifests = objects(&spec);
    if args.write.export || (args.write.mode() == super::global::DryRun::Client && args.output.output == Output::Yaml) {
        session.ui.document(&export(&manifests, false));
        return Ok(ExitCode::Done);
    }
    let mut report = Report {
        context: found.cluster.context.clone(),
        server: found.cluster.server.clone(),
        cluster_uid: Some(found.uid.clone()).filter(|u| !u.is_empty()),
        notes: vec![
            format!("upstream address {} (from {})", found.address.url, found.address.source),
            format!("upstream CA from {}: verified chain and host name", found.ca.source),
        ],
        details: json!({"upstream": {"url": found.address.url, "urlSource": found.address.source, "caSource": found.ca.source}}),
        ..Report::default()
    };
    if let Err(e) = apply_all(&writer, manifests, &mut report.objects).await {
        report.failure = Some(failure(&e));
    }
    report.took = watch.took();
    finish(session, &args, report)
}

/// The names typed, or those an earlier run chose: a rerun never widens by itself.
async fn wanted_secrets(
    writer: &Writer<'_>,
    args: &BootstrapArgs,
    found: &Upstream,
    served: &Served,
) -> Result<Option<Vec<String>>, CliError> {
    if args.all_secrets {
        return Ok(None);
    }
    if !args.secrets.is_empty() {
        return Ok(Some(args.secrets.clone()));
    }
    let resource = served
        .resource("rbac.authorization.k8s.io/v1", "Role")
        .map(|(r, _)| r.clone());
    let Some(resource) = resource else { return Ok(None) };
    let live = crate::cluster::observe::get(
        writer.cluster,
        &resource,
        Some(&found.data_namespace),
        crate::plan::names::READER_ROLE,
    )
    .await?;
    Ok(match live.as_ref().map(scope_of_role) {
        Some(Scope::Names(names)) => Some(names),
        _ => None,
    })
}

async fn apply_all(writer: &Writer<'_>, manifests: Vec<Manifest>, outcomes: &mut Vec<Outcome>) -> Result<(), CliError> {
    for manifest in manifests {
        outcomes.push(writer.apply(manifest).await?);
    }
    Ok(())
}

fn finish(session: &Session, args: &BootstrapArgs, report: Report) -> Result<ExitCode, CliError> {
    let reports = [report];
    let exit = exit_of(&reports);
    super::output::print(
        session,
        args.output.output,
        "BootstrapResult",
        &reports,
        exit,
        args.write.suffix(),
    )?;
    if exit == ExitCode::Done && args.write.mode() == super::global::DryRun::None && !args.output.output.is_machine() {
        session
            .ui
            .note("next: kubectl eso distribute-token --contexts A,B --with-store");
    }
    Ok(exit)
}
