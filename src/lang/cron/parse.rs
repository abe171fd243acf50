//! Reading a schedule.

use super::{CronError, Fields, STAR, When};
use crate::lang::duration::GoDuration;
use crate::lang::number::atoi;
use jiff::tz::TimeZone;

/// The values a field may take, and their names.
struct Bounds {
    min: u64,
    max: u64,
    names: &'static [(&'static str, u64)],
}

const MINUTE: Bounds = Bounds {
    min: 0,
    max: 59,
    names: &[],
};
const HOUR: Bounds = Bounds {
    min: 0,
    max: 23,
    names: &[],
};
const DAY_OF_MONTH: Bounds = Bounds {
    min: 1,
    max: 31,
    names: &[],
};
const MONTH: Bounds = Bounds {
    min: 1,
    max: 12,
    names: &[
        ("jan", 1),
        ("feb", 2),
        ("mar", 3),
        ("apr", 4),
        ("may", 5),
        ("jun", 6),
        ("jul", 7),
        ("aug", 8),
        ("sep", 9),
        ("oct", 10),
        ("nov", 11),
        ("dec", 12),
    ],
};
const DAY_OF_WEEK: Bounds = Bounds {
    min: 0,
    max: 6,
    names: &[
        ("sun", 0),
        ("mon", 1),
        ("tue", 2),
        ("wed", 3),
        ("thu", 4),
        ("fri", 5),
        ("sat", 6),
    ],
};

impl Bounds {
    const fn all(&self) -> u64 {
        bits(self.min, self.max, 1) | STAR
    }
}

fn error<T>(text: String) -> Result<T, CronError> {
    Err(CronError(text))
}

pub(super) fn schedule(text: &str) -> Result<When, CronError> {
    if text.is_empty() {
        return error("empty spec string".to_owned());
    }
    let (zone, text) = zone(text)?;
    if text.starts_with('@') {
        return descriptor(text, zone);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day_of_month, month, day_of_week] = fields[..] else {
        return error(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    };
    Ok(When::Fields(Fields {
        minute: field(minute, &MINUTE)?,
        hour: field(hour, &HOUR)?,
        day_of_month: field(day_of_month, &DAY_OF_MONTH)?,
        month: field(month, &MONTH)?,
        day_of_week: field(day_of_week, &DAY_OF_WEEK)?,
        zone,
    }))
}

/// Takes a `TZ=` or `CRON_TZ=` off the front.
fn zone(text: &str) -> Result<(Option<TimeZone>, &str), CronError> {
    let Some(rest) = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ=")) else {
        return Ok((None, text));
    };
    // robfig/cron panics if nothing follows the zone
    let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    Ok((load(name)?, rest.trim()))
}

/// Go's `time.LoadLocation`: empty and `UTC` are UTC, `Local` is the caller's zone; names are case-sensitive.
fn load(name: &str) -> Result<Option<TimeZone>, CronError> {
    match name {
        "" | "UTC" => return Ok(Some(TimeZone::UTC)),
        "Local" => return Ok(None),
        _ => {}
    }
    if name.contains("..") || name.starts_with(['/', '\\']) {
        return error(format!("provided bad location {name}: time: invalid location name"));
    }
    match jiff::tz::db().get(name) {
        Ok(zone) if zone.iana_name() == Some(name) => Ok(Some(zone)),
        _ => error(format!("provided bad location {name}: unknown time zone {name}")),
    }
}

fn descriptor(text: &str, zone: Option<TimeZone>) -> Result<When, CronError> {
    if let Some(duration) = text.strip_prefix("@every ") {
        return match GoDuration::parse(duration) {
            // whole seconds, one at least
            Ok(duration) => Ok(When::Every((duration.as_nanos() / 1_000_000_000).max(1))),
            Err(e) => error(format!("failed to parse duration {text}: {e}")),
        };
    }
    let mut fields = Fields {
        minute: 1,
        hour: 1,
        day_of_month: DAY_OF_MONTH.all(),
        month: MONTH.all(),
        day_of_week: DAY_OF_WEEK.all(),
        zone,
    };
    match text {
        "@yearly" | "@annually" => (fields.day_of_month, fields.month) = (1 << 1, 1 << 1),
        "@monthly" => fields.day_of_month = 1 << 1,
        "@weekly" => fields.day_of_week = 1,
        "@daily" | "@midnight" => {}
        "@hourly" => fields.hour = HOUR.all(),
        _ => return error(format!("unrecognized descriptor: {text}")),
    }
    Ok(When::Fields(fields))
}

/// A list of ranges.
fn field(text: &str, bounds: &Bounds) -> Result<u64, CronError> {
    text.split(',')
        .filter(|part| !part.is_empty())
        .try_fold(0, |bits, part| Ok(bits | range(part, bounds)?))
}

/// `*`, `?`, `n`, `n-m`, each with an optional `/step`.
fn range(text: &str, bounds: &Bounds) -> Result<u64, CronError> {
    let parts: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = parts[0].split('-').collect();
    let star = matches!(ends[0], "*" | "?");
    let (start, mut end) = match ends[..] {
        _ if star => (bounds.min, bounds.max),
        [only] => {
            let value = number_or_name(only, bounds)?;
            (value, value)
        }
        [low, high] => (number_or_name(low, bounds)?, number_or_name(high, bounds)?),
        _ => {
            number_or_name(ends[0], bounds)?;
            return error(format!("too many hyphens: {text}"));
        }
    };
    let step = match parts[..] {
        [_] => 1,
        [_, step] => number(step)?,
        _ => return error(format!("too many slashes: {text}")),
    };
    // `n/step` goes on to the maximum
    if parts.len() == 2 && ends.len() == 1 {
        end = bounds.max;
    }
    check(start, end, step, bounds, text)?;
    let star = if star && step == 1 { STAR } else { 0 };
    Ok(bits(start, end, step) | star)
}

fn check(start: u64, end: u64, step: u64, bounds: &Bounds, text: &str) -> Result<(), CronError> {
    if start < bounds.min {
        return error(format!(
            "beginning of range ({start}) below minimum ({}): {text}",
            bounds.min
        ));
    }
    if end > bounds.max {
        return error(format!("end of range ({end}) above maximum ({}): {text}", bounds.max));
    }
    if start > end {
        return error(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return error(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u64, CronError> {
    let lower = text.to_lowercase();
    match bounds.names.iter().find(|(name, _)| *name == lower) {
        Some((_, value)) => Ok(*value),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, CronError> {
    match atoi(text) {
        Ok(value) => u64::try_from(value).or_else(|_| error(format!("negative number ({value}) not allowed: {text}"))),
        Err(e) => error(format!("failed to parse int from {text}: {e}")),
    }
}

/// The bits from `min` to `max` in steps; both are below 60.
const fn bits(min: u64, max: u64, step: u64) -> u64 {
    let mut bits = 0;
    let mut at = min;
    while at <= max {
        bits |= 1 << at;
        at = at.saturating_add(step);
    }
    bits
}
