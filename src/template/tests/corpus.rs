//! The corpus of recorded results.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use zeroize::Zeroizing;

use crate::lang::gotime::Time;
use crate::template::engine::functions::encoding::{Alphabet, base64_decode, base64_encode};
use super::{Counter, surroundings};
use crate::template::engine::{Env, MissingKey, Options, Template, root_value};
use crate::template::{
    Blueprint, Decoding, Delimiters, ExistingSecret, ManagedKeys, ManifestInput, RenderInput, Scope, SecretMap, SourceItem,
    SourceRef, Sources, TemplateFrom, TextMap, render, render_manifest, transform_keys,
};

fn bytes(encoded: &str) -> Vec<u8> {
    base64_decode(encoded.as_bytes(), Alphabet::Standard).expect("the corpus holds valid base64")
}

fn data(case: &Json) -> BTreeMap<String, Zeroizing<Vec<u8>>> {
    let members = case["data"].as_object().expect("data is an object");
    members.iter().map(|(key, value)| (key.clone(), Zeroizing::new(bytes(value.as_str().expect("text"))))).collect()
}

fn render_one(case: &Json) -> Result<Vec<u8>, String> {
    let text = match case["template"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => bytes(case["templateBase64"].as_str().expect("a template")),
    };
    let option = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
    let options = Options { left: option("leftDelim"), right: option("rightDelim"), missing_key: MissingKey::Error };
    let mut random = Counter(7);
    let mut env = Env::new(Time::from_unix(1_790_000_000, 0), &mut random);
    let outer = "unable to execute template at key out: ";
    let template = Template::parse(b"out", &text, &options)
        .map_err(|error| format!("{outer}unable to parse template at key out: {}", error.go_text()))?;
    let root = root_value(&data(case));
    match template.execute(&root, &mut env) {
        Ok(output) => Ok(output.to_vec()),
        Err(error) => Err(format!("{outer}{outer}{}", error.go_text())),
    }
}

/// `Err` holds what differs.
fn judge(case: &Json) -> Result<(), String> {
    let got = render_one(case);
    if let Some(error) = case["wantError"].as_str() {
        let prefix = case["wantErrorPrefix"].as_str().unwrap_or(error);
        return match got {
            Ok(output) => Err(format!("no error, but {:?}\n    want {error:?}", String::from_utf8_lossy(&output))),
            Err(message) if message.starts_with(prefix) || case["soft"] == Json::Bool(true) => Ok(()),
            Err(message) => Err(format!("error {message:?}\n    want  {prefix:?}")),
        };
    }
    let output = got.map_err(|message| format!("error {message:?}"))?;
    if let Some(pattern) = case["wantMatch"].as_str() {
        let pattern = regex::bytes::Regex::new(pattern).expect("a valid pattern");
        return if pattern.is_match(&output) { Ok(()) } else { Err(format!("{:?}", String::from_utf8_lossy(&output))) };
    }
    let want = match case["want"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => bytes(case["wantBase64"].as_str().expect("a result")),
    };
    if want == output || case["soft"] == Json::Bool(true) {
        return Ok(());
    }
    Err(format!("got  {:?}\n    want {:?}", String::from_utf8_lossy(&output), String::from_utf8_lossy(&want)))
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Json) -> TextMap {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), text(value))).collect()
}

fn secrets(value: &Json) -> SecretMap {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), Zeroizing::new(bytes(&text(value))))).collect()
}

fn items(value: &Json) -> impl Iterator<Item = &Json> {
    value.as_array().into_iter().flatten()
}

fn source(value: &Json) -> Option<SourceRef> {
    value.as_object()?;
    let scope = |item: &Json| if item["templateAs"] == "KeysAndValues" { Scope::KeysAndValues } else { Scope::Values };
    let items = items(&value["items"]).map(|item| SourceItem { key: text(&item["key"]), scope: scope(item) }).collect();
    Some(SourceRef { name: text(&value["name"]), items })
}

fn blueprint(value: &Json) -> Option<Blueprint> {
    value.as_object()?;
    let entry = |entry: &Json| TemplateFrom {
        target: entry["target"].as_str().map(str::to_owned),
        literal: entry["literal"].as_str().map(str::to_owned),
        config_map: source(&entry["configMap"]),
        secret: source(&entry["secret"]),
        decoding: match entry["valuesDecodingStrategy"].as_str() {
            Some("Base64") => Decoding::Base64,
            Some("Base64URL") => Decoding::Base64Url,
            Some("Auto") => Decoding::Auto,
            _ => Decoding::None,
        },
    };
    Some(Blueprint {
        engine_version: text(&value["engineVersion"]),
        secret_type: text(&value["type"]),
        merge: value["mergePolicy"] == "Merge",
        labels: texts(&value["metadata"]["labels"]),
        annotations: texts(&value["metadata"]["annotations"]),
        finalizers: items(&value["metadata"]["finalizers"]).map(text).collect(),
        data: texts(&value["data"]),
        template_from: items(&value["templateFrom"]).map(entry).collect(),
    })
}

fn sources(input: &Json) -> Sources {
    Sources {
        config_maps: items(&input["configMaps"]).map(|map| (text(&map["name"]), texts(&map["data"]))).collect(),
        secrets: items(&input["secrets"]).map(|secret| (text(&secret["name"]), secrets(&secret["data"]))).collect(),
    }
}

fn delimiters(case: &Json) -> Delimiters {
    Delimiters { left: text(&case["leftDelim"]), right: text(&case["rightDelim"]) }
}

/// The Secret a case renders to, in the shape of its `want`.
fn render_secret(case: &Json) -> Result<Json, String> {
    let input = &case["input"];
    let existing = input["existing"].as_object().map(|_| ExistingSecret {
        secret_type: text(&input["existing"]["type"]),
        data: secrets(&input["existing"]["data"]),
        labels: texts(&input["existing"]["labels"]),
        annotations: texts(&input["existing"]["annotations"]),
        finalizers: items(&input["existing"]["finalizers"]).map(text).collect(),
        deleting: false,
    });
    let rendered = render(
        &RenderInput {
            fetched: &data(case),
            blueprint: blueprint(&case["template"]).as_ref(),
            labels: &texts(&input["externalSecret"]["labels"]),
            annotations: &texts(&input["externalSecret"]["annotations"]),
            sources: &sources(input),
            existing: existing.as_ref(),
            managed: &ManagedKeys::default(),
            keep_existing_data: matches!(input["creationPolicy"].as_str(), Some("Merge" | "CreateOrMerge")),
            delimiters: &delimiters(case),
        },
        surroundings(&mut Counter(7)),
    )
    .map_err(|error| error.go_text().to_owned())?;
    let mut object = json!({
        "type": rendered.secret_type,
        "data": encoded(&rendered.data),
        "labels": rendered.labels,
        "annotations": rendered.annotations,
    });
    if !rendered.finalizers.is_empty() {
        object["finalizers"] = json!(rendered.finalizers);
    }
    Ok(object)
}

fn encoded(data: &SecretMap) -> Json {
    data.iter()
        .map(|(key, value)| (key.clone(), Json::from(String::from_utf8_lossy(&base64_encode(value)).into_owned())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn render_object(case: &Json) -> Result<Json, String> {
    let input = &case["input"];
    render_manifest(
        &ManifestInput {
            api_version: &text(&input["manifest"]["apiVersion"]),
            kind: &text(&input["manifest"]["kind"]),
            name: "demo",
            namespace: "apps",
            base: Some(&input["existing"]).filter(|base| base.is_object()),
            fetched: &data(case),
            blueprint: blueprint(&case["template"]).as_ref(),
            labels: &texts(&input["externalSecret"]["labels"]),
            annotations: &texts(&input["externalSecret"]["annotations"]),
            sources: &sources(input),
            delimiters: &delimiters(case),
        },
        surroundings(&mut Counter(7)),
    )
    .map_err(|error| error.go_text().to_owned())
}

fn rename(case: &Json) -> Result<Json, String> {
    transform_keys(&text(&case["template"]), &data(case), surroundings(&mut Counter(7)))
        .map(|renamed| encoded(&renamed))
        .map_err(|error| error.go_text().to_owned())
}

fn judge_object(case: &Json, got: Result<Json, String>) -> Result<(), String> {
    match (case["wantError"].as_str(), got) {
        (Some(error), Err(message)) => {
            let prefix = case["wantErrorPrefix"].as_str().unwrap_or(error);
            let right = message.starts_with(prefix) || case["soft"] == Json::Bool(true);
            if right { Ok(()) } else { Err(format!("error {message:?}\n    want  {prefix:?}")) }
        }
        (Some(error), Ok(object)) => Err(format!("no error, but {object}\n    want {error:?}")),
        (None, Err(message)) => Err(format!("error {message:?}")),
        (None, Ok(object)) if object == case["want"] => Ok(()),
        (None, Ok(object)) => Err(format!("got  {object}\n    want {}", case["want"])),
    }
}

fn judge_any(case: &Json) -> Result<(), String> {
    match case["kind"].as_str() {
        None => judge(case),
        Some("secret") => judge_object(case, render_secret(case)),
        Some("manifest") => judge_object(case, render_object(case)),
        Some("rewriteTransform") => judge_object(case, rename(case)),
        Some(other) => Err(format!("unknown kind {other}")),
    }
}

fn corpus_files() -> Vec<String> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/templates.json").to_owned();
    let more = std::env::var("ESO_TEMPLATE_CASES").unwrap_or_default();
    std::iter::once(own).chain(more.split(':').filter(|path| !path.is_empty()).map(str::to_owned)).collect()
}

#[test]
fn template_cases() {
    let (mut passed, mut failures) = (0, Vec::new());
    for file in corpus_files() {
        let text = std::fs::read_to_string(&file).expect("the corpus is readable");
        let cases: Vec<Json> = serde_json::from_str(&text).expect("the corpus is JSON");
        for case in &cases {
            match judge_any(case) {
                Ok(()) => passed += 1,
                Err(why) => failures.push(format!("{}: {}\n    {why}", case["name"], case["template"])),
            }
        }
    }
    println!("template cases: {passed} of {} passed", passed + failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
