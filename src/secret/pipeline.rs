//! What happens to a provider's answer before it becomes data: rewrite, convert, validate, decode, NUL check; the order
//! and the texts are ESO's.

use super::convert::{self, Conversion};
use super::decode::{self, Decoding};
use super::null_bytes;
use super::rewrite::{self, Merge, MergeStrategy, Operation, TemplateFault};
use super::{SecretData, SecretValue};
use crate::api::external_secret::{
    ConflictPolicy, ConversionStrategy, DecodingStrategy, Find, MergeStrategy as Strategy, NullBytePolicy,
    PriorityPolicy, RemoteRef, Rewrite,
};

/// Runs a `transform` template for a key.
pub type Transform<'t> = &'t mut dyn FnMut(&str, &str) -> Result<String, TemplateFault>;

/// The answer to a `find`.
///
/// # Errors
/// ESO's text.
pub fn find(
    found: SecretData,
    find: &Find,
    rewrite: &[Rewrite],
    transform: Transform<'_>,
) -> Result<SecretData, String> {
    let how = How {
        convert: &find.conversion_strategy,
        decode: &find.decoding_strategy,
        nulls: &find.null_byte_policy,
    };
    map(found, &how, rewrite, transform)
}

/// The answer to an `extract`.
///
/// # Errors
/// ESO's text.
pub fn extract(
    found: SecretData,
    reference: &RemoteRef,
    rewrite: &[Rewrite],
    transform: Transform<'_>,
) -> Result<SecretData, String> {
    let how = How {
        convert: &reference.conversion_strategy,
        decode: &reference.decoding_strategy,
        nulls: &reference.null_byte_policy,
    };
    map(found, &how, rewrite, transform)
}

/// The output of a generator: neither converted nor decoded.
///
/// # Errors
/// ESO's text.
pub fn generated(made: SecretData, rewrite: &[Rewrite], transform: Transform<'_>) -> Result<SecretData, String> {
    validated(rewritten(made, rewrite, transform)?)
}

/// One value of `data`: decoded and checked, its key as it is.
///
/// # Errors
/// ESO's text.
pub fn value(found: SecretValue, key: &str, reference: &RemoteRef) -> Result<SecretValue, String> {
    let strategy = &reference.decoding_strategy;
    let decoded = decoding(strategy)
        .and_then(|d| decode::value(d, found.expose()).map_err(|e| e.to_string()))
        .map_err(|e| format!("error applying decoding strategy {strategy} to data: {e}"))?;
    let value = decoded.map_or(found, |mut bytes| SecretValue::new(std::mem::take(&mut *bytes)));
    null_bytes::check(nulls(&reference.null_byte_policy), key, value.expose()).map_err(|e| e.to_string())?;
    Ok(value)
}

struct How<'a> {
    convert: &'a ConversionStrategy,
    decode: &'a DecodingStrategy,
    nulls: &'a NullBytePolicy,
}

fn map(data: SecretData, how: &How<'_>, rewrite: &[Rewrite], transform: Transform<'_>) -> Result<SecretData, String> {
    let mut data = rewritten(data, rewrite, transform)?;
    if rewrite.is_empty() {
        // ESO names the strategy as it is written: nothing, where it is left to the default.
        let shown = if *how.convert == ConversionStrategy::Default {
            ""
        } else {
            how.convert.as_str()
        };
        data = convert::keys(conversion(how.convert), data)
            .map_err(|e| format!("error applying conversion strategy {shown} to keys: {e}"))?;
    }
    let data = validated(data)?;
    let data = decoding(how.decode)
        .and_then(|d| decode::values(d, data).map_err(|e| e.to_string()))
        .map_err(|e| format!("error applying decoding strategy {} to data: {e}", how.decode))?;
    null_bytes::check_all(nulls(how.nulls), &data).map_err(|e| e.to_string())?;
    Ok(data)
}

fn rewritten(data: SecretData, rewrite: &[Rewrite], transform: Transform<'_>) -> Result<SecretData, String> {
    let operations: Vec<Operation<'_>> = rewrite.iter().filter_map(operation).collect();
    rewrite::apply(&operations, data, transform).map_err(|e| format!("error applying rewrite to keys: {e}"))
}

fn validated(data: SecretData) -> Result<SecretData, String> {
    convert::validate(data)
        .map_err(|e| format!("invalid secret keys (TIP: use rewrite or conversionStrategy to change keys): {e}"))
}

fn operation(rewrite: &Rewrite) -> Option<Operation<'_>> {
    if let Some(merge) = &rewrite.merge {
        let strategy = if merge.strategy == Strategy::JSON {
            MergeStrategy::Json { into: &merge.into }
        } else {
            MergeStrategy::Extract
        };
        return Some(Operation::Merge(Merge {
            strategy,
            ignore_conflicts: merge.conflict_policy == ConflictPolicy::Ignore,
            priority: &merge.priority,
            ignore_missing_priority: merge.priority_policy == PriorityPolicy::IgnoreNotFound,
        }));
    }
    if let Some(regexp) = &rewrite.regexp {
        return Some(Operation::Regexp {
            source: &regexp.source,
            target: &regexp.target,
        });
    }
    rewrite
        .transform
        .as_ref()
        .map(|t| Operation::Transform { template: &t.template })
}

fn conversion(strategy: &ConversionStrategy) -> Conversion {
    if *strategy == ConversionStrategy::Unicode {
        Conversion::Unicode
    } else {
        Conversion::Default
    }
}

fn decoding(strategy: &DecodingStrategy) -> Result<Decoding, String> {
    Decoding::parse(strategy.as_str()).map_err(|e| e.to_string())
}

fn nulls(policy: &NullBytePolicy) -> null_bytes::NullBytePolicy {
    if *policy == NullBytePolicy::Fail {
        null_bytes::NullBytePolicy::Fail
    } else {
        null_bytes::NullBytePolicy::Ignore
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{SecretData, extract, value};
    use crate::api::external_secret::{RemoteRef, Rewrite};
    use crate::secret::SecretValue;

    fn data(entries: &[(&str, &str)]) -> SecretData {
        entries
            .iter()
            .map(|(k, v)| ((*k).to_owned(), SecretValue::from((*v).to_owned())))
            .collect()
    }

    fn run(data: SecretData, reference: serde_json::Value, rewrite: serde_json::Value) -> Result<Vec<String>, String> {
        let reference: RemoteRef = serde_json::from_value(reference).unwrap();
        let rewrite: Vec<Rewrite> = serde_json::from_value(rewrite).unwrap();
        let mut transform = |_: &str, key: &str| Ok(format!("t-{key}"));
        extract(data, &reference, &rewrite, &mut transform).map(|d| d.into_keys().collect())
    }

    #[test]
    fn conversion_happens_only_without_a_rewrite() {
        assert_eq!(run(data(&[("a/b", "")]), json!({}), json!([])).unwrap(), ["a_b"]);
        let rewrite = json!([{"regexp": {"source": "^x", "target": "y"}}]);
        let error = run(data(&[("a/b", "")]), json!({}), rewrite).unwrap_err();
        assert!(error.starts_with("invalid secret keys (TIP: use rewrite or conversionStrategy to change keys): "));
        assert_eq!(
            run(data(&[("a", "")]), json!({}), json!([{"transform": {"template": "x"}}])).unwrap(),
            ["t-a"]
        );
    }

    #[test]
    fn a_collision_names_the_strategy_as_it_is_written() {
        let both = || data(&[("a/b", ""), ("a_b", "")]);
        let error = run(both(), json!({}), json!([])).unwrap_err();
        assert_eq!(
            error,
            "error applying conversion strategy  to keys: secret name collision during conversion: a_b"
        );
        assert_eq!(
            run(both(), json!({"conversionStrategy": "Unicode"}), json!([]))
                .unwrap()
                .len(),
            2
        );
    }

    #[test]
    fn values_are_decoded_then_checked() {
        let reference: RemoteRef =
            serde_json::from_value(json!({"decodingStrategy": "Base64", "nullBytePolicy": "Fail"})).unwrap();
        let decoded = value(SecretValue::from("YQ==".to_owned()), "k", &reference).unwrap();
        assert_eq!(decoded.expose(), b"a");
        assert!(
            value(SecretValue::from("AA==".to_owned()), "k", &reference)
                .unwrap_err()
                .contains("null bytes")
        );
        let error = value(SecretValue::from("!".to_owned()), "k", &reference).unwrap_err();
        assert_eq!(
            error,
            "error applying decoding strategy Base64 to data: illegal base64 data at input byte 0"
        );
    }
}
