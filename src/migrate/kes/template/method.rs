//! Calls: methods of texts and lists, and the few global functions of a lodash template.

use super::go::{Go, Kind, quote};
use super::json::Missing;
use super::pattern::{self, Piece};
use super::value::{Access, YAML_PATH};
use super::write::{ESCAPE, Writer};
use crate::migrate::kes::finding::Code;
use crate::migrate::kes::js::ast::Expr;
use crate::migrate::kes::js::parser::SyntaxError;

type Called<T> = Result<T, SyntaxError>;

/// `encodeURIComponent`: Go escapes five characters more and writes a blank as `+`.
const ENCODE_URI: &str = r#"urlquery | replace "+" "%20" | replace "%21" "!" | replace "%27" "'" | replace "%28" "(" | replace "%29" ")" | replace "%2A" "*""#;

fn global(expr: &Expr, object: &str) -> bool {
    *expr == Expr::Name(object.to_owned())
}

/// `Buffer.from(args)`.
fn buffer_arguments(expr: &Expr) -> Option<&[Expr]> {
    let Expr::Call(callee, args) = expr else { return None };
    let Expr::Member(object, method) = callee.as_ref() else {
        return None;
    };
    (method == "from" && global(object, "Buffer")).then_some(args.as_slice())
}

fn is_utf8(expr: &Expr) -> bool {
    matches!(expr, Expr::Str(s) if matches!(s.to_ascii_lowercase().as_str(), "utf8" | "utf-8"))
}

fn is_base64(expr: &Expr) -> bool {
    matches!(expr, Expr::Str(s) if s.eq_ignore_ascii_case("base64"))
}

/// `E` of `Buffer.from(E).toString("base64")`.
pub fn encoded_argument(expr: &Expr) -> Option<&Expr> {
    let Expr::Call(callee, args) = expr else { return None };
    let (Expr::Member(buffer, method), [encoding]) = (callee.as_ref(), args.as_slice()) else {
        return None;
    };
    if method != "toString" || !is_base64(encoding) {
        return None;
    }
    match buffer_arguments(buffer)? {
        [e] => Some(e),
        [e, encoding] if is_utf8(encoding) => Some(e),
        _ => None,
    }
}

/// A call.
pub fn call(w: &mut Writer<'_>, callee: &Expr, args: &[Expr]) -> Called<Go> {
    match (callee, args) {
        (Expr::Member(object, method), _) if w.is_global(object) => global_method(w, object, method, args),
        (Expr::Name(name), [argument]) if name == "encodeURIComponent" && w.lookup(name).is_none() => {
            Ok(text(w, argument)?.pipe(ENCODE_URI, Kind::Text))
        }
        (Expr::Member(receiver, method), _) => {
            if let (Some(buffer), "toString") = (buffer_arguments(receiver), method.as_str()) {
                return buffer_to_string(w, buffer, args);
            }
            let receiver = w.value(receiver, Access::Strict)?;
            if matches!(receiver.kind, Kind::TextList) || (receiver.kind == Kind::Json && method == "join") {
                return list_method(w, &receiver, method, args);
            }
            text_method(w, &receiver, method, args)
        }
        _ => Err(SyntaxError::new("this call")),
    }
}

impl Writer<'_> {
    fn is_global(&self, object: &Expr) -> bool {
        matches!(object, Expr::Name(n) if matches!(n.as_str(), "JSON" | "Buffer" | "yaml" | "_" | "Object") && self.lookup(n).is_none())
    }
}

fn global_method(w: &mut Writer<'_>, object: &Expr, method: &str, args: &[Expr]) -> Called<Go> {
    let Expr::Name(object) = object else {
        return Err(SyntaxError::new("this call"));
    };
    let [argument] = args else {
        return Err(SyntaxError::new(format!("`{object}.{method}` with these arguments")));
    };
    match (object.as_str(), method) {
        ("JSON", "parse") => {
            let go = text(w, argument)?;
            let path = go.path.clone();
            Ok(go.pipe("mustFromJson", Kind::Json).at(path))
        }
        ("JSON", "stringify") => stringify(w, argument),
        ("yaml", "load" | "safeLoad") => {
            let go = text(w, argument)?;
            let path = format!("{YAML_PATH}{}", go.path.clone().unwrap_or_default());
            Ok(go.pipe("fromYaml", Kind::Json).at(Some(path)))
        }
        ("yaml", "dump" | "safeDump") => {
            let go = w.value(argument, Access::Strict)?;
            if !matches!(go.kind, Kind::Json | Kind::TextList) {
                return Err(SyntaxError::new("`yaml.dump` of something that is not JSON"));
            }
            w.note(
                Code::TemplateYaml,
                "ESO writes YAML with sorted keys and other quotes; compare the result",
            );
            Ok(Go::pipeline(
                format!(r#"printf "%s\n" ({} | toYaml)"#, go.text),
                Kind::Text,
            ))
        }
        ("_", "escape") => Ok(text(w, argument)?.pipe(ESCAPE, Kind::Text)),
        _ => Err(SyntaxError::new(format!("`{object}.{method}`"))),
    }
}

fn stringify(w: &mut Writer<'_>, argument: &Expr) -> Called<Go> {
    let go = w.value(argument, Access::Strict)?;
    let ordered = match go.kind {
        Kind::Json => go.path.as_ref().is_some_and(|p| w.shapes.ordered(p)),
        Kind::Root => false,
        _ => true,
    };
    if !ordered {
        w.note(
            Code::TemplateKeyOrder,
            "ESO writes the keys of an object in sorted order",
        );
    }
    Ok(go.pipe("toRawJson", Kind::Text))
}

/// An argument that has to be a text.
fn text(w: &mut Writer<'_>, expr: &Expr) -> Called<Go> {
    let go = w.value(expr, Access::Strict)?;
    match go.kind {
        Kind::Text => Ok(go),
        Kind::Json => Ok(w.text_variable(&go, Missing::Stop)),
        _ => Err(SyntaxError::new("an argument that is not a text")),
    }
}

fn buffer_to_string(w: &mut Writer<'_>, buffer: &[Expr], args: &[Expr]) -> Called<Go> {
    let plain = match args {
        [] => true,
        [e] if is_utf8(e) => true,
        [e] if is_base64(e) => false,
        _ => return Err(SyntaxError::new("this encoding of `Buffer`")),
    };
    let (source, from_base64) = match buffer {
        [e] => (e, false),
        [e, encoding] if is_utf8(encoding) => (e, false),
        [e, encoding] if is_base64(encoding) => (e, true),
        _ => return Err(SyntaxError::new("this use of `Buffer.from`")),
    };
    let go = text(w, source)?;
    Ok(match (from_base64, plain) {
        (false, true) => go,
        (false, false) => go.pipe("b64enc", Kind::Text),
        (true, true) => go.pipe("b64dec", Kind::Text),
        (true, false) => go.pipe("b64dec | b64enc", Kind::Text),
    })
}

fn list_method(w: &mut Writer<'_>, list: &Go, method: &str, args: &[Expr]) -> Called<Go> {
    match (method, args) {
        ("join", []) => Ok(joined_list(w, list, ",")),
        ("join", [Expr::Str(separator)]) => Ok(joined_list(w, list, separator)),
        ("includes", [e]) => {
            let e = text(w, e)?;
            Ok(Go::pipeline(
                format!("has {} {}", e.operand(), list.operand()),
                Kind::Bool,
            ))
        }
        _ => Err(SyntaxError::new(format!("`.{method}` of a list"))),
    }
}

/// Lists of texts have a function; elements of JSON lists are looked at one by one.
fn joined_list(w: &mut Writer<'_>, list: &Go, separator: &str) -> Go {
    if list.kind == Kind::TextList {
        return list.pipe(&format!("join {}", quote(separator)), Kind::Text);
    }
    if let Some(path) = &list.path {
        w.shapes.lists.insert(path.clone());
        w.shapes.scalars.insert(format!("{path}[]"));
    }
    let (out, i, e) = (w.temporary(), w.temporary(), w.temporary());
    let quoted = quote(&separator.replace('%', "%%").replacen("", "%s", 1));
    w.before(format!(r#"{out} := """#));
    w.before(format!("range {i}, {e} := {}", list.text));
    w.before(format!("if {i}"));
    w.before(format!("{out} = printf {quoted} {out}"));
    w.before("end".to_owned());
    w.before(format!(r#"if kindIs "string" {e}"#));
    w.before(format!(r#"{out} = printf "%s%s" {out} {e}"#));
    w.before(format!(r#"else if or (kindIs "slice" {e}) (kindIs "map" {e})"#));
    w.before(format!("fail {}", quote("a list of lists or objects cannot be joined")));
    w.before(format!(r#"else if not (kindIs "invalid" {e})"#));
    w.before(format!(r#"{out} = printf "%s%s" {out} ({e} | toRawJson)"#));
    w.before("end".to_owned());
    w.before("end".to_owned());
    Go::atom(out, Kind::Text)
}

fn text_method(w: &mut Writer<'_>, receiver: &Go, method: &str, args: &[Expr]) -> Called<Go> {
    match receiver.kind {
        Kind::Text => {}
        Kind::Json => {
            if let Some(path) = &receiver.path {
                w.shapes.scalars.insert(path.clone());
            }
            if method == "toString" {
                return Ok(w.text_variable(receiver, Missing::Stop));
            }
        }
        _ => return Err(SyntaxError::new(format!("`.{method}` of this value"))),
    }
    let r = receiver.operand();
    match (method, args) {
        ("toUpperCase", []) => Ok(receiver.pipe("upper", Kind::Text)),
        ("toLowerCase", []) => Ok(receiver.pipe("lower", Kind::Text)),
        ("trim", []) => Ok(receiver.pipe("trim", Kind::Text)),
        ("toString", []) => Ok(receiver.clone()),
        ("replace", [what, Expr::Str(with)]) => replace(receiver, what, with, false),
        ("replaceAll", [what, Expr::Str(with)]) => replace(receiver, what, with, true),
        ("split", [Expr::Str(separator)]) => Ok(Go::pipeline(
            format!("splitList {} {r}", quote(separator)),
            Kind::TextList,
        )),
        ("includes", [e]) => test(w, "contains", e, &r),
        ("startsWith", [e]) => test(w, "hasPrefix", e, &r),
        ("endsWith", [e]) => test(w, "hasSuffix", e, &r),
        ("substring" | "slice", [Expr::Num(from)]) => substring(&r, method, from, None),
        ("substring" | "slice", [Expr::Num(from), Expr::Num(to)]) => substring(&r, method, from, Some(to)),
        _ => Err(SyntaxError::new(format!("`.{method}` with these arguments"))),
    }
}

fn test(w: &mut Writer<'_>, function: &str, argument: &Expr, receiver: &str) -> Called<Go> {
    let argument = text(w, argument)?;
    Ok(Go::pipeline(
        format!("{function} {} {receiver}", argument.operand()),
        Kind::Bool,
    ))
}

/// `substring` swaps its ends when they are the wrong way round, `slice` returns nothing then.
fn substring(receiver: &str, method: &str, from: &str, to: Option<&String>) -> Called<Go> {
    let number = |s: &str| {
        s.parse::<u32>()
            .map_err(|_| SyntaxError::new("a fraction as a position"))
    };
    let from = number(from)?;
    let Some(to) = to else {
        return Ok(Go::pipeline(format!("substr {from} -1 {receiver}"), Kind::Text));
    };
    let to = number(to)?;
    match (from.cmp(&to), method) {
        (std::cmp::Ordering::Equal, _) | (std::cmp::Ordering::Greater, "slice") => Ok(Go::constant("")),
        _ => Ok(Go::pipeline(
            format!("substr {} {} {receiver}", from.min(to), from.max(to)),
            Kind::Text,
        )),
    }
}

fn replace(receiver: &Go, what: &Expr, with: &str, all: bool) -> Called<Go> {
    let r = receiver.operand();
    match what {
        Expr::Str(s) => {
            let pieces = pattern::replacement(with, 0)?;
            if all {
                let with: String = pieces
                    .iter()
                    .map(|p| if let Piece::Text(t) = p { t.as_str() } else { s.as_str() })
                    .collect();
                return Ok(receiver.pipe(&format!("replace {} {}", quote(s), quote(&with)), Kind::Text));
            }
            let pieces: Vec<Piece> = pieces
                .into_iter()
                .map(|p| {
                    if p == Piece::Group(0) {
                        Piece::Text(s.clone())
                    } else {
                        p
                    }
                })
                .collect();
            let with = pattern::go_replacement(&pieces, 0);
            Ok(first(&pattern::quote_meta(s), &r, &with))
        }
        Expr::Regex { pattern: text, flags } => {
            let p = pattern::convert(text, flags)?;
            if all && !p.global {
                return Err(SyntaxError::new("`replaceAll` without flag g"));
            }
            let pieces = pattern::replacement(with, p.groups)?;
            let plain = matches!(pieces.as_slice(), [Piece::Text(_)]);
            match (&p.literal, p.global) {
                (Some(s), true) if plain => {
                    let with: String = pieces
                        .iter()
                        .map(|p| if let Piece::Text(t) = p { t.as_str() } else { "" })
                        .collect();
                    Ok(receiver.pipe(&format!("replace {} {}", quote(s), quote(&with)), Kind::Text))
                }
                (_, true) => Ok(Go::pipeline(
                    format!(
                        "regexReplaceAll {} {r} {}",
                        quote(&p.text),
                        quote(&pattern::go_replacement(&pieces, 0))
                    ),
                    Kind::Text,
                )),
                (_, false) if plain => Ok(first(
                    &format!("(?-s:{})", p.text),
                    &r,
                    &pattern::go_replacement(&pieces, 0),
                )),
                _ => Err(SyntaxError::new("one replacement with groups")),
            }
        }
        _ => Err(SyntaxError::new("replacing something that is only known later")),
    }
}

/// Replaces the first occurrence: everything before it is matched too and put back.
fn first(pattern: &str, receiver: &str, with: &str) -> Go {
    let pattern = quote(&format!("(?s)^(.*?){pattern}"));
    Go::pipeline(
        format!(
            "regexReplaceAll {pattern} {receiver} {}",
            quote(&format!("${{1}}{with}"))
        ),
        Kind::Text,
    )
}
