//! Finds the control plane's binaries, or builds them once from Go modules.
//!
//! Three ways, in this order: the folder that `KUBEBUILDER_ASSETS` names (what the rest of the Kubernetes world calls
//! it), the cache folder of an earlier build, and one `go build` of the tools that `controlplane/go.mod` lists.

use std::env;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The programs a control plane needs, by file name.
pub const BINARIES: [&str; 4] = ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"];

const GO_MOD: &str = include_str!("../controlplane/go.mod");
const GO_SUM: &str = include_str!("../controlplane/go.sum");
const KUBERNETES_MODULE: &str = "k8s.io/kubernetes";
const ETCD_MODULE: &str = "go.etcd.io/etcd/server/v3";
const BUILDING: &str = ".building-";
const THREE_WAYS: &str = "there are three ways to have them: set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, \
     kube-controller-manager and kubectl; run once with Go 1.26 or newer in PATH (they are built from Go modules, about \
     ten minutes on two cores); or copy a folder built elsewhere to";

/// Why no usable set of binaries could be had.
#[derive(Debug, thiserror::Error)]
pub enum AssetsError {
    /// `KUBEBUILDER_ASSETS` is set, but its folder is not complete.
    #[error("KUBEBUILDER_ASSETS is {folder}, which lacks {missing}\n{THREE_WAYS} {cache}")]
    Incomplete {
        /// The folder as given.
        folder: String,
        /// The missing file names, comma separated.
        missing: String,
        /// The cache folder of this version.
        cache: String,
    },
    /// Neither assets nor Go.
    #[error("no control plane binaries, and no `go` in PATH to build them\n{THREE_WAYS} {cache}")]
    NoGo {
        /// The cache folder of this version.
        cache: String,
    },
    /// `go build` ended with an error.
    #[error("building the control plane with `go build` failed ({status})\n{tail}\n{THREE_WAYS} {cache}")]
    Build {
        /// Exit status of `go`.
        status: String,
        /// The last lines it printed.
        tail: String,
        /// The cache folder of this version.
        cache: String,
    },
    /// The file system refused something.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// What was tried, as a verb phrase.
        what: &'static str,
        /// The path it was tried on.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> AssetsError {
    move |source| AssetsError::Io {
        what,
        path: path.to_path_buf(),
        source,
    }
}

/// What the search reads from the environment; a value, so that tests can vary it.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// `KUBEBUILDER_ASSETS`, unset when empty.
    pub kubebuilder_assets: Option<PathBuf>,
    /// The folder under which our cache lives.
    pub cache_root: PathBuf,
    /// `go`, when it is in `PATH`.
    pub go: Option<PathBuf>,
    /// `HOME`, which `go` needs for its own caches; without it they are put beside ours.
    pub home: Option<PathBuf>,
}

impl Surroundings {
    /// Reads the process environment. Without `XDG_CACHE_HOME` and `HOME` the workspace's `target` folder is the cache.
    pub fn from_env() -> Self {
        let path = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = path("HOME");
        let cache_root = path("XDG_CACHE_HOME")
            .filter(|folder| folder.is_absolute())
            .or_else(|| home.as_ref().map(|home| home.join(".cache")))
            .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/cache"));
        Self {
            kubebuilder_assets: path("KUBEBUILDER_ASSETS"),
            cache_root,
            go: in_path("go"),
            home,
        }
    }

    /// The folder for the binaries of exactly these versions on this platform.
    pub fn cache_folder(&self) -> PathBuf {
        let versions = Versions::committed();
        self.cache_root.join("kubectl-eso").join("controlplane").join(format!(
            "kubernetes-{}-etcd-{}-{}-{}",
            versions.kubernetes,
            versions.etcd,
            env::consts::OS,
            env::consts::ARCH
        ))
    }
}

/// The versions that the committed go.mod pins, with their leading `v`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// Version of `k8s.io/kubernetes`.
    pub kubernetes: String,
    /// Version of the etcd server.
    pub etcd: String,
}

impl Versions {
    /// Read from the go.mod compiled into this crate.
    pub fn committed() -> Self {
        Self {
            kubernetes: required_version(KUBERNETES_MODULE),
            etcd: required_version(ETCD_MODULE),
        }
    }

    /// `(major, minor)` of Kubernetes, as text.
    fn kubernetes_minor(&self) -> (&str, &str) {
        let mut parts = self.kubernetes.trim_start_matches('v').split('.');
        (parts.next().unwrap_or("0"), parts.next().unwrap_or("0"))
    }
}

fn required_version(module: &str) -> String {
    GO_MOD
        .lines()
        .filter_map(|line| line.trim().strip_prefix(module)?.strip_prefix(' '))
        .find_map(|rest| rest.split_whitespace().next())
        .expect("the committed go.mod requires both modules")
        .to_owned()
}

/// A complete folder of binaries.
#[derive(Clone, Debug)]
pub struct Assets {
    folder: PathBuf,
}

impl Assets {
    /// Finds the binaries in the environment of this process, building them if need be. `progress` gets one line at a
    /// time while a build runs.
    pub fn find_or_build(progress: &mut dyn FnMut(&str)) -> Result<Self, AssetsError> {
        Self::find_or_build_in(&Surroundings::from_env(), progress)
    }

    /// As [`Assets::find_or_build`], with given surroundings.
    pub fn find_or_build_in(around: &Surroundings, progress: &mut dyn FnMut(&str)) -> Result<Self, AssetsError> {
        let cache = around.cache_folder();
        if let Some(folder) = &around.kubebuilder_assets {
            return Self::complete(folder).map_err(|missing| AssetsError::Incomplete {
                folder: folder.display().to_string(),
                missing: missing.join(", "),
                cache: cache.display().to_string(),
            });
        }
        if let Ok(found) = Self::complete(&cache) {
            return Ok(found);
        }
        let Some(go) = &around.go else {
            return Err(AssetsError::NoGo {
                cache: cache.display().to_string(),
            });
        };
        build_once(around, go, &cache, progress)
    }

    /// The folder, if all binaries are in it; else what is missing.
    fn complete(folder: &Path) -> Result<Self, Vec<&'static str>> {
        let missing: Vec<_> = BINARIES
            .into_iter()
            .filter(|name| !is_executable(&folder.join(name)))
            .collect();
        if !missing.is_empty() {
            return Err(missing);
        }
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        Ok(Self { folder })
    }

    /// The folder itself, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of one of [`BINARIES`].
    pub fn binary(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The path of `kubectl`.
    pub fn kubectl(&self) -> PathBuf {
        self.binary("kubectl")
    }
}

/// Builds under a lock, so that two processes that start together build once.
fn build_once(
    around: &Surroundings,
    go: &Path,
    cache: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Assets, AssetsError> {
    let parent = cache.parent().unwrap_or(cache);
    fs::create_dir_all(parent).map_err(io_error("create", parent))?;
    let lock_path = parent.join("build.lock");
    let lock = File::create(&lock_path).map_err(io_error("create", &lock_path))?;
    if lock.try_lock().is_err() {
        progress("another process builds the control plane; waiting for it");
        lock.lock().map_err(io_error("lock", &lock_path))?;
    }
    if let Ok(found) = Assets::complete(cache) {
        return Ok(found);
    }
    remove_interrupted(parent);
    let work = tempfile::Builder::new()
        .prefix(BUILDING)
        .tempdir_in(parent)
        .map_err(io_error("create", parent))?;
    go_build(around, go, work.path(), cache, progress)?;
    let built = work.path().join("bin");
    // What is left of a half-copied folder would make the rename fail.
    if cache.exists() {
        fs::remove_dir_all(cache).map_err(io_error("replace", cache))?;
    }
    fs::rename(&built, cache).map_err(io_error("move into place", cache))?;
    Assets::complete(cache).map_err(|missing| AssetsError::Build {
        status: "success".into(),
        tail: format!("but it left no {}", missing.join(", ")),
        cache: cache.display().to_string(),
    })
}

/// What a build that was killed left behind; the caller holds the lock, so none of it is in use.
fn remove_interrupted(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with(BUILDING) {
            // Whatever cannot be removed only takes room.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn go_build(
    around: &Surroundings,
    go: &Path,
    work: &Path,
    cache: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), AssetsError> {
    for (name, text) in [("go.mod", GO_MOD), ("go.sum", GO_SUM)] {
        let path = work.join(name);
        fs::write(&path, text).map_err(io_error("write", &path))?;
    }
    let bin = work.join("bin");
    fs::create_dir(&bin).map_err(io_error("create", &bin))?;
    progress(&format!(
        "building the control plane once into {} (about ten minutes on two cores)",
        cache.display()
    ));
    let mut child = go_command(around, go, work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(io_error("start", go))?;
    let tail = follow(child.stderr.take(), progress);
    let status = child.wait().map_err(io_error("wait for", go))?;
    if !status.success() {
        return Err(AssetsError::Build {
            status: status.to_string(),
            tail,
            cache: cache.display().to_string(),
        });
    }
    // The tool is called after the last element of its import path, which for etcd is `server`.
    fs::rename(bin.join("server"), bin.join("etcd")).map_err(io_error("rename", &bin))
}

fn go_command(around: &Surroundings, go: &Path, work: &Path) -> Command {
    let versions = Versions::committed();
    let (major, minor) = versions.kubernetes_minor();
    let package = "k8s.io/component-base/version";
    let mut command = Command::new(go);
    command
        .current_dir(work)
        .args(["build", "-v"])
        .arg(format!(
            "-ldflags=-s -w -X {package}.gitVersion={} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}",
            versions.kubernetes
        ))
        .args(["-o", "bin/", "tool"])
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env("GOFLAGS", "")
        .env_remove("GOOS")
        .env_remove("GOARCH");
    if around.home.is_none() {
        let root = around.cache_root.join("go");
        command
            .env("GOCACHE", root.join("build"))
            .env("GOPATH", root.join("path"));
    }
    command
}

/// Counts what `go build -v` says into a line every few seconds; returns the last lines for an error.
fn follow(stderr: Option<impl io::Read>, progress: &mut dyn FnMut(&str)) -> String {
    const EVERY: Duration = Duration::from_secs(15);
    const KEPT: usize = 20;
    let started = Instant::now();
    let mut said = started;
    let (mut downloaded, mut compiled) = (0_u32, 0_u32);
    let mut tail = std::collections::VecDeque::with_capacity(KEPT);
    for line in stderr
        .into_iter()
        .flat_map(|stream| BufReader::new(stream).lines())
        .map_while(Result::ok)
    {
        if line.starts_with("go: downloading") {
            downloaded += 1;
        } else if !line.contains(' ') {
            compiled += 1;
        }
        if tail.len() == KEPT {
            tail.pop_front();
        }
        tail.push_back(line);
        if said.elapsed() >= EVERY {
            said = Instant::now();
            let seconds = started.elapsed().as_secs();
            progress(&format!(
                "  {seconds} s: {downloaded} modules fetched, {compiled} packages compiled"
            ));
        }
    }
    tail.into_iter().collect::<Vec<_>>().join("\n")
}

/// Writes a progress line to the real standard error, past the capture of the test harness: a first build takes
/// minutes, and whoever waits should know.
pub fn progress_to_stderr(line: &str) {
    // Nobody is left to tell when standard error itself is closed.
    let _ = writeln!(io::stderr(), "{line}");
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| is_executable(file))
}

#[cfg(test)]
mod tests {
    use super::{Assets, AssetsError, BINARIES, Surroundings, Versions};
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    fn fake_binaries(folder: &Path, names: &[&str]) {
        fs::create_dir_all(folder).unwrap();
        for name in names {
            let path = folder.join(name);
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// A `go` that answers `build` by writing the tools, and notes that it ran.
    fn fake_go(folder: &Path, script: &str) -> std::path::PathBuf {
        let path = folder.join("go");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    const BUILDS: &str = "echo ran >> \"$COUNT\"; for t in server kube-apiserver kube-controller-manager kubectl; do \
                          echo x > bin/$t; chmod +x bin/$t; done";

    fn around(root: &Path) -> Surroundings {
        Surroundings {
            cache_root: root.join("cache"),
            home: Some(root.into()),
            ..Surroundings::default()
        }
    }

    #[test]
    fn versions_come_from_the_committed_module_file() {
        let versions = Versions::committed();
        assert!(versions.kubernetes.starts_with("v1."), "{versions:?}");
        assert!(versions.etcd.starts_with("v3."), "{versions:?}");
    }

    #[test]
    fn a_complete_folder_named_by_the_environment_wins() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("assets");
        fake_binaries(&folder, &BINARIES);
        let around = Surroundings {
            kubebuilder_assets: Some(folder.clone()),
            ..around(root.path())
        };
        let assets = Assets::find_or_build_in(&around, &mut |_| {}).unwrap();
        assert_eq!(assets.folder(), fs::canonicalize(folder).unwrap());
    }

    #[test]
    fn an_incomplete_folder_is_an_error_that_names_the_gap_and_the_three_ways() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("assets");
        fake_binaries(&folder, &["etcd", "kube-apiserver", "kubectl"]);
        let around = Surroundings {
            kubebuilder_assets: Some(folder),
            ..around(root.path())
        };
        let error = Assets::find_or_build_in(&around, &mut |_| {}).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("lacks kube-controller-manager"), "{text}");
        assert!(
            text.contains("KUBEBUILDER_ASSETS") && text.contains("Go 1.26") && text.contains("copy"),
            "{text}"
        );
    }

    #[test]
    fn without_go_and_without_assets_the_error_names_the_three_ways() {
        let root = tempfile::tempdir().unwrap();
        let error = Assets::find_or_build_in(&around(root.path()), &mut |_| {}).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("no `go` in PATH") && text.contains("KUBEBUILDER_ASSETS"),
            "{text}"
        );
        assert!(
            text.contains(&around(root.path()).cache_folder().display().to_string()),
            "{text}"
        );
    }

    #[test]
    fn a_failed_build_shows_what_go_said_and_leaves_no_folder() {
        let root = tempfile::tempdir().unwrap();
        let go = fake_go(root.path(), "echo 'dial tcp: no route' >&2; exit 3");
        let around = Surroundings {
            go: Some(go),
            ..around(root.path())
        };
        let error = Assets::find_or_build_in(&around, &mut |_| {}).unwrap_err();
        assert!(
            matches!(&error, AssetsError::Build { tail, .. } if tail.contains("no route")),
            "{error}"
        );
        assert!(!around.cache_folder().exists());
        let leftovers: Vec<_> = fs::read_dir(around.cache_folder().parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with(".building"))
            .collect();
        assert!(leftovers.is_empty(), "{leftovers:?}");
    }

    #[test]
    fn two_at_once_build_once() {
        let root = tempfile::tempdir().unwrap();
        let count = root.path().join("count");
        let go = fake_go(root.path(), &BUILDS.replace("$COUNT", &count.display().to_string()));
        let around = Surroundings {
            go: Some(go),
            ..around(root.path())
        };
        let interrupted = around.cache_folder().with_file_name(".building-old");
        fs::create_dir_all(&interrupted).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| Assets::find_or_build_in(&around, &mut |_| {}).unwrap());
            }
        });
        assert_eq!(fs::read_to_string(count).unwrap(), "ran\n");
        assert!(around.cache_folder().join("etcd").exists());
        assert!(!interrupted.exists());
    }
}
