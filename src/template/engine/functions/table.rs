//! Every function by name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{
    Row, builtins, casing, certificates, crypto, dates, decimal, defaults, dicts, encoding, json, jwk, lists, math, merge,
    paths, pkcs12, random, reflection, regex, semver, strings, text, urls, yaml,
};
use crate::template::engine::ast::Callee;

/// Later families hide earlier ones, as custom functions hide Go's.
const FAMILIES: &[&[Row]] = &[
    builtins::ROWS,
    casing::ROWS,
    certificates::ROWS,
    crypto::ROWS,
    dates::ROWS,
    decimal::ROWS,
    defaults::ROWS,
    dicts::ROWS,
    encoding::ROWS,
    json::ROWS,
    jwk::ROWS,
    lists::ROWS,
    math::ROWS,
    merge::ROWS,
    paths::ROWS,
    pkcs12::ROWS,
    random::ROWS,
    reflection::ROWS,
    regex::ROWS,
    semver::ROWS,
    strings::ROWS,
    text::ROWS,
    urls::ROWS,
    yaml::ROWS,
];

static TABLE: LazyLock<HashMap<&'static str, &'static Row>> =
    LazyLock::new(|| FAMILIES.iter().copied().flatten().map(|row| (row.name, row)).collect());

/// The function of that name.
pub fn find(name: &[u8]) -> Option<Callee> {
    let name = std::str::from_utf8(name).ok()?;
    let row = TABLE.get(name).copied()?;
    Some(match row.name {
        "and" => Callee::And(row),
        "or" => Callee::Or(row),
        "call" => Callee::Call(row),
        _ => Callee::Plain(row),
    })
}

/// The names of all functions, sorted.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = TABLE.keys().copied().collect();
    names.sort_unstable();
    names
}
