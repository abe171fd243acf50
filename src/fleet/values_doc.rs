//! Fetched secrets as one Helm values document: the template of an ExternalSecret whose target Secret a
//! chart reads through `valuesFrom`.
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::FleetError;
use super::gojson;

/// What the document holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// These values: dotted path in the document (`db.password`, `a\.b` for a dot in a name) and the
    /// fetched key behind it.
    Paths(Vec<(String, String)>),
    /// Every fetched key, under this dotted path or at the top when it is empty.
    Everything(String),
}

impl Shape {
    /// Parses repeated `PATH=KEY` arguments; a single `PATH=*` or `*` takes everything. An argument
    /// without `=` stands for itself.
    ///
    /// # Errors
    /// Empty parts, or everything mixed with single values.
    pub fn parse(arguments: &[String]) -> Result<Self, FleetError> {
        match arguments {
            [] => return Ok(Self::Everything(String::new())),
            [only] if only == "*" => return Ok(Self::Everything(String::new())),
            [only] => {
                if let Some(path) = only.strip_suffix("=*") {
                    return Ok(Self::Everything(path.to_owned()));
                }
            }
            _ => {}
        }
        let pair = |argument: &String| {
            let (path, key) = argument.split_once('=').unwrap_or((argument, argument));
            if path.is_empty() || key.is_empty() || key == "*" {
                return Err(FleetError::Usage(format!("`{argument}` is not of the form PATH=KEY")));
            }
            Ok((path.to_owned(), key.to_owned()))
        };
        arguments.iter().map(pair).collect::<Result<_, _>>().map(Self::Paths)
    }
}

#[derive(Debug)]
enum Node {
    Leaf(String),
    Branch(BTreeMap<String, Node>),
}

/// The template text of a values document.
///
/// Every value is written as a JSON string, which is YAML too: a password with quotes, line breaks or
/// the look of a number arrives as the text it is.
///
/// # Errors
/// Paths that contradict each other or hold template delimiters.
pub fn template(shape: &Shape) -> Result<String, FleetError> {
    match shape {
        Shape::Everything(path) => everything(path),
        Shape::Paths(paths) => {
            let mut root = BTreeMap::new();
            for (path, key) in paths {
                put(&mut root, &steps(path)?, key, path)?;
            }
            let mut out = String::new();
            write(&root, 0, &mut out);
            Ok(out)
        }
    }
}

fn everything(path: &str) -> Result<String, FleetError> {
    // The map of fetched keys as one JSON object in flow style: valid YAML at any depth.
    let mut out = String::new();
    let steps = if path.is_empty() { Vec::new() } else { steps(path)? };
    if steps.is_empty() {
        return Ok("{{ . | toJson }}\n".to_owned());
    }
    for (depth, step) in steps.iter().enumerate() {
        out.push_str(&"  ".repeat(depth));
        out.push_str(&gojson::encode(&Value::String(step.clone())));
        out.push_str(if depth + 1 == steps.len() {
            ": {{ . | toJson }}\n"
        } else {
            ":\n"
        });
    }
    Ok(out)
}

/// Steps of a dotted path.
fn steps(path: &str) -> Result<Vec<String>, FleetError> {
    let mut out = vec![String::new()];
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        match (c, out.last_mut()) {
            ('\\', Some(last)) => last.extend(chars.next()),
            ('.', _) => out.push(String::new()),
            (c, Some(last)) => last.push(c),
            (_, None) => {}
        }
    }
    if out
        .iter()
        .any(|step| step.is_empty() || step.contains("{{") || step.contains("}}"))
    {
        return Err(FleetError::Usage(format!("`{path}` is no path of values")));
    }
    Ok(out)
}

fn put(map: &mut BTreeMap<String, Node>, steps: &[String], key: &str, path: &str) -> Result<(), FleetError> {
    let conflict = || {
        Err(FleetError::Usage(format!(
            "`{path}` is given twice or lies inside another value"
        )))
    };
    let Some((first, rest)) = steps.split_first() else {
        return conflict();
    };
    if rest.is_empty() {
        return match map.entry(first.clone()) {
            std::collections::btree_map::Entry::Occupied(_) => conflict(),
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(Node::Leaf(key.to_owned()));
                Ok(())
            }
        };
    }
    match map
        .entry(first.clone())
        .or_insert_with(|| Node::Branch(BTreeMap::new()))
    {
        Node::Branch(inner) => put(inner, rest, key, path),
        Node::Leaf(_) => conflict(),
    }
}

fn write(map: &BTreeMap<String, Node>, depth: usize, out: &mut String) {
    for (name, node) in map {
        out.push_str(&"  ".repeat(depth));
        out.push_str(&gojson::encode(&Value::String(name.clone())));
        match node {
            Node::Branch(inner) => {
                out.push_str(":\n");
                write(inner, depth + 1, out);
            }
            Node::Leaf(key) => {
                out.push_str(": {{ ");
                out.push_str(&reference(key));
                out.push_str(" | toJson }}\n");
            }
        }
    }
}

/// `.key` where the template language allows it, else a look-up by name.
fn reference(key: &str) -> String {
    let identifier = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if identifier {
        format!(".{key}")
    } else {
        format!("(index . {})", gojson::encode(&Value::String(key.to_owned())))
    }
}

/// Puts the values document into an ExternalSecret: `spec.target.template` with the single key
/// `document_key` and nothing of the fetched keys beside it.
///
/// # Errors
/// As [`template`]; an ExternalSecret that already has a template; a key Secrets do not allow.
pub fn as_values(mut external_secret: Value, document_key: &str, shape: &Shape) -> Result<Value, FleetError> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if document_key.is_empty() || document_key.len() > 253 || !document_key.bytes().all(allowed) {
        return Err(FleetError::Usage(format!("`{document_key}` is no key of a Secret")));
    }
    if external_secret.pointer("/spec/target/template").is_some() {
        return Err(FleetError::Usage("--as-values makes the template itself".to_owned()));
    }
    let mut data = serde_json::Map::new();
    data.insert(document_key.to_owned(), Value::String(template(shape)?));
    let template = json!({"engineVersion": "v2", "mergePolicy": "Replace", "data": data});
    external_secret["spec"]["target"]["template"] = template;
    Ok(external_secret)
}
