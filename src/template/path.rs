//! Paths into an object: `spec.rules[1].from[0]`.

use serde_json::{Map, Value};

use super::engine::format::quote::quoted;

/// Largest index of a list; shorter lists are filled with nulls up to it.
const MAX_INDEX: usize = 10_000;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// Reads a path; the error is the operator's text.
pub(super) fn parse(text: &str) -> Result<Vec<Step>, String> {
    let invalid = |why: String| format!("invalid path {}: {why}", quoted(text.as_bytes()));
    let mut steps = Vec::new();
    for segment in text.split('.') {
        if segment.is_empty() {
            return Err(invalid("empty segment".to_owned()));
        }
        let (key, mut rest) = segment.split_at(segment.find('[').unwrap_or(segment.len()));
        if !key.is_empty() {
            steps.push(Step::Key(key.to_owned()));
        } else if steps.is_empty() {
            return Err(invalid("path must start with a key".to_owned()));
        }
        while !rest.is_empty() {
            let inner = rest.strip_prefix('[').ok_or_else(|| invalid(format!("expected '[' near {}", quoted(rest.as_bytes()))))?;
            let end = inner.find(']').ok_or_else(|| invalid("unterminated '['".to_owned()))?;
            steps.push(Step::Index(index(&inner[..end]).map_err(invalid)?));
            rest = &inner[end + 1..];
        }
    }
    Ok(steps)
}

fn index(text: &str) -> Result<usize, String> {
    let number: i64 = text.parse().map_err(|_| format!("bad index {}", quoted(text.as_bytes())))?;
    match usize::try_from(number) {
        Err(_) => Err(format!("negative index {number}")),
        Ok(number) if number > MAX_INDEX => Err(format!("index {number} exceeds maximum ({MAX_INDEX})")),
        Ok(number) => Ok(number),
    }
}

/// The type of a JSON value as Go names it.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Writes a value at a path. A path of one step replaces; at a longer one a map is merged one level deep into a map.
pub(super) fn set(object: &mut Value, text: &str, steps: &[Step], value: Value) -> Result<(), String> {
    let mut at = object;
    for step in steps {
        at = enter(at, step).map_err(|why| format!("failed to set path {text}: {why}"))?;
    }
    match (at, value) {
        (Value::Object(old), Value::Object(new)) if steps.len() > 1 => old.extend(new),
        (at, value) => *at = value,
    }
    Ok(())
}

/// The place a step leads to; it is made when absent.
fn enter<'v>(at: &'v mut Value, step: &Step) -> Result<&'v mut Value, String> {
    if at.is_null() {
        *at = match step {
            Step::Key(_) => Value::Object(Map::new()),
            Step::Index(_) => Value::Array(Vec::new()),
        };
    }
    let found = go_type(at);
    match (step, at) {
        (Step::Key(key), Value::Object(map)) => Ok(map.entry(key.clone()).or_insert(Value::Null)),
        (Step::Key(key), _) => Err(format!("expected map at key {} but found {found}", quoted(key.as_bytes()))),
        (Step::Index(index), Value::Array(list)) => {
            if list.len() <= *index {
                list.resize(index + 1, Value::Null);
            }
            Ok(&mut list[*index])
        }
        (Step::Index(index), _) => Err(format!("expected array at index {index} but found {found}")),
    }
}
