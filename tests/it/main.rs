//! The one integration test binary: one link, one set of control planes, one list of canaries.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking and reports figures"
)]

mod bug_cases;
mod conformance;
mod crds;
mod distribute;
mod engine;
mod lang;
mod layers;
mod providers;
mod push;
mod push_target;
mod support;
mod sync_modes;

/// Every file and folder beside this one is a module of it; a test file that nobody declares would never run.
#[test]
fn every_file_here_is_declared() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let declared = include_str!("main.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        let wired = module == "main" || declared.lines().any(|line| line == format!("mod {module};"));
        assert!(wired, "tests/it/{name} is not declared in tests/it/main.rs");
    }
}
