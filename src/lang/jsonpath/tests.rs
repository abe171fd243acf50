//! What the table does not show: values kept out of errors, and limits of our own.

use super::*;
use crate::lang::gojson::{Escape, parse};

fn run(path: &str, json: &str) -> Result<String, String> {
    let root = parse(json.as_bytes()).unwrap();
    let value = get(path, &root).map_err(|e| e.to_string())?;
    Ok(String::from_utf8(value.to_json(Escape::Plain).to_vec()).unwrap())
}

#[test]
fn members_come_in_the_order_of_their_names() {
    let json = r#"{"b":{"k":2},"a":{"k":1}}"#;
    assert_eq!(run("$.*.k", json).unwrap(), "[1,2]");
    assert_eq!(run("$..k", json).unwrap(), "[1,2]");
}

#[test]
fn text_of_the_response_is_kept_out_of_errors() {
    let json = r#"{"s":"hunter2","l":[1],"o":{}}"#;
    assert_eq!(run("$.o[$.s]", json).unwrap_err(), "unknown key <computed>");
    let e = run("$.l[$.s]", json).unwrap_err();
    assert_eq!(
        e,
        "could not select value, invalid key: expected number but got <computed> (string)"
    );
    assert_eq!(
        run("-s", json).unwrap_err(),
        "unexpected <computed>(string) expected number"
    );
    assert_eq!(run("s[s]", json).unwrap_err(), "unknown parameter s.<computed>");
    // a key that was written in the path is shown
    assert_eq!(run(r#"$.o["x"]"#, json).unwrap_err(), "unknown key x");
}

#[test]
fn an_expression_that_never_ends_is_refused() {
    let e = run(&"(".repeat(1_000), "1").unwrap_err();
    assert!(e.ends_with("expression nests too deeply"), "{e}");
    let nested = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert_eq!(
        run(&format!("${}", "..*".repeat(20)), &nested).unwrap_err(),
        "too many matches"
    );
}
