//! `template` of KES → `target` of ESO.

use std::collections::BTreeSet;

use super::entries::{Entries, mapping};
use super::finding::{Code, Findings};
use super::object::{Source, scalar};
use super::options::Settings;
use super::template::{self, Converted, DataError, KeyForm, Keys, Shapes};
use crate::api::yaml_tree::{Mapping, Value};

/// The target of an `ExternalSecret`, and the template fields that were left out.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// `spec.target`.
    pub target: Mapping,
    /// Paths left out because of `--allow-partial`.
    pub left_out: Vec<String>,
}

struct Builder<'a, 'b> {
    source: &'a Source<'b>,
    entries: &'a Entries,
    settings: &'a Settings,
    shapes: Shapes,
    findings: Findings,
    left_out: Vec<String>,
}

/// Converts the template. Texts are converted twice: what one tells about the JSON it reads is known to all.
pub fn convert(source: &Source<'_>, entries: &Entries, settings: &Settings, findings: &mut Findings) -> Target {
    let mut builder = Builder {
        source,
        entries,
        settings,
        shapes: Shapes::default(),
        findings: Findings::default(),
        left_out: Vec::new(),
    };
    let _ = builder.target();
    builder.findings = Findings::default();
    builder.left_out.clear();
    let target = builder.target();
    findings.extend(builder.findings);
    Target {
        target,
        left_out: builder.left_out,
    }
}

impl Builder<'_, '_> {
    fn target(&mut self) -> Mapping {
        let name = format!(
            "{}{}",
            self.source.name,
            self.settings.target_suffix.as_deref().unwrap_or_default()
        );
        let empty = Mapping::new();
        let written = match self.source.spec.get("template") {
            None | Some(Value::Null) => &empty,
            Some(Value::Mapping(m)) => m,
            Some(_) => {
                self.findings
                    .add(Code::Schema, self.source.path("template"), "not an object");
                &empty
            }
        };
        let data = self.data(written);
        let complete = self.needs_replace();
        let mut template = mapping([
            ("engineVersion", "v2".into()),
            ("mergePolicy", if complete { "Replace" } else { "Merge" }.into()),
        ]);
        if let Some(type_) = self.secret_type(written) {
            template.insert("type".into(), type_.into());
        }
        let metadata = self.metadata(written);
        if !metadata.is_empty() {
            template.insert("metadata".into(), metadata.into());
        }
        if !data.is_empty() {
            template.insert("data".into(), data.into());
        }
        let immutable = written.get("immutable").and_then(Value::as_bool) == Some(true);
        self.drop_unknown(written);
        let mut target = mapping([
            ("name", name.into()),
            ("creationPolicy", "Owner".into()),
            ("deletionPolicy", "Retain".into()),
            ("template", template.into()),
        ]);
        if immutable {
            target.insert("immutable".into(), true.into());
        }
        target
    }

    /// KES takes the type unrendered, first from the template.
    fn secret_type(&mut self, template: &Mapping) -> Option<String> {
        let text = |v: Option<&Value>| v.and_then(Value::as_str).filter(|t| !t.is_empty()).map(str::to_owned);
        let (path, type_) = match text(template.get("type")) {
            Some(t) => (self.source.path("template.type"), t),
            None => (self.source.path("type"), text(self.source.spec.get("type"))?),
        };
        let account = template
            .get("metadata")
            .and_then(|m| m.get("annotations"))
            .and_then(|a| a.get("kubernetes.io/service-account.name"))
            .is_some();
        if type_ == "bootstrap.kubernetes.io/token" || (type_ == "kubernetes.io/service-account-token" && account) {
            self.findings.add(
                Code::TypeForbidden,
                path,
                format!("ESO does not write Secrets of type {type_}"),
            );
        }
        (type_ != "Opaque").then_some(type_)
    }

    fn metadata(&mut self, template: &Mapping) -> Mapping {
        let mut out = Mapping::new();
        let Some(metadata) = template.get("metadata").and_then(Value::as_mapping) else {
            return out;
        };
        for (field, value) in metadata {
            let field = scalar(field).unwrap_or_default();
            let path = self.source.path(&format!("template.metadata.{field}"));
            match (field.as_str(), value) {
                (_, Value::Null) => {}
                ("labels" | "annotations", Value::Mapping(values)) => {
                    let values = self.texts(values, &path);
                    if !values.is_empty() {
                        out.insert(field.into(), values.into());
                    }
                }
                ("finalizers", Value::Sequence(list)) => {
                    let list: Vec<Value> = list
                        .iter()
                        .filter_map(scalar)
                        .map(|t| template::literal_text(&t).into())
                        .collect();
                    out.insert(field.into(), Value::Sequence(list));
                }
                _ => self
                    .findings
                    .add(Code::TemplateFieldDropped, path, "ESO does not set this field"),
            }
        }
        out
    }

    fn texts(&mut self, values: &Mapping, path: &str) -> Mapping {
        let mut out = Mapping::new();
        for (key, value) in values {
            let key = scalar(key).unwrap_or_default();
            let path = child(path, &key);
            let Some(source) = self.text(value, &path) else {
                continue;
            };
            let converted = template::text(&source, &self.entries.keys, &mut self.shapes).map_err(DataError::from);
            if let Some(text) = self.accept(converted, &path) {
                out.insert(key.into(), text.into());
            }
        }
        out
    }

    /// A template value as text; numbers and booleans are none in JSON, and the API server refuses them there.
    fn text(&mut self, value: &Value, path: &str) -> Option<String> {
        if let Value::String(s) = value {
            return Some(s.clone());
        }
        let text = scalar(value);
        match &text {
            Some(_) => self
                .findings
                .add(Code::TemplateValueText, path, "a number or boolean, written as text"),
            None if value.is_null() => {}
            None => self.findings.add(Code::Schema, path, "not a text"),
        }
        text
    }

    fn accept(&mut self, converted: Result<Converted, DataError>, path: &str) -> Option<String> {
        match converted {
            Ok(converted) => {
                for (code, message) in converted.notes {
                    self.findings.add(code, path, message);
                }
                Some(converted.text)
            }
            Err(DataError::NotBase64) => {
                self.findings
                    .add(Code::Schema, path, "not base64, which the API server refuses");
                None
            }
            Err(e) if self.settings.allow_partial => {
                self.findings
                    .add(Code::TemplateFieldDropped, path, format!("left out: {e}"));
                self.left_out.push(path.to_owned());
                None
            }
            Err(e) => {
                self.findings.add(Code::TemplateUnsupported, path, e.to_string());
                None
            }
        }
    }

    fn data(&mut self, written: &Mapping) -> Mapping {
        let empty = Mapping::new();
        let map = |b: &mut Self, field: &str| match written.get(field) {
            None | Some(Value::Null) => empty.clone(),
            Some(Value::Mapping(m)) => m.clone(),
            Some(_) => {
                b.findings.add(
                    Code::Schema,
                    b.source.path(&format!("template.{field}")),
                    "not an object",
                );
                empty.clone()
            }
        };
        let (string_data, data) = (map(self, "stringData"), map(self, "data"));
        let mut out = Mapping::new();
        for (key, value) in &data {
            let key = scalar(key).unwrap_or_default();
            let path = child(&self.source.path("template.data"), &key);
            if self.entries.keys.known.contains_key(&key) || string_data.contains_key(key.as_str()) {
                self.findings.add(
                    Code::TemplateKeyShadowed,
                    path,
                    "KES overwrites this key with a fetched one or with stringData",
                );
                continue;
            }
            let Some(source) = self.text(value, &path) else {
                continue;
            };
            let converted = template::data(&source, &self.entries.keys, &mut self.shapes);
            if let Some(text) = self.accept(converted, &path) {
                let text = if self.entries.keys.open {
                    unless_fetched(&key, &text)
                } else {
                    text
                };
                out.insert(key.into(), text.into());
            }
        }
        out.extend(self.texts(&string_data, &self.source.path("template.stringData")));
        self.fetched_forms(&mut out);
        out
    }

    /// Keys that ESO returns in another form than KES: a template restores it, unless one of the user's wins anyway.
    fn fetched_forms(&mut self, out: &mut Mapping) {
        let complete = self.needs_replace();
        for (key, form) in &self.entries.keys.known {
            if out.contains_key(key.as_str()) || (*form == KeyForm::Plain && !complete) {
                continue;
            }
            let keys = Keys {
                known: [(key.clone(), form.clone())].into(),
                open: false,
            };
            let expr = format!("<%= data[{}] %>", template::quote(key));
            if let Ok(converted) = template::text(&expr, &keys, &mut Shapes::default()) {
                out.insert(key.as_str().into(), converted.text.into());
            }
        }
    }

    /// True when more keys are fetched than the Secret may have; then every key is written by the template.
    fn needs_replace(&self) -> bool {
        let known: BTreeSet<&String> = self.entries.keys.known.keys().collect();
        self.entries.fetched.iter().any(|k| !known.contains(k))
    }

    fn drop_unknown(&mut self, written: &Mapping) {
        for (field, value) in written {
            let field = scalar(field).unwrap_or_default();
            let known = matches!(
                field.as_str(),
                "type" | "metadata" | "data" | "stringData" | "immutable"
            );
            if !known && !value.is_null() {
                self.findings.add(
                    Code::TemplateFieldDropped,
                    self.source.path(&format!("template.{field}")),
                    "ESO does not set this field",
                );
            }
        }
    }
}

/// In KES a fetched key wins over `template.data`; in ESO the template wins, so it has to look itself.
fn unless_fetched(key: &str, text: &str) -> String {
    let key = template::quote(key);
    format!(
        "{{{{ $fetched := false }}}}{{{{ range $k, $_ := . }}}}{{{{ if eq $k {key} }}}}{{{{ $fetched = true }}}}{{{{ end }}}}{{{{ end }}}}\
         {{{{ if $fetched }}}}{{{{ index . {key} }}}}{{{{ else }}}}{}{{{{ end }}}}",
        closed(text)
    )
}

/// A lone brace at the end of a text would join the braces of the action after it.
fn closed(text: &str) -> String {
    match text.strip_suffix('{') {
        Some(head) => format!("{head}{{{{ \"{{\" }}}}"),
        None => text.to_owned(),
    }
}

/// A path with one more field.
fn child(path: &str, key: &str) -> String {
    format!("{path}.{key}")
}
