//! Targets of other kinds than Secret.

use super::outcome::Outcome;
use super::pass::Pass;
use crate::api::external_secret::ExternalSecretSpec;
use crate::cluster::error::ClusterError;

/// Steps for a generic target.
pub async fn sync(_pass: &Pass<'_>, _spec: &ExternalSecretSpec) -> Outcome {
    Outcome::refused("invalid generic target", "generic targets are disabled. Enable with --unsafe-allow-generic-targets flag")
}

/// Deletes the target of a removed ExternalSecret.
pub async fn delete_for_removed(_pass: &Pass<'_>, _spec: &ExternalSecretSpec) -> Result<(), ClusterError> {
    Ok(())
}
