//! `sync`: the operator's loop, once or in the foreground.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::sync::{Mode, Settings, SourceWatch};

/// Whether sources are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SourceWatchArg {
    /// Where the store's role allows it.
    Auto,
    /// Never: polling at the refresh interval, as the operator does.
    Off,
}

/// Flags of `sync` beyond the shared ones (contexts, namespace, output).
#[derive(Debug, Clone, Args)]
pub struct SyncArgs {
    /// Refresh only these ExternalSecrets, now
    #[arg(value_name = "NAME", conflicts_with = "watch")]
    pub names: Vec<String>,
    /// Stay in the foreground and keep everything in step
    #[arg(short = 'w', long)]
    pub watch: bool,
    /// Watch the sources, so that a change arrives at once
    #[arg(long, value_enum, default_value = "auto", value_name = "MODE")]
    pub source_watch: SourceWatchArg,
    /// Serve ExternalSecrets whose target is not a Secret
    #[arg(long)]
    pub allow_generic_targets: bool,
    /// Serve stores of this class
    #[arg(long, default_value = "default", value_name = "CLASS")]
    pub controller_class: String,
    /// Write nothing, report what would be written
    #[arg(long, conflicts_with = "take_over")]
    pub shadow: bool,
    /// Start although an operator serves the same class
    #[arg(long)]
    pub take_over: bool,
    /// Objects handled at once, per cluster
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub workers: u16,
    /// File of namespaces (one a line) that nothing is written to
    #[arg(long, value_name = "FILE")]
    pub pause_file: Option<PathBuf>,
    /// Use stores that are not ready
    #[arg(long, hide = true)]
    pub no_flood_gate: bool,
}

impl SyncArgs {
    /// The settings of the run; `namespace` is `None` for all.
    pub fn settings(&self, namespace: Option<&str>) -> Settings {
        let mode = if self.watch {
            Mode::Watch
        } else if self.names.is_empty() {
            Mode::Once
        } else {
            let namespace = namespace.unwrap_or("default").to_owned();
            Mode::Names(self.names.iter().map(|name| (namespace.clone(), name.clone())).collect())
        };
        Settings {
            class: self.controller_class.clone(),
            namespace: namespace.map(str::to_owned),
            concurrency: usize::from(self.workers),
            source_watch: match self.source_watch {
                SourceWatchArg::Auto => SourceWatch::Auto,
                SourceWatchArg::Off => SourceWatch::Off,
            },
            allow_generic_targets: self.allow_generic_targets,
            mode,
            shadow: self.shadow,
            take_over: self.take_over,
            pause_file: self.pause_file.clone(),
            flood_gate: !self.no_flood_gate,
            ..Settings::default()
        }
    }
}
