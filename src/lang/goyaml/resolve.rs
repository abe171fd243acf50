//! Which type a scalar has: go-yaml's table of words, then integers, then floats.

use zeroize::Zeroizing;

use crate::lang::gotime;

use super::number::{parse_float, parse_int, parse_uint};
use super::{Yaml, YamlError};

pub(super) const STR_TAG: &str = "tag:yaml.org,2002:str";
pub(super) const MERGE_TAG: &str = "tag:yaml.org,2002:merge";
pub(super) const NULL_TAG: &str = "tag:yaml.org,2002:null";
pub(super) const BINARY_TAG: &str = "tag:yaml.org,2002:binary";
const BOOL_TAG: &str = "tag:yaml.org,2002:bool";
const INT_TAG: &str = "tag:yaml.org,2002:int";
const FLOAT_TAG: &str = "tag:yaml.org,2002:float";
const TIMESTAMP_TAG: &str = "tag:yaml.org,2002:timestamp";

/// The value of a scalar and the type that was found for it.
pub(super) struct Resolved {
    /// The long tag of the type.
    pub tag: &'static str,
    /// The value; dates stay text.
    pub value: Yaml,
}

impl Resolved {
    fn new(tag: &'static str, value: Yaml) -> Self {
        Self { tag, value }
    }
}

/// The value of a scalar with an explicit tag (empty: none).
///
/// # Errors
/// When the text does not fit the tag.
pub(super) fn resolve(tag: &str, text: &str) -> Result<Yaml, YamlError> {
    if !matches!(
        tag,
        "" | STR_TAG | BOOL_TAG | INT_TAG | FLOAT_TAG | NULL_TAG | TIMESTAMP_TAG
    ) {
        return Ok(verbatim(text));
    }
    let found = if tag == STR_TAG {
        as_text(text)
    } else {
        guess(tag, text)
    };
    if tag.is_empty() || tag == STR_TAG || tag == found.tag {
        return Ok(found.value);
    }
    if let (FLOAT_TAG, Yaml::Int(number)) = (tag, &found.value) {
        #[expect(clippy::cast_precision_loss, reason = "Go converts the same way")]
        return Ok(Yaml::Float(*number as f64));
    }
    let (found, wanted) = (short_tag(found.tag), short_tag(tag));
    Err(YamlError::with_data(
        format!("yaml: cannot decode {found} `{text}` as a {wanted}"),
        format!("yaml: cannot decode {found} as a {wanted}"),
    ))
}

/// True when a plain scalar of this text would be read back as text.
pub(super) fn is_plain_text(text: &str) -> bool {
    guess("", text).tag == STR_TAG && !is_base60(text)
}

fn verbatim(text: &str) -> Yaml {
    Yaml::Text(Zeroizing::new(text.as_bytes().to_vec()))
}

fn as_text(text: &str) -> Resolved {
    Resolved::new(STR_TAG, verbatim(text))
}

fn guess(tag: &str, text: &str) -> Resolved {
    if let Some(found) = word(text) {
        return found;
    }
    let Some(&first) = text.as_bytes().first() else {
        return as_text(text);
    };
    match first {
        b'.' => match parse_float(text) {
            Some(number) => Resolved::new(FLOAT_TAG, Yaml::Float(number)),
            None => as_text(text),
        },
        b'+' | b'-' | b'0'..=b'9' => {
            if (tag.is_empty() || tag == TIMESTAMP_TAG) && is_timestamp(text) {
                return Resolved::new(TIMESTAMP_TAG, verbatim(text));
            }
            number(&text.replace('_', "")).unwrap_or_else(|| as_text(text))
        }
        _ => as_text(text),
    }
}

fn word(text: &str) -> Option<Resolved> {
    let (tag, value) = match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            (BOOL_TAG, Yaml::Bool(true))
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            (BOOL_TAG, Yaml::Bool(false))
        }
        "" | "~" | "null" | "Null" | "NULL" => (NULL_TAG, Yaml::Null),
        ".nan" | ".NaN" | ".NAN" => (FLOAT_TAG, Yaml::Float(f64::NAN)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => (FLOAT_TAG, Yaml::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => (FLOAT_TAG, Yaml::Float(f64::NEG_INFINITY)),
        _ => return None,
    };
    Some(Resolved::new(tag, value))
}

fn number(plain: &str) -> Option<Resolved> {
    if let Some(number) = parse_int(plain) {
        return Some(Resolved::new(INT_TAG, Yaml::Int(number)));
    }
    if let Some(number) = parse_uint(plain) {
        return Some(Resolved::new(INT_TAG, Yaml::Uint(number)));
    }
    if is_yaml_float(plain)
        && let Some(number) = parse_float(plain)
    {
        return Some(Resolved::new(FLOAT_TAG, Yaml::Float(number)));
    }
    binary_number(plain)
}

/// `0b` numbers once more, with a second sign allowed after the prefix (`0b-1`), as go-yaml has it.
fn binary_number(plain: &str) -> Option<Resolved> {
    let int = |number| Resolved::new(INT_TAG, Yaml::Int(number));
    if let Some(digits) = plain.strip_prefix("0b") {
        return i64::from_str_radix(digits, 2).ok().map(int).or_else(|| {
            u64::from_str_radix(digits, 2)
                .ok()
                .map(|number| Resolved::new(INT_TAG, Yaml::Uint(number)))
        });
    }
    let digits = plain.strip_prefix("-0b")?;
    i64::from_str_radix(&format!("-{digits}"), 2).ok().map(int)
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, the shape that go-yaml takes for a float.
fn is_yaml_float(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        None => digits(mantissa),
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
    };
    mantissa_fits && exponent.is_none_or(|exponent| digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)))
}

/// YAML 1.1 numbers in base 60 (`12:30`): never read as such, but quoted on the way out.
fn is_base60(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let Some((head, tail)) = rest.split_once(':') else {
        return false;
    };
    let head_fits = head.as_bytes().first().is_some_and(u8::is_ascii_digit)
        && head.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let (groups, fraction) = match tail.split_once('.') {
        Some((groups, fraction)) => (groups, fraction),
        None => (tail, ""),
    };
    let group_fits = |group: &str| match group.as_bytes() {
        [units] => units.is_ascii_digit(),
        [tens, units] => (b'0'..=b'5').contains(tens) && units.is_ascii_digit(),
        _ => false,
    };
    head_fits && groups.split(':').all(group_fits) && fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}

/// True for the dates and times that go-yaml recognises: `2001-01-01`, also with a time of day.
fn is_timestamp(text: &str) -> bool {
    const LAYOUTS: [&str; 4] = [
        "2006-1-2T15:4:5.999999999Z07:00",
        "2006-1-2t15:4:5.999999999Z07:00",
        "2006-1-2 15:4:5.999999999",
        "2006-1-2",
    ];
    let bytes = text.as_bytes();
    let year = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    year == 4 && bytes.get(4) == Some(&b'-') && LAYOUTS.iter().any(|layout| gotime::parse(layout, text).is_ok())
}

fn short_tag(tag: &str) -> String {
    match tag.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}"),
        None => tag.to_owned(),
    }
}
