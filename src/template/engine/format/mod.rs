//! Go's `fmt`, for the values of a template.

pub mod float;
mod printer;
mod printf;
pub mod quote;

pub use printf::sprintf;

use crate::lang::gotime;
use crate::template::engine::failure::Failure;
use crate::template::engine::value::Value;
use printer::Printer;

/// `fmt.Sprint(value)`: what `%v` prints.
///
/// # Errors
/// The text is too long, or the value nested too deeply.
pub fn sprint(value: &Value) -> Result<Vec<u8>, Failure> {
    if let Value::Str(text) = value {
        return Ok(text.to_vec());
    }
    let mut printer = Printer::default();
    printer.print(value, 'v', 0);
    printer.finish()
}

/// `fmt.Sprint(values...)`: a blank between two operands when neither is a string.
///
/// # Errors
/// As [`sprint`].
pub fn sprint_all(values: &[Value]) -> Result<Vec<u8>, Failure> {
    let mut printer = Printer::default();
    let mut after_text = true;
    for value in values {
        let is_text = matches!(value, Value::Str(_) | Value::HashAlgorithm(_));
        if !after_text && !is_text {
            printer.write(b" ");
        }
        printer.print(value, 'v', 0);
        after_text = is_text;
    }
    printer.finish()
}

/// `fmt.Sprintln(values...)`
///
/// # Errors
/// As [`sprint`].
pub fn sprint_line(values: &[Value]) -> Result<Vec<u8>, Failure> {
    let mut printer = Printer::default();
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            printer.write(b" ");
        }
        printer.print(value, 'v', 0);
    }
    printer.write(b"\n");
    printer.finish()
}

/// What the `String` method of the type returns.
fn text_form(value: &Value) -> Option<String> {
    Some(match value {
        Value::Time(time) => time.to_string(),
        Value::Duration(nanoseconds) => gotime::duration_string(*nanoseconds),
        Value::Month(month) => gotime::month_name(*month),
        Value::Weekday(day) => gotime::weekday_name(*day),
        Value::Location(name) => name.to_lossy(),
        Value::Semver(version) | Value::SemverValue(version) => version.to_string(),
        _ => return None,
    })
}

/// The elements of a list, and whether it is the nil list.
fn elements(value: &Value) -> (Vec<Value>, bool) {
    match value {
        Value::List(list) | Value::Chunks(list) => (list.to_vec(), list.is_nil()),
        Value::Strings(list) => (list.to_vec().into_iter().map(Value::Str).collect(), list.is_nil()),
        Value::Ints(list) => (list.iter().copied().map(Value::Int).collect(), false),
        _ => (Vec::new(), false),
    }
}

/// `%#g` and its kin: always a decimal point, and trailing zeros up to the precision.
fn with_point(body: Vec<u8>, verb: u8, precision: Option<usize>) -> Vec<u8> {
    let hexadecimal = matches!(verb, b'x' | b'X');
    let at = body
        .iter()
        .position(|byte| matches!(byte, b'p' | b'P') || (!hexadecimal && matches!(byte, b'e' | b'E')))
        .unwrap_or(body.len());
    let (mantissa, tail) = body.split_at(at);
    let mut wanted = match verb {
        b'g' | b'G' | b'x' => precision.unwrap_or(6),
        _ => 0,
    };
    let significant = mantissa.iter().filter(|&&byte| byte != b'.').skip_while(|&&byte| byte == b'0').count();
    wanted = wanted.saturating_sub(significant);
    let mut out = mantissa.to_vec();
    if !out.contains(&b'.') {
        if out == b"0" {
            wanted = wanted.saturating_sub(1);
        }
        out.push(b'.');
    }
    out.resize(out.len() + wanted, b'0');
    out.extend_from_slice(tail);
    out
}
