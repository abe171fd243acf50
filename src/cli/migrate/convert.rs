//! `migrate kes convert`: manifests of kubernetes-external-secrets → stores and ExternalSecrets, without a cluster.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Args, ValueEnum};

use crate::api::yaml_tree::{self, Value};
use crate::cli::convert::{causes, replace};
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::cli::inputs;
use crate::migrate::document::{self, Document};
use crate::migrate::kes::convert::{Conversion, convert};
use crate::migrate::kes::options::{Options, StoreKind, StoreMatch};
use crate::migrate::kes::output;
use crate::plan::input::Text;
use crate::ui::Ui;

/// Kind of the stores that are written.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum StoreKindArg {
    /// One for all namespaces that need it
    #[value(name = "ClusterSecretStore", alias = "clustersecretstore")]
    Cluster,
    /// One per namespace
    #[value(name = "SecretStore", alias = "secretstore")]
    Namespaced,
}

/// Convert manifests of kubernetes-external-secrets (KES)
///
/// Needs no cluster. What cannot be converted faithfully is refused with a finding on stderr, never guessed; the other
/// objects are written. Two runs over the same input give the same bytes.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # One stream: stores first, then ExternalSecrets
  kubectl eso migrate kes convert -f old/ --options kes.json

  # One file per object, kustomization.yaml and report.json
  kubectl eso migrate kes convert -f old/ --options kes.json -o new/

  # Replace the KES documents inside the files; stores go to new/
  kubectl eso migrate kes convert -f old/ --in-place -o new/")]
pub struct KesConvertArgs {
    /// Files, folders (with all below), patterns, or - for stdin (repeatable)
    #[arg(short = 'f', long = "filename", required = true, value_name = "FILE|DIR|-")]
    filename: Vec<String>,
    /// Folder for one file per object, or - for one stream
    #[arg(short = 'o', long, default_value = "-", value_name = "DIR|-")]
    output: String,
    /// Replace KES documents inside the files; stores go to -o DIR
    #[arg(long)]
    in_place: bool,
    /// Write the report as JSON; - for stderr
    #[arg(long, value_name = "FILE|-")]
    report: Option<String>,
    /// Facts about the KES controller and authentication blocks (JSON or YAML)
    #[arg(long, value_name = "FILE")]
    options: Option<String>,
    /// Kind of the stores [default: ClusterSecretStore]
    #[arg(long, value_enum, value_name = "KIND", hide_possible_values = false)]
    store_kind: Option<StoreKindArg>,
    /// Use existing stores: a list of {match: {backendType: …}, store: {name: …}}
    #[arg(long, value_name = "FILE")]
    store_map: Option<String>,
    /// Refresh interval of the results; auto takes the one of KES
    #[arg(long, value_name = "auto|D")]
    refresh_interval: Option<String>,
    /// Reproduce faults of KES where a template can
    #[arg(long)]
    faithful: bool,
    /// Leave out template fields that cannot be converted
    #[arg(long)]
    allow_partial: bool,
    /// Append to the names of the results, to move consumers one by one
    #[arg(long, value_name = "SUFFIX")]
    target_suffix: Option<String>,
    /// Secret group of IBM secrets that are known by name
    #[arg(long, value_name = "GROUP")]
    ibm_secret_group: Option<String>,
    /// Add Argo CD sync waves: stores -1, ExternalSecrets 0
    #[arg(long)]
    sync_wave: bool,
}

/// Runs the command.
///
/// # Errors
/// Unreadable input or options, unwritable output.
pub fn run(ui: &Ui, args: &KesConvertArgs) -> Result<ExitCode, CliError> {
    if args.in_place && (args.output == "-" || args.filename.iter().any(|f| f == "-")) {
        return Err(CliError::usage("--in-place needs files and a folder")
            .cause("standard input cannot be rewritten, and the stores must go somewhere")
            .hint("kubectl eso migrate kes convert -f DIR --in-place -o STORES_DIR"));
    }
    let options = options(args)?;
    let mut files = Vec::new();
    for text in inputs::read(&args.filename, true)? {
        let documents = document::split(&text.content).map_err(|e| unreadable(&text.source, &e))?;
        files.push((text, documents));
    }
    let values: Vec<Value> = files
        .iter()
        .flat_map(|(_, documents)| documents.iter().map(|d| d.value.clone()))
        .collect();
    let conversion = convert(&values, &options);
    write(ui, args, &files, &conversion)?;
    if let Some(suffix) = &args.target_suffix {
        consumers(ui, &values, &conversion, suffix)?;
    }
    report(ui, args, &conversion)?;
    Ok(match conversion.exit_code() {
        0 => ExitCode::Done,
        1 => ExitCode::Failed,
        _ => ExitCode::Partial,
    })
}

fn write(
    ui: &Ui,
    args: &KesConvertArgs,
    files: &[(Text, Vec<Document>)],
    conversion: &Conversion,
) -> Result<(), CliError> {
    if args.output == "-" {
        ui.document(&output::stream(conversion).map_err(|e| unwritable("the stream", &e))?);
        return Ok(());
    }
    let mut tree = output::tree(conversion).map_err(|e| unwritable("the files", &e))?;
    if args.in_place {
        let stores: Vec<String> = conversion.stores.iter().map(output::store_path).collect();
        tree.retain(|path, _| stores.contains(path));
        let mut first = 0;
        let mut new = Vec::new();
        for (text, documents) in files {
            let edited = output::in_place(documents, first, conversion).map_err(|e| unwritable(&text.source, &e))?;
            first += documents.len();
            new.push((text, edited));
        }
        // The stores come first: files that refer to them are never alone.
        write_tree(&args.output, &tree)?;
        for (text, edited) in new.into_iter().filter(|(text, edited)| text.content != *edited) {
            replace(&text.source, &edited)?;
            ui.note(&format!("{} rewritten", text.source));
        }
        return Ok(());
    }
    write_tree(&args.output, &tree)
}

fn write_tree(folder: &str, tree: &BTreeMap<String, String>) -> Result<(), CliError> {
    for (name, text) in tree {
        let path = Path::new(folder).join(name);
        let parent = path.parent().unwrap_or(Path::new(folder));
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, text))
            .map_err(|e| unwritable(&path.display().to_string(), &e))?;
    }
    Ok(())
}

/// Who reads the old Secrets, as far as the input says: these have to be moved to the new names.
fn consumers(ui: &Ui, values: &[Value], conversion: &Conversion, suffix: &str) -> Result<(), CliError> {
    let objects = values
        .iter()
        .map(serde_json::to_value)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| unreadable("the input", &e))?;
    let secrets = conversion
        .objects
        .iter()
        .filter(|o| o.manifest.is_some())
        .map(|o| (o.namespace.clone(), o.name.clone()))
        .collect();
    for ((namespace, name), found) in crate::migrate::kes::consumers::find(&objects, &secrets) {
        if found.is_empty() {
            ui.note(&format!(
                "{namespace}/{name} -> {name}{suffix}: no consumer among these files"
            ));
        }
        for consumer in found {
            ui.note(&format!(
                "{namespace}/{name} -> {name}{suffix}: {} {} at {}",
                consumer.kind, consumer.name, consumer.path
            ));
        }
    }
    Ok(())
}

fn report(ui: &Ui, args: &KesConvertArgs, conversion: &Conversion) -> Result<(), CliError> {
    let report = output::report(conversion, args.output != "-" && !args.in_place);
    for line in report.lines() {
        match line.split_once(": ") {
            Some(("error", rest)) => ui.error(rest),
            Some(("warning", rest)) => ui.warn(rest),
            _ => ui.note(&crate::ui::text::clean(&line)),
        }
    }
    match args.report.as_deref() {
        None => Ok(()),
        Some("-") => {
            ui.note(report.to_json().trim_end());
            Ok(())
        }
        Some(path) => std::fs::write(path, report.to_json()).map_err(|e| unwritable(path, &e)),
    }
}

fn options(args: &KesConvertArgs) -> Result<Options, CliError> {
    let mut options = match &args.options {
        None => Options::default(),
        Some(path) => Options::parse(&text(path)?).map_err(|e| unreadable(path, &e))?,
    };
    let settings = &mut options.settings;
    match args.store_kind {
        Some(StoreKindArg::Cluster) => settings.store_kind = StoreKind::ClusterSecretStore,
        Some(StoreKindArg::Namespaced) => settings.store_kind = StoreKind::SecretStore,
        None => {}
    }
    if let Some(path) = &args.store_map {
        let map: Vec<StoreMatch> = yaml_tree::from_str(&text(path)?).map_err(|e| unreadable(path, &e))?;
        settings.store_map = map;
    }
    if let Some(interval) = &args.refresh_interval {
        if interval != "auto" {
            crate::cli::global::duration(interval)
                .map_err(|e| CliError::usage("--refresh-interval is neither auto nor a duration").cause(e))?;
        }
        settings.refresh_interval = Some(interval.clone());
    }
    settings.faithful |= args.faithful;
    settings.allow_partial |= args.allow_partial;
    settings.sync_wave |= args.sync_wave;
    settings.target_suffix = args.target_suffix.clone().or(settings.target_suffix.take());
    settings.ibm_secret_group = args.ibm_secret_group.clone().or(settings.ibm_secret_group.take());
    Ok(options)
}

fn text(path: &str) -> Result<String, CliError> {
    std::fs::read_to_string(path).map_err(|e| unreadable(path, &e))
}

fn unreadable(what: &str, error: &dyn std::error::Error) -> CliError {
    CliError::usage(format!("cannot read {what}"))
        .cause(causes(error))
        .hint("check the path and the YAML")
}

fn unwritable(what: &str, error: &dyn std::error::Error) -> CliError {
    CliError::failed("Write", format!("cannot write {what}"))
        .cause(causes(error))
        .hint("check the folder and its permissions")
}
