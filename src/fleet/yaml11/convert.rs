//! Nodes → JSON, the way `sigs.k8s.io/yaml` does it for a target type.
use serde_json::{Map, Number, Value};

use super::{Node, NodeKind, Scalar, Style, YamlError, go_float_32, resolve};

/// What the place a value goes to does to scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coerce {
    /// Values keep their type; numbers of any kind stay as read.
    Typed,
    /// Every number passes through a double, as in Helm values.
    Double,
}

/// Turns a node into JSON. Later duplicates of a key win; merge keys act where they stand.
///
/// # Errors
/// Keys JSON cannot hold, tags that do not fit, infinities, merges of non-maps.
pub fn to_json(node: &Node, coerce: Coerce) -> Result<Value, YamlError> {
    match &node.kind {
        NodeKind::Scalar { .. } => match scalar_of(node)? {
            Scalar::Null => Ok(Value::Null),
            Scalar::Bool(value) => Ok(Value::Bool(value)),
            Scalar::Text(text) => Ok(Value::String(text)),
            number => number_to_json(&number, coerce)
                .map(Value::Number)
                .ok_or_else(|| not_finite(node)),
        },
        NodeKind::Seq(items) => items
            .iter()
            .map(|item| to_json(item, coerce))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        NodeKind::Map(_) => {
            let mut map = Map::new();
            for (key, value) in entries(node)? {
                map.insert(key, to_json(&value, coerce)?);
            }
            Ok(Value::Object(map))
        }
    }
}

/// The resolved value of a scalar node; lists and maps are [`Scalar::Null`] and never asked for.
pub(in crate::fleet) fn scalar_of(node: &Node) -> Result<Scalar, YamlError> {
    let NodeKind::Scalar { text, style, tag } = &node.kind else {
        return Ok(Scalar::Null);
    };
    if *style == Style::Quoted && tag.is_none() {
        return Ok(Scalar::Text(text.clone()));
    }
    if tag.as_deref() == Some("!!binary") {
        return binary(text)
            .map(Scalar::Text)
            .ok_or_else(|| tag_error(node, text, "!!binary"));
    }
    resolve(text, tag.as_deref()).ok_or_else(|| tag_error(node, text, tag.as_deref().unwrap_or_default()))
}

fn binary(text: &str) -> Option<String> {
    use base64::Engine as _;
    let compact: String = text.split_ascii_whitespace().collect();
    let bytes = base64::engine::general_purpose::STANDARD.decode(compact).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn tag_error(node: &Node, text: &str, tag: &str) -> YamlError {
    YamlError::Tag {
        line: node.line,
        text: text.to_owned(),
        tag: tag.to_owned(),
    }
}

fn not_finite(node: &Node) -> YamlError {
    let text = if let NodeKind::Scalar { text, .. } = &node.kind {
        text.clone()
    } else {
        String::new()
    };
    YamlError::NotFinite { line: node.line, text }
}

/// The entries of a mapping in the order they take effect: merges expanded, keys as JSON text.
pub(in crate::fleet) fn entries(node: &Node) -> Result<Vec<(String, Node)>, YamlError> {
    let NodeKind::Map(pairs) = &node.kind else {
        return Ok(Vec::new());
    };
    let mut out = Vec::new();
    for (key, value) in pairs {
        if is_merge(key) {
            merge(value, &mut out)?;
        } else {
            put(&mut out, key_text(key)?, value.clone());
        }
    }
    Ok(out)
}

fn put(out: &mut Vec<(String, Node)>, key: String, value: Node) {
    match out.iter_mut().find(|(known, _)| *known == key) {
        Some(entry) => entry.1 = value,
        None => out.push((key, value)),
    }
}

fn is_merge(key: &Node) -> bool {
    matches!(&key.kind, NodeKind::Scalar { text, style, tag }
        if text == "<<" && (*style == Style::Plain && tag.is_none() || tag.as_deref() == Some("!!merge")))
}

fn merge(value: &Node, out: &mut Vec<(String, Node)>) -> Result<(), YamlError> {
    let maps: Vec<&Node> = match &value.kind {
        NodeKind::Map(_) => vec![value],
        // Earlier maps of a list take precedence, so they are written last.
        NodeKind::Seq(items) => items.iter().rev().collect(),
        NodeKind::Scalar { .. } => return Err(YamlError::Merge { line: value.line }),
    };
    for map in maps {
        if !matches!(map.kind, NodeKind::Map(_)) {
            return Err(YamlError::Merge { line: map.line });
        }
        for (key, value) in entries(map)? {
            put(out, key, value);
        }
    }
    Ok(())
}

fn key_text(key: &Node) -> Result<String, YamlError> {
    let wrong = || YamlError::Key { line: key.line };
    if !matches!(key.kind, NodeKind::Scalar { .. }) {
        return Err(wrong());
    }
    match scalar_of(key)? {
        Scalar::Text(text) => Ok(text),
        Scalar::Int(value) => Ok(value.to_string()),
        Scalar::Bool(value) => Ok(value.to_string()),
        Scalar::Float(value) => Ok(match go_float_32(value).as_str() {
            "+Inf" => ".inf".to_owned(),
            "-Inf" => "-.inf".to_owned(),
            "NaN" => ".nan".to_owned(),
            text => text.to_owned(),
        }),
        Scalar::Null | Scalar::Uint(_) => Err(wrong()),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the original stores these numbers in a double"
)]
fn number_to_json(number: &Scalar, coerce: Coerce) -> Option<Number> {
    match (number, coerce) {
        (Scalar::Int(value), Coerce::Typed) => Some(Number::from(*value)),
        (Scalar::Uint(value), Coerce::Typed) => Some(Number::from(*value)),
        (Scalar::Int(value), Coerce::Double) => double(*value as f64),
        (Scalar::Uint(value), Coerce::Double) => double(*value as f64),
        (Scalar::Float(value), _) => double(*value),
        _ => None,
    }
}

/// A double as the original prints it: whole numbers without a point, in their shortest digits.
fn double(value: f64) -> Option<Number> {
    if !value.is_finite() {
        return None;
    }
    if value.fract() == 0.0 && value.abs() < 1e21 {
        let digits = format!("{value:e}");
        let text = expand(&digits);
        if let Ok(whole) = text.parse::<i64>() {
            return Some(Number::from(whole));
        }
        if let Ok(whole) = text.parse::<u64>() {
            return Some(Number::from(whole));
        }
    }
    Number::from_f64(value)
}

/// `1.2345e6` → `1234500`: the shortest digits, filled up with zeros.
fn expand(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: usize = exponent.parse().unwrap_or_default();
    let zeros = exponent.saturating_sub(after.len());
    format!("{before}{after}{}", "0".repeat(zeros))
}
