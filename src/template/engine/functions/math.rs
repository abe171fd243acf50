//! Whole numbers and floats.

use super::{Env, ParamType as P, Row, arg, cast};
use crate::template::engine::failure::Failure;
use crate::template::engine::format;
use crate::template::engine::numbers::{NumberError, parse_int};
use crate::template::engine::value::Value;

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::variadic("add", &[], P::Any, |_, args| fold(0, args, i64::wrapping_add)),
    Row::new("add1", &[P::Any], |_, args| Ok(Value::Int64(cast::to_int64(&args[0]).wrapping_add(1)))),
    Row::new("sub", &[P::Any, P::Any], |_, args| fold(cast::to_int64(&args[0]), &args[1..], i64::wrapping_sub)),
    Row::variadic("mul", &[P::Any], P::Any, |_, args| fold(cast::to_int64(&args[0]), &args[1..], i64::wrapping_mul)),
    Row::new("div", &[P::Any, P::Any], |_, args| divide(args, i64::wrapping_div)),
    Row::new("mod", &[P::Any, P::Any], |_, args| divide(args, i64::wrapping_rem)),
    Row::variadic("max", &[P::Any], P::Any, largest),
    Row::variadic("biggest", &[P::Any], P::Any, largest),
    Row::variadic("min", &[P::Any], P::Any, |_, args| fold(cast::to_int64(&args[0]), &args[1..], i64::min)),
    Row::variadic("maxf", &[P::Any], P::Any, |_, args| fold_float(args, go_max)),
    Row::variadic("minf", &[P::Any], P::Any, |_, args| fold_float(args, go_min)),
    Row::new("ceil", &[P::Any], |_, args| Ok(Value::Float(cast::to_float64(&args[0]).ceil()))),
    Row::new("floor", &[P::Any], |_, args| Ok(Value::Float(cast::to_float64(&args[0]).floor()))),
    Row::variadic("round", &[P::Any, P::Int], P::Float64, round),
    Row::new("int", &[P::Any], |_, args| Ok(Value::Int(cast::to_int64(&args[0])))),
    Row::new("int64", &[P::Any], |_, args| Ok(Value::Int64(cast::to_int64(&args[0])))),
    Row::new("float64", &[P::Any], |_, args| Ok(Value::Float(cast::to_float64(&args[0])))),
    Row::new("atoi", &[P::String], atoi),
    Row::new("toDecimal", &[P::Any], to_decimal),
    Row::new("until", &[P::Int], until),
    Row::new("untilStep", &[P::Int, P::Int, P::Int], until_step),
    Row::variadic("seq", &[], P::Int, seq),
];

fn fold(start: i64, rest: &[Value], operation: fn(i64, i64) -> i64) -> Result<Value, Failure> {
    Ok(Value::Int64(rest.iter().fold(start, |sum, value| operation(sum, cast::to_int64(value)))))
}

fn largest(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    fold(cast::to_int64(&args[0]), &args[1..], i64::max)
}

fn divide(args: &[Value], operation: fn(i64, i64) -> i64) -> Result<Value, Failure> {
    let divisor = cast::to_int64(&args[1]);
    if divisor == 0 {
        return Err(Failure::new("runtime error: integer divide by zero"));
    }
    Ok(Value::Int64(operation(cast::to_int64(&args[0]), divisor)))
}

fn fold_float(args: &[Value], operation: fn(f64, f64) -> f64) -> Result<Value, Failure> {
    let start = cast::to_float64(&args[0]);
    Ok(Value::Float(args[1..].iter().fold(start, |best, value| operation(best, cast::to_float64(value)))))
}

/// `math.Max`: an infinity wins over not-a-number, not-a-number over the rest.
fn go_max(a: f64, b: f64) -> f64 {
    if a == f64::INFINITY || b == f64::INFINITY {
        f64::INFINITY
    } else if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a == 0.0 && b == 0.0 {
        if a.is_sign_negative() { b } else { a }
    } else {
        a.max(b)
    }
}

fn go_min(a: f64, b: f64) -> f64 {
    -go_max(-a, -b)
}

fn round(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let on = if args.len() > 2 { arg::float(args, 2) } else { 0.5 };
    let places = i32::try_from(arg::int(args, 1)).unwrap_or(if arg::int(args, 1) < 0 { -400 } else { 400 });
    let power = power_of_ten(places);
    let scaled = power * cast::to_float64(&args[0]);
    let rounded = if scaled.fract() >= on { scaled.ceil() } else { scaled.floor() };
    Ok(Value::Float(rounded / power))
}

/// `math.Pow(10, places)`: exact where ten to that power is.
fn power_of_ten(places: i32) -> f64 {
    if (-400..=400).contains(&places) {
        format!("1e{places}").parse().unwrap_or(f64::INFINITY)
    } else if places > 0 {
        f64::INFINITY
    } else {
        0.0
    }
}

fn atoi(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let text = arg::bytes(args, 0);
    Ok(Value::Int(match parse_int(text, 10) {
        Ok(n) => n,
        Err(NumberError::Range) if text.first() == Some(&b'-') => i64::MIN,
        Err(NumberError::Range) => i64::MAX,
        Err(NumberError::Syntax) => 0,
    }))
}

fn to_decimal(_: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let text = format::sprint(&args[0])?;
    Ok(Value::Int64(parse_int(&text, 8).unwrap_or(0)))
}

fn until(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let stop = arg::int(args, 0);
    let numbers = steps(env, 0, stop, if stop < 0 { -1 } else { 1 })?;
    Ok(Value::Ints(numbers.into()))
}

fn until_step(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let numbers = steps(env, arg::int(args, 0), arg::int(args, 1), arg::int(args, 2))?;
    Ok(Value::Ints(numbers.into()))
}

/// From `start` towards `stop`, which is left out; nothing when `step` leads away.
fn steps(env: &mut Env<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, Failure> {
    let away = if stop < start { step >= 0 } else { step <= 0 };
    if away {
        return Ok(Vec::new());
    }
    let count = (i128::from(stop) - i128::from(start)).unsigned_abs().div_ceil(u128::from(step.unsigned_abs()));
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    env.reserve(count.saturating_mul(32))?;
    env.spend(u64::try_from(count).unwrap_or(u64::MAX) / 8)?;
    let mut numbers = Vec::with_capacity(count);
    let mut next = start;
    for _ in 0..count {
        numbers.push(next);
        next = next.wrapping_add(step);
    }
    Ok(numbers)
}

fn seq(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let at = |index: usize| arg::int(args, index);
    let numbers = match args.len() {
        1 => {
            let towards = if at(0) < 1 { -1 } else { 1 };
            steps(env, 1, at(0).wrapping_add(towards), towards)?
        }
        2 => {
            let towards = if at(1) < at(0) { -1 } else { 1 };
            steps(env, at(0), at(1).wrapping_add(towards), towards)?
        }
        3 => {
            let towards = if at(2) < at(0) { -1 } else { 1 };
            if towards < 0 && at(1) > 0 {
                return Ok(Value::str(""));
            }
            steps(env, at(0), at(2).wrapping_add(towards), at(1))?
        }
        _ => return Ok(Value::str("")),
    };
    let shown: Vec<String> = numbers.iter().map(i64::to_string).collect();
    Ok(Value::str(shown.join(" ")))
}
