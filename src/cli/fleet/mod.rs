//! `fleet`: bundles and the operator's installation through Rancher Fleet.

mod bundle;
pub mod charts;
mod download;
pub mod files;
mod install_eso;

use std::path::Path;

use clap::{Args, Subcommand};

use super::error::CliError;
use super::exit::ExitCode;
use crate::fleet::emit;
use crate::fleet::error::{FleetError, Notice};
use crate::fleet::options::{NamedFile, ValuesFrom};
use crate::ui::Ui;

/// Work with Rancher Fleet: ship stores, the operator and values to every cluster
///
/// Both commands print YAML for Fleet's hub and contact no cluster.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # The directory app as a Bundle for every cluster of fleet-default
  kubectl eso fleet bundle app ./app -n fleet-default --targets-file targets.yaml

  # External Secrets Operator on every cluster
  kubectl eso fleet install-eso -n fleet-default")]
pub struct FleetArgs {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Debug, Clone, Subcommand)]
enum FleetCommand {
    Bundle(Box<bundle::BundleArgs>),
    InstallEso(Box<install_eso::InstallEsoArgs>),
}

impl FleetArgs {
    /// True where a manifest comes from stdin.
    pub fn reads_stdin(&self) -> bool {
        matches!(&self.command, FleetCommand::Bundle(args) if args.reads_stdin())
    }
}

/// Runs the command. `namespace` is the global `--namespace`; nothing here needs a kubeconfig.
///
/// # Errors
/// In three lines.
pub async fn run(ui: &Ui, args: FleetArgs, namespace: Option<&str>) -> Result<ExitCode, CliError> {
    match args.command {
        FleetCommand::Bundle(args) => bundle::run(ui, *args, namespace).await,
        FleetCommand::InstallEso(args) => install_eso::run(ui, *args, namespace).await,
    }
}

/// What the object is aimed at, and where charts come from; shared by both commands.
#[derive(Debug, Clone, Args)]
struct CommonArgs {
    /// Targets and restrictions: a YAML file with `targets:` and, if need be, `targetRestrictions:`
    #[arg(long, value_name = "FILE")]
    targets_file: Option<String>,
    /// Service account that deploys on the clusters
    #[arg(short = 'a', long, value_name = "NAME")]
    service_account: Option<String>,
    /// Helm values that each cluster reads from a Secret: SECRET/KEY or NAMESPACE/SECRET/KEY (repeatable)
    #[arg(long, value_name = "SECRET/KEY")]
    values_from: Vec<String>,
    /// Create it paused
    #[arg(long)]
    paused: bool,
    /// Ignore unknown keys of fleet.yaml and the targets file, as Fleet does
    #[arg(long)]
    lenient: bool,
    #[command(flatten)]
    charts: ChartArgs,
}

/// Where charts come from.
#[derive(Debug, Clone, Args)]
struct ChartArgs {
    /// Directory of charts that were fetched before
    #[arg(long, value_name = "DIR")]
    chart_cache: Option<std::path::PathBuf>,
    /// Use only the chart cache
    #[arg(long, requires = "chart_cache")]
    offline: bool,
    /// User name for the chart repository
    #[arg(long, value_name = "NAME", env = "HELM_USERNAME")]
    helm_username: Option<String>,
    /// File with the password for the chart repository
    #[arg(long, value_name = "FILE", requires_all = ["helm_username", "helm_repo_url"])]
    helm_password_file: Option<String>,
    /// Credentials go only to addresses that start with this
    #[arg(long, value_name = "PREFIX")]
    helm_repo_url: Option<String>,
    /// CA certificates of the chart repository, PEM
    #[arg(long, value_name = "FILE")]
    helm_ca_file: Option<String>,
    /// Reach OCI registries without TLS
    #[arg(long)]
    helm_basic_http: bool,
}

impl CommonArgs {
    fn targets(&self) -> Result<Option<NamedFile>, CliError> {
        self.targets_file.as_deref().map(named_file).transpose()
    }

    fn values_from(&self) -> Result<Vec<ValuesFrom>, CliError> {
        self.values_from
            .iter()
            .map(|text| ValuesFrom::parse(text).map_err(|e| fleet_error(&e)))
            .collect()
    }
}

/// The hub namespace of the object: `--namespace`, or `fleet-local`, which the fleet CLI takes too.
fn hub_namespace(namespace: Option<&str>) -> String {
    namespace.unwrap_or("fleet-local").to_owned()
}

/// A file with the name the user knows it by.
fn named_file(path: &str) -> Result<NamedFile, CliError> {
    let bytes = std::fs::read(Path::new(path)).map_err(|e| {
        CliError::usage(format!("cannot read {path:?}"))
            .cause(e.to_string())
            .hint("check the path")
    })?;
    Ok(NamedFile {
        path: path.to_owned(),
        bytes,
    })
}

/// Prints objects on stdout and remarks on stderr.
fn print(ui: &Ui, objects: &[serde_json::Value], notices: &[Notice]) {
    for notice in notices {
        ui.warn(&notice.to_string());
    }
    for notice in objects.iter().flat_map(crate::fleet::size::check) {
        ui.warn(&notice.to_string());
    }
    ui.document(&emit::stream(objects));
}

fn fleet_error(error: &FleetError) -> CliError {
    let hint = match error {
        FleetError::UnknownKey { .. } => "mend the key, or ignore unknown ones with --lenient",
        FleetError::NothingFound { .. } => "name a directory with YAML files or a fleet.yaml",
        FleetError::Missing { .. } | FleetError::IsDirectory { .. } => "check the path",
        _ => "see kubectl eso fleet bundle --help",
    };
    CliError::usage("cannot make the bundle")
        .cause(error.to_string())
        .hint(hint)
}

/// An error and what it came from, on one line.
fn causes(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}
