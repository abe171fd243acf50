//! Modifiers: `@name` and `@name:argument`.

use super::path::MODIFIERS;
use super::pretty::{self, Options};
use super::{Eval, Found, Kind, scan};
use crate::lang::gojson::{self, Escape};
use std::collections::BTreeMap;

impl Eval {
    /// Runs the modifier at the start of `path`: what it made, and the rest of the path. Nothing if it is unknown.
    pub(super) fn modifier<'p>(&mut self, json: &[u8], path: &'p [u8]) -> Option<(Vec<u8>, &'p [u8])> {
        let end = path
            .iter()
            .position(|b| matches!(b, b':' | b'|' | b'.'))
            .unwrap_or(path.len());
        let name = MODIFIERS.iter().find(|name| name.as_bytes() == &path[1..end])?;
        let (argument, rest) = match path.get(end) {
            Some(b':') => argument(&path[end + 1..]),
            _ => (&path[..0], &path[end..]),
        };
        Some((self.run(name, json, argument), rest))
    }

    fn run(&mut self, name: &str, json: &[u8], argument: &[u8]) -> Vec<u8> {
        match name {
            "pretty" => self.pretty(json, argument),
            "ugly" => pretty::ugly(json),
            "reverse" => reverse(json),
            "flatten" => {
                let deep = flag(argument, b"deep");
                self.flatten(&scan::parse(json), deep).unwrap_or_else(|| json.to_vec())
            }
            "join" => join(json, argument),
            "valid" => {
                if gojson::validate(json).is_ok() {
                    json.to_vec()
                } else {
                    Vec::new()
                }
            }
            "keys" => keys(json),
            "values" => values(json),
            "tostr" => {
                let mut out = Vec::with_capacity(json.len() + 2);
                gojson::write_string(&mut out, json, Escape::Html);
                out
            }
            "fromstr" => match gojson::validate(json) {
                Ok(()) => scan::parse(json).text().to_vec(),
                Err(_) => Vec::new(),
            },
            "group" => group(json),
            "dig" => {
                let mut out = vec![b'['];
                self.dig(&scan::parse(json), argument, &mut out);
                out.push(b']');
                out
            }
            // `@this`
            _ => json.to_vec(),
        }
    }

    fn pretty(&mut self, json: &[u8], argument: &[u8]) -> Vec<u8> {
        let mut options = Options::default();
        if !argument.is_empty() {
            scan::for_each(&scan::parse(argument), |key, value| match key.text().as_slice() {
                b"sortKeys" => options.sort_keys = boolean(&value),
                b"indent" => options.indent = space_only(&value.text()),
                b"prefix" => options.prefix = space_only(&value.text()),
                b"width" => options.width = integer(&value),
                _ => {}
            });
        }
        let indent = options.indent.len() + options.prefix.len();
        match pretty::pretty(json, &options, self.budget) {
            Some(out) if self.spend(out.len() + indent) => out,
            _ => {
                self.budget = 0;
                Vec::new()
            }
        }
    }

    /// The elements of inner arrays in place of these; nothing if it is no array.
    fn flatten(&mut self, array: &Found<'_>, deep: bool) -> Option<Vec<u8>> {
        if !array.is_array() {
            return None;
        }
        let mut out = vec![b'['];
        scan::for_each(array, |_, value| {
            if !value.is_array() {
                push_item(&mut out, trim_space(&value.raw));
            } else if deep && self.spend(value.raw.len()) {
                let flat = self.deeper(|eval| eval.flatten(&value, deep)).unwrap_or_default();
                push_item(&mut out, trim_space(unwrap(&flat)));
            } else {
                push_item(&mut out, trim_space(unwrap(&value.raw)));
            }
        });
        out.push(b']');
        Some(out)
    }

    /// The path's result in a value and in everything inside it.
    fn dig(&mut self, parent: &Found<'_>, path: &[u8], out: &mut Vec<u8>) {
        let found = self.get(&parent.raw, path);
        if found.exists() {
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(&found.raw);
        }
        drop(found);
        if parent.is_array() || parent.is_object() {
            scan::for_each(parent, |_, value| self.deeper(|eval| eval.dig(&value, path, out)));
        }
    }
}

/// The argument behind `@name:` and the rest of the path.
fn argument(text: &[u8]) -> (&[u8], &[u8]) {
    if matches!(text.first(), Some(b'{' | b'[' | b'"')) {
        return text.split_at(scan::squash_argument(text).len());
    }
    let mut i = 0;
    while let Some(b) = text.get(i) {
        match b {
            b'|' => break,
            b'{' | b'[' | b'"' | b'(' => i += scan::squash_argument(&text[i..]).len(),
            _ => i += 1,
        }
    }
    text.split_at(i)
}

fn push_item(out: &mut Vec<u8>, item: &[u8]) {
    if item.is_empty() {
        return;
    }
    if out.len() > 1 {
        out.push(b',');
    }
    out.extend_from_slice(item);
}

/// A member of the argument, as a boolean.
fn flag(argument: &[u8], name: &[u8]) -> bool {
    let mut set = false;
    if !argument.is_empty() {
        scan::for_each(&scan::parse(argument), |key, value| {
            if key.text().as_slice() == name {
                set = boolean(&value);
            }
        });
    }
    set
}

fn boolean(value: &Found<'_>) -> bool {
    match value.kind {
        Kind::True => true,
        Kind::Number => value.number() != 0.0,
        Kind::String => matches!(value.text.to_ascii_lowercase().as_slice(), b"1" | b"t" | b"true"),
        _ => false,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "whole numbers within 53 bits are exact; Go cuts others as well"
)]
fn integer(value: &Found<'_>) -> i64 {
    match value.kind {
        Kind::True => 1,
        Kind::String => digits(&value.text),
        Kind::Number => {
            let number = value.number();
            if number.abs() <= 9_007_199_254_740_991.0 {
                number as i64
            } else {
                digits(&value.raw)
            }
        }
        _ => 0,
    }
}

fn digits(text: &[u8]) -> i64 {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

/// Only spaces may indent; if there is anything else, it is left out.
fn space_only(text: &[u8]) -> Vec<u8> {
    text.iter()
        .copied()
        .filter(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'))
        .collect()
}

/// Without the brackets.
fn unwrap(json: &[u8]) -> &[u8] {
    let json = scan::trim(json);
    match json {
        [b'[' | b'{', body @ .., _] => body,
        _ => json,
    }
}

fn trim_space(text: &[u8]) -> &[u8] {
    std::str::from_utf8(text).map_or_else(|_| text.trim_ascii(), |text| text.trim().as_bytes())
}

fn reverse(json: &[u8]) -> Vec<u8> {
    let value = scan::parse(json);
    if !value.is_array() && !value.is_object() {
        return json.to_vec();
    }
    let mut items = Vec::new();
    scan::for_each(&value, |key, item| items.push((key, item)));
    let object = value.is_object();
    let mut out = Vec::with_capacity(json.len());
    out.push(if object { b'{' } else { b'[' });
    for (i, (key, item)) in items.iter().rev().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        if object {
            out.extend_from_slice(&key.raw);
            out.push(b':');
        }
        out.extend_from_slice(&item.raw);
    }
    out.push(if object { b'}' } else { b']' });
    out
}

fn keys(json: &[u8]) -> Vec<u8> {
    let value = scan::parse(json);
    let object = value.is_object();
    let mut out = vec![b'['];
    scan::for_each(&value, |key, _| {
        push_item(&mut out, if object { &key.raw } else { b"null" });
    });
    out.push(b']');
    out
}

fn values(json: &[u8]) -> Vec<u8> {
    let value = scan::parse(json);
    if value.is_array() {
        return json.to_vec();
    }
    let mut out = vec![b'['];
    scan::for_each(&value, |_, value| push_item(&mut out, &value.raw));
    out.push(b']');
    out
}

/// One object of the members of many.
fn join(json: &[u8], argument: &[u8]) -> Vec<u8> {
    let array = scan::parse(json);
    if !array.is_array() {
        return json.to_vec();
    }
    let preserve = flag(argument, b"preserve");
    let mut out = vec![b'{'];
    let mut first = true;
    // in order of first appearance, each with its last value
    let mut order: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut places: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    scan::for_each(&array, |_, object| {
        if !object.is_object() {
            return;
        }
        if preserve {
            if !first {
                out.push(b',');
            }
            first = false;
            out.extend_from_slice(unwrap(&object.raw));
            return;
        }
        scan::for_each(&object, |key, value| {
            let place = *places.entry(key.text().to_vec()).or_insert(order.len());
            match order.get_mut(place) {
                Some((_, last)) => *last = value.raw.to_vec(),
                None => order.push((key.raw.to_vec(), value.raw.to_vec())),
            }
        });
    });
    for (i, (key, value)) in order.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(key);
        out.push(b':');
        out.extend_from_slice(value);
    }
    out.push(b'}');
    out
}

/// An array of objects from an object of arrays.
fn group(json: &[u8]) -> Vec<u8> {
    let object = scan::parse(json);
    if !object.is_object() {
        return Vec::new();
    }
    let mut all: Vec<Vec<u8>> = Vec::new();
    scan::for_each(&object, |key, array| {
        if !array.is_array() {
            return;
        }
        let mut index = 0;
        scan::for_each(&array, |_, value| {
            if index == all.len() {
                all.push(vec![b'{']);
            }
            push_item(&mut all[index], &key.raw);
            all[index].push(b':');
            all[index].extend_from_slice(&value.raw);
            index += 1;
        });
    });
    let mut out = vec![b'['];
    for (i, mut item) in all.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        item.push(b'}');
        out.append(&mut item);
    }
    out.push(b']');
    out
}
