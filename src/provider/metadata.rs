//! The envelope under `data[].metadata` of a PushSecret.
//!
//! ESO reads it with Go's JSON rules: unknown fields are refused, and field names are taken in any letter case.

use serde_json::{Map, Value};

use super::ProviderError;

const API_VERSION: &str = "kubernetes.external-secrets.io/v1alpha1";
const KIND: &str = "PushSecretMetadata";

/// The fields of `spec` by their documented names, or `None` without metadata.
///
/// `allowed` are the names of the provider's spec fields. Errors are ESO's texts, without a prefix of the provider.
pub fn spec_fields(
    metadata: Option<&Value>,
    allowed: &[&'static str],
) -> Result<Option<Vec<(&'static str, Value)>>, ProviderError> {
    let Some(metadata) = metadata.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let parse_error = |error: String| {
        ProviderError::invalid(format!(
            "failed to parse {API_VERSION} {KIND}: error unmarshaling JSON: while decoding JSON: {error}"
        ))
    };
    let envelope = object(metadata, "PushSecretMetadata").map_err(parse_error)?;
    let envelope = fields(envelope, &["apiVersion", "kind", "spec"]).map_err(parse_error)?;
    let mut spec = Vec::new();
    let (mut api_version, mut kind) = (String::new(), String::new());
    for (name, value) in envelope {
        match name {
            "apiVersion" => api_version = text(&value, "apiVersion").map_err(parse_error)?,
            "kind" => kind = text(&value, "kind").map_err(parse_error)?,
            _ if value.is_null() => {}
            _ => {
                spec = object(&value, "spec")
                    .and_then(|spec| fields(spec, allowed))
                    .map_err(parse_error)?;
            }
        }
    }
    if api_version != API_VERSION {
        return Err(ProviderError::invalid(format!(
            "unexpected apiVersion {api_version:?}, expected {API_VERSION:?}"
        )));
    }
    if kind != KIND {
        return Err(ProviderError::invalid(format!(
            "unexpected kind {kind:?}, expected {KIND:?}"
        )));
    }
    Ok(Some(spec))
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| {
        format!(
            "json: cannot unmarshal {} into Go value of type {what}",
            json_kind(value)
        )
    })
}

/// A text member; `null` is the empty text, as in Go.
pub fn text(value: &Value, field: &str) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        other => Err(format!(
            "json: cannot unmarshal {} into Go struct field {field} of type string",
            json_kind(other)
        )),
    }
}

/// A map of texts; `null` is the empty map.
pub fn text_map(value: &Value, field: &str) -> Result<std::collections::BTreeMap<String, String>, String> {
    match value {
        Value::Null => Ok(std::collections::BTreeMap::new()),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| Ok((key.clone(), text(value, field)?)))
            .collect::<Result<_, String>>(),
        other => Err(format!(
            "json: cannot unmarshal {} into Go struct field {field} of type map[string]string",
            json_kind(other)
        )),
    }
}

/// Members by their documented names: the exact name first, else any letter case; of twins the last one wins.
fn fields(members: &Map<String, Value>, allowed: &[&'static str]) -> Result<Vec<(&'static str, Value)>, String> {
    let mut found: Vec<(&'static str, Value)> = Vec::new();
    for (key, value) in members {
        let exact = allowed.iter().find(|name| *name == key);
        let name = exact.or_else(|| allowed.iter().find(|name| name.to_lowercase() == key.to_lowercase()));
        let Some(name) = name else {
            return Err(format!("json: unknown field {key:?}"));
        };
        found.retain(|(other, _)| other != name);
        found.push((name, value.clone()));
    }
    Ok(found)
}

fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::spec_fields;
    use serde_json::json;

    fn envelope(spec: &serde_json::Value) -> serde_json::Value {
        json!({"apiVersion": "kubernetes.external-secrets.io/v1alpha1", "kind": "PushSecretMetadata", "spec": spec})
    }

    #[test]
    fn absent_metadata_is_no_envelope() {
        assert_eq!(spec_fields(None, &["labels"]), Ok(None));
    }

    #[test]
    fn names_match_in_any_letter_case() {
        let metadata = json!({
            "APIVERSION": "kubernetes.external-secrets.io/v1alpha1", "Kind": "PushSecretMetadata", "sPec": {"LABELS": {"a": "b"}},
        });
        assert_eq!(
            spec_fields(Some(&metadata), &["labels"]),
            Ok(Some(vec![("labels", json!({"a": "b"}))]))
        );
    }

    #[test]
    fn what_does_not_belong_is_refused() {
        let prefix = "failed to parse kubernetes.external-secrets.io/v1alpha1 PushSecretMetadata: ";
        let decoding = "error unmarshaling JSON: while decoding JSON: ";
        for (metadata, error) in [
            (
                envelope(&json!({"tags": {}})),
                format!("{prefix}{decoding}json: unknown field \"tags\""),
            ),
            (
                json!({"kind": "PushSecretMetadata"}),
                "unexpected apiVersion \"\", expected \"kubernetes.external-secrets.io/v1alpha1\"".to_owned(),
            ),
            (
                json!({"apiVersion": "kubernetes.external-secrets.io/v1alpha1", "kind": "X"}),
                "unexpected kind \"X\", expected \"PushSecretMetadata\"".to_owned(),
            ),
        ] {
            assert_eq!(
                spec_fields(Some(&metadata), &["labels"]).unwrap_err().to_string(),
                error
            );
        }
    }
}
