//! Methods and hidden fields of the types that have them.

use super::{Row, dates, semver};
use crate::template::engine::value::Value;

/// The method of that name, if the type has one.
pub fn find(receiver: &Value, name: &[u8]) -> Option<&'static Row> {
    let rows: &'static [Row] = match receiver {
        Value::Time(_) => dates::TIME_METHODS,
        Value::Duration(_) => dates::DURATION_METHODS,
        Value::Month(_) => dates::MONTH_METHODS,
        Value::Weekday(_) => dates::WEEKDAY_METHODS,
        Value::Location(_) => dates::LOCATION_METHODS,
        Value::SemverValue(_) => semver::VALUE_METHODS,
        Value::Semver(_) => {
            let mut rows = semver::POINTER_METHODS.iter().chain(semver::VALUE_METHODS);
            return rows.find(|row| row.name.as_bytes() == name);
        }
        _ => return None,
    };
    rows.iter().find(|row| row.name.as_bytes() == name)
}

/// True for a field that Go keeps to itself.
pub fn unexported(receiver: &Value, name: &[u8]) -> bool {
    let fields: &[&str] = match receiver {
        Value::Time(_) => &["wall", "ext", "loc"],
        Value::Semver(_) | Value::SemverValue(_) => &["major", "minor", "patch", "pre", "metadata", "original"],
        Value::Location(_) => &["name", "zone", "tx", "extend", "cacheStart", "cacheEnd", "cacheZone"],
        _ => return false,
    };
    fields.iter().any(|field| field.as_bytes() == name)
}
