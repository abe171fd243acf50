//! Statements → Go template text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::go::{Go, Kind, literal_before_action, literal_text, quote};
use super::json::Missing;
use super::value::Access;
use super::{Converted, Keys, Shapes};
use crate::migrate::kes::finding::Code;
use crate::migrate::kes::js::ast::{Expr, Op, Part, Stmt};
use crate::migrate::kes::js::parser::SyntaxError;

/// What `_.escape` writes for its five characters, in an order that escapes nothing twice.
pub const ESCAPE: &str =
    r#"replace "&" "&amp;" | replace "<" "&lt;" | replace ">" "&gt;" | replace "\"" "&quot;" | replace "'" "&#39;""#;

/// How often types may be looked at in one text; nested sums look twice at every level.
const MAX_LOOKS: usize = 5_000;

/// A JavaScript variable.
#[derive(Debug, Clone)]
pub struct Variable {
    /// Name in Go, with the dollar sign.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Where its JSON comes from.
    pub path: Option<String>,
}

/// Where printed text goes.
enum Sink {
    /// To the result.
    Output,
    /// To a variable, because the whole is still to be decoded.
    Variable(String),
}

/// Writes one template.
pub struct Writer<'a> {
    pub(super) keys: &'a Keys,
    pub(super) shapes: &'a mut Shapes,
    scopes: Vec<BTreeMap<String, Variable>>,
    declared: BTreeSet<String>,
    temporaries: usize,
    looks: usize,
    pub(super) ranges: usize,
    sink: Sink,
    out: String,
    literal: String,
    prelude: Vec<String>,
    notes: Vec<(Code, String)>,
}

type Written<T> = Result<T, SyntaxError>;

impl<'a> Writer<'a> {
    /// A writer for one text; `body` tells which names the text uses itself.
    pub fn new(keys: &'a Keys, shapes: &'a mut Shapes, body: &[Stmt]) -> Self {
        let mut declared = BTreeSet::new();
        collect_names(body, &mut declared);
        Self {
            keys,
            shapes,
            scopes: vec![BTreeMap::new()],
            declared,
            temporaries: 0,
            looks: 0,
            ranges: 0,
            sink: Sink::Output,
            out: String::new(),
            literal: String::new(),
            prelude: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The finished text.
    pub fn finish(mut self) -> Converted {
        self.out.push_str(&literal_text(&self.literal));
        Converted {
            text: self.out,
            notes: self.notes,
        }
    }

    /// Adds a note once.
    pub fn note(&mut self, code: Code, message: impl Into<String>) {
        let note = (code, message.into());
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// A variable in scope.
    pub fn lookup(&self, name: &str) -> Option<&Variable> {
        self.scopes.iter().rev().find_map(|s| s.get(name))
    }

    /// A Go variable the template does not use itself.
    pub fn temporary(&mut self) -> String {
        loop {
            self.temporaries += 1;
            let name = if self.temporaries == 1 {
                "v".to_owned()
            } else {
                format!("v{}", self.temporaries)
            };
            if !self.declared.contains(&name) {
                return format!("${name}");
            }
        }
    }

    /// An action that has to run before the current statement.
    pub fn before(&mut self, action: String) {
        self.prelude.push(action);
    }

    /// Runs `make` where JavaScript may not evaluate the result; whatever needs a statement of its own is refused there.
    pub fn lazily<T>(&mut self, make: impl FnOnce(&mut Self) -> Written<T>) -> Written<T> {
        let before = self.prelude.len();
        let result = make(self)?;
        if self.prelude.len() > before {
            return Err(SyntaxError::new("joining JSON values inside a condition"));
        }
        Ok(result)
    }

    /// Runs `make` and takes back every trace it left, to look at a type only.
    pub fn dry<T>(&mut self, make: impl FnOnce(&mut Self) -> Written<T>) -> Written<T> {
        self.looks += 1;
        if self.looks > MAX_LOOKS {
            return Err(SyntaxError::new("an expression this involved"));
        }
        let (prelude, notes, temporaries, shapes) = (
            self.prelude.len(),
            self.notes.len(),
            self.temporaries,
            self.shapes.clone(),
        );
        let result = make(self);
        self.prelude.truncate(prelude);
        self.notes.truncate(notes);
        self.temporaries = temporaries;
        *self.shapes = shapes;
        result
    }

    /// Text as it stands.
    pub(super) fn literal(&mut self, text: &str) {
        self.literal.push_str(text);
    }

    fn flush_literal(&mut self) {
        let literal = std::mem::take(&mut self.literal);
        if literal.is_empty() {
            return;
        }
        match &self.sink {
            Sink::Output => self.out.push_str(&literal_before_action(&literal)),
            Sink::Variable(v) => {
                let action = format!(r#"{{{{ {v} = printf "%s%s" {v} {} }}}}"#, quote(&literal));
                self.out.push_str(&action);
            }
        }
    }

    pub(super) fn action(&mut self, action: &str) {
        self.flush_literal();
        for prelude in std::mem::take(&mut self.prelude) {
            _ = write!(self.out, "{{{{ {prelude} }}}}");
        }
        _ = write!(self.out, "{{{{ {action} }}}}");
    }

    pub(super) fn emit(&mut self, value: &Go) {
        match &self.sink {
            Sink::Output => self.action(&value.text),
            Sink::Variable(v) => {
                let action = format!(r#"{v} = printf "%s%v" {v} {}"#, value.operand());
                self.action(&action);
            }
        }
    }

    /// A list of statements in the current scope.
    pub fn statements(&mut self, body: &[Stmt]) -> Written<()> {
        body.iter().try_for_each(|s| self.statement(s))
    }

    fn block(&mut self, variables: Vec<(String, Variable)>, body: &[Stmt]) -> Written<()> {
        self.scopes.push(variables.into_iter().collect());
        let result = self.statements(body);
        self.flush_literal();
        self.scopes.pop();
        result
    }

    fn statement(&mut self, stmt: &Stmt) -> Written<()> {
        match stmt {
            Stmt::Text(t) => {
                self.literal.push_str(t);
                Ok(())
            }
            Stmt::Print { expr, escape, source } => self.print(expr, *escape).map_err(|e| e.inside(source)),
            Stmt::Let { name, value } => self.declare(name, value),
            Stmt::Assign { name, append, value } => self.assign(name, *append, value),
            Stmt::If { cond, then, otherwise } => self.branch(cond, |w| w.block(Vec::new(), then), otherwise),
            Stmt::Each {
                list,
                item,
                index,
                body,
            } => self.each(list, item.as_deref(), index.as_deref(), body),
            Stmt::Entries {
                object,
                key,
                value,
                body,
            } => self.entries(object, key.as_deref(), value.as_deref(), body),
        }
    }

    fn branch(&mut self, cond: &Expr, then: impl FnOnce(&mut Self) -> Written<()>, otherwise: &[Stmt]) -> Written<()> {
        let cond = self.condition(cond)?;
        self.action(&format!("if {cond}"));
        then(self)?;
        if !otherwise.is_empty() {
            self.action("else");
            self.block(Vec::new(), otherwise)?;
        }
        self.action("end");
        Ok(())
    }

    fn declare(&mut self, name: &str, value: &Expr) -> Written<()> {
        let (kind, path) = if let Expr::Cond(cond, a, b) = value {
            self.declare_conditional(name, cond, a, b)?
        } else {
            let go = self.value(value, Access::Lenient)?;
            if go.kind == Kind::Root {
                return Err(SyntaxError::new("a second name for `data`"));
            }
            let (_, variable) = variable(name, go.kind, None);
            self.action(&format!("{} := {}", variable.name, go.text));
            (go.kind, go.path)
        };
        let (js, variable) = variable(name, kind, path);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(js, variable);
        }
        Ok(())
    }

    /// `let v = c ? a : b` as a statement, so that only one side is evaluated.
    fn declare_conditional(&mut self, name: &str, cond: &Expr, a: &Expr, b: &Expr) -> Written<(Kind, Option<String>)> {
        let (_, variable) = variable(name, Kind::Text, None);
        let cond = self.condition(cond)?;
        self.action(&format!(r#"{} := """#, variable.name));
        self.action(&format!("if {cond}"));
        let a = self.value(a, Access::Lenient)?;
        self.action(&format!("{} = {}", variable.name, a.text));
        self.action("else");
        let b = self.value(b, Access::Lenient)?;
        self.action(&format!("{} = {}", variable.name, b.text));
        self.action("end");
        Ok((joined(a.kind, b.kind)?, if a.path == b.path { a.path } else { None }))
    }

    fn assign(&mut self, name: &str, append: bool, value: &Expr) -> Written<()> {
        let value = if append {
            Expr::Binary(Op::Add, Box::new(Expr::Name(name.to_owned())), Box::new(value.clone()))
        } else {
            value.clone()
        };
        let go = self.value(&value, Access::Lenient)?;
        let Some(variable) = self.lookup(name).cloned() else {
            return Err(SyntaxError::new(format!("the name `{name}`")));
        };
        if variable.kind != go.kind {
            return Err(SyntaxError::new(format!("a second type for `{name}`")));
        }
        self.action(&format!("{} = {}", variable.name, go.text));
        Ok(())
    }

    fn each(&mut self, list: &Expr, item: Option<&str>, index: Option<&str>, body: &[Stmt]) -> Written<()> {
        let go = self.value(list, Access::Strict)?;
        let kind = match go.kind {
            Kind::TextList => Kind::Text,
            Kind::Json => Kind::Json,
            _ => return Err(SyntaxError::new("iterating over something that is not a list")),
        };
        if let Some(path) = &go.path {
            self.shapes.lists.insert(path.clone());
        }
        let item = item.map(|n| variable(n, kind, go.below("[]")));
        let index = index.map(|n| variable(n, Kind::Int, None));
        let head = match (&index, &item) {
            (Some((_, i)), Some((_, e))) => format!("range {}, {} := {}", i.name, e.name, go.text),
            (None, Some((_, e))) => format!("range {} := {}", e.name, go.text),
            _ => format!("range {}", go.text),
        };
        self.range(&head, index.into_iter().chain(item).collect(), body)
    }

    fn entries(&mut self, object: &Expr, key: Option<&str>, value: Option<&str>, body: &[Stmt]) -> Written<()> {
        let go = self.value(object, Access::Strict)?;
        let kind = match go.kind {
            Kind::Json => Kind::Json,
            Kind::Root => Kind::Text,
            _ => return Err(SyntaxError::new("the entries of something that is not an object")),
        };
        self.note(
            Code::TemplateKeyOrder,
            "ESO goes through the keys of an object in sorted order",
        );
        let key = key.map(|n| variable(n, Kind::Text, None));
        let value = value.map(|n| variable(n, kind, go.below(".*")));
        let name = |v: &Option<(String, Variable)>| v.as_ref().map_or("$_".to_owned(), |(_, v)| v.name.clone());
        let head = format!("range {}, {} := {}", name(&key), name(&value), go.text);
        self.range(&head, key.into_iter().chain(value).collect(), body)
    }

    fn range(&mut self, head: &str, variables: Vec<(String, Variable)>, body: &[Stmt]) -> Written<()> {
        self.action(head);
        self.ranges += 1;
        let result = self.block(variables, body);
        self.ranges -= 1;
        self.action("end");
        result
    }

    /// What lodash prints for `<%= e %>`: nothing for null and undefined.
    pub fn print(&mut self, expr: &Expr, escape: bool) -> Written<()> {
        match expr {
            Expr::Str(s) if !escape => {
                self.literal.push_str(s);
                Ok(())
            }
            Expr::Num(n) => {
                self.literal.push_str(n);
                Ok(())
            }
            Expr::Bool(b) => {
                self.literal.push_str(if *b { "true" } else { "false" });
                Ok(())
            }
            Expr::Null | Expr::Undefined => Ok(()),
            Expr::Template(_) | Expr::Binary(Op::Add, ..) if !escape && self.is_joined(expr)? => {
                self.print_joined(expr)
            }
            Expr::Cond(cond, a, b) => {
                let cond = self.condition(cond)?;
                self.action(&format!("if {cond}"));
                self.print(a, escape)?;
                self.action("else");
                self.print(b, escape)?;
                self.action("end");
                Ok(())
            }
            _ => {
                let go = self.value(expr, Access::Lenient)?;
                self.print_value(&go, escape)
            }
        }
    }

    fn print_joined(&mut self, expr: &Expr) -> Written<()> {
        for part in self.parts(expr)? {
            match part {
                Part::Text(t) => self.literal.push_str(&t),
                Part::Expr(Expr::Cond(cond, a, b)) => {
                    let cond = self.condition(&cond)?;
                    self.action(&format!("if {cond}"));
                    self.print_joined(&Expr::Template(vec![Part::Expr(*a)]))?;
                    self.action("else");
                    self.print_joined(&Expr::Template(vec![Part::Expr(*b)]))?;
                    self.action("end");
                }
                Part::Expr(e) => {
                    let go = self.value(&e, Access::Strict)?;
                    match &go.constant {
                        Some(c) => self.literal.push_str(c),
                        None if go.kind == Kind::Json => self.print_json(&go, Missing::Stop),
                        None => self.print_value(&go, false)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn print_value(&mut self, go: &Go, escape: bool) -> Written<()> {
        match go.kind {
            Kind::Json if escape => {
                let text = self.text_variable(go, Missing::Nothing);
                self.emit(&text.pipe(ESCAPE, Kind::Text));
            }
            Kind::Json => self.print_json(go, Missing::Nothing),
            Kind::Root => return Err(SyntaxError::new("printing all of `data`")),
            Kind::TextList => {
                let list = go.pipe(r#"join ",""#, Kind::Text);
                return self.print_value(&list, escape);
            }
            Kind::Text => match &go.constant {
                Some(c) if !escape => self.literal.push_str(c),
                _ if escape => self.emit(&go.pipe(ESCAPE, Kind::Text)),
                _ => self.emit(go),
            },
            Kind::Int | Kind::Float | Kind::Bool => self.emit(go),
        }
        Ok(())
    }

    /// Prints the base64-decoded value of an expression.
    pub fn decode_expression(&mut self, expr: &Expr) -> Written<()> {
        let go = self.value(expr, Access::Strict)?;
        self.emit(&go.pipe("b64dec", Kind::Text));
        Ok(())
    }

    /// Prints the base64-decoded text that statements write.
    pub fn decode_statements(&mut self, body: &[Stmt]) -> Written<()> {
        let name = self.temporary();
        self.action(&format!(r#"{name} := """#));
        self.sink = Sink::Variable(name.clone());
        self.statements(body)?;
        self.flush_literal();
        self.sink = Sink::Output;
        self.action(&format!("{name} | b64dec"));
        Ok(())
    }
}

/// A JavaScript name with its Go variable; Go's names have no dollar sign inside.
fn variable(js: &str, kind: Kind, path: Option<String>) -> (String, Variable) {
    (
        js.to_owned(),
        Variable {
            name: format!("${}", js.replace('$', "_")),
            kind,
            path,
        },
    )
}

/// What an expression holds that is one of two.
pub fn joined(a: Kind, b: Kind) -> Result<Kind, SyntaxError> {
    match (a, b) {
        (a, b) if a == b => Ok(a),
        (Kind::Root | Kind::TextList, _) | (_, Kind::Root | Kind::TextList) => {
            Err(SyntaxError::new("a value of two types"))
        }
        _ => Ok(Kind::Json),
    }
}

fn collect_names(body: &[Stmt], names: &mut BTreeSet<String>) {
    let mut add = |n: &Option<String>| {
        if let Some(n) = n {
            names.insert(n.replace('$', "_"));
        }
    };
    for stmt in body {
        match stmt {
            Stmt::Let { name, .. } => add(&Some(name.clone())),
            Stmt::Each { item: a, index: b, .. } | Stmt::Entries { key: a, value: b, .. } => {
                add(a);
                add(b);
            }
            _ => {}
        }
    }
    for stmt in body {
        match stmt {
            Stmt::If { then, otherwise, .. } => {
                collect_names(then, names);
                collect_names(otherwise, names);
            }
            Stmt::Each { body, .. } | Stmt::Entries { body, .. } => collect_names(body, names),
            _ => {}
        }
    }
}
