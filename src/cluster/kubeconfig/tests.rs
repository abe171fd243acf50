//! Loading rules of `kubectl`, case by case.

use std::path::{Path, PathBuf};

use super::{ConfigError, ConnectOptions, Environment, check_context, load, nearest};

fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("kubectl-eso-test-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn file(dir: &Path, name: &str, contexts: &[&str], current: &str) -> PathBuf {
    let entries: String = contexts
        .iter()
        .map(|c| format!("- name: {c}\n  context: {{cluster: {c}-from-{name}, user: u, namespace: ns-{name}}}\n"))
        .collect();
    let path = dir.join(name);
    std::fs::write(
        &path,
        format!("apiVersion: v1\nkind: Config\ncurrent-context: \"{current}\"\ncontexts:\n{entries}"),
    )
    .unwrap();
    path
}

fn env(paths: &[&Path]) -> Environment {
    Environment {
        kubeconfig: Some(std::env::join_paths(paths).unwrap()),
        ..Environment::default()
    }
}

#[test]
fn a_list_merges_whole_entries_first_file_first() {
    let dir = scratch("merge");
    let (a, b) = (
        file(&dir, "a", &["one", "two"], ""),
        file(&dir, "b", &["two", "three"], "three"),
    );
    let missing = dir.join("missing");
    let loaded = load(&ConnectOptions::default(), &env(&[&a, &missing, &b, &a])).unwrap();
    assert_eq!(loaded.contexts(), ["one", "two", "three"]);
    assert_eq!(loaded.current().as_deref(), Some("three"));
    assert_eq!(loaded.namespace_of("two").as_deref(), Some("ns-a"));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn the_flag_replaces_the_list_and_must_exist() {
    let dir = scratch("flag");
    let (a, b) = (file(&dir, "a", &["one"], "one"), file(&dir, "b", &["two"], "two"));
    let options = ConnectOptions {
        kubeconfig: Some(b),
        ..ConnectOptions::default()
    };
    assert_eq!(load(&options, &env(&[&a])).unwrap().contexts(), ["two"]);
    let options = ConnectOptions {
        kubeconfig: Some(dir.join("nowhere")),
        ..ConnectOptions::default()
    };
    assert!(matches!(
        load(&options, &env(&[&a])),
        Err(ConfigError::Unreadable { .. })
    ));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn nothing_at_all_says_what_was_looked_for() {
    let dir = scratch("none");
    let environment = Environment {
        home: Some(dir.clone()),
        ..Environment::default()
    };
    let Err(ConfigError::Absent { looked }) = load(&ConnectOptions::default(), &environment) else {
        panic!("expected Absent");
    };
    assert_eq!(looked, [dir.join(".kube/config")]);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn in_cluster_only_without_a_kubeconfig() {
    let dir = scratch("in");
    let a = file(&dir, "a", &["one"], "one");
    let mut environment = env(&[&a]);
    environment.in_cluster = true;
    assert!(load(&ConnectOptions::default(), &environment).unwrap().config.is_some());
    environment.kubeconfig = Some(dir.join("missing").into_os_string());
    assert!(load(&ConnectOptions::default(), &environment).unwrap().config.is_none());
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_broken_file_is_an_error_that_names_it() {
    let dir = scratch("broken");
    let path = dir.join("bad");
    std::fs::write(&path, "contexts: [").unwrap();
    let Err(ConfigError::Unreadable { path: named, .. }) = load(&ConnectOptions::default(), &env(&[&path])) else {
        panic!("expected Unreadable");
    };
    assert_eq!(named, path);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn an_unknown_context_offers_the_nearest() {
    let dir = scratch("near");
    let a = file(&dir, "a", &["prod-eu", "prod-us", "staging"], "");
    let loaded = load(&ConnectOptions::default(), &env(&[&a])).unwrap();
    let Err(ConfigError::UnknownContext { nearest, .. }) = check_context(&loaded, "prod-ue") else {
        panic!("expected UnknownContext");
    };
    assert_eq!(nearest[0], "prod-eu");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn nearest_names_something_even_for_a_wild_guess() {
    assert_eq!(nearest("zzzzzzzzz", &["a".to_owned()]), ["a"]);
}
