//! Flags of `push-target`, and what is refused before any cluster is asked.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::error::CliError;
use crate::cli::global::{OutputArgs, TargetArgs, WriteArgs, duration};
use crate::plan::compare::Policy;
use crate::plan::names::PUSH_NAMESPACE;

/// `--deletion-policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum DeletionArg {
    /// What was pushed stays
    #[default]
    None,
    /// What was pushed goes with the PushSecret
    Delete,
}

/// Let the upstream push Secrets into other clusters
///
/// The other direction of distribute-token: for each context an account downstream that may create Secrets in one
/// namespace and change only the named ones; its token, proved, in the namespace eso-push upstream, away from what the
/// stores of other clusters may read; a store that uses it, and one PushSecret for each Secret. `sync --watch` or an
/// operator upstream does the pushing.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # Push one Secret of the namespace eso-data to two clusters
  kubectl eso push-target --contexts a,b --secrets database-credentials -n apps

  # Make the namespace downstream, and take back what was pushed when the
  # PushSecret goes
  kubectl eso push-target --contexts a --secrets tls -n pushed \\
    --create-namespace --deletion-policy delete

  # What would happen, without issuing a token
  kubectl eso push-target --contexts a --secrets tls --dry-run=client

  # Store and PushSecrets as files for git
  kubectl eso push-target --contexts a --secrets tls --export")]
pub struct PushTargetArgs {
    #[command(flatten)]
    pub(super) targets: TargetArgs,
    /// Source Secrets upstream (comma separated or repeated)
    #[arg(long, value_name = "NAMES", value_delimiter = ',', required = true)]
    pub(super) secrets: Vec<String>,
    /// Upstream namespace of the source Secrets
    #[arg(long, value_name = "NS", default_value = crate::plan::names::DATA_NAMESPACE)]
    pub(super) data_namespace: String,
    /// Allow an address that only this machine can reach (test clusters)
    #[arg(long)]
    pub(super) allow_local_url: bool,
    /// Refresh interval of the PushSecrets
    #[arg(long, value_name = "D", default_value = "1m", value_parser = interval)]
    pub(super) refresh_interval: String,
    /// What happens downstream when a PushSecret goes
    #[arg(long, value_enum, default_value_t = DeletionArg::None, value_name = "POLICY")]
    pub(super) deletion_policy: DeletionArg,
    /// Life of the token asked for; the server may grant less
    #[arg(long, value_name = "D", default_value = "720h", value_parser = duration)]
    pub(super) token_ttl: Duration,
    /// Renew tokens with less life left than this; default: a third of their life
    #[arg(long, value_name = "D", value_parser = duration)]
    pub(super) min_remaining: Option<Duration>,
    /// Issue a new token even where the stored one is good
    #[arg(long)]
    pub(super) force: bool,
    /// How long an old token stays valid beside a new one
    #[arg(long, value_name = "D", default_value = "10m", value_parser = duration)]
    pub(super) overlap: Duration,
    /// Name of a cluster at its first naming, CONTEXT=ID (repeatable)
    #[arg(long, value_name = "CONTEXT=ID")]
    pub(super) cluster_id: Vec<String>,
    /// Make the downstream namespace where it is missing
    #[arg(long)]
    pub(super) create_namespace: bool,
    /// Take over objects of these names that something else made
    #[arg(long)]
    pub(super) adopt: bool,
    #[command(flatten)]
    pub(super) write: WriteArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// The text of a duration that Go can read, kept as typed.
fn interval(text: &str) -> Result<String, String> {
    crate::lang::duration::GoDuration::parse(text)
        .map(|_| text.to_owned())
        .map_err(|e| e.to_string())
}

impl PushTargetArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine() || self.write.export
    }

    /// Ids as typed, by context.
    ///
    /// # Errors
    /// A pair that is none.
    pub(super) fn typed_ids(&self) -> Result<Vec<(String, String)>, CliError> {
        let parse = |pair: &String| match pair.rsplit_once('=') {
            Some((context, id)) if crate::plan::cid::is_valid(id) => Ok((context.to_owned(), id.to_owned())),
            _ => Err(CliError::usage(format!("--cluster-id {pair:?} is not CONTEXT=ID"))
                .cause("an id has up to 40 characters of a-z, 0-9 and -")
                .hint("--cluster-id prod-eu=eu")),
        };
        self.cluster_id.iter().map(parse).collect()
    }

    /// What can be refused before any cluster is asked.
    ///
    /// # Errors
    /// Which rule is broken.
    pub(super) fn check(&self) -> Result<(), CliError> {
        if self.data_namespace == PUSH_NAMESPACE {
            return Err(CliError::usage(format!(
                "--data-namespace {PUSH_NAMESPACE:?} is where the credentials lie"
            ))
            .cause("whoever may read the source Secrets could read the credentials too")
            .hint("keep source Secrets in another namespace"));
        }
        if self.token_ttl < Duration::from_secs(600) || self.token_ttl > Duration::from_secs(1 << 32) {
            return Err(CliError::usage("--token-ttl must be between 10m and 2^32 seconds")
                .cause("API servers refuse tokens that live less than 10 minutes")
                .hint("--token-ttl 720h"));
        }
        for name in &self.secrets {
            crate::api::name::check_subdomain(name)
                .map_err(|e| CliError::usage(format!("{name:?} is not a name of a Secret")).cause(e.to_string()))?;
        }
        Ok(())
    }

    /// How strict to be with what exists.
    pub(super) fn policy(&self) -> Policy {
        Policy {
            require_label: true,
            adopt: self.adopt,
            recreate: false,
        }
    }
}
