//! `mint-token`: one TokenRequest; metadata by default, the bare token only when asked.

use std::time::Duration;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde_json::json;

use super::error::CliError;
use super::exit::ExitCode;
use super::global::duration;
use super::session::{Session, now};
use crate::cluster::token::{Issued, Request, issue};
use crate::plan::cid::fingerprint;
use crate::plan::names::STORE;

/// `-o`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
enum MintOutput {
    /// Account, audiences, expiry, fingerprint
    #[default]
    Table,
    /// The same as JSON
    Json,
    /// The same as YAML
    Yaml,
    /// The bare token, alone
    Token,
}

/// Issue one token of an upstream account
///
/// Shows what was granted, not the token; `-o token` prints the token alone. Tokens for downstream clusters are issued
/// by distribute-token, which also records and renews them.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # What would be granted for 30 days
  kubectl eso mint-token --token-ttl 720h

  # The bare token, into a file only the owner may read
  (umask 077; kubectl eso mint-token -o token > token)

  # A token that dies with a Secret
  kubectl eso mint-token --bound-object-kind Secret --bound-object-name marker --bound-object-uid UID")]
pub struct MintTokenArgs {
    /// The account
    #[arg(default_value = STORE)]
    account: String,
    /// Its namespace
    #[arg(long, value_name = "NS", default_value = crate::plan::names::DATA_NAMESPACE)]
    data_namespace: String,
    /// Life of the token asked for
    #[arg(long, value_name = "D", default_value = "1h", value_parser = duration)]
    token_ttl: Duration,
    /// Audience (repeatable); default: the API server's own
    #[arg(long, value_name = "AUDIENCE")]
    audience: Vec<String>,
    /// Kind of an object the token dies with: Secret, Pod or Node
    #[arg(long, value_name = "KIND", requires = "bound_object_name")]
    bound_object_kind: Option<String>,
    /// Name of that object
    #[arg(long, value_name = "NAME", requires = "bound_object_kind")]
    bound_object_name: Option<String>,
    /// UID of that object
    #[arg(long, value_name = "UID", requires = "bound_object_kind", default_value = "")]
    bound_object_uid: String,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = MintOutput::Table, value_name = "FORMAT")]
    output: MintOutput,
}

impl MintTokenArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output != MintOutput::Table
    }
}

/// Runs the command.
///
/// # Errors
/// In three lines.
pub async fn run(session: &Session, args: MintTokenArgs) -> Result<ExitCode, CliError> {
    if args.token_ttl < Duration::from_secs(600) || args.token_ttl > Duration::from_secs(1 << 32) {
        return Err(CliError::usage("--token-ttl must be between 10m and 2^32 seconds")
            .cause("API servers refuse tokens that live less than 10 minutes")
            .hint("--token-ttl 1h"));
    }
    let cluster = session.upstream().await?;
    let seconds = i64::try_from(args.token_ttl.as_secs()).unwrap_or(i64::MAX);
    let bound = match (&args.bound_object_kind, &args.bound_object_name) {
        (Some(kind), Some(name)) => Some((kind.as_str(), name.as_str(), args.bound_object_uid.as_str())),
        _ => None,
    };
    let request = Request {
        namespace: &args.data_namespace,
        account: &args.account,
        seconds,
        audiences: &args.audience,
        bound,
    };
    let issued = issue(&cluster, &request).await?;
    warn_if_short(session, &issued, seconds);
    print(session, &args, &issued)?;
    Ok(ExitCode::Done)
}

fn warn_if_short(session: &Session, issued: &Issued, asked: i64) {
    let granted = issued.claims.expires_at - issued.claims.issued_at;
    if granted > 0 && granted < asked - 60 {
        session
            .ui
            .warn(&format!("the server granted {granted}s instead of {asked}s"));
    }
}

fn print(session: &Session, args: &MintTokenArgs, issued: &Issued) -> Result<(), CliError> {
    let ui = &session.ui;
    if args.output == MintOutput::Token {
        // kubectl ends a bare token with a line break on a terminal only.
        ui.document(issued.token.as_str());
        if ui.terminal.stdout {
            ui.document("\n");
        }
        return Ok(());
    }
    let fields = [
        ("serviceAccount", format!("{}/{}", args.data_namespace, args.account)),
        ("audiences", issued.claims.audiences.join(",")),
        (
            "issuedAt",
            Timestamp::from_second(issued.claims.issued_at)
                .unwrap_or_else(|_| now())
                .to_string(),
        ),
        ("expiresAt", issued.expires_at.to_string()),
        ("tokenId", issued.claims.id.clone()),
        ("fingerprint", fingerprint(issued.token.as_bytes())),
    ];
    match args.output {
        MintOutput::Table | MintOutput::Token => {
            for (name, value) in fields {
                ui.line(&format!("{name}: {value}"));
            }
        }
        MintOutput::Json | MintOutput::Yaml => {
            let mut value = json!({"apiVersion": "kubectl-eso/v1", "kind": "MintedToken"});
            for (name, text) in fields {
                value[name] = json!(text);
            }
            let format = if args.output == MintOutput::Yaml {
                super::global::Output::Yaml
            } else {
                super::global::Output::Json
            };
            super::output::value(session, format, &value)?;
        }
    }
    Ok(())
}
