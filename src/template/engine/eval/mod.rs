//! Runs a parsed template.
//!
//! Blocks and `template` calls live on a stack of frames in the heap, so their depth is bounded by Go's own
//! limit and not by the machine's stack. Expressions recurse as deep as the parser allowed parentheses.

mod command;
mod error;
mod field;
mod range;

pub use error::ExecError;

use zeroize::Zeroizing;

use super::ast::{Branch, Call, Command, Expr, List, Node, Pipe, Tree};
use super::failure::Failure;
use super::format;
use super::functions::Env;
use super::value::{Str, Value};
use range::Items;

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
        if matches!(self.value, Value::NilAny) {
            Value::Nil
        } else {
            self.value
        }
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
    Nodes {
        rest: std::slice::Iter<'t, Node>,
        dot: Operand,
    },
    /// The end of `if` and `with`: forget their variables.
    Scope { mark: usize },
    /// A `range` between two rounds.
    Range {
        branch: &'t Branch,
        items: Items,
        mark: usize,
        body_mark: usize,
    },
    /// The end of a `template` call: back to the caller.
    Return { tree: &'t Tree, base: usize },
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
    pub fn new(
        trees: &'t [Tree],
        tree: &'t Tree,
        root: &'t Str,
        missing_key: MissingKey,
        env: &'e mut Env<'r>,
    ) -> Self {
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
        self.variables.push(Variable {
            name: self.root,
            value: dot.clone(),
        });
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
        self.frames.push(Frame::Nodes {
            rest: list.0.iter(),
            dot,
        });
    }

    fn node(&mut self, node: &'t Node, dot: &Operand) -> Ran<()> {
        self.spend(1)?;
        match node {
            Node::Text(text) => self.write(text),
            Node::Action(pipe) => {
                let value = self.pipeline(dot, pipe)?;
                if pipe.variables.is_empty() {
                    self.print(&value)
                } else {
                    Ok(())
                }
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
            let dot = if matches!(node, Node::With(_)) {
                Operand::plain(value)
            } else {
                dot.clone()
            };
            self.enter(&branch.list, dot);
        } else if let Some(otherwise) = &branch.otherwise {
            self.enter(otherwise, dot.clone());
        }
        Ok(())
    }

    fn call(&mut self, call: &'t Call, dot: &Operand) -> Ran<()> {
        self.at = Some(At::Call(call));
        let Some(tree) = self.trees.iter().find(|tree| tree.name == call.name) else {
            return Err(self.fail(Failure::new(format!(
                "template {} not defined",
                format::quote::quoted(&call.name)
            ))));
        };
        if self.calls == MAX_CALLS {
            return Err(self.fail(Failure::limit(format!("exceeded maximum template depth ({MAX_CALLS})"))));
        }
        let dot = match &call.pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Value::Nil,
        };
        self.frames.push(Frame::Return {
            tree: self.tree,
            base: self.base,
        });
        self.calls += 1;
        self.tree = tree;
        self.base = self.variables.len();
        let dot = Operand::plain(dot);
        self.variables.push(Variable {
            name: self.root,
            value: dot.clone(),
        });
        self.enter(&tree.root, dot);
        Ok(())
    }

    // ----- variables, output, budget

    fn variable(&mut self, name: &Str) -> Ran<Operand> {
        match self.variables[self.base..]
            .iter()
            .rev()
            .find(|variable| variable.name == name)
        {
            Some(variable) => Ok(variable.value.clone()),
            None => Err(self.undefined(name)),
        }
    }

    fn set(&mut self, name: &Str, value: Operand) -> Ran<()> {
        match self.variables[self.base..]
            .iter_mut()
            .rev()
            .find(|variable| variable.name == name)
        {
            Some(variable) => variable.value = value,
            None => return Err(self.undefined(name)),
        }
        Ok(())
    }

    fn undefined(&mut self, name: &Str) -> Box<ExecError> {
        self.fail(Failure::new(format!(
            "undefined variable: {}",
            super::utf8::lossy(name)
        )))
    }

    fn spend(&mut self, steps: u64) -> Ran<()> {
        match self.env.spend(steps) {
            Ok(()) => Ok(()),
            Err(failure) => Err(self.fail(failure)),
        }
    }

    fn write(&mut self, text: &[u8]) -> Ran<()> {
        if self.out.len() + text.len() > MAX_OUTPUT {
            return Err(self.fail(Failure::limit(format!(
                "output is larger than {} MiB",
                MAX_OUTPUT >> 20
            ))));
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
