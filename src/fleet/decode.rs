//! Nodes + schema → the JSON form the original's structs print.
use serde_json::{Map, Number, Value};

use super::error::{FleetError, Notice};
use super::schema::{Kind, Schema};
use super::yaml11::{self, Coerce, Node, NodeKind, Scalar, Style, YamlError};

/// A file being decoded.
pub struct Decoder<'a> {
    /// Its path as the user knows it.
    pub file: &'a str,
    /// Unknown keys are remarks, not errors.
    pub lenient: bool,
    /// Remarks so far.
    pub notices: Vec<Notice>,
}

impl Decoder<'_> {
    /// Reads the first document of the file and remarks on its YAML 1.1 scalars.
    ///
    /// # Errors
    /// Text that is not UTF-8 or not YAML.
    pub fn parse(&mut self, bytes: &[u8]) -> Result<Option<Node>, FleetError> {
        let text = std::str::from_utf8(bytes).map_err(|_| FleetError::NotText {
            file: self.file.to_owned(),
        })?;
        let node = yaml11::parse(text).map_err(|source| self.yaml(source))?;
        if let Some(node) = &node {
            self.remark(node);
        }
        Ok(node)
    }

    fn yaml(&self, source: YamlError) -> FleetError {
        FleetError::Yaml {
            file: self.file.to_owned(),
            source,
        }
    }

    fn remark(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Scalar {
                text,
                style: Style::Plain,
                tag: None,
            } if yaml11::differs_from_yaml_1_2(text) => {
                self.notices.push(Notice::Yaml11 {
                    file: self.file.to_owned(),
                    line: node.line,
                    text: text.clone(),
                });
            }
            NodeKind::Scalar { .. } => {}
            NodeKind::Seq(items) => items.iter().for_each(|item| self.remark(item)),
            NodeKind::Map(pairs) => pairs.iter().for_each(|(key, value)| {
                self.remark(key);
                self.remark(value);
            }),
        }
    }

    /// A whole file that must hold an object (or nothing).
    ///
    /// # Errors
    /// Syntax, types, unknown keys unless lenient.
    pub fn object(&mut self, bytes: &[u8], schema: &Schema) -> Result<Map<String, Value>, FleetError> {
        match self.parse(bytes)? {
            None => Ok(Map::new()),
            Some(node) => Ok(self.structure(&node, schema, true, "")?.unwrap_or_default()),
        }
    }

    /// A Helm values file: any map; nothing at all is an empty one.
    ///
    /// # Errors
    /// Syntax, or something that is no map.
    pub fn values_file(&mut self, bytes: &[u8]) -> Result<Map<String, Value>, FleetError> {
        match self.parse(bytes)? {
            None => Ok(Map::new()),
            Some(node) => Ok(self.values(&node, "values")?.unwrap_or_default()),
        }
    }

    fn values(&self, node: &Node, place: &str) -> Result<Option<Map<String, Value>>, FleetError> {
        match yaml11::to_json(node, Coerce::Double).map_err(|source| self.yaml(source))? {
            Value::Null => Ok(None),
            Value::Object(map) => Ok(Some(map)),
            _ => Err(self.wrong(node, place, "a map")),
        }
    }

    fn structure(
        &mut self,
        node: &Node,
        schema: &Schema,
        coerce: bool,
        place: &str,
    ) -> Result<Option<Map<String, Value>>, FleetError> {
        if self.is_null(node)? {
            return Ok(None);
        }
        if !matches!(node.kind, NodeKind::Map(_)) {
            return Err(self.wrong(node, place, "a map"));
        }
        let mut out = Map::new();
        for (key, value) in yaml11::entries(node).map_err(|source| self.yaml(source))? {
            let Some((field, own)) = schema.field(&key) else {
                self.unknown(&key, key_line(node, &key).unwrap_or(value.line), schema, place)?;
                continue;
            };
            if field.0 != key {
                self.notices.push(Notice::KeyCase {
                    file: self.file.to_owned(),
                    line: value.line,
                    key: key.clone(),
                    known: field.0,
                });
            }
            let place = if place.is_empty() {
                field.0.to_owned()
            } else {
                format!("{place}.{}", field.0)
            };
            match self.field(&value, field.1, coerce && own, &place)? {
                Some(json) => out.insert(field.0.to_owned(), json),
                None => out.remove(field.0),
            };
        }
        for (name, kind) in schema
            .own
            .iter()
            .chain(schema.inlined.iter().flat_map(|inlined| inlined.own))
        {
            if matches!(kind, Kind::TextAlways) && !out.contains_key(*name) {
                out.insert((*name).to_owned(), Value::String(String::new()));
            }
        }
        Ok(Some(out))
    }

    fn unknown(&mut self, key: &str, line: usize, schema: &Schema, place: &str) -> Result<(), FleetError> {
        if self.lenient {
            self.notices.push(Notice::IgnoredKey {
                file: self.file.to_owned(),
                line,
                key: key.to_owned(),
            });
            return Ok(());
        }
        Err(FleetError::UnknownKey {
            file: self.file.to_owned(),
            line,
            key: key.to_owned(),
            place: if place.is_empty() {
                "the file".to_owned()
            } else {
                format!("`{place}`")
            },
            suggestion: nearest(key, &schema.names()),
        })
    }

    fn field(&mut self, node: &Node, kind: Kind, coerce: bool, place: &str) -> Result<Option<Value>, FleetError> {
        let null = self.is_null(node)?;
        match kind {
            Kind::Other => Ok(Some(Value::Bool(
                matches!(&node.kind, NodeKind::Seq(items) if !items.is_empty()),
            ))),
            Kind::Text => Ok(self
                .text(node, coerce, place)?
                .filter(|text| !text.is_empty())
                .map(Value::String)),
            Kind::TextAlways => Ok(Some(Value::String(self.text(node, coerce, place)?.unwrap_or_default()))),
            _ if null => Ok(None),
            Kind::Bool => Ok(Some(self.boolean(node, place)?).filter(|set| *set).map(Value::Bool)),
            Kind::BoolSet => self.boolean(node, place).map(|value| Some(Value::Bool(value))),
            Kind::Int => Ok(Some(self.whole(node, place)?)
                .filter(|value| *value != 0)
                .map(|value| Value::Number(Number::from(value)))),
            Kind::IntSet => Ok(Some(Value::Number(Number::from(self.whole(node, place)?)))),
            Kind::IntOrText => self.int_or_text(node, place).map(Some),
            Kind::TextMap => Ok(Some(self.text_map(node, coerce, place)?)
                .filter(|map| !map.is_empty())
                .map(Value::Object)),
            Kind::TextMaps => self.list(node, place, |decoder, item, place| {
                decoder.text_map(item, coerce, place).map(Value::Object)
            }),
            Kind::TextList => self.list(node, place, |decoder, item, place| {
                Ok(Value::String(decoder.text(item, coerce, place)?.unwrap_or_default()))
            }),
            Kind::Object(schema) => Ok(self.structure(node, schema, coerce, place)?.map(Value::Object)),
            Kind::List(schema) => self.list(node, place, |decoder, item, place| {
                Ok(Value::Object(
                    decoder.structure(item, schema, coerce, place)?.unwrap_or_default(),
                ))
            }),
            Kind::Values => Ok(self.values(node, place)?.map(Value::Object)),
        }
    }

    /// A list; `None` for an empty one, except `overrideTargets`, whose presence alone has an effect.
    fn list(
        &mut self,
        node: &Node,
        place: &str,
        mut item: impl FnMut(&mut Self, &Node, &str) -> Result<Value, FleetError>,
    ) -> Result<Option<Value>, FleetError> {
        let NodeKind::Seq(items) = &node.kind else {
            return Err(self.wrong(node, place, "a list"));
        };
        let mut out = Vec::with_capacity(items.len());
        for (at, node) in items.iter().enumerate() {
            out.push(item(self, node, &format!("{place}[{at}]"))?);
        }
        Ok((!out.is_empty() || place == "overrideTargets").then_some(Value::Array(out)))
    }

    fn text_map(&self, node: &Node, coerce: bool, place: &str) -> Result<Map<String, Value>, FleetError> {
        if self.is_null(node)? {
            return Ok(Map::new());
        }
        if !matches!(node.kind, NodeKind::Map(_)) {
            return Err(self.wrong(node, place, "a map of text"));
        }
        let entries = yaml11::entries(node).map_err(|source| self.yaml(source))?;
        entries
            .into_iter()
            .map(|(key, value)| {
                let text = self
                    .text(&value, coerce, &format!("{place}.{key}"))?
                    .unwrap_or_default();
                Ok((key, Value::String(text)))
            })
            .collect()
    }

    fn scalar(&self, node: &Node) -> Result<Option<Scalar>, FleetError> {
        if !matches!(node.kind, NodeKind::Scalar { .. }) {
            return Ok(None);
        }
        yaml11::scalar_of(node).map(Some).map_err(|source| self.yaml(source))
    }

    fn is_null(&self, node: &Node) -> Result<bool, FleetError> {
        Ok(self.scalar(node)? == Some(Scalar::Null))
    }

    fn text(&self, node: &Node, coerce: bool, place: &str) -> Result<Option<String>, FleetError> {
        match (self.scalar(node)?, coerce) {
            (Some(Scalar::Null), _) => Ok(None),
            (Some(Scalar::Text(text)), _) => Ok(Some(text)),
            (Some(Scalar::Bool(value)), true) => Ok(Some(value.to_string())),
            (Some(Scalar::Int(value)), true) => Ok(Some(value.to_string())),
            (Some(Scalar::Uint(value)), true) => Ok(Some(value.to_string())),
            (Some(Scalar::Float(value)), true) => Ok(Some(yaml11::go_float_32(value))),
            _ => Err(self.wrong(node, place, "text (put it in quotes)")),
        }
    }

    fn boolean(&self, node: &Node, place: &str) -> Result<bool, FleetError> {
        match self.scalar(node)? {
            Some(Scalar::Bool(value)) => Ok(value),
            _ => Err(self.wrong(node, place, "true or false")),
        }
    }

    fn whole(&self, node: &Node, place: &str) -> Result<i64, FleetError> {
        if matches!(self.scalar(node)?, Some(Scalar::Int(_) | Scalar::Float(_)))
            && let Ok(Value::Number(number)) = yaml11::to_json(node, Coerce::Typed)
            && let Some(value) = number.as_i64()
        {
            return Ok(value);
        }
        Err(self.wrong(node, place, "a whole number"))
    }

    fn int_or_text(&self, node: &Node, place: &str) -> Result<Value, FleetError> {
        match self.scalar(node)? {
            Some(Scalar::Text(text)) => Ok(Value::String(text)),
            Some(Scalar::Int(_) | Scalar::Float(_)) => match i32::try_from(self.whole(node, place)?) {
                Ok(value) => Ok(Value::Number(Number::from(value))),
                Err(_) => Err(self.wrong(node, place, "a 32-bit number or a percentage")),
            },
            _ => Err(self.wrong(node, place, "a number or a percentage")),
        }
    }

    fn wrong(&self, node: &Node, place: &str, expected: &'static str) -> FleetError {
        let place = if place.is_empty() {
            "the file".to_owned()
        } else {
            place.to_owned()
        };
        FleetError::WrongType {
            file: self.file.to_owned(),
            line: node.line,
            place,
            expected,
        }
    }
}

fn key_line(node: &Node, wanted: &str) -> Option<usize> {
    let NodeKind::Map(pairs) = &node.kind else { return None };
    pairs
        .iter()
        .find(|(key, _)| matches!(&key.kind, NodeKind::Scalar { text, .. } if text == wanted))
        .map(|(key, _)| key.line)
}

/// The nearest known name within a third of its length.
pub(in crate::fleet) fn nearest(key: &str, names: &[&'static str]) -> Option<String> {
    let lower = key.to_lowercase();
    names
        .iter()
        .map(|name| (distance(&lower, &name.to_lowercase()), *name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min()
        .map(|(_, name)| name.to_owned())
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let next = (diagonal + usize::from(ca != *cb)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[b.len()]
}
