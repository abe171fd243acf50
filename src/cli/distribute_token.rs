//! `distribute-token`: every downstream gets its own identity, token and CA, perhaps the store.

use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::Value;

use super::credential::{Hub, Wish};
use super::error::CliError;
use super::exit::ExitCode;
use super::global::{DryRun, OutputArgs, TargetArgs, WriteArgs, duration};
use super::session::{Session, Target, exit_of, now};
use super::steps::{Writer, export};
use super::upstream::{self, Upstream, UpstreamArgs};
use crate::cluster::discovery::{Served, discover};
use crate::cluster::fanout::fan_out;
use crate::cluster::{lease, observe, process};
use crate::plan::compare::Policy;
use crate::plan::distribute::{Anchor, Scope, anchor_of, ca_config_map, cid_of_cluster, cluster_of_cid, token_secret};
use crate::plan::names::{
    IDENTITY_NAMESPACE, LABEL_CLUSTER, LABEL_MANAGED_BY, LEASE, MANAGED_BY, READER_ROLE, TOKEN_SECRET,
};
use crate::plan::stores::StoreScope;
use crate::plan::{Manifest, cid};
use crate::ui::results::Report;

/// `--scope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ScopeArg {
    /// A SecretStore, for the namespace of the credential
    #[default]
    Namespace,
    /// A ClusterSecretStore with conditions
    Cluster,
}

/// Give every downstream its own credential
///
/// For each context: an account of its own upstream, a token bound to a marker that can be revoked alone, proved
/// against the upstream, then written with the CA into the downstream namespace. A rerun changes nothing while the
/// token has more than a third of its life left.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # Credential and store for two clusters
  kubectl eso distribute-token --contexts a,b --with-store

  # Let these clusters read one Secret only
  kubectl eso distribute-token --contexts 'edge-*' --secrets database-credentials

  # A store that several namespaces may use
  kubectl eso distribute-token --contexts a --with-store --scope cluster --store-namespaces web,jobs

  # Take over a set-up made by hand
  kubectl eso distribute-token --contexts a --with-store --adopt

  # What would happen, without issuing a token
  kubectl eso distribute-token --contexts a,b --dry-run=client")]
pub struct DistributeTokenArgs {
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    upstream: UpstreamArgs,
    /// Life of the token asked for; the server may grant less
    #[arg(long, value_name = "D", default_value = "720h", value_parser = duration)]
    token_ttl: Duration,
    /// Audience of the token (repeatable); default: the API server's own
    #[arg(long, value_name = "AUDIENCE")]
    audience: Vec<String>,
    /// Renew tokens with less life left than this; default: a third of their life
    #[arg(long, value_name = "D", value_parser = duration)]
    min_remaining: Option<Duration>,
    /// Issue a new token even where the stored one is good
    #[arg(long)]
    force: bool,
    /// How long an old token stays valid beside a new one
    #[arg(long, value_name = "D", default_value = "10m", value_parser = duration)]
    overlap: Duration,
    /// Limit these clusters to these Secrets
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    secrets: Vec<String>,
    /// Let these clusters read all Secrets of the data namespace (again)
    #[arg(long, conflicts_with = "secrets")]
    all_secrets: bool,
    /// Use the one account of the data namespace for all clusters
    #[arg(long, conflicts_with = "secrets")]
    shared_identity: bool,
    /// Name of a cluster's identity at its first naming, CONTEXT=ID (repeatable)
    #[arg(long, value_name = "CONTEXT=ID")]
    cluster_id: Vec<String>,
    /// Also apply the store that uses the credential
    #[arg(long)]
    with_store: bool,
    /// Kind of the store
    #[arg(long, value_enum, default_value_t = ScopeArg::Namespace, value_name = "SCOPE", requires = "with_store")]
    scope: ScopeArg,
    /// Namespaces that may use the ClusterSecretStore; the credential's own always may
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "with_store")]
    store_namespaces: Vec<String>,
    /// Make the downstream namespace where it is missing
    #[arg(long)]
    create_namespace: bool,
    /// Take over objects of these names that something else made
    #[arg(long)]
    adopt: bool,
    /// Replace a RoleBinding that refers to another Role
    #[arg(long)]
    recreate: bool,
    /// How long to wait for another run to end
    #[arg(long, value_name = "D", default_value = "30s", value_parser = duration)]
    lease_wait: Duration,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The API server refuses shorter ones.
const SHORTEST: Duration = Duration::from_secs(600);
/// TokenRequest holds seconds in 32 bits.
const LONGEST: Duration = Duration::from_secs(1 << 32);
const LEASE_LIFE: Duration = Duration::from_secs(15);

impl DistributeTokenArgs {
    fn wish(&self) -> Result<Wish, CliError> {
        if self.token_ttl < SHORTEST || self.token_ttl > LONGEST {
            return Err(CliError::usage("--token-ttl must be between 10m and 2^32 seconds")
                .cause("API servers refuse tokens that live less than 10 minutes")
                .hint("--token-ttl 720h"));
        }
        let scope = if self.all_secrets {
            Some(Scope::All)
        } else if self.secrets.is_empty() {
            None
        } else {
            Some(Scope::Names(self.secrets.clone()))
        };
        let store = self.with_store.then(|| match self.scope {
            ScopeArg::Namespace => StoreScope::Namespace,
            ScopeArg::Cluster => StoreScope::Cluster {
                namespaces: self.store_namespaces.clone(),
            },
        });
        Ok(Wish {
            ttl: self.token_ttl,
            audiences: self.audience.clone(),
            force: self.force,
            min_remaining: self.min_remaining,
            overlap: self.overlap,
            scope,
            shared_identity: self.shared_identity,
            store,
            create_namespace: self.create_namespace,
            write: self.write.clone(),
            policy: Policy {
                require_label: true,
                adopt: self.adopt,
                recreate: self.recreate,
            },
        })
    }

    fn typed_ids(&self) -> Result<Vec<(String, String)>, CliError> {
        self.cluster_id
            .iter()
            .map(|pair| match pair.rsplit_once('=') {
                Some((context, id)) if cid::is_valid(id) => Ok((context.to_owned(), id.to_owned())),
                _ => Err(CliError::usage(format!("--cluster-id {pair:?} is not CONTEXT=ID"))
                    .cause("an id has up to 40 characters of a-z, 0-9 and -")
                    .hint("--cluster-id prod-eu=eu")),
            })
            .collect()
    }
}

impl DistributeTokenArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine() || self.write.export
    }
}

/// Runs the command.
///
/// # Errors
/// In three lines; failures of single clusters are results, not errors.
pub async fn run(session: &Session, args: DistributeTokenArgs) -> Result<ExitCode, CliError> {
    let (wish, typed) = (args.wish()?, args.typed_ids()?);
    let name = session.context()?;
    session.target_names(&args.targets, Some(&name))?;
    let found = upstream::find(session.connect(&name).await?, &args.upstream).await?;
    let targets = session.targets(&args.targets, Some((&name, Some(&found.uid)))).await?;
    if args.write.export {
        return export_files(session, &found, &targets, &wish, &typed);
    }
    let served = discover(&found.cluster, &["", "rbac.authorization.k8s.io"]).await?;
    check_bootstrapped(&found, &served).await?;
    let held = if args.write.mode() == DryRun::None {
        Some(take_lease(&found, args.lease_wait).await?)
    } else {
        None
    };
    let outcome = distribute(session, &args, &found, &served, &targets, &wish, &typed);
    let reports = match held {
        None => outcome.await,
        Some(held) => while_held(held, &found, outcome).await,
    }?;
    let exit = exit_of(&reports);
    finish(session, &args, &reports, exit)?;
    Ok(exit)
}

fn finish(session: &Session, args: &DistributeTokenArgs, reports: &[Report], exit: ExitCode) -> Result<(), CliError> {
    if args.output.output.is_machine() {
        return super::output::print(
            session,
            args.output.output,
            "DistributeTokenResult",
            reports,
            exit,
            args.write.suffix(),
        );
    }
    session.ui.summary(reports);
    Ok(())
}

async fn distribute(
    session: &Session,
    args: &DistributeTokenArgs,
    found: &Upstream,
    served: &Served,
    targets: &[Target],
    wish: &Wish,
    typed: &[(String, String)],
) -> Result<Vec<Report>, CliError> {
    let account_namespace = if wish.shared_identity {
        found.data_namespace.as_str()
    } else {
        IDENTITY_NAMESPACE
    };
    if !wish.shared_identity {
        let writer = Writer {
            cluster: &found.cluster,
            served,
            write: &wish.write,
            policy: Policy::default(),
        };
        writer
            .apply(crate::plan::bootstrap::namespace(IDENTITY_NAMESPACE))
            .await?;
    }
    let accounts = ours(found, served, "ServiceAccount", IDENTITY_NAMESPACE).await?;
    let anchors = anchors(&ours(found, served, "Secret", account_namespace).await?);
    let ids = ids(targets, &accounts, typed)?;
    let hub = Hub {
        upstream: found,
        served,
        accounts: &accounts,
        anchors: &anchors,
        wish,
    };
    let machine = args.output.output.is_machine();
    let progress = session.ui.progress(targets.len(), "distributing to");
    let many = targets.len() > 1;
    let cancel = &session.cancel;
    let failed = std::sync::atomic::AtomicBool::new(false);
    let (hub, failed, fail_fast) = (&hub, &failed, args.targets.fail_fast);
    let work: Vec<(&Target, String, String)> = targets
        .iter()
        .zip(ids)
        .map(|(t, id)| (t, id, namespace_of(session, t)))
        .collect();
    let reports = fan_out(
        work,
        usize::from(args.targets.concurrency),
        |(target, id, namespace)| async move {
            use std::sync::atomic::Ordering;
            if cancel.is_cancelled() || fail_fast && failed.load(Ordering::Relaxed) {
                return not_started(&target.context);
            }
            let report = hub.serve(target, &id, &namespace).await;
            failed.fetch_or(report.failure.is_some(), Ordering::Relaxed);
            report
        },
        |report| {
            if !machine {
                session.ui.report(report, many, args.write.suffix(), Some(&progress));
            }
            progress.step();
        },
    )
    .await;
    progress.finish();
    Ok(reports)
}

pub(super) fn not_started(context: &str) -> Report {
    let error = CliError::failed("NotStarted", format!("nothing was done [{context}]"))
        .cause("the run was stopped before this cluster's turn")
        .hint("run the same command again");
    super::session::unreachable(context, &error, Duration::ZERO)
}

/// `-n`, else the context's namespace; printed in every result.
pub(super) fn namespace_of(session: &Session, target: &Target) -> String {
    match &target.cluster {
        Ok(cluster) => cluster.namespace.clone(),
        Err(_) => session.explicit_namespace.clone().unwrap_or_default(),
    }
}

/// An id for each target: the one recorded for its cluster, the one typed, or one from the context name.
pub(super) fn ids(targets: &[Target], accounts: &[Value], typed: &[(String, String)]) -> Result<Vec<String>, CliError> {
    let mut out: Vec<String> = Vec::new();
    for target in targets {
        let recorded = target.uid.as_ref().and_then(|uid| cid_of_cluster(accounts, uid));
        let asked = typed
            .iter()
            .find(|(context, _)| *context == target.context)
            .map(|(_, id)| id.clone());
        let id = recorded.or(asked).unwrap_or_else(|| cid::from_context(&target.context));
        let owner = cluster_of_cid(accounts, &id);
        let clash = match (&owner, &target.uid) {
            (Some(owner), Some(uid)) => owner != uid,
            _ => false,
        };
        let twin = targets
            .iter()
            .zip(&out)
            .any(|(other, theirs)| *theirs == id && other.uid != target.uid);
        if clash || twin {
            return Err(CliError::usage(format!(
                "the cluster id {id:?} of context {:?} belongs to another cluster",
                target.context
            ))
            .cause("ids are made from context names, and two clusters came to the same one")
            .hint(format!("--cluster-id {}=OTHER", super::error::quoted(&target.context))));
        }
        out.push(id);
    }
    Ok(out)
}

async fn ours(found: &Upstream, served: &Served, kind: &str, namespace: &str) -> Result<Vec<Value>, CliError> {
    let resource = crate::cluster::apply::resolve(&found.cluster, served, "v1", kind, namespace)?;
    let selector = format!("{LABEL_MANAGED_BY}={MANAGED_BY},{LABEL_CLUSTER}");
    Ok(observe::list(&found.cluster, &resource, Some(namespace), Some(&selector)).await?)
}

fn anchors(secrets: &[Value]) -> Vec<(String, Anchor)> {
    secrets
        .iter()
        .filter_map(|s| {
            let id = s.pointer("/metadata/labels")?.get(LABEL_CLUSTER)?.as_str()?.to_owned();
            Some((id, anchor_of(s)?))
        })
        .collect()
}

async fn check_bootstrapped(found: &Upstream, served: &Served) -> Result<(), CliError> {
    let resource = crate::cluster::apply::resolve(
        &found.cluster,
        served,
        "rbac.authorization.k8s.io/v1",
        "Role",
        READER_ROLE,
    )?;
    let role = observe::get(&found.cluster, &resource, Some(&found.data_namespace), READER_ROLE).await?;
    if role.is_some() {
        return Ok(());
    }
    Err(CliError::failed(
        "NotFound",
        format!("the upstream is not prepared [{}]", found.cluster.context),
    )
    .cause(format!(
        "there is no role {READER_ROLE} in namespace {:?}",
        found.data_namespace
    ))
    .hint(format!(
        "kubectl eso bootstrap --context {}",
        super::error::quoted(&found.cluster.context)
    )))
}

async fn take_lease(found: &Upstream, wait: Duration) -> Result<lease::Held, CliError> {
    let random: [u8; 4] = super::random_bytes()?;
    let spec = lease::Spec {
        namespace: found.data_namespace.clone(),
        name: LEASE.to_owned(),
        holder: process::holder(&cid::hex(&random)),
        duration: LEASE_LIFE,
        wait,
    };
    lease::acquire(&found.cluster, &spec, now).await.map_err(|e| {
        let error = CliError::from(e);
        if error.reason == "Conflict" {
            error.hint(
                "wait for it to end, or raise --lease-wait; it expires 15 s after its holder died on another machine",
            )
        } else {
            error
        }
    })
}

/// Runs `work` and renews the Lease beside it; a lost Lease ends the work, since somebody else may be writing.
async fn while_held(
    mut held: lease::Held,
    found: &Upstream,
    work: impl Future<Output = Result<Vec<Report>, CliError>>,
) -> Result<Vec<Report>, CliError> {
    tokio::pin!(work);
    let result = loop {
        tokio::select! {
            done = &mut work => break done,
            () = tokio::time::sleep(LEASE_LIFE / 3) => held.renew(&found.cluster, now()).await?,
        }
    };
    held.release(&found.cluster).await;
    result
}

/// The downstream objects as files: CA and store per cluster; the token is named in a comment.
fn export_files(
    session: &Session,
    found: &Upstream,
    targets: &[Target],
    wish: &Wish,
    typed: &[(String, String)],
) -> Result<ExitCode, CliError> {
    let ids = ids(targets, &[], typed)?;
    let mut manifests: Vec<Manifest> = Vec::new();
    for (target, id) in targets.iter().zip(&ids) {
        let namespace = namespace_of(session, target);
        if let Some(pem) = &found.ca.pem {
            manifests.push(ca_config_map(&namespace, id, pem));
        }
        manifests.push(token_secret(&namespace, id, None, None));
        if let Some(scope) = &wish.store {
            manifests.push(super::credential::store_manifest(found, id, &namespace, scope));
        }
    }
    session.ui.document(&export(&manifests, false));
    session.ui.note(&format!(
        "secret/{TOKEN_SECRET} is not exported: run distribute-token without --export to write it"
    ));
    Ok(ExitCode::Done)
}
