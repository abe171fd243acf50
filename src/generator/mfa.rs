//! Generator `MFA`: one-time codes (TOTP, RFC 6238), as ESO makes them.
//!
//! `algorithm` has no effect: ESO never hands it on, so every code is HMAC-SHA1.

use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use serde::Deserialize;
use sha1::Sha1;
use zeroize::Zeroizing;

use super::{Generated, GeneratorError, base32};
use crate::api::secret_store::SecretKeySelector;
use crate::cluster::credentials::Credentials;
use crate::secret::{SecretData, SecretValue};

/// `spec` of an MFA.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MfaSpec {
    secret: SecretKeySelector,
    length: i64,
    time_period: i64,
    when: Option<String>,
}

/// Reads the seed in `namespace` and makes a code for `now`, or for the pinned time.
pub async fn generate(
    spec: &MfaSpec,
    namespace: &str,
    credentials: &Credentials,
    now: Timestamp,
) -> Result<Generated, GeneratorError> {
    let secret = credentials.secret(namespace, &spec.secret.name).await;
    let secret =
        secret.map_err(|failure| GeneratorError::new(format!("failed to find secret for token key: {failure}")))?;
    let Some(seed) = secret.data.get(&spec.secret.key) else {
        return Err(GeneratorError::new(format!(
            "secret key {} does not exist in secret data map",
            spec.secret.key
        )));
    };
    let when = match spec.when.as_deref().filter(|text| !text.is_empty()) {
        Some(text) => text
            .parse()
            .map_err(|_| GeneratorError::new(format!("invalid time {text:?} in when")))?,
        None => now,
    };
    let (token, left) = code(seed.expose(), spec.length, spec.time_period, when.as_second())
        .map_err(|error| GeneratorError::new(format!("failed to generate code for token key: {error}")))?;
    let data = [
        ("token", SecretValue::from(token)),
        ("timeLeft", SecretValue::from(left)),
    ];
    Ok(Generated {
        data: data
            .map(|(key, value)| (key.to_owned(), value))
            .into_iter()
            .collect::<SecretData>(),
        state: None,
    })
}

/// The code and the seconds it is still good for.
fn code(seed: &[u8], length: i64, period: i64, unix: i64) -> Result<(String, String), String> {
    let length = if length <= 0 { 6 } else { length };
    let period = if period <= 0 { 30 } else { period };
    let seed = Zeroizing::new(String::from_utf8_lossy(seed).replace(' ', "").to_uppercase());
    let key = base32::decode_lenient(&seed)
        .map(Zeroizing::new)
        .map_err(|at| format!("failed to generate OTP code: illegal base32 data at input byte {at}"))?;
    let counter = unix.div_euclid(period);
    let mut mac = Hmac::<Sha1>::new_from_slice(&key).expect("HMAC takes a key of any length");
    mac.update(&counter.to_be_bytes());
    let digest = mac.finalize().into_bytes();
    let offset = usize::from(digest[digest.len() - 1] & 0x0f);
    let four = [
        digest[offset] & 0x7f,
        digest[offset + 1],
        digest[offset + 2],
        digest[offset + 3],
    ];
    let number = u64::from(u32::from_be_bytes(four));
    let digits = usize::try_from(length).unwrap_or(usize::MAX).min(MOST_DIGITS);
    let number = u32::try_from(digits)
        .ok()
        .and_then(|digits| 10_u64.checked_pow(digits))
        .map_or(number, |modulus| number % modulus);
    Ok((
        format!("{number:0digits$}"),
        (period - unix.rem_euclid(period)).to_string(),
    ))
}

/// Longer codes would be zeros in front of ten digits; this bounds what a manifest can ask for.
const MOST_DIGITS: usize = 256;

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn codes_of_the_standard_seed() {
        let seed = b"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
        for (unix, six, eight, left) in [
            (59, "287082", "94287082", "1"),
            (1_111_111_109, "081804", "07081804", "1"),
            (1_111_111_111, "050471", "14050471", "29"),
            (1_234_567_890, "005924", "89005924", "30"),
            (2_000_000_000, "279037", "69279037", "10"),
            (20_000_000_000, "353130", "65353130", "10"),
        ] {
            assert_eq!(code(seed, 0, 0, unix), Ok((six.to_owned(), left.to_owned())));
            assert_eq!(code(seed, 8, 30, unix).unwrap().0, eight);
        }
    }

    #[test]
    fn a_seed_may_be_spaced_lower_case_or_decode_to_nothing() {
        let seed = b"gezd gnbv gy3t qojq gezd gnbv gy3t qojq";
        assert_eq!(code(seed, 6, 30, 59).unwrap().0, "287082");
        // 1998-05-05T05:05:05Z
        assert_eq!(
            code(b"foo", 0, 0, 894_344_705),
            Ok(("674024".to_owned(), "25".to_owned()))
        );
    }

    #[test]
    fn padding_is_an_error() {
        assert_eq!(
            code(b"MY======", 6, 30, 59),
            Err("failed to generate OTP code: illegal base32 data at input byte 2".to_owned())
        );
    }
}
