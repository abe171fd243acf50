//! Dates: Go layouts, durations, and the methods of time values.
//!
//! `now` is the time of the run. A value that is no time, where one is expected, means *now*, as in sprig.

#![expect(clippy::unnecessary_wraps, reason = "all functions of the table have one signature")]

mod methods;

pub use methods::{DURATION_METHODS, LOCATION_METHODS, MONTH_METHODS, TIME_METHODS, WEEKDAY_METHODS};

use crate::lang::duration::GoDuration;
use crate::lang::gotime::{self, SECOND, Time, Zone};
use crate::template::engine::functions::{Env, ParamType as P, Row, arg};
use crate::template::engine::{Failure, Value};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("now", &[], now),
    Row::new("date", &[P::String, P::Any], date),
    Row::new("dateInZone", &[P::String, P::Any, P::String], date_in_zone),
    Row::new("date_in_zone", &[P::String, P::Any, P::String], date_in_zone),
    Row::new("htmlDate", &[P::Any], html_date),
    Row::new("htmlDateInZone", &[P::Any, P::String], html_date_in_zone),
    Row::new("ago", &[P::Any], ago),
    Row::new("toDate", &[P::String, P::String], to_date),
    Row::new("mustToDate", &[P::String, P::String], must_to_date),
    Row::new("dateModify", &[P::String, P::Time], date_modify),
    Row::new("date_modify", &[P::String, P::Time], date_modify),
    Row::new("mustDateModify", &[P::String, P::Time], must_date_modify),
    Row::new("must_date_modify", &[P::String, P::Time], must_date_modify),
    Row::new("unixEpoch", &[P::Time], unix_epoch),
    Row::new("duration", &[P::Any], duration),
    Row::new("durationRound", &[P::Any], duration_round),
];

const HTML_LAYOUT: &[u8] = b"2006-01-02";

/// The receiver or a `time.Time` argument; the signature check has seen to its type.
fn time_arg(args: &[Value], at: usize) -> Time {
    match args.get(at) {
        Some(Value::Time(time)) => Time::clone(time),
        _ => Time::zero(),
    }
}

/// What sprig takes for a date: a time, or seconds since the epoch. Anything else is the present.
fn loose_time(env: &Env<'_>, value: Option<&Value>) -> Time {
    match value {
        Some(Value::Time(time)) => Time::clone(time),
        Some(Value::Int(seconds) | Value::Int64(seconds)) => Time::from_unix(*seconds, 0),
        _ => env.now(),
    }
}

fn format_in_zone(env: &Env<'_>, layout: &[u8], value: Option<&Value>, zone: &[u8]) -> Value {
    let zone = std::str::from_utf8(zone).ok().and_then(Zone::load).unwrap_or(Zone::Utc);
    Value::str(loose_time(env, value).in_zone(zone).format(layout))
}

fn now(env: &mut Env<'_>, _args: &[Value]) -> Result<Value, Failure> {
    Ok(Value::time(env.now()))
}

fn date(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    Ok(format_in_zone(env, arg::bytes(args, 0), args.get(1), b"Local"))
}

fn date_in_zone(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    Ok(format_in_zone(env, arg::bytes(args, 0), args.get(1), arg::bytes(args, 2)))
}

fn html_date(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    Ok(format_in_zone(env, HTML_LAYOUT, args.first(), b"Local"))
}

fn html_date_in_zone(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    Ok(format_in_zone(env, HTML_LAYOUT, args.first(), arg::bytes(args, 1)))
}

fn ago(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let passed = env.now().since(&loose_time(env, args.first()));
    Ok(Value::str(gotime::duration_string(gotime::round_duration(passed, SECOND))))
}

fn to_date(_env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (layout, text) = (arg::text(args, 0).to_lossy(), arg::text(args, 1).to_lossy());
    Ok(Value::time(gotime::parse_local(&layout, &text).unwrap_or_else(|_| Time::zero())))
}

fn must_to_date(_env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (layout, text) = (arg::text(args, 0).to_lossy(), arg::text(args, 1).to_lossy());
    gotime::parse_local(&layout, &text)
        .map(Value::time)
        .map_err(|error| Failure::with_data(error.text(), error.to_string()))
}

fn parse_duration(text: &[u8]) -> Result<i64, Failure> {
    GoDuration::parse(&String::from_utf8_lossy(text))
        .map(GoDuration::as_nanos)
        .map_err(|error| Failure::with_data(error.to_string(), "time: invalid duration"))
}

fn date_modify(_env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let time = time_arg(args, 1);
    Ok(Value::time(parse_duration(arg::bytes(args, 0)).map_or_else(|_| time.clone(), |nanos| time.add(nanos))))
}

fn must_date_modify(_env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    Ok(Value::time(time_arg(args, 1).add(parse_duration(arg::bytes(args, 0))?)))
}

fn unix_epoch(_env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    Ok(Value::str(time_arg(args, 0).unix().to_string()))
}

fn duration(_env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let seconds = match args.first() {
        Some(Value::Str(text)) => decimal_integer(text),
        Some(Value::Int64(seconds)) => *seconds,
        _ => 0,
    };
    Ok(Value::str(gotime::duration_string(seconds.wrapping_mul(SECOND))))
}

/// Go's `ParseInt` in base 10: no number is 0, a number out of range is the nearest one in range.
fn decimal_integer(text: &[u8]) -> i64 {
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return 0;
    }
    let beyond = if text.starts_with(b"-") { i64::MIN } else { i64::MAX };
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(beyond)
}

fn duration_round(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let nanos = match args.first() {
        Some(Value::Str(text)) => parse_duration(text).unwrap_or(0),
        Some(Value::Int64(nanos)) => *nanos,
        Some(Value::Time(time)) => env.now().since(time),
        _ => 0,
    };
    Ok(Value::str(rounded(nanos.unsigned_abs())))
}

/// The largest unit that a span is strictly longer than.
fn rounded(nanos: u64) -> String {
    const MINUTE: u64 = 60 * SECOND.unsigned_abs();
    const DAY: u64 = 24 * 60 * MINUTE;
    const UNITS: [(u64, &str); 6] = [
        (365 * DAY, "y"),
        (30 * DAY, "mo"),
        (DAY, "d"),
        (60 * MINUTE, "h"),
        (MINUTE, "m"),
        (SECOND.unsigned_abs(), "s"),
    ];
    UNITS
        .iter()
        .find(|(unit, _)| nanos > *unit)
        .map_or_else(|| "0s".to_owned(), |(unit, name)| format!("{}{name}", nanos / unit))
}

#[cfg(test)]
mod tests;
