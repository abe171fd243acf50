//! `version`: this program, the server, and the External Secrets API it serves.

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use super::exit::ExitCode;
use super::global::{Output, OutputArgs};
use super::session::Session;
use crate::cluster::discovery::discover;
use crate::ui::Ui;

/// Print the versions of this program and of the cluster
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # Both versions
  kubectl eso version

  # Without a server
  kubectl eso version --client -o json")]
pub struct VersionArgs {
    /// Only this program; no server is asked
    #[arg(long)]
    client: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl VersionArgs {
    /// True where no server is needed.
    pub fn is_client_only(&self) -> bool {
        self.client
    }

    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine()
    }
}

fn client() -> Value {
    json!({"version": format!("v{}", env!("CARGO_PKG_VERSION")), "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH)})
}

/// The client half.
///
/// # Errors
/// A value the format cannot hold.
pub fn client_only(ui: &Ui, args: &VersionArgs) -> Result<ExitCode, CliError> {
    print(
        ui,
        args,
        &json!({"apiVersion": "kubectl-eso/v1", "kind": "Version", "client": client()}),
    )?;
    Ok(ExitCode::Done)
}

/// Both halves; a failing server still prints the client's.
///
/// # Errors
/// The server could not be asked.
pub async fn run(session: &Session, args: VersionArgs) -> Result<ExitCode, CliError> {
    let mut value = json!({"apiVersion": "kubectl-eso/v1", "kind": "Version", "client": client()});
    let asked = server(session).await;
    match asked {
        Ok(server) => {
            value["server"] = server;
            print(&session.ui, &args, &value)?;
            Ok(ExitCode::Done)
        }
        Err(e) => {
            print(&session.ui, &args, &value)?;
            session.ui.error(&e.to_string());
            Ok(e.exit)
        }
    }
}

async fn server(session: &Session) -> Result<Value, CliError> {
    let cluster = session.upstream().await?;
    let info = cluster
        .call("get", "version", cluster.client.apiserver_version())
        .await?;
    let served = discover(&cluster, &["external-secrets.io"]).await?;
    Ok(
        json!({"context": cluster.context, "version": info.git_version, "externalSecrets": served.versions_of("external-secrets.io", "ExternalSecret")}),
    )
}

fn print(ui: &Ui, args: &VersionArgs, value: &Value) -> Result<(), CliError> {
    match args.output.output {
        Output::Json => ui.json(value),
        Output::Yaml => {
            ui.document(&crate::api::yaml::write(value));
        }
        _ => {
            ui.line(&format!(
                "Client Version: {}",
                value["client"]["version"].as_str().unwrap_or_default()
            ));
            if let Some(server) = value.get("server") {
                let versions: Vec<&str> = server["externalSecrets"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                ui.line(&format!(
                    "Server Version: {} [{}]",
                    server["version"].as_str().unwrap_or_default(),
                    server["context"].as_str().unwrap_or_default()
                ));
                ui.line(&format!(
                    "External Secrets API: {}",
                    if versions.is_empty() {
                        "not installed".to_owned()
                    } else {
                        versions.join(", ")
                    }
                ));
            }
        }
    }
    Ok(())
}
