//! Go durations: `time.ParseDuration`, `Duration.String`, and our own flags that also take days.
//!
//! ESO's `refreshInterval`, sync windows and timeouts are Go durations (`1h30m`, `100ms`); the API type is
//! `metav1.Duration`, whose text form is the same. Nanoseconds in a signed 64-bit integer, as in Go.

use std::fmt;
use std::fmt::Write as _;

/// A span of time in nanoseconds, with Go's range and printing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GoDuration(i64);

/// Why a text is not a duration. The text is Go's, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DurationError(String);

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOSECOND: u64 = 1;
const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// One more than the largest magnitude a positive duration can have.
const OVERFLOW: u64 = 1 << 63;

impl GoDuration {
    /// No time at all; prints `0s`.
    pub const ZERO: Self = Self(0);

    /// From a count of nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// From a count of seconds; saturates at Go's range (about 292 years).
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SECOND))
    }

    /// The count of nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The count of seconds as a fraction, as Go's `Seconds()`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "Go's own rounding; both parts are below 2^53")]
    pub fn as_secs_f64(self) -> f64 {
        (self.0 / NANOS_PER_SECOND) as f64 + (self.0 % NANOS_PER_SECOND) as f64 / 1e9
    }

    /// The same span as the standard library's type; negative spans become zero.
    #[must_use]
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }

    /// Reads a Go duration (`time.ParseDuration`): `-1.5h`, `300ms`, `1h2m3s`, `0`.
    ///
    /// # Errors
    /// Go's own texts: `time: invalid duration "x"`, `time: missing unit in duration "1"`,
    /// `time: unknown unit "d" in duration "1d"`.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        parse_with(text, go_unit)
    }

    /// Reads a duration of the plugin's own flags: a Go duration whose units also include `d` (24 hours).
    ///
    /// # Errors
    /// As [`GoDuration::parse`].
    pub fn parse_with_days(text: &str) -> Result<Self, DurationError> {
        parse_with(text, |unit| if unit == "d" { Some(DAY) } else { go_unit(unit) })
    }
}

fn go_unit(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => NANOSECOND,
        // U+00B5 is the micro sign, U+03BC the Greek letter; Go takes both
        "us" | "\u{b5}s" | "\u{3bc}s" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    })
}

fn parse_with(text: &str, unit_of: impl Fn(&str) -> Option<u64>) -> Result<GoDuration, DurationError> {
    let invalid = || DurationError(format!("time: invalid duration {}", quote(text)));
    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(GoDuration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, after) = Number::read(rest).ok_or_else(invalid)?;
        let end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        if name.is_empty() {
            return Err(DurationError(format!("time: missing unit in duration {}", quote(text))));
        }
        let unit = unit_of(name).ok_or_else(|| {
            DurationError(format!(
                "time: unknown unit {} in duration {}",
                quote(name),
                quote(text)
            ))
        })?;
        let part = number.times(unit).ok_or_else(invalid)?;
        // twice 2^63 wraps round to zero, which Go takes for no time at all
        total = total.wrapping_add(part);
        if total > OVERFLOW {
            return Err(invalid());
        }
        rest = after;
    }
    signed(total, negative).ok_or_else(invalid)
}

fn signed(total: u64, negative: bool) -> Option<GoDuration> {
    if negative {
        return 0i64.checked_sub_unsigned(total).map(GoDuration);
    }
    i64::try_from(total).ok().map(GoDuration)
}

/// One `12.34` of a duration: whole part, and the fraction as `fraction / scale`.
struct Number {
    whole: u64,
    fraction: u64,
    scale: f64,
}

impl Number {
    fn read(text: &str) -> Option<(Self, &str)> {
        let bytes = text.as_bytes();
        let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
        let mut whole: u64 = 0;
        for b in &bytes[..digits] {
            if whole > OVERFLOW / 10 {
                return None;
            }
            whole = whole * 10 + u64::from(b - b'0');
            if whole > OVERFLOW {
                return None;
            }
        }
        if bytes.get(digits) != Some(&b'.') {
            return (digits > 0).then_some((
                Self {
                    whole,
                    fraction: 0,
                    scale: 1.0,
                },
                &text[digits..],
            ));
        }
        let tail = &bytes[digits + 1..];
        let count = tail.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 && count == 0 {
            return None;
        }
        let (fraction, scale) = fraction(&tail[..count]);
        Some((Self { whole, fraction, scale }, &text[digits + 1 + count..]))
    }

    fn times(&self, unit: u64) -> Option<u64> {
        if self.whole > OVERFLOW / unit {
            return None;
        }
        let mut value = self.whole * unit;
        if self.fraction > 0 {
            // through a float, as Go does: the last digits of a long fraction depend on it
            value = value.checked_add(self.part_of(unit))?;
        }
        (value <= OVERFLOW).then_some(value)
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the float arithmetic is Go's; the result is at least 0 and below one unit"
    )]
    fn part_of(&self, unit: u64) -> u64 {
        (self.fraction as f64 * (unit as f64 / self.scale)) as u64
    }
}

/// Digits after the point; those beyond the 64-bit range are dropped, as in Go.
fn fraction(digits: &[u8]) -> (u64, f64) {
    let (mut value, mut scale): (u64, f64) = (0, 1.0);
    for b in digits {
        if value > (OVERFLOW - 1) / 10 {
            break;
        }
        let next = value * 10 + u64::from(b - b'0');
        if next > OVERFLOW {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value, scale)
}

/// Quotes as `time`'s errors do: `"` and `\` escaped, control characters and non-ASCII bytes as `\xNN`.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        if !(' '..='\u{7f}').contains(&c) {
            let mut buf = [0; 4];
            for b in c.encode_utf8(&mut buf).bytes() {
                write!(out, "\\x{b:02x}").expect("writing to a string cannot fail");
            }
            continue;
        }
        if c == '"' || c == '\\' {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

impl fmt::Display for GoDuration {
    /// Go's `Duration.String`: `1h0m0s`, `1.5s`, `100ms`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match value {
            0 => f.write_str("0s"),
            1..MICROSECOND => write!(f, "{value}ns"),
            MICROSECOND..MILLISECOND => write!(f, "{}µs", decimal(value, MICROSECOND)),
            MILLISECOND..SECOND => write!(f, "{}ms", decimal(value, MILLISECOND)),
            _ => {
                let (hours, minutes) = (value / HOUR, value / MINUTE % 60);
                if hours > 0 {
                    write!(f, "{hours}h")?;
                }
                if hours > 0 || minutes > 0 {
                    write!(f, "{minutes}m")?;
                }
                write!(f, "{}s", decimal(value % MINUTE, SECOND))
            }
        }
    }
}

/// `value / unit` with the fraction's trailing zeros dropped.
fn decimal(value: u64, unit: u64) -> String {
    let (whole, rest) = (value / unit, value % unit);
    if rest == 0 {
        return whole.to_string();
    }
    let width = unit.ilog10() as usize;
    let digits = format!("{rest:0width$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

impl std::str::FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_for_our_own_flags_only() {
        assert_eq!(GoDuration::parse_with_days("1d12h").unwrap().to_string(), "36h0m0s");
        assert_eq!(
            GoDuration::parse_with_days("0.5d").unwrap(),
            GoDuration::from_secs(43_200)
        );
        let e = GoDuration::parse("1d").unwrap_err().to_string();
        assert_eq!(e, "time: unknown unit \"d\" in duration \"1d\"");
    }

    #[test]
    fn spans_convert() {
        let span = GoDuration::parse("1.5s").unwrap();
        assert_eq!((span.as_nanos(), span.as_secs_f64()), (1_500_000_000, 1.5));
        assert_eq!(span.to_std(), std::time::Duration::from_millis(1_500));
        assert_eq!(GoDuration::from_nanos(-1).to_std(), std::time::Duration::ZERO);
        assert_eq!(GoDuration::default(), GoDuration::ZERO);
    }
}
