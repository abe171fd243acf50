//! Pushing to, deleting from and looking into a remote Secret.

use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt as _;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::{Api, Resource};

use super::{Call, Kubernetes, names};
use crate::api::push_secret::{PushData, PushRemoteRef};
use crate::cluster::go_error::ApiFailure;
use crate::provider::values::json_of_data;
use crate::provider::{Deletion, Preview, ProviderError, PushSource, metadata};

/// Field manager of ESO's own writes to remote Secrets (the name of its binary).
const MANAGER: &str = "external-secrets";

/// The provider's envelope under `metadata`.
#[derive(Debug, Default, PartialEq)]
struct Envelope {
    source: Option<String>,
    target: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    remote_namespace: String,
    given: bool,
}

impl Envelope {
    fn parse(data: &PushData) -> Result<Self, ProviderError> {
        let allowed = [
            "sourceMergePolicy",
            "targetMergePolicy",
            "labels",
            "annotations",
            "remoteNamespace",
        ];
        let wrap = |error: ProviderError| error.wrap("unable to parse metadata parameters");
        let Some(fields) = metadata::spec_fields(data.metadata.as_ref(), &allowed).map_err(wrap)? else {
            return Ok(Self::default());
        };
        let mut envelope = Self {
            given: true,
            ..Self::default()
        };
        for (name, value) in fields {
            let filled = match name {
                "labels" => metadata::text_map(&value, name).map(|map| envelope.labels = map),
                "annotations" => metadata::text_map(&value, name).map(|map| envelope.annotations = map),
                "sourceMergePolicy" => metadata::text(&value, name).map(|text| envelope.source = Some(text)),
                "targetMergePolicy" => metadata::text(&value, name).map(|text| envelope.target = Some(text)),
                _ => metadata::text(&value, name).map(|text| envelope.remote_namespace = text),
            };
            filled.map_err(|error| wrap(ProviderError::invalid(error)))?;
        }
        Ok(envelope)
    }

    /// Where the remote Secret is.
    fn namespace<'a>(&'a self, provider: &'a Kubernetes) -> Result<&'a str, ProviderError> {
        match self.remote_namespace.as_str() {
            "" => Ok(provider.namespace()),
            _ if !provider.origin.cluster_scoped => {
                let text = "remoteNamespace override is only supported with ClusterSecretStore";
                Err(ProviderError::invalid(text))
            }
            other => Ok(other),
        }
    }

    /// Labels and annotations as the source has them for this entry.
    fn of_source(&self, source: &PushSource) -> Result<(Texts, Texts), ProviderError> {
        let (mut labels, mut annotations) = (source.labels.clone(), source.annotations.clone());
        if !self.given {
            return Ok((labels, annotations));
        }
        match self.source.as_deref().unwrap_or_default() {
            "" | "Merge" => {
                labels.extend(self.labels.clone());
                annotations.extend(self.annotations.clone());
            }
            "Replace" => (labels, annotations) = (self.labels.clone(), self.annotations.clone()),
            other => {
                let text = format!("failed to merge source metadata: unexpected source merge policy {other:?}");
                return Err(ProviderError::invalid(text));
            }
        }
        Ok((labels, annotations))
    }

    /// Puts them onto the remote Secret.
    fn onto(&self, target: &mut Secret, labels: Texts, annotations: Texts) -> Result<(), ProviderError> {
        let meta = target.meta_mut();
        match self.target.as_deref().unwrap_or_default() {
            "" | "Merge" => {
                meta.labels.get_or_insert_default().extend(labels);
                meta.annotations.get_or_insert_default().extend(annotations);
            }
            "Replace" => {
                meta.labels = Some(labels);
                meta.annotations = Some(annotations);
            }
            "Ignore" => {}
            other => {
                let text = format!("failed to merge target metadata: unexpected target merge policy {other:?}");
                return Err(ProviderError::invalid(text));
            }
        }
        Ok(())
    }
}

type Texts = BTreeMap<String, String>;

/// Writes what `data` names; nothing is sent if nothing would change.
pub async fn push(provider: &Kubernetes, source: &PushSource, data: &PushData) -> Result<(), ProviderError> {
    let remote = &data.match_.remote_ref;
    if remote.property.is_empty() && !data.match_.secret_key.is_empty() {
        let text = "requires property in RemoteRef to push secret value if secret key is defined";
        return Err(ProviderError::invalid(text));
    }
    let envelope = Envelope::parse(data)?;
    let namespace = envelope.namespace(provider)?;
    match provider.read_secret_in(namespace, &remote.remote_key).await {
        Ok(found) => {
            let wanted = desired(found.clone(), source, data, &envelope)?;
            if same(&found, &wanted) {
                return Ok(());
            }
            replace(provider, namespace, &wanted).await
        }
        Err(failure) if failure.is_not_found() => {
            let mut bare = Secret::default();
            bare.metadata.name = Some(remote.remote_key.clone());
            bare.metadata.namespace = Some(namespace.to_owned());
            create(provider, namespace, &desired(bare, source, data, &envelope)?).await
        }
        Err(failure) => Err(failure.into()),
    }
}

/// The remote Secret as it should be.
fn desired(
    mut target: Secret,
    source: &PushSource,
    data: &PushData,
    envelope: &Envelope,
) -> Result<Secret, ProviderError> {
    let (labels, annotations) = envelope.of_source(source)?;
    envelope.onto(&mut target, labels, annotations)?;
    target.type_ = Some(
        source
            .secret_type
            .clone()
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| "Opaque".to_owned()),
    );
    let (key, property) = (&data.match_.secret_key, &data.match_.remote_ref.property);
    if property.is_empty() {
        let all = source
            .data
            .iter()
            .map(|(key, value)| (key.clone(), ByteString(value.expose().to_vec())));
        target.data = Some(all.collect());
        return Ok(target);
    }
    let bytes = if key.is_empty() {
        json_of_data(&source.data).to_vec()
    } else {
        source
            .data
            .get(key)
            .map(|value| value.expose().to_vec())
            .unwrap_or_default()
    };
    target
        .data
        .get_or_insert_default()
        .insert(property.clone(), ByteString(bytes));
    Ok(target)
}

/// Kubernetes's semantic equality: an absent map and an empty one are equal.
fn same(left: &Secret, right: &Secret) -> bool {
    fn map<V: PartialEq>(left: Option<&BTreeMap<String, V>>, right: Option<&BTreeMap<String, V>>) -> bool {
        match (left, right) {
            (Some(left), Some(right)) => left == right,
            (Some(one), None) | (None, Some(one)) => one.is_empty(),
            (None, None) => true,
        }
    }
    left.type_ == right.type_
        && map(left.data.as_ref(), right.data.as_ref())
        && map(left.metadata.labels.as_ref(), right.metadata.labels.as_ref())
        && map(left.metadata.annotations.as_ref(), right.metadata.annotations.as_ref())
}

fn params() -> PostParams {
    PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    }
}

async fn create(provider: &Kubernetes, namespace: &str, secret: &Secret) -> Result<(), ProviderError> {
    let path = Secret::url_path(&(), Some(namespace));
    let call = Call {
        method: "POST",
        verb: "post",
        path,
        resource: "secrets",
        name: "",
    };
    let request = move |client| {
        async move {
            Api::<Secret>::namespaced(client, namespace)
                .create(&params(), secret)
                .await
        }
        .boxed()
    };
    provider.call(call, request).await?;
    Ok(())
}

async fn replace(provider: &Kubernetes, namespace: &str, secret: &Secret) -> Result<(), ProviderError> {
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let segment = names::object_segment(name)?;
    let path = format!("{}/{segment}", Secret::url_path(&(), Some(namespace)));
    let call = Call {
        method: "PUT",
        verb: "put",
        path,
        resource: "secrets",
        name,
    };
    let segment = segment.as_str();
    let request = move |client| {
        async move {
            Api::<Secret>::namespaced(client, namespace)
                .replace(segment, &params(), secret)
                .await
        }
        .boxed()
    };
    provider.call(call, request).await?;
    Ok(())
}

/// Deletes a remote Secret, or one of its keys; the last key takes the Secret along. Absent is success.
pub async fn delete(provider: &Kubernetes, remote: &PushRemoteRef) -> Result<(), ProviderError> {
    let mut secret = match provider.read_secret(&remote.remote_key).await {
        Ok(found) => found,
        Err(failure) if failure.is_not_found() => return Ok(()),
        Err(failure) => return Err(failure.into()),
    };
    if !remote.property.is_empty() {
        let data = secret.data.get_or_insert_default();
        if data.remove(&remote.property).is_none() {
            return Ok(());
        }
        if !data.is_empty() {
            return replace(provider, provider.namespace(), &secret).await;
        }
    }
    remove(provider, &remote.remote_key).await
}

async fn remove(provider: &Kubernetes, name: &str) -> Result<(), ProviderError> {
    let namespace = provider.namespace();
    let segment = names::object_segment(name)?;
    let path = format!("{}/{segment}", Secret::url_path(&(), Some(namespace)));
    let call = Call {
        method: "DELETE",
        verb: "delete",
        path,
        resource: "secrets",
        name,
    };
    let segment = segment.as_str();
    let request = move |client| {
        async move {
            Api::<Secret>::namespaced(client, namespace)
                .delete(segment, &DeleteParams::default())
                .await
        }
        .boxed()
    };
    match provider.call(call, request).await {
        Ok(_) => Ok(()),
        Err(failure) if failure.is_not_found() => Ok(()),
        Err(failure) => Err(failure.into()),
    }
}

/// Whether the Secret is there and, with a property, that key.
pub async fn exists(provider: &Kubernetes, remote: &PushRemoteRef) -> Result<bool, ProviderError> {
    match provider.read_secret(&remote.remote_key).await {
        Ok(found) => Ok(remote.property.is_empty() || has_key(&found, &remote.property)),
        Err(ApiFailure { code: 404, .. }) => Ok(false),
        Err(failure) => Err(failure.into()),
    }
}

fn has_key(secret: &Secret, key: &str) -> bool {
    secret.data.as_ref().is_some_and(|data| data.contains_key(key))
}

/// As [`exists`], where the envelope says.
pub async fn exists_entry(provider: &Kubernetes, data: &PushData) -> Result<bool, ProviderError> {
    let found = read_entry(provider, data).await?;
    let property = &data.match_.remote_ref.property;
    Ok(found.is_some_and(|secret| property.is_empty() || has_key(&secret, property)))
}

/// UID of the remote Secret.
pub async fn identity(provider: &Kubernetes, data: &PushData) -> Result<Option<String>, ProviderError> {
    Ok(read_entry(provider, data).await?.and_then(|secret| secret.metadata.uid))
}

/// What [`push`] would do.
pub async fn preview(provider: &Kubernetes, source: &PushSource, data: &PushData) -> Result<Preview, ProviderError> {
    let Some(found) = read_entry(provider, data).await? else {
        return Ok(Preview::Create);
    };
    let wanted = desired(found.clone(), source, data, &Envelope::parse(data)?)?;
    Ok(if same(&found, &wanted) {
        Preview::Unchanged
    } else {
        Preview::Update
    })
}

async fn read_entry(provider: &Kubernetes, data: &PushData) -> Result<Option<Secret>, ProviderError> {
    let envelope = Envelope::parse(data)?;
    match provider
        .read_secret_in(envelope.namespace(provider)?, &data.match_.remote_ref.remote_key)
        .await
    {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

/// Takes back what pushes wrote, by the evidence of `managedFields`: only keys the pushing manager owns alone, and the
/// Secret itself only if that manager made it and nothing of anybody else is left in it.
pub async fn delete_written(provider: &Kubernetes, data: &PushData) -> Result<Deletion, ProviderError> {
    let Some(mut secret) = read_entry(provider, data).await? else {
        return Ok(Deletion::Done);
    };
    let envelope = Envelope::parse(data)?;
    let namespace = envelope.namespace(provider)?;
    let property = &data.match_.remote_ref.property;
    let evidence = Evidence::of(&secret);
    let held = secret.data.take().unwrap_or_default();
    let asked = |key: &String| property.is_empty() || key == property;
    if !property.is_empty() && !held.contains_key(property) {
        return Ok(Deletion::Done);
    }
    let (gone, left): (BTreeMap<_, _>, BTreeMap<_, _>) = held
        .into_iter()
        .partition(|(key, _)| asked(key) && evidence.is_ours(key));
    let foreign = left.keys().any(asked);
    if left.is_empty() && evidence.made {
        delete_exactly(provider, namespace, &secret).await?;
        return Ok(Deletion::Done);
    }
    if gone.is_empty() {
        return Ok(Deletion::Left(
            "managedFields show that something else wrote it".to_owned(),
        ));
    }
    secret.data = Some(left);
    replace(provider, namespace, &secret).await?;
    Ok(if foreign {
        Deletion::Left("managedFields show that something else wrote some of its keys".to_owned())
    } else {
        Deletion::Done
    })
}

/// Who wrote what of a Secret.
#[derive(Debug, Default)]
struct Evidence {
    /// The pushing manager set the type, so it made the Secret.
    made: bool,
    ours: BTreeSet<String>,
    others: BTreeSet<String>,
}

impl Evidence {
    fn of(secret: &Secret) -> Self {
        let mut evidence = Self::default();
        for entry in secret.metadata.managed_fields.iter().flatten() {
            let Some(fields) = entry.fields_v1.as_ref().map(|f| &f.0) else {
                continue;
            };
            let ours = entry.manager.as_deref() == Some(MANAGER);
            evidence.made |= ours && fields.get("f:type").is_some();
            let keys = fields.get("f:data").and_then(serde_json::Value::as_object);
            let keys = keys
                .into_iter()
                .flat_map(|o| o.keys())
                .filter_map(|k| k.strip_prefix("f:"))
                .map(str::to_owned);
            if ours {
                evidence.ours.extend(keys);
            } else {
                evidence.others.extend(keys);
            }
        }
        evidence
    }

    fn is_ours(&self, key: &str) -> bool {
        self.ours.contains(key) && !self.others.contains(key)
    }
}

/// Deletes the Secret as it was read, and no later state of it.
async fn delete_exactly(provider: &Kubernetes, namespace: &str, secret: &Secret) -> Result<(), ProviderError> {
    let name = secret.metadata.name.as_deref().unwrap_or_default();
    let segment = names::object_segment(name)?;
    let path = format!("{}/{segment}", Secret::url_path(&(), Some(namespace)));
    let call = Call {
        method: "DELETE",
        verb: "delete",
        path,
        resource: "secrets",
        name,
    };
    let preconditions = Preconditions {
        uid: secret.metadata.uid.clone(),
        resource_version: secret.metadata.resource_version.clone(),
    };
    let params = DeleteParams {
        preconditions: Some(preconditions),
        ..DeleteParams::default()
    };
    let (segment, params) = (segment.as_str(), &params);
    let request = move |client| {
        async move {
            Api::<Secret>::namespaced(client, namespace)
                .delete(segment, params)
                .await
        }
        .boxed()
    };
    match provider.call(call, request).await {
        Ok(_) => Ok(()),
        Err(failure) if failure.is_not_found() => Ok(()),
        Err(failure) => Err(failure.into()),
    }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
