//! Flags that every command shares: kubectl's connection flags with kubectl's meaning, and ours for many clusters.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cluster::kubeconfig::{ConnectOptions, Impersonate, Overrides};

use super::error::CliError;

/// kubectl's global flags. They work before and after the subcommand and are listed by `kubectl eso options`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Path to the kubeconfig file to use
    #[arg(long, global = true, hide = true, value_name = "PATH")]
    pub kubeconfig: Option<PathBuf>,
    /// Name of the kubeconfig context to use; on two-sided commands the upstream
    #[arg(long, global = true, hide = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Name of the kubeconfig cluster to use
    #[arg(long, global = true, hide = true, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Name of the kubeconfig user to use
    #[arg(long, global = true, hide = true, value_name = "NAME")]
    pub user: Option<String>,
    /// Namespace scope of this request
    #[arg(short, long, global = true, hide = true, value_name = "NS")]
    pub namespace: Option<String>,
    /// Address and port of the API server
    #[arg(short, long, global = true, hide = true, value_name = "URL")]
    pub server: Option<String>,
    /// Path to a certificate file of the authority that signed the server's certificate
    #[arg(long, global = true, hide = true, value_name = "PATH")]
    pub certificate_authority: Option<PathBuf>,
    /// Do not check the server's certificate
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub insecure_skip_tls_verify: bool,
    /// Server name to verify the certificate against
    #[arg(long, global = true, hide = true, value_name = "NAME")]
    pub tls_server_name: Option<String>,
    /// Path to a client certificate file
    #[arg(long, global = true, hide = true, value_name = "PATH")]
    pub client_certificate: Option<PathBuf>,
    /// Path to a client key file
    #[arg(long, global = true, hide = true, value_name = "PATH")]
    pub client_key: Option<PathBuf>,
    /// Bearer token for the API server (discouraged: other users can read command lines)
    #[arg(long, global = true, hide = true, value_name = "VALUE")]
    pub token: Option<TokenArg>,
    /// User name to impersonate
    #[arg(long = "as", global = true, hide = true, value_name = "USER")]
    pub as_user: Option<String>,
    /// UID to impersonate
    #[arg(long, global = true, hide = true, value_name = "UID")]
    pub as_uid: Option<String>,
    /// Group to impersonate (repeatable)
    #[arg(long, global = true, hide = true, value_name = "GROUP")]
    pub as_group: Vec<String>,
    /// Extra field to impersonate, KEY=VALUE (repeatable)
    #[arg(long, global = true, hide = true, value_name = "KEY=VALUE")]
    pub as_user_extra: Vec<String>,
    /// Longest time one request may take; 0 means no limit, a bare number is seconds
    #[arg(long, global = true, hide = true, value_name = "D", default_value = "30s", value_parser = request_timeout)]
    pub request_timeout: Duration,
    /// Accepted for compatibility with kubectl; this program does not compress requests
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub disable_compression: bool,
    /// Accepted for compatibility with kubectl; this program keeps no cache on disk
    #[arg(long, global = true, hide = true, value_name = "PATH")]
    pub cache_dir: Option<PathBuf>,
    /// Log level: 1-3 decisions, 4 causes, 6 requests, 7 headers (bodies and credentials are never logged)
    #[arg(short, long = "v", global = true, hide = true, value_name = "N", default_value_t = 0)]
    pub verbosity: u8,
    /// End with a failure if a server sent a warning
    #[arg(long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub warnings_as_errors: bool,
    /// When to use colour
    #[arg(long, global = true, hide = true, value_enum, default_value_t = ColorArg::Auto, value_name = "WHEN")]
    pub color: ColorArg,
    /// No progress and no remarks; errors stay
    #[arg(short, long, global = true, hide = true, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub quiet: bool,
}

/// A bearer token on the command line; wiped, and hidden in `Debug`.
#[derive(Clone)]
pub struct TokenArg(zeroize::Zeroizing<String>);

impl From<&str> for TokenArg {
    fn from(text: &str) -> Self {
        Self(zeroize::Zeroizing::new(text.to_owned()))
    }
}

impl std::fmt::Debug for TokenArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorArg {
    /// On terminals
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl GlobalArgs {
    /// The connection half of the flags.
    ///
    /// # Errors
    /// A uid, group or extra without `--as`, or a malformed extra.
    pub fn connect_options(
        &self,
        command: &str,
        session: String,
        stdin_free: bool,
    ) -> Result<ConnectOptions, CliError> {
        if self.as_user.is_none()
            && (self.as_uid.is_some() || !self.as_group.is_empty() || !self.as_user_extra.is_empty())
        {
            return Err(CliError::usage("--as-uid, --as-group and --as-user-extra need --as"));
        }
        let extra = self
            .as_user_extra
            .iter()
            .map(|pair| match pair.split_once('=') {
                Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
                _ => Err(CliError::usage(format!("--as-user-extra {pair:?} is not KEY=VALUE"))),
            })
            .collect::<Result<_, _>>()?;
        Ok(ConnectOptions {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            namespace: self.namespace.clone(),
            impersonate: Impersonate {
                user: self.as_user.clone(),
                uid: self.as_uid.clone(),
                groups: self.as_group.clone(),
                extra,
            },
            overrides: Overrides {
                cluster: self.cluster.clone(),
                user: self.user.clone(),
                server: self.server.clone(),
                certificate_authority: self.certificate_authority.clone(),
                insecure: self.insecure_skip_tls_verify,
                tls_server_name: self.tls_server_name.clone(),
                client_certificate: self.client_certificate.clone(),
                client_key: self.client_key.clone(),
                token: self.token.as_ref().map(|t| t.0.clone()),
            },
            request_timeout: self.request_timeout,
            command: command.to_owned(),
            session,
            stdin_free,
            warnings: crate::cluster::http_log::Warnings::default(),
        })
    }
}

/// Flags that choose downstream clusters.
#[derive(Debug, Clone, Default, Args)]
pub struct TargetArgs {
    /// Downstream contexts: names, globs (prod-*) or /regex/, comma separated or repeated
    #[arg(long, value_name = "LIST")]
    pub contexts: Vec<String>,
    /// Contexts to leave out, same syntax, applied last
    #[arg(long, value_name = "LIST")]
    pub exclude_contexts: Vec<String>,
    /// All contexts of the kubeconfig but the upstream
    #[arg(long)]
    pub all_contexts: bool,
    /// File with one context per line, or - for stdin; # starts a comment
    #[arg(long, value_name = "FILE")]
    pub contexts_from: Option<String>,
    /// How many clusters are worked on at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub concurrency: u16,
    /// Stop starting new clusters after the first failure
    #[arg(long)]
    pub fail_fast: bool,
    /// Allow the upstream itself among the targets
    #[arg(long)]
    pub include_upstream: bool,
    /// Allow two contexts that reach the same cluster
    #[arg(long)]
    pub allow_same_cluster: bool,
}

impl TargetArgs {
    /// True where any flag chooses contexts.
    pub fn is_used(&self) -> bool {
        !self.contexts.is_empty() || self.all_contexts || self.contexts_from.is_some()
    }
}

/// `--dry-run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum DryRun {
    /// Write for real
    #[default]
    #[value(alias = "false")]
    None,
    /// Show what would be sent, without writing
    #[value(alias = "true")]
    Client,
    /// Send it with dryRun=All
    Server,
}

/// Flags of commands that write objects.
#[derive(Debug, Clone, Default, Args)]
pub struct WriteArgs {
    /// none, client (show what would be sent; reads are allowed) or server (the server checks and does not store)
    #[arg(long, value_enum, num_args = 0..=1, default_value = "none", default_missing_value = "client", require_equals = true, value_name = "MODE")]
    pub dry_run: DryRun,
    /// Print the objects for git instead of applying them (short for --dry-run=client -o yaml)
    #[arg(long)]
    pub export: bool,
    /// Take fields that another field manager owns
    #[arg(long)]
    pub force_conflicts: bool,
    /// `apply --lenient`: the server drops fields it does not know instead of refusing the object.
    #[arg(skip)]
    pub lenient: bool,
}

impl WriteArgs {
    /// The words behind an object line.
    pub fn suffix(&self) -> &'static str {
        match self.mode() {
            DryRun::None => "",
            DryRun::Client => " (dry run)",
            DryRun::Server => " (server dry run)",
        }
    }

    /// `--export` is a client dry run.
    pub fn mode(&self) -> DryRun {
        if self.export { DryRun::Client } else { self.dry_run }
    }
}

/// `-o` of reports and writing commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Output {
    /// Lines or a table
    #[default]
    #[value(name = "table", alias = "text")]
    Table,
    /// More columns
    Wide,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
    /// kind.group/name only
    Name,
}

/// `-o`.
#[derive(Debug, Clone, Default, Args)]
pub struct OutputArgs {
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Table, value_name = "FORMAT")]
    pub output: Output,
}

impl Output {
    /// True where stdout must be one parseable document.
    pub fn is_machine(self) -> bool {
        matches!(self, Self::Json | Self::Yaml | Self::Name)
    }
}

/// kubectl's request timeout: `0`, a number of seconds, or a duration.
fn request_timeout(text: &str) -> Result<Duration, String> {
    match text.parse::<u64>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => duration(text),
    }
}

/// A duration as people type it: Go's syntax, and `d` for 24 hours.
///
/// # Errors
/// Text for clap.
pub fn duration(text: &str) -> Result<Duration, String> {
    let mut total = Duration::ZERO;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("expected a duration such as 30s, 12h or 14d".to_owned());
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, next) = tail.split_at(end);
        let value: f64 = number
            .parse()
            .map_err(|_| format!("{text:?} is not a duration such as 30s, 12h or 14d"))?;
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            "" if number == "0" && next.is_empty() => 0.0,
            _ => return Err(format!("{text:?} needs a unit of ms, s, m, h or d")),
        };
        let part = Duration::try_from_secs_f64(value * seconds).map_err(|_| format!("{text:?} is too long"))?;
        total = total.checked_add(part).ok_or_else(|| format!("{text:?} is too long"))?;
        rest = next;
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{duration, request_timeout};

    #[test]
    fn durations_take_days_and_mixed_units() {
        assert_eq!(duration("720h"), Ok(Duration::from_secs(720 * 3600)));
        assert_eq!(duration("14d"), Ok(Duration::from_secs(14 * 86_400)));
        assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        for bad in ["", "5", "1x", "h", "-1s", "1e400d"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
        assert_eq!(request_timeout("5"), Ok(Duration::from_secs(5)));
    }
}
