//! The shortest path, shown on real control planes: one upstream, two downstreams, from nothing to Secrets.
//!
//! What a reader sees is what they would type themselves; kubectl finds the plugin in `PATH` as it does on their machine.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::assets::{Assets, progress_to_stderr};
use crate::controlplane::{ControlPlanes, Entry, Kubeconfig, Options};

const NAMESPACE: &str = "shop";
const SECRET: &str = "database-credentials";
const DOWNSTREAMS: [&str; 2] = ["edge-a", "edge-b"];
const BOTH: &str = "edge-a,edge-b";
const REQUEST: &str = "\
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: database-credentials
spec:
  refreshInterval: 1m
  secretStoreRef: {kind: SecretStore, name: upstream-store}
  target: {name: database-credentials}
  data:
  - {secretKey: username, remoteRef: {key: database-credentials, property: username}}
  - {secretKey: password, remoteRef: {key: database-credentials, property: password}}
";

/// Runs the demo with the built `kubectl-eso` at `plugin`; the story goes to standard output. Everything it made is gone
/// afterwards, however it ends. Fails when a command fails or a Secret does not arrive.
pub fn run(plugin: &Path) -> Result<()> {
    let assets = Assets::find_or_build(&mut progress_to_stderr)?;
    let started = Instant::now();
    say("Starting three Kubernetes control planes on this machine: upstream, edge-a, edge-b")?;
    let planes = ControlPlanes::start_with(&assets, &Options::count(3))?;
    let stage = Stage::new(&assets, plugin, &planes)?;
    say(&format!(
        "ready after {:.0} s. No operator is installed on any of them.",
        started.elapsed().as_secs_f32()
    ))?;
    stage.play()?;
    let arrived = stage.show()?;
    say(&format!(
        "{arrived} Secrets arrived, {:.0} s after the start. Everything is removed again.",
        started.elapsed().as_secs_f32()
    ))
}

/// The folder the commands run in, with the plugin and kubectl in `PATH` and a kubeconfig of the three clusters.
struct Stage {
    folder: tempfile::TempDir,
    kubectl: PathBuf,
    path: String,
    kubeconfig: PathBuf,
    password: String,
}

impl Stage {
    fn new(assets: &Assets, plugin: &Path, planes: &ControlPlanes) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("kubectl-eso-demo-").tempdir()?;
        let kubeconfig = DOWNSTREAMS
            .iter()
            .zip(&planes.clusters()[1..])
            .fold(
                Kubeconfig::new().admin("upstream", planes.cluster(0)),
                |file, (name, cluster)| file.with(Entry::admin(name, cluster).namespace(NAMESPACE)),
            )
            .write(&folder.path().join("kubeconfig"))?;
        let password: String = std::iter::repeat_with(fastrand::alphanumeric).take(20).collect();
        for (file, text) in [("username", "shop"), ("password", &password), ("request.yaml", REQUEST)] {
            fs::write(folder.path().join(file), text)?;
        }
        let plugins = plugin.parent().context("the plugin's path has a folder")?;
        let path = format!("{}:{}:/usr/bin:/bin", plugins.display(), assets.folder().display());
        Ok(Self {
            folder,
            kubectl: assets.kubectl(),
            path,
            kubeconfig,
            password,
        })
    }

    fn play(&self) -> Result<()> {
        for name in DOWNSTREAMS {
            self.quietly(&["--context", name, "create", "namespace", NAMESPACE])?;
        }
        self.step(
            "Upstream: a namespace for source Secrets, and an identity that may read them",
            &["eso", "bootstrap", "--context", "upstream", "--allow-local-url"],
        )?;
        self.step(
            "A source Secret, from files so that no value is in the shell's history",
            &[
                "eso",
                "put",
                SECRET,
                "--context",
                "upstream",
                "--from-file",
                "username=username",
                "--from-file",
                "password=password",
            ],
        )?;
        self.step(
            "Downstream: the definitions of SecretStore and ExternalSecret",
            &["eso", "crds", "--apply", "--contexts", BOTH],
        )?;
        self.step(
            "A credential and a store for each downstream cluster",
            &[
                "eso",
                "distribute-token",
                "--context",
                "upstream",
                "--contexts",
                BOTH,
                "--with-store",
                "--allow-local-url",
            ],
        )?;
        self.step(
            "What the applications want: request.yaml",
            &["eso", "apply", "-f", "request.yaml", "--contexts", BOTH],
        )?;
        self.step(
            "The operator's loop, once, from here",
            &["eso", "sync", "--contexts", BOTH],
        )
    }

    /// Prints each downstream's Secret and compares it with the source.
    fn show(&self) -> Result<usize> {
        const TEMPLATE: &str =
            "-o=go-template={{range $key, $value := .data}}{{$key}}: {{$value | base64decode}}\n{{end}}";
        for name in DOWNSTREAMS {
            let args = ["--context", name, "get", "secret", SECRET, TEMPLATE];
            say(&format!("$ kubectl --context {name} get secret {SECRET}"))?;
            let output = self
                .kubectl(&args)
                .stdout(Stdio::piped())
                .stderr(Stdio::inherit())
                .output()?;
            anyhow::ensure!(output.status.success(), "the Secret is not on {name}");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            say(&text)?;
            let complete = text.contains("username: shop") && text.contains(&format!("password: {}", self.password));
            anyhow::ensure!(complete, "the Secret on {name} is not the source's");
        }
        Ok(DOWNSTREAMS.len())
    }

    /// Runs a command in the reader's sight. Of a long list the beginning is enough.
    fn step(&self, what: &str, args: &[&str]) -> Result<()> {
        const SHOWN: usize = 14;
        say(&format!("\n# {what}\n$ kubectl {}", args.join(" ")))?;
        let mut command = self.kubectl(args);
        let output = command
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start kubectl")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().take(SHOWN) {
            say(line)?;
        }
        if lines.len() > SHOWN {
            say(&format!("… and {} more lines", lines.len() - SHOWN))?;
        }
        anyhow::ensure!(
            output.status.success(),
            "`kubectl {}` ended with {}",
            args.join(" "),
            output.status
        );
        Ok(())
    }

    fn quietly(&self, args: &[&str]) -> Result<()> {
        let output = self.kubectl(args).output().context("cannot start kubectl")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "`kubectl {}` failed: {errors}", args.join(" "));
        Ok(())
    }

    /// Nothing of the user's own Kubernetes set-up reaches the demo's commands.
    fn kubectl(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.kubectl);
        command
            .args(args)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.folder.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .envs(
                ["TERM", "LANG", "NO_COLOR"]
                    .into_iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .stdin(Stdio::null());
        command
    }
}

fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}
