//! The whole Secret: what is kept, what is copied, what is rendered, and who wins.

use std::borrow::Cow;

use zeroize::Zeroizing;

use super::engine::format::quote::quoted;
use super::engine::utf8;
use super::error::{Origin, Place, TemplateError};
use super::path;
use super::scope::Renderer;
use super::{
    Blueprint, Decoding, RenderInput, Rendered, Scope, SourceRef, Sources, Surroundings, Target, TemplateFrom, TextMap,
};

const BOOTSTRAP_TOKEN: &str = "bootstrap.kubernetes.io/token";
const SERVICE_ACCOUNT_TOKEN: &str = "kubernetes.io/service-account-token";
const SERVICE_ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const SOURCE_LAYER: &str = "error fetching templateFrom data: ";
const TEMPLATE_LAYER: &str = "could not execute template: could not execute template: ";

/// Renders a Secret.
///
/// # Errors
/// The template asks for a privileged Secret, a source or one of its keys is missing, or a template failed. Nothing
/// may be written then.
pub fn render(input: &RenderInput<'_>, surroundings: Surroundings<'_>) -> Result<Rendered, TemplateError> {
    if let Some(blueprint) = input.blueprint {
        reject_privileged(blueprint)?;
    }
    let mut rendered = base(input);
    let Some(blueprint) = input.blueprint else {
        copy_fetched(input, &mut rendered);
        return Ok(rendered);
    };
    if !matches!(blueprint.engine_version.as_str(), "" | "v2") {
        return Err(TemplateError::plain(format!("unsupported template engine version: {}", blueprint.engine_version)));
    }
    if !blueprint.secret_type.is_empty() {
        rendered.secret_type.clone_from(&blueprint.secret_type);
    }
    if blueprint.merge || (blueprint.data.is_empty() && blueprint.template_from.is_empty()) {
        copy_fetched(input, &mut rendered);
    }
    let mut renderer = Renderer::new(input.fetched, input.delimiters, surroundings);
    for (index, entry) in blueprint.template_from.iter().enumerate() {
        apply_entry(&mut renderer, entry, index, input.sources, &mut rendered)
            .map_err(|error| error.wrapped(SOURCE_LAYER))?;
    }
    for (key, text) in &blueprint.data {
        let value = render_key(&mut renderer, key, text, Origin::Data)?;
        rendered.data.insert(key.clone(), value);
    }
    render_metadata(&mut renderer, &blueprint.labels, &Origin::Label, &mut rendered.labels)?;
    render_metadata(&mut renderer, &blueprint.annotations, &Origin::Annotation, &mut rendered.annotations)?;
    Ok(rendered)
}

/// Secrets that would give their holder more rights than the provider's data should.
fn reject_privileged(blueprint: &Blueprint) -> Result<(), TemplateError> {
    let kind = blueprint.secret_type.as_str();
    let mut found = Vec::new();
    if kind == BOOTSTRAP_TOKEN {
        found.push(format!("template.type={} is not allowed", quoted(kind.as_bytes())));
    }
    if kind == SERVICE_ACCOUNT_TOKEN {
        let shown = quoted(kind.as_bytes());
        if blueprint.annotations.contains_key(SERVICE_ACCOUNT_NAME) {
            found.push(format!("template.type={shown} with annotation \"{SERVICE_ACCOUNT_NAME}\" is not allowed"));
        }
        for entry in &blueprint.template_from {
            if Target::of(entry.target.as_deref()) == Target::Annotations {
                let target = quoted(entry.target.as_deref().unwrap_or_default().as_bytes());
                found.push(format!("template.type={shown} with templateFrom target={target} is not allowed"));
            }
        }
    }
    for entry in &blueprint.template_from {
        if let Target::Path(text) = Target::of(entry.target.as_deref())
            && !text.is_empty()
        {
            found.push(format!(
                "templateFrom target={} is not allowed when targeting a Secret, \
                 must be one of \"Data\", \"Annotations\" or \"Labels\"",
                quoted(text.as_bytes())
            ));
        }
    }
    if found.is_empty() { Ok(()) } else { Err(TemplateError::plain(found.join("\n"))) }
}

/// What stays of the existing Secret, and metadata that is copied.
fn base(input: &RenderInput<'_>) -> Rendered {
    let existing = input.existing.map_or_else(Cow::default, Cow::Borrowed);
    let mut rendered = Rendered {
        secret_type: existing.secret_type.clone(),
        labels: without(&existing.labels, &input.managed.labels),
        annotations: without(&existing.annotations, &input.managed.annotations),
        finalizers: existing.finalizers.clone(),
        ..Rendered::default()
    };
    if input.keep_existing_data {
        rendered.data = existing.data.clone();
        rendered.data.retain(|key, _| !input.managed.data.contains(key));
    }
    match input.blueprint {
        None => {
            rendered.labels.extend(input.labels.clone());
            rendered.annotations.extend(input.annotations.clone());
        }
        Some(_) if existing.deleting => {}
        Some(blueprint) => {
            for finalizer in &blueprint.finalizers {
                if !rendered.finalizers.contains(finalizer) {
                    rendered.finalizers.push(finalizer.clone());
                }
            }
        }
    }
    rendered
}

fn without(map: &TextMap, keys: &std::collections::BTreeSet<String>) -> TextMap {
    map.iter().filter(|(key, _)| !keys.contains(*key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn copy_fetched(input: &RenderInput<'_>, rendered: &mut Rendered) {
    rendered.data.extend(input.fetched.iter().map(|(key, value)| (key.clone(), value.clone())));
}

fn render_key(
    renderer: &mut Renderer<'_, '_>,
    key: &str,
    text: &str,
    origin: Origin,
) -> Result<Zeroizing<Vec<u8>>, TemplateError> {
    let place = Place { origin, key: Some(key), name: key.as_bytes() };
    renderer.text(text.as_bytes(), &place).map_err(|error| error.wrapped(TEMPLATE_LAYER))
}

fn render_metadata(
    renderer: &mut Renderer<'_, '_>,
    texts: &TextMap,
    origin: &Origin,
    out: &mut TextMap,
) -> Result<(), TemplateError> {
    for (key, text) in texts {
        let value = render_key(renderer, key, text, origin.clone())?;
        out.insert(key.clone(), utf8::lossy(&value));
    }
    Ok(())
}

/// One entry of `templateFrom`: ConfigMap, then Secret, then literal.
fn apply_entry(
    renderer: &mut Renderer<'_, '_>,
    entry: &TemplateFrom,
    index: usize,
    sources: &Sources,
    rendered: &mut Rendered,
) -> Result<(), TemplateError> {
    for part in parts(entry, index, sources)? {
        let pairs = renderer.entries(&part.text, &part.place(), part.scope, part.decoding)?;
        store(rendered, &Target::of(entry.target.as_deref()), pairs)?;
    }
    if let Some(literal) = &entry.literal {
        let pairs = literal_entries(renderer, literal, index, entry.decoding)?;
        store(rendered, &Target::of(entry.target.as_deref()), pairs)?;
    }
    Ok(())
}

/// The keys and values of a literal; its engine name is its own text.
pub(super) fn literal_entries(
    renderer: &mut Renderer<'_, '_>,
    literal: &str,
    index: usize,
    decoding: Decoding,
) -> Result<Vec<(String, Zeroizing<Vec<u8>>)>, TemplateError> {
    let place = Place { origin: Origin::Literal(index), key: None, name: literal.as_bytes() };
    renderer.entries(literal.as_bytes(), &place, Scope::KeysAndValues, decoding)
}

/// One item of a source, ready to render.
pub(super) struct Part {
    pub origin: Origin,
    pub key: String,
    pub text: Zeroizing<Vec<u8>>,
    pub scope: Scope,
    pub decoding: Decoding,
}

impl Part {
    pub(super) fn place(&self) -> Place<'_> {
        let name = if self.scope == Scope::Values { self.key.as_bytes() } else { &self.text };
        Place { origin: self.origin.clone(), key: Some(&self.key), name }
    }
}

/// The items of the ConfigMap and then of the Secret of an entry.
pub(super) fn parts(entry: &TemplateFrom, _index: usize, sources: &Sources) -> Result<Vec<Part>, TemplateError> {
    let mut parts = Vec::new();
    if let Some(source) = &entry.config_map {
        let Some(data) = sources.config_maps.get(&source.name) else { return Err(absent("configmaps", source)) };
        for item in &source.items {
            let text = data.get(&item.key).ok_or_else(|| missing("configmap", source, &item.key))?;
            parts.push(Part {
                origin: Origin::ConfigMap(source.name.clone()),
                key: item.key.clone(),
                text: Zeroizing::new(text.as_bytes().to_vec()),
                scope: item.scope,
                decoding: entry.decoding,
            });
        }
    }
    if let Some(source) = &entry.secret {
        let Some(data) = sources.secrets.get(&source.name) else { return Err(absent("secrets", source)) };
        for item in &source.items {
            let text = data.get(&item.key).ok_or_else(|| missing("secret", source, &item.key))?;
            parts.push(Part {
                origin: Origin::Secret(source.name.clone()),
                key: item.key.clone(),
                text: text.clone(),
                scope: item.scope,
                decoding: entry.decoding,
            });
        }
    }
    Ok(parts)
}

fn absent(resource: &str, source: &SourceRef) -> TemplateError {
    TemplateError::plain(format!("{resource} {} not found", quoted(source.name.as_bytes())))
}

fn missing(kind: &str, source: &SourceRef, key: &str) -> TemplateError {
    TemplateError::plain(format!("error in {kind} {}: missing key {key}", source.name))
}

fn store(
    rendered: &mut Rendered,
    target: &Target,
    pairs: Vec<(String, Zeroizing<Vec<u8>>)>,
) -> Result<(), TemplateError> {
    let metadata = match target {
        Target::Data => {
            rendered.data.extend(pairs);
            return Ok(());
        }
        Target::Labels => &mut rendered.labels,
        Target::Annotations => &mut rendered.annotations,
        // Only the empty text passes the check at the start.
        Target::Path(text) => return path::parse(text).map(|_| ()).map_err(TemplateError::plain),
    };
    metadata.extend(pairs.into_iter().map(|(key, value)| (key, utf8::lossy(&value))));
    Ok(())
}
