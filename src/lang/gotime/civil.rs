//! Days and seconds of the proleptic Gregorian calendar.

/// Date and time of day without a zone. Parts may be out of range on the way in; they carry over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year; 0 is the year before year 1.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: i64,
    /// Day of the month, from 1.
    pub day: i64,
    /// Hour, 0 to 23.
    pub hour: i64,
    /// Minute, 0 to 59.
    pub minute: i64,
    /// Second, 0 to 59.
    pub second: i64,
    /// Nanosecond within the second.
    pub nanos: u32,
}

impl Civil {
    /// Splits seconds since the epoch, already moved by the zone's offset.
    pub(super) fn from_seconds(seconds: i64, nanos: u32) -> Self {
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = date_of(days);
        Self {
            year,
            month,
            day,
            hour: rest / 3600,
            minute: rest % 3600 / 60,
            second: rest % 60,
            nanos,
        }
    }

    /// Seconds since the epoch as if this were UTC.
    pub(super) fn seconds(&self) -> i64 {
        let months = self.month.wrapping_sub(1);
        let year = self.year.wrapping_add(months.div_euclid(12));
        let days = days_to(year, months.rem_euclid(12) + 1).wrapping_add(self.day.wrapping_sub(1));
        days.wrapping_mul(86_400)
            .wrapping_add(self.hour.wrapping_mul(3600))
            .wrapping_add(self.minute.wrapping_mul(60))
            .wrapping_add(self.second)
    }

    /// Day of the year, 1 to 366.
    pub fn year_day(&self) -> i64 {
        days_to(self.year, self.month) + self.day - days_to(self.year, 1)
    }
}

/// Days from the epoch to the first of a month.
fn days_to(year: i64, month: i64) -> i64 {
    // Years that begin in March make the leap day the last one.
    let year = if month <= 2 { year.wrapping_sub(1) } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era.wrapping_mul(146_097).wrapping_add(day_of_era).wrapping_sub(719_468)
}

/// Year, month and day of a number of days since the epoch.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// True for years with 29 February.
pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Number of days of a month, 1 to 12.
pub(super) fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
