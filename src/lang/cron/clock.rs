//! A moment in a zone, moved about as Go's `time` does.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// A moment and what clocks in the zone show then.
pub(super) struct Clock<'z> {
    seconds: i64,
    zone: &'z TimeZone,
    shown: DateTime,
}

impl<'z> Clock<'z> {
    pub(super) fn new(seconds: i64, zone: &'z TimeZone) -> Option<Self> {
        Some(Self {
            seconds,
            zone,
            shown: shown(seconds, zone)?,
        })
    }

    pub(super) fn seconds(&self) -> i64 {
        self.seconds
    }

    pub(super) fn year(&self) -> i16 {
        self.shown.year()
    }

    pub(super) fn month(&self) -> i8 {
        self.shown.month()
    }

    pub(super) fn day(&self) -> i8 {
        self.shown.day()
    }

    /// 0 for Sunday.
    pub(super) fn weekday(&self) -> i8 {
        self.shown.weekday().to_sunday_zero_offset()
    }

    pub(super) fn hour(&self) -> i8 {
        self.shown.hour()
    }

    pub(super) fn minute(&self) -> i8 {
        self.shown.minute()
    }

    pub(super) fn second(&self) -> i8 {
        self.shown.second()
    }

    pub(super) fn add_seconds(&mut self, seconds: i64) -> Option<()> {
        *self = Self::new(self.seconds + seconds, self.zone)?;
        Some(())
    }

    /// To the start of the minute counted from the epoch, whatever the zone's offset.
    pub(super) fn cut_to_minute(&mut self) -> Option<()> {
        self.add_seconds(-self.seconds.rem_euclid(60))
    }

    pub(super) fn set_start_of_hour(&mut self) -> Option<()> {
        self.set(
            self.shown.date(),
            self.shown.time().with().minute(0).second(0).build().ok()?,
        )
    }

    pub(super) fn set_start_of_day(&mut self) -> Option<()> {
        self.set(self.shown.date(), Time::midnight())
    }

    pub(super) fn set_start_of_month(&mut self) -> Option<()> {
        self.set(self.shown.date().first_of_month(), Time::midnight())
    }

    /// The same time a day later. Where that day was left out (Samoa, 2011) Go's rule gives the same moment again, and
    /// robfig/cron never ends; here a day's seconds are added instead.
    pub(super) fn add_day(&mut self) -> Option<()> {
        let before = self.seconds;
        self.set(self.shown.date().tomorrow().ok()?, self.shown.time())?;
        if self.seconds > before {
            Some(())
        } else {
            self.add_seconds(before - self.seconds + 86_400)
        }
    }

    /// The same day and time a month later; only used on days every month has.
    pub(super) fn add_month(&mut self) -> Option<()> {
        let date = self.shown.date();
        let (year, month) = if date.month() == 12 {
            (date.year() + 1, 1)
        } else {
            (date.year(), date.month() + 1)
        };
        // Go lets a day the month does not have run over into the next one
        let first = Date::new(year, month, 1).ok()?;
        let date = first
            .checked_add(jiff::Span::new().days(i64::from(date.day()) - 1))
            .ok()?;
        self.set(date, self.shown.time())
    }

    /// To the moment clocks show this. Where they show it twice or never, Go's rule decides: take the offset of the
    /// moment that has these figures in UTC, and then the offset in force at the moment this gives.
    fn set(&mut self, date: Date, time: Time) -> Option<()> {
        let as_utc = TimeZone::UTC
            .to_timestamp(DateTime::from_parts(date, time))
            .ok()?
            .as_second();
        let mut offset = offset(as_utc, self.zone)?;
        if offset != 0 {
            offset = self::offset(as_utc - offset, self.zone)?;
        }
        *self = Self::new(as_utc - offset, self.zone)?;
        Some(())
    }
}

/// Seconds east of UTC at a moment.
fn offset(seconds: i64, zone: &TimeZone) -> Option<i64> {
    let at = Timestamp::from_second(seconds).ok()?;
    Some(i64::from(zone.to_offset(at).seconds()))
}

fn shown(seconds: i64, zone: &TimeZone) -> Option<DateTime> {
    let at = Timestamp::from_second(seconds).ok()?;
    Some(zone.to_datetime(at))
}
