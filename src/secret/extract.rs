//! One value, or a map of values, out of a secret's JSON text: the rules providers share.
//!
//! Two rules for the members of an object. *Raw* (fake, AWS, GCP, Azure, Doppler, Infisical, CRD, Akeyless): a string
//! is decoded, anything else keeps its bytes. *Any* (Vault, OpenBao, webhook): everything is read and written again, so
//! numbers pass through a 64-bit float.

use crate::lang::gjson;
use crate::lang::gojson::{self, Escape, JsonError, Shortest, Value};
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// The type ESO unmarshals an object into under the raw rule, as its errors name it.
pub const RAW_MAP: &str = "map[string]json.RawMessage";
/// The type under the any rule.
pub const ANY_MAP: &str = "map[string]interface {}";

/// Values by key.
pub type Values = BTreeMap<String, Zeroizing<Vec<u8>>>;

/// In which order a property is tried as a path and as the name of one member with dots in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dots {
    /// As a path only (fake, GitLab, Infisical, CRD).
    Path,
    /// As one name if it has dots, then as a path (AWS, Akeyless).
    NameFirst,
    /// As [`Dots::NameFirst`], but a property that begins with a dot is a path only (GCP).
    NameFirstUnlessLeading,
    /// As a path, then as one name (Azure).
    PathFirst,
}

/// What `property` finds in a secret's text; nothing if it does not exist. `null` exists and is empty.
#[must_use]
pub fn property(json: &[u8], property: &str, dots: Dots) -> Option<Zeroizing<Vec<u8>>> {
    let path = || gjson::get(json, property.as_bytes()).map(|found| found.text());
    let name = || {
        let escaped = gjson::escape_dots(property);
        gjson::get(json, escaped.as_bytes()).map(|found| found.text())
    };
    match dots {
        Dots::NameFirst if property.contains('.') => name().or_else(path),
        Dots::NameFirstUnlessLeading if property.find('.').is_some_and(|at| at > 0) => name().or_else(path),
        Dots::PathFirst => path().or_else(name),
        _ => path(),
    }
}

/// The members of an object by the raw rule. `null` as a value is empty; `null` as the whole has no members.
///
/// # Errors
/// Go's text for what is not JSON or not an object.
pub fn raw_map(json: &[u8]) -> Result<Values, JsonError> {
    let members = gojson::raw_object(json, RAW_MAP)?;
    Ok(members.into_iter().map(|(name, raw)| (name, raw_value(raw))).collect())
}

fn raw_value(raw: &[u8]) -> Zeroizing<Vec<u8>> {
    match raw.first() {
        Some(b'"') => Zeroizing::new(gojson::decode_string(raw).as_bytes().to_vec()),
        Some(b'n') => Zeroizing::new(Vec::new()),
        _ => Zeroizing::new(raw.to_vec()),
    }
}

/// The members of an object by the any rule.
///
/// # Errors
/// Go's text for what is not JSON or not an object.
pub fn any_map(json: &[u8]) -> Result<Values, JsonError> {
    match gojson::parse(json)? {
        Value::Null => Ok(Values::new()),
        Value::Object(members) => Ok(members
            .iter()
            .map(|(name, value)| (name.clone(), any_value(value)))
            .collect()),
        _ => Err(JsonError::Type {
            found: gojson::kind(json).to_owned(),
            wanted: ANY_MAP,
        }),
    }
}

/// A value by the any rule: text as it is, containers as JSON with `<`, `>`, `&` escaped, numbers without exponent,
/// `null` empty.
#[must_use]
pub fn any_value(value: &Value) -> Zeroizing<Vec<u8>> {
    match value {
        Value::Null => Zeroizing::new(Vec::new()),
        Value::Bool(value) => Zeroizing::new(value.to_string().into_bytes()),
        Value::Number(number) => Zeroizing::new(Shortest::of(*number).plain().into_bytes()),
        Value::NumberText(text) | Value::String(text) => Zeroizing::new(text.as_bytes().to_vec()),
        Value::Array(_) | Value::Object(_) => value.to_json(Escape::Html),
    }
}

/// A Secret's data as one JSON object of texts, as a kubernetes store gives it without `property`: keys sorted, `<`,
/// `>`, `&` as they are, one `\ufffd` per byte that is not UTF-8.
#[must_use]
pub fn object_of_texts<V: AsRef<[u8]>>(data: &BTreeMap<String, V>) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(vec![b'{']);
    for (i, (key, value)) in data.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        gojson::write_string(&mut out, key.as_bytes(), Escape::Plain);
        out.push(b':');
        gojson::write_string(&mut out, value.as_ref(), Escape::Plain);
    }
    out.push(b'}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &[u8] = br#"{"a":{"b":"path"},"a.b":"name",".x":"dot","n":null,"num":1.50,"big":9007199254740993,
        "o":{ "z": 1, "h":"<&>"},"s":"t\u00e9","t":true,"l":[ 1,2 ]}"#;

    fn find(name: &str, dots: Dots) -> Option<String> {
        property(JSON, name, dots).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn dots_are_a_path_or_part_of_a_name() {
        let cases = [
            ("a.b", Dots::Path, Some("path")),
            ("a.b", Dots::NameFirst, Some("name")),
            ("a.b", Dots::NameFirstUnlessLeading, Some("name")),
            ("a.b", Dots::PathFirst, Some("path")),
            (".x", Dots::NameFirst, Some("dot")),
            (".x", Dots::NameFirstUnlessLeading, None),
            (".x", Dots::PathFirst, Some("dot")),
            ("n", Dots::Path, Some("")),
            ("num", Dots::NameFirst, Some("1.5")),
            ("missing", Dots::PathFirst, None),
        ];
        for (name, dots, want) in cases {
            assert_eq!(find(name, dots).as_deref(), want, "{name} {dots:?}");
        }
    }

    fn texts(values: &Values) -> Vec<(&str, &str)> {
        values
            .iter()
            .map(|(key, value)| (key.as_str(), std::str::from_utf8(value).unwrap()))
            .collect()
    }

    #[test]
    fn raw_members_keep_their_bytes_and_any_members_are_written_again() {
        let raw = raw_map(JSON).unwrap();
        let any = any_map(JSON).unwrap();
        let both = |key: &str| {
            let text = |values: &Values| String::from_utf8(values[key].to_vec()).unwrap();
            (text(&raw), text(&any))
        };
        let pair = |raw: &str, any: &str| (raw.to_owned(), any.to_owned());
        assert_eq!(both("num"), pair("1.50", "1.5"));
        assert_eq!(both("big"), pair("9007199254740993", "9007199254740992"));
        assert_eq!(
            both("o"),
            pair(r#"{ "z": 1, "h":"<&>"}"#, r#"{"h":"\u003c\u0026\u003e","z":1}"#)
        );
        assert_eq!(both("l"), pair("[ 1,2 ]", "[1,2]"));
        assert_eq!(both("n"), pair("", ""));
        assert_eq!(both("s"), pair("té", "té"));
        assert_eq!(both("t"), pair("true", "true"));
    }

    #[test]
    fn what_is_no_object_is_refused_in_gos_words() {
        let raw = |json: &[u8]| raw_map(json).unwrap_err().to_string();
        assert_eq!(
            raw(b"[1]"),
            "json: cannot unmarshal array into Go value of type map[string]json.RawMessage"
        );
        assert_eq!(raw(b"x"), "invalid character 'x' looking for beginning of value");
        assert_eq!(raw(b""), "unexpected end of JSON input");
        assert!(texts(&raw_map(b" null ").unwrap()).is_empty());
        let any = any_map(b"\"s\"").unwrap_err().to_string();
        assert_eq!(
            any,
            "json: cannot unmarshal string into Go value of type map[string]interface {}"
        );
        assert_eq!(texts(&raw_map(br#"{"a":1,"a":"2"}"#).unwrap()), [("a", "2")]);
    }

    #[test]
    fn data_becomes_one_object() {
        let data = BTreeMap::from([("b".to_owned(), b"<\xe2\x82>".to_vec()), ("a".to_owned(), Vec::new())]);
        assert_eq!(object_of_texts(&data).as_slice(), br#"{"a":"","b":"<\ufffd\ufffd>"}"#);
    }
}
