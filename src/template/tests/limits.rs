//! Hostile templates end in an error: no crash, no hang, bounded memory.

use std::time::{Duration, Instant};

use super::Counter;
use crate::lang::gotime::Time;
use crate::template::engine::{Env, Error, Options, Template, meter, root_value};
use crate::template::SecretMap;

fn run(text: &str) -> Result<usize, Error> {
    let mut random = Counter(3);
    let mut env = Env::new(Time::from_unix(0, 0), &mut random);
    let template = Template::parse(b"out", text.as_bytes(), &Options::default())?;
    template.execute(&root_value(&SecretMap::new()), &mut env).map(|output| output.len())
}

/// Fails by a limit, soon, and leaves no value behind.
fn limited(text: &str) {
    let before = meter::live();
    let start = Instant::now();
    let error = run(text).expect_err("a limit is reached");
    assert!(error.limit, "{text}: {error}");
    assert!(start.elapsed() < Duration::from_secs(120), "{text}");
    assert_eq!(meter::live(), before, "{text}: values were left behind");
}

#[test]
fn calls_that_never_end() {
    limited("{{ define \"t\" }}{{ template \"t\" . }}{{ end }}{{ template \"t\" . }}");
    limited("{{ define \"t\" }}{{ if true }}{{ range list 1 }}{{ template \"t\" . }}{{ end }}{{ end }}{{ end }}{{ template \"t\" }}");
}

#[test]
fn a_thousand_calls_are_fine() {
    let text = "{{ define \"n\" }}{{ if gt . 0 }}x{{ template \"n\" (int (sub . 1)) }}{{ end }}{{ end }}{{ template \"n\" 5000 }}";
    assert_eq!(run(text).expect("recursion is allowed"), 5000);
}

#[test]
fn loops_that_never_end() {
    limited("{{ range 9223372036854775807 }}{{ end }}");
    limited("{{ range until 1000000000 }}{{ end }}");
    limited("{{ range untilStep 0 1000000000000 1 }}{{ end }}");
}

#[test]
fn values_that_fill_the_memory() {
    limited("{{ repeat 1000000000000 \"x\" }}");
    limited("{{ $x := \"xxxxxxxxxxxxxxxx\" }}{{ range 60 }}{{ $x = print $x $x }}{{ end }}");
    limited("{{ $x := list 1 }}{{ range 60 }}{{ $x = concat $x $x }}{{ end }}");
    limited("{{ $x := repeat 1000000 \"a\" }}{{ replace \"\" $x $x }}");
    limited("{{ $x := repeat 100000 \"a\" }}{{ regexReplaceAll \"\" $x $x }}");
    limited("{{ $x := repeat 1000000 \"a\" }}{{ wrapWith 1 $x $x }}");
    limited("{{ randAlphaNum 1000000000 }}");
    limited("{{ seq 1000000000 }}");
    limited("{{ indent 1000000000 \"a\" }}");
    limited("{{ $x := repeat 1000000 \"a\" }}{{ $l := list }}{{ range 1000 }}{{ $l = append $l $x }}{{ end }}{{ join \"\" $l }}");
}

#[test]
fn output_that_never_ends() {
    limited("{{ $x := repeat 1000000 \"a\" }}{{ range 1000 }}{{ $x }}{{ end }}");
}

#[test]
fn values_that_contain_themselves() {
    for function in ["toJson", "print", "deepCopy", "toString", "quote", "printf \"%v\""] {
        limited(&format!("{{{{ $d := dict }}}}{{{{ $_ := set $d \"d\" $d }}}}{{{{ $d | {function} }}}}"));
    }
    limited("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ $e := dict }}{{ $_ := set $e \"d\" $e }}{{ deepEqual $d $e }}");
}

#[test]
fn values_that_share_parts_grow_no_further() {
    limited("{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}");
    limited("{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}");
    limited("{{ $x := list 1 }}{{ range 60 }}{{ $x = list $x $x }}{{ end }}{{ deepCopy $x }}");
}

#[test]
fn deep_values_are_freed_without_recursion() {
    let text = "{{ $x := list 1 }}{{ range 300000 }}{{ $x = list $x }}{{ end }}{{ len $x }}";
    assert_eq!(run(text).expect("depth alone is no fault"), 1);
}

#[test]
fn deep_nesting_of_the_text() {
    let parens = format!("{{{{ {}1{} }}}}", "(".repeat(50_000), ")".repeat(50_000));
    assert!(run(&parens).expect_err("too deep").to_string().contains("max expression depth exceeded"));
    let fine = format!("{{{{ {}1{} }}}}", "(print ".repeat(99), ")".repeat(99));
    assert_eq!(run(&fine).expect("allowed"), 1);
    let blocks = format!("{}x{}", "{{ if true }}".repeat(50_000), "{{ end }}".repeat(50_000));
    assert!(run(&blocks).expect_err("too deep").to_string().contains("max expression depth exceeded"));
    let fine = format!("{}x{}", "{{ if true }}".repeat(1000), "{{ end }}".repeat(1000));
    assert_eq!(run(&fine).expect("allowed"), 1);
}
