//! Templates: the ConfigMaps and Secrets they draw on are read now, the rest is the template room's work.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use zeroize::Zeroizing;

use super::pass::Pass;
use crate::api::external_secret::{
    DecodingStrategy, ExternalSecretSpec, Template, TemplateFrom, TemplateMergePolicy, TemplateRef, TemplateScope,
};
use crate::cluster::error::ClusterError;
use crate::cluster::rest::CONFIG_MAPS;
use crate::provider::PushSource;
use crate::secret::rewrite::TemplateFault;
use crate::secret::{SecretData, SecretValue};
use crate::sync::context::Context;
use crate::target::TargetSecret;
use crate::target::build::{self, existing_view, keeps_data, managed_keys};
use crate::template::{
    self, Blueprint, Decoding, Delimiters, ExistingSecret, ManagedKeys, ManifestInput, Origin, RandomSource,
    RenderInput, Rendered, Scope, SourceItem, SourceRef, Sources, Surroundings, TemplateError,
};

/// The system's randomness, for templates that make passwords and keys.
struct SystemRandom;

impl RandomSource for SystemRandom {
    fn fill(&mut self, out: &mut [u8]) {
        getrandom::fill(out).expect("the operating system gives randomness to every process");
    }
}

fn now() -> (i64, u32) {
    let now = Timestamp::now();
    (
        now.as_second(),
        u32::try_from(now.subsec_nanosecond()).unwrap_or_default(),
    )
}

/// What the Secret should hold.
///
/// # Errors
/// ESO's text, without the prefix `could not apply template: `.
pub async fn render(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    existing: Option<&TargetSecret>,
    data: &SecretData,
) -> Result<Rendered, String> {
    let blueprint = spec.target.template.as_ref().map(blueprint);
    let sources = read_sources(pass.cx, pass.object.namespace(), spec.target.template.as_ref()).await?;
    let meta = &pass.object.metadata;
    let (labels, annotations) = (
        meta.labels.clone().unwrap_or_default(),
        meta.annotations.clone().unwrap_or_default(),
    );
    let existing_secret = existing.map(|secret| existing_view(spec, secret));
    let managed = existing.map_or_else(ManagedKeys::default, |secret| managed_keys(secret, pass.object.name()));
    let input = RenderInput {
        fetched: &build::secret_map(data),
        blueprint: blueprint.as_ref(),
        labels: &labels,
        annotations: &annotations,
        sources: &sources,
        existing: existing_secret.as_ref(),
        managed: &managed,
        keep_existing_data: keeps_data(spec),
        delimiters: &Delimiters::default(),
    };
    let surroundings = Surroundings {
        now: now(),
        random: &mut SystemRandom,
    };
    template::render(&input, surroundings).map_err(|error| shown(&error))
}

/// A target of another kind, without owner and hash.
///
/// # Errors
/// ESO's text.
pub async fn render_manifest(
    pass: &Pass<'_>,
    spec: &ExternalSecretSpec,
    base: Option<&Value>,
    data: &SecretData,
    name: &str,
) -> Result<Value, String> {
    let manifest = spec.target.manifest.clone().unwrap_or_default();
    let blueprint = spec.target.template.as_ref().map(blueprint);
    let sources = read_sources(pass.cx, pass.object.namespace(), spec.target.template.as_ref()).await?;
    let meta = &pass.object.metadata;
    let (labels, annotations) = (
        meta.labels.clone().unwrap_or_default(),
        meta.annotations.clone().unwrap_or_default(),
    );
    let input = ManifestInput {
        api_version: &manifest.api_version,
        kind: &manifest.kind,
        name,
        namespace: pass.object.namespace(),
        base,
        fetched: &build::secret_map(data),
        blueprint: blueprint.as_ref(),
        labels: &labels,
        annotations: &annotations,
        sources: &sources,
        delimiters: &Delimiters::default(),
    };
    let surroundings = Surroundings {
        now: now(),
        random: &mut SystemRandom,
    };
    template::render_manifest(&input, surroundings).map_err(|error| shown(&error))
}

/// A PushSecret's template over one source: the source's keys and metadata stay, the rendered ones win, the type is the
/// template's even where that is empty. The rules against privileged Secrets do not apply here (as in ESO).
///
/// # Errors
/// ESO's text.
pub async fn render_push(
    cx: &Context,
    namespace: &str,
    template: &Template,
    source: &PushSource,
) -> Result<PushSource, String> {
    let mut blueprint = blueprint(template);
    blueprint.secret_type = String::new();
    blueprint.engine_version = String::new();
    blueprint.finalizers.clear();
    let sources = read_sources(cx, namespace, Some(template)).await?;
    let fetched = build::secret_map(&source.data);
    let existing = ExistingSecret {
        data: fetched.clone(),
        labels: source.labels.clone(),
        annotations: source.annotations.clone(),
        ..ExistingSecret::default()
    };
    let input = RenderInput {
        fetched: &fetched,
        blueprint: Some(&blueprint),
        labels: &BTreeMap::new(),
        annotations: &BTreeMap::new(),
        sources: &sources,
        existing: Some(&existing),
        managed: &ManagedKeys::default(),
        keep_existing_data: true,
        delimiters: &Delimiters::default(),
    };
    let surroundings = Surroundings {
        now: now(),
        random: &mut SystemRandom,
    };
    let rendered = template::render(&input, surroundings).map_err(|error| shown(&error))?;
    Ok(PushSource {
        name: source.name.clone(),
        secret_type: Some(template.type_.clone()),
        labels: rendered.labels,
        annotations: rendered.annotations,
        data: rendered
            .data
            .into_iter()
            .map(|(key, value)| (key, SecretValue::new(value.to_vec())))
            .collect(),
    })
}

/// ESO's text of an error where it repeats nothing that was fetched, else our own.
///
/// A text names the whole template where that renders to many keys; one that comes from a Secret is never shown.
fn shown(error: &TemplateError) -> String {
    let from_secret = matches!(error.origin, Some(Origin::Secret(_)));
    let mut text = if !from_secret && error.go_text().contains(&error.message) {
        error.go_text().to_owned()
    } else {
        error.to_string()
    };
    if text.is_empty() {
        text.clone_from(&error.message);
    }
    text
}

/// Runs a rewrite's template for one key.
///
/// # Errors
/// The template's fault.
pub fn transform(text: &str, key: &str) -> Result<String, TemplateFault> {
    let one = BTreeMap::from([(key.to_owned(), Zeroizing::new(Vec::new()))]);
    let surroundings = Surroundings {
        now: now(),
        random: &mut SystemRandom,
    };
    let renamed = template::transform_keys(text, &one, surroundings).map_err(|error| fault(&error, key))?;
    Ok(renamed.into_keys().next().unwrap_or_default())
}

/// Keys are no secrets, so ESO's text can stand; only its prefix is taken off, because the rewrite adds its own.
fn fault(error: &TemplateError, key: &str) -> TemplateFault {
    let text = error.go_text();
    if let Some(rest) = text.strip_prefix("transform failed with failed to parse template: ") {
        return TemplateFault::Parse(rest.to_owned());
    }
    let prefix = format!(
        "transform failed with failed to execute template for key {}: ",
        crate::lang::unicode::quote(key.as_bytes())
    );
    TemplateFault::Execute(text.strip_prefix(&prefix).unwrap_or(text).to_owned())
}

fn blueprint(template: &Template) -> Blueprint {
    Blueprint {
        engine_version: template.engine_version.clone(),
        secret_type: template.type_.clone(),
        merge: template.merge_policy == TemplateMergePolicy::Merge,
        labels: template.metadata.labels.clone(),
        annotations: template.metadata.annotations.clone(),
        finalizers: template.metadata.finalizers.clone(),
        data: template.data.clone(),
        template_from: template.template_from.iter().map(entry).collect(),
    }
}

fn entry(from: &TemplateFrom) -> template::TemplateFrom {
    template::TemplateFrom {
        target: Some(from.target.clone()),
        literal: from.literal.clone(),
        config_map: from.config_map.as_ref().map(source),
        secret: from.secret.as_ref().map(source),
        decoding: match from.values_decoding_strategy {
            DecodingStrategy::Base64 => Decoding::Base64,
            DecodingStrategy::Base64URL => Decoding::Base64Url,
            DecodingStrategy::Auto => Decoding::Auto,
            DecodingStrategy::None | DecodingStrategy::Other(_) => Decoding::None,
        },
    }
}

fn source(reference: &TemplateRef) -> SourceRef {
    let scope = |s: &TemplateScope| {
        if *s == TemplateScope::KeysAndValues {
            Scope::KeysAndValues
        } else {
            Scope::Values
        }
    };
    SourceRef {
        name: reference.name.clone(),
        items: reference
            .items
            .iter()
            .map(|i| SourceItem {
                key: i.key.clone(),
                scope: scope(&i.template_as),
            })
            .collect(),
    }
}

#[derive(Deserialize)]
struct ConfigMapData {
    #[serde(default)]
    data: Option<BTreeMap<String, String>>,
}

/// Everything `templateFrom` names, as far as it exists; what is missing is the template room's error, at its place.
async fn read_sources(cx: &Context, namespace: &str, template: Option<&Template>) -> Result<Sources, String> {
    let mut sources = Sources::default();
    for from in template.map(|t| t.template_from.as_slice()).unwrap_or_default() {
        if let Some(reference) = &from.config_map
            && !sources.config_maps.contains_key(&reference.name)
        {
            let read: Result<Option<ConfigMapData>, ClusterError> =
                cx.rest.get_opt(&CONFIG_MAPS.object(namespace, &reference.name)).await;
            if let Some(found) = read.map_err(unreadable)? {
                sources
                    .config_maps
                    .insert(reference.name.clone(), found.data.unwrap_or_default());
            }
        }
        if let Some(reference) = &from.secret
            && !sources.secrets.contains_key(&reference.name)
        {
            let read = super::target::read_live(cx, namespace, &reference.name).await;
            if let Some(found) = read.map_err(unreadable)? {
                sources
                    .secrets
                    .insert(reference.name.clone(), build::secret_map(&found.data));
            }
        }
    }
    Ok(sources)
}

#[expect(clippy::needless_pass_by_value, reason = "used as a mapping of errors")]
fn unreadable(error: ClusterError) -> String {
    format!("error fetching templateFrom data: {error}")
}
