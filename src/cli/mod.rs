//! What the user can type: one file per subcommand. Open this file to add one.

pub mod apply;
pub mod bootstrap;
pub mod completion;
pub mod contexts;
pub mod convert;
pub mod crds;
pub mod credential;
pub mod distribute_token;
pub mod error;
pub mod exit;
pub mod fleet;
pub mod global;
pub mod inputs;
pub mod migrate;
pub mod mint_token;
pub mod options;
pub mod output;
pub mod own_store;
pub mod push;
pub mod push_target;
pub mod put;
pub mod request;
pub mod session;
pub mod status;
pub mod steps;
pub mod sync;
pub mod upstream;
pub mod version;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use tokio_util::sync::CancellationToken;

use crate::cluster::kubeconfig::Environment;
use crate::ui::{Color, Terminal, Ui};
use error::CliError;
use exit::ExitCode;
use global::{ColorArg, GlobalArgs};
use session::Session;

/// External Secrets over many clusters
///
/// One cluster (the upstream) holds secrets, many others (downstreams) need them. Prepare the upstream, give every
/// downstream its own credential, apply stores and ExternalSecrets, and keep them in sync, with or without an operator.
#[derive(Debug, Parser)]
#[command(name = "kubectl-eso", bin_name = "kubectl eso", version, disable_help_subcommand = true, after_help = exit::TABLE)]
pub struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The subcommands, grouped by task in this order.
#[derive(Debug, Subcommand)]
enum Command {
    Bootstrap(bootstrap::BootstrapArgs),
    Crds(crds::CrdsArgs),
    Put(put::PutArgs),
    MintToken(mint_token::MintTokenArgs),
    DistributeToken(distribute_token::DistributeTokenArgs),
    Apply(apply::ApplyArgs),
    Request(request::RequestArgs),
    Sync(sync::SyncArgs),
    Push(push::PushArgs),
    PushTarget(push_target::PushTargetArgs),
    Status(status::StatusArgs),
    Fleet(fleet::FleetArgs),
    Convert(convert::ConvertArgs),
    #[command(subcommand)]
    Migrate(migrate::MigrateCommand),
    Completion(completion::CompletionArgs),
    Version(version::VersionArgs),
    Options(options::OptionsArgs),
}

impl Command {
    fn name(&self) -> &'static str {
        match self {
            Self::Bootstrap(_) => "bootstrap",
            Self::Crds(_) => "crds",
            Self::Put(_) => "put",
            Self::MintToken(_) => "mint-token",
            Self::DistributeToken(_) => "distribute-token",
            Self::Apply(_) => "apply",
            Self::Request(_) => "request",
            Self::Sync(_) => "sync",
            Self::Push(_) => "push",
            Self::PushTarget(_) => "push-target",
            Self::Status(_) => "status",
            Self::Fleet(_) => "fleet",
            Self::Convert(_) => "convert",
            Self::Migrate(_) => "migrate",
            Self::Completion(_) => "completion",
            Self::Version(_) => "version",
            Self::Options(_) => "options",
        }
    }

    /// True where stdout must hold one document.
    fn is_machine(&self) -> bool {
        match self {
            Self::Bootstrap(a) => a.is_machine(),
            Self::Crds(a) => a.is_machine(),
            Self::Put(a) => a.is_machine(),
            Self::MintToken(a) => a.is_machine(),
            Self::DistributeToken(a) => a.is_machine(),
            Self::Apply(a) => a.is_machine(),
            Self::Request(a) => a.is_machine(),
            Self::Sync(a) => a.is_machine(),
            Self::Push(a) => a.is_machine(),
            Self::PushTarget(a) => a.is_machine(),
            Self::Status(a) => a.is_machine(),
            Self::Version(a) => a.is_machine(),
            Self::Fleet(_) => true,
            Self::Convert(_) | Self::Migrate(_) | Self::Completion(_) | Self::Options(_) => false,
        }
    }

    /// True where a manifest or a value comes from stdin, which then is not free for credential plugins.
    fn reads_stdin(&self) -> bool {
        match self {
            Self::Apply(a) => a.reads_stdin(),
            Self::Put(a) => a.reads_stdin(),
            Self::Fleet(a) => a.reads_stdin(),
            _ => false,
        }
    }

    async fn run(self, session: &Session) -> Result<ExitCode, CliError> {
        match self {
            Self::Bootstrap(args) => bootstrap::run(session, args).await,
            Self::Crds(args) => crds::run(session, args).await,
            Self::Put(args) => put::run(session, args).await,
            Self::MintToken(args) => mint_token::run(session, args).await,
            Self::DistributeToken(args) => distribute_token::run(session, args).await,
            Self::Apply(args) => apply::run(session, args).await,
            Self::Request(args) => request::run(session, args).await,
            Self::Sync(args) => sync::run(session, args).await,
            Self::Push(args) => push::run(session, args).await,
            Self::PushTarget(args) => push_target::run(session, args).await,
            Self::Status(args) => status::run(session, args).await,
            Self::Version(args) => version::run(session, args).await,
            Self::Fleet(_) | Self::Convert(_) | Self::Migrate(_) | Self::Completion(_) | Self::Options(_) => {
                Ok(ExitCode::Done)
            }
        }
    }
}

/// Everything `main` knows that is not in the arguments.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Environment of connections.
    pub env: Environment,
    /// The terminal.
    pub terminal: Terminal,
    /// Cancelled by the first signal.
    pub cancel: CancellationToken,
}

/// The clap command, named as the user called us.
pub fn command(program: &str) -> clap::Command {
    let base = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let command = Cli::command();
    if base.starts_with("kubectl-") {
        command
    } else {
        command.bin_name(base.to_owned())
    }
}

/// Parses, runs, and returns the exit code; everything that can go wrong has been printed.
pub async fn run(args: Vec<OsString>, surroundings: Surroundings) -> ExitCode {
    let program = args
        .first()
        .map(|p| p.to_string_lossy().into_owned())
        .unwrap_or_default();
    let parsed = command(&program)
        .try_get_matches_from(args)
        .and_then(|m| Cli::from_arg_matches(&m));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(e) => return usage_error(&surroundings, &program, &e),
    };
    let global = cli.global;
    let color = match global.color {
        ColorArg::Auto => Color::Auto,
        ColorArg::Always => Color::Always,
        ColorArg::Never => Color::Never,
    };
    let machine = cli.command.as_ref().is_some_and(Command::is_machine);
    let ui = Ui::new(
        surroundings.terminal.clone(),
        color,
        global.quiet,
        machine,
        global.verbosity,
    );
    let Some(command) = cli.command else {
        ui.document(&format!("{}\n", self::command(&program).render_long_help()));
        return ExitCode::Done;
    };
    match command {
        Command::Completion(args) => report(&ui, completion::run(&ui, &args)),
        Command::Options(_) => report(&ui, options::run(&ui)),
        Command::Fleet(args) => report(&ui, fleet::run(&ui, args, global.namespace.as_deref()).await),
        Command::Convert(args) => report(&ui, convert::run(&ui, &args)),
        Command::Migrate(args) => report(&ui, migrate::run(&ui, &args)),
        Command::Crds(args) if crds::is_offline(&args) => report(&ui, crds::print(&ui, &args)),
        command => run_connected(ui, &global, command, surroundings).await,
    }
}

async fn run_connected(ui: Ui, global: &GlobalArgs, command: Command, surroundings: Surroundings) -> ExitCode {
    crate::ui::log::start(global.verbosity);
    let stdin_free = surroundings.terminal.stdin && !command.reads_stdin();
    let session = random_bytes::<8>()
        .and_then(|random| global.connect_options(command.name(), crate::plan::cid::hex(&random), stdin_free));
    let options = match session {
        Ok(options) => options,
        Err(e) => return report(&ui, Err(e)),
    };
    if let Command::Version(args) = &command
        && args.is_client_only()
    {
        return report(&ui, version::client_only(&ui, args));
    }
    let session = match Session::new(ui, options, surroundings.env, surroundings.cancel) {
        Ok(session) => session,
        Err((ui, e)) => return report(&ui, Err(e)),
    };
    let result = command.run(&session).await;
    let warned = session.print_warnings();
    let code = report(&session.ui, result);
    if code == ExitCode::Done && warned && global.warnings_as_errors {
        session
            .ui
            .error("the server sent warnings, and --warnings-as-errors is set");
        return ExitCode::Failed;
    }
    code
}

fn report(ui: &Ui, result: Result<ExitCode, CliError>) -> ExitCode {
    let code = match result {
        Ok(code) => code,
        Err(e) => {
            if ui.machine {
                ui.json(&e.json());
            }
            ui.error(&e.to_string());
            e.exit
        }
    };
    if ui.is_closed() { ExitCode::ClosedPipe } else { code }
}

/// clap's message without its usage block, and where to read more.
fn usage_error(surroundings: &Surroundings, program: &str, error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind;
    let ui = Ui::new(surroundings.terminal.clone(), Color::Auto, false, false, 0);
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        ui.document(&error.render().to_string());
        return if ui.is_closed() {
            ExitCode::ClosedPipe
        } else {
            ExitCode::Done
        };
    }
    let text = error.render().to_string();
    let message = text
        .split("\n\nUsage:")
        .next()
        .unwrap_or(&text)
        .trim_start_matches("error: ")
        .trim_end();
    let message = message
        .split("\n\nFor more information")
        .next()
        .unwrap_or(message)
        .trim_end();
    let name = command(program).get_bin_name().unwrap_or("kubectl eso").to_owned();
    let path = error_path(error).map_or(name.clone(), |sub| format!("{name} {sub}"));
    ui.error(&format!("{message}\n\nSee '{path} --help' for usage."));
    ExitCode::Usage
}

/// The subcommand an error belongs to, out of its usage line.
fn error_path(error: &clap::Error) -> Option<String> {
    let text = error.render().to_string();
    let usage = text.split("Usage: ").nth(1)?;
    let words: Vec<&str> = usage
        .split_whitespace()
        .take_while(|w| !w.starts_with(['-', '[', '<']))
        .collect();
    let known: Vec<&str> = words
        .into_iter()
        .skip_while(|w| *w != "eso" && *w != "kubectl-eso")
        .skip(1)
        .collect();
    (!known.is_empty()).then(|| known.join(" "))
}

/// Bytes of the operating system's random source.
///
/// # Errors
/// The source is unavailable.
pub fn random_bytes<const N: usize>() -> Result<[u8; N], CliError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|e| CliError::failed("Random", "no random numbers from the system").cause(e.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Cli::command().debug_assert();
    }
}
