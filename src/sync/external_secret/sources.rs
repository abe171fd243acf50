//! ConfigMaps and Secrets a template draws on, read now, and the template rendered over provider data.

use super::pass::Pass;
use crate::api::external_secret::ExternalSecretSpec;
use crate::secret::SecretData;
use crate::target::build::Rendered;

/// Renders the template, if there is one.
///
/// # Errors
/// ESO's text, without the prefix `could not apply template: `.
pub async fn render(
    _pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    _data: &SecretData,
) -> Result<Option<Rendered>, String> {
    if spec.target.template.is_none() {
        return Ok(None);
    }
    Err("templates are not wired yet".to_owned())
}

/// Renders a template onto an untyped object.
///
/// # Errors
/// ESO's text.
pub async fn render_onto(
    _pass: &Pass<'_>,
    _template: &crate::api::external_secret::Template,
    _data: &SecretData,
    _object: &mut serde_json::Value,
) -> Result<(), String> {
    Err("templates are not wired yet".to_owned())
}

/// Runs a rewrite's template for one key.
///
/// # Errors
/// The template's fault.
pub fn transform(_template: &str, _key: &str) -> Result<String, crate::secret::rewrite::TemplateFault> {
    Err(crate::secret::rewrite::TemplateFault::Parse("templates are not wired yet".to_owned()))
}
