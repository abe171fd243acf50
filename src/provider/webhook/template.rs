//! Templates of the webhook provider: a map of maps of texts, no error for what is missing.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use zeroize::Zeroizing;

use crate::lang::gotime::Time;
use crate::secret::SecretValue;
use crate::template::engine::{
    Env, Error, Map, MissingKey, Options, RandomSource, Stage, Str, StringMap, Template, Value,
};

/// What templates see: name → key → value.
pub type Scope = BTreeMap<String, BTreeMap<String, SecretValue>>;

/// The name Go's texts give these templates.
const NAME: &str = "webhooktemplate";

/// Expands one template; what is missing prints `<no value>`. The error is Go's text, without any value of the data.
pub fn expand(text: &str, scope: &Scope) -> Result<Zeroizing<Vec<u8>>, String> {
    let options = Options {
        missing_key: MissingKey::Default,
        ..Options::default()
    };
    let template = Template::parse(NAME.as_bytes(), text.as_bytes(), &options).map_err(|error| shown(&error))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Time::from_unix(i64::try_from(now.as_secs()).unwrap_or(i64::MAX), now.subsec_nanos());
    let mut random = SystemRandomness;
    template
        .execute(&root(scope), &mut Env::new(now, &mut random))
        .map_err(|error| shown(&error))
}

fn root(scope: &Scope) -> Value {
    let inner = |values: &BTreeMap<String, SecretValue>| {
        let entries = values
            .iter()
            .map(|(key, value)| (Str::from(key.as_str()), Str::from(value.expose())))
            .collect();
        Value::StrMap(StringMap::new(entries))
    };
    Value::Map(Map::from_entries(
        scope
            .iter()
            .map(|(name, values)| (Str::from(name.as_str()), inner(values)))
            .collect(),
    ))
}

fn shown(error: &Error) -> String {
    let Error {
        line, node, message, ..
    } = error;
    // Go counts columns from 0.
    let column = error.column.saturating_sub(1);
    match error.stage {
        // Go names no column while it parses.
        Stage::Parse => format!("template: {NAME}:{line}: {message}"),
        Stage::Execute => format!("template: {NAME}:{line}:{column}: executing {NAME:?} at <{node}>: {message}"),
    }
}

struct SystemRandomness;

impl RandomSource for SystemRandomness {
    fn fill(&mut self, out: &mut [u8]) {
        getrandom::fill(out).expect("the operating system's random source does not fail once a process runs");
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, expand};
    use crate::secret::SecretValue;

    fn scope() -> Scope {
        let values = [("key", "a b"), ("property", "p")];
        let values = values
            .map(|(key, value)| (key.to_owned(), SecretValue::from(value.to_owned())))
            .into();
        Scope::from([("remoteRef".to_owned(), values)])
    }

    #[test]
    fn values_are_found_and_missing_ones_are_not_an_error() {
        for (text, wanted) in [
            ("x/{{ .remoteRef.key }}", "x/a b"),
            ("{{ .remoteRef.nope }}", "<no value>"),
            ("{{ .nope.key }}", "<no value>"),
            ("{{ index .remoteRef \"key\" | upper }}", "A B"),
            ("", ""),
        ] {
            assert_eq!(
                expand(text, &scope()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
                Ok(wanted.to_owned())
            );
        }
    }

    #[test]
    fn a_dash_in_a_name_does_not_parse() {
        let error = expand("{{ .remoteRef.my-key }}", &scope()).unwrap_err();
        assert_eq!(error, "template: webhooktemplate:1: bad character U+002D '-'");
    }
}
