//! `migrate`: from other systems to the External Secrets Operator.

pub mod convert;

use clap::Subcommand;

use super::error::CliError;
use super::exit::ExitCode;
use crate::ui::Ui;

/// Move from kubernetes-external-secrets to the External Secrets Operator
#[derive(Debug, Clone, Subcommand)]
pub enum MigrateCommand {
    /// kubernetes-external-secrets (KES)
    #[command(subcommand)]
    Kes(KesCommand),
}

/// What can be done with KES.
#[derive(Debug, Clone, Subcommand)]
pub enum KesCommand {
    /// Manifests of KES become stores and ExternalSecrets.
    Convert(convert::KesConvertArgs),
}

/// Runs the command.
///
/// # Errors
/// In three lines.
pub fn run(ui: &Ui, command: &MigrateCommand) -> Result<ExitCode, CliError> {
    match command {
        MigrateCommand::Kes(KesCommand::Convert(args)) => convert::run(ui, args),
    }
}
