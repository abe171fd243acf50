//! Process start: runtime, signals, environment. The only place that reads the environment.

use std::process::ExitCode as ProcessCode;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::cli::exit::ExitCode;
use crate::cli::{self, Surroundings};
use crate::cluster::kubeconfig::Environment;
use crate::ui::Terminal;

/// After the first signal, requests in flight have this long.
const GRACE: Duration = Duration::from_secs(5);

/// Runs the program and returns its exit code.
pub fn main() -> ProcessCode {
    // Both TLS stacks of the dependency tree would otherwise argue at the first handshake.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Ok(runtime) = tokio::runtime::Builder::new_multi_thread().enable_all().build() else {
        return ProcessCode::from(ExitCode::Failed.code());
    };
    let code = runtime.block_on(with_signals());
    // Blocking work that nobody waits for any more (a credential plugin) must not keep the process alive.
    runtime.shutdown_background();
    ProcessCode::from(code.code())
}

async fn with_signals() -> ExitCode {
    let cancel = CancellationToken::new();
    let surroundings = Surroundings {
        env: environment(),
        terminal: terminal(),
        cancel: cancel.clone(),
    };
    let run = cli::run(std::env::args_os().collect(), surroundings);
    tokio::pin!(run);
    let mut signals = Signals::new();
    let first = tokio::select! {
        code = &mut run => return code,
        signal = signals.next() => signal,
    };
    cancel.cancel();
    tokio::select! {
        code = &mut run => if first == ExitCode::Terminated && code == ExitCode::Done { ExitCode::Done } else { first },
        _ = signals.next() => first,
        () = tokio::time::sleep(GRACE) => first,
    }
}

/// SIGINT, SIGTERM and SIGHUP as exit codes.
#[cfg(unix)]
struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
            hangup: signal(SignalKind::hangup()).ok(),
        }
    }

    async fn next(&mut self) -> ExitCode {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => {
                    signal.recv().await;
                }
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = one(&mut self.interrupt) => ExitCode::Interrupted,
            () = one(&mut self.terminate) => ExitCode::Terminated,
            () = one(&mut self.hangup) => ExitCode::Terminated,
        }
    }
}

/// Ctrl-C as an exit code.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) -> ExitCode {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        ExitCode::Interrupted
    }
}

fn environment() -> Environment {
    let text = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
    let either = |upper: &str, lower: &str| text(upper).or_else(|| text(lower));
    Environment {
        kubeconfig: std::env::var_os("KUBECONFIG"),
        home: std::env::home_dir().filter(|h| !h.as_os_str().is_empty()),
        in_cluster: text("KUBERNETES_SERVICE_HOST").is_some() && text("KUBERNETES_SERVICE_PORT").is_some(),
        pod_namespace: text("POD_NAMESPACE"),
        https_proxy: either("HTTPS_PROXY", "https_proxy"),
        http_proxy: either("HTTP_PROXY", "http_proxy"),
        no_proxy: either("NO_PROXY", "no_proxy"),
    }
}

fn terminal() -> Terminal {
    let present = |name: &str| std::env::var_os(name).is_some();
    let text = |name: &str| std::env::var(name).unwrap_or_default();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .map(text)
        .find(|v| !v.is_empty())
        .unwrap_or_default();
    let utf8 = locale.to_ascii_lowercase().replace('-', "").contains("utf8");
    Terminal::detect(present("NO_COLOR"), text("TERM") == "dumb", utf8, present("CI"))
}
