//! Numbers in Go's syntax: `strconv.ParseInt(s, 0, 64)`, `ParseFloat` and `FormatFloat(f, 'g', -1, …)`.

/// Go's `ParseInt` with base 0: `0x`, `0o`, `0b`, leading zero for octal; no underscores are left at this point.
pub(super) fn parse_int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = parse_magnitude(digits)?;
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// Go's `ParseUint` with base 0: no sign allowed.
pub(super) fn parse_uint(text: &str) -> Option<u64> {
    parse_magnitude(text)
}

fn parse_magnitude(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (radix, digits) = match bytes {
        [b'0', b'x' | b'X', _, ..] => (16, &text[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &text[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &text[2..]),
        [b'0', _, ..] => (8, &text[1..]),
        _ => (10, text),
    };
    // The standard library would accept a sign here.
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// Go's `ParseFloat` for decimal text; overflow is a failure, underscores may separate digits.
///
/// Words (`inf`, `nan`) never reach this point and hexadecimal floats do not begin with a dot or digits only.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digit_at = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let separates = |at: usize| at > 0 && digit_at(at - 1) && digit_at(at + 1);
    if !(0..bytes.len()).all(|at| bytes[at] != b'_' || separates(at)) {
        return None;
    }
    let text = text.replace('_', "");
    let decimal = text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if !decimal {
        return None;
    }
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Shortest text of a 64-bit float in `%g` form: exponent below -4 or at least 6.
pub fn format_float64(number: f64) -> String {
    general(
        number.is_nan(),
        number.is_infinite(),
        number.is_sign_negative(),
        &format!("{:e}", number.abs()),
    )
}

/// As [`format_float64`] after rounding to 32 bits.
pub fn format_float32(number: f64) -> String {
    #[expect(clippy::cast_possible_truncation, reason = "rounding to 32 bits is the purpose")]
    let number = number as f32;
    general(
        number.is_nan(),
        number.is_infinite(),
        number.is_sign_negative(),
        &format!("{:e}", number.abs()),
    )
}

/// Lays out `d.ddde±x` the way Go's `%g` with shortest precision does.
fn general(nan: bool, infinite: bool, negative: bool, scientific: &str) -> String {
    if nan {
        return "NaN".to_owned();
    }
    let sign = if negative { "-" } else { "" };
    if infinite {
        return if negative { "-Inf".to_owned() } else { "+Inf".to_owned() };
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..6).contains(&exponent) {
        return format!(
            "{sign}{}e{}{:02}",
            with_point(&digits, 1),
            if exponent < 0 { '-' } else { '+' },
            exponent.abs()
        );
    }
    if exponent < 0 {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
        return format!("{sign}0.{zeros}{digits}");
    }
    let whole = usize::try_from(exponent + 1).unwrap_or(1);
    format!("{sign}{}", with_point(&digits, whole))
}

/// Sets a decimal point after so many digits, filling up with zeros; no point at the end.
fn with_point(digits: &str, whole: usize) -> String {
    if digits.len() <= whole {
        return format!("{digits}{}", "0".repeat(whole - digits.len()));
    }
    format!("{}.{}", &digits[..whole], &digits[whole..])
}
