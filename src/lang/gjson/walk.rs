//! Following a path into objects and arrays.

use super::path::{self, ArrayStep, Query, Rest};
use super::{Eval, Found, Kind, glob, query, scan};
use zeroize::Zeroizing;

/// What a member or element costs, in bytes of the budget.
const STEP: usize = 16;

/// A walk through one text.
struct Walk<'j> {
    json: &'j [u8],
    /// What was found; it may be set although a step reports no hit.
    value: Found<'j>,
    /// The path for the result as a whole.
    pipe: Option<Vec<u8>>,
}

impl Eval {
    /// Follows a path without modifier or multipath at its start.
    pub(super) fn walk<'j>(&mut self, json: &'j [u8], path: &[u8]) -> Found<'j> {
        let mut walk = Walk {
            json,
            value: Found::default(),
            pipe: None,
        };
        if let Some(lines) = path.strip_prefix(b"..") {
            // every value of a text of lines is an element
            self.array(&mut walk, 0, lines);
        } else if let Some(at) = json.iter().position(|b| matches!(b, b'{' | b'[')) {
            self.container(&mut walk, at, path);
        }
        match walk.pipe {
            Some(pipe) => {
                let value = walk.value;
                self.get(&value.raw, &pipe).into_owned()
            }
            None => walk.value,
        }
    }

    /// The object or array whose bracket is at `at`; where it ends and whether the path found something.
    fn container(&mut self, walk: &mut Walk<'_>, at: usize, path: &[u8]) -> (usize, bool) {
        if walk.json[at] == b'{' {
            self.deeper(|eval| eval.object(walk, at + 1, path))
        } else {
            self.deeper(|eval| eval.array(walk, at + 1, path))
        }
    }

    fn object(&mut self, walk: &mut Walk<'_>, mut at: usize, path: &[u8]) -> (usize, bool) {
        let json = walk.json;
        let step = path::object_step(path);
        if let Rest::Pipe(pipe) = step.rest {
            walk.pipe = Some(pipe.to_vec());
        }
        while self.budget > 0 {
            match json.get(at) {
                None => break,
                Some(b'}') => return (at + 1, false),
                Some(b'"') => {}
                Some(_) => {
                    at += 1;
                    continue;
                }
            }
            self.spend(STEP);
            let Some((key, end)) = scan::string(json, at) else {
                return (json.len(), false);
            };
            at = end;
            let matched = if step.wild {
                self.spend(key.text.len() + step.part.len());
                glob::matches(&key.text, &step.part)
            } else {
                *key.text == *step.part
            };
            let into = match step.rest {
                Rest::Step(rest) if matched => Some(rest),
                _ => None,
            };
            let (end, done) = self.member(walk, at, into, matched && into.is_none());
            at = end;
            if done {
                return (at, true);
            }
        }
        (at, false)
    }

    /// The value behind a key: entered with `into`, or taken if it is a hit.
    fn member(&mut self, walk: &mut Walk<'_>, mut at: usize, into: Option<&[u8]>, hit: bool) -> (usize, bool) {
        let json = walk.json;
        while let Some(b) = json.get(at) {
            if matches!(b, b'{' | b'[')
                && let Some(path) = into
            {
                return self.container(walk, at, path);
            }
            if *b == b'"' && scan::string_end(json, at + 1).is_none() {
                return (json.len(), false);
            }
            if let Some((value, end)) = value_at(json, at) {
                if hit {
                    walk.value = value;
                }
                return (end, hit);
            }
            at += 1;
        }
        (at, false)
    }

    fn array(&mut self, walk: &mut Walk<'_>, mut at: usize, path: &[u8]) -> (usize, bool) {
        let json = walk.json;
        let step = path::array_step(path);
        if let Rest::Pipe(pipe) = step.rest {
            walk.pipe = Some(pipe.to_vec());
        }
        let index = if step.hash { None } else { index(step.part) };
        let mut search = Search {
            rest: step.rest,
            found: Zeroizing::new(Vec::new()),
        };
        let (mut count, mut starts) = (0u64, Vec::new());
        while self.budget > 0 && at <= json.len() {
            if step.each.is_some() {
                starts.push(at);
            }
            self.spend(STEP);
            let matched = index == Some(count);
            count += 1;
            while json.get(at).is_some_and(|b| *b != b']' && !starts_value(json, at)) {
                at += 1;
            }
            if at >= json.len() || json[at] == b']' {
                return self.end_of_array(walk, &step, search, count - 1, &starts, at);
            }
            if let (true, Rest::Step(rest), b'{' | b'[') = (matched, step.rest, json[at]) {
                let (end, hit) = self.container(walk, at, rest);
                at = end;
                if hit {
                    return (at, true);
                }
                continue;
            }
            let Some((value, end)) = value_at(json, at) else {
                return (json.len(), false);
            };
            at = end;
            if let Some(query) = &step.query {
                if self.ask(walk, query, &mut search, value) {
                    return (at, true);
                }
            } else if matched && !matches!(step.rest, Rest::Step(_)) {
                walk.value = value;
                return (at, true);
            }
        }
        (at, false)
    }

    /// Puts a query to one element; true if the search is over.
    fn ask<'j>(&mut self, walk: &mut Walk<'j>, query: &Query, search: &mut Search<'_>, element: Found<'j>) -> bool {
        if query.all && search.found.is_empty() {
            search.found.push(b'[');
        }
        let asked = if element.kind == Kind::Json {
            self.get(&element.raw, &query.path)
        } else if query.path.is_empty() {
            element.clone()
        } else {
            return false;
        };
        self.spend(query.value.len());
        if !query::matches(query, &asked) {
            return false;
        }
        drop(asked);
        let result = match search.rest {
            Rest::Step(rest) => {
                if let Some((left, right)) = path::split_pipe(rest) {
                    search.rest = Rest::Step(left);
                    walk.pipe = Some(right.to_vec());
                }
                let Rest::Step(rest) = search.rest else {
                    unreachable!("it is a step")
                };
                self.get(&element.raw, rest).into_owned()
            }
            _ => element,
        };
        if !query.all {
            walk.value = result;
            return true;
        }
        let bytes = result.bytes();
        if !bytes.is_empty() && self.spend(bytes.len()) {
            if search.found.len() > 1 {
                search.found.push(b',');
            }
            search.found.extend_from_slice(&bytes);
        }
        false
    }

    fn end_of_array(
        &mut self,
        walk: &mut Walk<'_>,
        step: &ArrayStep<'_>,
        mut search: Search<'_>,
        count: u64,
        starts: &[usize],
        at: usize,
    ) -> (usize, bool) {
        if step.hash && step.part == b"#" {
            if let Some(each) = step.each {
                self.each(walk, each, starts);
            } else {
                let raw = count.to_string().into_bytes();
                walk.value = Found {
                    kind: Kind::Number,
                    ..Found::made(raw)
                };
            }
            return (at + 1, true);
        }
        if !walk.value.exists() {
            if !search.found.is_empty() {
                search.found.push(b']');
                walk.value = Found::made(std::mem::take(&mut *search.found));
            } else if step.query.as_ref().is_some_and(|query| query.all) {
                walk.value = Found::made(b"[]".to_vec());
            }
        }
        (at + 1, false)
    }

    /// `#.path`: takes the path in every element and collects what exists.
    fn each(&mut self, walk: &mut Walk<'_>, mut path: &[u8], starts: &[usize]) {
        let json = walk.json;
        if let Some((left, right)) = path::split_pipe(path) {
            path = left;
            walk.pipe = Some(right.to_vec());
        }
        let mut all = Zeroizing::new(vec![b'[']);
        for start in starts {
            let first = json
                .iter()
                .skip(*start)
                .position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
            let Some(at) = first.map(|n| start + n).filter(|at| json[*at] != b']') else {
                continue;
            };
            let Some((element, _)) = scan::next_value(json, at) else {
                continue;
            };
            let found = self.get(&element.raw, path);
            if found.exists() {
                if all.len() > 1 {
                    all.push(b',');
                }
                all.extend_from_slice(&found.bytes());
            }
        }
        all.push(b']');
        walk.value = Found::made(std::mem::take(&mut *all));
    }
}

/// The state of a query over an array.
struct Search<'p> {
    rest: Rest<'p>,
    /// The elements found so far, for a query for all.
    found: Zeroizing<Vec<u8>>,
}

fn starts_value(json: &[u8], at: usize) -> bool {
    matches!(json[at], b'"' | b'{' | b'[' | b't' | b'f' | b'n') || scan::starts_number(json, at)
}

/// The value that starts exactly at `at`.
fn value_at(json: &[u8], at: usize) -> Option<(Found<'_>, usize)> {
    if starts_value(json, at) {
        scan::next_value(json, at)
    } else {
        None
    }
}

/// An array index; it wraps at 64 bits as Go's does.
fn index(part: &[u8]) -> Option<u64> {
    if part.is_empty() || !part.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(
        part.iter()
            .fold(0u64, |n, b| n.wrapping_mul(10).wrapping_add(u64::from(b - b'0'))),
    )
}
