//! Generator `UUID`: one random version 4 UUID, lower case.

use super::random::Random;
use super::{Generated, GeneratorError};
use crate::secret::SecretValue;

/// Key `uuid`, 36 characters.
pub fn generate(random: &mut dyn Random) -> Result<Generated, GeneratorError> {
    let mut bytes = [0; 16];
    random.fill(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let text = format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    );
    Ok(Generated {
        data: [("uuid".to_owned(), SecretValue::from(text))].into(),
        state: None,
    })
}

#[cfg(test)]
mod tests {
    use super::generate;
    use crate::generator::random::Counting;

    #[test]
    fn version_and_variant_are_set() {
        let made = generate(&mut Counting(3)).unwrap();
        let text = String::from_utf8(made.data["uuid"].expose().to_vec()).unwrap();
        assert_eq!(text.len(), 36);
        assert_eq!(&text[14..15], "4");
        assert!("89ab".contains(&text[19..20]), "{text}");
        assert_eq!(text, text.to_lowercase());
    }
}
