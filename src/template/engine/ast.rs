//! The parse tree. Every node knows its byte offset; expressions can print themselves as Go does in errors.

use super::format::quote;
use super::functions::Row;
use super::numbers::Number;
use super::value::Str;

/// One template: the text itself, or the body of a `define` or `block`.
#[derive(Debug, Clone)]
pub struct Tree {
    /// Its name.
    pub name: Vec<u8>,
    /// Its body.
    pub root: List,
}

/// Nodes in order.
#[derive(Debug, Clone, Default)]
pub struct List(pub Vec<Node>);

/// What a template does, one step at a time.
#[derive(Debug, Clone)]
pub enum Node {
    /// Text as it stands.
    Text(Str),
    /// `{{ pipeline }}`
    Action(Pipe),
    /// `{{ if }}`
    If(Branch),
    /// `{{ with }}`
    With(Branch),
    /// `{{ range }}`
    Range(Branch),
    /// `{{ template }}`
    Template(Call),
    /// `{{ break }}`
    Break,
    /// `{{ continue }}`
    Continue,
}

/// `if`, `with` or `range`.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The condition.
    pub pipe: Pipe,
    /// When it holds.
    pub list: List,
    /// When it does not.
    pub otherwise: Option<List>,
}

/// `{{ template "name" pipeline }}`
#[derive(Debug, Clone)]
pub struct Call {
    /// Offset of the name.
    pub pos: usize,
    /// The name.
    pub name: Vec<u8>,
    /// The new dot.
    pub pipe: Option<Pipe>,
}

/// `$a, $b := command | command`
#[derive(Debug, Clone)]
pub struct Pipe {
    /// Offset of its first token.
    pub pos: usize,
    /// `=` instead of `:=`.
    pub assign: bool,
    /// The variables, in order.
    pub variables: Vec<Variable>,
    /// The stages.
    pub commands: Vec<Command>,
}

/// A variable that a pipeline declares or sets.
#[derive(Debug, Clone)]
pub struct Variable {
    /// The whole word with its `$`, split at dots.
    pub path: Vec<Str>,
}

/// Operands, the first of which says what to do.
#[derive(Debug, Clone)]
pub struct Command {
    /// Offset of its first token.
    pub pos: usize,
    /// The operands.
    pub args: Vec<Expr>,
}

/// An operand.
#[derive(Debug, Clone)]
pub struct Expr {
    /// Its offset.
    pub pos: usize,
    /// What it is.
    pub kind: ExprKind,
}

/// The kinds of operands.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// `.a.b`
    Field(Vec<Str>),
    /// `(pipeline).a`, `function.a`
    Chain(Box<Expr>, Vec<Str>),
    /// A function.
    Function(Callee),
    /// `( … )`
    Pipe(Box<Pipe>),
    /// `$x.a`
    Variable(Vec<Str>),
    /// `true`, `false`
    Bool(bool),
    /// `.`
    Dot,
    /// `nil`
    Nil,
    /// A number with its text.
    Number(Box<Number>, Str),
    /// A string: its value and its source.
    Text(Str, Str),
}

/// A function with the calls that the engine treats itself.
#[derive(Clone, Copy)]
pub enum Callee {
    /// `and`
    And(&'static Row),
    /// `or`
    Or(&'static Row),
    /// `call`
    Call(&'static Row),
    /// Any other.
    Plain(&'static Row),
}

impl Callee {
    /// The row of the table.
    pub fn row(self) -> &'static Row {
        match self {
            Self::And(row) | Self::Or(row) | Self::Call(row) | Self::Plain(row) => row,
        }
    }
}

impl std::fmt::Debug for Callee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.row().name)
    }
}

impl List {
    /// True when nothing but blank text is inside.
    pub fn is_blank(&self) -> bool {
        self.0.iter().all(|node| match node {
            Node::Text(text) => super::utf8::chars(text).all(|found| super::utf8::is_space(found.character)),
            _ => false,
        })
    }
}

impl Call {
    /// The action as Go prints it.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{{template ");
        out.extend_from_slice(&quote::quote(&self.name));
        if let Some(pipe) = &self.pipe {
            out.push(b' ');
            pipe.write(out);
        }
        out.extend_from_slice(b"}}");
    }
}

impl Pipe {
    /// The pipeline as Go prints it.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (at, variable) in self.variables.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(b", ");
            }
            write_path(out, &variable.path, b"");
        }
        if !self.variables.is_empty() {
            out.extend_from_slice(if self.assign { b" = " } else { b" := " });
        }
        for (at, command) in self.commands.iter().enumerate() {
            if at > 0 {
                out.extend_from_slice(b" | ");
            }
            command.write(out);
        }
    }
}

impl Command {
    /// The command as Go prints it.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (at, arg) in self.args.iter().enumerate() {
            if at > 0 {
                out.push(b' ');
            }
            arg.write_nested(out);
        }
    }
}

impl Expr {
    /// The operand as Go prints it: a pipeline without its parentheses.
    pub fn write(&self, out: &mut Vec<u8>) {
        match &self.kind {
            ExprKind::Field(path) => {
                out.push(b'.');
                write_path(out, path, b"");
            }
            ExprKind::Chain(base, path) => {
                base.write_nested(out);
                write_path(out, path, b".");
            }
            ExprKind::Function(callee) => out.extend_from_slice(callee.row().name.as_bytes()),
            ExprKind::Pipe(pipe) => pipe.write(out),
            ExprKind::Variable(path) => write_path(out, path, b""),
            ExprKind::Bool(true) => out.extend_from_slice(b"true"),
            ExprKind::Bool(false) => out.extend_from_slice(b"false"),
            ExprKind::Dot => out.push(b'.'),
            ExprKind::Nil => out.extend_from_slice(b"nil"),
            ExprKind::Number(_, source) | ExprKind::Text(_, source) => out.extend_from_slice(source),
        }
    }

    fn write_nested(&self, out: &mut Vec<u8>) {
        let nested = matches!(self.kind, ExprKind::Pipe(_));
        if nested {
            out.push(b'(');
        }
        self.write(out);
        if nested {
            out.push(b')');
        }
    }
}

fn write_path(out: &mut Vec<u8>, path: &[Str], before: &[u8]) {
    out.extend_from_slice(before);
    for (at, part) in path.iter().enumerate() {
        if at > 0 {
            out.push(b'.');
        }
        out.extend_from_slice(part);
    }
}
