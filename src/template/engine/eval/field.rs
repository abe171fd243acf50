//! Fields of maps and structs, and methods.

use super::command::CallSite;
use super::{At, MissingKey, Operand, Ran, Run};
use crate::template::engine::ast::{Callee, Expr};
use crate::template::engine::format::quote;
use crate::template::engine::functions::{ParamType, Row, methods};
use crate::template::engine::utf8;
use crate::template::engine::value::{Str, Value};

impl<'t> Run<'t, '_, '_> {
    /// `(base).a.b`
    pub(super) fn chain(
        &mut self,
        dot: &Operand,
        expr: &'t Expr,
        base: &'t Expr,
        path: &'t [Str],
        rest: &'t [Expr],
        last: Option<Value>,
    ) -> Ran<Operand> {
        self.at = Some(At::Expr(expr));
        let value = self.argument(dot, ParamType::Reflect, base)?;
        self.field_chain(dot, Operand::plain(value), expr, path, rest, last)
    }

    /// Walks along a path; the last name takes the arguments, in case it is a method.
    pub(super) fn field_chain(
        &mut self,
        dot: &Operand,
        start: Operand,
        expr: &'t Expr,
        path: &'t [Str],
        rest: &'t [Expr],
        last: Option<Value>,
    ) -> Ran<Operand> {
        let mut receiver = start;
        let Some((final_name, names)) = path.split_last() else {
            return Ok(receiver);
        };
        for name in names {
            let site = CallSite {
                dot,
                at: At::Expr(expr),
                args: &[],
                last: None,
                receiver: None,
            };
            receiver = self.field(receiver, name, site)?;
        }
        let site = CallSite {
            dot,
            at: At::Expr(expr),
            args: rest,
            last,
            receiver: None,
        };
        self.field(receiver, final_name, site)
    }

    fn field(&mut self, receiver: Operand, name: &'t Str, site: CallSite<'t, '_>) -> Ran<Operand> {
        let shown = || utf8::lossy(name);
        match &receiver.value {
            Value::Nil if self.missing_key == MissingKey::Default => return Ok(Operand::plain(Value::Nil)),
            Value::Nil => {
                return Err(self.fail_text(format!("nil data; no entry for key {}", quote::quoted(name))));
            }
            Value::NilAny => {
                return Err(self.fail_text(format!("nil pointer evaluating interface {{}}.{}", shown())));
            }
            _ => {}
        }
        if let Some(row) = methods::find(&receiver.value, name) {
            return self.method(receiver.value, row, site);
        }
        let has_args = !site.args.is_empty() || site.last.is_some();
        let found = match &receiver.value {
            Value::Certificate(certificate) => {
                let found = match &name[..] {
                    b"Cert" => Some(certificate.cert.clone()),
                    b"Key" => Some(certificate.key.clone()),
                    _ => None,
                };
                if found.is_some() && has_args {
                    let text = format!("{} has arguments but cannot be invoked as function", shown());
                    return Err(self.fail_text(text));
                }
                found.map(|text| Operand::plain(Value::Str(text)))
            }
            Value::Map(_) | Value::StrMap(_) if has_args => {
                return Err(self.fail_text(format!("{} is not a method but has arguments", shown())));
            }
            Value::Map(map) => match map.get(name) {
                Some(value) => Some(Operand::boxed(value)),
                None => return self.missing(name),
            },
            Value::StrMap(map) => match map.get(&name[..]) {
                Some(text) => Some(Operand::plain(Value::Str(text.clone()))),
                None => return self.missing(name),
            },
            other => {
                if methods::unexported(other, name) {
                    let text = format!(
                        "{} is an unexported field of struct type {}",
                        shown(),
                        type_of(&receiver)
                    );
                    return Err(self.fail_text(text));
                }
                None
            }
        };
        match found {
            Some(found) => Ok(found),
            None => Err(self.fail_text(format!(
                "can't evaluate field {} in type {}",
                shown(),
                type_of(&receiver)
            ))),
        }
    }

    fn missing(&mut self, name: &Str) -> Ran<Operand> {
        match self.missing_key {
            MissingKey::Default => Ok(Operand::plain(Value::Nil)),
            MissingKey::Error => Err(self.fail_text(format!("map has no entry for key {}", quote::quoted(name)))),
        }
    }

    fn method(&mut self, receiver: Value, row: &'static Row, mut site: CallSite<'t, '_>) -> Ran<Operand> {
        site.receiver = Some(receiver);
        self.invoke(Callee::Plain(row), site).map(Operand::plain)
    }
}

fn type_of(receiver: &Operand) -> &'static str {
    if receiver.boxed {
        "interface {}"
    } else {
        receiver.value.type_name()
    }
}
