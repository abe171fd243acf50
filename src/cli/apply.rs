//! `apply`: stores and ExternalSecrets from files to many clusters.

use clap::Args;
use serde_json::json;

use super::error::CliError;
use super::exit::ExitCode;
use super::global::{OutputArgs, TargetArgs, WriteArgs};
use super::inputs;
use super::own_store;
use super::session::{Session, Stopwatch, Target, exit_of, failure, unreachable};
use super::steps::{Writer, export};
use super::upstream::{Upstream, UpstreamArgs};
use crate::cluster::Cluster;
use crate::cluster::discovery::{Served, discover};
use crate::cluster::fanout::fan_out;
use crate::plan::Manifest;
use crate::plan::compare::Policy;
use crate::plan::input::{self, Input};
use crate::ui::results::Report;

/// Apply stores and ExternalSecrets to many clusters
///
/// Files, directories and stdin, in the right order, in the API version each cluster serves. Fields that another
/// manager owns are reported with their owner and left alone.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # One ExternalSecret to two clusters
  kubectl eso apply -f external-secret.yaml --contexts a,b

  # A directory to every cluster of a group
  kubectl eso apply -f stores/ -R --contexts 'prod-*'

  # The store upstream-store, for clusters that hold a credential
  kubectl eso apply --context hub --contexts a,b

  # From stdin
  kubectl eso request database-credentials --contexts a --export | kubectl eso apply -f - --contexts b --create-namespace

  # Ask the servers without storing anything
  kubectl eso apply -f external-secret.yaml --contexts a,b --dry-run=server")]
pub struct ApplyArgs {
    #[command(flatten)]
    targets: TargetArgs,
    /// File, directory, pattern, or - for stdin (repeatable); without it the store upstream-store is applied
    #[arg(short = 'f', long = "filename", value_name = "PATH")]
    filename: Vec<String>,
    #[command(flatten)]
    upstream: UpstreamArgs,
    /// Read directories with their subdirectories
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Make namespaces that are missing
    #[arg(long)]
    create_namespace: bool,
    /// Leave out fields that the cluster does not know, instead of refusing the object
    #[arg(long)]
    lenient: bool,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl ApplyArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine() || self.write.export
    }

    /// True where `-f -` reads stdin.
    pub fn reads_stdin(&self) -> bool {
        self.filename.iter().any(|f| f == "-")
    }
}

/// Runs the command.
///
/// # Errors
/// In three lines; failures of single clusters are results, not errors.
pub async fn run(session: &Session, mut args: ApplyArgs) -> Result<ExitCode, CliError> {
    args.write.lenient = args.lenient;
    if args.filename.is_empty() {
        let (found, targets) = own_store::prepare(session, &args.upstream, &args.targets).await?;
        if args.write.export {
            return export_stores(session, &found, &targets).await;
        }
        return to_all(session, &args, targets, &What::Store(Box::new(found))).await;
    }
    let mut inputs = input::parse(&inputs::read(&args.filename, args.recursive)?)?;
    input::sort(&mut inputs);
    if args.write.export {
        let manifests: Vec<Manifest> = inputs.into_iter().map(|i| i.manifest).collect();
        session.ui.document(&export(&manifests, false));
        return Ok(ExitCode::Done);
    }
    let targets = if args.targets.is_used() {
        session.targets(&args.targets, None).await?
    } else {
        vec![single(session).await?]
    };
    to_all(session, &args, targets, &What::Files(inputs)).await
}

/// What is applied.
enum What {
    Files(Vec<Input>),
    Store(Box<Upstream>),
}

async fn export_stores(session: &Session, found: &Upstream, targets: &[Target]) -> Result<ExitCode, CliError> {
    let mut manifests = Vec::new();
    for target in targets {
        let cluster = target.cluster.as_ref().map_err(Clone::clone)?;
        manifests.push(own_store::input(found, cluster).await?.manifest);
    }
    session.ui.document(&export(&manifests, false));
    Ok(ExitCode::Done)
}

async fn to_all(session: &Session, args: &ApplyArgs, targets: Vec<Target>, what: &What) -> Result<ExitCode, CliError> {
    let many = targets.len() > 1;
    let machine = args.output.output.is_machine();
    let progress = session.ui.progress(targets.len(), "applying to");
    let reports = fan_out(
        targets,
        usize::from(args.targets.concurrency),
        |target| async move { to_one(session, args, &target, what).await },
        |report| {
            if !machine {
                session.ui.report(report, many, args.write.suffix(), Some(&progress));
            }
            progress.step();
        },
    )
    .await;
    progress.finish();
    let exit = exit_of(&reports);
    if machine {
        super::output::print(
            session,
            args.output.output,
            "ApplyResult",
            &reports,
            exit,
            args.write.suffix(),
        )?;
    } else if many {
        session.ui.summary(&reports);
    }
    Ok(exit)
}

/// Without `--contexts` the current context is the only target, as with kubectl.
async fn single(session: &Session) -> Result<Target, CliError> {
    let context = session.context()?;
    let cluster = session.connect(&context).await?;
    Ok(Target {
        context,
        cluster: Ok(cluster),
        uid: None,
    })
}

async fn to_one(session: &Session, args: &ApplyArgs, target: &Target, what: &What) -> Report {
    let watch = Stopwatch::start();
    let cluster = match &target.cluster {
        Ok(cluster) => cluster,
        Err(e) => return unreachable(&target.context, e, watch.took()),
    };
    let mut report = Report {
        context: target.context.clone(),
        server: cluster.server.clone(),
        cluster_uid: target.uid.clone(),
        details: json!({"namespace": cluster.namespace}),
        ..Report::default()
    };
    let applied = match what {
        What::Files(inputs) => apply_all(session, args, cluster, inputs, &mut report).await,
        What::Store(found) => match own_store::input(found, cluster).await {
            Ok(input) => apply_all(session, args, cluster, &[input], &mut report).await,
            Err(e) => Err(e),
        },
    };
    if let Err(e) = applied {
        report.failure = Some(failure(&e));
    }
    report.took = watch.took();
    report
}

/// All objects are tried; the first failure is the report's, the others are its warnings.
async fn apply_all(
    session: &Session,
    args: &ApplyArgs,
    cluster: &Cluster,
    inputs: &[Input],
    report: &mut Report,
) -> Result<(), CliError> {
    let mut groups: Vec<&str> = inputs.iter().map(|i| i.manifest.group()).collect();
    groups.push("");
    groups.sort_unstable();
    groups.dedup();
    let served = discover(cluster, &groups).await?;
    let writer = Writer {
        cluster,
        served: &served,
        write: &args.write,
        policy: Policy::default(),
    };
    let mut first = None;
    for input in inputs {
        if session.cancel.is_cancelled() {
            return Err(CliError::failed(
                "NotStarted",
                format!("stopped before {} [{}]", input.manifest.display(), cluster.context),
            )
            .cause("the run was interrupted")
            .hint("run the same command again"));
        }
        match apply_input(session, args, &writer, &served, input.clone(), report).await {
            Ok(()) => {}
            Err(e) if first.is_none() => first = Some(e),
            Err(e) => report.warnings.push(e.to_string().replace('\n', ";")),
        }
    }
    first.map_or(Ok(()), Err)
}

async fn apply_input(
    session: &Session,
    args: &ApplyArgs,
    writer: &Writer<'_>,
    served: &Served,
    mut input: Input,
    report: &mut Report,
) -> Result<(), CliError> {
    let cluster = writer.cluster;
    let namespaced = fit_version(served, &mut input.manifest, cluster)?;
    input::settle_namespace(
        &mut input,
        namespaced,
        session.explicit_namespace.as_deref(),
        &cluster.namespace,
    )?;
    if let Some(namespace) = input.manifest.namespace().map(str::to_owned) {
        ensure_namespace(args, writer, &namespace, report).await?;
    }
    report.objects.push(writer.apply(input.manifest).await?);
    Ok(())
}

/// Puts the object into a version the cluster serves; returns whether its kind is namespaced.
fn fit_version(served: &Served, manifest: &mut Manifest, cluster: &Cluster) -> Result<bool, CliError> {
    if let Some((_, namespaced)) = served.resource(manifest.api_version(), manifest.kind()) {
        return Ok(*namespaced);
    }
    let versions = served.versions_of(manifest.group(), manifest.kind());
    let failed = |cause: String, hint: String| {
        CliError::failed(
            "KindMissing",
            format!("cannot apply {} [{}]", manifest.display(), cluster.context),
        )
        .cause(cause)
        .hint(hint)
    };
    let Some(version) = versions.first().copied() else {
        return Err(failed(
            format!(
                "the cluster does not serve {} in group {:?}",
                manifest.kind(),
                manifest.group()
            ),
            if manifest.group().ends_with("external-secrets.io") {
                format!(
                    "install the CRDs: kubectl eso crds --apply --contexts {}",
                    super::error::quoted(&cluster.context)
                )
            } else {
                format!(
                    "kubectl --context {} api-resources",
                    super::error::quoted(&cluster.context)
                )
            },
        ));
    };
    // Only our own group is known to be the same in its versions.
    if manifest.group() != "external-secrets.io" {
        return Err(failed(
            format!("{} is served as {}", manifest.kind(), versions.join(", ")),
            "change apiVersion in the file".to_owned(),
        ));
    }
    let version = version.to_owned();
    manifest.set_version(&version);
    Ok(served
        .resource(manifest.api_version(), manifest.kind())
        .is_some_and(|(_, n)| *n))
}

async fn ensure_namespace(
    args: &ApplyArgs,
    writer: &Writer<'_>,
    namespace: &str,
    report: &mut Report,
) -> Result<(), CliError> {
    let known = report
        .objects
        .iter()
        .any(|o| o.object == format!("namespace/{namespace}"));
    if known || super::upstream::namespace_exists(writer.cluster, namespace).await? {
        return Ok(());
    }
    if !args.create_namespace {
        return Err(CliError::failed(
            "NotFound",
            format!("namespace {namespace:?} does not exist [{}]", writer.cluster.context),
        )
        .cause("objects of the input belong into it")
        .hint("pass --create-namespace"));
    }
    report
        .objects
        .push(writer.apply(crate::plan::bootstrap::namespace(namespace)).await?);
    Ok(())
}
