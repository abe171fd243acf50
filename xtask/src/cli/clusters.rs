//! `cargo xtask clusters`: control planes that stay until they are stopped.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use xtask::controlplane::{ControlPlanes, Options, stop_detached};

/// Start or stop control planes to try things on.
#[derive(Debug, Subcommand)]
pub enum Clusters {
    /// Start N control planes and write DIR/kubeconfig with the contexts c1…cN
    Start(Start),
    /// Stop the control planes of DIR and remove their data
    Stop(Stop),
}

/// Arguments of `clusters start`.
#[derive(Debug, Args)]
pub struct Start {
    /// Number of clusters
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=50))]
    count: u16,
    /// Folder for the kubeconfig, keys, logs and data
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Write no audit logs (DIR/cN-audit.log, every request without bodies)
    #[arg(long)]
    no_audit: bool,
    /// Cut the life of requested service account tokens to this many seconds (at least 3600)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(3600..))]
    max_token_ttl: Option<u64>,
    /// A further flag for every API server, or with a prefix such as c2: for one; may be repeated
    #[arg(
        long = "apiserver-flag",
        value_name = "[cN:]--NAME=VALUE",
        allow_hyphen_values = true
    )]
    apiserver_flags: Vec<String>,
}

/// Arguments of `clusters stop`.
#[derive(Debug, Args)]
pub struct Stop {
    /// The folder given to `clusters start`
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

impl Clusters {
    /// Runs the command.
    pub fn run(self) -> Result<()> {
        match self {
            Self::Start(start) => start.run(),
            Self::Stop(stop) => stop.run(),
        }
    }
}

impl Start {
    fn run(self) -> Result<()> {
        let Self {
            count,
            dir,
            no_audit,
            max_token_ttl,
            apiserver_flags,
        } = self;
        let mut options = Options::count(count.into());
        options.audit = !no_audit;
        options.max_token_ttl = max_token_ttl.map(Duration::from_secs);
        for flag in apiserver_flags {
            match split_flag(&flag)? {
                (None, flag) => options.apiserver_flags.push(flag),
                (Some(index), flag) => options.cluster_flags.push((index, flag)),
            }
        }
        let started = Instant::now();
        let clusters = ControlPlanes::start_detached(options, &dir)?;
        let dir = std::fs::canonicalize(&dir)?;
        for cluster in &clusters {
            println!("{}  {}", cluster.name(), cluster.url());
        }
        eprintln!(
            "ready after {:.1} s; stop with: cargo xtask clusters stop --dir {}",
            started.elapsed().as_secs_f32(),
            dir.display()
        );
        println!("export KUBECONFIG={}", dir.join("kubeconfig").display());
        Ok(())
    }
}

/// Splits `c2:--flag` into index 1 and the flag.
fn split_flag(text: &str) -> Result<(Option<usize>, String)> {
    if text.starts_with("--") {
        return Ok((None, text.to_owned()));
    }
    let (cluster, flag) = text
        .split_once(':')
        .with_context(|| format!("{text:?} is not [cN:]--NAME=VALUE"))?;
    let number = cluster
        .strip_prefix('c')
        .and_then(|number| number.parse::<usize>().ok());
    let index = number.and_then(|number| number.checked_sub(1));
    Ok((
        Some(index.with_context(|| format!("{cluster:?} is no cluster name"))?),
        flag.to_owned(),
    ))
}

impl Stop {
    fn run(self) -> Result<()> {
        let ended = stop_detached(&self.dir)?;
        eprintln!("{ended} processes ended");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::split_flag;

    #[test]
    fn a_flag_may_name_its_cluster() {
        assert_eq!(split_flag("--v=2").unwrap(), (None, "--v=2".to_owned()));
        assert_eq!(split_flag("c2:--v=2").unwrap(), (Some(1), "--v=2".to_owned()));
        assert!(split_flag("c0:--v=2").is_err());
        assert!(split_flag("v=2").is_err());
    }
}
