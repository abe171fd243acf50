//! Resource content: plain text or base64 of gzip, and back.
use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder, read::MultiGzDecoder};
use serde_json::{Map, Value};

use super::error::FleetError;

/// Fleet's name for base64 of gzip.
pub const GZIP: &str = "base64+gz";

/// One `spec.resources[]` entry of a file. Empty content and encoding are left out, as in Go's JSON.
#[must_use]
pub fn resource(name: &str, bytes: &[u8], compress: bool) -> Value {
    let mut out = Map::new();
    out.insert("name".to_owned(), Value::String(name.to_owned()));
    match std::str::from_utf8(bytes) {
        Ok("") if !compress => {}
        Ok(text) if !compress => {
            out.insert("content".to_owned(), Value::String(text.to_owned()));
        }
        _ => {
            out.insert("content".to_owned(), Value::String(STANDARD.encode(gzip(bytes))));
            out.insert("encoding".to_owned(), Value::String(GZIP.to_owned()));
        }
    }
    Value::Object(out)
}

/// One gzip member: default level, no name, no time, system 255, so that equal input stays equal output.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzBuilder::new()
        .mtime(0)
        .operating_system(255)
        .write(Vec::new(), Compression::default());
    writer
        .write_all(bytes)
        .and_then(|()| writer.finish())
        .expect("writing to memory cannot fail")
}

/// The bytes of a resource entry.
///
/// # Errors
/// An unknown encoding, broken base64 or gzip, or more than `limit` bytes.
pub fn decode(resource: &Value, limit: u64) -> Result<Vec<u8>, FleetError> {
    let text = |key: &str| resource.get(key).and_then(Value::as_str).unwrap_or_default();
    let (name, content, encoding) = (text("name"), text("content"), text("encoding"));
    let wrong = || FleetError::Content {
        name: name.to_owned(),
        encoding: encoding.to_owned(),
    };
    match encoding {
        "" => Ok(content.as_bytes().to_vec()),
        "base64" => STANDARD.decode(content).map_err(|_| wrong()),
        GZIP => {
            let packed = STANDARD.decode(content).map_err(|_| wrong())?;
            let mut out = Vec::new();
            MultiGzDecoder::new(packed.as_slice())
                .take(limit.saturating_add(1))
                .read_to_end(&mut out)
                .map_err(|_| wrong())?;
            if out.len() as u64 > limit {
                Err(wrong())
            } else {
                Ok(out)
            }
        }
        _ => Err(wrong()),
    }
}
