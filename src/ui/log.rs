//! `-v N`: logs on stderr, never on stdout, never a body or a credential.

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Installs the subscriber for this verbosity. Levels as kubectl's: 1–3 decisions, 4 causes, 6 requests, 7 headers.
pub fn start(verbosity: u8) {
    let ours = match verbosity {
        0 => LevelFilter::WARN,
        1..=3 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let http = match verbosity {
        0..=5 => LevelFilter::OFF,
        6 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    // Libraries stay silent: kube's own request logs may quote what we never print.
    let filter = Targets::new()
        .with_target("kubectl_eso", ours)
        .with_target("kubectl_eso::http", http);
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false);
    // A second start in one process (tests) keeps the first subscriber.
    let _ = tracing_subscriber::registry().with(filter).with(layer).try_init();
}
