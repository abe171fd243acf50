//! The condition of a query against one value.

use super::path::Query;
use super::{Found, Kind, glob, scan};

/// Whether `value`, which the query's path found, meets the condition.
pub(super) fn matches(query: &Query, value: &Found<'_>) -> bool {
    if let Some(tilde) = query.value.strip_prefix(b"~") {
        let verdict = match tilde {
            b"*" => value.exists(),
            b"null" => value.kind == Kind::Null,
            b"true" => truth(value) == Some(true),
            b"false" => value.kind == Kind::Null || truth(value) == Some(false),
            _ => return false,
        };
        return query.op.is_empty() || boolean(verdict, &query.op, b"true");
    }
    if !value.exists() {
        return false;
    }
    if query.op.is_empty() {
        return true;
    }
    match value.kind {
        Kind::String => match query.op.as_slice() {
            b"%" => glob::matches(&value.text, &query.value),
            b"!%" => !glob::matches(&value.text, &query.value),
            op => ordered(Some((*value.text).cmp(query.value.as_slice())), op),
        },
        Kind::Number => ordered(value.number().partial_cmp(&scan::float(&query.value)), &query.op),
        Kind::True => boolean(true, &query.op, &query.value),
        Kind::False => boolean(false, &query.op, &query.value),
        Kind::Null | Kind::Json => false,
    }
}

/// What a value means as a boolean, if it means either.
fn truth(value: &Found<'_>) -> Option<bool> {
    match value.kind {
        Kind::True => Some(true),
        Kind::False => Some(false),
        Kind::Number => Some(value.number() != 0.0),
        Kind::String => match value.text.to_ascii_lowercase().as_slice() {
            b"1" | b"t" | b"true" => Some(true),
            b"0" | b"f" | b"false" => Some(false),
            _ => None,
        },
        Kind::Null | Kind::Json => None,
    }
}

/// NaN, which has no order, differs from everything and is nothing else.
fn ordered(order: Option<std::cmp::Ordering>, op: &[u8]) -> bool {
    match (op, order) {
        (b"!=", order) => order.is_none_or(std::cmp::Ordering::is_ne),
        (b"=", Some(order)) => order.is_eq(),
        (b"<", Some(order)) => order.is_lt(),
        (b"<=", Some(order)) => order.is_le(),
        (b">", Some(order)) => order.is_gt(),
        (b">=", Some(order)) => order.is_ge(),
        // no order, or no operator
        _ => false,
    }
}

/// A boolean against the words `true` and `false`; false is the lesser.
fn boolean(value: bool, op: &[u8], word: &[u8]) -> bool {
    let (same, other): (&[u8], &[u8]) = if value {
        (b"true", b"false")
    } else {
        (b"false", b"true")
    };
    match op {
        b"=" => word == same,
        b"!=" => word != same,
        b">" => value && word == other,
        b"<" => !value && word == other,
        b">=" => value,
        b"<=" => !value,
        _ => false,
    }
}
