//! From an answer to values: JSONPath, and what each JSON type becomes.

use zeroize::Zeroizing;

use crate::lang::gojson::{Numbers, Value, parse_with};
use crate::provider::ProviderError;
use crate::provider::values::{any_text, secret_value};
use crate::secret::{SecretData, SecretValue};

/// One value out of a body. An empty path takes the body as it is.
pub fn value(body: Zeroizing<Vec<u8>>, path: &str) -> Result<SecretValue, ProviderError> {
    if path.is_empty() {
        return Ok(secret_value(body));
    }
    scalar(&select(&body, path)?)
}

/// A list gives its first element; numbers keep their spelling (ESO rounds them to whole ones).
fn scalar(value: &Value) -> Result<SecretValue, ProviderError> {
    match value {
        Value::Array(items) => match items.first() {
            Some(first) => scalar(first),
            None => Err(ProviderError::other("filter worked but didn't get any result")),
        },
        other => Ok(secret_value(any_text(other))),
    }
}

/// All members of the object in a body, or in the JSON text at a path.
pub fn map(body: &[u8], path: &str) -> Result<SecretData, ProviderError> {
    let mut value = select(body, path)?;
    if let Some(text) = value.as_str() {
        let parsed = parse_with(text.as_bytes(), Numbers::Text);
        value = parsed
            .map_err(|error| ProviderError::other(format!("failed to parse response json from jsonpath: {error}")))?;
    }
    let Some(members) = value.as_object() else {
        return Err(ProviderError::other(format!(
            "failed to get response (wrong type: {})",
            go_type(&value)
        )));
    };
    Ok(members
        .iter()
        .map(|(key, member)| (key.clone(), secret_value(any_text(member))))
        .collect())
}

fn select(body: &[u8], path: &str) -> Result<Value, ProviderError> {
    let value = parse_with(body, Numbers::Text);
    let value = value.map_err(|error| ProviderError::other(format!("failed to parse response json: {error}")))?;
    if path.is_empty() {
        return Ok(value);
    }
    crate::lang::jsonpath::get(path, &value)
        .map_err(|error| ProviderError::other(format!("failed to get response path {path}: {error}")))
}

/// ESO parses numbers as floats, so its texts name that type.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::NumberText(_) => "float64",
        other => other.go_type(),
    }
}

#[cfg(test)]
mod tests {
    use super::{map, value};
    use zeroize::Zeroizing;

    const TYPES: &str = r#"{"id":9007199254740993,"rate":12.75,"big":1e3,"on":true,"gone":null,"none":"","o":{"z":1,"a":"<b>&"},"l":["x","y"],"e":[],"t":"{\"k\":1}","u":"text"}"#;

    fn one(path: &str) -> Result<String, String> {
        let found = value(Zeroizing::new(TYPES.as_bytes().to_vec()), path).map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(found.expose()).into_owned())
    }

    #[test]
    fn each_type_becomes_text() {
        for (path, text) in [
            ("$.id", "9007199254740993"),
            ("$.rate", "12.75"),
            ("$.big", "1000"),
            ("$.on", "true"),
            ("$.gone", ""),
            ("$.none", ""),
            ("$.o", r#"{"a":"\u003cb\u003e\u0026","z":1}"#),
            ("$.l", "x"),
        ] {
            assert_eq!(one(path).as_deref(), Ok(text), "{path}");
        }
        assert_eq!(one("").as_deref(), Ok(TYPES));
        assert_eq!(one("$.e"), Err("filter worked but didn't get any result".to_owned()));
        assert_eq!(
            one("$.nope"),
            Err("failed to get response path $.nope: unknown key nope".to_owned())
        );
    }

    #[test]
    fn a_map_needs_an_object() {
        let keys = |path: &str| map(TYPES.as_bytes(), path).map(|data| data.into_keys().collect::<Vec<_>>());
        assert_eq!(keys("$.o").unwrap(), ["a", "z"]);
        assert_eq!(keys("$.t").unwrap(), ["k"]);
        for (path, error) in [
            ("$.l", "failed to get response (wrong type: []interface {})"),
            ("$.id", "failed to get response (wrong type: float64)"),
            ("$.gone", "failed to get response (wrong type: <nil>)"),
            (
                "$.u",
                "failed to parse response json from jsonpath: invalid character 'e' in literal true (expecting 'r')",
            ),
        ] {
            assert_eq!(keys(path).unwrap_err().to_string(), error);
        }
        let plain = map(b"just-text", "").unwrap_err().to_string();
        assert_eq!(
            plain,
            "failed to parse response json: invalid character 'j' looking for beginning of value"
        );
    }
}
