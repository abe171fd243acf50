//! Results in the format asked for.

use super::error::CliError;
use super::exit::ExitCode;
use super::global::Output;
use super::session::Session;
use crate::ui::results::Report;

/// Prints reports of a writing command.
///
/// # Errors
/// A value that the format cannot hold.
pub fn print(
    session: &Session,
    output: Output,
    kind: &str,
    reports: &[Report],
    exit: ExitCode,
    suffix: &str,
) -> Result<(), CliError> {
    let ui = &session.ui;
    match output {
        Output::Json | Output::Yaml => {
            value(session, output, &ui.results_json(kind, reports, exit.code()))?;
            for report in reports {
                if let Some(failure) = &report.failure {
                    ui.error(&failure.text());
                }
            }
        }
        Output::Name => {
            for object in reports.iter().flat_map(|r| &r.objects) {
                ui.line(&object.object);
            }
            for failure in reports.iter().filter_map(|r| r.failure.as_ref()) {
                ui.error(&failure.text());
            }
        }
        Output::Table | Output::Wide => {
            for report in reports {
                ui.report(report, reports.len() > 1, suffix, None);
            }
            if reports.len() > 1 {
                ui.summary(reports);
            }
        }
    }
    Ok(())
}

/// One document, as JSON or YAML.
///
/// # Errors
/// A value that YAML cannot hold.
pub fn value(session: &Session, output: Output, value: &serde_json::Value) -> Result<(), CliError> {
    if output == Output::Yaml {
        session.ui.document(&crate::api::yaml::write(value));
    } else {
        session.ui.json(value);
    }
    Ok(())
}
