//! Names inside URLs and label selectors, checked as client-go checks them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::cluster::go_error::ApiFailure;

/// `name` as one segment of a path, or client-go's refusal.
pub fn object_segment(name: &str) -> Result<String, ApiFailure> {
    if name.is_empty() {
        return Err(ApiFailure::local("resource name may not be empty"));
    }
    let problems = segment_problems(name);
    if problems.is_empty() {
        Ok(path_escape(name))
    } else {
        Err(ApiFailure::local(format!(
            "invalid resource name {name:?}: [{}]",
            problems.join(" ")
        )))
    }
}

/// A namespace goes into paths as it is, so it must be a name.
pub fn check_namespace(namespace: &str) -> Result<(), ApiFailure> {
    let problems = segment_problems(namespace);
    if problems.is_empty() && crate::api::name::check_label(namespace).is_ok() {
        return Ok(());
    }
    let problems = if problems.is_empty() {
        "must be a DNS label".to_owned()
    } else {
        problems.join(" ")
    };
    Err(ApiFailure::local(format!(
        "invalid namespace {namespace:?}: [{problems}]"
    )))
}

fn segment_problems(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"]
        .into_iter()
        .filter(|part| name.contains(part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

fn path_escape(name: &str) -> String {
    escape(name, |byte| {
        byte.is_ascii_alphanumeric() || b"-_.~$&+:=@".contains(&byte)
    })
}

/// Go's `url.QueryEscape`.
pub fn query_escape(text: &str) -> String {
    escape(text, |byte| byte.is_ascii_alphanumeric() || b"-_.~ ".contains(&byte)).replace(' ', "+")
}

fn escape(text: &str, plain: impl Fn(u8) -> bool) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a String takes every write");
        }
    }
    out
}

const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const LABEL_NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_PREFIX: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// `a=b,c=d` for labels that are valid, else Kubernetes's text for the first that is not.
pub fn label_selector(tags: &BTreeMap<String, String>) -> Result<String, String> {
    for (key, value) in tags {
        check_label_key(key).map_err(|problem| format!("key: Invalid value: {key:?}: {problem}"))?;
        let problem = if value.len() > 63 {
            "must be no more than 63 bytes"
        } else if value.is_empty() || is_label_text(value) {
            continue;
        } else {
            LABEL_VALUE
        };
        return Err(format!("values[0][{key}]: Invalid value: {value:?}: {problem}"));
    }
    Ok(tags
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect::<Vec<_>>()
        .join(","))
}

fn check_label_key(key: &str) -> Result<(), &'static str> {
    let name = match key.split_once('/') {
        None => key,
        Some(("", _)) => return Err("prefix part must be non-empty"),
        Some((_, name)) if name.contains('/') => {
            return Err(
                "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
            );
        }
        Some((prefix, name)) => {
            if crate::api::name::check_subdomain(prefix).is_err() {
                return Err(LABEL_PREFIX);
            }
            name
        }
    };
    match name.len() {
        0 => Err("name part must be non-empty"),
        64.. => Err("name part must be no more than 63 bytes"),
        _ if is_label_text(name) => Ok(()),
        _ => Err(LABEL_NAME),
    }
}

fn is_label_text(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let ends = [text.bytes().next(), text.bytes().last()];
    text.bytes().all(inner)
        && ends
            .into_iter()
            .all(|byte| byte.is_some_and(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::{check_namespace, label_selector, object_segment, query_escape};
    use std::collections::BTreeMap;

    #[test]
    fn names_that_would_leave_their_segment_are_refused() {
        for (name, error) in [
            ("", "resource name may not be empty"),
            ("a/b", "invalid resource name \"a/b\": [may not contain '/']"),
            ("..", "invalid resource name \"..\": [may not be '..']"),
            ("a%2e", "invalid resource name \"a%2e\": [may not contain '%']"),
        ] {
            assert_eq!(object_segment(name).unwrap_err().message, error);
        }
        assert_eq!(object_segment("a b?c#d").unwrap(), "a%20b%3Fc%23d");
        assert!(
            check_namespace("a/../b").is_err() && check_namespace("").is_err() && check_namespace("team-a").is_ok()
        );
    }

    #[test]
    fn selectors_are_exact_pairs_of_valid_labels() {
        let tags = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect()
        };
        assert_eq!(
            label_selector(&tags(&[("b", ""), ("a.test/x", "1")])).unwrap(),
            "a.test/x=1,b="
        );
        assert_eq!(label_selector(&tags(&[])).unwrap(), "");
        let error = label_selector(&tags(&[("a", "not a label!")])).unwrap_err();
        assert!(
            error.starts_with("values[0][a]: Invalid value: \"not a label!\": a valid label must be"),
            "{error}"
        );
        let error = label_selector(&tags(&[("x y", "")])).unwrap_err();
        assert!(
            error.starts_with("key: Invalid value: \"x y\": name part must consist"),
            "{error}"
        );
        assert_eq!(query_escape("a.test/x=1,b="), "a.test%2Fx%3D1%2Cb%3D");
    }
}
