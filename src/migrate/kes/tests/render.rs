//! Go templates printed, and the Secret that results.
//!
//! The scratch crate has no template engine: `ESO_KES_RENDERER` names a program that reads a JSON list of
//! `{text, data}` and prints a list of `{out}` or `{error}`. In the whole project `render` is one call of the room
//! `template`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

use crate::migrate::kes::base64;

/// Prints a template over fetched keys.
pub fn render(text: &str, data: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, String> {
    if !text.contains("{{") {
        return Ok(text.as_bytes().to_vec());
    }
    let program = std::env::var("ESO_KES_RENDERER").map_err(|_| "ESO_KES_RENDERER is not set".to_owned())?;
    let data: BTreeMap<&String, std::borrow::Cow<'_, str>> =
        data.iter().map(|(k, v)| (k, String::from_utf8_lossy(v))).collect();
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| e.to_string())?;
    child
        .stdin
        .take()
        .unwrap()
        .write_all(json!([{"text": text, "data": data}]).to_string().as_bytes())
        .unwrap();
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let answer: Json = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    answer[0]["out"]
        .as_str()
        .map(|s| s.as_bytes().to_vec())
        .ok_or_else(|| answer[0]["error"].to_string())
}

/// The Secret an `ExternalSecret` makes of fetched keys.
pub fn secret(external_secret: &Json, fetched: &BTreeMap<String, Vec<u8>>) -> Result<Json, String> {
    let template = &external_secret["spec"]["target"]["template"];
    let mut data = if template["mergePolicy"] == "Merge" {
        fetched.clone()
    } else {
        BTreeMap::new()
    };
    for (key, text) in template["data"].as_object().into_iter().flatten() {
        data.insert(key.clone(), render(text.as_str().unwrap(), fetched)?);
    }
    let texts = |place: &str| -> Result<BTreeMap<String, String>, String> {
        let map = template["metadata"][place].as_object().into_iter().flatten();
        map.map(|(k, v)| {
            Ok((
                k.clone(),
                String::from_utf8(render(v.as_str().unwrap(), fetched)?).unwrap(),
            ))
        })
        .collect()
    };
    let encoded: BTreeMap<String, String> = data.iter().map(|(k, v)| (k.clone(), base64::encode(v))).collect();
    Ok(json!({
        "type": template["type"].as_str().unwrap_or("Opaque"),
        "labels": texts("labels")?,
        "annotations": texts("annotations")?,
        "data": encoded,
    }))
}
