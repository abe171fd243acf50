//! `request`: one ExternalSecret for an upstream Secret, checked before it is applied.

use clap::Args;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Map, Value};

use super::distribute_token::ScopeArg;
use super::error::CliError;
use super::exit::ExitCode;
use super::global::{OutputArgs, TargetArgs, WriteArgs};
use super::session::{Session, Stopwatch, Target, exit_of, failure, unreachable};
use super::steps::{Writer, export};
use crate::cluster::discovery::discover;
use crate::cluster::fanout::fan_out;
use crate::cluster::{Cluster, apply, observe};
use crate::plan::compare::Policy;
use crate::plan::distribute::{cid_of_cluster, identity_name};
use crate::plan::names::{IDENTITY_NAMESPACE, LABEL_CLUSTER, LABEL_MANAGED_BY, MANAGED_BY, STORE};
use crate::plan::request::{Spec, external_secret, missing};
use crate::ui::results::Report;

/// Ask for an upstream Secret in downstream clusters
///
/// Builds one ExternalSecret, checks upstream that the Secret and the properties exist and that each cluster's identity
/// may read them, and applies it.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # All keys of one Secret
  kubectl eso request database-credentials --contexts a,b

  # Two properties, under other names
  kubectl eso request database-credentials --contexts a --property user=username --property password

  # As a file for git
  kubectl eso request database-credentials --contexts a --export")]
pub struct RequestArgs {
    /// Name of the upstream Secret, and of the ExternalSecret unless --name says otherwise
    remote: String,
    /// Name of the ExternalSecret and of the target Secret
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Property to fetch, KEY=PROPERTY or PROPERTY (repeatable); default: all keys
    #[arg(long, value_name = "KEY=PROPERTY")]
    property: Vec<String>,
    /// How often the value is read again
    #[arg(long, value_name = "D", default_value = "1h0m0s")]
    refresh_interval: String,
    /// Kind of the store that distribute-token made
    #[arg(long, value_enum, default_value_t = ScopeArg::Namespace, value_name = "SCOPE")]
    scope: ScopeArg,
    /// Name of the store
    #[arg(long, value_name = "NAME", default_value = STORE)]
    store: String,
    /// Upstream namespace of the source Secrets
    #[arg(long, value_name = "NS", default_value = crate::plan::names::DATA_NAMESPACE)]
    data_namespace: String,
    /// Take over an ExternalSecret of this name that something else made
    #[arg(long)]
    adopt: bool,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl RequestArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine() || self.write.export
    }

    fn spec(&self, namespace: &str) -> Result<Spec, CliError> {
        let mut properties = Vec::new();
        for item in &self.property {
            let (key, property) = item.split_once('=').unwrap_or((item, item));
            crate::api::name::check_data_key(key)
                .map_err(|e| CliError::usage(format!("{key:?} is not a key of a Secret")).cause(e.to_string()))?;
            properties.push((key.to_owned(), property.to_owned()));
        }
        crate::api::duration::GoDuration::parse(&self.refresh_interval).map_err(|e| {
            CliError::usage(format!(
                "--refresh-interval {:?} is not a Go duration",
                self.refresh_interval
            ))
            .cause(e.to_string())
            .hint("--refresh-interval 1h")
        })?;
        Ok(Spec {
            name: self.name.clone().unwrap_or_else(|| self.remote.clone()),
            remote: self.remote.clone(),
            properties,
            target: None,
            namespace: namespace.to_owned(),
            store_kind: match self.scope {
                ScopeArg::Namespace => "SecretStore",
                ScopeArg::Cluster => "ClusterSecretStore",
            }
            .to_owned(),
            store: self.store.clone(),
            refresh_interval: self.refresh_interval.clone(),
        })
    }
}

/// Runs the command.
///
/// # Errors
/// In three lines; failures of single clusters are results, not errors.
pub async fn run(session: &Session, args: RequestArgs) -> Result<ExitCode, CliError> {
    let name = session.context()?;
    session.target_names(&args.targets, Some(&name))?;
    let upstream = session.connect(&name).await?;
    check_upstream(&upstream, &args).await?;
    let uid = super::session::cluster_uid(&upstream).await?;
    let targets = session.targets(&args.targets, Some((&name, uid.as_deref()))).await?;
    if args.write.export {
        let mut manifests = Vec::new();
        for target in &targets {
            let namespace = target.cluster.as_ref().map_or("default", |c| c.namespace.as_str());
            let made = external_secret(&args.spec(namespace)?);
            if !manifests.contains(&made) {
                manifests.push(made);
            }
        }
        session.ui.document(&export(&manifests, false));
        return Ok(ExitCode::Done);
    }
    let accounts = accounts(&upstream).await?;
    let many = targets.len() > 1;
    let machine = args.output.output.is_machine();
    let (args, accounts, upstream) = (&args, &accounts, &upstream);
    let reports = fan_out(
        targets,
        usize::from(args.targets.concurrency),
        |target| async move { for_one(args, &target, upstream, accounts).await },
        |report| {
            if !machine {
                session.ui.report(report, many, args.write.suffix(), None);
            }
        },
    )
    .await;
    let exit = exit_of(&reports);
    if machine {
        super::output::print(
            session,
            args.output.output,
            "RequestResult",
            &reports,
            exit,
            args.write.suffix(),
        )?;
    } else if many {
        session.ui.summary(&reports);
    }
    Ok(exit)
}

/// Secret and properties exist upstream; only key names are looked at.
async fn check_upstream(upstream: &Cluster, args: &RequestArgs) -> Result<(), CliError> {
    let served = discover(upstream, &[""]).await?;
    let resource = apply::resolve(upstream, &served, "v1", "Secret", &args.remote)?;
    let found = observe::get(upstream, &resource, Some(&args.data_namespace), &args.remote).await?;
    let empty = Map::new();
    let data = found
        .as_ref()
        .map(|s| s.get("data").and_then(Value::as_object).unwrap_or(&empty));
    let lacking = missing(&args.spec("default")?, data);
    if lacking.is_empty() {
        return Ok(());
    }
    let hint = match data {
        None => format!(
            "kubectl eso put {} --from-file KEY=PATH --context {}",
            args.remote,
            super::error::quoted(&upstream.context)
        ),
        Some(_) => "name one of the keys that are there, or add the key with kubectl eso put".to_owned(),
    };
    Err(CliError::failed(
        "NotFound",
        format!(
            "cannot request secret/{} in namespace {:?} [{}]",
            args.remote, args.data_namespace, upstream.context
        ),
    )
    .cause(lacking.join("; "))
    .hint(hint))
}

/// Accounts of all downstreams; none where they may not be read.
async fn accounts(upstream: &Cluster) -> Result<Vec<Value>, CliError> {
    let served = discover(upstream, &[""]).await?;
    let resource = apply::resolve(upstream, &served, "v1", "ServiceAccount", IDENTITY_NAMESPACE)?;
    let selector = format!("{LABEL_MANAGED_BY}={MANAGED_BY},{LABEL_CLUSTER}");
    match observe::list(upstream, &resource, Some(IDENTITY_NAMESPACE), Some(&selector)).await {
        Ok(found) => Ok(found),
        Err(e) if e.reason == crate::cluster::Reason::Forbidden => Ok(Vec::new()),
        Err(e) => Err(e.into()),
    }
}

async fn for_one(args: &RequestArgs, target: &Target, upstream: &Cluster, accounts: &[Value]) -> Report {
    let watch = Stopwatch::start();
    let cluster = match &target.cluster {
        Ok(cluster) => cluster,
        Err(e) => return unreachable(&target.context, e, watch.took()),
    };
    let mut report = Report {
        context: target.context.clone(),
        server: cluster.server.clone(),
        cluster_uid: target.uid.clone(),
        ..Report::default()
    };
    if let Err(e) = apply_one(args, target, cluster, upstream, accounts, &mut report).await {
        report.failure = Some(failure(&e));
    }
    report.took = watch.took();
    report
}

async fn apply_one(
    args: &RequestArgs,
    target: &Target,
    cluster: &Cluster,
    upstream: &Cluster,
    accounts: &[Value],
    report: &mut Report,
) -> Result<(), CliError> {
    let id = target.uid.as_ref().and_then(|uid| cid_of_cluster(accounts, uid));
    match id {
        Some(id) => check_right(args, upstream, &id).await?,
        None => report.warnings.push("this cluster has no identity upstream that can be recognised: whether it may read the Secret was not checked".to_owned()),
    }
    let served = discover(cluster, &["", "external-secrets.io"]).await?;
    let mut manifest = external_secret(&args.spec(&cluster.namespace)?);
    let versions = served.versions_of("external-secrets.io", "ExternalSecret");
    if !versions.contains(&"v1")
        && let Some(version) = versions.first()
    {
        manifest.set_version(version);
    }
    let policy = Policy {
        require_label: true,
        adopt: args.adopt,
        recreate: false,
    };
    let writer = Writer {
        cluster,
        served: &served,
        write: &args.write,
        policy,
    };
    report.objects.push(writer.apply(manifest).await?);
    Ok(())
}

/// Asks the upstream's authorizer, so that a role limited by name is judged as it will be.
async fn check_right(args: &RequestArgs, upstream: &Cluster, id: &str) -> Result<(), CliError> {
    let reviews: Api<SubjectAccessReview> = Api::all(upstream.client.clone());
    let user = format!("system:serviceaccount:{IDENTITY_NAMESPACE}:{}", identity_name(id));
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user.clone()),
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(args.data_namespace.clone()),
                verb: Some("get".to_owned()),
                resource: Some("secrets".to_owned()),
                version: Some("v1".to_owned()),
                name: Some(args.remote.clone()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let asked = upstream
        .call(
            "create",
            "subjectaccessreview",
            reviews.create(&PostParams::default(), &review),
        )
        .await;
    let allowed = match asked {
        Ok(answer) => answer.status.is_some_and(|s| s.allowed),
        Err(e) if e.reason == crate::cluster::Reason::Forbidden => return Ok(()),
        Err(e) => return Err(e.into()),
    };
    if allowed {
        return Ok(());
    }
    Err(CliError::failed(
        "Forbidden",
        format!(
            "cluster {id:?} may not read secret/{} in namespace {:?}",
            args.remote, args.data_namespace
        ),
    )
    .cause(format!("{user} has no right to get it"))
    .hint(format!(
        "add it to --secrets: kubectl eso distribute-token --contexts … --secrets OLD,{}",
        args.remote
    )))
}
