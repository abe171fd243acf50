//! Cases follow recorded results of the operator.

use super::*;

type Data = BTreeMap<String, Vec<u8>>;

fn data(entries: &[(&str, &str)]) -> Data {
    entries
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
        .collect()
}

fn run(operations: &[Operation<'_>], input: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
    let render = |template: &str, key: &str| match template {
        "bad" => Err(TemplateFault::Parse("no template".to_owned())),
        "fails" => Err(TemplateFault::Execute("it fails".to_owned())),
        other => Ok(other.replace("{{ .value }}", key)),
    };
    let out = apply(operations, data(input), render).map_err(|e| e.to_string())?;
    Ok(out
        .into_iter()
        .map(|(key, value)| (key, String::from_utf8(value).unwrap()))
        .collect())
}

fn keys(operations: &[Operation<'_>], input: &[&str]) -> Vec<String> {
    let input: Vec<_> = input.iter().map(|key| (*key, "v")).collect();
    run(operations, &input)
        .unwrap()
        .into_iter()
        .map(|(key, _)| key)
        .collect()
}

fn regexp<'s>(source: &'s str, target: &'s str) -> Operation<'s> {
    Operation::Regexp { source, target }
}

#[test]
fn keys_are_replaced_with_gos_templates() {
    let cases: [(&str, &str, &[&str], &[&str]); 6] = [
        ("^db-", "", &["db-user", "other"], &["other", "user"]),
        ("(.*)-(.*)", "$2-$1", &["a-b"], &["b-a"]),
        ("(a)(b)", "${2}x${1}", &["ab"], &["bxa"]),
        ("(a)", "$1_x", &["ab"], &["b"]),
        ("(?P<n>\\w+)", "<${n}>$$", &["ab"], &["<ab>$"]),
        ("x", "y", &["no"], &["no"]),
    ];
    for (source, target, input, want) in cases {
        assert_eq!(keys(&[regexp(source, target)], input), want, "{source} {target}");
    }
}

#[test]
fn operations_build_on_each_other() {
    let transform = Operation::Transform {
        template: "p_{{ .value }}",
    };
    assert_eq!(
        keys(&[regexp("/", "_"), transform, regexp("^p_", "q-")], &["a/b"]),
        ["q-a_b"]
    );
    assert_eq!(keys(&[], &["a"]), ["a"]);
    // keys that meet: one is left
    assert_eq!(keys(&[regexp("[0-9]", "")], &["a1", "a2"]), ["a"]);
}

#[test]
fn faults_name_the_operation() {
    let fails = |operations: &[Operation<'_>]| run(operations, &[("k\"", "{}")]).unwrap_err();
    assert_eq!(
        fails(&[regexp("a", "b"), regexp("(", "")]),
        "failed rewrite operation[1]: regexp failed with failed to compile: error parsing regexp: missing closing ): `(`"
    );
    assert_eq!(
        fails(&[Operation::Transform { template: "bad" }]),
        "failed rewrite operation[0]: transform failed with failed to parse template: no template"
    );
    assert_eq!(
        fails(&[Operation::Transform { template: "fails" }]),
        r#"failed rewrite operation[0]: transform failed with failed to execute template for key "k\"": it fails"#
    );
}

fn merge(merge: Merge<'_>) -> [Operation<'_>; 1] {
    [Operation::Merge(merge)]
}

#[test]
fn merged_values_are_written_anew() {
    let json = r#"{"i":7,"d":1.50,"e":1e3,"big":9007199254740993,"t":true,"n":null,"o":{"z": 1, "a":"<b&c>"},"l":["p",  2.0],"s":"a<b"}"#;
    let got = run(&merge(Merge::default()), &[("one", json), ("two", "null")]).unwrap();
    let got: Vec<_> = got.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let want = [
        ("big", "9007199254740992"),
        ("d", "1.5"),
        ("e", "1000"),
        ("i", "7"),
        ("l", r#"["p",2]"#),
        ("n", ""),
        ("o", r#"{"a":"\u003cb\u0026c\u003e","z":1}"#),
        ("s", "a<b"),
        ("t", "true"),
    ];
    assert_eq!(got, want);
}

#[test]
fn an_object_of_all_is_kept_beside_the_input() {
    let input = [
        ("one", r#"{"user":"ida","n":1.0}"#),
        ("two", r#"{"pin":"<4711>","a":null}"#),
    ];
    let all = r#"{"a":null,"n":1,"pin":"<4711>","user":"ida"}"#;
    let into = |into| {
        run(
            &merge(Merge {
                strategy: MergeStrategy::Json { into },
                ..Merge::default()
            }),
            &input,
        )
    };
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        into("all.json").unwrap(),
        [pair("all.json", all), pair("one", input[0].1), pair("two", input[1].1)]
    );
    assert_eq!(into("one").unwrap(), [pair("one", all), pair("two", input[1].1)]);
    assert_eq!(
        into("").unwrap_err(),
        "failed rewrite operation[0]: merge failed with missing 'into' field"
    );
}

#[test]
fn conflicts_fail_or_the_last_object_wins() {
    let input = [
        ("two", r#"{"user":"bo","y":"2"}"#),
        ("one", r#"{"user":"ida","x":"1"}"#),
    ];
    let strict = run(&merge(Merge::default()), &input).unwrap_err();
    assert_eq!(strict, "failed rewrite operation[0]: merge failed with conflicts: user");
    let user = |priority: &[String]| {
        let merge = merge(Merge {
            ignore_conflicts: true,
            priority,
            ..Merge::default()
        });
        run(&merge, &input)
            .unwrap()
            .into_iter()
            .find(|(key, _)| key == "user")
            .unwrap()
            .1
    };
    assert_eq!(user(&[]), "bo");
    assert_eq!(user(&["one".to_owned()]), "ida");
}

#[test]
fn priority_keys_must_exist_unless_told_otherwise() {
    let input = [("a", r#"{"x":"1"}"#)];
    let with = |priority: &[String], ignore_missing_priority| {
        run(
            &merge(Merge {
                priority,
                ignore_missing_priority,
                ..Merge::default()
            }),
            &input,
        )
    };
    let missing = ["z".to_owned()];
    let e = with(&missing, false).unwrap_err();
    assert_eq!(
        e,
        r#"failed rewrite operation[0]: merge failed with key "z" not found in input map"#
    );
    assert_eq!(with(&missing, true).unwrap(), [("x".to_owned(), "1".to_owned())]);
    // a key listed twice conflicts with itself
    let twice = ["a".to_owned(), "a".to_owned()];
    assert_eq!(
        with(&twice, false).unwrap_err(),
        "failed rewrite operation[0]: merge failed with conflicts: x"
    );
}

#[test]
fn only_objects_are_merged() {
    let fails = |json: &str| run(&merge(Merge::default()), &[("k", json)]).unwrap_err();
    let prefix = "failed rewrite operation[0]: merge failed with failed to unmarshal JSON: ";
    assert_eq!(
        fails("x"),
        format!("{prefix}invalid character 'x' looking for beginning of value")
    );
    let kind = "json: cannot unmarshal array into Go value of type map[string]interface {}";
    assert_eq!(fails("[1]"), format!("{prefix}{kind}"));
}
