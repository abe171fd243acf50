//! Public bug reports that concern the loop, and what shows here that each is not repeated: a recorded case of
//! tests/conformance, or a test of this binary.

use std::path::{Path, PathBuf};

/// (what went wrong elsewhere, recorded cases, tests as `file::function`).
const TABLE: &[(&str, &[&str], &[&str])] = &[
    (
        "01 a template names a key that is not there",
        &["tpl-missing-key-guards", "tpl-missing-item"],
        &[],
    ),
    ("02 a hyphen in a template variable", &["tpl-hyphen"], &[]),
    (
        "04 one of several keys is missing",
        &["data-one-lost-later", "deletion-delete-some-lost"],
        &["sync_modes::a_missing_key_is_named_and_fails_the_run"],
    ),
    ("05 find matches nothing", &["find-nothing"], &[]),
    (
        "07 two remote names become one key",
        &["find-collision", "extract-conversion-collision"],
        &[],
    ),
    (
        "08 rewrite sees the provider's name",
        &["rewrite-stops-conversion", "upstream-find-rewrite"],
        &[],
    ),
    (
        "10 Owner over a Secret nobody owns",
        &["creation-owner-over-unowned"],
        &[],
    ),
    (
        "11 Merge onto a Secret of another",
        &["creation-merge-two-writers", "creation-two-owners-one-target"],
        &[],
    ),
    (
        "13 an immutable target",
        &[
            "immutable-new",
            "immutable-deleted",
            "immutable-existing-foreign",
            "immutable-over-immutable",
        ],
        &[],
    ),
    (
        "14 zero, 1d, CreatedOnce",
        &[
            "refresh-interval-zero",
            "refresh-created-once-new-object",
            "schema-shapes",
        ],
        &["engine::one_bad_object_holds_up_nobody"],
    ),
    (
        "16 which labels reach the target",
        &[
            "meta-of-user-survives",
            "meta-reserved",
            "meta-template-added-later",
            "meta-template-removed-later",
        ],
        &[],
    ),
    (
        "17 the server's error text carries the value",
        &["tpl-docker-config-bad", "tpl-refused-by-server"],
        &[],
    ),
    (
        "19 namespaces in stores, token Secrets",
        &[
            "k8s-ca-namespace-rule",
            "k8s-token-namespace-ignored",
            "k8s-ca-cluster-no-namespace",
            "tpl-type-token",
        ],
        &[],
    ),
    (
        "20 the rules review does not list all",
        &["k8s-role-wildcard", "k8s-role-one-name", "k8s-role-denied-then-granted"],
        &[],
    ),
    (
        "22 dots, nesting, indexes",
        &[
            "data-dot-is-a-path",
            "data-nested-paths",
            "data-array-access",
            "k8s-extract-property",
        ],
        &[],
    ),
    (
        "23 Delete turned None, then deleted",
        &["push-delete-turned-none"],
        &["push/keeping::delete_turned_none_keeps_and_a_second_pushsecret_keeps_its_own"],
    ),
    (
        "25 numbers, booleans, null",
        &["webhook-scalar-kinds", "webhook-extract-numbers"],
        &[],
    ),
    (
        "26 escapes and body encoding",
        &["webhook-json-escapes", "push-webhook-dash-key"],
        &[],
    ),
    (
        "28 a token with a line break",
        &["k8s-token-newline", "k8s-token-garbage"],
        &[],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn is_recorded(case: &str) -> bool {
    let folders = std::fs::read_dir(root().join("conformance/cases")).unwrap();
    folders
        .map(|folder| folder.unwrap().path())
        .any(|folder| folder.join(format!("{case}.golden.json")).is_file())
}

fn is_tested(test: &str) -> bool {
    let (file, function) = test.split_once("::").unwrap();
    let text = std::fs::read_to_string(root().join(format!("it/{file}.rs"))).unwrap();
    text.contains(&format!("fn {function}("))
}

#[test]
fn every_report_is_shown_by_something_that_runs() {
    for (report, cases, tests) in TABLE {
        assert!(cases.len() + tests.len() > 0, "{report}");
        for case in *cases {
            assert!(is_recorded(case), "{report}: {case} is not recorded");
        }
        for test in *tests {
            assert!(is_tested(test), "{report}: {test} does not exist");
        }
    }
}
