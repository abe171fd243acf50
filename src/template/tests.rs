//! The corpus of recorded results.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use zeroize::Zeroizing;

use crate::lang::gotime::Time;
use crate::template::engine::functions::encoding::{Alphabet, base64_decode, base64_encode};
use crate::template::engine::{Env, MissingKey, Options, RandomSource, Template, root_value};

/// A counter with good spread: tests need no secrecy.
struct Counter(u64);

impl RandomSource for Counter {
    fn fill(&mut self, out: &mut [u8]) {
        for byte in out {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *byte = (self.0 >> 56) as u8;
        }
    }
}

fn bytes(encoded: &str) -> Vec<u8> {
    base64_decode(encoded.as_bytes(), Alphabet::Standard).expect("the corpus holds valid base64")
}

fn data(case: &Json) -> BTreeMap<String, Zeroizing<Vec<u8>>> {
    let members = case["data"].as_object().expect("data is an object");
    members
        .iter()
        .map(|(key, value)| (key.clone(), Zeroizing::new(bytes(value.as_str().expect("text")))))
        .collect()
}

fn render_one(case: &Json) -> Result<Vec<u8>, String> {
    let text = match case["template"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => bytes(case["templateBase64"].as_str().expect("a template")),
    };
    let option = |name: &str| case[name].as_str().unwrap_or_default().to_owned();
    let options = Options {
        left: option("leftDelim"),
        right: option("rightDelim"),
        missing_key: MissingKey::Error,
    };
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
            Ok(output) => Err(format!(
                "no error, but {:?}\n    want {error:?}",
                String::from_utf8_lossy(&output)
            )),
            Err(message) if message.starts_with(prefix) || case["soft"] == Json::Bool(true) => Ok(()),
            Err(message) => Err(format!("error {message:?}\n    want  {prefix:?}")),
        };
    }
    let output = got.map_err(|message| format!("error {message:?}"))?;
    if let Some(pattern) = case["wantMatch"].as_str() {
        let pattern = regex::bytes::Regex::new(pattern).expect("a valid pattern");
        return if pattern.is_match(&output) {
            Ok(())
        } else {
            Err(format!("{:?}", String::from_utf8_lossy(&output)))
        };
    }
    let want = match case["want"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => bytes(case["wantBase64"].as_str().expect("a result")),
    };
    if want == output || case["soft"] == Json::Bool(true) {
        return Ok(());
    }
    Err(format!(
        "got  {:?}\n    want {:?}",
        String::from_utf8_lossy(&output),
        String::from_utf8_lossy(&want)
    ))
}

fn corpus_files() -> Vec<String> {
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/templates.json").to_owned();
    let more = std::env::var("ESO_TEMPLATE_CASES").unwrap_or_default();
    std::iter::once(own)
        .chain(more.split(':').filter(|path| !path.is_empty()).map(str::to_owned))
        .collect()
}

#[test]
fn template_cases() {
    let (mut passed, mut failures) = (0, Vec::new());
    for file in corpus_files() {
        let text = std::fs::read_to_string(&file).expect("the corpus is readable");
        let cases: Vec<Json> = serde_json::from_str(&text).expect("the corpus is JSON");
        for case in &cases {
            if !case["kind"].is_null() {
                continue;
            }
            match judge(case) {
                Ok(()) => passed += 1,
                Err(why) => failures.push(format!("{}: {}\n    {why}", case["name"], case["template"])),
            }
        }
    }
    println!("template cases: {passed} of {} passed", passed + failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(base64_encode(b"a"), b"YQ==");
}
