//! `cargo xtask bench`: measurements, one JSON line each.

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use xtask::bench::floor;
use xtask::controlplane::{ControlPlanes, Options};
use xtask::metrics::Usage;

/// Measure; each prints one JSON line.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// The writes of a first synchronisation by a bare loop, as the measure for everything else
    Floor(Floor),
}

/// Arguments of `bench floor`.
#[derive(Debug, Args)]
pub struct Floor {
    /// Number of objects
    #[arg(long, value_name = "N", default_value_t = 1000)]
    count: usize,
    /// Writes in flight at a time
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1000))]
    in_flight: u16,
}

impl Bench {
    /// Runs the measurement.
    pub fn run(self) -> Result<()> {
        match self {
            Self::Floor(floor) => floor.run(),
        }
    }
}

impl Floor {
    fn run(self) -> Result<()> {
        let Self { count, in_flight } = self;
        let planes = ControlPlanes::start(Options {
            audit: false,
            ..Options::count(1)
        })?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let report = runtime.block_on(floor::run(planes.cluster(0), count, in_flight.into()))?;
        let server = Usage::of(planes.cluster(0).apiserver_pid())?;
        println!(
            "{}",
            json!({ "bench": "floor", "floor": report, "apiserverCpuSeconds": server.cpu_seconds })
        );
        Ok(())
    }
}
