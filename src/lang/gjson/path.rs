//! Splitting a path into its next step and the rest.

use super::scan::{trim, unescape};

/// The names that may follow `@`.
pub(super) const MODIFIERS: &[&str] = &[
    "pretty", "ugly", "reverse", "this", "flatten", "join", "valid", "keys", "values", "tostr", "fromstr", "group",
    "dig",
];

/// What comes after a step.
#[derive(Clone, Copy)]
pub(super) enum Rest<'p> {
    /// Nothing.
    End,
    /// A step into the value.
    Step(&'p [u8]),
    /// A path for the result as a whole.
    Pipe(&'p [u8]),
}

impl<'p> Rest<'p> {
    /// What follows a dot: a modifier or multipath behind it works on the result, as if piped.
    fn after_dot(rest: &'p [u8]) -> Self {
        if starts_piped(rest) {
            Self::Pipe(rest)
        } else {
            Self::Step(rest)
        }
    }
}

fn starts_piped(rest: &[u8]) -> bool {
    match rest.first() {
        Some(b'[' | b'{') => true,
        Some(b'@') => {
            let end = rest
                .iter()
                .position(|b| matches!(b, b'.' | b'|' | b':'))
                .unwrap_or(rest.len());
            MODIFIERS.iter().any(|name| name.as_bytes() == &rest[1..end])
        }
        _ => false,
    }
}

/// A step into an object.
pub(super) struct ObjectStep<'p> {
    /// The member's name, escapes taken out.
    pub(super) part: std::borrow::Cow<'p, [u8]>,
    /// Whether the name is a pattern.
    pub(super) wild: bool,
    pub(super) rest: Rest<'p>,
}

pub(super) fn object_step(path: &[u8]) -> ObjectStep<'_> {
    let mut wild = false;
    for (i, b) in path.iter().enumerate() {
        let rest = match b {
            b'|' => Rest::Pipe(&path[i + 1..]),
            b'.' => Rest::after_dot(&path[i + 1..]),
            b'*' | b'?' => {
                wild = true;
                continue;
            }
            b'\\' => return escaped_object_step(path, i, wild),
            _ => continue,
        };
        return ObjectStep {
            part: path[..i].into(),
            wild,
            rest,
        };
    }
    ObjectStep {
        part: path.into(),
        wild,
        rest: Rest::End,
    }
}

/// From the first escape on. The escape is lost, so an escaped `*` beside a real one is a wildcard after all.
fn escaped_object_step(path: &[u8], first: usize, mut wild: bool) -> ObjectStep<'_> {
    let mut part = path[..first].to_vec();
    let mut rest = Rest::End;
    let mut i = first;
    while let Some(&b) = path.get(i) {
        match b {
            b'\\' => {
                i += 1;
                part.extend(path.get(i));
            }
            b'.' => {
                rest = Rest::after_dot(&path[i + 1..]);
                break;
            }
            b'|' => {
                rest = Rest::Pipe(&path[i + 1..]);
                break;
            }
            _ => {
                wild |= matches!(b, b'*' | b'?');
                part.push(b);
            }
        }
        i += 1;
    }
    ObjectStep {
        part: part.into(),
        wild,
        rest,
    }
}

/// A step into an array.
pub(super) struct ArrayStep<'p> {
    pub(super) part: &'p [u8],
    /// A `#` is somewhere in the part, so it is no index.
    pub(super) hash: bool,
    /// `#.path`: the path to take in every element.
    pub(super) each: Option<&'p [u8]>,
    pub(super) query: Option<Query>,
    pub(super) rest: Rest<'p>,
}

/// The condition of `#(…)` or, for all elements, `#(…)#`.
#[derive(Default)]
pub(super) struct Query {
    pub(super) all: bool,
    pub(super) path: Vec<u8>,
    pub(super) op: Vec<u8>,
    pub(super) value: Vec<u8>,
}

pub(super) fn array_step(path: &[u8]) -> ArrayStep<'_> {
    let mut step = ArrayStep {
        part: path,
        hash: false,
        each: None,
        query: None,
        rest: Rest::End,
    };
    let mut i = 0;
    while let Some(&b) = path.get(i) {
        match b {
            b'|' => {
                (step.part, step.rest) = (&path[..i], Rest::Pipe(&path[i + 1..]));
                return step;
            }
            b'.' => {
                step.part = &path[..i];
                let rest = &path[i + 1..];
                if step.each.is_some() {
                    // the part is `#`, whatever comes behind the second dot
                    step.rest = Rest::Step(rest);
                } else {
                    step.rest = if step.hash {
                        Rest::Step(rest)
                    } else {
                        Rest::after_dot(rest)
                    };
                }
                return step;
            }
            b'#' => {
                step.hash = true;
                match path.get(1).filter(|_| i == 0) {
                    Some(b'.') => step.each = Some(&path[2..]),
                    Some(b'[' | b'(') => {
                        let Some((mut query, end)) = query(path) else {
                            // a query that does not close takes the whole path and asks nothing
                            step.query = Some(Query::default());
                            return step;
                        };
                        i = end - 1;
                        query.all = path.get(i + 1) == Some(&b'#');
                        step.query = Some(query);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        i += 1;
    }
    step
}

/// Reads `#(path op value)` at the start of `text`, and gives the offset behind it.
fn query(text: &[u8]) -> Option<(Query, usize)> {
    let (mut i, mut op_at, mut depth, mut escaped) = (2, None, 1usize, false);
    loop {
        let b = *text.get(i)?;
        match b {
            b'!' | b'=' | b'<' | b'>' | b'%' if depth == 1 && op_at.is_none() => op_at = Some(i),
            b'\\' => i += 1,
            b'[' | b'(' => depth += 1,
            b']' | b')' => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            b'"' => {
                let (end, has_escape) = quoted(text, i + 1);
                escaped |= has_escape;
                i = end;
            }
            _ => {}
        }
        i += 1;
    }
    let mut query = Query::default();
    match op_at {
        None => query.path = trim(&text[2..i]).to_vec(),
        Some(at) => {
            query.path = trim(&text[2..at]).to_vec();
            let (op, value) = operator(trim(&text[at..i]));
            query.op = op.to_vec();
            query.value = plain_value(value, escaped);
        }
    }
    Some((query, i + 1))
}

/// The end of a quoted part and whether it holds a backslash.
fn quoted(text: &[u8], start: usize) -> (usize, bool) {
    match super::scan::string_end(text, start) {
        Some(found) => found,
        None => (text.len(), text[start.min(text.len())..].contains(&b'\\')),
    }
}

/// Splits `==value` into operator and value.
fn operator(text: &[u8]) -> (&[u8], &[u8]) {
    let (op, value) = match text {
        [b'=', b'=', ..] => text[1..].split_at(1),
        [b'!', b'=' | b'%', ..] | [b'<' | b'>', b'=', ..] => text.split_at(2),
        [_] | [b'=' | b'<' | b'>' | b'%', ..] => text.split_at(1),
        // a lone `!` before something else is no operator: the query asks for existence
        _ => text.split_at(0),
    };
    (op, trim(value))
}

fn plain_value(value: &[u8], escaped: bool) -> Vec<u8> {
    match value {
        [b'"', body @ .., b'"'] if escaped => unescape(body),
        [b'"', body @ .., b'"'] => body.to_vec(),
        _ => value.to_vec(),
    }
}

/// Splits a path at its first `|` that is not inside a query; for a multipath at the start, at the one behind it.
pub(super) fn split_pipe(path: &[u8]) -> Option<(&[u8], &[u8])> {
    if !path.contains(&b'|') {
        return None;
    }
    if path.first() == Some(&b'{') {
        // Go begins behind the brace, so the first closing bracket that is not opened again ends it
        let inner = squash_from(&path[1..]);
        let end = inner + 1;
        return (end < path.len() && path[end] == b'|').then(|| (&path[..end], &path[end + 1..]));
    }
    let mut i = 0;
    while let Some(&b) = path.get(i) {
        match b {
            b'\\' => i += 1,
            b'.' if i == path.len() - 1 => return None,
            b'.' if path[i + 1] == b'#' => {
                i += 2;
                match path.get(i)? {
                    b'[' => i = balanced(path, i, b'[', b']'),
                    b'(' => i = balanced(path, i, b'(', b')'),
                    _ => {}
                }
            }
            b'|' => return Some((&path[..i], &path[i + 1..])),
            _ => {}
        }
        i += 1;
    }
    None
}

/// Go's squash of a text whose first byte it takes for an opening bracket (or a quote).
fn squash_from(text: &[u8]) -> usize {
    if text.is_empty() {
        0
    } else {
        super::scan::squash_argument(text).len()
    }
}

/// The offset of the bracket that closes the one at `at`; beyond the end if there is none.
fn balanced(path: &[u8], at: usize, open: u8, close: u8) -> usize {
    let (mut i, mut depth) = (at + 1, 1usize);
    while let Some(&b) = path.get(i) {
        match b {
            b'\\' => i += 1,
            b if b == open => depth += 1,
            b if b == close => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            b'"' => i = quoted(path, i + 1).0,
            _ => {}
        }
        i += 1;
    }
    i
}
