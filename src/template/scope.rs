//! One template text to keys and values.

use zeroize::Zeroizing;

use super::engine::functions::encoding::{Alphabet, base64_decode};
use super::engine::functions::yaml;
use super::engine::{self, Env, Failure, MissingKey, Options, Template, Value, root_value};
use super::error::{Place, TemplateError};
use super::{Decoding, Delimiters, Scope, SecretMap, Surroundings};
use crate::lang::gotime::Time;

/// Largest sum of all results of one object.
const MAX_TOTAL: usize = 64 << 20;

/// Renders the templates of one object: they share the fetched data and the budget.
pub(super) struct Renderer<'k, 'e> {
    root: Value,
    keys: Vec<&'k str>,
    options: Options,
    env: Env<'e>,
    total: usize,
}

impl<'k, 'e> Renderer<'k, 'e> {
    pub(super) fn new(fetched: &'k SecretMap, delimiters: &Delimiters, surroundings: Surroundings<'e>) -> Self {
        let (seconds, nanos) = surroundings.now;
        Self {
            root: root_value(fetched),
            keys: fetched.keys().map(String::as_str).collect(),
            options: Options {
                left: delimiters.left.clone(),
                right: delimiters.right.clone(),
                missing_key: MissingKey::Error,
            },
            env: Env::new(Time::from_unix(seconds, nanos), surroundings.random),
            total: 0,
        }
    }

    /// The rendered text of one template.
    pub(super) fn text(&mut self, text: &[u8], place: &Place<'_>) -> Result<Zeroizing<Vec<u8>>, TemplateError> {
        let failed = |error: engine::Error, keys: &[&str]| TemplateError::of_engine(&error, place, text, keys);
        let template =
            Template::parse(place.name, text, &self.options).map_err(|error| failed(error, &self.keys))?;
        let output = template.execute(&self.root, &mut self.env).map_err(|error| failed(error, &self.keys))?;
        self.total = self.total.saturating_add(output.len());
        if self.total > MAX_TOTAL {
            let failure = Failure::limit(format!("rendered values are larger than {} MiB together", MAX_TOTAL >> 20));
            return Err(TemplateError::of_result(&failure, place, "", None));
        }
        Ok(output)
    }

    /// What one template stores: itself under `key`, or the keys and values it renders to.
    pub(super) fn entries(
        &mut self,
        text: &[u8],
        place: &Place<'_>,
        scope: Scope,
        decoding: Decoding,
    ) -> Result<Vec<(String, Zeroizing<Vec<u8>>)>, TemplateError> {
        let output = self.text(text, place)?;
        let pairs = match scope {
            Scope::Values => vec![(place.key.unwrap_or_default().to_owned(), output)],
            Scope::KeysAndValues => {
                const BEFORE: &str = "could not unmarshal template to 'map[string][]byte': ";
                const HINT: &str = "the rendered text must be a flat YAML map; put values through toJson or quote";
                let map = yaml::string_map(&output)
                    .map_err(|failure| TemplateError::of_result(&failure, place, BEFORE, Some(HINT)))?;
                map.into_iter().map(|(key, value)| (key, Zeroizing::new(value))).collect()
            }
        };
        pairs
            .into_iter()
            .map(|(key, value)| {
                let value = decode(value, decoding).map_err(|why| {
                    let failure = Failure::new(format!("failed to decode rendered template value for key {key}: {why}"));
                    let hint = "valuesDecodingStrategy wants every value of this entry in base64";
                    TemplateError::of_result(&failure, place, "", Some(hint))
                })?;
                Ok((key, value))
            })
            .collect()
    }
}

fn decode(value: Zeroizing<Vec<u8>>, decoding: Decoding) -> Result<Zeroizing<Vec<u8>>, String> {
    let read = |alphabet| base64_decode(&value, alphabet).map(Zeroizing::new);
    match decoding {
        Decoding::None => Ok(value),
        Decoding::Base64 => read(Alphabet::Standard),
        Decoding::Base64Url => read(Alphabet::Url),
        Decoding::Auto => Ok(read(Alphabet::Standard).or_else(|_| read(Alphabet::Url)).unwrap_or(value)),
    }
}
