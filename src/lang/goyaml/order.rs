//! The order in which go-yaml writes keys: numbers first, then text in natural order.

use std::cmp::Ordering;

use super::Yaml;

/// Compares two keys as go-yaml sorts them.
pub(super) fn compare_keys(a: &Yaml, b: &Yaml) -> Ordering {
    match (numeric(a), numeric(b)) {
        (Some(x), Some(y)) => x.partial_cmp(&y).unwrap_or(Ordering::Equal).then(rank(a).cmp(&rank(b))),
        _ => match (a, b) {
            (Yaml::Text(a), Yaml::Text(b)) => compare_text(a, b),
            _ => rank(a).cmp(&rank(b)),
        },
    }
}

#[expect(clippy::cast_precision_loss, reason = "Go compares keys as 64-bit floats")]
fn numeric(key: &Yaml) -> Option<f64> {
    match key {
        Yaml::Bool(value) => Some(f64::from(u8::from(*value))),
        Yaml::Int(number) => Some(*number as f64),
        Yaml::Uint(number) => Some(*number as f64),
        Yaml::Float(number) => Some(*number),
        _ => None,
    }
}

/// Go's order of kinds.
fn rank(key: &Yaml) -> u8 {
    match key {
        Yaml::Null => 0,
        Yaml::Bool(_) => 1,
        Yaml::Int(_) => 2,
        Yaml::Uint(_) => 11,
        Yaml::Float(_) => 14,
        Yaml::Map(_) => 21,
        Yaml::List(_) => 23,
        Yaml::Text(_) => 24,
    }
}

/// Natural order: runs of digits compare by value, other characters before letters.
pub(super) fn compare_text(a: &[u8], b: &[u8]) -> Ordering {
    let a: Vec<char> = String::from_utf8_lossy(a).chars().collect();
    let b: Vec<char> = String::from_utf8_lossy(b).chars().collect();
    for at in 0..a.len().min(b.len()) {
        if a[at] != b[at] {
            return compare_from(&a, &b, at);
        }
    }
    a.len().cmp(&b.len())
}

fn compare_from(a: &[char], b: &[char], at: usize) -> Ordering {
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => return a[at].cmp(&b[at]),
        (false, true) => return Ordering::Less,
        (true, false) => return Ordering::Greater,
        (false, false) => {}
    }
    // A zero inside a longer number is a digit, not a leading zero.
    let inside =
        (a[at] == '0' || b[at] == '0') && a[..at].iter().rev().take_while(|c| c.is_numeric()).any(|&c| c != '0');
    let (a_value, a_end) = digit_run(a, at, inside);
    let (b_value, b_end) = digit_run(b, at, inside);
    a_value.cmp(&b_value).then(a_end.cmp(&b_end)).then(a[at].cmp(&b[at]))
}

fn digit_run(text: &[char], from: usize, inside: bool) -> (i64, usize) {
    let mut value = i64::from(inside);
    let mut end = from;
    while let Some(c) = text.get(end).filter(|c| c.is_numeric()) {
        let digit = i64::from(u32::from(*c)) - i64::from(u32::from('0'));
        value = value.wrapping_mul(10).wrapping_add(digit);
        end += 1;
    }
    (value, end)
}
