//! Writing a time by a layout.

use super::civil::Civil;
use super::layout::{OffsetForm, Piece, next_chunk};
use super::{MONTHS, Time, WEEKDAYS};

/// Writes a time by a layout; text of the layout that is no piece is copied.
pub(super) fn format(time: &Time, layout: &[u8]) -> Vec<u8> {
    let civil = time.civil();
    let mut output = Vec::with_capacity(layout.len() + 10);
    let mut rest = layout;
    loop {
        let chunk = next_chunk(rest);
        output.extend_from_slice(chunk.prefix);
        let Some((piece, _)) = chunk.piece else { return output };
        write_piece(&mut output, piece, time, &civil);
        rest = chunk.suffix;
    }
}

fn write_piece(output: &mut Vec<u8>, piece: Piece, time: &Time, civil: &Civil) {
    let hour12 = match civil.hour % 12 {
        0 => 12,
        hour => hour,
    };
    match piece {
        Piece::Year => number(output, civil.year.max(0) % 100, 2),
        Piece::LongYear => number(output, civil.year, 4),
        Piece::Month => output.extend_from_slice(&month_name(civil).as_bytes()[..3]),
        Piece::LongMonth => output.extend_from_slice(month_name(civil).as_bytes()),
        Piece::NumMonth => number(output, civil.month, 0),
        Piece::ZeroMonth => number(output, civil.month, 2),
        Piece::WeekDay => output.extend_from_slice(&WEEKDAYS[time.weekday()].as_bytes()[..3]),
        Piece::LongWeekDay => output.extend_from_slice(WEEKDAYS[time.weekday()].as_bytes()),
        Piece::Day => number(output, civil.day, 0),
        Piece::UnderDay => padded(output, civil.day, 2),
        Piece::ZeroDay => number(output, civil.day, 2),
        Piece::UnderYearDay => padded(output, civil.year_day(), 3),
        Piece::ZeroYearDay => number(output, civil.year_day(), 3),
        Piece::Hour => number(output, civil.hour, 2),
        Piece::Hour12 => number(output, hour12, 0),
        Piece::ZeroHour12 => number(output, hour12, 2),
        Piece::Minute => number(output, civil.minute, 0),
        Piece::ZeroMinute => number(output, civil.minute, 2),
        Piece::Second => number(output, civil.second, 0),
        Piece::ZeroSecond => number(output, civil.second, 2),
        Piece::UpperPm => output.extend_from_slice(if civil.hour >= 12 { b"PM" } else { b"AM" }),
        Piece::LowerPm => output.extend_from_slice(if civil.hour >= 12 { b"pm" } else { b"am" }),
        Piece::ZoneName => zone_name(output, time),
        Piece::Offset(form) => offset(output, time.offset(), form),
        Piece::Fraction {
            digits,
            separator,
            trim,
        } => fraction(output, civil.nanos, digits, separator, trim),
    }
}

fn month_name(civil: &Civil) -> &'static str {
    MONTHS[usize::try_from(civil.month - 1).unwrap_or(0)]
}

fn number(output: &mut Vec<u8>, value: i64, width: usize) {
    if value < 0 {
        output.push(b'-');
    }
    output.extend_from_slice(format!("{:0width$}", value.unsigned_abs()).as_bytes());
}

fn padded(output: &mut Vec<u8>, value: i64, width: usize) {
    output.extend_from_slice(format!("{value:width$}").as_bytes());
}

fn zone_name(output: &mut Vec<u8>, time: &Time) {
    let name = time.zone().abbreviation(time.unix());
    if !name.is_empty() {
        output.extend_from_slice(name.as_bytes());
        return;
    }
    // No abbreviation: Go falls back to hours and minutes.
    offset(
        output,
        time.offset(),
        OffsetForm {
            z: false,
            colon: false,
            minutes: true,
            seconds: false,
        },
    );
}

fn offset(output: &mut Vec<u8>, seconds: i32, form: OffsetForm) {
    if form.z && seconds == 0 {
        output.push(b'Z');
        return;
    }
    // The sign is that of the whole minutes, as in Go.
    let minutes = seconds / 60;
    output.push(if minutes < 0 { b'-' } else { b'+' });
    number(output, i64::from(minutes.abs() / 60), 2);
    if form.colon {
        output.push(b':');
    }
    if form.minutes {
        number(output, i64::from(minutes.abs() % 60), 2);
    }
    if form.seconds {
        if form.colon {
            output.push(b':');
        }
        number(output, i64::from(seconds.abs() % 60), 2);
    }
}

fn fraction(output: &mut Vec<u8>, nanos: u32, digits: usize, separator: u8, trim: bool) {
    if trim && (digits == 0 || nanos == 0) {
        return;
    }
    let all = format!("{nanos:09}");
    let kept = &all[..digits.min(9)];
    let kept = if trim { kept.trim_end_matches('0') } else { kept };
    if trim && kept.is_empty() {
        return;
    }
    output.push(separator);
    output.extend_from_slice(kept.as_bytes());
}
