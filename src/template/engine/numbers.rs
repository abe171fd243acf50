//! Numbers as Go writes them in source text.

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// Not Go syntax.
    Syntax,
    /// Too large for the type.
    Range,
}

/// `strconv.ParseUint(text, base, 64)`; base 0 reads the prefix and allows underscores.
///
/// # Errors
/// The text is not a number, or too large.
pub fn parse_uint(text: &[u8], base: u32) -> Result<u64, NumberError> {
    let detect = base == 0;
    let (digits, base) = if detect { split_base(text) } else { (text, base) };
    if digits.is_empty() && text != b"0" {
        return Err(NumberError::Syntax);
    }
    let mut value: u64 = 0;
    for &byte in digits {
        if byte == b'_' && detect {
            continue;
        }
        let digit = char::from(byte)
            .to_digit(36)
            .filter(|&digit| digit < base)
            .ok_or(NumberError::Syntax)?;
        let next = value
            .checked_mul(u64::from(base))
            .and_then(|v| v.checked_add(u64::from(digit)));
        value = next.ok_or(NumberError::Range)?;
    }
    if text.contains(&b'_') && !underscores_fit(text) {
        return Err(NumberError::Syntax);
    }
    Ok(value)
}

fn split_base(text: &[u8]) -> (&[u8], u32) {
    if text.len() >= 3 && text[0] == b'0' {
        match text[1] {
            b'x' | b'X' => return (&text[2..], 16),
            b'b' | b'B' => return (&text[2..], 2),
            b'o' | b'O' => return (&text[2..], 8),
            _ => {}
        }
    }
    match text.split_first() {
        Some((b'0', rest)) => (rest, 8),
        _ => (text, 10),
    }
}

/// `strconv.ParseInt(text, base, 64)`. On [`NumberError::Range`] Go's value is the limit of that sign.
///
/// # Errors
/// The text is not a number, or too large.
pub fn parse_int(text: &[u8], base: u32) -> Result<i64, NumberError> {
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let value = parse_uint(digits, base)?;
    let limit = 1u64 << 63;
    match (negative, value) {
        (true, value) if value <= limit => Ok(0i64.wrapping_sub_unsigned(value)),
        (false, value) if value < limit => i64::try_from(value).map_err(|_| NumberError::Range),
        _ => Err(NumberError::Range),
    }
}

/// Underscores must stand between digits, or between the base prefix and a digit.
fn underscores_fit(text: &[u8]) -> bool {
    let text = text
        .strip_prefix(b"-")
        .or_else(|| text.strip_prefix(b"+"))
        .unwrap_or(text);
    let prefixed = text.len() >= 2 && text[0] == b'0' && matches!(text[1] | 0x20, b'b' | b'o' | b'x');
    let hexadecimal = prefixed && text[1] | 0x20 == b'x';
    let (mut last, from) = if prefixed { (b'0', 2) } else { (b'^', 0) };
    for &byte in &text[from..] {
        let digit = byte.is_ascii_digit() || (hexadecimal && byte.is_ascii_hexdigit());
        if (byte == b'_' && last != b'0') || (!digit && byte != b'_' && last == b'_') {
            return false;
        }
        last = match byte {
            _ if digit => b'0',
            b'_' => b'_',
            _ => b'!',
        };
    }
    last != b'_'
}

/// `strconv.ParseFloat(text, 64)`.
///
/// # Errors
/// The text is not a number, or too large.
pub fn parse_float(text: &[u8]) -> Result<f64, NumberError> {
    let (negative, body) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let sign = if negative { -1.0 } else { 1.0 };
    let lower = body.to_ascii_lowercase();
    match &lower[..] {
        b"inf" | b"infinity" => return Ok(sign * f64::INFINITY),
        b"nan" if body.len() == text.len() => return Ok(f64::NAN),
        _ => {}
    }
    if text.contains(&b'_') && !underscores_fit(text) {
        return Err(NumberError::Syntax);
    }
    let plain: Vec<u8> = lower.into_iter().filter(|&byte| byte != b'_').collect();
    let value = match plain.strip_prefix(b"0x") {
        Some(digits) if !digits.is_empty() => parse_hex_float(digits)?,
        _ => parse_decimal_float(&plain)?,
    };
    if value.is_infinite() {
        return Err(NumberError::Range);
    }
    Ok(sign * value)
}

fn parse_decimal_float(text: &[u8]) -> Result<f64, NumberError> {
    let allowed = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'+' | b'-');
    let starts = text.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
    if !starts || !text.iter().all(allowed) {
        return Err(NumberError::Syntax);
    }
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(NumberError::Syntax)
}

/// Mantissa digits and the obligatory binary exponent, without the `0x`.
fn parse_hex_float(text: &[u8]) -> Result<f64, NumberError> {
    let at = text.iter().position(|&byte| byte == b'p').ok_or(NumberError::Syntax)?;
    let exponent_text = std::str::from_utf8(&text[at + 1..]).map_err(|_| NumberError::Syntax)?;
    let digits_only = exponent_text.trim_start_matches(['+', '-']);
    if digits_only.is_empty()
        || exponent_text.len() > digits_only.len() + 1
        || !digits_only.bytes().all(|b| b.is_ascii_digit())
    {
        return Err(NumberError::Syntax);
    }
    let magnitude: i64 = digits_only.parse().unwrap_or(100_000).min(100_000);
    let mut exponent = if exponent_text.starts_with('-') {
        -magnitude
    } else {
        magnitude
    };
    let (mut mantissa, mut seen, mut after_dot) = (0u64, false, false);
    for &byte in &text[..at] {
        if byte == b'.' && !after_dot {
            after_dot = true;
            continue;
        }
        let digit = char::from(byte).to_digit(16).ok_or(NumberError::Syntax)?;
        seen = true;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
            exponent -= if after_dot { 4 } else { 0 };
        } else {
            mantissa |= u64::from(digit != 0);
            exponent += if after_dot { 0 } else { 4 };
        }
    }
    if !seen {
        return Err(NumberError::Syntax);
    }
    Ok(scale(mantissa, exponent))
}

/// `mantissa * 2^exponent`, rounded to the nearest even.
fn scale(mantissa: u64, exponent: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let mut value = mantissa as f64;
    let mut left = exponent.clamp(-3000, 3000);
    while left != 0 {
        let step = left.clamp(-500, 500);
        value *= 2f64.powi(i32::try_from(step).unwrap_or(0));
        left -= step;
    }
    value
}

/// Go's `int64(f)` on amd64: out of range gives the smallest value.
pub fn float_to_i64(value: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

/// A number literal, in every type that can hold it.
#[derive(Clone, Debug, Default)]
pub struct Number {
    /// As `int64`, if it fits.
    pub int: Option<i64>,
    /// As `uint64`, if it fits.
    pub uint: Option<u64>,
    /// As `float64`.
    pub float: Option<f64>,
    /// Real and imaginary part, for complex literals.
    pub complex: Option<(f64, f64)>,
}

impl Number {
    /// A character constant.
    pub fn from_char(code: u32) -> Self {
        Self {
            int: Some(i64::from(code)),
            uint: Some(u64::from(code)),
            float: Some(f64::from(code)),
            complex: None,
        }
    }

    fn from_complex(real: f64, imaginary: f64) -> Self {
        let mut number = Self {
            complex: Some((real, imaginary)),
            ..Self::default()
        };
        if imaginary == 0.0 {
            number.set_float(real);
        }
        number
    }

    fn set_float(&mut self, value: f64) {
        self.float = Some(value);
        if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) && value.trunc() == value {
            self.int = self.int.or(Some(value as i64));
        }
        if (0.0..18_446_744_073_709_551_616.0).contains(&value) && value.trunc() == value {
            self.uint = self.uint.or(Some(value as u64));
        }
    }

    /// A plain number token.
    ///
    /// # Errors
    /// Go's message for a text that is not a number.
    pub fn from_token(text: &[u8]) -> Result<Self, String> {
        if let Some(body) = text.strip_suffix(b"i")
            && let Ok(imaginary) = parse_float(body)
        {
            return Ok(Self::from_complex(0.0, imaginary));
        }
        let mut number = Self {
            int: parse_int(text, 0).ok(),
            uint: parse_uint(text, 0).ok(),
            ..Self::default()
        };
        if number.int == Some(0) && number.uint.is_none() {
            number.uint = Some(0);
        }
        let shown = || super::format::quote::quoted(text);
        match (number.int, number.uint) {
            (Some(int), _) => number.float = Some(int as f64),
            (None, Some(uint)) => number.float = Some(uint as f64),
            (None, None) => match parse_float(text) {
                Ok(_) if !text.iter().any(|byte| b".eEpP".contains(byte)) => {
                    return Err(format!("integer overflow: {}", shown()));
                }
                Ok(value) => number.set_float(value),
                Err(_) => return Err(format!("illegal number syntax: {}", shown())),
            },
        }
        Ok(number)
    }

    /// A `1+2i` token.
    ///
    /// # Errors
    /// Go's message for a text that is not a complex number.
    pub fn from_complex_token(text: &[u8]) -> Result<Self, String> {
        let body = text.strip_suffix(b"i").unwrap_or(text);
        let split = (1..body.len())
            .rev()
            .find(|&at| matches!(body[at], b'+' | b'-') && !matches!(body[at - 1], b'e' | b'E' | b'p' | b'P'));
        let parts = split.and_then(|at| Some((parse_float(&body[..at]).ok()?, parse_float(&body[at..]).ok()?)));
        match parts {
            Some((real, imaginary)) => Ok(Self::from_complex(real, imaginary)),
            None => Err("syntax error scanning complex number".to_owned()),
        }
    }
}
