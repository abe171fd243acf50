//! The rooms of ARCHITECTURE.md, read out of the sources: who may use whom, and what is absent from where.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

/// Longest source file, tests and tables of data aside. A habit with some air, so that one line more is no failure.
const LONGEST: usize = 700;

/// Room, pure, rooms it may use.
const ROOMS: &[(&str, bool, &[&str])] = &[
    ("lang", true, &[]),
    ("api", true, &["lang"]),
    ("secret", true, &["api", "lang"]),
    ("template", true, &["lang", "secret"]),
    ("target", true, &["api", "lang", "secret", "template"]),
    ("plan", true, &["api", "lang", "secret"]),
    ("fleet", true, PURE),
    ("migrate", true, PURE),
    ("cluster", false, &["api", "lang", "plan", "secret", "target"]),
    ("provider", false, &["api", "lang", "secret", "template", "cluster"]),
    (
        "generator",
        false,
        &["api", "lang", "secret", "template", "cluster", "provider"],
    ),
    (
        "sync",
        false,
        &[
            "api",
            "lang",
            "secret",
            "template",
            "target",
            "plan",
            "cluster",
            "provider",
            "generator",
        ],
    ),
    ("ui", false, &["plan"]),
    (
        "cli",
        false,
        &[
            "api",
            "lang",
            "secret",
            "template",
            "target",
            "plan",
            "fleet",
            "migrate",
            "cluster",
            "provider",
            "generator",
            "sync",
            "ui",
        ],
    ),
    ("start", false, &["cli", "cluster", "ui"]),
];

const PURE: &[&str] = &["api", "lang", "secret", "template", "target", "plan"];

struct Source {
    path: String,
    room: String,
    /// Without comments and without its unit tests.
    code: String,
    whole: String,
}

impl Source {
    fn is_test(&self) -> bool {
        self.path.contains("/tests/") || self.path.ends_with("tests.rs") || self.path.ends_with("/testing.rs")
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    files(&root().join("src"), &mut paths);
    paths.sort();
    assert!(paths.len() > 100, "the sources are read");
    let comment = Regex::new(r"(?m)(^|[^:])//.*$").unwrap();
    let read = |path: PathBuf| {
        let whole = std::fs::read_to_string(&path).unwrap();
        let path = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
        let room = path.split('/').nth(1).unwrap().trim_end_matches(".rs").to_owned();
        let code = whole.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code = comment.replace_all(code, "$1").into_owned();
        Source {
            path,
            room,
            code,
            whole,
        }
    };
    paths
        .into_iter()
        .map(read)
        .filter(|s| !matches!(s.room.as_str(), "lib" | "main"))
        .collect()
}

/// Every line of production code in which `pattern` matches and `excused` does not say why it may.
fn hits(pattern: &str, excused: impl Fn(&Source) -> bool) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    sources()
        .iter()
        .filter(|s| !s.is_test() && !excused(s))
        .flat_map(|s| {
            let lines = s.code.lines().filter(|l| pattern.is_match(l));
            lines.map(|l| format!("{}: {}", s.path, l.trim())).collect::<Vec<_>>()
        })
        .collect()
}

fn none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

fn is_pure(room: &str) -> bool {
    ROOMS.iter().any(|(name, pure, _)| *name == room && *pure)
}

#[test]
fn a_room_uses_only_the_rooms_below_it() {
    let named = Regex::new(r"\bcrate::(\w+)").unwrap();
    let mut found = BTreeSet::new();
    for source in sources().iter().filter(|s| !s.is_test()) {
        let Some((_, _, below)) = ROOMS.iter().find(|(name, _, _)| *name == source.room) else {
            found.insert(format!(
                "{}: the room {:?} is not in the table",
                source.path, source.room
            ));
            continue;
        };
        for used in named.captures_iter(&source.code).map(|c| c[1].to_owned()) {
            let is_room = ROOMS.iter().any(|(name, _, _)| *name == used);
            if is_room && used != source.room && !below.contains(&used.as_str()) {
                found.insert(format!("{}: uses {used}", source.path));
            }
        }
        if source.code.contains("crate::{") {
            found.insert(format!(
                "{}: names rooms in braces, which hides them from readers",
                source.path
            ));
        }
    }
    none(&found.into_iter().collect::<Vec<_>>(), "data flows one way");
}

#[test]
fn architecture_tells_the_same_table() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (room, pure, _) in ROOMS
        .iter()
        .filter(|(room, ..)| !matches!(*room, "start" | "fleet" | "migrate"))
    {
        let row = format!("| `{room}` | {} |", if *pure { "yes" } else { "no" });
        assert!(text.contains(&row), "ARCHITECTURE.md has no row {row:?}");
    }
}

#[test]
fn pure_rooms_know_no_clock_no_disk_no_environment_and_no_chance() {
    let impure = r"\btokio\b|\bstd::(env|fs|process|thread)\b|std::net::(Tcp|Udp|ToSocket)|SystemTime|\bInstant\b|\bgetrandom\b|\bfastrand\b|OsRng|Timestamp::now|Zoned::now|\btracing::|\bkube::(Client|Api|client|runtime)\b|\basync fn\b|\.await\b";
    none(&hits(impure, |s| !is_pure(&s.room)), "no room without IO may do this");
}

#[test]
fn only_start_reads_the_environment() {
    none(
        &hits(r"\benv::(var|vars|var_os|args|args_os|home_dir)\b", |s| {
            // Go's own rule of which proxy a store is reached through is one of environment variables.
            s.room == "start" || s.path == "src/provider/http/proxy.rs"
        }),
        "the environment comes in through start.rs",
    );
}

/// A store may be a Kubernetes server as well: what its provider writes goes there with the store's own credential.
#[test]
fn only_cluster_writes_to_a_cluster() {
    let verbs = r"\b(PatchParams|DeleteParams|Patch)::|\.(patch|replace_status|delete_collection|create_token_request|patch_subresource|replace_subresource)\(";
    let excused = |s: &Source| s.room == "cluster" || s.path.starts_with("src/provider/kubernetes/");
    none(&hits(verbs, excused), "only the room cluster writes");
    none(
        // An access review is sent as a create and stores nothing.
        &hits(r"\bPostParams\b", |s| excused(s) || s.path == "src/cli/request.rs"),
        "only the room cluster creates and replaces",
    );
}

#[test]
fn only_ui_prints_and_only_main_ends_the_process() {
    let print = r"\b(e?print(ln)?|dbg)!\(|\bstd(out|err)\(\)";
    none(&hits(print, |s| s.room == "ui"), "only the room ui prints");
    none(&hits(r"process::(exit|abort)\b", |_| false), "destructors must run");
    none(
        &hits(r"\btokio::spawn\b|\bspawn_local\b", |_| false),
        "no task without an owner",
    );
    none(&hits(r"\bunsafe\b\s*(\{|fn|impl)", |_| false), "nothing is unsafe");
}

#[test]
fn errors_below_the_command_line_have_types_and_prompts_one_place() {
    none(&hits(r"\banyhow\b", |s| s.room == "cli"), "typed errors below cli");
    none(
        &hits(r"\b(dialoguer|indicatif)\b", |s| s.room == "ui"),
        "only ui draws and asks",
    );
    none(
        &hits(r"\bclap\b", |s| s.room == "cli"),
        "only cli knows the command line",
    );
}

#[test]
fn every_file_says_what_it_is_and_stays_readable() {
    let mut found = Vec::new();
    for source in sources() {
        let first = source.whole.lines().next().unwrap_or_default();
        if !source.is_test() && !first.starts_with("//!") {
            found.push(format!("{}: no module doc", source.path));
        }
        let lines = source.code.lines().count();
        if !source.is_test() && !source.path.ends_with("table.rs") && lines > LONGEST {
            found.push(format!("{}: {lines} lines", source.path));
        }
    }
    none(&found, "files for readers");
}

/// Paths of one machine and hosts of package registries belong to nobody else's checkout.
#[test]
fn the_repository_stands_alone() {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let slash = '/';
    let mut words: Vec<String> = ["root", "tmp", "home/[a-z]+"]
        .iter()
        .map(|w| format!("(^|[^\\w.{{}}<>-]){slash}{w}{slash}"))
        .collect();
    words.push(format!("(^|[^\\w.-]){slash}work{slash}(main|shared|build|wt-)"));
    words.push(["\\.\\.", "shared"].join("/"));
    words.extend(
        [
            "proxy.golang",
            "registry.npmjs",
            "files.pythonhosted",
            "static.crates",
            "index.crates",
        ]
        .map(|host| {
            let (name, domain) = host.split_once('.').unwrap();
            format!("{name}\\.{domain}\\.")
        }),
    );
    let word = Regex::new(&words.join("|")).unwrap();
    let mut found = Vec::new();
    for path in listed
        .split('\0')
        .filter(|p| !p.is_empty() && *p != "Cargo.lock" && *p != "tests/it/layers.rs")
    {
        let Ok(text) = std::fs::read_to_string(root().join(path)) else {
            continue;
        };
        let lines = text.lines().enumerate().filter(|(_, line)| word.is_match(line));
        found.extend(lines.map(|(n, line)| {
            format!(
                "{path}:{}: {}",
                n + 1,
                line.trim().chars().take(120).collect::<String>()
            )
        }));
    }
    none(&found, "the repository names nothing of the machine it was written on");
}
