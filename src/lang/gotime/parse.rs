//! Reading a time by a layout, with Go's rules and Go's messages.

use std::fmt;

use super::civil::{Civil, days_in, is_leap};
use super::layout::{OffsetForm, Piece, next_chunk};
use super::{MONTHS, Time, WEEKDAYS, Zone};

/// Why a text does not fit a layout.
///
/// Go's message repeats the text; `Display` leaves it out.
#[derive(Clone, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    masked: String,
}

impl ParseError {
    /// The message as Go prints it, with the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn mismatch(layout: &str, value: &str, element: &[u8], rest: &[u8]) -> Self {
        let (layout, element) = (quote(layout.as_bytes()), quote(element));
        Self {
            text: format!(
                "parsing time {} as {layout}: cannot parse {} as {element}",
                quote(value.as_bytes()),
                quote(rest)
            ),
            masked: format!("parsing time as {layout}: cannot parse as {element}"),
        }
    }

    fn message(value: &str, message: &str) -> Self {
        Self {
            text: format!("parsing time {}: {message}", quote(value.as_bytes())),
            masked: format!("parsing time: {message}"),
        }
    }

    fn extra_text(value: &str, rest: &[u8]) -> Self {
        Self {
            text: format!("parsing time {}: extra text: {}", quote(value.as_bytes()), quote(rest)),
            masked: "parsing time: extra text".to_owned(),
        }
    }
}

impl fmt::Debug for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParseError({})", self.masked)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked)
    }
}

impl std::error::Error for ParseError {}

/// A piece could not be read.
enum Bad {
    /// The text does not look like the piece.
    Shape,
    /// It does, but the number is too large; names the part.
    Range(&'static str),
}

type Taken<T> = Result<T, Bad>;

/// Reads a time by a layout; parts that the layout lacks are zero or one. Without a zone the time is UTC.
///
/// # Errors
/// With Go's message, such as `parsing time "x" as "2006": cannot parse "x" as "2006"`.
pub fn parse(layout: &str, value: &str) -> Result<Time, ParseError> {
    parse_in(layout, value, Zone::Utc)
}

/// As [`parse`], but a text without a zone is in local time.
///
/// # Errors
/// As [`parse`].
pub fn parse_local(layout: &str, value: &str) -> Result<Time, ParseError> {
    parse_in(layout, value, Zone::Local)
}

fn parse_in(layout: &str, value: &str, zone: Zone) -> Result<Time, ParseError> {
    let mut parts = Parts::default();
    let mut rest_layout = layout.as_bytes();
    let mut rest = value.as_bytes();
    loop {
        let chunk = next_chunk(rest_layout);
        rest = skip(rest, chunk.prefix).map_err(|left| ParseError::mismatch(layout, value, chunk.prefix, left))?;
        let Some((piece, text)) = chunk.piece else {
            if !rest.is_empty() {
                return Err(ParseError::extra_text(value, rest));
            }
            break;
        };
        rest_layout = chunk.suffix;
        let hold = rest;
        parts.take(piece, &mut rest, rest_layout).map_err(|bad| match bad {
            Bad::Shape => ParseError::mismatch(layout, value, text, hold),
            Bad::Range(part) => ParseError::message(value, &format!("{part} out of range")),
        })?;
    }
    parts
        .finish(zone)
        .map_err(|message| ParseError::message(value, message))
}

/// What has been read so far.
#[derive(Default)]
struct Parts {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: u32,
    pm: bool,
    am: bool,
    utc: bool,
    offset: Option<i32>,
    zone_name: Option<String>,
}

impl Parts {
    fn take(&mut self, piece: Piece, rest: &mut &[u8], layout: &[u8]) -> Taken<()> {
        match piece {
            Piece::Year | Piece::LongYear => self.take_year(piece, rest)?,
            Piece::Month => self.month = Some(name(&MONTHS, 3, rest)?),
            Piece::LongMonth => self.month = Some(name(&MONTHS, usize::MAX, rest)?),
            Piece::NumMonth | Piece::ZeroMonth => {
                self.month = Some(in_range(two_digits(rest, piece == Piece::ZeroMonth)?, 1, 12, "month")?);
            }
            Piece::WeekDay => drop(name(&WEEKDAYS, 3, rest)?),
            Piece::LongWeekDay => drop(name(&WEEKDAYS, usize::MAX, rest)?),
            Piece::Day | Piece::UnderDay | Piece::ZeroDay => {
                skip_blanks(rest, usize::from(piece == Piece::UnderDay));
                self.day = Some(two_digits(rest, piece == Piece::ZeroDay)?);
            }
            Piece::UnderYearDay | Piece::ZeroYearDay => {
                skip_blanks(rest, if piece == Piece::UnderYearDay { 2 } else { 0 });
                self.year_day = Some(three_digits(rest, piece == Piece::ZeroYearDay)?);
            }
            Piece::Hour => self.hour = in_range(two_digits(rest, false)?, 0, 23, "hour")?,
            Piece::Hour12 | Piece::ZeroHour12 => {
                self.hour = in_range(two_digits(rest, piece == Piece::ZeroHour12)?, 0, 12, "hour")?;
            }
            Piece::Minute | Piece::ZeroMinute => {
                self.minute = in_range(two_digits(rest, piece == Piece::ZeroMinute)?, 0, 59, "minute")?;
            }
            Piece::Second | Piece::ZeroSecond => self.take_second(piece, rest, layout)?,
            Piece::UpperPm => self.take_half(rest, b"PM", b"AM")?,
            Piece::LowerPm => self.take_half(rest, b"pm", b"am")?,
            Piece::ZoneName => self.take_zone_name(rest)?,
            Piece::Offset(form) => self.take_offset(form, rest)?,
            Piece::Fraction { digits, trim, .. } => self.take_fraction(digits, trim, rest)?,
        }
        Ok(())
    }

    fn take_year(&mut self, piece: Piece, rest: &mut &[u8]) -> Taken<()> {
        let width = if piece == Piece::Year { 2 } else { 4 };
        let digits = rest.get(..width).ok_or(Bad::Shape)?;
        if piece == Piece::LongYear && !digits[0].is_ascii_digit() {
            return Err(Bad::Shape);
        }
        let year = signed_number(digits)?;
        *rest = &rest[width..];
        self.year = match (piece, year) {
            (Piece::Year, 69..) => year + 1900,
            (Piece::Year, _) => year + 2000,
            _ => year,
        };
        Ok(())
    }

    fn take_second(&mut self, piece: Piece, rest: &mut &[u8], layout: &[u8]) -> Taken<()> {
        self.second = in_range(two_digits(rest, piece == Piece::ZeroSecond)?, 0, 59, "second")?;
        // A fraction is read even when the layout has none.
        let fraction_follows = matches!(rest, [b'.' | b',', b'0'..=b'9', ..]);
        if fraction_follows && !matches!(next_chunk(layout).piece, Some((Piece::Fraction { .. }, _))) {
            let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            self.nanos = nanoseconds(rest, digits + 1)?;
            *rest = &rest[digits + 1..];
        }
        Ok(())
    }

    fn take_half(&mut self, rest: &mut &[u8], pm: &[u8], am: &[u8]) -> Taken<()> {
        if rest.starts_with(pm) {
            self.pm = true;
        } else if rest.starts_with(am) {
            self.am = true;
        } else {
            return Err(Bad::Shape);
        }
        *rest = &rest[2..];
        Ok(())
    }

    fn take_zone_name(&mut self, rest: &mut &[u8]) -> Taken<()> {
        if rest.starts_with(b"UTC") {
            self.utc = true;
            *rest = &rest[3..];
            return Ok(());
        }
        let length = zone_name_length(rest).ok_or(Bad::Shape)?;
        self.zone_name = Some(String::from_utf8_lossy(&rest[..length]).into_owned());
        *rest = &rest[length..];
        Ok(())
    }

    fn take_offset(&mut self, form: OffsetForm, rest: &mut &[u8]) -> Taken<()> {
        if form.z && rest.first() == Some(&b'Z') {
            self.utc = true;
            *rest = &rest[1..];
            return Ok(());
        }
        let gap = usize::from(form.colon);
        let parts = 1 + usize::from(form.minutes) + usize::from(form.seconds);
        let length = 1 + 2 * parts + gap * (parts - 1);
        let text = rest.get(..length).ok_or(Bad::Shape)?;
        if form.colon && (1..parts).any(|part| text[3 * part] != b':') {
            return Err(Bad::Shape);
        }
        let part = |index: usize| -> Taken<i64> {
            if index >= parts {
                return Ok(0);
            }
            two_digits(&mut &text[1 + index * (2 + gap)..], true)
        };
        // Go allows 24 hours, 60 minutes and 60 seconds here, and looks at the range before the shape.
        let hours = in_range(part(0)?, 0, 24, "time zone offset hour")?;
        let minutes = in_range(part(1)?, 0, 60, "time zone offset minute")?;
        let seconds = in_range(part(2)?, 0, 60, "time zone offset second")?;
        let total = i32::try_from((hours * 60 + minutes) * 60 + seconds).map_err(|_| Bad::Shape)?;
        self.offset = Some(match text[0] {
            b'+' => total,
            b'-' => -total,
            _ => return Err(Bad::Shape),
        });
        *rest = &rest[length..];
        Ok(())
    }

    fn take_fraction(&mut self, digits: usize, trim: bool, rest: &mut &[u8]) -> Taken<()> {
        let length = if trim {
            if !matches!(rest, [b'.' | b',', b'0'..=b'9', ..]) {
                return Ok(());
            }
            1 + rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count()
        } else {
            digits + 1
        };
        if rest.len() < length {
            return Err(Bad::Shape);
        }
        self.nanos = nanoseconds(rest, length)?;
        *rest = &rest[length..];
        Ok(())
    }

    fn finish(mut self, zone: Zone) -> Result<Time, &'static str> {
        if self.pm && self.hour < 12 {
            self.hour += 12;
        } else if self.am && self.hour == 12 {
            self.hour = 0;
        }
        let (month, day) = self.date()?;
        if day < 1 || day > days_in(month, self.year) {
            return Err("day out of range");
        }
        let civil = Civil {
            year: self.year,
            month,
            day,
            hour: self.hour,
            minute: self.minute,
            second: self.second,
            nanos: self.nanos,
        };
        Ok(Time::from_civil(&civil, self.zone(zone)))
    }

    fn date(&self) -> Result<(i64, i64), &'static str> {
        let Some(mut year_day) = self.year_day else {
            return Ok((self.month.unwrap_or(1), self.day.unwrap_or(1)));
        };
        let leap_day = is_leap(self.year) && year_day == 60;
        if is_leap(self.year) && year_day > 60 {
            year_day -= 1;
        }
        if !(1..=365).contains(&year_day) {
            return Err("day-of-year out of range");
        }
        let (mut month, mut day) = (2, 29);
        if !leap_day {
            (month, day) = (1, year_day);
            // A year without leap day has 28 days in February.
            while day > days_in(month, 1) {
                day -= days_in(month, 1);
                month += 1;
            }
        }
        if self.month.is_some_and(|given| given != month) {
            return Err("day-of-year does not match month");
        }
        if self.day.is_some_and(|given| given != day) {
            return Err("day-of-year does not match day");
        }
        Ok((month, day))
    }

    fn zone(&self, unnamed: Zone) -> Zone {
        if self.utc {
            return Zone::Utc;
        }
        match (self.offset, &self.zone_name) {
            (None, None) => unnamed,
            (Some(0), None) => Zone::Local,
            (Some(offset), name) => Zone::Fixed {
                name: name.clone().unwrap_or_default(),
                offset,
            },
            (None, Some(name)) => Zone::Fixed {
                name: name.clone(),
                offset: gmt_offset(name),
            },
        }
    }
}

/// `GMT+3` carries its offset, every other abbreviation is unknown and counts as UTC.
fn gmt_offset(name: &str) -> i32 {
    name.strip_prefix("GMT")
        .and_then(|hours| hours.parse::<i32>().ok())
        .map_or(0, |hours| hours * 3600)
}

/// Skips literal text; a blank stands for any number of blanks. Gives back what is left on a mismatch.
fn skip<'v>(mut value: &'v [u8], mut prefix: &[u8]) -> Result<&'v [u8], &'v [u8]> {
    while let Some((&wanted, rest)) = prefix.split_first() {
        if wanted == b' ' {
            if value.first().is_some_and(|&byte| byte != b' ') {
                return Err(value);
            }
            prefix = trim_blanks(prefix);
            value = trim_blanks(value);
            continue;
        }
        if value.first() != Some(&wanted) {
            return Err(value);
        }
        prefix = rest;
        value = &value[1..];
    }
    Ok(value)
}

fn trim_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|&&byte| byte == b' ').count();
    &text[blanks..]
}

fn skip_blanks(rest: &mut &[u8], most: usize) {
    let blanks = rest.iter().take(most).take_while(|&&byte| byte == b' ').count();
    *rest = &rest[blanks..];
}

/// Reads one of some names, cut to a length, without regard to ASCII case; gives its number from 1.
fn name(names: &[&str], length: usize, rest: &mut &[u8]) -> Taken<i64> {
    for (number, name) in (1..).zip(names) {
        let name = &name.as_bytes()[..length.min(name.len())];
        if rest
            .get(..name.len())
            .is_some_and(|text| text.eq_ignore_ascii_case(name))
        {
            *rest = &rest[name.len()..];
            return Ok(number);
        }
    }
    Err(Bad::Shape)
}

/// One or two digits; exactly two when `fixed`.
fn two_digits(rest: &mut &[u8], fixed: bool) -> Taken<i64> {
    let (value, length) = match **rest {
        [tens @ b'0'..=b'9', units @ b'0'..=b'9', ..] => (i64::from(tens - b'0') * 10 + i64::from(units - b'0'), 2),
        [digit @ b'0'..=b'9', ..] if !fixed => (i64::from(digit - b'0'), 1),
        _ => return Err(Bad::Shape),
    };
    *rest = &rest[length..];
    Ok(value)
}

/// One to three digits; exactly three when `fixed`.
fn three_digits(rest: &mut &[u8], fixed: bool) -> Taken<i64> {
    let length = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 || (fixed && length != 3) {
        return Err(Bad::Shape);
    }
    let value = rest[..length]
        .iter()
        .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    *rest = &rest[length..];
    Ok(value)
}

/// A decimal number with an optional sign, as Go's internal `atoi` takes it.
fn signed_number(text: &[u8]) -> Taken<i64> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', digits)) => (true, digits),
        Some((b'+', digits)) => (false, digits),
        _ => (false, text),
    };
    // At most nine digits come here; none at all count as zero.
    let value = digits.iter().try_fold(0, |value: i64, digit| {
        digit.is_ascii_digit().then(|| value * 10 + i64::from(digit - b'0'))
    });
    value
        .map(|value| if negative { -value } else { value })
        .ok_or(Bad::Shape)
}

fn in_range(value: i64, low: i64, high: i64, part: &'static str) -> Taken<i64> {
    if (low..=high).contains(&value) {
        Ok(value)
    } else {
        Err(Bad::Range(part))
    }
}

/// The nanoseconds of `.123` in the first so many bytes; digits beyond the ninth are dropped.
fn nanoseconds(text: &[u8], length: usize) -> Taken<u32> {
    if !matches!(text.first(), Some(b'.' | b',')) {
        return Err(Bad::Shape);
    }
    let digits = &text[1..length.min(10)];
    let value = signed_number(digits)?;
    let value = u32::try_from(value).map_err(|_| Bad::Range("fractional second"))?;
    Ok((digits.len()..9).fold(value, |value, _| value * 10))
}

/// How many bytes here look like an abbreviation of a zone.
fn zone_name_length(text: &[u8]) -> Option<usize> {
    if text.len() < 3 {
        return None;
    }
    if text.starts_with(b"ChST") || text.starts_with(b"MeST") {
        return Some(4);
    }
    if text.starts_with(b"GMT") {
        return Some(3 + signed_offset_length(&text[3..]).unwrap_or(0));
    }
    if matches!(text[0], b'+' | b'-') {
        return signed_offset_length(text);
    }
    match text.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count() {
        5 if text[4] == b'T' => Some(5),
        4 if text[3] == b'T' || text.starts_with(b"WITA") => Some(4),
        3 => Some(3),
        _ => None,
    }
}

fn signed_offset_length(text: &[u8]) -> Option<usize> {
    if !matches!(text.first(), Some(b'+' | b'-')) {
        return None;
    }
    let digits = text[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let hours: u64 = std::str::from_utf8(&text[1..=digits]).ok()?.parse().ok()?;
    (hours <= 23).then_some(digits + 1)
}

/// Quotes as Go's time package does: control and non-ASCII bytes in hexadecimal.
fn quote(text: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for &byte in text {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..=b'\x7f' => quoted.push(char::from(byte)),
            _ => {
                quoted.push_str("\\x");
                for digit in [byte >> 4, byte & 0x0f] {
                    quoted.extend(char::from_digit(digit.into(), 16));
                }
            }
        }
    }
    quoted.push('"');
    quoted
}
