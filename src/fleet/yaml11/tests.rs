//! Values recorded from the original's reader.
use serde_json::{Value, json};

use super::{Coerce, Scalar, YamlError, differs_from_yaml_1_2, go_float_32, parse, resolve, to_json};

fn double(text: &str) -> Value {
    to_json(&parse(text).unwrap().unwrap(), Coerce::Double).unwrap()
}

#[test]
fn plain_scalars_follow_yaml_1_1() {
    for (text, value) in [
        ("yes", json!(true)),
        ("No", json!(false)),
        ("on", json!(true)),
        ("y", json!(true)),
        ("N", json!(false)),
        ("0644", json!(420)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("0b101", json!(5)),
        ("-0b11", json!(-3)),
        ("1_000", json!(1000)),
        ("1__0", json!(10)),
        ("09", json!(9)),
        ("08.5", json!(8.5)),
        ("1.0", json!(1)),
        ("1.10", json!(1.1)),
        ("1e3", json!(1000)),
        ("12345678901234567890", json!(12_345_678_901_234_567_000_u64)),
        ("9007199254740993", json!(9_007_199_254_740_992_u64)),
        ("2026-01-02", json!("2026-01-02")),
        ("190:20:30", json!("190:20:30")),
        ("1,000", json!("1,000")),
        ("0b2", json!("0b2")),
        ("_1", json!("_1")),
        ("~", Value::Null),
        ("'yes'", json!("yes")),
        ("!!str 123", json!("123")),
        ("!!int \"7\"", json!(7)),
        ("!!float 3", json!(3)),
        ("!!binary aGk=", json!("hi")),
        ("!foo bar", json!("bar")),
    ] {
        assert_eq!(double(text), value, "{text}");
    }
}

#[test]
fn keys_become_text() {
    assert_eq!(
        double("{y: 1, n: 2, 0644: 3, 1.5: 4, 1e300: 5, 2026-01-02: 6}"),
        json!({"true": 1, "false": 2, "420": 3, "1.5": 4, ".inf": 5, "2026-01-02": 6})
    );
    for text in ["{~: 1}", "{? [a] : 1}", "{18446744073709551615: 1}"] {
        assert!(
            matches!(
                to_json(&parse(text).unwrap().unwrap(), Coerce::Double),
                Err(YamlError::Key { line: 1 })
            ),
            "{text}"
        );
    }
}

#[test]
fn merges_act_where_they_stand() {
    let text = "base: &b {q: 1, r: 2}\none: {q: 5, <<: *b}\ntwo: {<<: *b, q: 5}\nthree: {<<: [*b, {r: 9, s: 1}]}\nfour: {\"<<\": 1}\n";
    assert_eq!(
        double(text),
        json!({"base": {"q": 1, "r": 2}, "one": {"q": 1, "r": 2}, "two": {"q": 5, "r": 2}, "three": {"q": 1, "r": 2, "s": 1}, "four": {"<<": 1}})
    );
    assert!(matches!(
        to_json(&parse("{<<: 5}").unwrap().unwrap(), Coerce::Double),
        Err(YamlError::Merge { .. })
    ));
}

#[test]
fn infinities_and_wrong_tags_are_refused() {
    let read = |text: &str| to_json(&parse(text).unwrap().unwrap(), Coerce::Double);
    assert!(matches!(read("a: .inf"), Err(YamlError::NotFinite { line: 1, .. })));
    assert!(matches!(read("a: !!int x"), Err(YamlError::Tag { line: 1, .. })));
    assert_eq!(resolve("3", Some("!!float")), Some(Scalar::Float(3.0)));
    assert_eq!(resolve("x", Some("!!bool")), None);
}

#[test]
fn differences_to_yaml_1_2_are_noticed() {
    for text in [
        "yes",
        "off",
        "y",
        "0644",
        "1_000",
        "0b11",
        "1.0",
        "9007199254740993",
        "12345678901234567890",
    ] {
        assert!(differs_from_yaml_1_2(text), "{text}");
    }
    for text in [
        "true",
        "5",
        "-7",
        "1.5",
        "0x1F",
        "0o17",
        "09",
        "text",
        "2026-01-02",
        "null",
        "1e-7",
    ] {
        assert!(!differs_from_yaml_1_2(text), "{text}");
    }
}

#[test]
fn aliases_and_nesting_are_bounded() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..9 {
        let before = level - 1;
        let copies = vec![format!("*a{before}"); 10].join(", ");
        bomb = format!("{bomb}a{level}: &a{level} [{copies}]\n");
    }
    assert!(matches!(parse(&bomb), Err(YamlError::TooLarge { .. })));
    assert!(parse(&"[".repeat(5_000)).is_err());
    assert!(matches!(parse("a: [1\nb: 2"), Err(YamlError::Syntax { .. })));
    assert_eq!(parse("# nothing\n").unwrap(), None);
}

#[test]
fn go_text_of_short_floats() {
    for (value, text) in [
        (1.1, "1.1"),
        (1e6, "1e+06"),
        (0.1, "0.1"),
        (16_777_217.0, "1.6777216e+07"),
        (1e-5, "1e-05"),
        (2.0, "2"),
        (123_456.0, "123456"),
    ] {
        assert_eq!(go_float_32(value), text);
    }
}
