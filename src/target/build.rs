//! From an ExternalSecret and provider data to the Secret that should exist.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use zeroize::Zeroizing;

use super::secret::TargetSecret;
use super::{hash, names};
use crate::api::external_secret::{CreationPolicy, ExternalSecret, ExternalSecretSpec};
use crate::api::{GROUP, V1};
use crate::secret::{SecretData, SecretValue};
use crate::template::{ExistingSecret, ManagedKeys, Rendered, SecretMap};

/// Why no Secret can be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The controlling owner is another ExternalSecret.
    #[error("secret is owned by another ExternalSecret: {owner}")]
    OtherExternalSecret {
        /// Its name.
        owner: String,
    },
    /// The controlling owner is of another kind.
    #[error(
        "could not set controller reference on secret: Object {namespace}/{name} is already owned by another {kind} controller {owner}"
    )]
    OtherController {
        /// Namespace of the Secret.
        namespace: String,
        /// Name of the Secret.
        name: String,
        /// Kind of the owner.
        kind: String,
        /// Name of the owner.
        owner: String,
    },
}

/// The identity of the ExternalSecret that writes.
#[derive(Debug, Clone, Copy)]
pub struct Writer<'a> {
    /// Namespace.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
    /// UID.
    pub uid: &'a str,
    /// Labels.
    pub labels: Option<&'a BTreeMap<String, String>>,
    /// Annotations.
    pub annotations: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Writer<'a> {
    /// Of this object.
    pub fn of(object: &'a ExternalSecret) -> Self {
        Self {
            namespace: object.namespace(),
            name: object.name(),
            uid: object.metadata.uid.as_deref().unwrap_or_default(),
            labels: object.metadata.labels.as_ref(),
            annotations: object.metadata.annotations.as_ref(),
        }
    }
}

/// Name of the target: its own, or that of the ExternalSecret.
pub fn target_name<'a>(spec: &'a ExternalSecretSpec, own: &'a str) -> &'a str {
    if spec.target.name.is_empty() {
        own
    } else {
        &spec.target.name
    }
}

/// True where the content of the existing Secret is frozen: nothing is rendered then.
pub fn is_frozen(spec: &ExternalSecretSpec, existing: Option<&TargetSecret>) -> bool {
    spec.target.immutable && existing.is_some()
}

/// What rendering may look at: the existing Secret, without its data where that is replaced anyway.
pub fn existing_view(spec: &ExternalSecretSpec, secret: &TargetSecret) -> ExistingSecret {
    let data = if keeps_data(spec) {
        secret_map(&secret.data)
    } else {
        SecretMap::new()
    };
    ExistingSecret {
        secret_type: secret.secret_type.clone(),
        data,
        labels: secret.labels.clone(),
        annotations: secret.annotations.clone(),
        finalizers: secret.finalizers.clone(),
        deleting: secret.deleting,
    }
}

/// The keys the ExternalSecret `name` wrote before. Labels and annotations are looked up as ESO looks them up.
pub fn managed_keys(secret: &TargetSecret, name: &str) -> ManagedKeys {
    let data = secret
        .managed
        .get(&names::field_manager(name))
        .map(|keys| keys.data.clone());
    let metadata = secret.managed.get(&names::metadata_manager(name));
    ManagedKeys {
        data: data.unwrap_or_default(),
        labels: metadata.map(|keys| keys.labels.clone()).unwrap_or_default(),
        annotations: metadata.map(|keys| keys.annotations.clone()).unwrap_or_default(),
    }
}

/// True where keys of other writers stay.
pub fn keeps_data(spec: &ExternalSecretSpec) -> bool {
    matches!(
        spec.target.creation_policy,
        CreationPolicy::Merge | CreationPolicy::CreateOrMerge
    )
}

/// Data in the form the template room works on.
pub fn secret_map(data: &SecretData) -> SecretMap {
    data.iter()
        .map(|(key, value)| (key.clone(), Zeroizing::new(value.expose().to_vec())))
        .collect()
}

/// Builds the Secret, on top of `existing` if there is one. `rendered` is what it should hold; `None` keeps its content
/// (see [`is_frozen`]).
///
/// # Errors
/// Somebody else owns it.
pub fn build(
    spec: &ExternalSecretSpec,
    writer: Writer<'_>,
    existing: Option<&TargetSecret>,
    rendered: Option<Rendered>,
) -> Result<TargetSecret, BuildError> {
    let name = target_name(spec, writer.name);
    let mut secret = existing
        .cloned()
        .unwrap_or_else(|| TargetSecret::new(writer.namespace, name));
    secret.immutable |= spec.target.immutable;
    if let Some(rendered) = rendered {
        secret.secret_type = rendered.secret_type;
        secret.data = rendered
            .data
            .into_iter()
            .map(|(key, mut v)| (key, SecretValue::new(std::mem::take(&mut *v))))
            .collect();
        secret.labels = rendered.labels;
        secret.annotations = rendered.annotations;
        secret.finalizers = rendered.finalizers;
    }
    own(&mut secret, &spec.target.creation_policy, writer)?;
    secret.labels.insert(names::MANAGED_LABEL.to_owned(), "true".to_owned());
    let hash = hash::of_data(&secret.data);
    secret.annotations.insert(names::HASH_ANNOTATION.to_owned(), hash);
    Ok(secret)
}

fn own(secret: &mut TargetSecret, policy: &CreationPolicy, writer: Writer<'_>) -> Result<(), BuildError> {
    let namespace = secret.namespace.clone();
    let name = secret.name.clone();
    set_owner(
        &mut secret.owners,
        *policy == CreationPolicy::Owner,
        writer,
        &namespace,
        &name,
    )?;
    if *policy == CreationPolicy::Owner {
        let hash = names::owner_hash(writer.namespace, writer.name);
        secret.labels.insert(names::OWNER_LABEL.to_owned(), hash);
    } else {
        secret.labels.remove(names::OWNER_LABEL);
    }
    Ok(())
}

/// Sets or takes off our controlling owner reference. An entry of the same group, kind and name is replaced whatever its
/// UID: the ExternalSecret may have been made anew.
///
/// # Errors
/// Another controller owns the object.
pub fn set_owner(
    owners: &mut Vec<OwnerReference>,
    owned: bool,
    writer: Writer<'_>,
    namespace: &str,
    name: &str,
) -> Result<(), BuildError> {
    let controller = owners.iter().find(|o| o.controller == Some(true));
    let foreign = controller.filter(|c| !is_external_secret(c) || c.name != writer.name);
    if let Some(other) = foreign {
        if is_external_secret(other) {
            return Err(BuildError::OtherExternalSecret {
                owner: other.name.clone(),
            });
        }
        if owned {
            return Err(BuildError::OtherController {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                kind: other.kind.clone(),
                owner: other.name.clone(),
            });
        }
    }
    let is_ours = |o: &OwnerReference| is_external_secret(o) && o.name == writer.name;
    if !owned {
        if foreign.is_none() && controller.is_some() {
            owners.retain(|o| !is_ours(o));
        }
        return Ok(());
    }
    let reference = OwnerReference {
        api_version: format!("{GROUP}/{V1}"),
        kind: "ExternalSecret".to_owned(),
        name: writer.name.to_owned(),
        uid: writer.uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    match owners.iter_mut().find(|o| is_ours(o)) {
        Some(entry) => *entry = reference,
        None => owners.push(reference),
    }
    Ok(())
}

fn is_external_secret(owner: &OwnerReference) -> bool {
    owner.kind == "ExternalSecret" && owner.api_version.split('/').next() == Some(GROUP)
}

#[cfg(test)]
mod tests;
