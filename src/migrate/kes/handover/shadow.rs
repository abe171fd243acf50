//! Shadows: the converted object under another name, to see the bytes before anything live is touched.

use serde_json::{Map, Value};

use super::observed::LiveExternalSecret;
use super::step::{Action, Decision, ObjectRef, Step};
use crate::migrate::defaults;

/// Appended to the names of the shadow and its Secret.
pub const SUFFIX: &str = "-kes2eso";
/// Label of shadows, by which leftovers are found.
pub const LABEL: &str = "kubectl-eso/kes-shadow";

/// Longest name of an object.
const MAX_NAME: usize = 253;

/// The name of the shadow of an object.
#[must_use]
pub fn name(name: &str) -> String {
    // Names are ASCII, so cutting bytes is cutting characters; a cut may not end in a separator.
    let kept = name
        .get(..MAX_NAME - SUFFIX.len())
        .unwrap_or(name)
        .trim_end_matches(['-', '.']);
    format!("{kept}{SUFFIX}")
}

/// The shadow of a converted object: no labels, annotations, finalizers or type on its Secret, because those can have
/// effects of their own, and no immutability, because it goes again.
#[must_use]
pub fn manifest(external_secret: &Value) -> Value {
    let mut shadow = external_secret.clone();
    let shadow_name = name(external_secret["metadata"]["name"].as_str().unwrap_or_default());
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), shadow_name.clone().into());
    if let Some(namespace) = external_secret["metadata"].get("namespace") {
        metadata.insert("namespace".to_owned(), namespace.clone());
    }
    metadata.insert(
        "labels".to_owned(),
        serde_json::json!({LABEL: "true", "app.kubernetes.io/managed-by": "kubectl-eso"}),
    );
    shadow["metadata"] = Value::Object(metadata);
    let target = &mut shadow["spec"]["target"];
    target["name"] = shadow_name.into();
    target["creationPolicy"] = "Owner".into();
    target["deletionPolicy"] = "Retain".into();
    if let Some(target) = target.as_object_mut() {
        target.remove("immutable");
    }
    if let Some(template) = target["template"].as_object_mut() {
        template.remove("metadata");
        template.remove("type");
    }
    shadow
}

/// Why a comparison cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShadowError {
    /// The operator says no.
    #[error("the shadow does not sync: {0}")]
    Failed(String),
    /// A Secret of that name was there before.
    #[error("a Secret with the name of the shadow exists and is not the shadow's")]
    Occupied,
}

/// Brings a shadow up to where its Secret can be compared ([`Decision::Done`]).
#[must_use]
pub fn decide(
    external_secret: &Value,
    live: Option<&LiveExternalSecret>,
    secret_owner: Option<&str>,
) -> Decision<ShadowError> {
    let manifest = manifest(external_secret);
    let Some(target) = ObjectRef::of(&manifest) else {
        return Decision::Refuse(ShadowError::Failed("the object has no name".to_owned()));
    };
    let Some(live) = live else {
        if secret_owner.is_some() {
            return Decision::Refuse(ShadowError::Occupied);
        }
        return Decision::Do(Box::new(Step::new(
            target,
            Action::Apply { manifest },
            "compare with the live Secret",
        )));
    };
    if live.deleting {
        return Decision::Wait {
            for_what: "the last shadow to go".to_owned(),
            seconds: 60,
        };
    }
    if secret_owner.is_some_and(|uid| uid != live.uid) {
        return Decision::Refuse(ShadowError::Occupied);
    }
    if !defaults::same_spec(&manifest, &live.spec) {
        return Decision::Do(Box::new(Step::new(
            target,
            Action::Apply { manifest },
            "compare with the live Secret",
        )));
    }
    match (&live.ready, &live.failed) {
        (Some(reason), _) if reason == "SecretSynced" && live.current && secret_owner.is_some() => Decision::Done,
        (_, Some(reason)) => Decision::Refuse(ShadowError::Failed(reason.clone())),
        _ => Decision::Wait {
            for_what: "the shadow to sync".to_owned(),
            seconds: 60,
        },
    }
}

/// The step that removes a shadow; its Secret goes with it.
#[must_use]
pub fn remove(external_secret: &Value, live: &LiveExternalSecret) -> Option<Step> {
    let target = ObjectRef::of(&manifest(external_secret))?;
    Some(Step::new(
        target,
        Action::Delete {
            uid: live.uid.clone(),
            resource_version: None,
        },
        "the comparison is done",
    ))
}
