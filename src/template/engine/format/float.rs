//! Floats as `strconv.FormatFloat` writes them.

/// Digits beyond this are all zero for any `f64`.
const MAX_DIGITS: usize = 1100;

/// `strconv.FormatFloat(value, verb, precision, 64)` for the verbs `e E f g G b x X`; no precision means the
/// fewest digits that read back as the same number.
pub fn format_float(value: f64, verb: u8, precision: Option<usize>) -> Vec<u8> {
    if value.is_nan() {
        return b"NaN".to_vec();
    }
    let mut out = Vec::new();
    if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"+Inf" } else { b"-Inf" });
        return out;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let magnitude = value.abs();
    match verb {
        b'b' => write_binary(&mut out, magnitude),
        b'x' | b'X' => write_hex(&mut out, magnitude, precision, verb),
        b'e' | b'E' => {
            let digits = Digits::of(magnitude, precision.map(|p| p + 1));
            write_exponent(&mut out, &digits, precision.unwrap_or(digits.count().saturating_sub(1)), verb);
        }
        b'f' => write_fixed(&mut out, magnitude, precision),
        _ => write_general(&mut out, magnitude, precision, verb),
    }
    out
}

/// `%v` of a float.
pub fn shortest(value: f64) -> Vec<u8> {
    format_float(value, b'g', None)
}

/// Decimal digits without trailing zeros and the position of the point: `0.d1d2d3… × 10^point`.
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

impl Digits {
    /// All digits, or so many, correctly rounded.
    fn of(magnitude: f64, significant: Option<usize>) -> Self {
        let text = match significant {
            Some(count) => format!("{:.*e}", count.clamp(1, MAX_DIGITS) - 1, magnitude),
            None => format!("{magnitude:e}"),
        };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let point = if digits.is_empty() { 0 } else { exponent.parse().unwrap_or(0) + 1 };
        Self { digits, point }
    }

    fn count(&self) -> usize {
        self.digits.len()
    }

    fn at(&self, index: usize) -> u8 {
        self.digits.get(index).copied().unwrap_or(b'0')
    }
}

fn write_exponent(out: &mut Vec<u8>, digits: &Digits, decimals: usize, letter: u8) {
    out.push(digits.at(0));
    if decimals > 0 {
        out.push(b'.');
        out.extend((1..=decimals).map(|index| digits.at(index)));
    }
    let exponent = if digits.count() == 0 { 0 } else { digits.point - 1 };
    out.push(letter);
    out.push(if exponent < 0 { b'-' } else { b'+' });
    out.extend_from_slice(format!("{:02}", exponent.unsigned_abs()).as_bytes());
}

fn write_fixed(out: &mut Vec<u8>, magnitude: f64, precision: Option<usize>) {
    let Some(precision) = precision else {
        out.extend_from_slice(format!("{magnitude}").as_bytes());
        return;
    };
    let exact = precision.min(MAX_DIGITS);
    out.extend_from_slice(format!("{magnitude:.exact$}").as_bytes());
    out.resize(out.len() + precision - exact, b'0');
}

fn write_general(out: &mut Vec<u8>, magnitude: f64, precision: Option<usize>, verb: u8) {
    let digits = Digits::of(magnitude, precision.map(|p| p.max(1)));
    let count = i32::try_from(digits.count()).unwrap_or(i32::MAX);
    let wanted = precision.map_or(count, |p| i32::try_from(p.max(1)).unwrap_or(i32::MAX));
    let mut limit = wanted;
    if limit > count && count >= digits.point {
        limit = count;
    }
    if precision.is_none() {
        limit = 6;
    }
    let exponent = digits.point - 1;
    if exponent < -4 || exponent >= limit {
        let decimals = wanted.min(count).saturating_sub(1).max(0);
        let letter = if verb == b'G' { b'E' } else { b'e' };
        write_exponent(out, &digits, usize::try_from(decimals).unwrap_or(0), letter);
        return;
    }
    if digits.point <= 0 {
        out.push(b'0');
    }
    for index in 0..usize::try_from(digits.point).unwrap_or(0) {
        out.push(digits.at(index));
    }
    if count > digits.point {
        out.push(b'.');
        for position in digits.point..count {
            out.push(usize::try_from(position).map_or(b'0', |index| digits.at(index)));
        }
    }
}

/// The 53-bit mantissa and its binary exponent.
fn split(magnitude: f64) -> (u64, i32) {
    let bits = magnitude.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let exponent = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0);
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) }
}

fn write_binary(out: &mut Vec<u8>, magnitude: f64) {
    let (mantissa, exponent) = split(magnitude);
    out.extend_from_slice(format!("{mantissa}p{exponent:+}").as_bytes());
}

fn write_hex(out: &mut Vec<u8>, magnitude: f64, precision: Option<usize>, verb: u8) {
    let (mut mantissa, mut exponent) = split(magnitude);
    if mantissa == 0 {
        exponent = 0;
    } else {
        let shift = mantissa.leading_zeros() - 11;
        mantissa <<= shift;
        exponent += 52 - i32::try_from(shift).unwrap_or(0);
    }
    // One digit before the point, thirteen after it.
    if let Some(precision) = precision.filter(|&p| p < 13) {
        let extra = u32::try_from(4 * (13 - precision)).unwrap_or(0);
        let half = 1u64 << (extra - 1);
        let rest = mantissa & ((1u64 << extra) - 1);
        mantissa >>= extra;
        if rest > half || (rest == half && mantissa & 1 == 1) {
            mantissa += 1;
        }
        mantissa <<= extra;
        if mantissa >> 53 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let fraction = format!("{:013x}", mantissa & ((1 << 52) - 1));
    let shown = match precision {
        Some(precision) => format!("{:0<precision$}", &fraction[..precision.min(13)]),
        None => fraction.trim_end_matches('0').to_owned(),
    };
    let point = if shown.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    let text = format!("0x{}{point}{shown}p{sign}{:02}", mantissa >> 52, exponent.unsigned_abs());
    out.extend_from_slice(if verb == b'X' { text.to_ascii_uppercase() } else { text }.as_bytes());
}
