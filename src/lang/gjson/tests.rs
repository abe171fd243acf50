//! What the table does not show: limits of our own, and that nothing leaks.

use super::*;

fn text(json: &str, path: &str) -> Option<String> {
    get(json.as_bytes(), path.as_bytes()).map(|found| String::from_utf8(found.text().to_vec()).unwrap())
}

#[test]
fn null_is_found_and_empty() {
    assert_eq!(text(r#"{"a":null}"#, "a").as_deref(), Some(""));
    assert_eq!(text(r#"{"a":null}"#, "b"), None);
}

#[test]
fn values_are_not_shown_by_debug() {
    let found = get(br#"{"a":"hunter2"}"#, b"a").unwrap();
    assert_eq!(format!("{found:?}"), "Found(String)");
}

#[test]
fn dots_can_be_made_part_of_a_name() {
    assert_eq!(escape_dots("a.b.c"), r"a\.b\.c");
    assert_eq!(text(r#"{"a.b":1}"#, &escape_dots("a.b")).as_deref(), Some("1"));
}

#[test]
fn bytes_that_are_not_utf_8_are_kept() {
    let found = get(b"{\"a\":\"\xff\xfe\"}", b"a").unwrap();
    assert_eq!(found.text().as_slice(), b"\xff\xfe");
    assert_eq!(found.raw(), b"\"\xff\xfe\"");
}

#[test]
fn paths_beyond_the_limits_find_nothing() {
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let path = |n: usize| vec!["0"; n].join(".");
    assert!(text(&deep, &path(200)).is_some());
    assert_eq!(text(&deep, &path(300)), None);
    // each step doubles the text
    assert_eq!(text(r#""\"""#, &["@tostr"; 40].join("|")), None);
    assert_eq!(text(&deep, "@pretty"), None);
}
