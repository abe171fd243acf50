//! What to do about a target: given what exists, and what should.

use super::secret::TargetSecret;
use super::{hash, names};
use crate::api::external_secret::{CreationPolicy, DeletionPolicy, ExternalSecretSpec};

/// True where a look at the target cannot be a reason to read the provider again.
pub fn is_valid(policy: &CreationPolicy, existing: Option<&TargetSecret>) -> bool {
    *policy == CreationPolicy::Orphan
        || existing.is_some_and(|secret| {
            secret.is_labelled() && secret.annotations.get(names::HASH_ANNOTATION) == Some(&hash::of_data(&secret.data))
        })
}

/// How an existing Secret is brought to the desired state.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// It is as it should be.
    Keep,
    /// Replace it.
    Replace(TargetSecret),
    /// It is immutable and only its metadata differs: write that, without an event.
    Metadata(TargetSecret),
    /// It is immutable and its content differs: write the metadata if that differs too, then fail.
    Refused(Option<TargetSecret>),
}

/// Compares; `desired` was built on top of `existing`.
pub fn update(existing: &TargetSecret, desired: TargetSecret) -> Update {
    let (metadata, content) = (existing.same_metadata(&desired), existing.same_content(&desired));
    if metadata && content {
        return Update::Keep;
    }
    if !existing.immutable {
        return Update::Replace(desired);
    }
    let with_old_content = TargetSecret {
        secret_type: existing.secret_type.clone(),
        immutable: existing.immutable,
        data: existing.data.clone(),
        ..desired
    };
    match (metadata, content) {
        (false, true) => Update::Metadata(with_old_content),
        (false, false) => Update::Refused(Some(with_old_content)),
        (true, _) => Update::Refused(None),
    }
}

/// What an empty answer of the provider means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Empty {
    /// Delete the target, if it exists.
    Delete,
    /// `deletionPolicy: Delete` without owning: a failure that is not retried.
    NotOwner,
    /// Leave everything as it is.
    Retain,
    /// Go on with no keys.
    Continue,
}

/// The rule for an empty answer.
pub fn empty(spec: &ExternalSecretSpec) -> Empty {
    match (&spec.target.deletion_policy, &spec.target.creation_policy) {
        (DeletionPolicy::Delete, CreationPolicy::Owner) => Empty::Delete,
        (DeletionPolicy::Delete, _) => Empty::NotOwner,
        (DeletionPolicy::Retain, _) => Empty::Retain,
        (DeletionPolicy::Merge | DeletionPolicy::Other(_), _) => Empty::Continue,
    }
}

#[cfg(test)]
mod tests {
    use super::{Update, is_valid, update};
    use crate::api::external_secret::CreationPolicy;
    use crate::secret::SecretValue;
    use crate::target::secret::TargetSecret;
    use crate::target::{hash, names};

    fn secret(value: &str) -> TargetSecret {
        let mut secret = TargetSecret::new("orchard", "es");
        secret.data.insert("a".to_owned(), SecretValue::from(value.to_owned()));
        secret
    }

    #[test]
    fn valid_means_labelled_and_hashed() {
        let mut it = secret("ripe");
        assert!(!is_valid(&CreationPolicy::Owner, Some(&it)));
        assert!(is_valid(&CreationPolicy::Orphan, None));
        it.labels.insert(names::MANAGED_LABEL.to_owned(), "true".to_owned());
        it.annotations
            .insert(names::HASH_ANNOTATION.to_owned(), hash::of_data(&it.data));
        assert!(is_valid(&CreationPolicy::Merge, Some(&it)));
        it.data.clear();
        assert!(!is_valid(&CreationPolicy::Merge, Some(&it)));
    }

    #[test]
    fn an_immutable_secret_takes_metadata_only() {
        let mut old = secret("ripe");
        old.immutable = true;
        let mut labelled = old.clone();
        labelled.labels.insert("team".to_owned(), "red".to_owned());
        assert!(matches!(update(&old, labelled.clone()), Update::Metadata(_)));
        labelled.data = secret("rotten").data;
        let Update::Refused(Some(first)) = update(&old, labelled) else {
            panic!("refused after the metadata")
        };
        assert_eq!(first.data, old.data);
        let changed = TargetSecret {
            data: secret("rotten").data,
            ..old.clone()
        };
        assert_eq!(update(&old, changed), Update::Refused(None));
        assert_eq!(update(&old, old.clone()), Update::Keep);
    }
}
