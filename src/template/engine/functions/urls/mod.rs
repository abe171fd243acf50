//! URLs: taking apart and putting together.

mod escape;
mod url;

pub use escape::query_escape;

use std::collections::BTreeMap;

use super::{Env, ParamType as P, Row, arg};
use crate::template::engine::failure::Failure;
use crate::template::engine::value::{Map, Str, Value};
use url::Url;

/// The functions of this family.
pub const ROWS: &[Row] =
    &[Row::new("urlParse", &[P::String], url_parse), Row::new("urlJoin", &[P::Map], url_join)];

fn url_parse(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let url = Url::parse(arg::bytes(args, 0)).map_err(|message| {
        Failure::with_data(format!("unable to parse url: {message}"), "unable to parse url (text withheld)")
    })?;
    let userinfo = url.user.as_ref().map(url::User::text).unwrap_or_default();
    let entries: BTreeMap<Str, Value> = [
        ("hostname", url.hostname().to_vec()),
        ("scheme", url.scheme),
        ("host", url.host),
        ("path", url.path),
        ("query", url.query),
        ("opaque", url.opaque),
        ("fragment", url.fragment),
        ("userinfo", userinfo),
    ]
    .into_iter()
    .map(|(name, text)| (Str::from(name), Value::str(text)))
    .collect();
    Ok(Value::Map(Map::from_entries(entries)))
}

fn part(map: &Map, name: &str) -> Result<Vec<u8>, Failure> {
    match map.get(name.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Value::Str(text)) => Ok(text.to_vec()),
        Some(Value::Nil | Value::NilAny) => Err(Failure::nil_pointer()),
        Some(other) => Err(Failure::new(format!(
            "unable to parse {name} key, must be of type string, but {} found",
            other.kind_name()
        ))),
    }
}

fn url_join(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let map = arg::map(args, 0);
    let mut url = Url {
        scheme: part(&map, "scheme")?,
        host: part(&map, "host")?,
        path: part(&map, "path")?,
        query: part(&map, "query")?,
        opaque: part(&map, "opaque")?,
        fragment: part(&map, "fragment")?,
        ..Url::default()
    };
    let userinfo = part(&map, "userinfo")?;
    if !userinfo.is_empty() {
        let helper = [b"proto://", &userinfo[..], b"@host"].concat();
        let parsed = Url::parse(&helper).map_err(|message| {
            let text = format!("unable to parse userinfo in dict: {message}");
            Failure::with_data(text, "unable to parse userinfo in dict (text withheld)")
        })?;
        url.user = parsed.user;
    }
    Ok(Value::str(url.text()))
}
