//! A real kubectl finds and runs the plugin.

use std::path::Path;

use crate::support::cluster::BINARY;
use crate::support::{Eso, shared};

#[test]
fn kubectl_runs_the_plugin_and_lists_it_without_a_warning() {
    let planes = shared();
    let kubectl = planes.assets().kubectl();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(BINARY, folder.path().join("kubectl-eso")).unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    let run = |args: &[&str]| {
        Eso::program(Path::new(&kubectl), &planes.kubeconfig_path())
            .env("PATH", path.clone())
            .args(args.iter().copied())
            .run()
    };
    let version = run(&["eso", "version", "--context", "c1"]).success();
    assert!(version.stdout.contains("Client Version: v"), "{}", version.stdout);
    assert!(version.stdout.contains("[c1]"), "{}", version.stdout);
    let listed = run(&["plugin", "list"]).success();
    assert!(listed.stdout.contains("kubectl-eso"), "{}", listed.stdout);
    assert!(!listed.stderr.to_lowercase().contains("warning"), "{}", listed.stderr);
}
