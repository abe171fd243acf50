//! Users' files → manifests: multi-document YAML and Lists flattened, namespaces settled, put into apply order.

use serde_json::Value;

use super::Manifest;

/// One text that holds objects.
#[derive(Debug, Clone)]
pub struct Text {
    /// File name, or `standard input`.
    pub source: String,
    /// Its content.
    pub content: String,
}

/// What is wrong with an input file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// YAML that does not parse.
    #[error("{file}: document {document} is not valid YAML")]
    Yaml {
        /// File.
        file: String,
        /// Counted from 1.
        document: usize,
        /// The parser's words with line and column.
        message: String,
    },
    /// A document that is not a Kubernetes object.
    #[error("{file}: document {document} is not a Kubernetes object")]
    Object {
        /// File.
        file: String,
        /// Counted from 1.
        document: usize,
        /// What is missing.
        message: String,
    },
    /// The object's own namespace contradicts `-n`.
    #[error("{file}: {object} is meant for namespace {theirs:?}, not for {asked:?}")]
    Namespace {
        /// File.
        file: String,
        /// `kind.group/name`.
        object: String,
        /// In the file.
        theirs: String,
        /// Of the flag.
        asked: String,
    },
    /// Nothing in any of the inputs.
    #[error("no objects passed to apply")]
    Empty,
}

/// An object and where it was written.
#[derive(Debug, Clone)]
pub struct Input {
    /// The object.
    pub manifest: Manifest,
    /// File.
    pub source: String,
    /// Document number, from 1.
    pub document: usize,
}

/// Parses all texts. Empty documents are skipped, `kind: List` (and `…List`) is flattened.
///
/// # Errors
/// The first bad document, with file and number; [`InputError::Empty`] where nothing was found.
pub fn parse(texts: &[Text]) -> Result<Vec<Input>, InputError> {
    let mut out = Vec::new();
    for text in texts {
        let documents = crate::api::yaml::parse_stream(&text.content).map_err(|e| InputError::Yaml {
            file: text.source.clone(),
            document: document_of(&e),
            message: e.to_string(),
        })?;
        for document in documents {
            for value in flatten(document.value) {
                let manifest = Manifest::new(value).map_err(|e| InputError::Object {
                    file: text.source.clone(),
                    document: document.number,
                    message: e.to_string(),
                })?;
                out.push(Input {
                    manifest,
                    source: text.source.clone(),
                    document: document.number,
                });
            }
        }
    }
    if out.is_empty() {
        Err(InputError::Empty)
    } else {
        Ok(out)
    }
}

fn document_of(error: &crate::api::yaml::YamlError) -> usize {
    use crate::api::yaml::YamlError;
    match error {
        YamlError::Syntax { document, .. } | YamlError::Content { document, .. } => *document,
    }
}

fn flatten(value: Value) -> Vec<Value> {
    if value.is_null() {
        return Vec::new();
    }
    let is_list = value
        .get("kind")
        .and_then(Value::as_str)
        .is_some_and(|k| k.ends_with("List"));
    match value.get("items") {
        Some(Value::Array(items)) if is_list => items.iter().cloned().flat_map(flatten).collect(),
        _ => vec![value],
    }
}

/// Fills in the namespace of namespaced objects; an explicit `-n` that contradicts the file is an error.
///
/// # Errors
/// [`InputError::Namespace`].
pub fn settle_namespace(
    input: &mut Input,
    namespaced: bool,
    explicit: Option<&str>,
    default: &str,
) -> Result<(), InputError> {
    if !namespaced {
        return Ok(());
    }
    match (input.manifest.namespace().map(str::to_owned), explicit) {
        (Some(theirs), Some(asked)) if theirs != asked => Err(InputError::Namespace {
            file: input.source.clone(),
            object: input.manifest.display(),
            theirs,
            asked: asked.to_owned(),
        }),
        (Some(_), _) => Ok(()),
        (None, _) => {
            input.manifest.set_namespace(explicit.unwrap_or(default));
            Ok(())
        }
    }
}

/// Rank in apply order: namespaces, rights, credentials, stores, then what reads through them.
pub fn rank(kind: &str) -> u8 {
    match kind {
        "Namespace" => 0,
        "CustomResourceDefinition" => 1,
        "ServiceAccount" => 2,
        "Role" | "ClusterRole" => 3,
        "RoleBinding" | "ClusterRoleBinding" => 4,
        "ConfigMap" => 5,
        "Secret" => 6,
        "SecretStore" | "ClusterSecretStore" => 8,
        "ExternalSecret" | "ClusterExternalSecret" => 10,
        "PushSecret" | "ClusterPushSecret" => 11,
        // Generators before what uses them.
        "ClusterGenerator" | "Password" | "UUID" | "SSHKey" | "Fake" | "MFA" | "Webhook" => 9,
        _ => 7,
    }
}

/// Stable sort into apply order.
pub fn sort(inputs: &mut [Input]) {
    inputs.sort_by_key(|i| rank(i.manifest.kind()));
}

#[cfg(test)]
mod tests {
    use super::{InputError, Text, parse, settle_namespace, sort};

    fn text(content: &str) -> [Text; 1] {
        [Text {
            source: "a.yaml".to_owned(),
            content: content.to_owned(),
        }]
    }

    #[test]
    fn flattens_lists_and_skips_empty_documents() {
        let found = parse(&text(
            "---\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: external-secrets.io/v1, kind: ExternalSecret, metadata: {name: a}}\n- {apiVersion: external-secrets.io/v1, kind: SecretStore, metadata: {name: b}}\n",
        ));
        let mut found = found.unwrap();
        sort(&mut found);
        let kinds: Vec<&str> = found.iter().map(|i| i.manifest.kind()).collect();
        assert_eq!(kinds, ["SecretStore", "ExternalSecret"]);
    }

    #[test]
    fn errors_name_file_and_document() {
        let bad = parse(&text("a: 1\n---\nb: [\n")).unwrap_err();
        assert!(matches!(bad, InputError::Yaml { document: 2, .. }), "{bad:?}");
        let bad = parse(&text("kind: X\n")).unwrap_err();
        assert!(matches!(bad, InputError::Object { document: 1, .. }), "{bad:?}");
        assert_eq!(parse(&text("")).unwrap_err(), InputError::Empty);
    }

    #[test]
    fn a_contradicting_namespace_is_refused() {
        let mut input = parse(&text(
            "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: x}}",
        ))
        .unwrap()
        .remove(0);
        assert!(settle_namespace(&mut input, true, Some("y"), "d").is_err());
        assert!(settle_namespace(&mut input, true, Some("x"), "d").is_ok());
        let mut input = parse(&text("{apiVersion: v1, kind: Secret, metadata: {name: a}}"))
            .unwrap()
            .remove(0);
        settle_namespace(&mut input, true, None, "d").unwrap();
        assert_eq!(input.manifest.namespace(), Some("d"));
    }
}
