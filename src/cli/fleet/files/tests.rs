//! Recorded output of the original command, compared in effect; and the edges of reading a disk.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{FilesError, Limits, expand, load, look_up};
use crate::fleet::build::{build, content_id};
use crate::fleet::chart::Fetch;
use crate::fleet::discover::driven;
use crate::fleet::emit;
use crate::fleet::encode::decode;
use crate::fleet::names;
use crate::fleet::options::{CorrectDrift, NamedFile, Options, Source, labels};
use crate::fleet::prepare::prepare;
use crate::fleet::tree::{Entry, Extra, LinkTarget, Tree};
use crate::fleet::yaml11;

/// Folders with recorded cases: ours, and one more from the environment.
fn roots() -> Vec<PathBuf> {
    let mut roots = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fleet")];
    roots.extend(std::env::var_os("ESO_FLEET_CASES").map(PathBuf::from));
    roots
}

fn cases() -> Vec<PathBuf> {
    let mut out = Vec::new();
    for root in roots() {
        let mut found: Vec<PathBuf> = std::fs::read_dir(&root)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.join("case.json").is_file())
            .collect();
        found.sort();
        assert!(!found.is_empty(), "no cases in {}", root.display());
        out.extend(found);
    }
    out
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Runs a recorded `fleet apply …` command line through this program's own parts.
fn run(command: &[String], cwd: &Path, repo: &Path) -> Result<Vec<Value>, String> {
    let options = arguments(command, cwd)?;
    let mut tree = Tree::new();
    for source in &options.sources {
        load(cwd, &source.dir.path, Limits::default(), &mut tree).map_err(|error| error.to_string())?;
    }
    let prepared = loop {
        let prepared = prepare(&tree, &options).map_err(|error| format!("{error}"))?;
        if prepared.missing.is_empty() {
            break prepared;
        }
        for path in &prepared.missing {
            tree.insert_extra(
                path,
                look_up(cwd, path, Limits::default()).map_err(|error| error.to_string())?,
            );
        }
    };
    let mut charts = BTreeMap::new();
    for (prefix, request) in &prepared.charts {
        let serve = |url: &str| served(repo, url);
        let archive = match request.fetch().map_err(|error| error.to_string())? {
            Fetch::Index(url) => request.archive_url(&serve(&url)?).map_err(|error| error.to_string())?,
            Fetch::Archive(archive) => archive,
            Fetch::Oci(reference) => return Err(format!("{reference}: no OCI registry here")),
        };
        let bytes = serve(&archive.url)?;
        charts.insert(
            prefix.clone(),
            archive.unpack(&bytes).map_err(|error| error.to_string())?,
        );
    }
    build(prepared, &tree, &charts, &options)
        .map(|built| built.bundles)
        .map_err(|error| error.to_string())
}

/// The file behind an address: the recorded cases keep a chart repository beside the input, under any
/// address, so the longest tail of the path that exists is taken.
fn served(repo: &Path, url: &str) -> Result<Vec<u8>, String> {
    let path = url.split_once("://").map_or(url, |(_, path)| path);
    let tails = path.match_indices('/').map(|(at, _)| repo.join(&path[at + 1..]));
    let found = tails.filter(|tail| tail.is_file()).map(std::fs::read).next();
    found
        .ok_or_else(|| format!("{url} is not recorded"))?
        .map_err(|error| format!("{url}: {error}"))
}

/// The original's flags as options.
fn arguments(command: &[String], cwd: &Path) -> Result<Options, String> {
    let mut options = Options {
        namespace: "fleet-local".to_owned(),
        lenient: true,
        allow_secret_content: true,
        ..Options::default()
    };
    let mut words = Vec::new();
    let (mut drift, mut correct, mut scan, mut separator, mut file) =
        (CorrectDrift::default(), false, true, ":".to_owned(), String::new());
    let mut label_words = Vec::new();
    let mut rest = command.iter();
    while let Some(word) = rest.next() {
        let (flag, inline) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let on = inline.as_deref() != Some("false");
        let mut value = || {
            inline
                .clone()
                .or_else(|| rest.next().cloned())
                .ok_or_else(|| format!("{flag} needs a value"))
        };
        match flag {
            "fleet" | "apply" => {}
            "-o" | "--output" => drop(value()?),
            "-c" | "--compress" => options.compress = on,
            "--targets-file" => {
                let path = value()?;
                let bytes = std::fs::read(cwd.join(&path)).map_err(|error| format!("{path}: {error}"))?;
                options.targets_file = Some(NamedFile { path, bytes });
            }
            "-n" | "--namespace" => options.namespace = value()?,
            "-l" | "--label" => label_words.push(value()?),
            "-a" | "--service-account" => options.service_account = value()?,
            "-b" | "--bundle-file" => file = value()?,
            "--target-namespace" => options.target_namespace = value()?,
            "--paused" => options.paused = on,
            "--keep-resources" => options.keep_resources = on,
            "--delete-namespace" => options.delete_namespace = on,
            "--commit" => options.commit = value()?,
            "--sync-generation" => options.sync_generation = value()?.parse().map_err(|_| "not a number".to_owned())?,
            "--correct-drift" => correct = on,
            "--correct-drift-force" => drift.force = on,
            "--correct-drift-keep-fail-history" => drift.keep_fail_history = on,
            "--driven-scan" => scan = !on,
            "--driven-scan-sep" => separator = value()?,
            flag if flag.starts_with('-') => return Err(format!("unknown flag {flag}")),
            word => words.push(word.to_owned()),
        }
    }
    options.labels = labels(&label_words).map_err(|error| error.to_string())?;
    options.correct_drift = correct.then_some(drift);
    options.name = words.first().cloned().ok_or("no name")?;
    let dirs = if words.len() > 1 {
        words[1..].to_vec()
    } else {
        vec![".".to_owned()]
    };
    for dir in dirs {
        if scan {
            for dir in expand(cwd, &dir).map_err(|error| error.to_string())? {
                options.sources.push(Source {
                    dir: crate::fleet::discover::Dir::new(&dir),
                    file: file.clone(),
                    scan,
                });
            }
        } else {
            let (dir, file) = driven(&dir, &separator).map_err(|error| error.to_string())?;
            options.sources.push(Source { dir, file, scan });
        }
    }
    Ok(options)
}

/// Documents of a YAML stream.
fn documents(text: &str) -> Vec<Value> {
    let mut out = Vec::new();
    for document in text.split("\n---\n") {
        let value: Value = match serde_yaml::from_str(document) {
            Ok(value) => value,
            // Whole numbers above 64 bits: doubles, as Kubernetes' own reader has them.
            Err(_) => yaml11::to_json(&yaml11::parse(document).unwrap().unwrap(), yaml11::Coerce::Double).unwrap(),
        };
        if !value.is_null() {
            out.push(value);
        }
    }
    out
}

/// A bundle with its content decoded and defaults taken out, so that equal means equal in effect.
fn effect(bundle: &Value) -> Value {
    let mut out = bundle.clone();
    let limit = 64 * 1024 * 1024;
    for resource in out
        .pointer_mut("/spec/resources")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let bytes = decode(resource, limit).unwrap();
        resource["content"] = Value::String(format!("{} {}", bytes.len(), names::sha256_hex(&bytes)));
    }
    if let Some(Value::Object(spec)) = out.get_mut("spec")
        && spec.get("targetCustomizationMode") == Some(&Value::String("FirstMatch".to_owned()))
    {
        spec.remove("targetCustomizationMode");
    }
    if let Some(Value::Object(labels)) = out.pointer_mut("/metadata/labels") {
        labels.remove("fleet.cattle.io/commit");
        if labels.is_empty()
            && let Some(Value::Object(metadata)) = out.get_mut("metadata")
        {
            metadata.remove("labels");
        }
    }
    out
}

fn by_name(bundles: &[Value]) -> BTreeMap<String, Value> {
    bundles
        .iter()
        .map(|bundle| (bundle["metadata"]["name"].as_str().unwrap().to_owned(), effect(bundle)))
        .collect()
}

#[test]
fn recorded_bundles_are_equal_in_effect() {
    for case in cases() {
        let about = json(&case.join("case.json"));
        let command: Vec<String> = about["command"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect();
        let cwd = case.join(about["cwd"].as_str().unwrap());
        let made =
            run(&command, &cwd, &case.join("input/repo")).unwrap_or_else(|error| panic!("{}: {error}", case.display()));
        let recorded = documents(&std::fs::read_to_string(case.join("bundle.yaml")).unwrap());
        assert_eq!(by_name(&made), by_name(&recorded), "{}", case.display());
        // What is printed reads back as the same objects.
        assert_eq!(
            by_name(&documents(&emit::stream(&made))),
            by_name(&recorded),
            "{}",
            case.display()
        );
    }
}

#[test]
fn recorded_summaries_hold_for_our_bundles() {
    for case in cases() {
        let about = json(&case.join("case.json"));
        let command: Vec<String> = about["command"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap().to_owned())
            .collect();
        let made = run(
            &command,
            &case.join(about["cwd"].as_str().unwrap()),
            &case.join("input/repo"),
        )
        .unwrap();
        let wanted = about["bundles"].as_array().unwrap();
        assert_eq!(made.len(), wanted.len(), "{}", case.display());
        for wanted in wanted {
            let bundle = made
                .iter()
                .find(|bundle| bundle["metadata"]["name"] == wanted["name"])
                .unwrap();
            assert_eq!(bundle["metadata"]["namespace"], wanted["namespace"]);
            let resources: Vec<Value> = bundle["spec"]["resources"]
                .as_array()
                .unwrap()
                .iter()
                .map(|resource| {
                    let bytes = decode(resource, 64 * 1024 * 1024).unwrap();
                    serde_json::json!({
                        "name": resource["name"],
                        "encoding": resource.get("encoding").and_then(Value::as_str).unwrap_or_default(),
                        "sha256": names::sha256_hex(&bytes),
                        "bytes": bytes.len(),
                    })
                })
                .collect();
            assert_eq!(Value::Array(resources), wanted["resources"], "{}", case.display());
        }
    }
}

#[test]
fn content_names_follow_from_the_recorded_bytes() {
    for case in cases() {
        let about = json(&case.join("case.json"));
        let recorded = documents(&std::fs::read_to_string(case.join("bundle.yaml")).unwrap());
        for wanted in about["bundles"].as_array().unwrap() {
            let bundle = recorded
                .iter()
                .find(|bundle| bundle["metadata"]["name"] == wanted["name"])
                .unwrap();
            let (name, sum) = content_id(bundle);
            assert_eq!(
                (name.as_str(), sum.as_str()),
                (
                    wanted["contentName"].as_str().unwrap(),
                    wanted["resourcesSha256"].as_str().unwrap()
                )
            );
        }
    }
}

#[test]
fn recorded_names_are_made() {
    let mut seen = 0;
    for root in roots() {
        let path = root.join("names.json");
        if !path.is_file() {
            continue;
        }
        for case in json(&path)["cases"].as_array().unwrap() {
            let text = |key: &str| case[key].as_str().unwrap();
            assert_eq!(
                names::bundle_name(text("name"), text("dir"), ""),
                text("bundleName"),
                "{case}"
            );
            seen += 1;
        }
    }
    assert!(seen >= 17, "{seen} names");
}

fn scratch(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let full = dir.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::fs::write(full, text).unwrap();
    }
    dir
}

#[cfg(unix)]
#[test]
fn links_are_resolved_to_their_end() {
    let dir = scratch(&[("a/x.yaml", "x"), ("a/sub/y.yaml", "y"), ("out", "o")]);
    let link = |target: &str, at: &str| std::os::unix::fs::symlink(target, dir.path().join(at)).unwrap();
    link("../x.yaml", "a/sub/first");
    link("first", "a/sub/second");
    link("../out", "a/outside");
    link("nowhere", "a/broken");
    link("loop", "a/loop");
    let mut tree = Tree::new();
    load(dir.path(), "./a/", Limits::default(), &mut tree).unwrap();
    let found = |path: &str| tree.get(path).cloned().unwrap();
    let inside = || Entry::Link(LinkTarget::Inside("a/x.yaml".to_owned()));
    assert_eq!((found("a/sub/first"), found("a/sub/second")), (inside(), inside()));
    assert_eq!(found("a/outside"), Entry::Link(LinkTarget::Outside));
    assert_eq!(
        (found("a/broken"), found("a/loop")),
        (Entry::Link(LinkTarget::Broken), Entry::Link(LinkTarget::Broken))
    );
    assert_eq!(tree.read("a/sub/second"), Ok(Some(&b"x"[..])));
    // A link out of the directory is only read when it is asked for by name, as values files are.
    assert_eq!(tree.read("a/outside"), Ok(None));
    tree.insert_extra(
        "a/outside",
        look_up(dir.path(), "a/outside", Limits::default()).unwrap(),
    );
    assert_eq!(tree.read("a/outside"), Ok(Some(&b"o"[..])));
}

#[test]
fn limits_hold_while_reading() {
    let dir = scratch(&[
        ("a/x", "12345"),
        ("a/y", "12345"),
        ("a/b/c/z", "1"),
        ("a/.git/objects/big", "123456789012345"),
    ]);
    let read = |limits: Limits| load(dir.path(), "a", limits, &mut Tree::new());
    let default = Limits::default();
    assert!(read(Limits { bytes: 11, ..default }).is_ok());
    assert!(matches!(
        read(Limits { bytes: 10, ..default }),
        Err(FilesError::TooMuch { .. })
    ));
    assert!(matches!(
        read(Limits { entries: 3, ..default }),
        Err(FilesError::TooMuch { .. })
    ));
    assert!(matches!(
        read(Limits { depth: 1, ..default }),
        Err(FilesError::TooMuch { .. })
    ));
    assert!(matches!(
        look_up(dir.path(), "a/x", Limits { bytes: 4, ..default }),
        Err(FilesError::TooMuch { .. })
    ));
    assert_eq!(look_up(dir.path(), "nope", default).unwrap(), Extra::Absent);
    assert_eq!(look_up(dir.path(), "a", default).unwrap(), Extra::Dir);
    assert!(matches!(
        load(dir.path(), "nope", default, &mut Tree::new()),
        Err(FilesError::Io { .. })
    ));
}

#[test]
fn patterns_expand_to_directories() {
    let dir = scratch(&[("a1/x", ""), ("a2/p/x", ""), ("a3", ""), ("b/p/x", "")]);
    let found = |argument: &str| expand(dir.path(), argument).unwrap();
    assert_eq!(found("a*"), ["a1", "a2"]);
    assert_eq!(found("*/p"), ["a2/p", "b/p"]);
    assert_eq!(
        (found("./a1/"), found("zz"), found("a3")),
        (vec!["a1".to_owned()], vec![], vec![])
    );
    assert_eq!(found("/a1"), ["a1"], "the original drops leading slashes");
    let absolute = dir.path().join("a1").to_str().unwrap().to_owned();
    assert_eq!(found(&absolute), std::slice::from_ref(&absolute));
    assert!(expand(dir.path(), "[").is_err());
}

#[test]
fn a_values_file_outside_the_directory_is_read() {
    let dir = scratch(&[
        ("a/fleet.yaml", "helm: {chart: ../c, valuesFiles: [../v.yaml]}\n"),
        ("a/x.yaml", "x: 1\n"),
        ("v.yaml", "k: v\n"),
        ("c/Chart.yaml", ""),
    ]);
    let command = ["fleet", "apply", "n", "a"].map(str::to_owned);
    let made = run(&command, dir.path(), dir.path()).unwrap();
    assert_eq!(made[0]["spec"]["helm"]["values"], serde_json::json!({"k": "v"}));
    std::fs::remove_file(dir.path().join("v.yaml")).unwrap();
    assert_eq!(
        run(&command, dir.path(), dir.path()).unwrap_err(),
        "v.yaml does not exist"
    );
}
