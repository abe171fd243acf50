//! What can be typed after `cargo xtask`.

mod clusters;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::assets::{Assets, progress_to_stderr};

/// Development commands of kubectl-eso
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
pub struct Xtask {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find the control plane's binaries, or build them once; the last line printed is their folder
    Assets,
    /// Start or stop control planes to try things on
    #[command(subcommand)]
    Clusters(clusters::Clusters),
}

impl Xtask {
    /// Runs the command.
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::Assets => assets(),
            Command::Clusters(command) => command.run(),
        }
    }
}

fn assets() -> Result<()> {
    let assets = Assets::find_or_build(&mut progress_to_stderr)?;
    println!("{}", assets.folder().display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Xtask::command().debug_assert();
    }
}
