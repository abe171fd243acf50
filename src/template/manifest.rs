//! Objects of any kind (`target.manifest`).

use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::engine::functions::yaml;
use super::engine::utf8;
use super::error::{Origin, Place, TemplateError};
use super::path;
use super::scope::Renderer;
use super::secret::{literal_entries, parts};
use super::{
    Blueprint, Decoding, Delimiters, Scope, SecretMap, Sources, Surroundings, Target, TemplateFrom, TextMap,
};

const MANAGED_LABEL: &str = "reconcile.external-secrets.io/managed";
const LITERAL_LAYER: &str = "failed to execute literal template: ";
const TEMPLATE_LAYER: &str = "failed to execute template: ";

/// Everything an object of any kind is rendered from.
pub struct ManifestInput<'a> {
    /// `apiVersion` of the object.
    pub api_version: &'a str,
    /// `kind` of the object.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The object to start from; `None` starts from an empty one.
    pub base: Option<&'a Value>,
    /// What the providers returned.
    pub fetched: &'a SecretMap,
    /// `spec.target.template`, if there is one.
    pub blueprint: Option<&'a Blueprint>,
    /// Labels of the ExternalSecret: copied when there is no template.
    pub labels: &'a TextMap,
    /// Annotations of the ExternalSecret: copied when there is no template.
    pub annotations: &'a TextMap,
    /// What `templateFrom` refers to.
    pub sources: &'a Sources,
    /// The marks around actions.
    pub delimiters: &'a Delimiters,
}

/// Renders an object of any kind. Owner and content hash are not set here.
///
/// # Errors
/// A source or one of its keys is missing, a template failed, or a path does not fit the object.
pub fn render_manifest(input: &ManifestInput<'_>, surroundings: Surroundings<'_>) -> Result<Value, TemplateError> {
    let mut object = start(input);
    let Some(blueprint) = input.blueprint else {
        let data: Map<String, Value> =
            input.fetched.iter().map(|(key, value)| (key.clone(), utf8::lossy(value).into())).collect();
        if input.kind == "ConfigMap" {
            object["data"] = Value::Object(data);
        } else {
            *field(&mut object, "spec", "data") = Value::Object(data);
        }
        return Ok(object);
    };
    if !matches!(blueprint.engine_version.as_str(), "" | "v2") {
        return Err(TemplateError::plain(format!("unsupported template engine version: {}", blueprint.engine_version)));
    }
    let mut renderer = Renderer::new(input.fetched, input.delimiters, surroundings);
    for (index, entry) in blueprint.template_from.iter().enumerate() {
        if let Some(literal) = &entry.literal {
            apply_literal(&mut renderer, &mut object, entry, literal, index)
                .map_err(|error| error.wrapped(LITERAL_LAYER))?;
        }
        apply_sources(&mut renderer, &mut object, entry, index, input.sources)
            .map_err(|error| error.wrapped(TEMPLATE_LAYER))?;
    }
    for (key, text) in &blueprint.data {
        let place = Place { origin: Origin::Data, key: Some(key), name: key.as_bytes() };
        let value = renderer.text(text.as_bytes(), &place).map_err(|error| error.wrapped(TEMPLATE_LAYER))?;
        store(&mut object, &Target::Data, vec![(key.clone(), value)]);
    }
    Ok(object)
}

/// The base with its metadata; labels and annotations of the template are copied as they are.
fn start(input: &ManifestInput<'_>) -> Value {
    let mut object = match input.base {
        Some(base) if base.is_object() => base.clone(),
        _ => {
            let content = if matches!(input.kind, "ConfigMap" | "Secret") { "data" } else { "spec" };
            json!({ content: {} })
        }
    };
    object["apiVersion"] = input.api_version.into();
    object["kind"] = input.kind.into();
    *field(&mut object, "metadata", "name") = input.name.into();
    *field(&mut object, "metadata", "namespace") = input.namespace.into();
    let (labels, annotations) = match input.blueprint {
        Some(blueprint) => (&blueprint.labels, &blueprint.annotations),
        None => (input.labels, input.annotations),
    };
    for (name, texts) in [("labels", labels), ("annotations", annotations)] {
        let map = object_at(field(&mut object, "metadata", name));
        map.extend(texts.iter().map(|(key, value)| (key.clone(), value.as_str().into())));
    }
    object["metadata"]["labels"][MANAGED_LABEL] = "true".into();
    object
}

/// The map at a place; anything else there gives way to an empty one.
fn object_at(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was made an object just above")
}

fn field<'v>(object: &'v mut Value, outer: &str, inner: &str) -> &'v mut Value {
    let outer = object_at(object).entry(outer).or_insert(Value::Null);
    object_at(outer).entry(inner).or_insert(Value::Null)
}

fn store(object: &mut Value, target: &Target, pairs: Vec<(String, Zeroizing<Vec<u8>>)>) {
    let map = match target {
        Target::Labels => object_at(field(object, "metadata", "labels")),
        Target::Annotations => object_at(field(object, "metadata", "annotations")),
        Target::Data | Target::Path(_) => object_at(object_at(object).entry("data").or_insert(Value::Null)),
    };
    map.extend(pairs.into_iter().map(|(key, value)| (key, utf8::lossy(&value).into())));
}

fn apply_literal(
    renderer: &mut Renderer<'_, '_>,
    object: &mut Value,
    entry: &TemplateFrom,
    literal: &str,
    index: usize,
) -> Result<(), TemplateError> {
    let target = Target::of(entry.target.as_deref());
    let Target::Path(text) = &target else {
        let pairs = literal_entries(renderer, literal, index, entry.decoding)?;
        store(object, &target, pairs);
        return Ok(());
    };
    let place = Place { origin: Origin::Literal(index), key: None, name: literal.as_bytes() };
    let output = renderer.text(literal.as_bytes(), &place)?;
    let steps = path::parse(text).map_err(TemplateError::plain)?;
    let value = yaml::any(&output).map_err(|failure| {
        let hint = "the rendered text must be YAML; put values through toJson or quote";
        TemplateError::of_result(&failure, &place, "could not unmarshal template YAML: ", Some(hint))
    })?;
    path::set(object, text, &steps, value).map_err(TemplateError::plain)
}

/// ConfigMap and Secret sources: the operator renders what they rendered to once more, and drops the result unless
/// the target is `Data`. Both are kept: a manifest must mean the same here.
fn apply_sources(
    renderer: &mut Renderer<'_, '_>,
    object: &mut Value,
    entry: &TemplateFrom,
    index: usize,
    sources: &Sources,
) -> Result<(), TemplateError> {
    let mut scratch = SecretMap::new();
    for part in parts(entry, index, sources)? {
        let pairs = renderer.entries(&part.text, &part.place(), part.scope, part.decoding)?;
        scratch.extend(pairs);
    }
    if Target::of(entry.target.as_deref()) != Target::Data {
        return Ok(());
    }
    for (key, text) in &scratch {
        // The text holds fetched values by now, so it is treated like that of a Secret.
        let place = Place { origin: Origin::Secret("template source".to_owned()), key: Some(key), name: key.as_bytes() };
        let pairs = renderer.entries(text, &place, Scope::Values, Decoding::None)?;
        store(object, &Target::Data, pairs);
    }
    Ok(())
}
