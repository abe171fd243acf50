//! Expressions → Go expressions.

use super::go::{Form, Go, Kind, is_field, quote};
use super::json::Missing;
use super::write::{Writer, joined};
use super::{KeyForm, method};
use crate::migrate::kes::finding::Code;
use crate::migrate::kes::js::ast::{Expr, Op, Part};
use crate::migrate::kes::js::parser::SyntaxError;

/// What a missing JSON field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nothing, as `undefined` in a print or a condition.
    Lenient,
    /// An error, where JavaScript would stop or write `undefined`.
    Strict,
}

type Valued<T> = Result<T, SyntaxError>;

impl Writer<'_> {
    /// An expression as a Go expression.
    pub fn value(&mut self, expr: &Expr, access: Access) -> Valued<Go> {
        match expr {
            Expr::Str(s) => Ok(Go::constant(s)),
            Expr::Num(n) => Ok(Go::atom(n, if n.contains('.') { Kind::Float } else { Kind::Int })),
            Expr::Neg(inner) => match inner.as_ref() {
                Expr::Num(n) => Ok(Go::atom(
                    format!("-{n}"),
                    if n.contains('.') { Kind::Float } else { Kind::Int },
                )),
                _ => Err(SyntaxError::new("a negated expression")),
            },
            Expr::Bool(b) => Ok(Go::atom(if *b { "true" } else { "false" }, Kind::Bool)),
            Expr::Null | Expr::Undefined => Err(SyntaxError::new("`null` or `undefined` as a value")),
            Expr::Regex { .. } => Err(SyntaxError::new("a regular expression at this place")),
            Expr::Function { .. } => Err(SyntaxError::new("a function at this place")),
            Expr::Template(_) => self.joined_value(expr),
            Expr::Name(name) => self.name(name),
            Expr::Member(object, field) => self.member(object, field, access),
            Expr::Index(object, index) => self.index(object, index),
            Expr::Call(callee, args) => method::call(self, callee, args),
            Expr::Not(inner) => {
                let inner = self.condition(inner)?;
                Ok(Go::pipeline(format!("not {}", parenthesised(&inner)), Kind::Bool))
            }
            Expr::Cond(cond, a, b) => {
                let cond = self.boolean(cond)?;
                let (a, b) = self.lazily(|w| Ok((w.value(a, Access::Lenient)?, w.value(b, Access::Lenient)?)))?;
                let kind = joined(a.kind, b.kind)?;
                Ok(Go::pipeline(
                    format!("ternary {} {} {}", a.operand(), b.operand(), parenthesised(&cond)),
                    kind,
                ))
            }
            Expr::Binary(op, a, b) => self.binary(expr, *op, a, b),
        }
    }

    fn binary(&mut self, expr: &Expr, op: Op, a: &Expr, b: &Expr) -> Valued<Go> {
        match op {
            Op::Add if self.is_joined(expr)? => self.joined_value(expr),
            Op::Add | Op::Sub => {
                let (a, b) = (self.value(a, Access::Strict)?, self.value(b, Access::Strict)?);
                if (a.kind, b.kind) != (Kind::Int, Kind::Int) {
                    return Err(SyntaxError::new("`+` or `-` between values of unknown type"));
                }
                let function = if op == Op::Add { "add" } else { "sub" };
                Ok(Go::pipeline(
                    format!("{function} {} {}", a.operand(), b.operand()),
                    Kind::Int,
                ))
            }
            Op::Or | Op::And => self.either(op == Op::Or, a, b),
            Op::Eq { strict } => self.equality(a, b, strict, false),
            Op::Ne { strict } => self.equality(a, b, strict, true),
            Op::Lt => self.order("lt", a, b),
            Op::Le => self.order("le", a, b),
            Op::Gt => self.order("gt", a, b),
            Op::Ge => self.order("ge", a, b),
        }
    }

    /// `a || b` and `a && b` as values: one of the two operands.
    fn either(&mut self, or: bool, a: &Expr, b: &Expr) -> Valued<Go> {
        let a = self.value(a, Access::Lenient)?;
        let a = if a.kind == Kind::Json { self.lookable(&a) } else { a };
        let b = self.lazily(|w| w.value(b, Access::Lenient))?;
        let kind = joined(a.kind, b.kind)?;
        let (left, right) = (a.operand(), b.operand());
        Ok(match (a.kind, or) {
            // Empty lists and objects are true in JavaScript.
            (Kind::Json, _) => {
                let (yes, no) = if or { (&left, &right) } else { (&right, &left) };
                let test = format!(r#"not (not (or {left} (kindIs "slice" {left}) (kindIs "map" {left})))"#);
                Go::pipeline(format!("ternary {yes} {no} ({test})"), kind)
            }
            (_, true) => a.pipe(&format!("default {right}"), kind),
            (_, false) => Go::pipeline(format!("and {left} {right}"), kind),
        })
    }

    fn equality(&mut self, a: &Expr, b: &Expr, strict: bool, negated: bool) -> Valued<Go> {
        let nothing = |e: &Expr| matches!(e, Expr::Null | Expr::Undefined);
        if nothing(a) || nothing(b) {
            return self.equals_nothing(if nothing(a) { b } else { a }, strict, negated);
        }
        let (a, b) = (self.value(a, Access::Lenient)?, self.value(b, Access::Lenient)?);
        for (json, other) in [(&a, &b), (&b, &a)] {
            if let (Kind::Json, Some(path), Kind::Text | Kind::Int | Kind::Bool | Kind::Float) =
                (json.kind, &json.path, other.kind)
            {
                self.shapes.scalars.insert(path.clone());
            }
        }
        let (left, right) =
            comparable(&a, &b).ok_or_else(|| SyntaxError::new("a comparison of values of different types"))?;
        let function = if negated { "ne" } else { "eq" };
        Ok(Go::pipeline(format!("{function} {left} {right}"), Kind::Bool))
    }

    /// `x == null`: true for null and for a missing field.
    fn equals_nothing(&mut self, expr: &Expr, strict: bool, negated: bool) -> Valued<Go> {
        let go = self.value(expr, Access::Lenient)?;
        if strict || go.kind != Kind::Json {
            return Err(SyntaxError::new("a comparison with `null` or `undefined` of this kind"));
        }
        let test = format!(r#"kindIs "invalid" {}"#, go.operand());
        Ok(Go::pipeline(
            if negated { format!("not ({test})") } else { test },
            Kind::Bool,
        ))
    }

    fn order(&mut self, function: &str, a: &Expr, b: &Expr) -> Valued<Go> {
        let (a, b) = (self.value(a, Access::Strict)?, self.value(b, Access::Strict)?);
        if (a.kind, b.kind) == (Kind::Json, Kind::Json) {
            return Err(SyntaxError::new("a comparison of values of unknown type"));
        }
        let (left, right) =
            comparable(&a, &b).ok_or_else(|| SyntaxError::new("a comparison of values of different types"))?;
        if a.kind == Kind::Bool {
            return Err(SyntaxError::new("an order of booleans"));
        }
        Ok(Go::pipeline(format!("{function} {left} {right}"), Kind::Bool))
    }

    /// An expression as the condition of `if`.
    pub fn condition(&mut self, expr: &Expr) -> Valued<String> {
        match expr {
            Expr::Binary(op @ (Op::And | Op::Or), a, b) => {
                let a = self.condition(a)?;
                let b = self.lazily(|w| w.condition(b))?;
                let function = if *op == Op::And { "and" } else { "or" };
                Ok(format!("{function} {} {}", parenthesised(&a), parenthesised(&b)))
            }
            Expr::Null | Expr::Undefined => Ok("false".to_owned()),
            _ => {
                let go = self.value(expr, Access::Lenient)?;
                match go.kind {
                    // An empty list or object is true in JavaScript and false in Go.
                    Kind::TextList | Kind::Root => Ok("true".to_owned()),
                    Kind::Json => {
                        let v = if go.text.starts_with("and ") || go.text.starts_with("ternary ") {
                            go
                        } else {
                            self.lookable(&go)
                        };
                        let v = v.operand();
                        Ok(format!(r#"or {v} (kindIs "slice" {v}) (kindIs "map" {v})"#))
                    }
                    _ => Ok(go.text),
                }
            }
        }
    }

    /// Field chains may be written twice; longer expressions get a name.
    fn lookable(&mut self, go: &Go) -> Go {
        if go.text.len() <= 40 {
            go.clone()
        } else {
            self.bound(go)
        }
    }

    /// A condition as a Go boolean, which `ternary` insists on.
    fn boolean(&mut self, expr: &Expr) -> Valued<String> {
        let cond = self.condition(expr)?;
        let is_bool = [
            "eq ",
            "ne ",
            "not ",
            "lt ",
            "le ",
            "gt ",
            "ge ",
            "contains ",
            "hasPrefix ",
            "hasSuffix ",
            "kindIs ",
            "has ",
        ]
        .iter()
        .any(|f| cond.starts_with(f));
        if (is_bool && !cond.contains(" | ")) || cond == "true" || cond == "false" {
            Ok(cond)
        } else {
            Ok(format!("not (not {})", parenthesised(&cond)))
        }
    }

    fn name(&mut self, name: &str) -> Valued<Go> {
        if let Some(v) = self.lookup(name) {
            return Ok(Go::atom(v.name.clone(), v.kind).at(v.path.clone()));
        }
        if name == "data" {
            return Ok(Go::atom(self.root(), Kind::Root));
        }
        Err(SyntaxError::new(format!("the name `{name}`")))
    }

    /// The fetched keys; inside `range` the dot is something else.
    fn root(&self) -> &'static str {
        if self.ranges > 0 { "$" } else { "." }
    }

    fn member(&mut self, object: &Expr, field: &str, access: Access) -> Valued<Go> {
        let parent = self.value(object, Access::Strict)?;
        match (parent.kind, field) {
            (Kind::Root, _) => Ok(self.key(field)),
            (Kind::Text | Kind::TextList | Kind::Json, "length") => {
                Ok(Go::pipeline(format!("len {}", parent.operand()), Kind::Int))
            }
            (Kind::Json, _) => {
                if parent.path.as_ref().is_some_and(|p| p.starts_with(YAML_PATH)) && is_yaml_boolean(field) {
                    return Err(SyntaxError::new(format!(
                        "the YAML key `{field}`, which ESO reads as a boolean,"
                    )));
                }
                let path = parent.below(&format!(".{field}"));
                let go = if access == Access::Strict && is_field(field) {
                    Go::atom(format!("{}.{field}", parent.operand()), Kind::Json)
                } else {
                    Go::pipeline(format!("index {} {}", parent.operand(), quote(field)), Kind::Json)
                };
                Ok(go.at(path))
            }
            _ => Err(SyntaxError::new(format!("the field `{field}` of a text or number"))),
        }
    }

    /// `data.K`.
    fn key(&mut self, key: &str) -> Go {
        let root = self.root();
        let indexed = |k: &str| format!("index {root} {}", quote(k));
        let plain = |k: &str| {
            if is_field(k) {
                Go::atom(format!("{}{k}", if root == "$" { "$." } else { "." }), Kind::Text)
            } else {
                Go::pipeline(indexed(k), Kind::Text)
            }
        };
        let go = match self.keys.known.get(key) {
            Some(KeyForm::Plain) => plain(key),
            Some(KeyForm::Quoted) => plain(key).pipe("toRawJson", Kind::Text),
            Some(KeyForm::Payload) => Go::pipeline(
                format!(r#"dict "payload" {} | toRawJson"#, plain(key).operand()),
                Kind::Text,
            ),
            Some(KeyForm::Login { username, password }) => Go::pipeline(
                format!(
                    r#"printf "{{\"username\":%s,\"password\":%s}}" ({} | toRawJson) ({} | toRawJson)"#,
                    indexed(username),
                    indexed(password)
                ),
                Kind::Text,
            ),
            None if self.keys.open => Go::pipeline(indexed(key), Kind::Text),
            None => {
                self.note(
                    Code::TemplateUnknownKey,
                    format!("no entry produces the key {key:?}; it prints nothing"),
                );
                return Go::constant("");
            }
        };
        go.at(Some(key.to_owned()))
    }

    fn index(&mut self, object: &Expr, index: &Expr) -> Valued<Go> {
        let parent = self.value(object, Access::Strict)?;
        let index = self.value(index, Access::Strict)?;
        if index.text.starts_with('-') {
            return Err(SyntaxError::new("a negative index"));
        }
        let text = format!("index {} {}", parent.operand(), index.operand());
        match (parent.kind, index.kind) {
            (Kind::Root, Kind::Text) | (Kind::TextList, Kind::Int) => Ok(Go::pipeline(text, Kind::Text)),
            (Kind::Json, Kind::Int) => {
                if let Some(path) = &parent.path {
                    self.shapes.lists.insert(path.clone());
                }
                Ok(Go::pipeline(text, Kind::Json).at(parent.below("[]")))
            }
            (Kind::Json, Kind::Text) => Ok(Go::pipeline(text, Kind::Json).at(parent.below(".*"))),
            _ => Err(SyntaxError::new("an index of this kind")),
        }
    }

    /// True when the expression is a text made of parts, and not an addition of numbers.
    pub fn is_joined(&mut self, expr: &Expr) -> Valued<bool> {
        Ok(match expr {
            Expr::Template(_) => true,
            Expr::Binary(Op::Add, a, b) => self.is_text(a)? || self.is_text(b)?,
            _ => false,
        })
    }

    /// Looks at the type of an expression without leaving traces.
    fn is_text(&mut self, expr: &Expr) -> Valued<bool> {
        Ok(match expr {
            Expr::Str(_) | Expr::Template(_) => true,
            Expr::Binary(Op::Add, a, b) => self.is_text(a)? || self.is_text(b)?,
            Expr::Null | Expr::Undefined => false,
            _ => self.dry(|w| w.value(expr, Access::Strict))?.kind == Kind::Text,
        })
    }

    /// The parts of a text, left to right.
    pub fn parts(&mut self, expr: &Expr) -> Valued<Vec<Part>> {
        match expr {
            Expr::Template(parts) => {
                let mut out = Vec::new();
                for part in parts {
                    match part {
                        Part::Expr(e) if self.is_joined(e)? => out.extend(self.parts(e)?),
                        other => out.push(other.clone()),
                    }
                }
                Ok(out)
            }
            Expr::Str(s) => Ok(vec![Part::Text(s.clone())]),
            Expr::Binary(Op::Add, a, b) if self.is_joined(expr)? => {
                let mut out = self.parts(a)?;
                out.extend(self.parts(b)?);
                Ok(out)
            }
            Expr::Num(n) => Ok(vec![Part::Text(n.clone())]),
            Expr::Bool(b) => Ok(vec![Part::Text(b.to_string())]),
            Expr::Null => Ok(vec![Part::Text("null".to_owned())]),
            Expr::Undefined => Ok(vec![Part::Text("undefined".to_owned())]),
            other => Ok(vec![Part::Expr(other.clone())]),
        }
    }

    /// A text made of parts as one expression.
    fn joined_value(&mut self, expr: &Expr) -> Valued<Go> {
        let (mut format, mut args) = (String::new(), Vec::new());
        for part in self.parts(expr)? {
            let go = match part {
                Part::Text(t) => Go::constant(&t),
                Part::Expr(e) => self.value(&e, Access::Strict)?,
            };
            if let Some(c) = &go.constant {
                format.push_str(&c.replace('%', "%%"));
                continue;
            }
            let (verb, go) = match go.kind {
                Kind::Json => ("%s", self.text_variable(&go, Missing::Stop)),
                Kind::TextList => ("%s", go.pipe(r#"join ",""#, Kind::Text)),
                Kind::Text => ("%s", go),
                Kind::Int | Kind::Bool | Kind::Float => ("%v", go),
                Kind::Root => return Err(SyntaxError::new("joining all of `data`")),
            };
            format.push_str(verb);
            args.push(go);
        }
        match args.as_slice() {
            [] => Ok(Go::constant(&format.replace("%%", "%"))),
            [only] if format == "%s" => Ok(Go {
                kind: Kind::Text,
                path: None,
                ..only.clone()
            }),
            _ => {
                let args: Vec<String> = args.iter().map(Go::operand).collect();
                Ok(Go::pipeline(
                    format!("printf {} {}", quote(&format), args.join(" ")),
                    Kind::Text,
                ))
            }
        }
    }
}

/// Start of the path of values that come from YAML.
pub const YAML_PATH: &str = "yaml:";

/// Words ESO's YAML reader takes for booleans, also as keys.
fn is_yaml_boolean(word: &str) -> bool {
    matches!(
        word.to_ascii_lowercase().as_str(),
        "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false"
    )
}

/// Both sides of a comparison in one Go type, or `None` when JavaScript and Go would disagree.
fn comparable(a: &Go, b: &Go) -> Option<(String, String)> {
    let number = |go: &Go| {
        go.form == Form::Atom
            && go
                .text
                .trim_start_matches('-')
                .starts_with(|c: char| c.is_ascii_digit())
    };
    // JSON numbers are floats; a whole number literal has to become one.
    let float = |go: &Go| {
        if go.kind == Kind::Int {
            format!("{}.0", go.text)
        } else {
            go.text.clone()
        }
    };
    let both = Some((a.operand(), b.operand()));
    match (a.kind, b.kind) {
        (Kind::Json, Kind::Int | Kind::Float) if number(b) => Some((a.operand(), float(b))),
        (Kind::Int | Kind::Float, Kind::Json) if number(a) => Some((float(a), b.operand())),
        (Kind::Text | Kind::Bool | Kind::Json, Kind::Json)
        | (Kind::Json, Kind::Text | Kind::Bool)
        | (Kind::Text, Kind::Text)
        | (Kind::Int, Kind::Int)
        | (Kind::Bool, Kind::Bool)
        | (Kind::Float, Kind::Float) => both,
        _ => None,
    }
}

/// A condition as an argument.
fn parenthesised(text: &str) -> String {
    let simple = !text.contains([' ', '|'])
        || (text.starts_with('"') && text.ends_with('"') && !text[1..text.len() - 1].contains('"'));
    if simple { text.to_owned() } else { format!("({text})") }
}
