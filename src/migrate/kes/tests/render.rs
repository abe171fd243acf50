//! Go templates printed, and the Secret that results.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use zeroize::Zeroizing;

use crate::migrate::kes::base64;
use crate::template::{self as room, Blueprint, Delimiters, ManagedKeys, RandomSource, RenderInput, Sources, TextMap};

/// No template of a conversion asks for random bytes; the same ones each time keep a failure repeatable.
struct Zeros;

impl RandomSource for Zeros {
    fn fill(&mut self, out: &mut [u8]) {
        out.fill(0);
    }
}

/// Prints a template over fetched keys.
pub fn render(text: &str, data: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, String> {
    let fetched: room::SecretMap = data
        .iter()
        .map(|(k, v)| (k.clone(), Zeroizing::new(v.clone())))
        .collect();
    let blueprint = Blueprint {
        data: [("out".to_owned(), text.to_owned())].into(),
        ..Blueprint::default()
    };
    let none = TextMap::new();
    let input = RenderInput {
        fetched: &fetched,
        blueprint: Some(&blueprint),
        labels: &none,
        annotations: &none,
        sources: &Sources::default(),
        existing: None,
        managed: &ManagedKeys::default(),
        keep_existing_data: false,
        delimiters: &Delimiters::default(),
    };
    let surroundings = room::Surroundings {
        now: (0, 0),
        random: &mut Zeros,
    };
    let rendered = room::render(&input, surroundings).map_err(|e| e.to_string())?;
    Ok(rendered.data["out"].to_vec())
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
