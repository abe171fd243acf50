//! Namespace permissions of KES as an admission policy: what a namespace may read is checked when an `ExternalSecret` is
//! written instead of when it is fetched.

use serde_json::{Value, json};

/// A policy and its binding for one namespace whose keys must match a regular expression, as KES's annotation demanded.
/// `dataFrom.find` reads by pattern and is refused.
///
/// KES matched with JavaScript's engine, CEL matches with RE2; both match anywhere in the key.
#[must_use]
pub fn permitted_keys(namespace: &str, pattern: &str) -> [Value; 2] {
    let name = format!("kes-permitted-keys-{namespace}");
    let quoted = serde_json::to_string(pattern).unwrap_or_default();
    let keys = format!("!has(object.spec.data) || object.spec.data.all(d, d.remoteRef.key.matches({quoted}))");
    let extracts = format!(
        "!has(object.spec.dataFrom) || object.spec.dataFrom.all(d, has(d.extract) && d.extract.key.matches({quoted}))"
    );
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {},
                "objectSelector": {},
                "resourceRules": [{
                    "apiGroups": ["external-secrets.io"],
                    "apiVersions": ["*"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["externalsecrets"],
                    "scope": "*",
                }],
            },
            "validations": [
                {"expression": keys, "message": format!("keys in namespace {namespace} must match {pattern}")},
                {"expression": extracts, "message": format!("dataFrom in namespace {namespace} must name keys that match {pattern}")},
            ],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {
                "matchPolicy": "Equivalent",
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "objectSelector": {},
            },
        },
    });
    [policy, binding]
}
