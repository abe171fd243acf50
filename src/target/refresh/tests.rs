use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;

use super::{Due, LastSuccess, due, look_again, version};
use crate::api::external_secret::ExternalSecretSpec;

fn spec(value: serde_json::Value) -> ExternalSecretSpec {
    serde_json::from_value(value).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn last(version: &str, second: Option<i64>) -> LastSuccess<'_> {
    LastSuccess {
        version,
        at: second.map(at),
    }
}

#[test]
fn version_of_an_object_without_metadata() {
    assert_eq!(
        version(1, None, None),
        "1-f47fe3c0b255b6dd8047cdffa772587bb829efe7a1cb70febeda2eb2"
    );
    let annotations = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
    let labels = BTreeMap::from([("c".to_owned(), "d".to_owned())]);
    assert_eq!(
        version(3, Some(&labels), Some(&annotations)),
        "3-ef8f394a4393cba0a3a22821d0424dac1b5e2d510b6ff0fcea11f098"
    );
}

#[test]
fn periodic_rules_in_their_order() {
    let hourly = spec(json!({"refreshInterval": "1h"}));
    let zero = spec(json!({"refreshInterval": "0"}));
    let negative = spec(json!({"refreshInterval": "-5s"}));
    let now = at(10_000);
    for (spec, last, expected, why) in [
        (
            &zero,
            last("1-x", Some(1)),
            Due::No,
            "interval 0 once synced: edits do not count",
        ),
        (&negative, last("1-x", Some(1)), Due::No, "negative is as zero"),
        (&zero, last("", None), Due::Yes, "never synced"),
        (&hourly, last("1-x", Some(9_999)), Due::Yes, "changed"),
        (&hourly, last("2-x", None), Due::Yes, "no refresh time"),
        (&hourly, last("2-x", Some(10_001)), Due::Yes, "refreshed in the future"),
        (
            &hourly,
            last("2-x", Some(6_400)),
            Due::No,
            "exactly one interval is not yet",
        ),
        (&hourly, last("2-x", Some(6_399)), Due::Yes, "elapsed"),
    ] {
        assert_eq!(due(spec, last, "2-x", now), expected, "{why}");
    }
}

#[test]
fn once_and_on_change() {
    let once = spec(json!({"refreshPolicy": "CreatedOnce", "refreshInterval": "1s"}));
    let change = spec(json!({"refreshPolicy": "OnChange", "refreshInterval": "0"}));
    let now = at(10_000);
    assert_eq!(due(&once, last("1-x", Some(1)), "2-x", now), Due::No);
    assert_eq!(due(&once, last("", Some(1)), "2-x", now), Due::Yes);
    assert_eq!(due(&change, last("1-x", Some(1)), "2-x", now), Due::Yes);
    assert_eq!(due(&change, last("2-x", Some(1)), "2-x", now), Due::No);
}

#[test]
fn the_next_look_is_when_the_answer_can_change() {
    let hourly = spec(json!({"refreshInterval": "1h"}));
    let soon = look_again(&hourly, last("1-x", Some(9_000)), at(10_000), false).unwrap();
    assert_eq!(soon.as_secs(), 2600);
    assert_eq!(
        look_again(
            &spec(json!({"refreshInterval": "0s"})),
            last("1-x", Some(1)),
            at(2),
            false
        ),
        None
    );
    let closed = spec(json!({"refreshInterval": "1s", "syncWindows":
        {"kind": "allow", "windows": [{"schedule": "0 0 1 1 *", "duration": "1h"}]}}));
    assert_eq!(due(&closed, last("1-x", Some(1)), "1-x", at(10_000)), Due::HeldBack);
    assert_eq!(
        look_again(&closed, last("1-x", Some(1)), at(10_000), true)
            .unwrap()
            .as_secs(),
        3600
    );
}
