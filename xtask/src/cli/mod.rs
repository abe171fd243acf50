//! What can be typed after `cargo xtask`.

mod bench;
mod clusters;

use std::path::PathBuf;
use std::process::Command as Process;

use anyhow::{Context as _, Result};
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
    /// Measure; each prints one JSON line
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Show the shortest path on three control planes, from nothing to Secrets; leaves nothing behind
    Demo,
}

impl Xtask {
    /// Runs the command.
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::Assets => assets(),
            Command::Clusters(command) => command.run(),
            Command::Bench(command) => command.run(),
            Command::Demo => xtask::demo::run(&built_plugin()?),
        }
    }
}

fn assets() -> Result<()> {
    let assets = Assets::find_or_build(&mut progress_to_stderr)?;
    println!("{}", assets.folder().display());
    Ok(())
}

/// Builds `kubectl-eso` beside this program, in the same profile, and returns its path.
fn built_plugin() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Process::new(cargo);
    build.args(["build", "--quiet", "--bin", "kubectl-eso"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let status = build
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .status()
        .context("cannot start cargo")?;
    anyhow::ensure!(status.success(), "kubectl-eso does not build");
    Ok(std::env::current_exe()?.with_file_name("kubectl-eso"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Xtask::command().debug_assert();
    }
}
