//! The methods a template may call on times, durations, months, weekdays and locations.

use crate::lang::gotime::{self, Time, Zone};
use crate::template::engine::functions::{Env, ParamType as P, Row, arg};
use crate::template::engine::{Failure, Str, Value};

use super::time_arg;

type Outcome = Result<Value, Failure>;

const ISO_WEEK: &str = "invalid function signature for ISOWeek: second return value should be error; is int";
const ZONE: &str = "invalid function signature for Zone: second return value should be error; is int";
const ZONE_BOUNDS: &str =
    "invalid function signature for ZoneBounds: second return value should be error; is time.Time";

/// Methods of `time.Time`.
pub const TIME_METHODS: &[Row] = &[
    Row::new("Add", &[P::Duration], |_, args| Ok(Value::time(time_arg(args, 0).add(arg::int(args, 1))))),
    Row::new("AddDate", &[P::Int, P::Int, P::Int], add_date),
    Row::new("After", &[P::Time], |_, args| Ok(Value::Bool(compare(args).is_gt()))),
    Row::new("AppendBinary", &[P::Bytes], |_, args| Ok(appended(args, 1, &time_arg(args, 0).to_binary()))),
    Row::new("AppendFormat", &[P::Bytes, P::String], |_, args| {
        Ok(appended(args, 1, &time_arg(args, 0).format(arg::bytes(args, 2))))
    }),
    Row::new("AppendText", &[P::Bytes], |_, args| Ok(appended(args, 1, &rfc3339(args, "Time.MarshalText")?))),
    Row::new("Before", &[P::Time], |_, args| Ok(Value::Bool(compare(args).is_lt()))),
    Row::uncallable("Clock", &[], "function Clock has 3 return values; should be 1 or 2"),
    Row::new("Compare", &[P::Time], |_, args| Ok(Value::Int(compare(args) as i64))),
    Row::uncallable("Date", &[], "function Date has 3 return values; should be 1 or 2"),
    Row::new("Day", &[], |_, args| Ok(Value::Int(time_arg(args, 0).civil().day))),
    Row::new("Equal", &[P::Time], |_, args| Ok(Value::Bool(compare(args).is_eq()))),
    Row::new("Format", &[P::String], |_, args| Ok(Value::str(time_arg(args, 0).format(arg::bytes(args, 1))))),
    Row::new("GoString", &[], |_, args| Ok(Value::str(go_string(&time_arg(args, 0))))),
    Row::new("GobEncode", &[], marshal_binary),
    Row::new("Hour", &[], |_, args| Ok(Value::Int(time_arg(args, 0).civil().hour))),
    Row::uncallable("ISOWeek", &[], ISO_WEEK),
    Row::new("In", &[P::Location], in_location),
    Row::new("IsDST", &[], |_, args| Ok(Value::Bool(time_arg(args, 0).is_dst()))),
    Row::new("IsZero", &[], |_, args| Ok(Value::Bool(time_arg(args, 0).is_zero()))),
    Row::new("Local", &[], |_, args| Ok(Value::time(time_arg(args, 0).in_zone(Zone::Local)))),
    Row::new("Location", &[], |_, args| Ok(Value::Location(Str::from(time_arg(args, 0).zone().name())))),
    Row::new("MarshalBinary", &[], marshal_binary),
    Row::new("MarshalJSON", &[], marshal_json),
    Row::new("MarshalText", &[], |_, args| Ok(Value::Bytes(Str::new(rfc3339(args, "Time.MarshalText")?)))),
    Row::new("Minute", &[], |_, args| Ok(Value::Int(time_arg(args, 0).civil().minute))),
    Row::new("Month", &[], |_, args| Ok(Value::Month(time_arg(args, 0).civil().month))),
    Row::new("Nanosecond", &[], |_, args| Ok(Value::Int(time_arg(args, 0).nanosecond().into()))),
    Row::new("Round", &[P::Duration], |_, args| Ok(Value::time(time_arg(args, 0).round(arg::int(args, 1))))),
    Row::new("Second", &[], |_, args| Ok(Value::Int(time_arg(args, 0).civil().second))),
    Row::new("String", &[], |_, args| Ok(Value::str(time_arg(args, 0).to_string()))),
    Row::new("Sub", &[P::Time], |_, args| Ok(Value::Duration(time_arg(args, 0).since(&time_arg(args, 1))))),
    Row::new("Truncate", &[P::Duration], |_, args| Ok(Value::time(time_arg(args, 0).truncate(arg::int(args, 1))))),
    Row::new("UTC", &[], |_, args| Ok(Value::time(time_arg(args, 0).in_zone(Zone::Utc)))),
    Row::new("Unix", &[], |_, args| Ok(Value::Int64(time_arg(args, 0).unix()))),
    Row::new("UnixMicro", &[], |_, args| Ok(Value::Int64(time_arg(args, 0).unix_micros()))),
    Row::new("UnixMilli", &[], |_, args| Ok(Value::Int64(time_arg(args, 0).unix_millis()))),
    Row::new("UnixNano", &[], |_, args| Ok(Value::Int64(time_arg(args, 0).unix_nanos()))),
    Row::new("Weekday", &[], weekday),
    Row::new("Year", &[], |_, args| Ok(Value::Int(time_arg(args, 0).civil().year))),
    Row::new("YearDay", &[], |_, args| Ok(Value::Int(time_arg(args, 0).civil().year_day()))),
    Row::uncallable("Zone", &[], ZONE),
    Row::uncallable("ZoneBounds", &[], ZONE_BOUNDS),
];

/// Methods of `time.Duration`.
pub const DURATION_METHODS: &[Row] = &[
    Row::new("Abs", &[], |_, args| Ok(Value::Duration(arg::int(args, 0).saturating_abs()))),
    Row::new("Hours", &[], |_, args| Ok(Value::Float(in_units(args, 3600 * gotime::SECOND)))),
    Row::new("Microseconds", &[], |_, args| Ok(Value::Int64(arg::int(args, 0) / 1000))),
    Row::new("Milliseconds", &[], |_, args| Ok(Value::Int64(arg::int(args, 0) / 1_000_000))),
    Row::new("Minutes", &[], |_, args| Ok(Value::Float(in_units(args, 60 * gotime::SECOND)))),
    Row::new("Nanoseconds", &[], |_, args| Ok(Value::Int64(arg::int(args, 0)))),
    Row::new("Round", &[P::Duration], |_, args| {
        Ok(Value::Duration(gotime::round_duration(arg::int(args, 0), arg::int(args, 1))))
    }),
    Row::new("Seconds", &[], |_, args| Ok(Value::Float(in_units(args, gotime::SECOND)))),
    Row::new("String", &[], |_, args| Ok(Value::str(gotime::duration_string(arg::int(args, 0))))),
    Row::new("Truncate", &[P::Duration], truncate_duration),
];

/// Methods of `time.Month`.
pub const MONTH_METHODS: &[Row] =
    &[Row::new("String", &[], |_, args| Ok(Value::str(gotime::month_name(number(args)))))];

/// Methods of `time.Weekday`.
pub const WEEKDAY_METHODS: &[Row] =
    &[Row::new("String", &[], |_, args| Ok(Value::str(gotime::weekday_name(number(args)))))];

/// Methods of `*time.Location`.
pub const LOCATION_METHODS: &[Row] = &[Row::new("String", &[], |_, args| match args.first() {
    Some(Value::Location(name)) => Ok(Value::Str(name.clone())),
    _ => Ok(Value::str("UTC")),
})];

fn number(args: &[Value]) -> i64 {
    match args.first() {
        Some(Value::Month(number) | Value::Weekday(number)) => *number,
        _ => 0,
    }
}

fn compare(args: &[Value]) -> std::cmp::Ordering {
    time_arg(args, 0).compare(&time_arg(args, 1))
}

fn add_date(_env: &mut Env<'_>, args: &[Value]) -> Outcome {
    Ok(Value::time(time_arg(args, 0).add_date(arg::int(args, 1), arg::int(args, 2), arg::int(args, 3))))
}

fn weekday(_env: &mut Env<'_>, args: &[Value]) -> Outcome {
    Ok(Value::Weekday(i64::try_from(time_arg(args, 0).weekday()).unwrap_or(0)))
}

fn in_location(_env: &mut Env<'_>, args: &[Value]) -> Outcome {
    match args.get(1) {
        Some(Value::Location(name)) => {
            let zone = Zone::load(&name.to_lossy()).unwrap_or(Zone::Utc);
            Ok(Value::time(time_arg(args, 0).in_zone(zone)))
        }
        _ => Err(Failure::new("time: missing Location in call to Time.In")),
    }
}

fn appended(args: &[Value], at: usize, tail: &[u8]) -> Value {
    Value::Bytes(Str::new([arg::bytes(args, at), tail].concat()))
}

fn marshal_binary(_env: &mut Env<'_>, args: &[Value]) -> Outcome {
    Ok(Value::Bytes(Str::new(time_arg(args, 0).to_binary())))
}

fn marshal_json(_env: &mut Env<'_>, args: &[Value]) -> Outcome {
    let text = rfc3339(args, "Time.MarshalJSON")?;
    Ok(Value::Bytes(Str::new([b"\"", &text[..], b"\""].concat())))
}

/// RFC 3339 text; years that need more or less than four digits have none.
fn rfc3339(args: &[Value], method: &str) -> Result<Vec<u8>, Failure> {
    let time = time_arg(args, 0);
    if !(0..10_000).contains(&time.civil().year) {
        return Err(Failure::new(format!("{method}: year outside of range [0,9999]")));
    }
    Ok(time.format(b"2006-01-02T15:04:05.999999999Z07:00"))
}

/// Go source that makes this time, as `%#v` prints it.
fn go_string(time: &Time) -> String {
    let civil = time.civil();
    let month = match gotime::month_name(civil.month) {
        name if (1..=12).contains(&civil.month) => format!("time.{name}"),
        _ => civil.month.to_string(),
    };
    let zone = match time.zone() {
        Zone::Utc => "time.UTC".to_owned(),
        Zone::Local => "time.Local".to_owned(),
        other => format!("time.Location({:?})", other.name()),
    };
    format!(
        "time.Date({}, {month}, {}, {}, {}, {}, {}, {zone})",
        civil.year, civil.day, civil.hour, civil.minute, civil.second, civil.nanos
    )
}

#[expect(clippy::cast_precision_loss, reason = "Go's fractional units are floats")]
fn in_units(args: &[Value], unit: i64) -> f64 {
    let nanos = arg::int(args, 0);
    (nanos / unit) as f64 + (nanos % unit) as f64 / unit as f64
}

fn truncate_duration(_env: &mut Env<'_>, args: &[Value]) -> Outcome {
    let (nanos, unit) = (arg::int(args, 0), arg::int(args, 1));
    Ok(Value::Duration(if unit <= 0 { nanos } else { nanos - nanos % unit }))
}
