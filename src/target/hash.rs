//! The hashes ESO writes into objects, and the names it writes under.
//!
//! A hash is the lower-case hex of SHA3-224 over the text Go prints for a value with `%+v`. Nothing is quoted or escaped
//! in that text, so different values can share it; that is ESO's choice, and the hashes must be the same.

use crate::lang::gojson::{Shortest, Value};
use crate::lang::number::parse_float;
use sha3::{Digest, Sha3_224};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use zeroize::{Zeroize, Zeroizing};

/// What every field manager name of ESO starts with.
const MANAGER_PREFIX: &str = "externalsecrets.external-secrets.io/";
/// Bytes a field manager name may have before the object's name in it is hashed.
const MANAGER_LIMIT: usize = 63;

/// The hash of a text.
#[must_use]
pub fn of_text(text: &str) -> String {
    hex(&Sha3_224::digest(text.as_bytes()))
}

/// The hash of a Secret's data: annotation `reconcile.external-secrets.io/data-hash`.
#[must_use]
pub fn of_data<V: AsRef<[u8]>>(data: &BTreeMap<String, V>) -> String {
    // fed piece by piece, so that no text with every value in it comes to be
    let mut hasher = Sha3_224::new();
    hasher.update(b"map[");
    for (i, (key, value)) in data.iter().enumerate() {
        if i > 0 {
            hasher.update(b" ");
        }
        hasher.update(key.as_bytes());
        hasher.update(b":[");
        for (i, byte) in value.as_ref().iter().enumerate() {
            if i > 0 {
                hasher.update(b" ");
            }
            update_decimal(&mut hasher, *byte);
        }
        hasher.update(b"]");
    }
    hasher.update(b"]");
    hex(&hasher.finalize())
}

fn update_decimal(hasher: &mut Sha3_224, byte: u8) {
    let mut digits = [b'0' + byte / 100, b'0' + byte / 10 % 10, b'0' + byte % 10];
    let skip = usize::from(byte < 100) + usize::from(byte < 10);
    hasher.update(&digits[skip..]);
    digits.zeroize();
}

/// The hash of any part of an object (a manifest target's `spec` or `data`).
///
/// Numbers must be read with [`crate::lang::gojson::Numbers::Text`]: one spelled as an integer within 64 bits is printed
/// as it is, any other as a float.
#[must_use]
pub fn of_value(value: &Value) -> String {
    let mut text = Zeroizing::new(String::new());
    push_value(&mut text, value);
    of_text(&text)
}

fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::NumberText(number) => match number.parse::<i64>() {
            Ok(integer) => write!(out, "{integer}").expect("writing to a string cannot fail"),
            Err(_) => out.push_str(&Shortest::of(parse_float(number).unwrap_or(f64::NAN)).general()),
        },
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { " " } else { "" });
                push_value(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push_str("map[");
            for (i, (name, member)) in members.iter().enumerate() {
                out.push_str(if i > 0 { " " } else { "" });
                out.push_str(name);
                out.push(':');
                push_value(out, member);
            }
            out.push(']');
        }
        scalar => out.push_str(&scalar.print()),
    }
}

/// The hash of an object's annotations and labels.
#[must_use]
pub fn of_metadata(annotations: &BTreeMap<String, String>, labels: &BTreeMap<String, String>) -> String {
    of_text(&format!(
        "{{annotations:{} labels:{}}}",
        printed_map(annotations),
        printed_map(labels)
    ))
}

fn printed_map(map: &BTreeMap<String, String>) -> String {
    let entries: Vec<String> = map.iter().map(|(key, value)| format!("{key}:{value}")).collect();
    format!("map[{}]", entries.join(" "))
}

/// `status.syncedResourceVersion`: the generation and the hash of all annotations and labels.
#[must_use]
pub fn synced_resource_version(
    generation: i64,
    annotations: &BTreeMap<String, String>,
    labels: &BTreeMap<String, String>,
) -> String {
    format!("{generation}-{}", of_metadata(annotations, labels))
}

/// The label `reconcile.external-secrets.io/created-by` of what an ExternalSecret owns.
#[must_use]
pub fn created_by(namespace: &str, name: &str) -> String {
    of_text(&format!("{namespace}/{name}"))
}

/// The label `generators.external-secrets.io/owner-key` of the state of the generator in `spec.dataFrom[index]`.
#[must_use]
pub fn generator_owner_key(kind: &str, namespace: &str, name: &str, index: usize) -> String {
    of_text(&format!("{kind}-{namespace}-{name}-{index}"))
}

/// The field manager under which the target of the ExternalSecret `name` is written. A name with which it would be
/// longer than 63 bytes is hashed.
#[must_use]
pub fn field_manager(name: &str) -> String {
    if MANAGER_PREFIX.len() + name.len() > MANAGER_LIMIT {
        return format!("{MANAGER_PREFIX}sha3/{}", of_text(name));
    }
    format!("{MANAGER_PREFIX}{name}")
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            write!(out, "{byte:02x}").expect("writing to a string cannot fail");
            out
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::gojson::{Numbers, parse_with};

    fn data(entries: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        entries
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
            .collect()
    }

    fn texts(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn data_hashes_are_the_recorded_ones() {
        let cases: [(&[(&str, &str)], &str); 4] = [
            (
                &[("foo", "bar")],
                "f2a604b87eb0cf673761e8cfea850f901fe73a3d1b2f338802107f36",
            ),
            (&[], "74a974446e359fb3e6baff9bd0058950e6edd0f040888d9989b0a11b"),
            (
                &[("a", "1"), ("b", "")],
                "0aa55b6c44e6a96f258c9659ee931b6e6b32edab8fc310b51f47ccae",
            ),
            (
                &[("foo", "value1"), ("bar", "value2")],
                "1bed8bcbcb4547ffe19a19cd47d9078e84aa6598266d86b99f992d64",
            ),
        ];
        for (entries, want) in cases {
            assert_eq!(of_data(&data(entries)), want, "{entries:?}");
        }
    }

    #[test]
    fn every_byte_is_hashed_in_decimal() {
        let all: Vec<u8> = (0..=255).collect();
        let printed: Vec<String> = all.iter().map(u8::to_string).collect();
        let text = format!("map[k:[{}]]", printed.join(" "));
        assert_eq!(of_data(&BTreeMap::from([("k".to_owned(), all)])), of_text(&text));
    }

    #[test]
    fn metadata_owner_and_manager_hashes_are_the_recorded_ones() {
        let none = BTreeMap::new();
        let empty = "f47fe3c0b255b6dd8047cdffa772587bb829efe7a1cb70febeda2eb2";
        assert_eq!(of_metadata(&none, &none), empty);
        assert_eq!(synced_resource_version(1, &none, &none), format!("1-{empty}"));
        assert_eq!(
            of_metadata(&texts(&[("a", "b")]), &texts(&[("c", "d")])),
            "ef8f394a4393cba0a3a22821d0424dac1b5e2d510b6ff0fcea11f098"
        );
        assert_eq!(
            of_metadata(&texts(&[("a", "1")]), &texts(&[("b", "3"), ("z", "2")])),
            "27d93a57ff1438abd720b01f16f07cf4131121862efed2c21f3cf517"
        );
        assert_eq!(
            generator_owner_key("ExternalSecret", "default", "app", 0),
            "b2525142251e7c834354468f1c92292c104d1764e59e1f55a6c252ea"
        );
        assert_eq!(
            of_text("PushSecret-default-app-__pushsecret"),
            "08bb15cd891335da49dbb2e15af6e9850cfb6ff7ee0e3133bdb99081"
        );
        assert_eq!(
            created_by("default", "my-es"),
            "b8464376b5fe3535e690594280bfe59b60be2603cb6cbb6d6c8bcbb4"
        );
        assert_eq!(
            field_manager("my-external-secret-with-a-long-name"),
            "externalsecrets.external-secrets.io/sha3/b6c2bd04c7e479c040f710b3e79ba36ce1c25c60622eaa013051921e"
        );
    }

    #[test]
    fn a_manager_of_63_bytes_is_the_last_in_plain_text() {
        let name = "n".repeat(27);
        assert_eq!(
            field_manager(&name),
            format!("externalsecrets.external-secrets.io/{name}")
        );
        assert!(field_manager(&"n".repeat(28)).starts_with("externalsecrets.external-secrets.io/sha3/"));
    }

    #[test]
    fn parts_of_objects_print_as_go_prints_them() {
        let json = br#"{"n":null,"i":7,"f":1.0,"big":1000000.5,"b":true,"l":["a",2,[]],"o":{"z":"x y","a":{}},"e":""}"#;
        let value = parse_with(json, Numbers::Text).unwrap();
        let text = "map[b:true big:1.0000005e+06 e: f:1 i:7 l:[a 2 []] n:<nil> o:map[a:map[] z:x y]]";
        assert_eq!(of_value(&value), of_text(text));
        assert_eq!(of_value(&Value::Object(BTreeMap::new())), of_data(&data(&[])));
    }
}
