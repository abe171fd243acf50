//! `fleet bundle`: directories or manifests as Bundles.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;

use super::charts;
use super::download::{self, Http};
use super::files::{self, FilesError, Limits};
use super::{ChartArgs, CommonArgs, causes, fleet_error, hub_namespace};
use crate::cli::error::CliError;
use crate::cli::exit::ExitCode;
use crate::fleet::build::{Built, build};
use crate::fleet::discover::{Dir, driven};
use crate::fleet::manifests;
use crate::fleet::options::{CorrectDrift, NamedFile, Options, Source, labels};
use crate::fleet::prepare::{Prepared, prepare};
use crate::fleet::tree::Tree;
use crate::ui::Ui;

/// Make Bundles from directories or manifests
///
/// Directories become what `fleet apply -o -` makes of them: one Bundle for each fleet.yaml or directory of manifests.
/// With -f, the manifests given become one Bundle; what other commands export can be piped in.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # Every bundle below ./app
  kubectl eso fleet bundle app ./app -n fleet-default --targets-file targets.yaml

  # The store of every cluster, waiting for the operator
  kubectl eso apply --export -n apps | kubectl eso fleet bundle eso-cfg -f - -n fleet-default \\
    --default-namespace apps --depends-on external-secrets

  # A chart that reads the database password from a Secret on each cluster
  kubectl eso fleet bundle app ./app -n fleet-default --values-from db/values.yaml")]
pub struct BundleArgs {
    /// First part of every bundle's name
    name: String,
    /// Directories or shell patterns (default: the current directory); with --driven-scan DIR or DIR:FILE
    #[arg(value_name = "DIR", conflicts_with = "filename")]
    dirs: Vec<String>,
    /// Manifests instead of directories: a file, or `-` for standard input (repeatable)
    #[arg(short = 'f', long, value_name = "FILE")]
    filename: Vec<String>,
    /// Options file in each directory instead of fleet.yaml
    #[arg(
        short = 'b',
        long,
        value_name = "FILE",
        default_value = "",
        hide_default_value = true
    )]
    bundle_file: String,
    /// Labels of the bundles, K=V; those of fleet.yaml win (repeatable, or separated by commas)
    #[arg(short = 'l', long = "label", value_name = "K=V")]
    labels: Vec<String>,
    /// Compress every file
    #[arg(short = 'c', long)]
    compress: bool,
    /// Name of the bundle, whatever the directory is called
    #[arg(long = "name", value_name = "BUNDLE", default_value = "", hide_default_value = true)]
    bundle_name: String,
    /// Force every object into this namespace
    #[arg(long, value_name = "NS", default_value = "", hide_default_value = true)]
    target_namespace: String,
    /// Namespace of objects that name none
    #[arg(long, value_name = "NS", default_value = "", hide_default_value = true)]
    default_namespace: String,
    /// Bundle that must be ready first (repeatable)
    #[arg(long, value_name = "NAME")]
    depends_on: Vec<String>,
    /// Leave the objects when the bundle is removed
    #[arg(long)]
    keep_resources: bool,
    /// Delete the namespace when the bundle is removed
    #[arg(long)]
    delete_namespace: bool,
    /// Undo changes made on the clusters
    #[arg(long)]
    correct_drift: bool,
    /// Replace objects when undoing changes
    #[arg(long, requires = "correct_drift")]
    correct_drift_force: bool,
    /// Keep failed attempts in Helm's history
    #[arg(long, requires = "correct_drift")]
    correct_drift_keep_fail_history: bool,
    /// A higher number deploys again
    #[arg(long, value_name = "N", default_value_t = 0)]
    sync_generation: i64,
    /// Commit recorded as a label
    #[arg(long, value_name = "SHA", default_value = "", hide_default_value = true)]
    commit: String,
    /// Do not search directories; each argument is one bundle
    #[arg(long)]
    driven_scan: bool,
    /// Separator of DIR and FILE in a driven scan
    #[arg(long, value_name = "SEP", default_value = ":")]
    driven_scan_sep: String,
    /// Write files that look like credentials
    #[arg(long)]
    allow_secret_content: bool,
    #[command(flatten)]
    common: CommonArgs,
}

impl BundleArgs {
    /// True where a manifest comes from stdin.
    pub(super) fn reads_stdin(&self) -> bool {
        self.filename.iter().any(|file| file == "-")
    }
}

/// Runs the command.
///
/// # Errors
/// In three lines.
pub(super) async fn run(ui: &Ui, args: BundleArgs, namespace: Option<&str>) -> Result<ExitCode, CliError> {
    let base = Path::new(".");
    let mut options = options(&args, namespace)?;
    let mut tree = Tree::new();
    if args.filename.is_empty() {
        options.sources = sources(&args, base)?;
        for source in &options.sources {
            files::load(base, &source.dir.path, Limits::default(), &mut tree).map_err(|e| files_error(&e))?;
        }
    } else {
        let (made, source) = manifests::source(&read(&args.filename)?).map_err(|e| fleet_error(&e))?;
        (tree, options.sources) = (made, vec![source]);
    }
    let built = assemble(base, tree, &options, &args.common.charts).await?;
    super::print(ui, &built.bundles, &built.notices);
    Ok(ExitCode::Done)
}

/// Looks up what the options files name, fetches charts, builds.
///
/// # Errors
/// In three lines.
pub(super) async fn assemble(
    base: &Path,
    mut tree: Tree,
    options: &Options,
    args: &ChartArgs,
) -> Result<Built, CliError> {
    let prepared = complete(base, &mut tree, options)?;
    let mut fetched = BTreeMap::new();
    if !prepared.charts.is_empty() {
        let (http, sources) = (Http::new(args)?, download::sources(args)?);
        for (prefix, request) in &prepared.charts {
            let chart = charts::fetch(request, &http, &sources).await.map_err(|e| {
                CliError::failed("Chart", format!("cannot fetch {request}"))
                    .cause(causes(&e))
                    .hint("check the repository and version, or give --chart-cache DIR with charts fetched before")
            })?;
            fetched.insert(prefix.clone(), chart);
        }
    }
    build(prepared, &tree, &fetched, options).map_err(|e| fleet_error(&e))
}

fn complete(base: &Path, tree: &mut Tree, options: &Options) -> Result<Prepared, CliError> {
    loop {
        let prepared = prepare(tree, options).map_err(|e| fleet_error(&e))?;
        if prepared.missing.is_empty() {
            return Ok(prepared);
        }
        for path in &prepared.missing {
            let found = files::look_up(base, path, Limits::default()).map_err(|e| files_error(&e))?;
            tree.insert_extra(path, found);
        }
    }
}

fn options(args: &BundleArgs, namespace: Option<&str>) -> Result<Options, CliError> {
    Ok(Options {
        name: args.name.clone(),
        namespace: hub_namespace(namespace),
        sources: Vec::new(),
        targets_file: args.common.targets()?,
        compress: args.compress,
        labels: labels(&args.labels).map_err(|e| fleet_error(&e))?,
        commit: args.commit.clone(),
        service_account: args.common.service_account.clone().unwrap_or_default(),
        sync_generation: args.sync_generation,
        target_namespace: args.target_namespace.clone(),
        default_namespace: args.default_namespace.clone(),
        paused: args.common.paused,
        keep_resources: args.keep_resources,
        delete_namespace: args.delete_namespace,
        correct_drift: args.correct_drift.then_some(CorrectDrift {
            force: args.correct_drift_force,
            keep_fail_history: args.correct_drift_keep_fail_history,
        }),
        bundle_name: args.bundle_name.clone(),
        depends_on: args.depends_on.clone(),
        values_from: args.common.values_from()?,
        lenient: args.common.lenient,
        allow_secret_content: args.allow_secret_content,
    })
}

fn sources(args: &BundleArgs, base: &Path) -> Result<Vec<Source>, CliError> {
    let here = [".".to_owned()];
    let dirs = if args.dirs.is_empty() { &here[..] } else { &args.dirs };
    let mut out = Vec::new();
    for argument in dirs {
        if args.driven_scan {
            let (dir, file) = driven(argument, &args.driven_scan_sep).map_err(|e| fleet_error(&e))?;
            let file = if file.is_empty() {
                args.bundle_file.clone()
            } else {
                file
            };
            out.push(Source { dir, file, scan: false });
            continue;
        }
        for dir in files::expand(base, argument).map_err(|e| files_error(&e))? {
            out.push(Source {
                dir: Dir::new(&dir),
                file: args.bundle_file.clone(),
                scan: true,
            });
        }
    }
    if out.is_empty() {
        return Err(fleet_error(&crate::fleet::error::FleetError::NothingFound {
            dirs: dirs.to_vec(),
        }));
    }
    Ok(out)
}

fn read(sources: &[String]) -> Result<Vec<NamedFile>, CliError> {
    let texts = crate::cli::inputs::read(sources, false)?;
    let named = |text: crate::plan::input::Text| NamedFile {
        path: if text.source == "standard input" {
            "-".to_owned()
        } else {
            text.source
        },
        bytes: text.content.into_bytes(),
    };
    Ok(texts.into_iter().map(named).collect())
}

fn files_error(error: &FilesError) -> CliError {
    if let FilesError::Fleet(error) = error {
        return fleet_error(error);
    }
    CliError::usage("cannot read the bundle's directory")
        .cause(causes(error))
        .hint("check the path")
}
