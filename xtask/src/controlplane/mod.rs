//! Real control planes for tests, benches and the demo: several API servers with their controllers on one etcd.
//!
//! ```no_run
//! use xtask::controlplane::{ControlPlanes, Options};
//!
//! let planes = ControlPlanes::start(Options { count: 2, ..Options::default() })?;
//! let text = planes.cluster(1).kubeconfig("downstream-a").to_yaml()?;
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! Each cluster has its own CA, its own token signing key and issuer, and its own key prefix in etcd. Everything listens
//! on 127.0.0.1. A guard ends the processes when it is dropped; a guardian process does when the owner is killed.

mod certs;
mod cluster;
mod kubeconfig;
mod launch;
mod process;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context as _, Result};

pub use certs::{Authority, Identity, TokenSigner};
pub use cluster::{Cluster, TokenClaims};
pub use kubeconfig::{Entry, Kubeconfig, User};
pub use launch::{CONTROLLER_USER, free_port};
pub use process::{exists, signal};
pub use rustix::process::Signal;

use crate::assets::{Assets, progress_to_stderr};
use process::{Guardian, Process};

/// How many whole starts are tried: between the choice of a free port and its use another program may take it.
const ATTEMPTS: usize = 3;

/// What to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of clusters, named `c1`, `c2`, ….
    pub count: usize,
    /// Where keys, logs and data go; `None` is a temporary folder that goes with the guard.
    pub dir: Option<PathBuf>,
    /// Write an audit log of every request, without bodies.
    pub audit: bool,
    /// `--service-account-max-token-expiration`: longer token requests are cut to this. At least one hour.
    pub max_token_ttl: Option<Duration>,
    /// Further flags for every API server, as `--name=value`.
    pub apiserver_flags: Vec<String>,
    /// Further flags for the API server of one cluster, by index from 0.
    pub cluster_flags: Vec<(usize, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            count: 1,
            dir: None,
            audit: true,
            max_token_ttl: None,
            apiserver_flags: Vec::new(),
            cluster_flags: Vec::new(),
        }
    }
}

impl Options {
    /// The defaults, for `count` clusters.
    pub fn count(count: usize) -> Self {
        Self {
            count,
            ..Self::default()
        }
    }

    fn flags_of(&self, index: usize) -> Vec<String> {
        let limit = self
            .max_token_ttl
            .map(|ttl| format!("--service-account-max-token-expiration={}s", ttl.as_secs()));
        let own = self
            .cluster_flags
            .iter()
            .filter(|(of, _)| *of == index)
            .map(|(_, flag)| flag.clone());
        limit
            .into_iter()
            .chain(self.apiserver_flags.iter().cloned())
            .chain(own)
            .collect()
    }
}

/// A running set of clusters; ends with it.
#[derive(Debug)]
pub struct ControlPlanes {
    clusters: Vec<Cluster>,
    assets: Assets,
    dir: PathBuf,
    etcd_url: String,
    options: Options,
    processes: Mutex<Vec<Process>>,
    guardian: Option<Guardian>,
}

impl ControlPlanes {
    /// Starts clusters and waits until they are ready: each API server answers `/readyz`, and its controllers have made
    /// the `default` service account and published the CA. Blocks; may be called inside a runtime.
    #[expect(clippy::needless_pass_by_value, reason = "callers build the options in place")]
    pub fn start(options: Options) -> Result<Self> {
        let assets = Assets::find_or_build(&mut progress_to_stderr)?;
        Self::start_with(&assets, &options)
    }

    /// As [`ControlPlanes::start`], with binaries found before.
    pub fn start_with(assets: &Assets, options: &Options) -> Result<Self> {
        let mut attempt = 1;
        loop {
            match Self::start_once(assets, options.clone(), true) {
                Err(error) if attempt < ATTEMPTS && format!("{error:#}").contains("address already in use") => {
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Starts clusters that outlive this process, in `dir`; [`stop_detached`] ends them.
    pub fn start_detached(options: Options, dir: &Path) -> Result<Vec<Cluster>> {
        let assets = Assets::find_or_build(&mut progress_to_stderr)?;
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        anyhow::ensure!(
            !dir.join("pids").exists(),
            "control planes already run in {}; stop them first",
            dir.display()
        );
        let options = Options {
            dir: Some(dir.to_path_buf()),
            ..options
        };
        let planes = Self::start_once(&assets, options, false)?;
        Ok(planes.clusters.clone())
    }

    fn start_once(assets: &Assets, options: Options, guarded: bool) -> Result<Self> {
        anyhow::ensure!(options.count > 0, "at least one cluster has to be started");
        let keep = options.dir.is_some() || std::env::var_os("ESO_TEST_KEEP").is_some();
        let dir = match &options.dir {
            Some(dir) => dir.clone(),
            None => tempfile::Builder::new().prefix("kubectl-eso-planes-").tempdir()?.keep(),
        };
        fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
        let dir = fs::canonicalize(&dir)?;
        fs::write(dir.join("pids"), "")?;
        let guardian = Guardian::start(&dir, keep)?;
        let mut planes = Self {
            clusters: Vec::new(),
            assets: assets.clone(),
            etcd_url: String::new(),
            options,
            processes: Mutex::new(Vec::new()),
            guardian: Some(guardian),
            dir,
        };
        planes.launch()?;
        if !guarded {
            planes.detach()?;
        }
        Ok(planes)
    }

    fn launch(&mut self) -> Result<()> {
        let (etcd, url) = launch::etcd(&self.assets, &self.dir)?;
        self.processes().push(etcd);
        self.etcd_url = url;
        for index in 0..self.options.count {
            let cluster = launch::prepare(&self.dir, index, &self.options)?;
            self.clusters.push(cluster);
            self.spawn_apiserver(index)?;
        }
        self.blocking(async |planes| {
            let starts = (0..planes.clusters.len()).map(|index| planes.finish_start(index));
            futures::future::try_join_all(starts).await.map(drop)
        })?;
        let all = self
            .clusters
            .iter()
            .fold(Kubeconfig::new(), |file, cluster| file.admin(cluster.name(), cluster));
        all.write(&self.kubeconfig_path())?;
        Ok(())
    }

    fn spawn_apiserver(&self, index: usize) -> Result<()> {
        let flags = self.options.flags_of(index);
        let process = launch::apiserver(&self.assets, &self.dir, &self.clusters[index], &self.etcd_url, &flags)?;
        self.processes().push(process);
        Ok(())
    }

    /// The controller manager gives up on an API server that is not up within ten seconds, so it starts second.
    async fn finish_start(&self, index: usize) -> Result<()> {
        let cluster = &self.clusters[index];
        launch::apiserver_ready(cluster, &mut || self.check()).await?;
        let controllers = launch::controller_manager(&self.assets, &self.dir, cluster)?;
        self.processes().push(controllers);
        launch::controllers_ready(cluster, &mut || self.check()).await
    }

    /// Runs a future on a runtime in a thread of its own, because the caller may be inside one already.
    fn blocking<T: Send>(&self, work: impl AsyncFnOnce(&Self) -> Result<T> + Send) -> Result<T> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()?
                    .block_on(work(self))
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// An error if any process has ended.
    fn check(&self) -> Result<()> {
        self.processes().iter_mut().try_for_each(Process::check)
    }

    fn processes(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        // A panic elsewhere must not keep the guard from ending its processes.
        self.processes.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Lets the processes go on: the list of pids is put aside so that the guardian finds nothing to end.
    fn detach(&mut self) -> Result<()> {
        let (list, aside) = (self.dir.join("pids"), self.dir.join("pids.running"));
        fs::rename(&list, &aside)?;
        fs::write(&list, "")?;
        if let Some(mut guardian) = self.guardian.take() {
            guardian.finish()?;
        }
        self.processes().clear();
        fs::rename(&aside, &list)?;
        Ok(())
    }

    /// All clusters, `c1` first.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// The cluster of this index, from 0.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    pub fn cluster(&self, index: usize) -> &Cluster {
        &self.clusters[index]
    }

    /// The folder with keys, logs and data.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A kubeconfig file with a context per cluster, named after it.
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.dir.join("kubeconfig")
    }

    /// The binaries in use.
    pub fn assets(&self) -> &Assets {
        &self.assets
    }

    /// Ends the API server of one cluster at once; its data stays.
    pub fn kill_apiserver(&self, index: usize) -> Result<()> {
        let pid = self.clusters[index].apiserver_pid();
        let mut processes = self.processes();
        let position = processes.iter().position(|process| process.pid() == pid);
        let position = position.with_context(|| format!("the API server of c{} does not run", index + 1))?;
        processes.remove(position).kill()
    }

    /// Starts the API server of one cluster again, on the same port and data, and waits until it is ready.
    pub fn restart_apiserver(&self, index: usize) -> Result<()> {
        self.spawn_apiserver(index)?;
        self.blocking(async |planes| launch::apiserver_ready(&planes.clusters[index], &mut || planes.check()).await)
    }
}

impl Drop for ControlPlanes {
    fn drop(&mut self) {
        // Errors have nowhere to go from here; the guardian has the last word on what still runs.
        for process in self.processes().iter_mut().rev() {
            let _ = process.kill();
        }
        if let Some(guardian) = &mut self.guardian {
            let _ = guardian.finish();
        }
    }
}

/// Ends the clusters that [`ControlPlanes::start_detached`] left in `dir` and removes their data; logs stay. Returns how
/// many processes were ended.
pub fn stop_detached(dir: &Path) -> Result<usize> {
    let dir = fs::canonicalize(dir).with_context(|| format!("no such folder: {}", dir.display()))?;
    let ended = process::kill_listed(&dir)?;
    let data = dir.join("etcd");
    if data.exists() {
        fs::remove_dir_all(&data).with_context(|| format!("cannot remove {}", data.display()))?;
    }
    Ok(ended)
}

/// Writes a file that only the owner may read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    let file = fs::OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(path);
    let mut file = file.with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}
