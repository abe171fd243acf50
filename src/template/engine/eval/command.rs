//! Pipelines, commands, function calls and their arguments.

use super::{At, ExecError, Operand, Ran, Run, Variable, is_true};
use crate::template::engine::ast::{Callee, Command, Expr, ExprKind, Pipe};
use crate::template::engine::failure::Failure;
use crate::template::engine::functions::{ParamType, Row, builtins};
use crate::template::engine::numbers::Number;
use crate::template::engine::utf8;
use crate::template::engine::value::{List, Map, Str, Value};

/// What a call needs besides the function: where it stands and what it is given.
pub(super) struct CallSite<'t, 'a> {
    pub dot: &'a Operand,
    /// The node an error of the function names.
    pub at: At<'t>,
    /// The operands after the function's name.
    pub args: &'t [Expr],
    /// The result of the stage before.
    pub last: Option<Value>,
    /// The receiver of a method.
    pub receiver: Option<Value>,
}

impl<'t> Run<'t, '_, '_> {
    /// Runs a pipeline and sets its variables.
    pub(super) fn pipeline(&mut self, dot: &Operand, pipe: &'t Pipe) -> Ran<Value> {
        self.at = Some(At::Pipe(pipe));
        let mut last = None;
        for command in &pipe.commands {
            last = Some(self.command(dot, command, last)?.unboxed());
        }
        let value = last.unwrap_or(Value::Nil);
        for variable in &pipe.variables {
            let operand = Operand::plain(value.clone());
            if pipe.assign {
                self.set(&variable.path[0], operand)?;
            } else {
                self.variables.push(Variable { name: &variable.path[0], value: operand });
            }
        }
        Ok(value)
    }

    fn command(&mut self, dot: &Operand, command: &'t Command, last: Option<Value>) -> Ran<Operand> {
        let first = &command.args[0];
        let rest = &command.args[1..];
        match &first.kind {
            ExprKind::Field(path) => {
                self.at = Some(At::Expr(first));
                self.field_chain(dot, dot.clone(), first, path, rest, last)
            }
            ExprKind::Chain(base, path) => self.chain(dot, first, base, path, rest, last),
            ExprKind::Function(callee) => {
                self.at = Some(At::Expr(first));
                let site = CallSite { dot, at: At::Command(command), args: rest, last, receiver: None };
                self.invoke(*callee, site).map(Operand::plain)
            }
            ExprKind::Pipe(pipe) => {
                self.not_a_function(first, rest, last.as_ref())?;
                self.pipeline(dot, pipe).map(Operand::plain)
            }
            ExprKind::Variable(path) => self.variable_path(dot, first, path, rest, last),
            _ => {
                self.at = Some(At::Expr(first));
                self.not_a_function(first, rest, last.as_ref())?;
                self.constant(dot, first)
            }
        }
    }

    fn constant(&mut self, dot: &Operand, expr: &'t Expr) -> Ran<Operand> {
        Ok(match &expr.kind {
            ExprKind::Bool(flag) => Operand::plain(Value::Bool(*flag)),
            ExprKind::Dot => dot.clone(),
            ExprKind::Number(number, source) => Operand::plain(self.ideal(expr, number, source)?),
            ExprKind::Text(text, _) => Operand::plain(Value::Str(text.clone())),
            _ => return Err(self.fail_text("nil is not a command")),
        })
    }

    /// The type of a number whose context does not ask for one.
    fn ideal(&mut self, expr: &'t Expr, number: &Number, source: &Str) -> Ran<Value> {
        self.at = Some(At::Expr(expr));
        if let Some((real, imaginary)) = number.complex {
            return Ok(Value::Complex(real, imaginary));
        }
        let hex = source.len() > 2
            && source[0] == b'0'
            && matches!(source[1], b'x' | b'X')
            && !source.iter().any(|byte| matches!(byte, b'p' | b'P'));
        let character = source.first() == Some(&b'\'');
        let marked = source.iter().any(|byte| b".eEpP".contains(byte));
        match (number.float, number.int) {
            (Some(float), _) if !hex && !character && marked => Ok(Value::Float(float)),
            (_, Some(int)) => Ok(Value::Int(int)),
            _ => Err(self.fail_text(format!("{} overflows int", utf8::lossy(source)))),
        }
    }

    pub(super) fn not_a_function(&mut self, first: &'t Expr, rest: &[Expr], last: Option<&Value>) -> Ran<()> {
        if rest.is_empty() && last.is_none() {
            return Ok(());
        }
        let mut shown = Vec::new();
        first.write(&mut shown);
        Err(self.fail_text(format!("can't give argument to non-function {}", utf8::lossy(&shown))))
    }

    pub(super) fn variable_path(
        &mut self,
        dot: &Operand,
        expr: &'t Expr,
        path: &'t [Str],
        rest: &'t [Expr],
        last: Option<Value>,
    ) -> Ran<Operand> {
        self.at = Some(At::Expr(expr));
        let value = self.variable(&path[0])?;
        if path.len() > 1 {
            return self.field_chain(dot, value, expr, &path[1..], rest, last);
        }
        self.not_a_function(expr, rest, last.as_ref())?;
        Ok(value)
    }

    /// Calls a function of the table.
    pub(super) fn invoke(&mut self, callee: Callee, site: CallSite<'t, '_>) -> Ran<Value> {
        let row = callee.row();
        self.check_count(row, site.args.len(), site.last.is_some())?;
        match callee {
            Callee::And(_) => self.and_or(site, false),
            Callee::Or(_) => self.and_or(site, true),
            Callee::Call(_) => self.call_value(row, site),
            Callee::Plain(_) => self.call_row(row, site),
        }
    }

    fn check_count(&mut self, row: &Row, given: usize, piped: bool) -> Ran<()> {
        let total = given + usize::from(piped);
        let wanted = row.params.len();
        let name = row.name;
        if row.variadic.is_some() && total < wanted {
            let text = format!("wrong number of args for {name}: want at least {wanted} got {given}");
            return Err(self.fail_text(text));
        }
        if row.variadic.is_none() && total != wanted {
            return Err(self.fail_text(format!("wrong number of args for {name}: want {wanted} got {total}")));
        }
        match row.uncallable {
            Some(why) => Err(self.fail_text(why)),
            None => Ok(()),
        }
    }

    fn and_or(&mut self, site: CallSite<'t, '_>, stop_at: bool) -> Ran<Value> {
        let mut value = Value::Nil;
        for arg in site.args {
            value = self.argument(site.dot, ParamType::Reflect, arg)?;
            if is_true(&value) == stop_at {
                return Ok(value);
            }
        }
        Ok(site.last.unwrap_or(value))
    }

    /// Puts the arguments on the stack; gives the height before.
    fn push_args(&mut self, row: &Row, site: &mut CallSite<'t, '_>) -> Ran<usize> {
        let base = self.args.len();
        let method = site.receiver.is_some();
        self.args.extend(site.receiver.take());
        let param = |at: usize| row.params.get(at).copied().or(row.variadic).unwrap_or(ParamType::Any);
        for (at, arg) in site.args.iter().enumerate() {
            let value = self.argument(site.dot, param(at), arg)?;
            self.args.push(value);
        }
        if let Some(last) = site.last.take() {
            // The last value takes the place after the written arguments.
            let value = self.validate(last, param(site.args.len()))?;
            self.args.push(value);
        }
        debug_assert!(method || self.args.len() - base >= row.params.len());
        Ok(base)
    }

    fn call_row(&mut self, row: &'static Row, mut site: CallSite<'t, '_>) -> Ran<Value> {
        let base = self.push_args(row, &mut site)?;
        let budget = self.env.spend(1 + weight(&self.args[base..]));
        let result = budget.and_then(|()| (row.run)(self.env, &self.args[base..]));
        self.args.truncate(base);
        match result.and_then(|value| self.env.reserve(0).map(|()| value)) {
            Ok(value) => Ok(value),
            Err(failure) => Err(self.call_failure(row.name, site.at, failure)),
        }
    }

    fn call_failure(&mut self, name: &str, at: At<'t>, failure: Failure) -> Box<ExecError> {
        self.at = Some(at);
        let mut error = self.fail(failure);
        error.function = Some(name.to_owned());
        error
    }

    /// The function `call`: there are no function values here, so it only ever fails.
    fn call_value(&mut self, row: &'static Row, mut site: CallSite<'t, '_>) -> Ran<Value> {
        let shown = match site.args.first() {
            Some(arg) => {
                let mut shown = Vec::new();
                arg.write(&mut shown);
                utf8::lossy(&shown)
            }
            None => site.last.as_ref().map(builtins::reflect_string).unwrap_or_default(),
        };
        let base = self.push_args(row, &mut site)?;
        let failure = match self.args.get(base) {
            Some(value) if !value.is_nil() => {
                let text = format!("non-function {shown} of type {}", value.type_name());
                Failure::with_data(text, format!("non-function of type {}", value.type_name()))
            }
            _ => Failure::new("call of nil"),
        };
        self.args.truncate(base);
        Err(self.call_failure(row.name, site.at, failure))
    }

    /// One argument, of the type the function asks for.
    pub(super) fn argument(&mut self, dot: &Operand, param: ParamType, expr: &'t Expr) -> Ran<Value> {
        self.at = Some(At::Expr(expr));
        let value = match &expr.kind {
            ExprKind::Dot => dot.value.clone(),
            ExprKind::Nil => return self.nil_argument(param),
            ExprKind::Field(path) => self.field_chain(dot, dot.clone(), expr, path, &[], None)?.value,
            ExprKind::Variable(path) => self.variable_path(dot, expr, path, &[], None)?.value,
            ExprKind::Pipe(pipe) => self.pipeline(dot, pipe)?,
            ExprKind::Function(callee) => {
                let site = CallSite { dot, at: At::Expr(expr), args: &[], last: None, receiver: None };
                self.invoke(*callee, site)?
            }
            ExprKind::Chain(base, path) => self.chain(dot, expr, base, path, &[], None)?.value,
            ExprKind::Bool(_) | ExprKind::Number(..) | ExprKind::Text(..) => return self.literal(param, expr),
        };
        self.validate(value, param)
    }

    fn nil_argument(&mut self, param: ParamType) -> Ran<Value> {
        if param.can_be_nil() {
            return Ok(zero(param));
        }
        Err(self.fail_text(format!("cannot assign nil to {}", param.name())))
    }

    fn literal(&mut self, param: ParamType, expr: &'t Expr) -> Ran<Value> {
        let wanted = match (param, &expr.kind) {
            (ParamType::Any | ParamType::Reflect, ExprKind::Bool(flag)) => return Ok(Value::Bool(*flag)),
            (ParamType::Any | ParamType::Reflect, ExprKind::Text(text, _)) => return Ok(Value::Str(text.clone())),
            (ParamType::Any | ParamType::Reflect, ExprKind::Number(number, source)) => {
                return self.ideal(expr, number, source);
            }
            (ParamType::Bool, ExprKind::Bool(flag)) => return Ok(Value::Bool(*flag)),
            (ParamType::String, ExprKind::Text(text, _)) => return Ok(Value::Str(text.clone())),
            (ParamType::HashAlgorithm, ExprKind::Text(text, _)) => return Ok(Value::HashAlgorithm(text.clone())),
            (_, ExprKind::Number(number, _)) if typed_number(param, number).is_some() => {
                return Ok(typed_number(param, number).unwrap_or(Value::Nil));
            }
            (ParamType::Bool, _) => "bool",
            (ParamType::String | ParamType::HashAlgorithm, _) => "string",
            (ParamType::Int | ParamType::Duration, _) => "integer",
            (ParamType::Uint32, _) => "unsigned integer",
            (ParamType::Float64, _) => "float",
            _ => "",
        };
        let mut shown = Vec::new();
        expr.write(&mut shown);
        let shown = utf8::lossy(&shown);
        Err(self.fail_text(match wanted {
            "" => format!("can't handle {shown} for arg of type {}", param.name()),
            _ => format!("expected {wanted}; found {shown}"),
        }))
    }

    /// Checks that a value may be passed as that type.
    fn validate(&mut self, value: Value, param: ParamType) -> Ran<Value> {
        match (param, &value) {
            (ParamType::Reflect, _) => return Ok(value),
            (ParamType::Any, Value::NilAny) => return Ok(Value::Nil),
            (ParamType::Any, _)
            | (ParamType::String, Value::Str(_))
            | (ParamType::Int, Value::Int(_))
            | (ParamType::Uint32, Value::Uint32(_))
            | (ParamType::Float64, Value::Float(_))
            | (ParamType::Bool, Value::Bool(_))
            | (ParamType::Map, Value::Map(_))
            | (ParamType::List, Value::List(_))
            | (ParamType::Bytes, Value::Bytes(_))
            | (ParamType::Time, Value::Time(_))
            | (ParamType::Duration, Value::Duration(_))
            | (ParamType::Location, Value::Location(_))
            | (ParamType::Semver, Value::Semver(_))
            | (ParamType::Certificate, Value::Certificate(_))
            | (ParamType::HashAlgorithm, Value::HashAlgorithm(_)) => return Ok(value),
            (_, Value::Nil) if param.can_be_nil() => return Ok(zero(param)),
            (_, Value::Nil) => return Err(self.fail_text(format!("invalid value; expected {}", param.name()))),
            _ => {}
        }
        let found = if matches!(value, Value::NilAny) { "interface {}" } else { value.type_name() };
        Err(self.fail_text(format!("wrong type for value; expected {}; got {found}", param.name())))
    }
}

/// What an untyped nil becomes for a type that can be nil.
fn zero(param: ParamType) -> Value {
    match param {
        ParamType::Map => Value::Map(Map::nil()),
        ParamType::List => Value::List(List::nil()),
        _ => Value::Nil,
    }
}

fn typed_number(param: ParamType, number: &Number) -> Option<Value> {
    match param {
        ParamType::Int => number.int.map(Value::Int),
        ParamType::Duration => number.int.map(Value::Duration),
        ParamType::Uint32 => number.uint.map(|n| Value::Uint32(n as u32)),
        ParamType::Float64 => number.float.map(Value::Float),
        _ => None,
    }
}

/// Steps a call costs because of the size of its arguments.
fn weight(args: &[Value]) -> u64 {
    let size: usize = args
        .iter()
        .map(|value| match value {
            Value::Str(text) => text.len() / 64,
            Value::List(list) | Value::Chunks(list) => list.len() / 4,
            Value::Strings(list) => list.len() / 4,
            Value::Map(map) => map.len() / 4,
            Value::StrMap(map) => map.len() / 4,
            _ => 0,
        })
        .sum();
    size as u64
}
