//! `put`: a source Secret upstream, from files or stdin, never from the command line.

use clap::Args;
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::error::CliError;
use super::exit::ExitCode;
use super::global::{OutputArgs, WriteArgs};
use super::session::{Session, Stopwatch, exit_of, failure};
use super::steps::{Writer, export};
use crate::cluster::discovery::discover;
use crate::plan::Manifest;
use crate::plan::bootstrap::labels;
use crate::plan::compare::Policy;
use crate::plan::names::Part;
use crate::ui::results::Report;

/// Write a source Secret upstream
///
/// Values come from files or stdin, byte for byte; there is no flag that takes a value, since other users of a machine
/// can read command lines.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # Two keys from files
  kubectl eso put database-credentials --from-file username=./username --from-file password=./password

  # One key from stdin; the final line break is kept out
  pass show db | kubectl eso put database-credentials --from-file password=- --trim

  # Replace the whole Secret instead of adding keys
  kubectl eso put tls --from-file tls.crt=./tls.crt --from-file tls.key=./tls.key --type kubernetes.io/tls --replace")]
pub struct PutArgs {
    /// Name of the Secret
    name: String,
    /// KEY=PATH, or KEY=- for stdin (repeatable)
    #[arg(long, value_name = "KEY=PATH", required = true)]
    from_file: Vec<String>,
    /// Type of the Secret
    #[arg(long = "type", value_name = "TYPE", default_value = "Opaque")]
    secret_type: String,
    /// Remove one final line break from each value
    #[arg(long)]
    trim: bool,
    /// Upstream namespace of the source Secrets
    #[arg(long, value_name = "NS", default_value = crate::plan::names::DATA_NAMESPACE)]
    data_namespace: String,
    /// Take over a Secret that something else made
    #[arg(long)]
    adopt: bool,
    /// Drop keys that an earlier put wrote and this one does not name
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl PutArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine() || self.write.export
    }

    /// True where a value comes from stdin.
    pub fn reads_stdin(&self) -> bool {
        self.from_file.iter().any(|f| f.ends_with("=-"))
    }
}

/// Runs the command.
///
/// # Errors
/// In three lines.
pub async fn run(session: &Session, args: PutArgs) -> Result<ExitCode, CliError> {
    let watch = Stopwatch::start();
    let cluster = session.upstream().await?;
    let mut data = read_data(&args)?;
    let served = discover(&cluster, &[""]).await?;
    let policy = Policy {
        require_label: true,
        adopt: args.adopt,
        recreate: false,
    };
    let writer = Writer {
        cluster: &cluster,
        served: &served,
        write: &args.write,
        policy,
    };
    let live = writer.observe(&manifest(&args, Map::new())).await?;
    if !args.replace {
        keep_earlier(&mut data, live.as_ref());
    }
    let manifest = manifest(&args, data);
    if args.write.export {
        session.ui.document(&export(&[manifest], false));
        return Ok(ExitCode::Done);
    }
    let mut report = Report {
        context: cluster.context.clone(),
        server: cluster.server.clone(),
        ..Report::default()
    };
    match writer.execute(&crate::plan::Step::apply(manifest, live, policy)).await {
        Ok(outcome) => report.objects.push(outcome),
        Err(e) => report.failure = Some(failure(&explain(&cluster, &args, e).await)),
    }
    report.took = watch.took();
    let reports = [report];
    let exit = exit_of(&reports);
    super::output::print(
        session,
        args.output.output,
        "PutResult",
        &reports,
        exit,
        args.write.suffix(),
    )?;
    Ok(exit)
}

async fn explain(cluster: &crate::cluster::Cluster, args: &PutArgs, error: CliError) -> CliError {
    if error.reason == "NotFound"
        && matches!(
            super::upstream::namespace_exists(cluster, &args.data_namespace).await,
            Ok(false)
        )
    {
        return error.hint(format!(
            "kubectl eso bootstrap --context {}",
            super::error::quoted(&cluster.context)
        ));
    }
    error
}

/// Keys that an earlier put of ours wrote stay; server-side apply would drop them otherwise.
fn keep_earlier(data: &mut Map<String, Value>, live: Option<&Value>) {
    let Some(Value::Object(earlier)) = live.and_then(|l| l.get("data")) else {
        return;
    };
    for (key, value) in earlier {
        data.entry(key.clone()).or_insert_with(|| value.clone());
    }
}

fn manifest(args: &PutArgs, data: Map<String, Value>) -> Manifest {
    Manifest::ours(json!({
        "apiVersion": "v1", "kind": "Secret", "type": args.secret_type,
        "metadata": {"name": args.name, "namespace": args.data_namespace, "labels": labels(Part::Request, None)},
        "data": data,
    }))
}

fn read_data(args: &PutArgs) -> Result<Map<String, Value>, CliError> {
    use base64::Engine;
    if args.from_file.iter().filter(|f| f.ends_with("=-")).count() > 1 {
        return Err(CliError::usage("standard input cannot be used for multiple arguments").hint("pass KEY=- once"));
    }
    let mut data = Map::new();
    for pair in &args.from_file {
        let Some((key, path)) = pair.split_once('=').filter(|(k, p)| !k.is_empty() && !p.is_empty()) else {
            return Err(CliError::usage(format!("--from-file {pair:?} is not KEY=PATH"))
                .hint("--from-file password=./password, or password=- for stdin"));
        };
        crate::api::name::check_data_key(key)
            .map_err(|e| CliError::usage(format!("{key:?} is not a key of a Secret")).cause(e.to_string()))?;
        let mut bytes = read_bytes(path)?;
        if args.trim {
            trim(&mut bytes);
        }
        let encoded = base64::engine::general_purpose::STANDARD.encode(&*bytes);
        if data.insert(key.to_owned(), Value::String(encoded)).is_some() {
            return Err(CliError::usage(format!("key {key:?} is given twice")));
        }
    }
    Ok(data)
}

fn read_bytes(path: &str) -> Result<Zeroizing<Vec<u8>>, CliError> {
    use std::io::Read;
    let mut bytes = Zeroizing::new(Vec::new());
    let read = if path == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|mut f| f.read_to_end(&mut bytes))
    };
    read.map_err(|e| {
        CliError::usage(format!("cannot read {path:?}"))
            .cause(e.to_string())
            .hint("check the path")
    })?;
    Ok(bytes)
}

fn trim(bytes: &mut Vec<u8>) {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
}
