//! Distinguished names: reading them and printing them as Go's `pkix.Name.String` does.

use super::der::{self, Encoded, Reader, tag};
use super::oid;

/// One attribute of a name.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    oid: Vec<u8>,
    text: String,
    /// The value as Go would write it again, for attributes without a short name.
    encoded: Vec<u8>,
}

/// Attributes with a short name, in the order Go prints them (from the last to the first).
const KNOWN: [(u8, &str); 9] = [
    (6, "C"),
    (8, "ST"),
    (7, "L"),
    (9, "STREET"),
    (17, "POSTALCODE"),
    (10, "O"),
    (11, "OU"),
    (3, "CN"),
    (5, "SERIALNUMBER"),
];

/// Reads the attributes of a name; `None` when it is malformed.
pub(super) fn read(content: &[u8]) -> Option<Vec<Attribute>> {
    let mut attributes = Vec::new();
    let mut sets = Reader::new(content);
    while !sets.is_empty() {
        let mut set = sets.nested(tag::SET)?;
        while !set.is_empty() {
            let mut pair = set.nested(tag::SEQUENCE)?;
            let oid = pair.oid()?;
            let value = pair.element()?;
            let text = read_text(value.tag, value.content)?;
            attributes.push(Attribute {
                oid: oid.to_vec(),
                encoded: write_text(&text).to_vec(),
                text,
            });
        }
    }
    Some(attributes)
}

fn read_text(kind: u8, content: &[u8]) -> Option<String> {
    match kind {
        tag::UTF8 => std::str::from_utf8(content).ok().map(str::to_owned),
        tag::PRINTABLE => {
            let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(byte);
            content
                .iter()
                .all(fits)
                .then(|| String::from_utf8_lossy(content).into_owned())
        }
        tag::IA5 | 0x12 => content
            .is_ascii()
            .then(|| String::from_utf8_lossy(content).into_owned()),
        tag::T61 => Some(content.iter().map(|&byte| char::from(byte)).collect()),
        tag::BMP => {
            let units: Vec<u16> = content
                .chunks_exact(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect();
            let units = units.strip_suffix(&[0]).unwrap_or(&units);
            content.len().is_multiple_of(2).then(|| String::from_utf16_lossy(units))
        }
        _ => None,
    }
}

/// Text as Go encodes it: printable if it can be, else UTF-8.
pub(super) fn write_text(text: &str) -> Encoded {
    let printable = |byte: u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte);
    let kind = if text.bytes().all(printable) {
        tag::PRINTABLE
    } else {
        tag::UTF8
    };
    der::encode(kind, &[text.as_bytes()])
}

/// A name that consists of a common name; an empty one has no attributes.
pub(super) fn common_name(name: &str) -> Encoded {
    if name.is_empty() {
        return der::sequence(&[]);
    }
    let pair = der::sequence(&[&der::oid(oid::COMMON_NAME), &write_text(name)]);
    der::sequence(&[&der::encode(tag::SET, &[&pair])])
}

/// The name as Go prints it: `CN=x,O=y`.
pub(super) fn print(attributes: &[Attribute]) -> String {
    let short = |attribute: &Attribute| match attribute.oid[..] {
        [0x55, 4, last] => KNOWN.iter().find(|known| known.0 == last).map(|known| known.1),
        _ => None,
    };
    let mut parts: Vec<String> = Vec::new();
    // Single-valued names keep their last value, the others join all of theirs.
    for (number, name) in KNOWN.iter().rev() {
        let mut values: Vec<&str> = attributes
            .iter()
            .filter(|attribute| attribute.oid == [0x55, 4, *number])
            .map(|attribute| attribute.text.as_str())
            .collect();
        if matches!(number, 3 | 5) {
            values = values
                .last()
                .filter(|value| !value.is_empty())
                .into_iter()
                .copied()
                .collect();
        }
        if !values.is_empty() {
            let values: Vec<String> = values.iter().map(|value| format!("{name}={}", escape(value))).collect();
            parts.push(values.join("+"));
        }
    }
    for attribute in attributes.iter().rev().filter(|attribute| short(attribute).is_none()) {
        let mut part = format!("{}=#", oid::dotted(&attribute.oid));
        attribute.encoded.iter().for_each(|&byte| push_hex(&mut part, byte));
        parts.push(part);
    }
    parts.join(",")
}

fn push_hex(text: &mut String, byte: u8) {
    for digit in [byte >> 4, byte & 0x0f] {
        text.extend(char::from_digit(digit.into(), 16));
    }
}

fn escape(value: &str) -> String {
    let mut escaped = String::new();
    for (at, c) in value.char_indices() {
        let special = match c {
            ',' | '+' | '"' | '\\' | '<' | '>' | ';' => true,
            ' ' => at == 0 || at == value.len() - 1,
            '#' => at == 0,
            _ => false,
        };
        if special {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
