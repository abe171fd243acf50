//! Random texts and numbers. The bytes come from the caller of the engine.

use super::{Env, ParamType as P, Row, arg};
use crate::template::engine::failure::Failure;
use crate::template::engine::utf8;
use crate::template::engine::value::Value;

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("randAlphaNum", &[P::Int], |env, args| text(env, args, |byte| byte.is_ascii_alphanumeric())),
    Row::new("randAlpha", &[P::Int], |env, args| text(env, args, |byte| byte.is_ascii_alphabetic())),
    Row::new("randNumeric", &[P::Int], |env, args| text(env, args, |byte| byte.is_ascii_digit())),
    Row::new("randAscii", &[P::Int], |env, args| text(env, args, |byte| (b' '..=b'~').contains(&byte))),
    Row::new("randInt", &[P::Int, P::Int], integer),
    Row::new("shuffle", &[P::String], shuffle),
    Row::new("uuidv4", &[], uuid),
];

fn text(env: &mut Env<'_>, args: &[Value], allowed: fn(u8) -> bool) -> Result<Value, Failure> {
    let count = usize::try_from(arg::int(args, 0)).unwrap_or(0);
    env.reserve(count)?;
    env.spend(count as u64 / 4)?;
    let mut out = Vec::with_capacity(count);
    let mut pool = zeroize::Zeroizing::new([0u8; 256]);
    while out.len() < count {
        env.fill_random(&mut pool[..]);
        out.extend(pool.iter().map(|byte| byte & 0x7f).filter(|&byte| allowed(byte)).take(count - out.len()));
    }
    Ok(Value::str(out))
}

/// A number below `bound`, every one as likely as any other.
fn below(env: &mut Env<'_>, bound: u64) -> u64 {
    let fair = u64::MAX - u64::MAX % bound;
    loop {
        let mut bytes = [0; 8];
        env.fill_random(&mut bytes);
        let drawn = u64::from_le_bytes(bytes);
        if drawn < fair {
            return drawn % bound;
        }
    }
}

fn integer(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (low, high) = (arg::int(args, 0), arg::int(args, 1));
    match u64::try_from(high.wrapping_sub(low)) {
        Ok(span) if span > 0 => Ok(Value::Int(low.wrapping_add_unsigned(below(env, span)))),
        _ => Err(Failure::new("invalid argument to Intn")),
    }
}

fn shuffle(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let mut letters: Vec<char> = utf8::chars(arg::bytes(args, 0)).map(|found| found.character).collect();
    env.spend(letters.len() as u64)?;
    for at in (1..letters.len()).rev() {
        let other = usize::try_from(below(env, at as u64 + 1)).unwrap_or(0);
        letters.swap(at, other);
    }
    Ok(Value::str(letters.into_iter().collect::<String>()))
}

fn uuid(env: &mut Env<'_>, _: &[Value]) -> Result<Value, Failure> {
    let mut bytes = [0u8; 16];
    env.fill_random(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut shown = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            shown.push('-');
        }
        shown.push_str(&format!("{byte:02x}"));
    }
    Ok(Value::str(shown))
}
