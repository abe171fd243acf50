//! Floats in Go's spellings.

/// The shortest decimal digits that read back as the same float, and where the point stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortest {
    negative: bool,
    /// At least one digit, none of them a trailing zero unless the value is zero.
    digits: String,
    /// Exponent of the first digit: 1234 has 3.
    exponent: i32,
    /// `NaN`, `+Inf`, `-Inf`, which have no digits.
    special: Option<&'static str>,
}

impl Shortest {
    /// Of a 64-bit float.
    #[must_use]
    pub fn of(value: f64) -> Self {
        let digits = digit_count(&format!("{:e}", value.abs()));
        let text = format!("{:.*e}", digits.saturating_sub(1), value.abs());
        Self::read(value.is_nan(), value.is_infinite(), value.is_sign_negative(), &text)
    }

    /// Of a 32-bit float.
    #[must_use]
    pub fn of_f32(value: f32) -> Self {
        let digits = digit_count(&format!("{:e}", value.abs()));
        let text = format!("{:.*e}", digits.saturating_sub(1), value.abs());
        Self::read(value.is_nan(), value.is_infinite(), value.is_sign_negative(), &text)
    }

    fn read(nan: bool, infinite: bool, negative: bool, scientific: &str) -> Self {
        if nan || infinite {
            let special = if nan {
                "NaN"
            } else if negative {
                "-Inf"
            } else {
                "+Inf"
            };
            return Self {
                negative: false,
                digits: String::new(),
                exponent: 0,
                special: Some(special),
            };
        }
        let (mantissa, exponent) = scientific.split_once('e').expect("LowerExp always writes an exponent");
        let exponent = exponent.parse().expect("LowerExp writes a decimal exponent");
        Self {
            negative,
            digits: mantissa.replace('.', ""),
            exponent,
            special: None,
        }
    }

    /// Never an exponent (`strconv.FormatFloat(f, 'f', -1, 64)`): `1e21` gives 22 digits.
    #[must_use]
    pub fn plain(&self) -> String {
        if let Some(special) = self.special {
            return special.to_owned();
        }
        let mut out = String::from(if self.negative { "-" } else { "" });
        let Ok(whole) = usize::try_from(self.exponent) else {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', self.exponent.unsigned_abs() as usize - 1));
            out.push_str(&self.digits);
            return out;
        };
        let whole = whole + 1;
        if self.digits.len() <= whole {
            out.push_str(&self.digits);
            out.extend(std::iter::repeat_n('0', whole - self.digits.len()));
        } else {
            out.push_str(&self.digits[..whole]);
            out.push('.');
            out.push_str(&self.digits[whole..]);
        }
        out
    }

    /// Always an exponent of at least two digits (`'e'`): `1e+06`.
    #[must_use]
    pub fn scientific(&self) -> String {
        if let Some(special) = self.special {
            return special.to_owned();
        }
        let sign = if self.negative { "-" } else { "" };
        let (first, rest) = self.digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let exponent_sign = if self.exponent < 0 { '-' } else { '+' };
        format!(
            "{sign}{first}{point}{rest}e{exponent_sign}{:02}",
            self.exponent.unsigned_abs()
        )
    }

    /// Go's `%v` and `strconv.FormatFloat(f, 'g', -1, 64)`: an exponent below −4 and from 6 on, as in `1e+06`.
    #[must_use]
    pub fn general(&self) -> String {
        if (-4..6).contains(&self.exponent) {
            self.plain()
        } else {
            self.scientific()
        }
    }

    /// `encoding/json`: an exponent below 1e-6 and from 1e21 on, without a leading zero in a negative exponent.
    #[must_use]
    pub fn json(&self) -> String {
        if (-6..21).contains(&self.exponent) {
            return self.plain();
        }
        self.scientific().replace("e-0", "e-")
    }
}

/// Digits of the shortest text. Where two texts of that length are equally near, Go takes the even one and Rust's `{:e}`
/// the larger; printing again with a fixed count of digits rounds to even.
fn digit_count(shortest: &str) -> usize {
    let mantissa = shortest.split('e').next().unwrap_or_default();
    mantissa.bytes().filter(u8::is_ascii_digit).count()
}
