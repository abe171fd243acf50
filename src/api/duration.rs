//! Go durations as the API stores them: text such as `1h0m0s`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use crate::lang::duration::GoDuration;

impl GoDuration {
    /// ESO's default refresh interval.
    pub const HOUR: Self = Self::from_nanos(3_600_000_000_000);

    /// True for more than nothing: most intervals of ESO are switched off otherwise.
    pub fn is_positive(self) -> bool {
        self > Self::ZERO
    }
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = GoDuration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a Go duration such as 1h30m")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GoDuration, E> {
                GoDuration::parse(text).map_err(E::custom)
            }

            fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<GoDuration, E> {
                Err(E::custom("json: cannot unmarshal number into Go value of type string"))
            }

            fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<GoDuration, E> {
                self.visit_i64(0)
            }

            fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<GoDuration, E> {
                self.visit_i64(0)
            }

            fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<GoDuration, E> {
                Err(E::custom("json: cannot unmarshal bool into Go value of type string"))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::GoDuration;
    use serde_json::json;

    #[test]
    fn is_read_and_written_as_text() {
        let read: GoDuration = serde_json::from_value(json!("90m")).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), json!("1h30m0s"));
        assert!(read > GoDuration::HOUR && read.is_positive() && !GoDuration::ZERO.is_positive());
    }

    #[test]
    fn is_refused_with_the_text_of_go() {
        for (value, error) in [
            (json!("1d"), r#"time: unknown unit "d" in duration "1d""#),
            (json!(5), "json: cannot unmarshal number into Go value of type string"),
            (json!(true), "json: cannot unmarshal bool into Go value of type string"),
        ] {
            assert_eq!(
                serde_json::from_value::<GoDuration>(value).unwrap_err().to_string(),
                error
            );
        }
    }
}
