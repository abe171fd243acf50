//! The Secret of an ExternalSecret: look, fetch, build, write.

use std::sync::Arc;

use super::fetch::{self, FetchError};
use super::outcome::{FETCH_FAILED, Outcome, Retry, WRITE_FAILED};
use super::pass::Pass;
use super::sources;
use crate::api::external_secret::{CreationPolicy, ExternalSecretSpec, ExternalSecretStatus};
use crate::cluster::error::ClusterError;
use crate::cluster::rest::SECRETS;
use crate::secret::SecretData;
use crate::sync::context::Context;
use crate::sync::event::Change;
use crate::sync::objects::{NamespaceMeta, SecretEntry};
use crate::sync::recorder::Severity;
use crate::target::build::{self, BuildError, Writer, target_name};
use crate::target::decide::{self, Empty, Update};
use crate::target::refresh::Due;
use crate::target::{TargetSecret, names};

/// The target as far as it is known without asking, or asked.
enum Look {
    /// It exists.
    Found(Arc<SecretEntry>),
    /// Not among managed Secrets; perhaps it exists without the label.
    Unknown,
    /// It does not exist.
    Missing,
}

impl Look {
    fn secret(&self) -> Option<&TargetSecret> {
        match self {
            Self::Found(entry) => Some(&entry.0),
            Self::Unknown | Self::Missing => None,
        }
    }
}

/// Steps 8 to 15 for a Secret target.
pub async fn sync(pass: &Pass<'_>, spec: &ExternalSecretSpec, status: &mut ExternalSecretStatus) -> Outcome {
    match steps(pass, spec, status).await {
        Ok(outcome) | Err(outcome) => outcome,
    }
}

async fn steps(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    status: &mut ExternalSecretStatus,
) -> Result<Outcome, Outcome> {
    let policy = &spec.target.creation_policy;
    let mut look = known(pass, spec);
    let due = pass.due(spec);
    if due != Due::Yes {
        if only_unlabelled(pass, spec).await? {
            return Ok(Outcome::NotDue {
                held_back: due == Due::HeldBack,
            });
        }
        if matches!(look, Look::Unknown) && *policy != CreationPolicy::Orphan {
            look = ask(pass, spec).await?;
        }
        if decide::is_valid(policy, look.secret()) {
            return Ok(Outcome::NotDue {
                held_back: due == Due::HeldBack,
            });
        }
    }
    let data = match fetch::provider_data(pass, spec).await {
        Ok(data) => data,
        Err(error) => {
            adopt(pass, spec, &mut look).await?;
            return Err(fetch_outcome(error));
        }
    };
    if data.is_empty()
        && let Some(outcome) = empty(pass, spec, &mut look).await?
    {
        return Ok(outcome);
    }
    write(pass, spec, status, look, data).await
}

fn fetch_outcome(error: FetchError) -> Outcome {
    match error {
        FetchError::Parked => Outcome::Parked,
        FetchError::Failed { message, retry } => Outcome::Failed {
            reason: super::outcome::ERROR,
            message: FETCH_FAILED,
            cause: message,
            retry,
        },
    }
}

fn known(pass: &Pass<'_>, spec: &ExternalSecretSpec) -> Look {
    let object = &pass.object;
    match pass
        .cx
        .secrets
        .get(object.namespace(), target_name(spec, object.name()))
    {
        Some(entry) => Look::Found(entry),
        None => Look::Unknown,
    }
}

/// True if the target left the watch because somebody took its label off: that alone is no reason for a pass (recorded);
/// the next one, whatever brings it, adopts the Secret again.
async fn only_unlabelled(pass: &Pass<'_>, spec: &ExternalSecretSpec) -> Result<bool, Outcome> {
    let (namespace, name) = (pass.object.namespace(), target_name(spec, pass.object.name()));
    let Some(uid) = pass.cx.memory.take_vanished(namespace, name) else {
        return Ok(false);
    };
    let found: Option<NamespaceMeta> = pass
        .cx
        .rest
        .get_metadata_opt(&SECRETS.object(namespace, name))
        .await
        .map_err(|e| Outcome::ApiError(e.to_string()))?;
    let labelled = |labels: &std::collections::BTreeMap<String, String>| {
        labels.get(names::MANAGED_LABEL).is_some_and(|v| v == "true")
    };
    Ok(found.is_some_and(|s| s.metadata.uid == uid && !s.metadata.labels.as_ref().is_some_and(labelled)))
}

/// Reads the target live; one without the label is labelled at once, whatever the policy, before anybody asks who owns it.
async fn ask(pass: &Pass<'_>, spec: &ExternalSecretSpec) -> Result<Look, Outcome> {
    let (namespace, name) = (pass.object.namespace(), target_name(spec, pass.object.name()));
    let found = read_live(pass.cx, namespace, name)
        .await
        .map_err(|e| Outcome::ApiError(e.to_string()))?;
    let Some(secret) = found else { return Ok(Look::Missing) };
    if secret.is_labelled() {
        return Ok(Look::Found(pass.cx.secrets.put(SecretEntry(secret))));
    }
    let manager = names::field_manager(pass.object.name());
    match pass
        .cx
        .writer
        .label_secret(namespace, name, names::MANAGED_LABEL, &manager)
        .await
    {
        Ok(Some(bytes)) => take_in(pass.cx, &bytes)
            .map(Look::Found)
            .map_err(|e| Outcome::ApiError(e.to_string())),
        Ok(None) => Ok(Look::Found(Arc::new(SecretEntry(secret)))),
        Err(error) if error.is_not_found() => Ok(Look::Missing),
        Err(error) => Err(Outcome::ApiError(error.to_string())),
    }
}

/// Where the pass ends without a write, a target that may exist without the label must get it all the same.
async fn adopt(pass: &Pass<'_>, spec: &ExternalSecretSpec, look: &mut Look) -> Result<(), Outcome> {
    if matches!(look, Look::Unknown) {
        *look = ask(pass, spec).await?;
    }
    Ok(())
}

/// The Secret, read now.
///
/// # Errors
/// As the server says.
pub async fn read_live(cx: &Context, namespace: &str, name: &str) -> Result<Option<TargetSecret>, ClusterError> {
    match cx
        .rest
        .call(http::Method::GET, &SECRETS.object(namespace, name), None, Vec::new())
        .await
    {
        Ok(bytes) => TargetSecret::from_json(&bytes)
            .map(Some)
            .map_err(|message| ClusterError::Decode { message }),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

fn take_in(cx: &Context, bytes: &[u8]) -> Result<Arc<SecretEntry>, ClusterError> {
    let secret = TargetSecret::from_json(bytes).map_err(|message| ClusterError::Decode { message })?;
    Ok(cx.secrets.put(SecretEntry(secret)))
}

/// The provider has nothing at all. `None`: go on with no keys.
async fn empty(pass: &Pass<'_>, spec: &ExternalSecretSpec, look: &mut Look) -> Result<Option<Outcome>, Outcome> {
    let (namespace, name) = (pass.object.namespace(), target_name(spec, pass.object.name()));
    match decide::empty(spec) {
        Empty::Continue => Ok(None),
        Empty::Retain => {
            adopt(pass, spec, look).await?;
            let message = "secret retained due to DeletionPolicy=Retain";
            Ok(Some(Outcome::Done {
                reason: super::outcome::SYNCED,
                message,
                change: Change::NotWritten,
            }))
        }
        Empty::NotOwner => {
            adopt(pass, spec, look).await?;
            let policy = &spec.target.creation_policy;
            let cause = format!("unable to delete secret {name}: creationPolicy={policy} is not Owner");
            Ok(Some(Outcome::refused("could not delete secret", cause)))
        }
        Empty::Delete => {
            let reason = "secret deleted due to DeletionPolicy=Delete";
            let existed = match pass.cx.writer.delete(&SECRETS, namespace, name, "").await {
                Ok(existed) => existed,
                Err(error) => return Ok(Some(Outcome::failed("could not delete secret", error.to_string()))),
            };
            pass.cx.secrets.remove(namespace, name);
            let change = if existed { Change::Deleted } else { Change::NotWritten };
            if existed {
                pass.event(Severity::Normal, "Deleted", reason);
            }
            Ok(Some(Outcome::Done {
                reason: "SecretDeleted",
                message: reason,
                change,
            }))
        }
    }
}

/// Step 14: what the creation policy says.
async fn write(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    status: &mut ExternalSecretStatus,
    mut look: Look,
    data: SecretData,
) -> Result<Outcome, Outcome> {
    let policy = &spec.target.creation_policy;
    match policy {
        CreationPolicy::None => {
            adopt(pass, spec, &mut look).await?;
            return Ok(Outcome::synced(Change::NotWritten));
        }
        CreationPolicy::Merge => {
            adopt(pass, spec, &mut look).await?;
            if look.secret().is_none() {
                let message = "secret will not be created due to CreationPolicy=Merge";
                return Ok(Outcome::Done {
                    reason: "SecretMissing",
                    message,
                    change: Change::NotWritten,
                });
            }
        }
        CreationPolicy::Owner | CreationPolicy::Orphan | CreationPolicy::CreateOrMerge | CreationPolicy::Other(_) => {}
    }
    let change = match look {
        Look::Found(entry) => update(pass, spec, status, &entry.0, data).await?,
        Look::Unknown | Look::Missing => create(pass, spec, status, data).await?,
    };
    if *policy == CreationPolicy::Owner {
        delete_orphans(pass, spec).await?;
    }
    Ok(Outcome::synced(change))
}

async fn create(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    status: &mut ExternalSecretStatus,
    data: SecretData,
) -> Result<Change, Outcome> {
    let desired = make(pass, spec, None, &data)
        .await
        .map_err(|e| Outcome::failed(WRITE_FAILED, e.text))?;
    let (namespace, name) = (pass.object.namespace(), desired.name.as_str());
    let manager = names::field_manager(pass.object.name());
    match pass
        .cx
        .writer
        .create(&SECRETS, namespace, name, desired.to_json(), &manager)
        .await
    {
        Ok(answer) => {
            if let Some(bytes) = answer
                && let Err(error) = take_in(pass.cx, &bytes)
            {
                tracing::debug!(%error, "the created Secret could not be read back");
            }
            name.clone_into(&mut status.binding.name);
            pass.event(Severity::Normal, "Created", "secret created");
            Ok(Change::Created)
        }
        Err(error) if error.is_already_exists() => match ask(pass, spec).await? {
            Look::Found(entry) => update(pass, spec, status, &entry.0, data).await,
            Look::Unknown | Look::Missing => Err(Outcome::Conflict),
        },
        Err(error) => Err(write_failed(&error, withheld(&error.to_string()))),
    }
}

/// The server hides a value it refuses, and may quote a piece of it right after; that piece is hidden too.
fn withheld(text: &str) -> String {
    const MARK: &str = "<secret contents redacted>\"";
    let Some((before, after)) = text.split_once(MARK) else {
        return text.to_owned();
    };
    let mut out = format!("{before}{MARK}");
    let mut quote = None;
    for c in after.chars() {
        match quote {
            Some(open) if c == open => {
                out.push('…');
                out.push(c);
                quote = None;
            }
            Some(_) => {}
            None => {
                out.push(c);
                quote = matches!(c, '\'' | '"' | '`').then_some(c);
            }
        }
    }
    out
}

fn write_failed(error: &ClusterError, cause: String) -> Outcome {
    match error {
        e if e.is_conflict() => Outcome::Conflict,
        ClusterError::Api {
            retry_after: Some(seconds),
            ..
        } => Outcome::Failed {
            reason: super::outcome::ERROR,
            message: WRITE_FAILED,
            cause,
            retry: Retry::AtLeast(std::time::Duration::from_secs(*seconds)),
        },
        _ => Outcome::failed(WRITE_FAILED, cause),
    }
}

async fn update(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    status: &mut ExternalSecretStatus,
    existing: &TargetSecret,
    data: SecretData,
) -> Result<Change, Outcome> {
    existing.name.clone_into(&mut status.binding.name);
    let desired = make(pass, spec, Some(existing), &data)
        .await
        .map_err(|e| mutate_failed(&existing.name, e))?;
    match decide::update(existing, desired) {
        Update::Keep => Ok(Change::Unchanged),
        Update::Replace(secret) => {
            replace(pass, &secret).await?;
            pass.event(Severity::Normal, "Updated", "secret updated");
            Ok(Change::Updated)
        }
        Update::Metadata(secret) => {
            replace(pass, &secret).await?;
            Ok(Change::Updated)
        }
        Update::Refused(metadata) => {
            if let Some(secret) = metadata {
                replace(pass, &secret).await?;
            }
            let cause = format!("unable to update secret {}: secret is immutable", existing.name);
            Err(Outcome::refused("could not update secret, target is immutable", cause))
        }
    }
}

async fn replace(pass: &Pass<'_>, secret: &TargetSecret) -> Result<(), Outcome> {
    let manager = names::field_manager(pass.object.name());
    let (namespace, name) = (secret.namespace.as_str(), secret.name.as_str());
    match pass
        .cx
        .writer
        .replace(&SECRETS, namespace, name, secret.to_json(), &manager)
        .await
    {
        Ok(Some(bytes)) => {
            if let Err(error) = take_in(pass.cx, &bytes) {
                tracing::debug!(%error, "the written Secret could not be read back");
            }
            Ok(())
        }
        Ok(None) => Ok(()),
        Err(error) => {
            if error.is_not_found() {
                pass.cx.secrets.remove(namespace, name);
                return Err(Outcome::Conflict);
            }
            Err(write_failed(
                &error,
                format!("unable to update secret {name}: {}", withheld(&error.to_string())),
            ))
        }
    }
}

/// Why no Secret could be made, in ESO's words.
struct MakeError {
    text: String,
    kind: MakeErrorKind,
}

enum MakeErrorKind {
    Template,
    OtherExternalSecret,
    OtherController,
}

async fn make(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    existing: Option<&TargetSecret>,
    data: &SecretData,
) -> Result<TargetSecret, MakeError> {
    let rendered = if build::is_frozen(spec, existing) {
        pass.warn("target.immutable: the existing Secret keeps its content".to_owned());
        None
    } else {
        let template = |text| MakeError {
            text: format!("could not apply template: {text}"),
            kind: MakeErrorKind::Template,
        };
        Some(sources::render(pass, spec, existing, data).await.map_err(template)?)
    };
    build::build(spec, Writer::of(&pass.object), existing, rendered).map_err(|error| {
        let kind = match error {
            BuildError::OtherExternalSecret { .. } => MakeErrorKind::OtherExternalSecret,
            BuildError::OtherController { .. } => MakeErrorKind::OtherController,
        };
        MakeError {
            text: error.to_string(),
            kind,
        }
    })
}

fn mutate_failed(name: &str, error: MakeError) -> Outcome {
    let cause = format!("unable to mutate secret {name}: {}", error.text);
    match error.kind {
        MakeErrorKind::Template => Outcome::failed(WRITE_FAILED, cause),
        MakeErrorKind::OtherExternalSecret => Outcome::refused("target is owned by another ExternalSecret", cause),
        MakeErrorKind::OtherController => Outcome::refused("failed to take ownership of target secret", cause),
    }
}

/// Secrets we made under an earlier target name go once the new one exists. ESO deletes first and may lose both.
async fn delete_orphans(pass: &Pass<'_>, spec: &ExternalSecretSpec) -> Result<(), Outcome> {
    let (namespace, own) = (pass.object.namespace(), pass.object.name());
    let current = target_name(spec, own);
    let owner = names::owner_hash(namespace, own);
    for name in pass.cx.index.owned_by(namespace, &owner) {
        if &*name == current {
            continue;
        }
        match pass.cx.writer.delete(&SECRETS, namespace, &name, "").await {
            Ok(_) => {
                pass.cx.secrets.remove(namespace, &name);
                pass.event(Severity::Normal, "Deleted", "secret deleted because it was orphaned");
            }
            Err(error) => return Err(Outcome::failed("could not delete orphaned secrets", error.to_string())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::withheld;

    #[test]
    fn a_quoted_piece_of_a_refused_value_is_hidden() {
        let server = r#"Secret "es" is invalid: data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid character 'c' looking for beginning of value"#;
        let shown = withheld(server);
        assert!(
            shown.ends_with(r#""<secret contents redacted>": invalid character '…' looking for beginning of value"#)
        );
        assert_eq!(
            withheld("data[a/b]: Invalid value: \"a/b\""),
            "data[a/b]: Invalid value: \"a/b\""
        );
    }
}
