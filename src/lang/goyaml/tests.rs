use super::*;

fn json(text: &str) -> Json {
    unmarshal_any(text.as_bytes()).expect("readable")
}

fn text_map(text: &str) -> Vec<(String, String)> {
    let entries = unmarshal_text_map(text.as_bytes()).expect("readable");
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    entries
        .into_iter()
        .map(|(key, value)| (lossy(&key), lossy(&value)))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn rewritten(json: &str) -> String {
    String::from_utf8(json_text_to_yaml(json.as_bytes()).expect("readable")).expect("UTF-8")
}

fn failure(text: &str) -> YamlError {
    parse(text.as_bytes()).expect_err("not readable")
}

#[test]
fn plain_scalars_have_yaml_1_1_types() {
    let number = |text: &str| json(text);
    assert_eq!(number("0777"), Json::Number(511.0));
    assert_eq!(number("0o17"), Json::Number(15.0));
    assert_eq!(number("0x1F"), Json::Number(31.0));
    assert_eq!(number("0b11"), Json::Number(3.0));
    assert_eq!(number("1_000"), Json::Number(1000.0));
    assert_eq!(number("089"), Json::Number(89.0));
    assert_eq!(number(".5"), Json::Number(0.5));
    assert_eq!(number("yes"), Json::Bool(true));
    assert_eq!(number("Off"), Json::Bool(false));
    assert_eq!(number("~"), Json::Null);
    for text in ["12:30", "1.2.3", "2001-01-01", "oN", "0x", "+"] {
        assert_eq!(json(text), Json::Text(text.as_bytes().to_vec().into()), "{text}");
    }
}

#[test]
fn values_for_a_text_map_become_text() {
    let text = "a: 0042\nb: yes\nc: ~\nd: 1.10\ne: 1000000.0\nf: 12345678901234567890\ng: 1e300\nh: '0042'";
    let expected = pairs(&[
        ("a", "34"),
        ("b", "true"),
        ("c", ""),
        ("d", "1.1"),
        ("e", "1e+06"),
        ("f", "12345678901234567890"),
        ("g", "+Inf"),
        ("h", "0042"),
    ]);
    assert_eq!(text_map(text), expected);
}

#[test]
fn keys_become_text() {
    let text = "yes: a\n010: b\n1.50: c\n2001-01-01: d\n'on': e";
    let expected = pairs(&[
        ("1.5", "c"),
        ("2001-01-01", "d"),
        ("8", "b"),
        ("on", "e"),
        ("true", "a"),
    ]);
    assert_eq!(text_map(text), expected);
    let null = unmarshal_text_map(b"null: s3cret").expect_err("a null key");
    assert!(
        null.text()
            .starts_with("error converting YAML to JSON: unsupported map key of type")
    );
    assert!(null.text().ends_with("value: \"s3cret\""));
    assert!(!null.redacted().contains("s3cret"));
}

#[test]
fn anchors_merge_keys_and_duplicates() {
    assert_eq!(text_map("a: &x v\nb: *x"), pairs(&[("a", "v"), ("b", "v")]));
    assert_eq!(text_map("<<: {a: m, b: m}\na: own"), pairs(&[("a", "own"), ("b", "m")]));
    assert_eq!(
        text_map("a: own\n<<: [{a: first}, {a: second}]"),
        pairs(&[("a", "first")])
    );
    assert_eq!(text_map("a: 1x\na: 2x"), pairs(&[("a", "2x")]));
    assert_eq!(text_map("a: x\n---\nb: z"), pairs(&[("a", "x")]));
    assert_eq!(text_map("a: !!binary aGk="), pairs(&[("a", "hi")]));
}

#[test]
fn scalars_over_several_lines() {
    assert_eq!(text_map("a: |\n  x\n  y\n"), pairs(&[("a", "x\ny\n")]));
    assert_eq!(text_map("a: >-\n  x\n  y\n\n  z\n"), pairs(&[("a", "x y\nz")]));
    assert_eq!(text_map("a: |"), pairs(&[("a", "")]));
    assert_eq!(text_map("a: |\n  x"), pairs(&[("a", "x")]));
    assert_eq!(text_map("a: \"x\n  y\\\n  z\""), pairs(&[("a", "x yz")]));
    assert_eq!(text_map("a: x\n  y"), pairs(&[("a", "x y")]));
}

#[test]
fn messages_are_those_of_go() {
    assert_eq!(
        failure("a: [").text(),
        "yaml: line 1: did not find expected node content"
    );
    assert_eq!(
        failure("a:\n\tb").text(),
        "yaml: line 2: found character that cannot start any token"
    );
    assert_eq!(failure("a: x\0y").text(), "yaml: control characters are not allowed");
    assert_eq!(failure("k: v\n[").text(), "yaml: line 3: could not find expected ':'");
    assert_eq!(
        failure(">+ x").text(),
        "yaml: did not find expected comment or line break"
    );
    let typed = failure("!!int s3cret");
    assert_eq!(typed.text(), "yaml: cannot decode !!str `s3cret` as a !!int");
    assert_eq!(typed.to_string(), "yaml: cannot decode !!str as a !!int");
    let list = unmarshal_map(b"- 1").expect_err("a list").text().to_owned();
    assert!(list.ends_with("json: cannot unmarshal array into Go value of type map[string]interface {}"));
}

#[test]
fn hostile_documents_end_early() {
    assert!(failure(&"[".repeat(100_000)).text().contains("exceeded max depth"));
    assert!(failure(&"- ".repeat(100_000)).text().contains("exceeded max depth"));
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let alias = format!("*a{}, ", level - 1).repeat(9);
        bomb.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
    }
    assert_eq!(failure(&bomb).text(), "yaml: document contains excessive aliasing");
    assert_eq!(failure("a: &a [*a]").text(), "yaml: anchor 'a' value contains itself");
}

#[test]
fn written_scalars_are_quoted_when_they_must_be() {
    let list =
        r#"["yes","~","0x1f","012","- a","a: b","a #b"," lead","2001-01-01","12:30","=","<<","a,b","é","-","--",""]"#;
    let expected = "- \"yes\"\n- \"~\"\n- \"0x1f\"\n- \"012\"\n- '- a'\n- 'a: b'\n- 'a #b'\n- ' lead'\n- \"2001-01-01\"\n\
                    - \"12:30\"\n- =\n- <<\n- a,b\n- é\n- '-'\n- --\n- \"\"\n";
    assert_eq!(rewritten(list), expected);
    assert_eq!(rewritten(r#""😀""#), "\"\\U0001F600\"\n");
}

#[test]
fn written_collections() {
    assert_eq!(
        rewritten(r#"{"a10":1,"a2":2,"A":3,"_":5,"1":6}"#),
        "_: 5\n\"1\": 6\nA: 3\na2: 2\na10: 1\n"
    );
    assert_eq!(
        rewritten(r#"{"k":[{"b":"c","d":[]}],"m":{}}"#),
        "k:\n- b: c\n  d: []\nm: {}\n"
    );
    assert_eq!(
        rewritten("[1000000,1e+21,1.5,123456789.5]"),
        "- 1000000\n- 1e+21\n- 1.5\n- 1.234567895e+08\n"
    );
}

#[test]
fn long_and_multi_line_text() {
    let words = "word ".repeat(30);
    let expected = format!("k: '{}word\n  {}'\n", "word ".repeat(15), "word ".repeat(14));
    assert_eq!(rewritten(&format!(r#"{{"k":"{words}"}}"#)), expected);
    assert_eq!(
        rewritten(r#"{"k":"a\nb\n","t":"a\nb","e":"\n"}"#),
        "e: |2+\n\nk: |\n  a\n  b\nt: |-\n  a\n  b\n"
    );
}

#[test]
fn what_is_written_reads_back() {
    for text in [
        "a\tb",
        "x\u{85}y",
        "\u{feff}mark",
        "tab\n\tline\n",
        "two\n\n\n",
        "  both  ",
        "q'q\"q",
        "\u{2028}",
    ] {
        let scalar = || Yaml::Text(text.as_bytes().to_vec().into());
        let value = Yaml::Map(vec![(scalar(), scalar())]);
        let written = emit(&value).expect("writable");
        assert_eq!(parse(&written).expect("readable"), value, "{text:?}");
    }
}
