//! What the tables do not show.

use super::*;

#[test]
fn values_are_not_shown_by_debug() {
    let value = parse(br#"{"password":"hunter2"}"#).unwrap();
    assert_eq!(format!("{value:?}"), "Value(map[string]interface {})");
}

#[test]
fn numbers_keep_their_spelling_if_asked() {
    let value = parse_with(br#"{"a":1.50,"b":[1e3]}"#, Numbers::Text).unwrap();
    assert_eq!(value.to_json(Escape::Plain).as_slice(), br#"{"a":1.50,"b":[1e3]}"#);
    assert_eq!(parse(b"1.50").unwrap().to_json(Escape::Plain).as_slice(), b"1.5");
    // beyond a float, but still a number
    assert!(parse(b"1e999").is_err() && parse_with(b"1e999", Numbers::Text).is_ok());
}

#[test]
fn arrays_can_be_taken_raw() {
    let elements = raw_array(br#" [ {"a": 1} ,2,"x" ] "#, "[]json.RawMessage").unwrap();
    assert_eq!(elements, [br#"{"a": 1}"#.as_slice(), b"2", br#""x""#]);
    assert!(raw_array(b"null", "").unwrap().is_empty());
    let e = raw_array(b"{}", "[]json.RawMessage").unwrap_err().to_string();
    assert_eq!(
        e,
        "json: cannot unmarshal object into Go value of type []json.RawMessage"
    );
}

#[test]
fn nesting_is_limited() {
    let nested = |n: usize| [b"[".repeat(n), b"]".repeat(n)].concat();
    assert!(validate(&nested(10_000)).is_ok());
    let e = validate(&nested(10_001)).unwrap_err().to_string();
    assert_eq!(e, "invalid character '[' exceeded max depth");
    assert!(parse(&nested(1_000)).is_ok());
    assert_eq!(parse(&nested(2_000)).unwrap_err().to_string(), "exceeded max depth");
}

#[test]
fn go_prints_values_without_quotes() {
    let value = parse(br#"{"b":[1,"x y",null],"a":{"t":true},"f":1e6}"#).unwrap();
    assert_eq!(value.print().as_str(), "map[a:map[t:true] b:[1 x y <nil>] f:1e+06]");
}
