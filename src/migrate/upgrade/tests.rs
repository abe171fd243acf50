//! Files of all ages.

use super::{Change, diff, upgrade};
use crate::migrate::document;

const FILE: &str = r#"# shop
apiVersion: external-secrets.io/v1beta1 # old
kind: ExternalSecret
metadata:
  name: a   # why
spec:
  target:
    template:
      engineVersion: v1
      data:
        k: "{{ .x | toString }}"   # keep
  data:
  # first
  - {secretKey: x, remoteRef: {key: y}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  note: "apiVersion: external-secrets.io/v1beta1"
---
apiVersion: "external-secrets.io/v1beta1"
kind: ClusterSecretStore
metadata: {name: s}
spec: {refreshInterval: 60, provider: {vault: {server: x}}}
"#;

#[test]
fn edits_lines_and_keeps_everything_else() {
    let result = upgrade(FILE).unwrap();
    let changes: Vec<Change> = result.documents.iter().map(|d| d.change).collect();
    assert_eq!(changes, [Change::Edited, Change::Edited]);
    let want = FILE
        .replacen("v1beta1 # old", "v1 # old", 1)
        .replacen("engineVersion: v1", "engineVersion: v2", 1)
        .replacen(
            "\"external-secrets.io/v1beta1\"\nkind: Cl",
            "\"external-secrets.io/v1\"\nkind: Cl",
            1,
        );
    assert_eq!(result.text, want);
    assert_eq!(result.documents[0].notes.len(), 1);
}

#[test]
fn a_second_run_changes_nothing() {
    let once = upgrade(FILE).unwrap().text;
    let twice = upgrade(&once).unwrap();
    assert_eq!(twice.text, once);
    assert!(twice.documents.iter().all(|d| d.change == Change::Unchanged));
    assert_eq!(diff("f.yaml", &once, &twice.text), "");
}

#[test]
fn writes_anew_where_lines_are_not_enough() {
    let old = "# head\napiVersion: external-secrets.io/v1alpha1\nkind: ExternalSecret\nmetadata: {name: a}\nspec:\n  # inner\n  dataFrom:\n  - key: k\n    version: v\n# tail\n";
    let result = upgrade(old).unwrap();
    assert_eq!(result.documents[0].change, Change::Rewritten);
    let values = document::values(&result.text).unwrap();
    assert_eq!(values[0]["apiVersion"], "external-secrets.io/v1");
    assert_eq!(values[0]["spec"]["dataFrom"][0]["extract"]["key"], "k");
    for comment in ["# head\n", "# inner\n", "# tail\n"] {
        assert!(result.text.contains(comment), "{}", result.text);
    }
}

#[test]
fn flow_style_and_lists() {
    let old = "{apiVersion: external-secrets.io/v1beta1, kind: SecretStore, metadata: {name: a}, spec: {provider: {fake: {}}}}\n---\napiVersion: v1\nkind: List\nitems:\n- apiVersion: external-secrets.io/v1beta1\n  kind: SecretStore\n  metadata: {name: b}\n- apiVersion: external-secrets.io/v1alpha1\n  kind: PushSecret\n  metadata: {name: p}\n";
    let result = upgrade(old).unwrap();
    let values = document::values(&result.text).unwrap();
    assert_eq!(values[0]["apiVersion"], "external-secrets.io/v1");
    assert_eq!(values[1]["items"][0]["apiVersion"], "external-secrets.io/v1");
    assert_eq!(values[1]["items"][1]["apiVersion"], "external-secrets.io/v1alpha1");
}

#[test]
fn providers_that_are_gone_are_refused() {
    let old = "apiVersion: external-secrets.io/v1beta1\nkind: SecretStore\nmetadata: {name: a}\nspec:\n  provider:\n    alibaba: {}\n";
    let result = upgrade(old).unwrap();
    assert_eq!((result.text.as_str(), result.refused()), (old, true));
    assert!(upgrade("{{- if .Values.x }}\na: b\n{{- end }}\n").is_err());
}

#[test]
fn diffs_name_both_files() {
    let old = "apiVersion: external-secrets.io/v1beta1\nkind: SecretStore\nmetadata: {name: a}\n";
    let text = diff("x/s.yaml", old, &upgrade(old).unwrap().text);
    assert!(text.starts_with("--- a/x/s.yaml\n+++ b/x/s.yaml\n@@ "), "{text}");
    assert!(
        text.contains("-apiVersion: external-secrets.io/v1beta1\n+apiVersion: external-secrets.io/v1\n"),
        "{text}"
    );
}
