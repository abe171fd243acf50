//! Go durations as the API stores them (`1h0m0s`), with Go's error texts.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration as Go's `time.Duration` holds it: nanoseconds, may be negative, about ±292 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GoDuration(i64);

impl GoDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// ESO's default refresh interval.
    pub const HOUR: Self = Self(3_600_000_000_000);

    /// From nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// True for more than nothing: most intervals of ESO are switched off otherwise.
    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// As an unsigned duration; a negative one becomes zero.
    pub fn to_std(self) -> Duration {
        Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }

    /// Parses what Go's `time.ParseDuration` accepts; the error is Go's text (`time: unknown unit "d" in duration "1d"`).
    pub fn parse(text: &str) -> Result<Self, String> {
        parse(text).map(Self)
    }
}

/// Go's form: `1h0m0s`, `1.5s`, `0s`.
impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render(self.0))
    }
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = GoDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a Go duration such as 1h30m")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GoDuration, E> {
                GoDuration::parse(text).map_err(E::custom)
            }

            fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<GoDuration, E> {
                Err(E::custom("json: cannot unmarshal number into Go value of type string"))
            }

            fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<GoDuration, E> {
                self.visit_i64(0)
            }

            fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<GoDuration, E> {
                self.visit_i64(0)
            }

            fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<GoDuration, E> {
                Err(E::custom("json: cannot unmarshal bool into Go value of type string"))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Largest magnitude: 2^63 nanoseconds, reachable only with a minus sign.
const LIMIT: u64 = 1 << 63;

fn parse(original: &str) -> Result<i64, String> {
    let invalid = || format!("time: invalid duration {}", quote(original));
    let (negative, mut rest) = match original.as_bytes().first() {
        Some(b'-') => (true, &original[1..]),
        Some(b'+') => (false, &original[1..]),
        _ => (false, original),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (part, after) = parse_part(original, rest)?;
        total = total
            .checked_add(part)
            .filter(|sum| *sum <= LIMIT)
            .ok_or_else(invalid)?;
        rest = after;
    }
    if negative {
        return Ok(0_i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).map_err(|_| invalid())
}

/// One `number unit` pair at the start of `rest`: its nanoseconds and what follows.
fn parse_part<'a>(original: &str, rest: &'a str) -> Result<(u64, &'a str), String> {
    let invalid = || format!("time: invalid duration {}", quote(original));
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole_len = digits(rest);
    let whole: u64 = match &rest[..whole_len] {
        "" => 0,
        text => text
            .parse()
            .ok()
            .filter(|number| *number <= LIMIT)
            .ok_or_else(invalid)?,
    };
    let mut after = &rest[whole_len..];
    let mut fraction = "";
    if let Some(tail) = after.strip_prefix('.') {
        fraction = &tail[..digits(tail)];
        after = &tail[fraction.len()..];
    }
    if whole_len == 0 && fraction.is_empty() {
        return Err(invalid());
    }
    let unit_len = after
        .bytes()
        .take_while(|byte| *byte != b'.' && !byte.is_ascii_digit())
        .count();
    if unit_len == 0 {
        return Err(format!("time: missing unit in duration {}", quote(original)));
    }
    let unit_text = &after[..unit_len];
    let unit = unit_nanos(unit_text).ok_or_else(|| {
        format!(
            "time: unknown unit {} in duration {}",
            quote(unit_text),
            quote(original)
        )
    })?;
    let nanos = whole
        .checked_mul(unit)
        .filter(|nanos| *nanos <= LIMIT)
        .ok_or_else(invalid)?;
    let nanos = nanos
        .checked_add(fraction_nanos(fraction, unit))
        .filter(|nanos| *nanos <= LIMIT);
    Ok((nanos.ok_or_else(invalid)?, &after[unit_len..]))
}

fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Nanoseconds of `0.digits` units, cut off like Go (digits beyond what fits 63 bits are ignored).
fn fraction_nanos(digits: &str, unit: u64) -> u64 {
    let (mut number, mut scale): (u64, u64) = (0, 1);
    for digit in digits.bytes().map(|byte| u64::from(byte - b'0')) {
        let Some(next) = number
            .checked_mul(10)
            .and_then(|n| n.checked_add(digit))
            .filter(|n| *n < LIMIT)
        else {
            break;
        };
        let Some(next_scale) = scale.checked_mul(10) else { break };
        (number, scale) = (next, next_scale);
    }
    let nanos = u128::from(number) * u128::from(unit) / u128::from(scale);
    u64::try_from(nanos).expect("a fraction of one unit is less than an hour in nanoseconds")
}

/// Go's own quoting inside package time: quotes and backslashes escaped, control and non-ASCII bytes as `\xNN`.
fn quote(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            other => write!(out, "\\x{other:02x}").expect("a String takes every write"),
        }
    }
    out.push('"');
    out
}

fn render(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let magnitude = nanos.unsigned_abs();
    let decimal = |value: u64, unit: u64| {
        let (whole, rest) = (value / unit, value % unit);
        if rest == 0 {
            return whole.to_string();
        }
        let width = unit.ilog10() as usize;
        format!("{whole}.{}", format!("{rest:0width$}").trim_end_matches('0'))
    };
    match magnitude {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{magnitude}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", decimal(magnitude, 1_000)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", decimal(magnitude, 1_000_000)),
        _ => {
            let (minutes, nanos) = (magnitude / 60_000_000_000, magnitude % 60_000_000_000);
            let seconds = decimal(nanos, 1_000_000_000);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::GoDuration;

    #[test]
    fn parses_and_prints_as_go_does() {
        for (text, printed) in [
            ("1h", "1h0m0s"),
            ("1.5h", "1h30m0s"),
            ("300ms", "300ms"),
            ("2h45m", "2h45m0s"),
            ("0", "0s"),
            ("-1m", "-1m0s"),
            ("+5s", "5s"),
            (".5s", "500ms"),
            ("1.s", "1s"),
            ("1500us", "1.5ms"),
            ("1µs", "1µs"),
            ("90m10.25s", "1h30m10.25s"),
            ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ] {
            assert_eq!(
                GoDuration::parse(text).map(|d| d.to_string()),
                Ok(printed.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn refuses_with_the_text_of_go() {
        for (text, error) in [
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            ("3600", r#"time: missing unit in duration "3600""#),
            ("", r#"time: invalid duration """#),
            ("-", r#"time: invalid duration "-""#),
            (".s", r#"time: invalid duration ".s""#),
            ("1h d", r#"time: unknown unit "h d" in duration "1h d""#),
            (
                "9223372036854775808ns",
                r#"time: invalid duration "9223372036854775808ns""#,
            ),
            ("abc", r#"time: invalid duration "abc""#),
            ("é", r#"time: invalid duration "\xc3\xa9""#),
        ] {
            assert_eq!(GoDuration::parse(text), Err(error.to_owned()), "{text}");
        }
    }
}
