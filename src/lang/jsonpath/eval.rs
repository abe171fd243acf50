//! Applying a path to a value.

use super::{Branch, Expr, JsonPathError, MAX_STEPS, Path, Step};
use crate::lang::gojson::Value;
use crate::lang::number::{atoi, parse_float};
use std::ops::Deref;
use std::rc::Rc;

/// A fault; `None` stands for a limit, which ends the evaluation even where faults are dropped.
type Fault = Option<String>;

/// A value of the text, or one made on the way.
#[derive(Clone)]
enum Val<'v> {
    Text(&'v Value),
    Made(Rc<Value>),
}

impl Deref for Val<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Text(value) => value,
            Self::Made(value) => value,
        }
    }
}

impl Val<'_> {
    fn made(value: Value) -> Self {
        Self::Made(Rc::new(value))
    }

    fn member(&self, name: &str) -> Option<Self> {
        match self {
            Self::Text(value) => value.as_object()?.get(name).map(Self::Text),
            Self::Made(value) => value.as_object()?.get(name).cloned().map(Self::made),
        }
    }

    fn element(&self, index: usize) -> Option<Self> {
        match self {
            Self::Text(Value::Array(items)) => items.get(index).map(Self::Text),
            Self::Made(value) => match &**value {
                Value::Array(items) => items.get(index).cloned().map(Self::made),
                _ => None,
            },
            Self::Text(_) => None,
        }
    }

    /// Everything directly inside.
    fn children(&self) -> Vec<Self> {
        match self {
            Self::Text(Value::Array(items)) => items.iter().map(Self::Text).collect(),
            Self::Text(Value::Object(members)) => members.values().map(Self::Text).collect(),
            Self::Text(_) => Vec::new(),
            Self::Made(value) => match &**value {
                Value::Array(items) => items.iter().cloned().map(Self::made).collect(),
                Value::Object(members) => members.values().cloned().map(Self::made).collect(),
                _ => Vec::new(),
            },
        }
    }
}

pub(super) fn evaluate(expression: &Expr, root: &Value) -> Result<Value, JsonPathError> {
    let mut eval = Eval {
        root: Val::Text(root),
        steps: MAX_STEPS,
    };
    match eval.expression(expression, None) {
        Ok(value) => Ok((*value).clone()),
        Err(Some(fault)) => Err(JsonPathError(fault)),
        Err(None) => Err(JsonPathError("too many matches".to_owned())),
    }
}

/// Joins two operands of `==` or `!=`; constants at once.
pub(super) fn fold_equal(left: Expr, right: Expr, negated: bool) -> Expr {
    if let (Expr::Const(left), Expr::Const(right)) = (&left, &right) {
        return Expr::Const(Value::Bool((left == right) != negated));
    }
    Expr::Equal {
        left: Box::new(left),
        right: Box::new(right),
        negated,
    }
}

/// A minus before an operand; a constant must be a number.
pub(super) fn fold_negate(operand: Expr) -> Result<Expr, String> {
    match operand {
        Expr::Const(value) => match number(&value) {
            Some(number) => Ok(Expr::Const(Value::Number(-number))),
            None => Err(format!(
                "unexpected {}({}) expected number",
                *value.print(),
                value.go_type()
            )),
        },
        other => Ok(Expr::Negate(Box::new(other))),
    }
}

struct Eval<'v> {
    root: Val<'v>,
    /// Steps left.
    steps: u32,
}

impl<'v> Eval<'v> {
    fn step(&mut self) -> Result<(), Fault> {
        self.steps = self.steps.checked_sub(1).ok_or(None)?;
        Ok(())
    }

    /// Evaluates with `current` as `@`.
    fn expression(&mut self, expression: &Expr, current: Option<&Val<'v>>) -> Result<Val<'v>, Fault> {
        self.step()?;
        match expression {
            Expr::Const(value) => Ok(Val::made(value.clone())),
            Expr::Path(path) => self.path(path, current),
            Expr::Negate(operand) => {
                let value = self.expression(operand, current)?;
                let number = number(&value);
                let fault = || Some(format!("unexpected <computed>({}) expected number", value.go_type()));
                number.map(|number| Val::made(Value::Number(-number))).ok_or_else(fault)
            }
            Expr::Equal { left, right, negated } => {
                let left = self.expression(left, current)?;
                let right = self.expression(right, current)?;
                Ok(Val::made(Value::Bool((*left == *right) != *negated)))
            }
            Expr::Variable(keys) => self.variable(keys, current),
            Expr::Call { name, callee } => match self.variable(callee, current) {
                Ok(value) => Err(Some(format!("could not call '{name}' type {}", value.go_type()))),
                Err(fault) => Err(fault.map(|fault| format!("could not call function: {fault}"))),
            },
        }
    }

    /// Members of the root by name. A member that does not exist is null; an index out of range is passed over.
    fn variable(&mut self, keys: &[Expr], current: Option<&Val<'v>>) -> Result<Val<'v>, Fault> {
        let mut names = Vec::with_capacity(keys.len());
        for key in keys {
            names.push(self.expression(key, current)?.print().to_string());
        }
        let mut value = self.root.clone();
        for (i, name) in names.iter().enumerate() {
            let next = match &*value {
                Value::Object(_) => Some(value.member(name).unwrap_or_else(|| Val::made(Value::Null))),
                Value::Array(_) => {
                    let index = atoi(name).ok().and_then(|index| usize::try_from(index).ok());
                    index.and_then(|index| value.element(index))
                }
                _ => {
                    let shown: Vec<_> = keys
                        .iter()
                        .zip(&names)
                        .take(i + 1)
                        .map(|(key, name)| shown(key, name))
                        .collect();
                    return Err(Some(format!("unknown parameter {}", shown.join("."))));
                }
            };
            value = next.unwrap_or(value);
        }
        Ok(value)
    }

    fn path(&mut self, path: &Path, current: Option<&Val<'v>>) -> Result<Val<'v>, Fault> {
        let start = self.direct(&path.direct, self.root.clone(), current);
        if path.branches.is_empty() {
            return start;
        }
        let mut matches = match start {
            Ok(value) => vec![value],
            Err(None) => return Err(None),
            Err(Some(_)) => Vec::new(),
        };
        for (branch, ending) in &path.branches {
            let mut next = Vec::new();
            for value in &matches {
                self.branch(branch, value, &mut next)?;
            }
            matches.clear();
            for value in next {
                match self.direct(ending, value, current) {
                    Ok(value) => matches.push(value),
                    Err(None) => return Err(None),
                    Err(Some(_)) => {}
                }
            }
        }
        let mut list = Vec::with_capacity(matches.len());
        for value in &matches {
            self.spend_size(value)?;
            list.push((**value).clone());
        }
        Ok(Val::made(Value::Array(list)))
    }

    /// Copying a match costs as much as it holds.
    fn spend_size(&mut self, value: &Value) -> Result<(), Fault> {
        self.step()?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.spend_size(item)),
            Value::Object(members) => members.values().try_for_each(|member| self.spend_size(member)),
            _ => Ok(()),
        }
    }

    fn direct(&mut self, steps: &[Step], mut value: Val<'v>, current: Option<&Val<'v>>) -> Result<Val<'v>, Fault> {
        for step in steps {
            self.step()?;
            value = match step {
                Step::Current => current.cloned().unwrap_or_else(|| Val::made(Value::Null)),
                Step::Select(key) => self.select(key, &value)?,
                Step::Script(script) => self.expression(script, Some(&value))?,
            };
        }
        Ok(value)
    }

    fn select(&mut self, key: &Expr, value: &Val<'v>) -> Result<Val<'v>, Fault> {
        let invalid = |fault: Fault| fault.map(|fault| format!("could not select value, invalid key: {fault}"));
        match &**value {
            Value::Array(_) => {
                let index = self.integer(key, value).map_err(invalid)?;
                let found = usize::try_from(index).ok().and_then(|index| value.element(index));
                found.ok_or_else(|| Some(format!("index {index} out of bounds")))
            }
            Value::Object(_) => {
                let name = self.expression(key, Some(value)).map_err(invalid)?;
                let name = name.print();
                value
                    .member(&name)
                    .ok_or_else(|| Some(format!("unknown key {}", shown(key, &name))))
            }
            other => Err(Some(format!(
                "unsupported value type {} for select, expected map[string]interface{{}} or []interface{{}}",
                other.go_type()
            ))),
        }
    }

    fn integer(&mut self, key: &Expr, current: &Val<'v>) -> Result<i64, Fault> {
        let value = self.expression(key, Some(current))?;
        match number(&value) {
            Some(number) => Ok(to_int(number)),
            None => Err(Some(format!(
                "expected number but got {} ({})",
                shown(key, &value.print()),
                value.go_type()
            ))),
        }
    }

    fn branch(&mut self, branch: &Branch, value: &Val<'v>, out: &mut Vec<Val<'v>>) -> Result<(), Fault> {
        match branch {
            Branch::Star => {
                for child in value.children() {
                    self.step()?;
                    out.push(child);
                }
            }
            Branch::Union(keys) => {
                for key in keys {
                    out.extend(dropped(self.select(key, value))?);
                }
            }
            Branch::Descend => self.descend(value, out)?,
            Branch::Filter(condition) => {
                for child in value.children() {
                    let verdict = dropped(self.expression(condition, Some(&child)))?;
                    if verdict.is_some_and(|verdict| truth(&verdict)) {
                        out.push(child);
                    }
                }
            }
            Branch::Range(range) => self.range(range, value, out)?,
        }
        Ok(())
    }

    /// A value and everything inside it.
    fn descend(&mut self, value: &Val<'v>, out: &mut Vec<Val<'v>>) -> Result<(), Fault> {
        self.step()?;
        out.push(value.clone());
        value.children().iter().try_for_each(|child| self.descend(child, out))
    }

    fn range(&mut self, range: &[Expr; 3], value: &Val<'v>, out: &mut Vec<Val<'v>>) -> Result<(), Fault> {
        let Value::Array(items) = &**value else { return Ok(()) };
        let mut bounds = [0; 3];
        for (bound, key) in bounds.iter_mut().zip(range) {
            let Some(integer) = dropped(self.integer(key, value))? else {
                return Ok(());
            };
            *bound = integer;
        }
        let [min, max, step] = bounds;
        if min > max {
            return Ok(());
        }
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let clamp = |n: i64| {
            if n < 0 {
                (length.saturating_add(n)).max(0)
            } else {
                n.min(length)
            }
        };
        let (min, max, step) = (clamp(min), clamp(max), if step == 0 { 1 } else { step });
        let mut at = if step > 0 { min } else { max - 1 };
        while at >= min && at < max {
            self.step()?;
            out.extend(usize::try_from(at).ok().and_then(|at| value.element(at)));
            at = at.saturating_add(step);
        }
        Ok(())
    }
}

/// A miss among many matches is no fault.
fn dropped<T>(result: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Some(_)) => Ok(None),
        Err(None) => Err(None),
    }
}

/// A key as an error may show it: as written, but not if it was taken from the text.
fn shown(key: &Expr, text: &str) -> String {
    match key {
        Expr::Const(_) => text.to_owned(),
        _ => "<computed>".to_owned(),
    }
}

/// A number, or a text that is one.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::String(text) => parse_float(text).ok(),
        _ => None,
    }
}

/// A condition; what is neither true nor false is not met.
fn truth(value: &Value) -> bool {
    match value {
        Value::Bool(value) => *value,
        Value::String(text) if matches!(text.as_str(), "true" | "TRUE") => true,
        _ => number(value).is_some_and(|number| number != 0.0),
    }
}

/// A float cut to an integer; out of range gives the smallest, as on Go's usual platforms.
#[expect(
    clippy::cast_possible_truncation,
    reason = "within the limits it cuts towards zero, as Go does"
)]
fn to_int(number: f64) -> i64 {
    let limit = 9_223_372_036_854_775_808.0;
    if (-limit..limit).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}
