//! What a template may not ask for: the admission rules ESO's controller enforces again.

use crate::api::external_secret::{Target, Template};

const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";
const TOKEN_ANNOTATION: &str = "kubernetes.io/service-account.name";
const BOOTSTRAP_TYPE: &str = "bootstrap.kubernetes.io/token";

/// Checks the template of a Secret target: it must not make a Secret that the cluster fills with a token of another
/// account, and its sources must go where a Secret has room.
///
/// # Errors
/// ESO's text.
pub fn check(target: &Target) -> Result<(), String> {
    let Some(template) = &target.template else { return Ok(()) };
    let secret = target.manifest.as_ref().is_none_or(|m| m.api_version == "v1" && m.kind == "Secret");
    if !secret {
        return Ok(());
    }
    check_type(template)?;
    for from in &template.template_from {
        if !from.target.is_empty() && !["data", "annotations", "labels"].contains(&from.target.to_lowercase().as_str()) {
            return Err(format!(
                r#"templateFrom target="{}" is not allowed when targeting a Secret, must be one of "Data", "Annotations" or "Labels""#,
                from.target
            ));
        }
    }
    Ok(())
}

fn check_type(template: &Template) -> Result<(), String> {
    match template.type_.as_str() {
        TOKEN_TYPE if template.metadata.annotations.contains_key(TOKEN_ANNOTATION) => {
            Err(format!(r#"template.type="{TOKEN_TYPE}" with annotation "{TOKEN_ANNOTATION}" is not allowed"#))
        }
        TOKEN_TYPE => {
            let into_annotations = |t: &&str| t.eq_ignore_ascii_case("Annotations");
            match template.template_from.iter().map(|f| f.target.as_str()).find(into_annotations) {
                Some(target) => {
                    Err(format!(r#"template.type="{TOKEN_TYPE}" with templateFrom target="{target}" is not allowed"#))
                }
                None => Ok(()),
            }
        }
        BOOTSTRAP_TYPE => Err(format!(r#"template.type="{BOOTSTRAP_TYPE}" is not allowed"#)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    fn verdict(template: serde_json::Value) -> Result<(), String> {
        check(&serde_json::from_value(json!({ "template": template })).unwrap())
    }

    #[test]
    fn tokens_of_other_accounts_cannot_be_asked_for() {
        let token = "kubernetes.io/service-account-token";
        let named = json!({"type": token, "metadata": {"annotations": {"kubernetes.io/service-account.name": "boss"}}});
        assert!(verdict(named).unwrap_err().contains("with annotation"));
        let from = json!({"type": token, "templateFrom": [{"literal": "a: b", "target": "annotations"}]});
        assert!(verdict(from).unwrap_err().contains(r#"templateFrom target="annotations""#));
        assert!(verdict(json!({"type": "bootstrap.kubernetes.io/token"})).is_err());
        assert!(verdict(json!({"type": token})).is_ok());
    }

    #[test]
    fn sources_go_to_data_labels_or_annotations() {
        assert!(verdict(json!({"templateFrom": [{"literal": "a: b", "target": "LABELS"}, {"literal": "a: b"}]})).is_ok());
        assert!(verdict(json!({"templateFrom": [{"literal": "a: b", "target": "spec.x"}]})).is_err());
    }
}
