//! `convert`: stores and ExternalSecrets of old versions in files → v1.

use clap::Args;

use super::error::CliError;
use super::exit::ExitCode;
use super::inputs;
use crate::migrate::upgrade::{Change, Upgrade, diff, upgrade};
use crate::plan::input::Text;
use crate::ui::Ui;

/// What `inputs::read` calls the text that came from stdin.
const STDIN: &str = "standard input";

/// Rewrite stores and ExternalSecrets of v1alpha1 or v1beta1 as v1
///
/// Needs no cluster. Comments, order and quoting stay wherever only versions change; a document that must be written
/// anew keeps its comments at its top, with a note. Other documents pass through untouched.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # Print the new text
  kubectl eso convert -f stores.yaml

  # What would change in a folder; ends with 1 when something would
  kubectl eso convert -f manifests/ -R --diff

  # Rewrite the files
  kubectl eso convert -f manifests/ -R --in-place

  # From a pipe
  kustomize build . | kubectl eso convert -f -")]
pub struct ConvertArgs {
    /// Files, folders, patterns, or - for stdin (repeatable)
    #[arg(short = 'f', long = "filename", required = true, value_name = "FILE|DIR|-")]
    filename: Vec<String>,
    /// Also the folders below
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Write the files instead of printing
    #[arg(long, conflicts_with = "diff")]
    in_place: bool,
    /// Print a unified diff; the exit code is 1 when there is one
    #[arg(long)]
    diff: bool,
}

/// Runs the command.
///
/// # Errors
/// Unreadable or unwritable files, texts that are no YAML, `--in-place` with stdin.
pub fn run(ui: &Ui, args: &ConvertArgs) -> Result<ExitCode, CliError> {
    if args.in_place && args.filename.iter().any(|f| f == "-") {
        return Err(CliError::usage("--in-place cannot write to standard input")
            .cause("-f - names no file")
            .hint("leave --in-place out and redirect the output"));
    }
    let texts = inputs::read(&args.filename, args.recursive)?;
    // Everything is read and upgraded before anything is written: one bad file leaves all as they were.
    let upgraded = texts
        .into_iter()
        .map(|text| one(&text).map(|new| (text, new)))
        .collect::<Result<Vec<_>, _>>()?;
    let mut first = true;
    for (old, new) in &upgraded {
        notes(ui, old, new);
        if args.diff {
            ui.document(&diff(&old.source, &old.content, &new.text));
        } else if args.in_place {
            if new.text != old.content {
                replace(&old.source, &new.text)?;
                ui.note(&format!("{} rewritten", old.source));
            }
        } else {
            if !first && !new.text.starts_with("---") {
                ui.document("---\n");
            }
            ui.document(&ended(&new.text));
            first = false;
        }
    }
    Ok(exit(args, &upgraded))
}

fn exit(args: &ConvertArgs, upgraded: &[(Text, Upgrade)]) -> ExitCode {
    let documents = || upgraded.iter().flat_map(|(_, u)| &u.documents);
    let refused = documents().filter(|d| d.change == Change::Refused).count();
    if refused > 0 {
        return ExitCode::of_results(documents().count() - refused, refused);
    }
    if args.diff && upgraded.iter().any(|(old, new)| old.content != new.text) {
        return ExitCode::Failed;
    }
    ExitCode::Done
}

fn one(text: &Text) -> Result<Upgrade, CliError> {
    upgrade(&text.content).map_err(|e| {
        CliError::usage(format!("cannot convert {}", text.source))
            .cause(causes(&e))
            .hint("templates of Helm are no YAML: convert what helm template prints")
    })
}

/// An error and what lies under it, in one line.
pub fn causes(error: &dyn std::error::Error) -> String {
    let chain = std::iter::successors(Some(error), |e| e.source());
    let texts: Vec<String> = chain.map(ToString::to_string).collect();
    crate::cluster::request_error::one_line(&texts.join(": "))
}

fn notes(ui: &Ui, text: &Text, upgrade: &Upgrade) {
    for document in &upgrade.documents {
        let place = format!("{}: {}/{}", text.source, document.kind, document.name);
        for note in &document.notes {
            ui.warn(&format!("{place}: {note}"));
        }
        match document.change {
            Change::Refused => ui.error(&format!("{place} is left as it was")),
            Change::Rewritten => ui.note(&format!("{place} is written anew; its comments stand at its top")),
            Change::Unchanged | Change::Edited => {}
        }
    }
}

fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') {
        text.to_owned()
    } else {
        format!("{text}\n")
    }
}

/// Writes beside the file and renames, so that a crash leaves the old text or the new one, never half of one. The
/// permissions stay.
///
/// # Errors
/// The folder or the file cannot be written.
pub fn replace(path: &str, text: &str) -> Result<(), CliError> {
    debug_assert_ne!(path, STDIN, "checked before");
    // A link keeps pointing at the file it names.
    let write = || -> std::io::Result<()> {
        let path = std::fs::canonicalize(path)?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".kubectl-eso-new");
        let beside = path.with_file_name(name);
        let permissions = std::fs::metadata(&path)?.permissions();
        std::fs::write(&beside, text)?;
        std::fs::set_permissions(&beside, permissions)?;
        std::fs::rename(&beside, &path)
    };
    write().map_err(|e| {
        CliError::failed("Write", format!("cannot write {path}"))
            .cause(e.to_string())
            .hint("check the permissions of the file and its folder")
    })
}
