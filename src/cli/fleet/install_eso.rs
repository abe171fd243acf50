//! `fleet install-eso`: External Secrets Operator on every cluster of a Fleet hub.

use std::path::Path;

use clap::Args;

use super::{CommonArgs, bundle, fleet_error, hub_namespace, named_file};
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::fleet::install::{ESO_REPOSITORY, ESO_VERSION, InstallOptions};
use crate::ui::Ui;

/// Install External Secrets Operator on every cluster
///
/// A HelmOp, for which the clusters fetch the chart themselves; with --bundle, the chart lies in a Bundle on the hub.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # On every cluster of fleet-default
  kubectl eso fleet install-eso -n fleet-default | kubectl apply -f -

  # For clusters that cannot reach the chart repository
  kubectl eso fleet install-eso -n fleet-default --bundle | kubectl apply --server-side -f -")]
pub struct InstallEsoArgs {
    /// Chart version or range
    #[arg(long, default_value = ESO_VERSION)]
    version: String,
    /// Put the chart into a Bundle
    #[arg(long)]
    bundle: bool,
    /// Name of the HelmOp or Bundle
    #[arg(long, default_value = "external-secrets")]
    name: String,
    /// Namespace of the operator on the clusters
    #[arg(long, value_name = "NS", default_value = "external-secrets")]
    release_namespace: String,
    /// Chart repository, or oci://… of the chart
    #[arg(long, value_name = "URL", default_value = ESO_REPOSITORY)]
    repo: String,
    /// Values files, merged in order (repeatable)
    #[arg(long, value_name = "FILE")]
    values: Vec<String>,
    /// HelmOp: Secret on the hub with credentials of the repository
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    helm_secret: String,
    /// HelmOp: how often a version range is looked up again
    #[arg(long, value_name = "D", default_value = "", hide_default_value = true)]
    polling_interval: String,
    /// HelmOp: do not verify the repository's certificate
    #[arg(long)]
    helm_insecure_skip_tls: bool,
    #[command(flatten)]
    common: CommonArgs,
}

/// Runs the command.
///
/// # Errors
/// In three lines.
pub(super) async fn run(ui: &Ui, args: InstallEsoArgs, namespace: Option<&str>) -> Result<ExitCode, CliError> {
    let values = args.values.iter().map(|path| named_file(path));
    let options = InstallOptions {
        name: args.name,
        namespace: hub_namespace(namespace),
        release_namespace: args.release_namespace,
        repo: args.repo,
        version: args.version,
        values: values.collect::<Result<_, _>>()?,
        values_from: args.common.values_from()?,
        targets_file: args.common.targets()?,
        service_account: args.common.service_account.clone().unwrap_or_default(),
        helm_secret: args.helm_secret,
        polling_interval: args.polling_interval,
        insecure_skip_tls_verify: args.helm_insecure_skip_tls,
        paused: args.common.paused,
        lenient: args.common.lenient,
    };
    if !args.bundle {
        let (helm_op, notices) = options.helm_op().map_err(|e| fleet_error(&e))?;
        super::print(ui, &[helm_op], &notices);
        return Ok(ExitCode::Done);
    }
    let (tree, bundle_options, mut notices) = options.bundle_source().map_err(|e| fleet_error(&e))?;
    let built = bundle::assemble(Path::new("."), tree, &bundle_options, &args.common.charts).await?;
    notices.extend(built.notices);
    super::print(ui, &built.bundles, &notices);
    Ok(ExitCode::Done)
}
