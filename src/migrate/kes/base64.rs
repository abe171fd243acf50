//! Base64 as the API server and Go's template functions read it.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// Padding is required, stray bits in the last letter are not looked at.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Standard base64; line breaks are skipped, as Go does. `None` when the text is not base64.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let plain: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    ENGINE.decode(plain).ok()
}

/// Standard base64 with padding.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}
