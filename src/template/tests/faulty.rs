//! Twelve faulty templates: each error names key, line, column and, where there is one, the remedy.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::{Counter, surroundings};
use crate::template::{
    Blueprint, Delimiters, ManagedKeys, Origin, RenderInput, SecretMap, SourceItem, SourceRef, Sources, TemplateError,
    TemplateFrom, TextMap, render,
};

const SECRET: &str = "s3cr3t-value";

fn fetched() -> SecretMap {
    let pairs = [("user", "bob"), ("password", SECRET), ("tls-crt", "PEM"), ("json", "{\"port\":5432}")];
    pairs.iter().map(|(key, value)| ((*key).to_owned(), Zeroizing::new(value.as_bytes().to_vec()))).collect()
}

fn fault(blueprint: &Blueprint, sources: &Sources) -> TemplateError {
    let none = TextMap::new();
    let result = render(
        &RenderInput {
            fetched: &fetched(),
            blueprint: Some(blueprint),
            labels: &none,
            annotations: &none,
            sources,
            existing: None,
            managed: &ManagedKeys::default(),
            keep_existing_data: false,
            delimiters: &Delimiters::default(),
        },
        surroundings(&mut Counter(1)),
    );
    let error = result.expect_err("the template is faulty");
    let shown = format!("{error} {error:?} {}", error.hint.as_deref().unwrap_or_default());
    assert!(!shown.contains(SECRET), "a fetched value is shown: {shown}");
    error
}

fn data(key: &str, text: &str) -> Blueprint {
    Blueprint { data: BTreeMap::from([(key.to_owned(), text.to_owned())]), ..Blueprint::default() }
}

/// Where, what, and the hint.
fn check(error: &TemplateError, key: &str, line: usize, column: usize, message: &str, hint: Option<&str>) {
    assert_eq!(error.key.as_deref(), Some(key), "{error}");
    assert_eq!((error.line, error.column), (Some(line), Some(column)), "{error}");
    assert!(error.message.contains(message), "{error}");
    match hint {
        Some(hint) => assert!(error.hint.as_deref().is_some_and(|text| text.contains(hint)), "{:?}", error.hint),
        None => assert_eq!(error.hint, None),
    }
}

fn in_data(key: &str, text: &str) -> TemplateError {
    let error = fault(&data(key, text), &Sources::default());
    assert_eq!(error.origin, Some(Origin::Data));
    error
}

#[test]
fn absent_key() {
    let error = in_data("app.conf", "user = {{ .user }}\npass = {{ .pasword }}\n");
    check(&error, "app.conf", 2, 11, "map has no entry for key \"pasword\"", Some("did you mean .password"));
    assert_eq!(
        error.to_string(),
        "template.data, key app.conf, line 2, column 11: map has no entry for key \"pasword\""
    );
}

#[test]
fn hyphenated_key() {
    let error = in_data("tls.crt", "# bundle\n  {{ .tls-crt }}");
    check(&error, "tls.crt", 2, 10, "bad character U+002D", Some("index . \"tls-crt\""));
}

#[test]
fn unknown_function() {
    let error = in_data("raw", "{{ .user | base64decode }}");
    check(&error, "raw", 1, 12, "function \"base64decode\" not defined", Some("b64dec"));
}

#[test]
fn unclosed_action() {
    let error = in_data("url", "a\nb {{ .user");
    check(&error, "url", 2, 11, "unclosed action", Some("}}"));
}

#[test]
fn missing_end() {
    let error = in_data("cond", "{{ if .user }}\nyes");
    check(&error, "cond", 2, 4, "unexpected EOF", Some("{{ end }}"));
}

#[test]
fn wrong_argument_type() {
    let error = in_data("pad", "žluť {{ repeat (add 1 2) .user }}");
    check(&error, "pad", 1, 23, "expected int; got int64", Some("(int …)"));
}

#[test]
fn wrong_argument_count() {
    let error = in_data("name", "{{ .user | upper \"x\" }}");
    check(&error, "name", 1, 12, "wrong number of args for upper: want 1 got 2", None);
}

#[test]
fn failing_function_hides_its_text() {
    let error = in_data("guard", "\n\n{{ fail .password }}");
    check(&error, "guard", 3, 4, "error calling fail: ", None);
    assert!(error.go_text().contains(SECRET));
}

#[test]
fn dict_function_on_the_root() {
    let error = in_data("probe", "{{ if hasKey . \"user\" }}y{{ end }}");
    check(&error, "probe", 1, 14, "got map[string]string", Some("index . \"name\""));
}

#[test]
fn comparison_of_unlike_types() {
    let error = in_data("port", "x{{ $j := fromJson .json }}{{ if eq $j.port \"5432\" }}y{{ end }}");
    check(&error, "port", 1, 34, "incompatible types for comparison: float64 and string", Some("toString"));
}

#[test]
fn fault_in_a_configmap_item() {
    let item = SourceItem { key: "app.yaml".to_owned(), ..SourceItem::default() };
    let source = SourceRef { name: "tpl".to_owned(), items: vec![item] };
    let blueprint = Blueprint {
        template_from: vec![TemplateFrom { config_map: Some(source), ..TemplateFrom::default() }],
        ..Blueprint::default()
    };
    let text = "a: 1\nb: {{ range .user }}x{{ end }}\n".to_owned();
    let maps = BTreeMap::from([("tpl".to_owned(), BTreeMap::from([("app.yaml".to_owned(), text)]))]);
    let error = fault(&blueprint, &Sources { config_maps: maps, ..Sources::default() });
    assert_eq!(error.origin, Some(Origin::ConfigMap("tpl".to_owned())));
    check(&error, "app.yaml", 2, 13, "range can't iterate over a value of type string", None);
}

#[test]
fn fault_in_a_secret_item_hides_the_text_of_the_template() {
    let item = SourceItem { key: "conf".to_owned(), ..SourceItem::default() };
    let source = SourceRef { name: "tpl".to_owned(), items: vec![item] };
    let blueprint = Blueprint {
        template_from: vec![TemplateFrom { secret: Some(source), ..TemplateFrom::default() }],
        ..Blueprint::default()
    };
    let text = format!("{{{{ repeat \"{SECRET}\" .user }}}}");
    let data = SecretMap::from([("conf".to_owned(), Zeroizing::new(text.into_bytes()))]);
    let secrets = BTreeMap::from([("tpl".to_owned(), data)]);
    let error = fault(&blueprint, &Sources { secrets, ..Sources::default() });
    assert_eq!(error.origin, Some(Origin::Secret("tpl".to_owned())));
    check(&error, "conf", 1, 11, "expected integer", None);
}
