//! `completion`: scripts for shells.

use clap::{Args, ValueEnum};

use super::error::CliError;
use super::exit::ExitCode;
use crate::ui::Ui;

/// A shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
    /// PowerShell
    Powershell,
    /// The hook that kubectl looks for on PATH
    Kubectl,
}

/// Print a completion script
///
/// For `kubectl eso <TAB>` put the output of `completion kubectl` on PATH as an executable named kubectl_complete-eso.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # bash, for this session
  source <(kubectl eso completion bash)

  # fish
  kubectl eso completion fish > ~/.config/fish/completions/kubectl-eso.fish

  # Through kubectl
  kubectl eso completion kubectl > ~/.local/bin/kubectl_complete-eso && chmod +x ~/.local/bin/kubectl_complete-eso")]
pub struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// None today.
pub fn run(ui: &Ui, args: &CompletionArgs) -> Result<ExitCode, CliError> {
    ui.document(&script(args.shell));
    Ok(ExitCode::Done)
}

fn script(shell: Shell) -> String {
    use clap_complete::shells;
    let mut command = super::command("kubectl-eso").bin_name("kubectl-eso");
    let mut out = Vec::new();
    let name = "kubectl-eso";
    match shell {
        Shell::Bash => clap_complete::generate(shells::Bash, &mut command, name, &mut out),
        Shell::Zsh => clap_complete::generate(shells::Zsh, &mut command, name, &mut out),
        Shell::Fish => clap_complete::generate(shells::Fish, &mut command, name, &mut out),
        Shell::Powershell => clap_complete::generate(shells::PowerShell, &mut command, name, &mut out),
        Shell::Kubectl => return "#!/bin/sh\nexec kubectl-eso __complete \"$@\"\n".to_owned(),
    }
    String::from_utf8_lossy(&out).into_owned()
}
