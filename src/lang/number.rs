//! Numbers read from text as Go's `strconv` does.

use super::unicode::quote;

/// Why a text is no number; the text is Go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("strconv.{function}: parsing {quoted}: {reason}", quoted = quote(text.as_bytes()), reason = reason(*range))]
pub struct NumberError {
    /// Go's function, such as `ParseFloat`.
    function: &'static str,
    text: String,
    /// The text is a number, but too large.
    pub range: bool,
}

fn reason(range: bool) -> &'static str {
    if range { "value out of range" } else { "invalid syntax" }
}

impl NumberError {
    fn syntax(function: &'static str, text: &str) -> Self {
        Self {
            function,
            text: text.to_owned(),
            range: false,
        }
    }

    fn range(function: &'static str, text: &str) -> Self {
        Self {
            range: true,
            ..Self::syntax(function, text)
        }
    }
}

/// A decimal integer (`strconv.Atoi`).
///
/// # Errors
/// Not a number, or beyond 64 bits.
pub fn atoi(text: &str) -> Result<i64, NumberError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(NumberError::syntax("Atoi", text));
    }
    text.parse().map_err(|_| NumberError::range("Atoi", text))
}

/// A 64-bit float (`strconv.ParseFloat`): decimal or hexadecimal, `inf`, `nan`, with `_` between digits.
///
/// # Errors
/// Not a number, or beyond the range (a number too small is zero).
pub fn parse_float(text: &str) -> Result<f64, NumberError> {
    let syntax = || NumberError::syntax("ParseFloat", text);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if ["inf", "infinity"]
        .iter()
        .any(|word| unsigned.eq_ignore_ascii_case(word))
    {
        return Ok(if text.starts_with('-') {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        });
    }
    if text.eq_ignore_ascii_case("nan") {
        return Ok(f64::NAN);
    }
    if unsigned.contains('_') && !underscores_separate_digits(unsigned) {
        return Err(syntax());
    }
    let plain = unsigned.replace('_', "");
    let value = if let Some(digits) = plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X")) {
        hexadecimal(digits).ok_or_else(syntax)?
    } else {
        // Rust reads the same decimal forms; words are excluded
        let decimal = plain
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
        let value = if decimal && !plain.starts_with(['+', '-']) {
            plain.parse::<f64>().ok()
        } else {
            None
        };
        value.ok_or_else(syntax)?
    };
    if value.is_infinite() {
        return Err(NumberError::range("ParseFloat", text));
    }
    Ok(if text.starts_with('-') { -value } else { value })
}

/// Each `_` stands between two digits, or between the prefix `0x` and a digit.
fn underscores_separate_digits(text: &str) -> bool {
    let hex = text.len() >= 2 && text[..2].eq_ignore_ascii_case("0x");
    let digit = |b: u8| b.is_ascii_digit() || (hex && b.is_ascii_hexdigit());
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter(|(_, b)| **b == b'_').all(|(i, _)| {
        let before = i > 0 && (digit(bytes[i - 1]) || (hex && i == 2));
        before && bytes.get(i + 1).is_some_and(|b| digit(*b))
    })
}

/// `1.8p3` behind the prefix; the exponent of two is required.
fn hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let limit = 1 << 20;
    let mut exponent = digits.parse::<i32>().map_or(limit, |n| n.min(limit));
    if text.contains("p-") || text.contains("P-") {
        exponent = -exponent;
    }
    let mut value: u64 = 0;
    for (i, c) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(c.to_digit(16)?);
        let in_fraction = i >= whole.len();
        if value >> 60 == 0 {
            value = value << 4 | digit;
            exponent -= if in_fraction { 4 } else { 0 };
        } else {
            // beyond the precision: only whether there is anything matters
            value |= u64::from(digit != 0);
            exponent += if in_fraction { 0 } else { 4 };
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "rounding the 64 bits once is what is wanted")]
    let value = value as f64;
    Some(scale(value, exponent))
}

/// `value * 2^exponent` in steps that neither overflow nor vanish on the way.
fn scale(mut value: f64, mut exponent: i32) -> f64 {
    while exponent != 0 && value != 0.0 && value.is_finite() {
        let step = exponent.clamp(-1000, 1000);
        value *= 2f64.powi(step);
        exponent -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_as_strconv_reads_them() {
        let cases = [
            ("1_000", Some(1000.0)),
            ("1_0e1_0", Some(1e11)),
            ("0x1p4", Some(16.0)),
            ("0x1_0p4", Some(256.0)),
            ("0x1.8p1", Some(3.0)),
            ("0x_1p1", Some(2.0)),
            ("1.", Some(1.0)),
            (".5", Some(0.5)),
            ("-inf", Some(f64::NEG_INFINITY)),
            ("iNf", Some(f64::INFINITY)),
            ("1e-999", Some(0.0)),
            ("0x1p-1074", Some(5e-324)),
            ("+1", Some(1.0)),
            ("0x10", None),
            ("_1", None),
            ("1_", None),
            ("1__0", None),
            ("0b1", None),
            ("1e", None),
            (".", None),
            ("", None),
            ("+nan", None),
            ("+-1", None),
            ("0x.p1", None),
            ("1 ", None),
        ];
        for (text, want) in cases {
            assert_eq!(parse_float(text).ok(), want, "{text}");
        }
        assert!(parse_float("NaN").unwrap().is_nan());
    }

    #[test]
    fn faults_are_in_strconvs_words() {
        let float = |text| parse_float(text).unwrap_err().to_string();
        assert_eq!(
            float("1e999"),
            "strconv.ParseFloat: parsing \"1e999\": value out of range"
        );
        assert_eq!(
            float("0x1p99999"),
            "strconv.ParseFloat: parsing \"0x1p99999\": value out of range"
        );
        assert_eq!(float("x\n"), "strconv.ParseFloat: parsing \"x\\n\": invalid syntax");
        let integer = |text| atoi(text).unwrap_err().to_string();
        assert_eq!(integer(""), "strconv.Atoi: parsing \"\": invalid syntax");
        assert_eq!(
            integer("99999999999999999999"),
            "strconv.Atoi: parsing \"99999999999999999999\": value out of range"
        );
        assert_eq!(atoi("+7").unwrap() + atoi("-8").unwrap(), -1);
    }
}
