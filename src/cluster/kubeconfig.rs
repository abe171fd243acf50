//! kubeconfig → connections, by kubectl's rules rather than kube-rs's: list precedence, overrides, no silent fall to
//! in-cluster, credentials over TLS only, proxies as client-go resolves them.

mod connect;
mod proxy;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{ExecInteractiveMode, Kubeconfig};

pub use connect::connect;

/// The parts of the process environment that connecting depends on; read once in `main`.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `KUBECONFIG`.
    pub kubeconfig: Option<OsString>,
    /// The home directory.
    pub home: Option<PathBuf>,
    /// `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT` are both set.
    pub in_cluster: bool,
    /// `POD_NAMESPACE`.
    pub pod_namespace: Option<String>,
    /// `HTTPS_PROXY` or `https_proxy`.
    pub https_proxy: Option<String>,
    /// `HTTP_PROXY` or `http_proxy`.
    pub http_proxy: Option<String>,
    /// `NO_PROXY` or `no_proxy`.
    pub no_proxy: Option<String>,
}

/// kubectl's connection flags, as typed.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// `--kubeconfig`.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`.
    pub context: Option<String>,
    /// `--namespace`.
    pub namespace: Option<String>,
    /// `--as`, `--as-uid`, `--as-group`, `--as-user-extra`: apply to every cluster.
    pub impersonate: Impersonate,
    /// `--cluster`, `--user`, `--server`, … : meant for one connection.
    pub overrides: Overrides,
    /// `--request-timeout`; zero means none.
    pub request_timeout: Duration,
    /// Name of the subcommand, for the `Kubectl-Command` header (KEP 859).
    pub command: String,
    /// Random id of this run, for `Kubectl-Session`.
    pub session: String,
    /// Whether an exec plugin may read this process's stdin: it is a terminal and no manifest comes from it.
    pub stdin_free: bool,
    /// Where the servers' warnings are collected.
    pub warnings: super::http_log::Warnings,
}

/// `--as…` flags.
#[derive(Debug, Clone, Default)]
pub struct Impersonate {
    /// `--as`.
    pub user: Option<String>,
    /// `--as-uid`.
    pub uid: Option<String>,
    /// `--as-group`, repeatable.
    pub groups: Vec<String>,
    /// `--as-user-extra key=value`, repeatable.
    pub extra: Vec<(String, String)>,
}

/// Flags that change one connection; refused together with `--contexts`.
#[derive(Clone, Default)]
pub struct Overrides {
    /// `--cluster`.
    pub cluster: Option<String>,
    /// `--user`.
    pub user: Option<String>,
    /// `--server`.
    pub server: Option<String>,
    /// `--certificate-authority`.
    pub certificate_authority: Option<PathBuf>,
    /// `--insecure-skip-tls-verify`.
    pub insecure: bool,
    /// `--tls-server-name`.
    pub tls_server_name: Option<String>,
    /// `--client-certificate`.
    pub client_certificate: Option<PathBuf>,
    /// `--client-key`.
    pub client_key: Option<PathBuf>,
    /// `--token`; kubectl has it, so it is accepted.
    pub token: Option<zeroize::Zeroizing<String>>,
}

impl std::fmt::Debug for Overrides {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Overrides")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Overrides {
    /// The flags in use, by name, for the refusal text.
    pub fn in_use(&self) -> Vec<&'static str> {
        let flags = [
            ("--cluster", self.cluster.is_some()),
            ("--user", self.user.is_some()),
            ("--server", self.server.is_some()),
            ("--certificate-authority", self.certificate_authority.is_some()),
            ("--insecure-skip-tls-verify", self.insecure),
            ("--tls-server-name", self.tls_server_name.is_some()),
            ("--client-certificate", self.client_certificate.is_some()),
            ("--client-key", self.client_key.is_some()),
            ("--token", self.token.is_some()),
        ];
        flags
            .into_iter()
            .filter(|(_, used)| *used)
            .map(|(name, _)| name)
            .collect()
    }
}

/// What is wrong with the local configuration; nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// `--kubeconfig` names a file that is not there, or a listed file cannot be read or parsed.
    #[error("cannot read kubeconfig {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause, without any content of the file.
        message: String,
    },
    /// No kubeconfig and not in a cluster.
    #[error("no kubeconfig found")]
    Absent {
        /// What was looked for.
        looked: Vec<PathBuf>,
    },
    /// The context does not exist.
    #[error("context {name:?} does not exist")]
    UnknownContext {
        /// As typed.
        name: String,
        /// Nearest existing names.
        nearest: Vec<String>,
    },
    /// No `--context` and no `current-context`.
    #[error("no context is chosen")]
    NoContext {
        /// All there are.
        available: Vec<String>,
    },
    /// The context, or an override, names a cluster or user that is not in the file.
    #[error("{what} {name:?} does not exist in the kubeconfig")]
    UnknownEntry {
        /// `cluster` or `user`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A flag's value is unusable.
    #[error("invalid connection settings for context {context:?}")]
    Invalid {
        /// The context.
        context: String,
        /// The cause; never a credential.
        message: String,
    },
}

/// The merged kubeconfig and where it came from.
#[derive(Clone)]
pub struct Loaded {
    /// Merged by kubectl's rules; `None` when we run in a cluster without one.
    pub config: Option<Kubeconfig>,
    /// Files that contributed.
    pub sources: Vec<PathBuf>,
    /// Things the user should hear once, such as a listed file that is missing.
    pub warnings: Vec<String>,
}

impl Loaded {
    /// Context names in file order.
    pub fn contexts(&self) -> Vec<String> {
        self.config
            .as_ref()
            .map(|c| c.contexts.iter().map(|x| x.name.clone()).collect())
            .unwrap_or_default()
    }

    /// `current-context`, unless empty.
    pub fn current(&self) -> Option<String> {
        self.config.as_ref()?.current_context.clone().filter(|c| !c.is_empty())
    }

    /// The context's own namespace.
    pub fn namespace_of(&self, context: &str) -> Option<String> {
        let config = self.config.as_ref()?;
        let named = config.contexts.iter().find(|c| c.name == context)?;
        named.context.as_ref()?.namespace.clone().filter(|n| !n.is_empty())
    }
}

/// Loads the kubeconfig as kubectl does: `--kubeconfig` alone, else the `KUBECONFIG` list, else `~/.kube/config`;
/// in-cluster only when none of these exists.
pub fn load(options: &ConnectOptions, env: &Environment) -> Result<Loaded, ConfigError> {
    if let Some(path) = &options.kubeconfig {
        let config = read(path)?.ok_or_else(|| ConfigError::Unreadable {
            path: path.clone(),
            message: "no such file or directory".to_owned(),
        })?;
        return Ok(Loaded {
            config: Some(config),
            sources: vec![path.clone()],
            warnings: Vec::new(),
        });
    }
    let paths = candidate_paths(env);
    let mut loaded = Loaded {
        config: None,
        sources: Vec::new(),
        warnings: Vec::new(),
    };
    for path in &paths {
        let Some(next) = read(path)? else { continue };
        loaded.sources.push(path.clone());
        loaded.config = Some(match loaded.config.take() {
            None => next,
            Some(first) => merge(first, next),
        });
    }
    let empty = loaded
        .config
        .as_ref()
        .is_none_or(|c| c.contexts.is_empty() && c.clusters.is_empty());
    if empty && env.in_cluster {
        loaded.config = None;
        return Ok(loaded);
    }
    if loaded.config.is_none() {
        return Err(ConfigError::Absent { looked: paths });
    }
    Ok(loaded)
}

/// `KUBECONFIG`'s items without duplicates and empties, else the default file.
fn candidate_paths(env: &Environment) -> Vec<PathBuf> {
    let listed = env.kubeconfig.as_ref().filter(|v| !v.is_empty());
    let mut paths: Vec<PathBuf> = Vec::new();
    match listed {
        Some(list) => {
            for item in std::env::split_paths(list).filter(|p| !p.as_os_str().is_empty()) {
                if !paths.contains(&item) {
                    paths.push(item);
                }
            }
        }
        None => paths.extend(env.home.as_ref().map(|h| h.join(".kube").join("config"))),
    }
    paths
}

/// `None` for a file that does not exist; relative paths inside resolve against its directory (kube does that).
fn read(path: &Path) -> Result<Option<Kubeconfig>, ConfigError> {
    match std::fs::metadata(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => {
            return Err(ConfigError::Unreadable {
                path: path.to_owned(),
                message: e.to_string(),
            });
        }
        Ok(_) => {}
    }
    Kubeconfig::read_from(path)
        .map(Some)
        .map_err(|e| ConfigError::Unreadable {
            path: path.to_owned(),
            message: super::request_error::one_line(&e.to_string()),
        })
}

/// First file wins per map key, whole entries; `current-context` from the first file that sets it.
fn merge(mut first: Kubeconfig, next: Kubeconfig) -> Kubeconfig {
    if first.current_context.as_deref().unwrap_or_default().is_empty() {
        first.current_context = next.current_context;
    }
    for entry in next.clusters {
        if !first.clusters.iter().any(|e| e.name == entry.name) {
            first.clusters.push(entry);
        }
    }
    for entry in next.auth_infos {
        if !first.auth_infos.iter().any(|e| e.name == entry.name) {
            first.auth_infos.push(entry);
        }
    }
    for entry in next.contexts {
        if !first.contexts.iter().any(|e| e.name == entry.name) {
            first.contexts.push(entry);
        }
    }
    first
}

/// The context to use when none is typed.
pub fn default_context(loaded: &Loaded, options: &ConnectOptions) -> Result<String, ConfigError> {
    if loaded.config.is_none() {
        return Ok(IN_CLUSTER.to_owned());
    }
    match &options.context {
        Some(name) => {
            check_context(loaded, name)?;
            Ok(name.clone())
        }
        None => {
            let name = loaded.current().ok_or_else(|| ConfigError::NoContext {
                available: loaded.contexts(),
            })?;
            check_context(loaded, &name)?;
            Ok(name)
        }
    }
}

/// The name shown for the cluster we run in.
pub const IN_CLUSTER: &str = "in-cluster";

/// Fails with the nearest names where the context does not exist.
pub fn check_context(loaded: &Loaded, name: &str) -> Result<(), ConfigError> {
    let names = loaded.contexts();
    if names.iter().any(|n| n == name) {
        return Ok(());
    }
    Err(ConfigError::UnknownContext {
        name: name.to_owned(),
        nearest: nearest(name, &names),
    })
}

/// Up to three names, closest first by edit distance; all of them when there are only a few.
pub fn nearest(name: &str, names: &[String]) -> Vec<String> {
    let mut scored: Vec<(usize, &String)> = names.iter().map(|n| (strsim::osa_distance(name, n), n)).collect();
    scored.sort();
    let limit = (name.chars().count() / 2).max(3);
    let close: Vec<String> = scored
        .iter()
        .filter(|(d, _)| *d <= limit)
        .take(3)
        .map(|(_, n)| (*n).clone())
        .collect();
    if close.is_empty() {
        scored.into_iter().take(3).map(|(_, n)| n.clone()).collect()
    } else {
        close
    }
}

/// stdin belongs to the manifest or the pipe unless it is a terminal nobody reads.
fn tame_exec(config: &mut Kubeconfig, stdin_free: bool) {
    if stdin_free {
        return;
    }
    for user in &mut config.auth_infos {
        if let Some(exec) = user.auth_info.as_mut().and_then(|a| a.exec.as_mut()) {
            exec.interactive_mode = Some(ExecInteractiveMode::Never);
        }
    }
}

#[cfg(test)]
mod tests;
