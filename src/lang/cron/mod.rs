//! Cron schedules of sync windows, in the dialect of robfig/cron v3's standard parser.
//!
//! Five fields or a descriptor (`@daily`, `@every 1h`), with an optional `TZ=` or `CRON_TZ=` before them. A schedule
//! without a zone of its own is read in the zone the caller gives. Times are cut to the second.

mod clock;
mod parse;

use super::duration::GoDuration;
use clock::Clock;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A parsed schedule.
#[derive(Debug, Clone)]
pub struct Schedule {
    when: When,
}

#[derive(Debug, Clone)]
enum When {
    /// Seconds between firings.
    Every(i64),
    Fields(Fields),
}

/// Bit sets of the moments that match; bit n stands for the value n.
#[derive(Debug, Clone)]
struct Fields {
    minute: u64,
    hour: u64,
    day_of_month: u64,
    month: u64,
    day_of_week: u64,
    /// Written in the schedule; absent, the caller's counts.
    zone: Option<TimeZone>,
}

/// Set beside a field's bits if it was given as `*` or `?` without a step.
const STAR: u64 = 1 << 63;

/// Why a text is no schedule; the text is robfig/cron's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CronError(String);

impl Schedule {
    /// Reads a schedule (`cron.ParseStandard`).
    ///
    /// # Errors
    /// robfig/cron's text, such as `expected exactly 5 fields, found 4: [* * * *]`.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        parse::schedule(text).map(|when| Self { when })
    }

    /// The first firing after `after`; nothing if there is none within five years (`Schedule.Next`).
    #[must_use]
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        // down to the whole second, also before the epoch
        let after = after.as_second() - i64::from(after.subsec_nanosecond() < 0);
        let next = match &self.when {
            When::Every(seconds) => after.checked_add(*seconds)?,
            When::Fields(fields) => fields.next(after, fields.zone.as_ref().unwrap_or(zone))?,
        };
        Timestamp::from_second(next).ok()
    }

    /// Whether a sync window of this schedule and length is open at `at`, both ends included.
    ///
    /// It is if the first firing strictly after `at - length - 1s` lies between then and `at` and its window has not
    /// ended. So a schedule that fires again before its window ends counts as closed for up to a second at each firing.
    #[must_use]
    pub fn is_active(&self, at: Timestamp, length: GoDuration, zone: &TimeZone) -> bool {
        let length = jiff::SignedDuration::from_nanos(length.as_nanos());
        let second = jiff::SignedDuration::from_secs(1);
        let from = at.checked_sub(length).and_then(|from| from.checked_sub(second));
        let firing = from.ok().and_then(|from| self.next(from, zone));
        let end = |firing: Timestamp| firing.checked_add(length).unwrap_or(Timestamp::MAX);
        firing.is_some_and(|firing| firing <= at && at <= end(firing))
    }
}

impl Fields {
    fn matches_day(&self, clock: &Clock<'_>) -> bool {
        let month = self.day_of_month & (1 << clock.day()) != 0;
        let week = self.day_of_week & (1 << clock.weekday()) != 0;
        if (self.day_of_month | self.day_of_week) & STAR != 0 {
            month && week
        } else {
            month || week
        }
    }

    /// Goes from field to field, largest first, and starts again whenever one wraps round.
    fn next(&self, after: i64, zone: &TimeZone) -> Option<i64> {
        // a field of which nothing matches (`,`) would only be noticed after five years of seconds
        if [self.minute, self.hour, self.month]
            .iter()
            .any(|bits| bits & !STAR == 0)
        {
            return None;
        }
        let mut clock = Clock::new(after + 1, zone)?;
        let last_year = clock.year() + 5;
        // whether the fields below the one that moves are already at their start
        let mut moved = false;
        while clock.year() <= last_year {
            if self.seek(&mut clock, &mut moved)? {
                return Some(clock.seconds());
            }
        }
        None
    }

    /// Moves to the next match within this year, month, day or hour; false if it wrapped. Nothing beyond all time.
    fn seek(&self, clock: &mut Clock<'_>, moved: &mut bool) -> Option<bool> {
        while self.month & (1 << clock.month()) == 0 {
            if !std::mem::replace(moved, true) {
                clock.set_start_of_month()?;
            }
            clock.add_month()?;
            if clock.month() == 1 {
                return Some(false);
            }
        }
        while !self.matches_day(clock) {
            if !std::mem::replace(moved, true) {
                clock.set_start_of_day()?;
            }
            clock.add_day()?;
            // where midnight does not exist the day begins an hour before or after
            let hour = clock.hour();
            if hour > 12 {
                clock.add_seconds(i64::from(24 - hour) * 3600)?;
            } else if hour != 0 {
                clock.add_seconds(-i64::from(hour) * 3600)?;
            }
            if clock.day() == 1 {
                return Some(false);
            }
        }
        while self.hour & (1 << clock.hour()) == 0 {
            if !std::mem::replace(moved, true) {
                clock.set_start_of_hour()?;
            }
            clock.add_seconds(3600)?;
            if clock.hour() == 0 {
                return Some(false);
            }
        }
        while self.minute & (1 << clock.minute()) == 0 {
            if !std::mem::replace(moved, true) {
                clock.cut_to_minute()?;
            }
            clock.add_seconds(60)?;
            if clock.minute() == 0 {
                return Some(false);
            }
        }
        while clock.second() != 0 {
            *moved = true;
            clock.add_seconds(1)?;
            if clock.second() == 0 {
                return Some(false);
            }
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests;
