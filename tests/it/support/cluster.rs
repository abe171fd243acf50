//! The clusters of a test run: one shared set, or a set of one's own.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use xtask::controlplane::{Cluster, ControlPlanes, Options};

/// Clusters of the shared set: one upstream, two downstreams.
pub const SHARED: usize = 3;

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-eso");

/// The set that most tests share, started by the first that asks. Take namespaces of your own in it, and no
/// cluster-scoped names that another test might use; whoever breaks or counts whole clusters takes [`own_clusters`].
pub fn shared() -> &'static ControlPlanes {
    static SET: OnceLock<ControlPlanes> = OnceLock::new();
    SET.get_or_init(|| start(Options::count(SHARED)))
}

/// A set for one test alone.
pub fn own_clusters(options: Options) -> ControlPlanes {
    start(options)
}

/// One set starts at a time: two on the same processors would only make both late.
fn start(options: Options) -> ControlPlanes {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    ControlPlanes::start(options).unwrap()
}

/// Installs the definitions that `kubectl-eso crds` prints, and waits until they are served.
pub async fn with_crds(cluster: &Cluster) {
    static PRINTED: OnceLock<String> = OnceLock::new();
    let yaml = PRINTED.get_or_init(|| xtask::crds::printed_by(Path::new(BINARY)).unwrap());
    xtask::crds::apply(&cluster.client().await.unwrap(), yaml)
        .await
        .unwrap();
}
