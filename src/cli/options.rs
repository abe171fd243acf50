//! `options`: the flags that every command takes.

use std::fmt::Write as _;

use clap::Args;

use super::error::CliError;
use super::exit::ExitCode;
use super::global::GlobalArgs;
use crate::ui::Ui;

/// List the flags that every command takes
#[derive(Debug, Clone, Args)]
pub struct OptionsArgs {}

/// Prints the list.
///
/// # Errors
/// None today.
pub fn run(ui: &Ui) -> Result<ExitCode, CliError> {
    let command = GlobalArgs::augment_args(clap::Command::new("options"));
    let mut out = String::from("The following options can be passed to any command:\n\n");
    for arg in command.get_arguments() {
        let Some(long) = arg.get_long() else { continue };
        let short = arg.get_short().map_or_else(|| "    ".to_owned(), |s| format!("-{s}, "));
        let takes = arg.get_action().takes_values() && arg.get_num_args().is_none_or(|n| n.min_values() > 0);
        let value = match arg.get_value_names() {
            Some([name, ..]) if takes => format!(" {name}"),
            _ => String::new(),
        };
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, "    {short}--{long}{value}:\n        {help}");
    }
    ui.document(&out);
    Ok(ExitCode::Done)
}
