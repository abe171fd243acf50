//! Runs a parsed template.
//!
//! Blocks and `template` calls live on a stack of frames in the heap, so their depth is bounded by Go's own
//! limit and not by the machine's stack. Expressions recurse as deep as the parser allowed parentheses.

mod command;
mod error;
mod field;

pub use error::ExecError;

use zeroize::Zeroizing;

use super::ast::{Branch, Call, Command, Expr, List, Node, Pipe, Tree};
use super::failure::Failure;
use super::format;
use super::functions::Env;
use super::value::{Str, StringList, Value};
use std::rc::Rc;

/// Go's limit of nested `template` calls.
const MAX_CALLS: usize = 100_000;
/// Largest output of one template.
const MAX_OUTPUT: usize = 64 << 20;

/// What an absent key of a map means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingKey {
    /// No value, printed as `<no value>` (Go's default).
    Default,
    /// An error.
    Error,
}

/// A value together with how it was reached: through an `interface {}` or directly. Only messages differ.
#[derive(Clone)]
struct Operand {
    value: Value,
    boxed: bool,
}

impl Operand {
    fn plain(value: Value) -> Self {
        Self { value, boxed: false }
    }

    fn boxed(value: Value) -> Self {
        let value = if value.is_nil() { Value::NilAny } else { value };
        Self { value, boxed: true }
    }

    /// The value with a nil interface turned into no value, as at the end of a pipeline stage.
    fn unboxed(self) -> Value {
        if matches!(self.value, Value::NilAny) { Value::Nil } else { self.value }
    }
}

struct Variable<'t> {
    name: &'t Str,
    value: Operand,
}

/// Where the run is, for messages.
#[derive(Clone, Copy)]
enum At<'t> {
    Call(&'t Call),
    Pipe(&'t Pipe),
    Command(&'t Command),
    Expr(&'t Expr),
}

enum Frame<'t> {
    /// Nodes still to run, with their dot.
    Nodes { rest: std::slice::Iter<'t, Node>, dot: Operand },
    /// The end of `if` and `with`: forget their variables.
    Scope { mark: usize },
    /// A `range` between two rounds.
    Range { branch: &'t Branch, items: Items, mark: usize, body_mark: usize },
    /// The end of a `template` call: back to the caller.
    Return { tree: &'t Tree, base: usize },
}

/// What a `range` still has to visit.
enum Items {
    Int { next: i64, end: i64, wrap: fn(i64) -> Value },
    List { list: super::value::List, next: usize, boxed: bool },
    Strings { list: StringList, next: usize },
    Ints { list: Rc<[i64]>, next: usize },
    Bytes { list: Str, next: usize },
    Entries { entries: std::vec::IntoIter<(Str, Value)>, boxed: bool },
}

/// One run.
pub struct Run<'t, 'e, 'r> {
    trees: &'t [Tree],
    tree: &'t Tree,
    missing_key: MissingKey,
    env: &'e mut Env<'r>,
    out: Zeroizing<Vec<u8>>,
    frames: Vec<Frame<'t>>,
    variables: Vec<Variable<'t>>,
    /// Where the variables of the running template begin.
    base: usize,
    calls: usize,
    args: Vec<Value>,
    at: Option<At<'t>>,
    root: &'t Str,
}

type Ran<T> = Result<T, Box<ExecError>>;

impl<'t, 'e, 'r> Run<'t, 'e, 'r> {
    /// Prepares a run of `tree`. `root` is the name `$`.
    pub fn new(trees: &'t [Tree], tree: &'t Tree, root: &'t Str, missing_key: MissingKey, env: &'e mut Env<'r>) -> Self {
        Self {
            trees,
            tree,
            missing_key,
            env,
            out: Zeroizing::new(Vec::new()),
            frames: Vec::new(),
            variables: Vec::new(),
            base: 0,
            calls: 0,
            args: Vec::new(),
            at: None,
            root,
        }
    }

    /// Runs to the end and returns the output.
    ///
    /// # Errors
    /// The template failed, or a limit was reached.
    pub fn run(mut self, data: Value) -> Ran<Zeroizing<Vec<u8>>> {
        let dot = Operand::plain(data);
        self.variables.push(Variable { name: self.root, value: dot.clone() });
        let root = &self.tree.root;
        self.enter(root, dot);
        while let Some(frame) = self.frames.last_mut() {
            match frame {
                Frame::Nodes { rest, dot } => match rest.next() {
                    Some(node) => {
                        let dot = dot.clone();
                        self.node(node, &dot)?;
                    }
                    None => {
                        self.frames.pop();
                    }
                },
                Frame::Scope { mark } => {
                    let mark = *mark;
                    self.variables.truncate(mark);
                    self.frames.pop();
                }
                Frame::Range { .. } => self.next_round()?,
                Frame::Return { tree, base } => {
                    let (tree, outer) = (*tree, *base);
                    self.variables.truncate(self.base);
                    self.tree = tree;
                    self.base = outer;
                    self.calls -= 1;
                    self.frames.pop();
                }
            }
        }
        Ok(self.out)
    }

    fn enter(&mut self, list: &'t List, dot: Operand) {
        self.frames.push(Frame::Nodes { rest: list.0.iter(), dot });
    }

    fn node(&mut self, node: &'t Node, dot: &Operand) -> Ran<()> {
        self.spend(1)?;
        match node {
            Node::Text(text) => self.write(text),
            Node::Action(pipe) => {
                let value = self.pipeline(dot, pipe)?;
                if pipe.variables.is_empty() { self.print(&value) } else { Ok(()) }
            }
            Node::If(branch) | Node::With(branch) => self.condition(node, branch, dot),
            Node::Range(branch) => self.range(branch, dot),
            Node::Template(call) => self.call(call, dot),
            Node::Break => {
                self.unwind();
                self.end_range();
                Ok(())
            }
            Node::Continue => {
                self.unwind();
                Ok(())
            }
        }
    }

    fn condition(&mut self, node: &'t Node, branch: &'t Branch, dot: &Operand) -> Ran<()> {
        let mark = self.variables.len();
        let value = self.pipeline(dot, &branch.pipe)?;
        self.frames.push(Frame::Scope { mark });
        if is_true(&value) {
            let dot = if matches!(node, Node::With(_)) { Operand::plain(value) } else { dot.clone() };
            self.enter(&branch.list, dot);
        } else if let Some(otherwise) = &branch.otherwise {
            self.enter(otherwise, dot.clone());
        }
        Ok(())
    }

    fn call(&mut self, call: &'t Call, dot: &Operand) -> Ran<()> {
        self.at = Some(At::Call(call));
        let Some(tree) = self.trees.iter().find(|tree| tree.name == call.name) else {
            return Err(self.fail(Failure::new(format!("template {} not defined", format::quote::quoted(&call.name)))));
        };
        if self.calls == MAX_CALLS {
            return Err(self.fail(Failure::limit(format!("exceeded maximum template depth ({MAX_CALLS})"))));
        }
        let dot = match &call.pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Value::Nil,
        };
        self.frames.push(Frame::Return { tree: self.tree, base: self.base });
        self.calls += 1;
        self.tree = tree;
        self.base = self.variables.len();
        let dot = Operand::plain(dot);
        self.variables.push(Variable { name: self.root, value: dot.clone() });
        self.enter(&tree.root, dot);
        Ok(())
    }

    // ----- range

    fn range(&mut self, branch: &'t Branch, dot: &Operand) -> Ran<()> {
        let mark = self.variables.len();
        let value = self.pipeline(dot, &branch.pipe)?;
        let body_mark = self.variables.len();
        let items = self.items(branch, value)?;
        match items {
            Some(items) => self.frames.push(Frame::Range { branch, items, mark, body_mark }),
            None => {
                self.frames.push(Frame::Scope { mark });
                if let Some(otherwise) = &branch.otherwise {
                    self.enter(otherwise, dot.clone());
                }
            }
        }
        Ok(())
    }

    /// What to visit; `None` when there is nothing.
    fn items(&mut self, branch: &Branch, value: Value) -> Ran<Option<Items>> {
        let count: (i64, fn(i64) -> Value) = match &value {
            Value::Int(n) => (*n, Value::Int),
            Value::Int64(n) => (*n, Value::Int64),
            Value::Duration(n) => (*n, Value::Duration),
            Value::Month(n) => (*n, Value::Month),
            Value::Weekday(n) => (*n, Value::Weekday),
            Value::Uint8(n) => (i64::from(*n), |n| Value::Uint8(u8::try_from(n).unwrap_or(0))),
            Value::Uint32(n) => (i64::from(*n), |n| Value::Uint32(u32::try_from(n).unwrap_or(0))),
            Value::Uint64(n) => {
                (i64::try_from(*n).unwrap_or(i64::MAX), |n| Value::Uint64(u64::try_from(n).unwrap_or(0)))
            }
            _ => return self.collection(value),
        };
        if branch.pipe.variables.len() > 1 {
            return Err(self.value_failure(&value, "can't use ", " to iterate over more than one variable"));
        }
        Ok((count.0 > 0).then_some(Items::Int { next: 0, end: count.0, wrap: count.1 }))
    }

    fn collection(&mut self, value: Value) -> Ran<Option<Items>> {
        let items = match &value {
            Value::Nil | Value::NilAny => return Ok(None),
            Value::List(list) | Value::Chunks(list) if list.is_empty() => return Ok(None),
            Value::List(list) => Items::List { list: list.clone(), next: 0, boxed: true },
            Value::Chunks(list) => Items::List { list: list.clone(), next: 0, boxed: false },
            Value::Strings(list) if list.is_empty() => return Ok(None),
            Value::Strings(list) => Items::Strings { list: list.clone(), next: 0 },
            Value::Ints(list) if list.is_empty() => return Ok(None),
            Value::Ints(list) => Items::Ints { list: list.clone(), next: 0 },
            Value::Bytes(list) if list.is_empty() => return Ok(None),
            Value::Bytes(list) => Items::Bytes { list: list.clone(), next: 0 },
            Value::Map(map) if map.is_empty() => return Ok(None),
            Value::Map(map) => Items::Entries { entries: map.entries().into_iter(), boxed: true },
            Value::StrMap(map) if map.is_empty() => return Ok(None),
            Value::StrMap(map) => {
                let entries: Vec<_> = map.iter().map(|(key, text)| (key.clone(), Value::Str(text.clone()))).collect();
                Items::Entries { entries: entries.into_iter(), boxed: false }
            }
            _ => return Err(self.value_failure(&value, "range can't iterate over ", "")),
        };
        Ok(Some(items))
    }

    fn value_failure(&mut self, value: &Value, before: &str, after: &str) -> Box<ExecError> {
        let shown = format::sprint(value).map(|text| super::utf8::lossy(&text)).unwrap_or_default();
        let masked = format!("{before}a value of type {}{after}", value.type_name());
        self.fail(Failure::with_data(format!("{before}{shown}{after}"), masked))
    }

    fn next_round(&mut self) -> Ran<()> {
        let Some(Frame::Range { branch, items, body_mark, .. }) = self.frames.last_mut() else { return Ok(()) };
        let (branch, body_mark) = (*branch, *body_mark);
        let Some((index, element)) = items.next() else {
            self.end_range();
            return Ok(());
        };
        self.variables.truncate(body_mark);
        self.spend(1)?;
        let variables = &branch.pipe.variables;
        if branch.pipe.assign {
            match &variables[..] {
                [key, value] => {
                    self.set(&key.path[0], index)?;
                    self.set(&value.path[0], element.clone())?;
                }
                [only] => self.set(&only.path[0], element.clone())?,
                _ => {}
            }
        } else if !variables.is_empty() {
            let top = self.variables.len();
            self.variables[top - 1].value = element.clone();
            if variables.len() > 1 {
                self.variables[top - 2].value = index;
            }
        }
        self.enter(&branch.list, element);
        Ok(())
    }

    /// Drops the frames inside the innermost `range`.
    fn unwind(&mut self) {
        while self.frames.last().is_some_and(|frame| !matches!(frame, Frame::Range { .. })) {
            self.frames.pop();
        }
    }

    fn end_range(&mut self) {
        if let Some(Frame::Range { mark, .. }) = self.frames.pop() {
            self.variables.truncate(mark);
        }
    }

    // ----- variables, output, budget

    fn variable(&mut self, name: &Str) -> Ran<Operand> {
        match self.variables[self.base..].iter().rev().find(|variable| variable.name == name) {
            Some(variable) => Ok(variable.value.clone()),
            None => Err(self.undefined(name)),
        }
    }

    fn set(&mut self, name: &Str, value: Operand) -> Ran<()> {
        match self.variables[self.base..].iter_mut().rev().find(|variable| variable.name == name) {
            Some(variable) => variable.value = value,
            None => return Err(self.undefined(name)),
        }
        Ok(())
    }

    fn undefined(&mut self, name: &Str) -> Box<ExecError> {
        self.fail(Failure::new(format!("undefined variable: {}", super::utf8::lossy(name))))
    }

    fn spend(&mut self, steps: u64) -> Ran<()> {
        match self.env.spend(steps) {
            Ok(()) => Ok(()),
            Err(failure) => Err(self.fail(failure)),
        }
    }

    fn write(&mut self, text: &[u8]) -> Ran<()> {
        if self.out.len() + text.len() > MAX_OUTPUT {
            return Err(self.fail(Failure::limit(format!("output is larger than {} MiB", MAX_OUTPUT >> 20))));
        }
        self.spend(text.len() as u64 / 64)?;
        grow_wiped(&mut self.out, text.len());
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn print(&mut self, value: &Value) -> Ran<()> {
        match value {
            Value::Str(text) => self.write(text),
            Value::Nil | Value::NilAny => self.write(b"<no value>"),
            _ => match format::sprint(value) {
                Ok(text) => {
                    let text = Zeroizing::new(text);
                    self.write(&text)
                }
                Err(failure) => Err(self.fail(failure)),
            },
        }
    }
}

/// Makes room for `more` bytes; an old buffer is wiped before it is freed.
fn grow_wiped(out: &mut Zeroizing<Vec<u8>>, more: usize) {
    let needed = out.len() + more;
    if needed > out.capacity() {
        let mut larger = Zeroizing::new(Vec::with_capacity(needed.max(out.capacity() * 2).max(256)));
        larger.extend_from_slice(out);
        *out = larger;
    }
}

impl Items {
    /// Index or key, and element.
    fn next(&mut self) -> Option<(Operand, Operand)> {
        match self {
            Self::Int { next, end, wrap } => {
                let at = *next;
                (at < *end).then(|| {
                    *next += 1;
                    (Operand::plain(Value::Nil), Operand::plain(wrap(at)))
                })
            }
            Self::List { list, next, boxed } => {
                let element = list.get(*next)?.clone();
                let element = if *boxed { Operand::boxed(element) } else { Operand::plain(element) };
                Some((index(next), element))
            }
            Self::Strings { list, next } => {
                let element = Value::Str(list.get(*next)?);
                Some((index(next), Operand::plain(element)))
            }
            Self::Ints { list, next } => {
                let element = Value::Int(*list.get(*next)?);
                Some((index(next), Operand::plain(element)))
            }
            Self::Bytes { list, next } => {
                let element = Value::Uint8(*list.get(*next)?);
                Some((index(next), Operand::plain(element)))
            }
            Self::Entries { entries, boxed } => {
                let (key, value) = entries.next()?;
                let value = if *boxed { Operand::boxed(value) } else { Operand::plain(value) };
                Some((Operand::plain(Value::Str(key)), value))
            }
        }
    }
}

fn index(next: &mut usize) -> Operand {
    let at = *next;
    *next += 1;
    Operand::plain(Value::Int(i64::try_from(at).unwrap_or(i64::MAX)))
}

/// Go's truth: false, zero, nil and everything empty are false.
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Nil | Value::NilAny => false,
        Value::Bool(flag) => *flag,
        Value::Int(n) | Value::Int64(n) | Value::Duration(n) | Value::Month(n) | Value::Weekday(n) => *n != 0,
        Value::Uint8(n) => *n != 0,
        Value::Uint32(n) => *n != 0,
        Value::Uint64(n) => *n != 0,
        Value::Float(n) => *n != 0.0,
        Value::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
        Value::Str(text) | Value::HashAlgorithm(text) | Value::Bytes(text) => !text.is_empty(),
        Value::List(list) | Value::Chunks(list) => !list.is_empty(),
        Value::Strings(list) => !list.is_empty(),
        Value::Ints(list) => !list.is_empty(),
        Value::Map(map) => !map.is_empty(),
        Value::StrMap(map) => !map.is_empty(),
        Value::Time(_) | Value::Certificate(_) | Value::SemverValue(_) | Value::Semver(_) | Value::Location(_) => true,
    }
}
