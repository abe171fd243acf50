//! Base64, base32 and hexadecimal text. A failing decoder returns its complaint as the value, as sprig does.

use super::{Env, ParamType as P, Row, arg};
use crate::template::engine::failure::Failure;
use crate::template::engine::format::quote;
use crate::template::engine::value::Value;

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("b64enc", &[P::String], |_, args| Ok(Value::str(base64_encode(arg::bytes(args, 0))))),
    Row::new("b64dec", &[P::String], |_, args| Ok(or_complaint(base64_decode(arg::bytes(args, 0), Alphabet::Standard)))),
    Row::new("b32enc", &[P::String], |_, args| Ok(Value::str(base32_encode(arg::bytes(args, 0))))),
    Row::new("b32dec", &[P::String], |_, args| Ok(or_complaint(base32_decode(arg::bytes(args, 0))))),
    Row::new("hexdec", &[P::String], |_, args| Ok(or_complaint(hex_decode(arg::bytes(args, 0))))),
    Row::new("randBytes", &[P::Int], random_bytes),
];

fn or_complaint(decoded: Result<Vec<u8>, String>) -> Value {
    match decoded {
        Ok(bytes) => Value::str(bytes),
        Err(complaint) => Value::str(complaint),
    }
}

/// Which two characters stand for 62 and 63.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// `+` and `/`
    Standard,
    /// `-` and `_`
    Url,
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Standard base64 with padding.
pub fn base64_encode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut padded = [0u8; 4];
        padded[1..=group.len()].copy_from_slice(group);
        let bits = u32::from_be_bytes(padded);
        for at in 0..4 {
            let index = bits >> (18 - 6 * at) & 63;
            out.push(if at <= group.len() { BASE64[index as usize] } else { b'=' });
        }
    }
    out
}

fn base64_value(byte: u8, alphabet: Alphabet) -> Option<u8> {
    let url = alphabet == Alphabet::Url;
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' if !url => 62,
        b'/' if !url => 63,
        b'-' if url => 62,
        b'_' if url => 63,
        _ => return None,
    })
}

fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Padded base64; line breaks are skipped anywhere.
///
/// # Errors
/// Go's message with the offset of the first fault.
pub fn base64_decode(text: &[u8], alphabet: Alphabet) -> Result<Vec<u8>, String> {
    let corrupt = |at: usize| format!("illegal base64 data at input byte {at}");
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0usize);
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if let Some(value) = base64_value(byte, alphabet) {
            bits = bits << 6 | u32::from(value);
            count += 1;
            if count == 4 {
                out.extend_from_slice(&bits.to_be_bytes()[1..]);
                (bits, count) = (0, 0);
            }
        } else if is_break(byte) {
        } else if byte != b'=' || count < 2 {
            return Err(corrupt(at - 1));
        } else {
            let skip = |mut from: usize| {
                while text.get(from).copied().is_some_and(is_break) {
                    from += 1;
                }
                from
            };
            if count == 2 {
                at = skip(at);
                if text.get(at) != Some(&b'=') {
                    return Err(corrupt(at));
                }
                at += 1;
            }
            at = skip(at);
            if at < text.len() {
                return Err(corrupt(at));
            }
            bits <<= 6 * (4 - count);
            out.extend_from_slice(&bits.to_be_bytes()[1..count]);
            return Ok(out);
        }
    }
    if count > 0 { Err(corrupt(text.len() - count)) } else { Ok(out) }
}

/// Standard base32 with padding.
pub fn base32_encode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len().div_ceil(5) * 8);
    for group in bytes.chunks(5) {
        let mut padded = [0u8; 8];
        padded[3..3 + group.len()].copy_from_slice(group);
        let bits = u64::from_be_bytes(padded);
        let used = (group.len() * 8).div_ceil(5);
        for at in 0..8 {
            let index = bits >> (35 - 5 * at) & 31;
            out.push(if at < used { BASE32[index as usize] } else { b'=' });
        }
    }
    out
}

fn base32_value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    }
}

/// Padded base32; line breaks are dropped before offsets are counted.
fn base32_decode(text: &[u8]) -> Result<Vec<u8>, String> {
    let text: Vec<u8> = text.iter().copied().filter(|&byte| !is_break(byte)).collect();
    let corrupt = |at: usize| format!("illegal base32 data at input byte {at}");
    let mut out = Vec::with_capacity(text.len() / 8 * 5);
    let mut from = 0;
    while from < text.len() {
        let group = &text[from..text.len().min(from + 8)];
        let (mut bits, mut count, mut ended) = (0u64, 0usize, false);
        for (j, &byte) in group.iter().enumerate() {
            let left = text.len() - from - j - 1;
            if byte == b'=' && j >= 2 && left < 8 {
                if left + j < 7 {
                    return Err(corrupt(text.len()));
                }
                if let Some(k) = (0..7 - j).find(|&k| group.get(j + 1 + k).is_some_and(|&b| b != b'=')) {
                    return Err(corrupt(from + j + k));
                }
                if matches!(j, 1 | 3 | 6) {
                    return Err(corrupt(from + j));
                }
                ended = true;
                break;
            }
            bits = bits << 5 | u64::from(base32_value(byte).ok_or_else(|| corrupt(from + j))?);
            count += 1;
        }
        if count < 8 && !ended {
            return Err(corrupt(text.len() - count));
        }
        bits <<= 5 * (8 - count);
        out.extend_from_slice(&bits.to_be_bytes()[3..3 + count * 5 / 8]);
        if ended {
            break;
        }
        from += 8;
    }
    Ok(out)
}

fn hex_decode(text: &[u8]) -> Result<Vec<u8>, String> {
    if let Some(&byte) = text.iter().find(|byte| !byte.is_ascii_hexdigit()) {
        return Err(format!("encoding/hex: invalid byte: {}", quote::code_point(char::from(byte), true)));
    }
    if text.len() % 2 == 1 {
        return Err("encoding/hex: odd length hex string".to_owned());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or(0);
    Ok(text.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect())
}

fn random_bytes(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let count = usize::try_from(arg::int(args, 0))
        .map_err(|_| Failure::new("runtime error: makeslice: len out of range"))?;
    env.reserve(count.saturating_mul(3))?;
    env.spend(count as u64 / 16)?;
    let mut bytes = zeroize::Zeroizing::new(vec![0; count]);
    env.fill_random(&mut bytes);
    Ok(Value::str(base64_encode(&bytes)))
}
