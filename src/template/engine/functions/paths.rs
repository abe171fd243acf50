//! Slash-separated paths. On Linux, where the operator runs, the `os` twins do the same.

use super::{ParamType as P, Row, arg};
use crate::template::engine::value::Value;

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("base", &[P::String], |_, args| Ok(Value::str(base(arg::bytes(args, 0))))),
    Row::new("osBase", &[P::String], |_, args| Ok(Value::str(base(arg::bytes(args, 0))))),
    Row::new("dir", &[P::String], |_, args| Ok(Value::str(dir(arg::bytes(args, 0))))),
    Row::new("osDir", &[P::String], |_, args| Ok(Value::str(dir(arg::bytes(args, 0))))),
    Row::new("clean", &[P::String], |_, args| Ok(Value::str(clean(arg::bytes(args, 0))))),
    Row::new("osClean", &[P::String], |_, args| Ok(Value::str(clean(arg::bytes(args, 0))))),
    Row::new("ext", &[P::String], |_, args| Ok(Value::str(ext(arg::bytes(args, 0))))),
    Row::new("osExt", &[P::String], |_, args| Ok(Value::str(ext(arg::bytes(args, 0))))),
    Row::new("isAbs", &[P::String], |_, args| Ok(Value::Bool(arg::bytes(args, 0).starts_with(b"/")))),
    Row::new("osIsAbs", &[P::String], |_, args| Ok(Value::Bool(arg::bytes(args, 0).starts_with(b"/")))),
];

fn base(path: &[u8]) -> &[u8] {
    if path.is_empty() {
        return b".";
    }
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |at| at + 1);
    let name = path[..end].rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if name.is_empty() { b"/" } else { name }
}

fn dir(path: &[u8]) -> Vec<u8> {
    let end = path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    clean(&path[..end])
}

fn ext(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| matches!(byte, b'/' | b'.')) {
        Some(at) if path[at] == b'.' => &path[at..],
        _ => b"",
    }
}

/// The shortest equal path, without looking at any file system.
fn clean(path: &[u8]) -> Vec<u8> {
    if path.is_empty() {
        return b".".to_vec();
    }
    let rooted = path.starts_with(b"/");
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if kept.last().is_some_and(|last| *last != b"..") => {
                kept.pop();
            }
            b".." if rooted => {}
            _ => kept.push(part),
        }
    }
    let mut out = if rooted { b"/".to_vec() } else { Vec::new() };
    out.extend_from_slice(&kept.join(&b'/'));
    if out.is_empty() { b".".to_vec() } else { out }
}
