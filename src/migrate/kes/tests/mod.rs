//! Recorded conversions: every case is run, its result compared as the recordings demand, and the Secret that would
//! result is computed and compared byte by byte with the one KES made.
//!
//! `ESO_KES_CASES` names further folders of cases or files of template pairs, separated by colons.

mod backend;
mod features;
mod render;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::convert::{Conversion, convert};
use super::options::Options;
use super::template::{self, Keys, Shapes};
use crate::migrate::document;

fn fixture_roots() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    // The second folder holds pairs recorded with lodash 4.17 and js-yaml 3.14.
    let mut roots = vec![fixtures.join("kes"), fixtures.join("kes-templates")];
    let more = std::env::var("ESO_KES_CASES").unwrap_or_default();
    roots.extend(more.split(':').filter(|d| !d.is_empty()).map(PathBuf::from));
    roots
}

fn cases() -> Vec<PathBuf> {
    let mut out = Vec::new();
    for root in fixture_roots() {
        if root.join("kes.yaml").exists() {
            out.push(root);
            continue;
        }
        if root.is_file() {
            continue;
        }
        let entries = fs::read_dir(&root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
        out.extend(
            entries
                .map(|e| e.unwrap().path())
                .filter(|p| p.join("kes.yaml").exists()),
        );
    }
    out.sort();
    out
}

fn json(path: &Path) -> Json {
    serde_json::from_str(&fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).unwrap()
}

fn stream(text: &str) -> Vec<Json> {
    document::values(text)
        .unwrap()
        .iter()
        .map(|v| serde_json::to_value(v).unwrap())
        .collect()
}

/// The document with the texts below `spec.target.template` taken out, and those texts.
fn without_texts(mut document: Json) -> (Json, BTreeMap<String, String>) {
    let mut texts = BTreeMap::new();
    if let Some(template) = document.pointer_mut("/spec/target/template") {
        for place in ["/data", "/metadata/labels", "/metadata/annotations"] {
            let Some(map) = template.pointer_mut(place).and_then(Json::as_object_mut) else {
                continue;
            };
            for (key, value) in map.iter_mut() {
                texts.insert(format!("{place}/{key}"), value.as_str().unwrap().to_owned());
                *value = Json::Null;
            }
        }
    }
    (document, texts)
}

fn compare_stream(case: &Path, result: &Conversion, backend: &Json, problems: &mut Vec<String>) {
    let got: Vec<Json> = result
        .stream()
        .into_iter()
        .map(|v| serde_json::to_value(v).unwrap())
        .collect();
    let want = stream(&fs::read_to_string(case.join("eso.yaml")).unwrap_or_default());
    if got.len() != want.len() {
        problems.push(format!("{} documents, want {}", got.len(), want.len()));
    }
    for (got, want) in got.iter().zip(&want) {
        let ((plain_got, texts_got), (plain_want, texts_want)) =
            (without_texts(got.clone()), without_texts(want.clone()));
        if plain_got != plain_want {
            problems.push(format!("got\n{plain_got:#}\nwant\n{plain_want:#}"));
            continue;
        }
        for (place, want_text) in &texts_want {
            if texts_got[place] == *want_text {
                continue;
            }
            let data = backend::fetch(
                backend,
                got,
                &result
                    .stores
                    .iter()
                    .map(|s| serde_json::to_value(s).unwrap())
                    .collect::<Vec<_>>(),
            );
            let (a, b) = (
                render::render(&texts_got[place], &data),
                render::render(want_text, &data),
            );
            if a != b || a.is_err() {
                problems.push(format!(
                    "{place}:\n  got  {}\n  want {want_text}\n  {a:?} != {b:?}",
                    texts_got[place]
                ));
            }
        }
    }
}

fn findings(result: &Conversion) -> BTreeSet<(String, String)> {
    result
        .objects
        .iter()
        .flat_map(|o| &o.findings)
        .map(|f| (f.code.to_string(), f.path.clone()))
        .collect()
}

fn compare_report(case: &Path, result: &Conversion, problems: &mut Vec<String>) {
    let report = json(&case.join("report.json"));
    let list = report["findings"].as_array().unwrap();
    let want: BTreeSet<(String, String)> = list
        .iter()
        .map(|f| {
            (
                f["code"].as_str().unwrap().to_owned(),
                f["path"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let got = findings(result);
    let missing: Vec<_> = want.difference(&got).collect();
    let extra: Vec<_> = got
        .difference(&want)
        .filter(|(code, _)| !code.starts_with("I_"))
        .collect();
    if !missing.is_empty() || !extra.is_empty() {
        problems.push(format!("missing findings {missing:?}, unexpected {extra:?}"));
    }
    if report["exit"] != result.exit_code() {
        problems.push(format!("exit {}, want {}", result.exit_code(), report["exit"]));
    }
}

/// The Secret that results is the Secret KES made, where the recording says so.
fn compare_secrets(case: &Path, result: &Conversion, backend: &Json, problems: &mut Vec<String>) {
    let report = json(&case.join("report.json"));
    let stores: Vec<Json> = result.stores.iter().map(|s| serde_json::to_value(s).unwrap()).collect();
    for want in json(&case.join("secret.json"))["secrets"].as_array().unwrap() {
        let object = result
            .objects
            .iter()
            .find(|o| want["name"] == o.name.as_str() && want["namespace"] == o.namespace.as_str());
        let Some(manifest) = object.and_then(|o| o.manifest.as_ref()) else {
            continue;
        };
        let manifest = serde_json::to_value(manifest).unwrap();
        let fetched = backend::fetch(backend, &manifest, &stores);
        let secret = render::secret(&manifest, &fetched);
        let want = if want["eso"].is_object() {
            &want["eso"]
        } else {
            &want["kes"]
        };
        if report["byteEqual"] != true && want["data"].is_null() {
            continue;
        }
        match secret {
            Err(e) => problems.push(format!("no Secret: {e}")),
            Ok(secret) => {
                for field in ["type", "labels", "annotations", "data"] {
                    if secret[field] != want[field] {
                        problems.push(format!("{field}: got {}, want {}", secret[field], want[field]));
                    }
                }
            }
        }
    }
}

#[test]
fn recorded_conversions() {
    let cases = cases();
    assert!(cases.len() >= 12, "{} cases", cases.len());
    let mut failures = Vec::new();
    for case in &cases {
        let documents = document::values(&fs::read_to_string(case.join("kes.yaml")).unwrap()).unwrap();
        let options = fs::read_to_string(case.join("options.json")).unwrap_or_else(|_| "{}".to_owned());
        let result = convert(&documents, &Options::parse(&options).unwrap());
        let backend = json(&case.join("backend.json"));
        let mut problems = Vec::new();
        compare_stream(case, &result, &backend, &mut problems);
        compare_report(case, &result, &mut problems);
        compare_secrets(case, &result, &backend, &mut problems);
        if !problems.is_empty() {
            failures.push(format!("{}:\n{}", case.display(), problems.join("\n")));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases differ\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n\n")
    );
}

/// Pairs in one file: what lodash prints is what our template prints.
fn check_pairs(file: &Json) -> Vec<String> {
    let data: BTreeMap<String, Vec<u8>> = file["data"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(k, v)| (k.clone(), v.as_str().unwrap().as_bytes().to_vec()))
        .collect();
    let keys = Keys {
        known: data.keys().map(|k| (k.clone(), template::KeyForm::Plain)).collect(),
        open: false,
    };
    let mut problems = Vec::new();
    let mut check = |pair: &Json, want: &str| {
        let (name, lodash) = (pair["name"].as_str().unwrap(), pair["lodash"].as_str().unwrap());
        let mut shapes = Shapes::default();
        let converted = if pair["base64"] == true {
            template::data(lodash, &keys, &mut shapes).map_err(|e| e.to_string())
        } else {
            template::text(lodash, &keys, &mut shapes).map_err(|e| e.to_string())
        };
        match converted {
            Err(e) => problems.push(format!("{name}: {e}")),
            // The reference text is known to print the output, so an equal text needs no second proof.
            Ok(converted) if pair["go"].as_str() == Some(converted.text.as_str()) && pair.get("kes").is_none() => {}
            Ok(converted) => {
                let printed = render::render(&converted.text, &data);
                if printed.as_deref() != Ok(want.as_bytes()) {
                    problems.push(format!("{name}: {} prints {printed:?}, want {want:?}", converted.text));
                }
            }
        }
    };
    for pair in file["equal"].as_array().unwrap() {
        check(pair, pair["output"].as_str().unwrap());
    }
    for lodash in file["refused"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
    {
        if let Ok(converted) = template::text(lodash, &keys, &mut Shapes::default()) {
            problems.push(format!("{lodash} is not refused but becomes {}", converted.text));
        }
    }
    problems
}

/// The known unequal pairs: ours prints what KES prints, or says that it may not.
fn check_unequal(file: &Json) -> Vec<String> {
    let data: BTreeMap<String, Vec<u8>> = file["data"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(k, v)| (k.clone(), v.as_str().unwrap().as_bytes().to_vec()))
        .collect();
    let keys = Keys {
        known: data.keys().map(|k| (k.clone(), template::KeyForm::Plain)).collect(),
        open: false,
    };
    let mut problems = Vec::new();
    for pair in file["notEqual"].as_array().into_iter().flatten() {
        let converted = template::text(pair["lodash"].as_str().unwrap(), &keys, &mut Shapes::default()).unwrap();
        let printed = render::render(&converted.text, &data);
        let same = printed.as_deref() == Ok(pair["kes"].as_str().unwrap().as_bytes());
        if !same && !converted.notes.iter().any(|(c, _)| c.as_str().starts_with("W_")) {
            problems.push(format!(
                "{}: {} prints {printed:?} without a warning",
                pair["name"], converted.text
            ));
        }
    }
    problems
}

#[test]
fn recorded_template_pairs() {
    let mut problems = Vec::new();
    for root in fixture_roots() {
        let entries: Vec<PathBuf> = if root.is_file() {
            vec![root]
        } else {
            fs::read_dir(&root).unwrap().map(|e| e.unwrap().path()).collect()
        };
        for file in entries
            .into_iter()
            .filter(|p| p.extension().is_some_and(|e| e == "json"))
            .map(|p| json(&p))
            .filter(|f| f["equal"].is_array())
        {
            problems.extend(check_pairs(&file));
            problems.extend(check_unequal(&file));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
