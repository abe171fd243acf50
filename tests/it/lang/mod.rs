//! The small languages against the Go libraries they follow: one table per language, in `tests/fixtures/lang`.
//!
//! A table holds cases and the answers of the Go library (`want`). One test compares ours with the table; a second one
//! runs the Go program in `tests/go/lang` over the same cases and so proves that the table itself is right.

mod fuzz;
mod ours;

use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The cases of a table and the answers it records.
fn table(language: &str) -> (Vec<Value>, Vec<Value>) {
    let path: PathBuf = root().join("tests/fixtures/lang").join(format!("{language}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    rows.into_iter()
        .map(|mut row| (row["case"].take(), row["want"].take()))
        .unzip()
}

/// What the Go program answers to the cases.
fn go_answers(language: &str, cases: &[Value]) -> Vec<Value> {
    let mut child = Command::new("go")
        .args(["run", ".", language])
        .current_dir(root().join("tests/go/lang"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command go must be in PATH: these tables are checked against Go's own libraries");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let input = serde_json::to_vec(cases).expect("cases are JSON");
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("go run ends");
    writer
        .join()
        .expect("the writer does not panic")
        .expect("go reads all cases");
    assert!(output.status.success(), "go run failed; its reason is above");
    serde_json::from_slice(&output.stdout).expect("answers are JSON")
}

/// Equal, or one of the answers `among` which Go chooses at random.
fn agree(ours: &Value, theirs: &Value) -> bool {
    let Some(among) = theirs["among"].as_array() else {
        return ours == theirs;
    };
    ours["type"] == theirs["type"] && among.contains(&ours["value"])
}

#[track_caller]
fn compare(cases: &[Value], ours: &[Value], theirs: &[Value], at_least: usize) {
    assert!(cases.len() >= at_least, "the table shrank to {} cases", cases.len());
    assert_eq!(cases.len(), theirs.len());
    let different: Vec<String> = cases
        .iter()
        .zip(ours.iter().zip(theirs))
        .filter(|(_, (ours, theirs))| !agree(ours, theirs))
        .map(|(case, (ours, theirs))| format!("{case}\n  ours {ours}\n  Go   {theirs}"))
        .collect();
    assert!(
        different.is_empty(),
        "{} differ:\n{}",
        different.len(),
        different.join("\n")
    );
}

fn matches_table(language: &str, at_least: usize) {
    let (cases, want) = table(language);
    let ours: Vec<Value> = cases.iter().map(|case| ours::answer(language, case)).collect();
    compare(&cases, &ours, &want, at_least);
}

fn matches_go(language: &str, at_least: usize) {
    let (cases, want) = table(language);
    compare(&cases, &want, &go_answers(language, &cases), at_least);
}

macro_rules! languages {
    ($($name:ident $table:ident $go:ident $at_least:literal)*) => {$(
        #[test]
        fn $table() {
            matches_table(stringify!($name), $at_least);
        }

        #[test]
        fn $go() {
            matches_go(stringify!($name), $at_least);
        }
    )*};
}

languages! {
    regexp lang_table_regexp lang_matches_go_regexp 400
    classes lang_table_classes lang_matches_go_classes 150
    gojson lang_table_gojson lang_matches_go_gojson 250
    float lang_table_float lang_matches_go_float 150
    duration lang_table_duration lang_matches_go_duration 150
    gjson lang_table_gjson lang_matches_go_gjson 400
    jsonpath lang_table_jsonpath lang_matches_go_jsonpath 250
    cron lang_table_cron lang_matches_go_cron 250
    base64 lang_table_base64 lang_matches_go_base64 150
}
