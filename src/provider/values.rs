//! Values and JSON between providers and secrets, byte for byte as ESO makes them.

use zeroize::Zeroizing;

use super::ProviderError;
use crate::api::external_secret::{ConversionStrategy, Find};
use crate::lang::gojson::{self, Escape, JsonError, Shortest, Value};
use crate::lang::regexp::Regexp;
use crate::lang::unicode::{is_letter, is_number};
use crate::secret::{SecretData, SecretValue};

/// A JSON object of texts; each byte that is not UTF-8 becomes `\ufffd`. `<`, `>` and `&` stay.
pub fn json_of_texts<'a>(entries: impl Iterator<Item = (&'a str, &'a [u8])>) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(vec![b'{']);
    for (index, (key, value)) in entries.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        gojson::write_string(&mut out, key.as_bytes(), Escape::Plain);
        out.push(b':');
        gojson::write_string(&mut out, value, Escape::Plain);
    }
    out.push(b'}');
    out
}

/// [`json_of_texts`] of a secret's data.
pub fn json_of_data(data: &SecretData) -> Zeroizing<Vec<u8>> {
    json_of_texts(data.iter().map(|(key, value)| (key.as_str(), value.expose())))
}

/// A value that owns its bytes.
pub fn secret_value(mut bytes: Zeroizing<Vec<u8>>) -> SecretValue {
    SecretValue::new(std::mem::take(&mut *bytes))
}

/// The "raw map" rule: a string gives its decoded text, `null` nothing, anything else its own bytes.
pub fn raw_map(json: &[u8]) -> Result<SecretData, JsonError> {
    let members = gojson::raw_object(json, "map[string]json.RawMessage")?;
    Ok(members.into_iter().map(|(key, raw)| (key, raw_member(raw))).collect())
}

fn raw_member(raw: &[u8]) -> SecretValue {
    match gojson::kind(raw) {
        "string" => SecretValue::new(gojson::decode_string(raw).as_bytes().to_vec()),
        "null" => SecretValue::default(),
        _ => SecretValue::new(raw.to_vec()),
    }
}

/// The "any map" rule: a string gives its text, a number its decimal form without exponent, `null` nothing, objects and
/// lists compact JSON with `<`, `>`, `&` escaped.
///
/// Whole numbers keep all their digits; ESO sends them through a 64-bit float and loses some.
pub fn any_text(value: &Value) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(match value {
        Value::Null => Vec::new(),
        Value::Bool(flag) => flag.to_string().into_bytes(),
        Value::String(text) => text.as_bytes().to_vec(),
        Value::Number(number) => Shortest::of(*number).plain().into_bytes(),
        Value::NumberText(text) => plain_number(text).into_bytes(),
        Value::Array(_) | Value::Object(_) => return go_numbers(value).to_json(Escape::Html),
    })
}

/// A number's decimal form: digits alone stay as they are written, everything else goes through a 64-bit float.
fn plain_number(text: &str) -> String {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_owned();
    }
    text.parse::<f64>()
        .map_or_else(|_| text.to_owned(), |number| Shortest::of(number).plain())
}

/// The same value with every number in the spelling a re-encoded document has: whole numbers keep their digits.
pub fn go_numbers(value: &Value) -> Value {
    match value {
        Value::NumberText(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            if digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return value.clone();
            }
            text.parse::<f64>().map_or_else(|_| value.clone(), Value::Number)
        }
        Value::Array(items) => Value::Array(items.iter().map(go_numbers).collect()),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(key, member)| (key.clone(), go_numbers(member)))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// Compiles `find.name.regexp`; ESO's text for a bad one.
pub fn name_matcher(query: &Find) -> Result<Regexp, ProviderError> {
    let Some(name) = &query.name else {
        return Err(unexpected_find(query));
    };
    Regexp::new(&name.regexp).map_err(|error| {
        ProviderError::invalid(format!("could not compile find.name.regexp [{}]: {error}", name.regexp))
    })
}

/// ESO's text for a search that names neither `name` nor `tags`: Go's `%#v` of the search.
pub fn unexpected_find(query: &Find) -> ProviderError {
    let path = query
        .path
        .as_ref()
        .map_or_else(|| "(*string)(nil)".to_owned(), |path| format!("{path:?}"));
    let tags = match &query.tags {
        None => "map[string]string(nil)".to_owned(),
        Some(tags) => {
            let pairs: Vec<_> = tags.iter().map(|(key, value)| format!("{key:?}:{value:?}")).collect();
            format!("map[string]string{{{}}}", pairs.join(", "))
        }
    };
    ProviderError::invalid(format!(
        "unexpected find operator: v1.ExternalSecretFind{{Path:{path}, Name:(*v1.FindName)(nil), Tags:{tags}, \
         ConversionStrategy:\"\", DecodingStrategy:\"\", NullBytePolicy:\"\"}}"
    ))
}

/// Changes what no Secret key may hold; two names that become one are an error that names both.
pub fn convert_keys(found: SecretData, strategy: &ConversionStrategy) -> Result<SecretData, ProviderError> {
    let mut out = SecretData::new();
    for (name, value) in found {
        let key = convert_key(&name, strategy);
        if out.contains_key(&key) {
            return Err(ProviderError::invalid(format!(
                "secret name collision during conversion: {key}"
            )));
        }
        out.insert(key, value);
    }
    Ok(out)
}

fn convert_key(name: &str, strategy: &ConversionStrategy) -> String {
    let mut key = String::with_capacity(name.len());
    for c in name.chars() {
        if is_letter(c) || is_number(c) || matches!(c, '-' | '.' | '_') {
            key.push(c);
        } else if *strategy == ConversionStrategy::Unicode {
            key.push_str(&format!("_U{:04x}_", u32::from(c)));
        } else {
            key.push('_');
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::{any_text, convert_keys, json_of_texts, raw_map, unexpected_find};
    use crate::api::external_secret::{ConversionStrategy, Find};
    use crate::lang::gojson::{Numbers, parse_with};
    use crate::secret::{SecretData, SecretValue};

    fn shown(data: &SecretData) -> Vec<(&str, String)> {
        data.iter()
            .map(|(key, value)| (key.as_str(), String::from_utf8_lossy(value.expose()).into_owned()))
            .collect()
    }

    #[test]
    fn raw_members_keep_their_own_bytes() {
        let data = raw_map(br#"{"a":"x\n","n":1.50,"o":{ "k" : 1 },"z":null,"a":"y"}"#).unwrap();
        let wanted = [("a", "y"), ("n", "1.50"), ("o", "{ \"k\" : 1 }"), ("z", "")];
        assert_eq!(shown(&data), wanted.map(|(key, value)| (key, value.to_owned())));
        assert!(
            raw_map(b"[1]")
                .unwrap_err()
                .to_string()
                .starts_with("json: cannot unmarshal array into Go value of type")
        );
    }

    #[test]
    fn any_members_become_text() {
        for (json, text) in [
            ("9007199254740993", "9007199254740993"),
            ("12.75", "12.75"),
            ("1e3", "1000"),
            ("1.50", "1.5"),
            ("true", "true"),
            ("null", ""),
            (r#""a<b""#, "a<b"),
            (r#"{"z":1,"a":"<&"}"#, r#"{"a":"\u003c\u0026","z":1}"#),
            ("[1.0, 9007199254740993]", "[1,9007199254740993]"),
        ] {
            let value = parse_with(json.as_bytes(), Numbers::Text).unwrap();
            assert_eq!(String::from_utf8_lossy(&any_text(&value)), text, "{json}");
        }
    }

    #[test]
    fn texts_are_written_as_go_writes_them() {
        let json = json_of_texts([("a", b"<\xe2\x82>".as_slice()), ("b", "\u{2028}".as_bytes())].into_iter());
        assert_eq!(String::from_utf8_lossy(&json), r#"{"a":"<\ufffd\ufffd>","b":"\u2028"}"#);
    }

    #[test]
    fn names_that_meet_are_an_error() {
        let data = |names: &[&str]| -> SecretData {
            names
                .iter()
                .map(|name| ((*name).to_owned(), SecretValue::default()))
                .collect()
        };
        let converted = convert_keys(data(&["team/a", "team_b"]), &ConversionStrategy::Default).unwrap();
        assert_eq!(converted.into_keys().collect::<Vec<_>>(), ["team_a", "team_b"]);
        let error = convert_keys(data(&["team/a", "team_a"]), &ConversionStrategy::Default).unwrap_err();
        assert_eq!(error.to_string(), "secret name collision during conversion: team_a");
        let unicode = convert_keys(data(&["team/a", "team_a"]), &ConversionStrategy::Unicode).unwrap();
        assert_eq!(unicode.into_keys().collect::<Vec<_>>(), ["team_U002f_a", "team_a"]);
    }

    #[test]
    fn a_search_for_nothing_is_shown_as_go_shows_it() {
        assert_eq!(
            unexpected_find(&Find::default()).to_string(),
            "unexpected find operator: v1.ExternalSecretFind{Path:(*string)(nil), Name:(*v1.FindName)(nil), \
             Tags:map[string]string(nil), ConversionStrategy:\"\", DecodingStrategy:\"\", NullBytePolicy:\"\"}"
        );
    }
}
