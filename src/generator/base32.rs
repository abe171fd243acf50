//! Base32 (RFC 4648): padded output, and the lenient input rule of the one-time code library ESO uses.

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Upper case, padded.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for chunk in bytes.chunks(5) {
        let mut group = [0; 5];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = group.iter().fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        let letters = (chunk.len() * 8).div_ceil(5);
        for index in 0..8 {
            let position = usize::try_from(bits >> (35 - 5 * index) & 31).unwrap_or(0);
            out.push(if index < letters {
                char::from(ALPHABET[position])
            } else {
                '='
            });
        }
    }
    out
}

/// Upper case without padding; CR and LF are skipped. A last group of 2, 4, 5 or 7 letters gives 1, 2, 3 or 4 bytes, one
/// of 1, 3 or 6 letters gives nothing at all and is no error. The error is the position of the first wrong byte.
pub fn decode_lenient(text: &str) -> Result<Vec<u8>, usize> {
    let mut out = Vec::new();
    let mut group = (0_u64, 0_u32);
    for (at, byte) in text.bytes().enumerate() {
        if matches!(byte, b'\r' | b'\n') {
            continue;
        }
        let value = ALPHABET.iter().position(|letter| *letter == byte).ok_or(at)?;
        group = (group.0 << 5 | value as u64, group.1 + 1);
        if group.1 == 8 {
            out.extend_from_slice(&group.0.to_be_bytes()[3..]);
            group = (0, 0);
        }
    }
    let (bits, letters) = group;
    let whole = match letters {
        2 => 1,
        4 => 2,
        5 => 3,
        7 => 4,
        _ => 0,
    };
    let aligned = bits << (40 - 5 * letters);
    out.extend_from_slice(&aligned.to_be_bytes()[3..3 + whole]);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{decode_lenient, encode};

    #[test]
    fn encodes_with_padding() {
        for (text, code) in [
            ("", ""),
            ("f", "MY======"),
            ("foobar", "MZXW6YTBOI======"),
            ("fooba", "MZXW6YTB"),
        ] {
            assert_eq!(encode(text.as_bytes()), code);
        }
    }

    #[test]
    fn decodes_without_padding_and_forgives_the_tail() {
        for (code, text) in [
            ("MZXW6YTBOI", "foobar"),
            ("MZ\nXW6YTB\r\n", "fooba"),
            ("MY", "f"),
            ("FOO", ""),
            ("M", ""),
            ("MZXW6Y", ""),
        ] {
            assert_eq!(decode_lenient(code), Ok(text.as_bytes().to_vec()), "{code}");
        }
        assert_eq!(decode_lenient("MY======"), Err(2));
        assert_eq!(decode_lenient("my"), Err(0));
    }
}
