//! `crds`: the CustomResourceDefinitions, printed or applied.

use std::time::Duration;

use clap::Args;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use serde_json::Value;

use super::error::CliError;
use super::exit::ExitCode;
use super::global::{DryRun, Output, OutputArgs, TargetArgs, WriteArgs, duration};
use super::session::{Session, Stopwatch, Target, exit_of, failure, unreachable};
use super::steps::Writer;
use crate::cluster::Cluster;
use crate::cluster::discovery::discover;
use crate::cluster::fanout::fan_out;
use crate::plan::compare::{Policy, is_ours};
use crate::plan::names::{LABEL_MANAGED_BY, MANAGED_BY};
use crate::plan::{Action, Manifest, Outcome, Step};
use crate::ui::results::Report;

/// Print or apply the CustomResourceDefinitions
///
/// For clusters without External Secrets. Definitions that something else installed are left alone.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # As one YAML stream
  kubectl eso crds

  # Install them where they are missing
  kubectl eso crds --apply --contexts a,b")]
pub struct CrdsArgs {
    /// Apply them instead of printing them
    #[arg(long)]
    apply: bool,
    /// Take over definitions that something else installed
    #[arg(long)]
    adopt: bool,
    /// How long to wait until they are served
    #[arg(long, value_name = "D", default_value = "30s", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    targets: TargetArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl CrdsArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine() || !self.apply
    }
}

fn manifests() -> Vec<Manifest> {
    crate::api::crd::all()
        .into_iter()
        .map(|value| {
            let mut manifest = Manifest::ours(value);
            manifest.label(LABEL_MANAGED_BY, MANAGED_BY);
            manifest
        })
        .collect()
}

/// The definitions as text, without a session.
///
/// # Errors
/// `--contexts` without `--apply`.
pub fn print(ui: &crate::ui::Ui, args: &CrdsArgs) -> Result<ExitCode, CliError> {
    if args.targets.is_used() {
        return Err(CliError::usage("--contexts needs --apply").hint("kubectl eso crds --apply --contexts A,B"));
    }
    match args.output.output {
        Output::Json => {
            let items: Vec<Value> = manifests().into_iter().map(Manifest::into_value).collect();
            ui.json(&serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items}));
        }
        Output::Name => manifests().iter().for_each(|m| ui.line(&m.display())),
        _ => ui.document(&super::steps::export(&manifests(), false)),
    }
    Ok(ExitCode::Done)
}

/// True where no cluster is needed.
pub fn is_offline(args: &CrdsArgs) -> bool {
    !args.apply
}

/// Applies them to one or many clusters.
///
/// # Errors
/// In three lines; failures of single clusters are results, not errors.
pub async fn run(session: &Session, args: CrdsArgs) -> Result<ExitCode, CliError> {
    let targets = if args.targets.is_used() {
        session.targets(&args.targets, None).await?
    } else {
        let context = session.context()?;
        let cluster = session.connect(&context).await;
        vec![Target {
            context,
            cluster,
            uid: None,
        }]
    };
    let many = targets.len() > 1;
    let machine = args.output.output.is_machine();
    let args = &args;
    let reports = fan_out(
        targets,
        usize::from(args.targets.concurrency),
        |target| async move { for_one(args, &target).await },
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
            "CrdsResult",
            &reports,
            exit,
            args.write.suffix(),
        )?;
    } else if many {
        session.ui.summary(&reports);
    }
    Ok(exit)
}

async fn for_one(args: &CrdsArgs, target: &Target) -> Report {
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
    if let Err(e) = apply_all(args, cluster, &mut report).await {
        report.failure = Some(failure(&e));
    }
    report.took = watch.took();
    report
}

async fn apply_all(args: &CrdsArgs, cluster: &Cluster, report: &mut Report) -> Result<(), CliError> {
    let served = discover(cluster, &["apiextensions.k8s.io"]).await?;
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
    let mut foreign = 0;
    let mut changed = Vec::new();
    for manifest in manifests() {
        let live = writer.observe(&manifest).await?;
        if live.as_ref().is_some_and(|l| !is_ours(l)) && !args.adopt {
            foreign += 1;
            report.objects.push(Outcome {
                object: manifest.display(),
                namespace: None,
                action: Action::Unchanged,
            });
            continue;
        }
        let name = manifest.name().to_owned();
        let outcome = writer.execute(&Step::apply(manifest, live, policy)).await?;
        if outcome.action.is_change() {
            changed.push(name);
        }
        report.objects.push(outcome);
    }
    if foreign > 0 {
        report.notes.push(format!(
            "{foreign} definitions were installed by something else and are left as they are"
        ));
    }
    if args.write.mode() == DryRun::None {
        wait_established(args, cluster, &changed).await?;
    }
    Ok(())
}

/// The API server serves a kind only some time after its definition is stored.
async fn wait_established(args: &CrdsArgs, cluster: &Cluster, names: &[String]) -> Result<(), CliError> {
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let wait = async {
        for name in names {
            let label = format!("customresourcedefinition.apiextensions.k8s.io/{name}");
            loop {
                let crd = cluster.call("get", &label, api.get(name)).await?;
                let conditions = crd.status.and_then(|s| s.conditions).unwrap_or_default();
                if conditions
                    .iter()
                    .any(|c| c.type_ == "Established" && c.status == "True")
                {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
        Ok::<(), CliError>(())
    };
    match tokio::time::timeout(args.timeout, wait).await {
        Ok(done) => done,
        Err(_) => Err(CliError {
            exit: ExitCode::TimedOut,
            ..CliError::failed(
                "Timeout",
                format!("the definitions are not served yet [{}]", cluster.context),
            )
        }
        .cause(format!("not established after {}s", args.timeout.as_secs()))
        .hint("kubectl get crds; run the same command again")),
    }
}
