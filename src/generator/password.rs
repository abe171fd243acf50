//! Generator `Password`.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde::Deserialize;
use zeroize::Zeroizing;

use super::random::Random;
use super::{Generated, GeneratorError};
use crate::secret::{SecretData, SecretValue};

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &str = "0123456789";
const SYMBOLS: &str = "~!@#$%^&*()_+`-={}|[]\\:\"<>?,./";
const DEFAULT_LENGTH: i64 = 24;

/// `spec` of a Password.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PasswordSpec {
    length: i64,
    digits: Option<i64>,
    symbols: Option<i64>,
    symbol_characters: String,
    no_upper: bool,
    allow_repeat: bool,
    secret_keys: Vec<String>,
    encoding: String,
}

impl Default for PasswordSpec {
    fn default() -> Self {
        Self {
            length: DEFAULT_LENGTH,
            digits: None,
            symbols: None,
            symbol_characters: String::new(),
            no_upper: false,
            allow_repeat: false,
            secret_keys: Vec::new(),
            encoding: String::new(),
        }
    }
}

/// One password per key.
pub fn generate(spec: &PasswordSpec, random: &mut dyn Random) -> Result<Generated, GeneratorError> {
    let keys = if spec.secret_keys.is_empty() {
        vec!["password".to_owned()]
    } else {
        spec.secret_keys.clone()
    };
    let distinct: BTreeSet<&String> = keys.iter().collect();
    if distinct.len() != keys.len() || keys.iter().any(String::is_empty) {
        return Err(GeneratorError::new("secretKeys must be non-empty and unique"));
    }
    let recipe = Recipe::new(spec)?;
    let mut data = SecretData::new();
    for key in keys {
        data.insert(key, encode(&spec.encoding, &recipe.password(random)?)?);
    }
    Ok(Generated { data, state: None })
}

/// How many characters of which sets.
struct Recipe {
    letters: (usize, Vec<char>),
    digits: (usize, Vec<char>),
    symbols: (usize, Vec<char>),
    allow_repeat: bool,
}

impl Recipe {
    fn new(spec: &PasswordSpec) -> Result<Self, GeneratorError> {
        let length = if spec.length <= 0 { DEFAULT_LENGTH } else { spec.length };
        // A quarter, cut off; ESO multiplies in single precision, which is exact for every length in use.
        let (digits, symbols) = (spec.digits.unwrap_or(length / 4), spec.symbols.unwrap_or(length / 4));
        let letters = length - digits - symbols;
        if letters < 0 {
            return Err(GeneratorError::new(
                "number of digits and symbols must be less than total length",
            ));
        }
        let count = |number: i64| usize::try_from(number).unwrap_or(0);
        let alphabet = if spec.no_upper {
            LOWER.to_owned()
        } else {
            format!("{LOWER}{UPPER}")
        };
        let symbol_set = if spec.symbol_characters.is_empty() {
            SYMBOLS
        } else {
            &spec.symbol_characters
        };
        let recipe = Self {
            letters: (count(letters), alphabet.chars().collect()),
            digits: (count(digits), DIGITS.chars().collect()),
            symbols: (count(symbols), symbol_set.chars().collect()),
            allow_repeat: spec.allow_repeat,
        };
        recipe.check()?;
        Ok(recipe)
    }

    fn check(&self) -> Result<(), GeneratorError> {
        let too_many = |(count, set): &(usize, Vec<char>), what: &str, of: &str| {
            if *count > set.len() {
                let text = format!("number of {what} exceeds available {of} and repeats are not allowed");
                return Err(GeneratorError::new(text));
            }
            Ok(())
        };
        if self.symbols.0 > 0 && self.symbols.1.is_empty() {
            return Err(GeneratorError::new("symbolCharacters holds no characters"));
        }
        if self.allow_repeat {
            return Ok(());
        }
        too_many(&self.letters, "letters", "letters")?;
        too_many(&self.digits, "digits", "digits")?;
        too_many(&self.symbols, "symbols", "symbols")
    }

    /// Letters, then digits, then symbols, each put at a random place; without repeats no character comes twice in all.
    fn password(&self, random: &mut dyn Random) -> Result<Zeroizing<String>, GeneratorError> {
        let mut text: Zeroizing<Vec<char>> = Zeroizing::new(Vec::new());
        for (count, set) in [&self.letters, &self.digits, &self.symbols] {
            for _ in 0..*count {
                let character = self.draw(set, &text, random)?;
                let at = random.below(text.len() + 1)?;
                text.insert(at, character);
            }
        }
        Ok(Zeroizing::new(text.iter().collect()))
    }

    fn draw(&self, set: &[char], taken: &[char], random: &mut dyn Random) -> Result<char, GeneratorError> {
        if self.allow_repeat {
            return Ok(set[random.below(set.len())?]);
        }
        // Drawing from what is left is the same as drawing again until it is new, and it cannot go on for ever.
        let left: Vec<char> = set
            .iter()
            .copied()
            .filter(|character| !taken.contains(character))
            .collect();
        if left.is_empty() {
            return Err(GeneratorError::new(
                "symbolCharacters holds too few different characters that are not drawn already and repeats are not allowed",
            ));
        }
        Ok(left[random.below(left.len())?])
    }
}

fn encode(encoding: &str, password: &str) -> Result<SecretValue, GeneratorError> {
    let bytes = password.as_bytes();
    Ok(match encoding {
        "" | "raw" => SecretValue::new(bytes.to_vec()),
        "base64" => SecretValue::from(STANDARD.encode(bytes)),
        "base64url" => SecretValue::from(URL_SAFE.encode(bytes)),
        "base32" => SecretValue::from(super::base32::encode(bytes)),
        "hex" => SecretValue::from(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        other => return Err(GeneratorError::new(format!("unsupported encoding: {other}"))),
    })
}

#[cfg(test)]
mod tests {
    use super::{PasswordSpec, encode, generate};
    use crate::generator::random::Counting;
    use serde_json::{Value, json};

    fn spec(value: Value) -> PasswordSpec {
        serde_json::from_value(value).unwrap()
    }

    fn made(value: Value) -> Result<String, String> {
        let made = generate(&spec(value), &mut Counting(1)).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(made.data["password"].expose().to_vec()).unwrap())
    }

    fn counts(text: &str) -> (usize, usize, usize) {
        let digits = text.chars().filter(char::is_ascii_digit).count();
        let letters = text.chars().filter(char::is_ascii_alphabetic).count();
        (letters, digits, text.chars().count() - digits - letters)
    }

    fn distinct(text: &str) -> bool {
        text.chars().collect::<std::collections::BTreeSet<_>>().len() == text.chars().count()
    }

    #[test]
    fn counts_are_exact_and_nothing_comes_twice() {
        for (value, wanted) in [
            (json!({}), (12, 6, 6)),
            (json!({"length": 0}), (12, 6, 6)),
            (json!({"length": 43}), (23, 10, 10)),
            (
                json!({"length": 12, "digits": 3, "symbols": 2, "symbolCharacters": "-_", "noUpper": true}),
                (7, 3, 2),
            ),
            (json!({"length": 4, "digits": 2, "symbols": 2}), (0, 2, 2)),
        ] {
            let text = made(value).unwrap();
            assert_eq!(counts(&text), wanted);
            assert!(distinct(&text), "{text}");
        }
        let letters = made(json!({"length": 60, "digits": 0, "symbols": 0, "allowRepeat": true})).unwrap();
        assert_eq!(counts(&letters), (60, 0, 0));
    }

    #[test]
    fn what_cannot_be_made_is_told_in_order() {
        for (value, error) in [
            (
                json!({"length": 44}),
                "number of digits exceeds available digits and repeats are not allowed",
            ),
            (
                json!({"length": 4, "digits": 3, "symbols": 3}),
                "number of digits and symbols must be less than total length",
            ),
            (
                json!({"length": 60, "digits": 0, "symbols": 0}),
                "number of letters exceeds available letters and repeats are not allowed",
            ),
            (
                json!({"length": 9, "digits": 0, "symbols": 3, "symbolCharacters": "-_"}),
                "number of symbols exceeds available symbols and repeats are not allowed",
            ),
            (
                json!({"secretKeys": ["a", "a"]}),
                "secretKeys must be non-empty and unique",
            ),
            (json!({"secretKeys": [""]}), "secretKeys must be non-empty and unique"),
        ] {
            assert_eq!(made(value), Err(error.to_owned()));
        }
    }

    #[test]
    fn symbols_that_cannot_be_placed_end_in_an_error_and_not_in_a_loop() {
        let error = made(json!({"length": 4, "digits": 0, "symbols": 2, "symbolCharacters": "!!"})).unwrap_err();
        assert!(
            error.starts_with("symbolCharacters holds too few different characters"),
            "{error}"
        );
    }

    #[test]
    fn symbols_are_characters_and_not_bytes() {
        let text = made(json!({"length": 6, "digits": 0, "symbols": 3, "symbolCharacters": "éüß"})).unwrap();
        assert_eq!(text.chars().filter(|c| "éüß".contains(*c)).count(), 3);
    }

    #[test]
    fn each_key_has_its_own_value() {
        let made = generate(&spec(json!({"secretKeys": ["a", "b"]})), &mut Counting(1)).unwrap();
        assert_ne!(made.data["a"], made.data["b"]);
    }

    #[test]
    fn encodings() {
        for (encoding, text) in [
            ("raw", "Test>>Pass??word"),
            ("base64", "VGVzdD4+UGFzcz8/d29yZA=="),
            ("base64url", "VGVzdD4-UGFzcz8_d29yZA=="),
            ("base32", "KRSXG5B6HZIGC43TH47XO33SMQ======"),
            ("hex", "546573743e3e506173733f3f776f7264"),
        ] {
            assert_eq!(encode(encoding, "Test>>Pass??word").unwrap().expose(), text.as_bytes());
        }
    }
}
