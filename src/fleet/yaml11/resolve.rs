//! Plain scalar → value by the rules of go-yaml v2, and where YAML 1.2 would read something else.

/// A resolved scalar.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// `null`, `~` or nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number that fits 64 bits with sign.
    Int(i64),
    /// A whole number that only fits 64 bits without sign.
    Uint(u64),
    /// A floating point number; may be infinite or not a number.
    Float(f64),
    /// Text.
    Text(String),
}

/// Resolves `text` with an optional explicit short tag (`!!int`). `None`: the tag does not fit.
///
/// Unknown tags leave the text as it is. Timestamps stay text: the original keeps the written form for
/// values without a declared type.
#[must_use]
pub fn resolve(text: &str, tag: Option<&str>) -> Option<Scalar> {
    let wanted = match tag {
        None | Some("!!timestamp") => return Some(untagged(text)),
        Some(tag @ ("!!bool" | "!!int" | "!!float" | "!!null")) => tag,
        Some(_) => return Some(Scalar::Text(text.to_owned())),
    };
    match (wanted, untagged(text)) {
        ("!!bool", value @ Scalar::Bool(_))
        | ("!!int", value @ (Scalar::Int(_) | Scalar::Uint(_)))
        | ("!!float", value @ Scalar::Float(_))
        | ("!!null", value @ Scalar::Null) => Some(value),
        #[expect(clippy::cast_precision_loss, reason = "the original converts the same way")]
        ("!!float", Scalar::Int(value)) => Some(Scalar::Float(value as f64)),
        _ => None,
    }
}

fn untagged(text: &str) -> Scalar {
    let text_value = || Scalar::Text(text.to_owned());
    if let Some(word) = word(text) {
        return word;
    }
    match text.as_bytes().first() {
        Some(b'.') => decimal(text).map_or_else(text_value, Scalar::Float),
        Some(b'+' | b'-' | b'0'..=b'9') => number(text).unwrap_or_else(text_value),
        _ => text_value(),
    }
}

fn word(text: &str) -> Option<Scalar> {
    Some(match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => return None,
    })
}

fn number(text: &str) -> Option<Scalar> {
    if timestamp(text) {
        return None;
    }
    let plain = text.replace('_', "");
    whole(&plain).or_else(|| decimal(&plain).map(Scalar::Float))
}

/// Whole numbers with the prefixes `0x`, `0o`, `0b` and the bare leading zero for octal.
fn whole(plain: &str) -> Option<Scalar> {
    let (negative, signed, digits) = match plain.as_bytes().first()? {
        b'-' => (true, true, &plain[1..]),
        b'+' => (false, true, &plain[1..]),
        _ => (false, false, plain),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = if let Some(rest) = lower.strip_prefix("0x") {
        (16, rest)
    } else if let Some(rest) = lower.strip_prefix("0o") {
        (8, rest)
    } else if let Some(rest) = lower.strip_prefix("0b") {
        (2, rest)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u128::from_str_radix(digits, radix).ok()?;
    let value = i128::try_from(magnitude).ok()? * if negative { -1 } else { 1 };
    if let Ok(value) = i64::try_from(value) {
        return Some(Scalar::Int(value));
    }
    // Beyond the signed range the original tries again without a sign, so `+2^63` is no whole number.
    if signed {
        None
    } else {
        u64::try_from(value).ok().map(Scalar::Uint)
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, finite after conversion.
fn decimal(text: &str) -> Option<f64> {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], Some(&body[at + 1..])),
        None => (body, None),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(before) || !digits(after) || (before.is_empty() && after.is_empty()) {
        return None;
    }
    if let Some(exponent) = exponent {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if exponent.is_empty() || !digits(exponent) {
            return None;
        }
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Dates (`2026-1-2`) with an optional time, as go-yaml recognises them.
fn timestamp(text: &str) -> bool {
    let Some((year, rest)) = text.split_once('-') else {
        return false;
    };
    if year.len() != 4 || !year.bytes().all(|b| b.is_ascii_digit()) {
        return false;
    }
    let (date, time) = match rest.find(['T', 't', ' ']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let part = |s: &str, max: u32| (1..=2).contains(&s.len()) && s.parse::<u32>().is_ok_and(|n| (1..=max).contains(&n));
    let Some((month, day)) = date.split_once('-') else {
        return false;
    };
    part(month, 12) && part(day, 31) && time.is_none_or(|time| time.contains(':'))
}

/// Whether a reader of the YAML 1.2 core schema would take another value from this plain scalar, or
/// the value changes on its way through a double (`1.0` prints as 1, 2^53 + 1 loses its last digit).
#[must_use]
pub fn differs_from_yaml_1_2(text: &str) -> bool {
    match untagged(text) {
        Scalar::Bool(_) => !matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE"),
        Scalar::Int(value) => value.unsigned_abs() > 1 << 53 || whole_1_2(text) != Some(i128::from(value)),
        Scalar::Uint(_) => true,
        Scalar::Float(value) if value.is_finite() => float_differs(text, value),
        _ => false,
    }
}

fn whole_1_2(text: &str) -> Option<i128> {
    if let Some(rest) = text.strip_prefix("0x") {
        return i128::from_str_radix(rest, 16).ok();
    }
    if let Some(rest) = text.strip_prefix("0o") {
        return i128::from_str_radix(rest, 8).ok();
    }
    text.parse::<i128>().ok()
}

fn float_differs(text: &str, value: f64) -> bool {
    if text.contains('_') {
        return true;
    }
    // 09 is nine in both readings; a whole number written as a decimal loses its point.
    let written_whole = text.bytes().all(|b| b.is_ascii_digit() || b == b'+' || b == b'-');
    if written_whole {
        value.abs() > 9_007_199_254_740_992.0
    } else {
        value.fract() == 0.0
    }
}

/// Go's shortest `%g` text of a number seen as a 32-bit float: the form a number takes as a mapping key
/// or where text is expected.
#[must_use]
pub fn go_float_32(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "the original narrows to 32 bits as well")]
    let value = value as f32;
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) || value == 0.0 {
        return format!("{value}");
    }
    format!(
        "{mantissa}e{}{:02}",
        if exponent < 0 { '-' } else { '+' },
        exponent.abs()
    )
}
