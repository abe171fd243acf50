//! What every command starts from: settings resolved once, the kubeconfig loaded, clusters connected.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use tokio_util::sync::CancellationToken;

use super::contexts;
use super::error::CliError;
use super::exit::ExitCode;
use super::global::TargetArgs;
use crate::cluster::kubeconfig::{self, ConnectOptions, Environment, Loaded};
use crate::cluster::{Cluster, Reason, RequestError};
use crate::ui::Ui;
use crate::ui::results::{Failure, Report};

/// One run of the program.
pub struct Session {
    /// The terminal.
    pub ui: Ui,
    /// Connection flags.
    pub options: ConnectOptions,
    /// The environment.
    pub env: Environment,
    /// The kubeconfig.
    pub loaded: Loaded,
    /// `-n` was typed.
    pub explicit_namespace: Option<String>,
    /// Cancelled by the first signal: start nothing new.
    pub cancel: CancellationToken,
}

/// A downstream to work on: connected, or the reason why not.
pub struct Target {
    /// Context name.
    pub context: String,
    /// The cluster, or why it cannot be reached at all.
    pub cluster: Result<Cluster, CliError>,
    /// UID of its `kube-system`, where it may be read.
    pub uid: Option<String>,
}

impl Session {
    /// Loads the kubeconfig.
    ///
    /// # Errors
    /// Anything wrong with it; the terminal comes back so that it can be said.
    pub fn new(
        ui: Ui,
        options: ConnectOptions,
        env: Environment,
        cancel: CancellationToken,
    ) -> Result<Self, (Ui, CliError)> {
        let loaded = match kubeconfig::load(&options, &env) {
            Ok(loaded) => loaded,
            Err(e) => return Err((ui, e.into())),
        };
        for warning in &loaded.warnings {
            ui.warn(warning);
        }
        let explicit_namespace = options.namespace.clone();
        Ok(Self {
            ui,
            options,
            env,
            loaded,
            explicit_namespace,
            cancel,
        })
    }

    /// Name of the context that `--context` or `current-context` chooses.
    ///
    /// # Errors
    /// None chosen, or unknown.
    pub fn context(&self) -> Result<String, CliError> {
        Ok(kubeconfig::default_context(&self.loaded, &self.options)?)
    }

    /// Connects to the chosen context.
    ///
    /// # Errors
    /// Configuration errors; nothing is sent yet.
    pub async fn connect(&self, context: &str) -> Result<Cluster, CliError> {
        Ok(kubeconfig::connect(&self.loaded, context, &self.options, &self.env).await?)
    }

    /// Connects to the upstream (or the only) cluster.
    ///
    /// # Errors
    /// As [`Session::context`] and [`Session::connect`].
    pub async fn upstream(&self) -> Result<Cluster, CliError> {
        self.connect(&self.context()?).await
    }

    /// Names of the downstream contexts.
    ///
    /// # Errors
    /// Unknown names, overrides of one connection, no kubeconfig.
    pub fn target_names(&self, args: &TargetArgs, upstream: Option<&str>) -> Result<Vec<String>, CliError> {
        let overrides = self.options.overrides.in_use();
        if !overrides.is_empty() {
            return Err(
                CliError::usage(format!("{} cannot be used with --contexts", overrides.join(", ")))
                    .cause("they override one connection, and each context has its own")
                    .hint("put the setting into the kubeconfig: kubectl config set-cluster, set-credentials"),
            );
        }
        if self.loaded.config.is_none() {
            return Err(CliError::usage("--contexts needs a kubeconfig")
                .cause("this process runs in a cluster without one")
                .hint("mount a kubeconfig and set KUBECONFIG to its path"));
        }
        let listed = match &args.contexts_from {
            None => Vec::new(),
            Some(source) => contexts::lines(&read_text(source)?),
        };
        let names = contexts::resolve(args, &listed, &self.loaded.contexts(), upstream)?;
        if let Some(upstream) = upstream
            && !args.include_upstream
            && names.iter().any(|n| n == upstream)
        {
            return Err(upstream_refused(upstream, upstream));
        }
        Ok(names)
    }

    /// Connects to all downstreams, and refuses two contexts of one cluster, or the upstream among them.
    ///
    /// # Errors
    /// As [`Session::target_names`]; a cluster that cannot be reached is kept with its error.
    pub async fn targets(
        &self,
        args: &TargetArgs,
        upstream: Option<(&str, Option<&str>)>,
    ) -> Result<Vec<Target>, CliError> {
        let names = self.target_names(args, upstream.map(|u| u.0))?;
        let targets = crate::cluster::fanout::fan_out(
            names,
            usize::from(args.concurrency),
            |name| async move {
                let cluster = self.connect(&name).await;
                let (uid, cluster) = match cluster {
                    Ok(cluster) => match cluster_uid(&cluster).await {
                        Ok(uid) => (uid, Ok(cluster)),
                        Err(e) => (None, Err(e.into())),
                    },
                    Err(e) => (None, Err(e)),
                };
                Target {
                    context: name,
                    cluster,
                    uid,
                }
            },
            |_| {},
        )
        .await;
        self.check_distinct(&targets, args, upstream)?;
        Ok(targets)
    }

    fn check_distinct(
        &self,
        targets: &[Target],
        args: &TargetArgs,
        upstream: Option<(&str, Option<&str>)>,
    ) -> Result<(), CliError> {
        for (index, target) in targets.iter().enumerate() {
            let Some(uid) = &target.uid else {
                if target.cluster.is_ok() {
                    self.ui.warn(&format!(
                        "[{}] cannot read the namespace kube-system: the cluster cannot be told apart from others",
                        target.context
                    ));
                }
                continue;
            };
            if let Some((name, Some(upstream_uid))) = upstream
                && uid == upstream_uid
                && !args.include_upstream
            {
                return Err(upstream_refused(&target.context, name));
            }
            let twin = targets[..index].iter().find(|t| t.uid.as_ref() == Some(uid));
            if let Some(twin) = twin
                && !args.allow_same_cluster
            {
                return Err(CliError::usage(format!(
                    "contexts {:?} and {:?} reach the same cluster",
                    twin.context, target.context
                ))
                .cause(format!("their kube-system namespaces have the same UID {uid}"))
                .hint("leave one of them out, or pass --allow-same-cluster"));
            }
        }
        Ok(())
    }

    /// Prints what the servers warned about, each text once with the number of clusters.
    ///
    /// Returns whether there was anything.
    pub fn print_warnings(&self) -> bool {
        let all = self.options.warnings.take();
        for (text, contexts) in &all {
            let count = if contexts.len() > 1 {
                format!(" ({} clusters)", contexts.len())
            } else {
                String::new()
            };
            self.ui.warn(&format!("{text}{count}"));
        }
        !all.is_empty()
    }
}

fn upstream_refused(context: &str, upstream: &str) -> CliError {
    CliError::usage(format!("the upstream is among the targets: {context:?}"))
        .cause(format!("it reaches the same cluster as the upstream {upstream:?}"))
        .hint("leave it out (--exclude-contexts), or pass --include-upstream")
}

/// UID of `kube-system`, the usual identity of a cluster; `None` where it may not be read.
///
/// # Errors
/// The cluster cannot be reached, or refuses the credential.
pub async fn cluster_uid(cluster: &Cluster) -> Result<Option<String>, RequestError> {
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    match cluster
        .call("get", "namespace/kube-system", namespaces.get_opt("kube-system"))
        .await
    {
        Ok(found) => Ok(found.and_then(|n| n.metadata.uid)),
        Err(e) if e.reason == Reason::Forbidden => Ok(None),
        Err(e) => Err(e),
    }
}

/// A file's text, `-` for stdin.
///
/// # Errors
/// Unreadable, with the system's words.
pub fn read_text(source: &str) -> Result<String, CliError> {
    let read = if source == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(source)
    };
    read.map_err(|e| {
        CliError::usage(format!("cannot read {source:?}"))
            .cause(e.to_string())
            .hint("check the path")
    })
}

/// Measures one cluster's share of a command and turns its error into a report.
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time so far.
    pub fn took(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The failure part of a report.
pub fn failure(error: &CliError) -> Failure {
    Failure {
        reason: error.reason.clone(),
        what: error.what.clone(),
        cause: error.cause.clone(),
        hint: error.hint.clone(),
    }
}

/// A report of a cluster that never got started.
pub fn unreachable(context: &str, error: &CliError, took: Duration) -> Report {
    Report {
        context: context.to_owned(),
        failure: Some(failure(error)),
        took,
        ..Report::default()
    }
}

/// Exit code of many reports.
pub fn exit_of(reports: &[Report]) -> ExitCode {
    let bad = reports.iter().filter(|r| r.failure.is_some()).count();
    ExitCode::of_results(reports.len() - bad, bad)
}

/// The current time; commands pass it on to pure code.
pub fn now() -> Timestamp {
    Timestamp::now()
}
