//! `range` over everything that can be counted or listed.

use std::rc::Rc;

use super::{ExecError, Frame, Operand, Ran, Run};
use crate::template::engine::ast::Branch;
use crate::template::engine::failure::Failure;
use crate::template::engine::format;
use crate::template::engine::utf8;
use crate::template::engine::value::{List, Str, StringList, Value};

/// What a `range` still has to visit.
pub(super) enum Items {
    Int {
        next: i64,
        end: i64,
        wrap: fn(i64) -> Value,
    },
    List {
        list: List,
        next: usize,
        boxed: bool,
    },
    Strings {
        list: StringList,
        next: usize,
    },
    Ints {
        list: Rc<[i64]>,
        next: usize,
    },
    Bytes {
        list: Str,
        next: usize,
    },
    Entries {
        entries: std::vec::IntoIter<(Str, Value)>,
        boxed: bool,
    },
}

impl<'t> Run<'t, '_, '_> {
    pub(super) fn range(&mut self, branch: &'t Branch, dot: &Operand) -> Ran<()> {
        let mark = self.variables.len();
        let value = self.pipeline(dot, &branch.pipe)?;
        let body_mark = self.variables.len();
        let items = self.items(branch, value)?;
        match items {
            Some(items) => self.frames.push(Frame::Range {
                branch,
                items,
                mark,
                body_mark,
            }),
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
            Value::Uint64(n) => (i64::try_from(*n).unwrap_or(i64::MAX), |n| {
                Value::Uint64(u64::try_from(n).unwrap_or(0))
            }),
            _ => return self.collection(value),
        };
        if branch.pipe.variables.len() > 1 {
            return Err(self.value_failure(&value, "can't use ", " to iterate over more than one variable"));
        }
        Ok((count.0 > 0).then_some(Items::Int {
            next: 0,
            end: count.0,
            wrap: count.1,
        }))
    }

    fn collection(&mut self, value: Value) -> Ran<Option<Items>> {
        let items = match &value {
            Value::Nil | Value::NilAny => return Ok(None),
            Value::List(list) | Value::Chunks(list) if list.is_empty() => return Ok(None),
            Value::List(list) => Items::List {
                list: list.clone(),
                next: 0,
                boxed: true,
            },
            Value::Chunks(list) => Items::List {
                list: list.clone(),
                next: 0,
                boxed: false,
            },
            Value::Strings(list) if list.is_empty() => return Ok(None),
            Value::Strings(list) => Items::Strings {
                list: list.clone(),
                next: 0,
            },
            Value::Ints(list) if list.is_empty() => return Ok(None),
            Value::Ints(list) => Items::Ints {
                list: list.clone(),
                next: 0,
            },
            Value::Bytes(list) if list.is_empty() => return Ok(None),
            Value::Bytes(list) => Items::Bytes {
                list: list.clone(),
                next: 0,
            },
            Value::Map(map) if map.is_empty() => return Ok(None),
            Value::Map(map) => Items::Entries {
                entries: map.entries().into_iter(),
                boxed: true,
            },
            Value::StrMap(map) if map.is_empty() => return Ok(None),
            Value::StrMap(map) => {
                let entries: Vec<_> = map
                    .iter()
                    .map(|(key, text)| (key.clone(), Value::Str(text.clone())))
                    .collect();
                Items::Entries {
                    entries: entries.into_iter(),
                    boxed: false,
                }
            }
            _ => return Err(self.value_failure(&value, "range can't iterate over ", "")),
        };
        Ok(Some(items))
    }

    fn value_failure(&mut self, value: &Value, before: &str, after: &str) -> Box<ExecError> {
        let shown = format::sprint(value).map(|text| utf8::lossy(&text)).unwrap_or_default();
        let masked = format!("{before}a value of type {}{after}", value.type_name());
        self.fail(Failure::with_data(format!("{before}{shown}{after}"), masked))
    }

    pub(super) fn next_round(&mut self) -> Ran<()> {
        let Some(Frame::Range {
            branch,
            items,
            body_mark,
            ..
        }) = self.frames.last_mut()
        else {
            return Ok(());
        };
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
    pub(super) fn unwind(&mut self) {
        while self
            .frames
            .last()
            .is_some_and(|frame| !matches!(frame, Frame::Range { .. }))
        {
            self.frames.pop();
        }
    }

    pub(super) fn end_range(&mut self) {
        if let Some(Frame::Range { mark, .. }) = self.frames.pop() {
            self.variables.truncate(mark);
        }
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
                let element = if *boxed {
                    Operand::boxed(element)
                } else {
                    Operand::plain(element)
                };
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
                let value = if *boxed {
                    Operand::boxed(value)
                } else {
                    Operand::plain(value)
                };
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
