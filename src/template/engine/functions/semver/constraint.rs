//! Version constraints: `>= 1.2, < 3 || ^4.1`.

use std::cmp::Ordering;

use super::version::{Version, order_prereleases, pieces};
use crate::template::engine::failure::Failure;
use crate::template::engine::utf8;

/// One condition.
pub(super) struct Condition {
    operator: Operator,
    bound: Version,
    /// How many of the three numbers the text gives, from the left; wildcards do not count.
    given: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterEqual,
    LessEqual,
    Tilde,
    Caret,
}

const OPERATORS: &[(&[u8], Operator)] = &[
    (b"!=", Operator::NotEqual),
    (b">=", Operator::GreaterEqual),
    (b"=>", Operator::GreaterEqual),
    (b"<=", Operator::LessEqual),
    (b"=<", Operator::LessEqual),
    (b"~>", Operator::Tilde),
    (b"=", Operator::Equal),
    (b">", Operator::Greater),
    (b"<", Operator::Less),
    (b"~", Operator::Tilde),
    (b"^", Operator::Caret),
    (b"", Operator::Equal),
];

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

fn skip_space(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|&&byte| is_space(byte)).count()..]
}

fn is_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'x' | b'X' | b'*' | b'|')
}

fn is_wildcard(text: &[u8]) -> bool {
    matches!(text, b"x" | b"X" | b"*")
}

/// Groups of conditions: one group must hold completely.
///
/// # Errors
/// The library's message.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Vec<Condition>>, Failure> {
    let text = rewrite_ranges(text);
    let mut groups = Vec::new();
    let mut rest = &text[..];
    loop {
        let end = memchr::memmem::find(rest, b"||");
        groups.push(parse_group(&rest[..end.unwrap_or(rest.len())])?);
        match end {
            Some(end) => rest = &rest[end + 2..],
            None => return Ok(groups),
        }
    }
}

fn parse_group(group: &[u8]) -> Result<Vec<Condition>, Failure> {
    let improper = || {
        let text = format!("improper constraint: {}", utf8::lossy(group));
        Failure::with_data(text, "improper constraint")
    };
    let mut conditions = Vec::new();
    let mut rest = skip_space(group);
    loop {
        let known = OPERATORS.iter().find(|(sign, _)| rest.starts_with(sign));
        let (sign, operator) = known.ok_or_else(improper)?;
        let text = skip_space(&rest[sign.len()..]);
        let found = pieces(text, is_number).ok_or_else(improper)?;
        conditions.push(condition(*operator, &found.numbers, found.prerelease, &text[..found.length])?);
        let after = &text[found.length..];
        let next = skip_space(after);
        rest = match next.split_first() {
            None => return Ok(conditions),
            Some((b',', next)) => skip_space(next),
            Some(_) if next.len() < after.len() => next,
            Some(_) => return Err(improper()),
        };
    }
}

fn condition(operator: Operator, numbers: &[&[u8]], prerelease: &[u8], text: &[u8]) -> Result<Condition, Failure> {
    let given = numbers.iter().take_while(|number| !is_wildcard(number)).count();
    let text = if given == 3 {
        text.to_vec()
    } else {
        let mut filled: Vec<&[u8]> = numbers[..given].to_vec();
        filled.resize(3, b"0");
        let mut text = filled.join(&b'.');
        if !prerelease.is_empty() {
            text.push(b'-');
            text.extend_from_slice(prerelease);
        }
        text
    };
    let bound = Version::parse(&text).map_err(|_| Failure::new("constraint parser error"))?;
    Ok(Condition { operator, bound, given })
}

/// `a - b` becomes `>= a, <= b`.
fn rewrite_ranges(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    let mut at = 0;
    while at < text.len() {
        if let Some((low, high, length)) = range_at(&text[at..]) {
            out.extend_from_slice(b">= ");
            out.extend_from_slice(low);
            out.extend_from_slice(b", <= ");
            out.extend_from_slice(high);
            out.push(b' ');
            at += length;
        } else {
            out.push(text[at]);
            at += 1;
        }
    }
    out
}

fn range_at(text: &[u8]) -> Option<(&[u8], &[u8], usize)> {
    let start = skip_space(text);
    let low = pieces(start, is_number)?;
    let after_low = &start[low.length..];
    let dash = skip_space(after_low);
    let after_dash = dash.strip_prefix(b"-")?;
    let high_text = skip_space(after_dash);
    if dash.len() == after_low.len() || high_text.len() == after_dash.len() {
        return None;
    }
    let high = pieces(high_text, is_number)?;
    let rest = skip_space(&high_text[high.length..]);
    Some((&start[..low.length], &high_text[..high.length], text.len() - rest.len()))
}

/// Pre-releases match only in a group that names one itself.
pub(super) fn check(groups: &[Vec<Condition>], version: &Version) -> bool {
    groups.iter().any(|group| {
        let named = group.iter().any(|condition| !condition.bound.prerelease.is_empty());
        (version.prerelease.is_empty() || named) && group.iter().all(|condition| holds(condition, version))
    })
}

fn holds(condition: &Condition, version: &Version) -> bool {
    let Condition { operator, bound, given } = condition;
    let order = version.order(bound);
    let partial = *given < 3;
    match operator {
        Operator::Equal if partial => tilde(condition, version),
        Operator::Equal => order.is_eq(),
        Operator::NotEqual => not_equal(condition, version),
        Operator::Greater if partial => greater(condition, version),
        Operator::Greater => order.is_gt(),
        Operator::Less => order.is_lt(),
        Operator::GreaterEqual => order.is_ge(),
        Operator::LessEqual if partial => less_equal(condition, version),
        Operator::LessEqual => order.is_le(),
        Operator::Tilde => tilde(condition, version),
        Operator::Caret => caret(condition, version),
    }
}

/// `>` against a partial version: beyond everything it stands for. A bare wildcard counts as `0`.
fn greater(condition: &Condition, version: &Version) -> bool {
    let ([major, minor, _], [low_major, low_minor, _]) = (version.numbers, condition.bound.numbers);
    match (major.cmp(&low_major), condition.given) {
        (Ordering::Greater, _) => true,
        (Ordering::Less, _) | (Ordering::Equal, 1) => false,
        (Ordering::Equal, 2) => minor > low_minor,
        (Ordering::Equal, _) => version.order(&condition.bound).is_gt(),
    }
}

fn less_equal(condition: &Condition, version: &Version) -> bool {
    let ([major, minor, _], [high_major, high_minor, _]) = (version.numbers, condition.bound.numbers);
    major < high_major || (major == high_major && (minor <= high_minor || condition.given == 1))
}

fn not_equal(condition: &Condition, version: &Version) -> bool {
    let (a, b) = (version, &condition.bound);
    if condition.given == 3 {
        return a.order(b).is_ne();
    }
    if a.numbers[0] != b.numbers[0] {
        return true;
    }
    match condition.given {
        1 => false,
        2 if a.numbers[1] != b.numbers[1] => true,
        2 => order_prereleases(&a.prerelease, &b.prerelease).is_ne(),
        _ if a.numbers[1] != b.numbers[1] || a.numbers[2] != b.numbers[2] => true,
        _ => a.order(b).is_ne(),
    }
}

fn tilde(condition: &Condition, version: &Version) -> bool {
    let (a, b) = (version, &condition.bound);
    if a.order(b).is_lt() {
        return false;
    }
    // `~0.0.0` and a bare wildcard take everything from there on.
    if b.numbers == [0; 3] && !matches!(condition.given, 1 | 2) {
        return true;
    }
    a.numbers[0] == b.numbers[0] && (a.numbers[1] == b.numbers[1] || condition.given == 1)
}

fn caret(condition: &Condition, version: &Version) -> bool {
    let (a, b) = (version, &condition.bound);
    if a.order(b).is_lt() {
        return false;
    }
    let ([major, minor, patch], [low_major, low_minor, low_patch]) = (a.numbers, b.numbers);
    if low_major > 0 || condition.given == 1 {
        return major == low_major;
    }
    if major > 0 {
        return false;
    }
    if low_minor > 0 || condition.given == 2 {
        return minor == low_minor;
    }
    minor == 0 && patch == low_patch
}
