//! New names for fetched keys (`rewrite.transform`).

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::engine::format::quote::quoted;
use super::engine::{Env, MissingKey, Options, Template, root_value, utf8};
use super::error::{Origin, Place, TemplateError};
use super::{SecretMap, Surroundings};
use crate::lang::gotime::Time;

/// Renames every key by a template whose data is `{value: <key>}`. The usual delimiters apply whatever the
/// operator's flags say, and an absent field prints `<no value>`. Of two keys with the same new name the later
/// one in byte order wins.
///
/// # Errors
/// The template cannot be read, or fails on a key.
pub fn transform_keys(
    text: &str,
    fetched: &SecretMap,
    surroundings: Surroundings<'_>,
) -> Result<SecretMap, TemplateError> {
    let options = Options { missing_key: MissingKey::Default, ..Options::default() };
    let (seconds, nanos) = surroundings.now;
    let mut env = Env::new(Time::from_unix(seconds, nanos), surroundings.random);
    let failed = |error: &super::engine::Error, key: Option<&str>, layer: String| {
        let place = Place { origin: Origin::Transform, key, name: b"transform" };
        let located = TemplateError::of_engine(error, &place, text.as_bytes(), &["value"]);
        located.with_go_text(format!("transform failed with {layer}{}", error.go_text()))
    };
    let template = Template::parse(b"transform", text.as_bytes(), &options)
        .map_err(|error| failed(&error, None, "failed to parse template: ".to_owned()))?;
    let mut renamed = SecretMap::new();
    for (key, value) in fetched {
        let data = BTreeMap::from([("value".to_owned(), Zeroizing::new(key.as_bytes().to_vec()))]);
        let name = template.execute(&root_value(&data), &mut env).map_err(|error| {
            failed(&error, Some(key), format!("failed to execute template for key {}: ", quoted(key.as_bytes())))
        })?;
        renamed.insert(utf8::lossy(&name), value.clone());
    }
    Ok(renamed)
}
