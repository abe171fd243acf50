//! Go's `time`: points in time, reference layouts (`2006-01-02`), zones.
//!
//! Local time keeps UTC's clock, as in the operator's image. Nothing here reads a clock; the present is always an argument.

mod civil;
mod format;
mod layout;
mod parse;
#[cfg(test)]
mod tests;
mod zone;

use std::cmp::Ordering;
use std::fmt;

pub use civil::Civil;
pub use parse::{ParseError, parse, parse_local};
pub use zone::Zone;

use crate::lang::duration::GoDuration;

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;

/// Seconds from 1 January of year 1 to the Unix epoch: Go's zero time lies so far before it.
const ZERO_TIME: i64 = -62_135_596_800;

/// English names of the months, January first.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// English names of the days of the week, Sunday first, as Go counts them.
pub const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// A point in time with the zone it is shown in (Go's `time.Time`).
/// Two times are equal, as with Go's `==`, when instant and zone are; [`Time::compare`] looks at the instant alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Seconds since the Unix epoch.
    seconds: i64,
    /// Nanoseconds within the second, below one billion.
    nanos: u32,
    zone: Zone,
}

impl Time {
    /// The time so many seconds and nanoseconds after the Unix epoch, in local time (Go's `time.Unix`).
    pub fn from_unix(seconds: i64, nanos: u32) -> Self {
        Self {
            seconds,
            nanos,
            zone: Zone::Local,
        }
    }

    /// Go's zero time: 1 January of year 1, midnight UTC.
    pub fn zero() -> Self {
        Self {
            seconds: ZERO_TIME,
            nanos: 0,
            zone: Zone::Utc,
        }
    }

    /// A date and time of day in a zone; out-of-range parts carry over as in Go's `time.Date`.
    pub fn from_civil(civil: &Civil, zone: Zone) -> Self {
        let wall = civil.seconds();
        let offset = match zone.offset(wall) {
            0 => 0,
            guess => zone.offset(wall.saturating_sub(i64::from(guess))),
        };
        Self {
            seconds: wall.saturating_sub(i64::from(offset)),
            nanos: civil.nanos,
            zone,
        }
    }

    /// The same point in time, shown in another zone.
    #[must_use]
    pub fn in_zone(&self, zone: Zone) -> Self {
        Self { zone, ..self.clone() }
    }

    /// Seconds since the Unix epoch.
    pub fn unix(&self) -> i64 {
        self.seconds
    }

    /// Nanoseconds since the Unix epoch; wraps for years far away, as in Go.
    pub fn unix_nanos(&self) -> i64 {
        self.seconds.wrapping_mul(SECOND).wrapping_add(i64::from(self.nanos))
    }

    /// Microseconds since the Unix epoch.
    pub fn unix_micros(&self) -> i64 {
        self.seconds
            .wrapping_mul(1_000_000)
            .wrapping_add(i64::from(self.nanos / 1000))
    }

    /// Milliseconds since the Unix epoch.
    pub fn unix_millis(&self) -> i64 {
        self.seconds
            .wrapping_mul(1000)
            .wrapping_add(i64::from(self.nanos / 1_000_000))
    }

    /// Nanoseconds within the second.
    pub fn nanosecond(&self) -> u32 {
        self.nanos
    }

    /// True for [`Time::zero`], in any zone.
    pub fn is_zero(&self) -> bool {
        self.seconds == ZERO_TIME && self.nanos == 0
    }

    /// The zone that this time is shown in.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Seconds east of UTC at this time.
    pub fn offset(&self) -> i32 {
        self.zone.offset(self.seconds)
    }

    /// Date and time of day in this time's zone.
    pub fn civil(&self) -> Civil {
        Civil::from_seconds(self.seconds.saturating_add(i64::from(self.offset())), self.nanos)
    }

    /// Day of the week in this time's zone, 0 for Sunday.
    pub fn weekday(&self) -> usize {
        let days = self.seconds.saturating_add(i64::from(self.offset())).div_euclid(86_400);
        usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0)
    }

    /// This time moved by a duration in nanoseconds (Go's `Add`).
    #[must_use]
    pub fn add(&self, nanos: i64) -> Self {
        let total = i64::from(self.nanos) + nanos % SECOND;
        let seconds = self
            .seconds
            .wrapping_add(nanos / SECOND)
            .wrapping_add(total.div_euclid(SECOND));
        let nanos = u32::try_from(total.rem_euclid(SECOND)).unwrap_or(0);
        Self {
            seconds,
            nanos,
            zone: self.zone.clone(),
        }
    }

    /// This time rounded down to a multiple of a duration since Go's zero time; unchanged unless it is positive.
    #[must_use]
    pub fn truncate(&self, unit: i64) -> Self {
        if unit <= 0 {
            self.clone()
        } else {
            self.add(-self.rest(unit))
        }
    }

    /// This time rounded to the nearest multiple of a duration since Go's zero time, halves up.
    #[must_use]
    pub fn round(&self, unit: i64) -> Self {
        if unit <= 0 {
            return self.clone();
        }
        let rest = self.rest(unit);
        if rest < unit - rest {
            self.add(-rest)
        } else {
            self.add(unit - rest)
        }
    }

    /// What is left of this time after whole multiples of a positive duration since Go's zero time.
    fn rest(&self, unit: i64) -> i64 {
        let seconds = i128::from(self.seconds) - i128::from(ZERO_TIME);
        let nanos = seconds * i128::from(SECOND) + i128::from(self.nanos);
        i64::try_from(nanos.rem_euclid(i128::from(unit))).unwrap_or(0)
    }

    /// This time moved by years, months and days on the calendar (Go's `AddDate`).
    #[must_use]
    pub fn add_date(&self, years: i64, months: i64, days: i64) -> Self {
        let mut civil = self.civil();
        civil.year = civil.year.wrapping_add(years);
        civil.month = civil.month.wrapping_add(months);
        civil.day = civil.day.wrapping_add(days);
        Self::from_civil(&civil, self.zone.clone())
    }

    /// Which of two times comes first, whatever their zones.
    pub fn compare(&self, other: &Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }

    /// True when clocks are put forward at this time, in its zone.
    pub fn is_dst(&self) -> bool {
        self.zone.is_dst(self.seconds)
    }

    /// The abbreviation of the zone at this time.
    pub fn zone_abbreviation(&self) -> String {
        self.zone.abbreviation(self.seconds)
    }

    /// The bytes of Go's `MarshalBinary`: version, seconds since year 1, nanoseconds, offset in minutes.
    pub fn to_binary(&self) -> Vec<u8> {
        let offset = self.offset();
        let minutes = if self.zone == Zone::Utc {
            -1
        } else {
            i16::try_from(offset / 60).unwrap_or(-1)
        };
        let seconds = i8::try_from(offset % 60).unwrap_or(0);
        let version = if self.zone != Zone::Utc && seconds != 0 { 2 } else { 1 };
        let mut bytes = vec![version];
        bytes.extend_from_slice(&self.seconds.wrapping_sub(ZERO_TIME).to_be_bytes());
        bytes.extend_from_slice(&self.nanos.to_be_bytes());
        bytes.extend_from_slice(&minutes.to_be_bytes());
        if version == 2 {
            bytes.extend_from_slice(&seconds.to_be_bytes());
        }
        bytes
    }

    /// The duration from another time to this one in nanoseconds, at the limits of 64 bits if it is longer.
    pub fn since(&self, earlier: &Self) -> i64 {
        let seconds = i128::from(self.seconds) - i128::from(earlier.seconds);
        let total = seconds * i128::from(SECOND) + i128::from(self.nanos) - i128::from(earlier.nanos);
        i64::try_from(total).unwrap_or(if total < 0 { i64::MIN } else { i64::MAX })
    }

    /// Text by a Go layout, such as `2006-01-02T15:04:05Z07:00`.
    pub fn format(&self, layout: &[u8]) -> Vec<u8> {
        format::format(self, layout)
    }
}

impl fmt::Display for Time {
    /// As Go's `String`: `2021-03-04 05:06:07.25 +0000 UTC`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.format(b"2006-01-02 15:04:05.999999999 -0700 MST");
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// A duration in nanoseconds as Go prints it: `1h2m3s`.
pub fn duration_string(nanos: i64) -> String {
    GoDuration::from_nanos(nanos).to_string()
}

/// The English name of a month, 1 to 12; others as Go prints them.
pub fn month_name(month: i64) -> String {
    numbered_name(&MONTHS, month.wrapping_sub(1)).map_or_else(|| format!("%!Month({month})"), str::to_owned)
}

/// The English name of a day of the week, 0 for Sunday; others as Go prints them.
pub fn weekday_name(day: i64) -> String {
    numbered_name(&WEEKDAYS, day).map_or_else(|| format!("%!Weekday({day})"), str::to_owned)
}

fn numbered_name(names: &[&'static str], number: i64) -> Option<&'static str> {
    usize::try_from(number)
        .ok()
        .and_then(|number| names.get(number).copied())
}

/// A duration rounded to the nearest multiple of a unit, halves away from zero (Go's `Duration.Round`).
pub fn round_duration(nanos: i64, unit: i64) -> i64 {
    if unit <= 0 {
        return nanos;
    }
    let rest = nanos % unit;
    if rest.unsigned_abs() < unit.unsigned_abs() - rest.unsigned_abs() {
        return nanos - rest;
    }
    let (whole, step) = (nanos - rest, if nanos < 0 { -unit } else { unit });
    whole.saturating_add(step)
}
