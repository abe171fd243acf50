//! One loop per cluster and class: a Lease, renewed while the loop runs, and a fence that closes before the Lease ends.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::gate::Fence;
use crate::cluster::lease::{self, Held};
use crate::cluster::{Cluster, Reason};

/// How long the Lease lives without a renewal: the next loop carries on well within 15 seconds.
const LIFE: Duration = Duration::from_secs(9);
/// Renewed this often.
const RENEW: Duration = Duration::from_secs(3);
/// Writing stops this long before the Lease ends, so that a write in flight is over by then.
const MARGIN: Duration = Duration::from_secs(2);

/// What came of asking for the Lease.
pub enum Taken {
    /// It is ours.
    Held(Box<Held>, (Instant, SystemTime)),
    /// Leases cannot be kept here, and why; the loop runs without.
    Impossible(String),
    /// Somebody else has it, and who.
    Busy(String),
}

/// Where the Lease of a loop is.
pub struct Place {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Who we are.
    pub holder: String,
}

impl Place {
    /// For a loop over one namespace, or (`None`) over all.
    pub fn new(namespace: Option<&str>, class: &str, holder: &str) -> Self {
        Self {
            namespace: namespace.unwrap_or("kube-system").to_owned(),
            name: format!("kubectl-eso-sync-{class}"),
            holder: holder.to_owned(),
        }
    }
}

/// Asks for the Lease, for at most `wait`.
pub async fn take(cluster: &Cluster, place: &Place, wait: Duration) -> Taken {
    let spec = lease::Spec {
        namespace: place.namespace.clone(),
        name: place.name.clone(),
        holder: place.holder.clone(),
        duration: LIFE,
        wait,
    };
    let asked = (Instant::now(), SystemTime::now());
    match lease::acquire(cluster, &spec, Timestamp::now).await {
        Ok(held) => Taken::Held(Box::new(held), asked),
        Err(e) if matches!(e.reason, Reason::Conflict | Reason::AlreadyExists) => Taken::Busy(e.message),
        Err(e) => Taken::Impossible(e.message),
    }
}

/// Renews until `stop`, then gives the Lease back. When it is lost the fence closes and `lost` is cancelled.
pub async fn keep(
    cluster: &Cluster,
    mut held: Box<Held>,
    asked: (Instant, SystemTime),
    fence: Arc<Fence>,
    stop: &CancellationToken,
    lost: &CancellationToken,
) {
    fence.extend(asked, LIFE - MARGIN);
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(RENEW) => {}
        }
        let asked = (Instant::now(), SystemTime::now());
        match tokio::time::timeout(RENEW, held.renew(cluster, Timestamp::now())).await {
            Ok(Ok(())) => fence.extend(asked, LIFE - MARGIN),
            Ok(Err(e)) if e.reason == Reason::Conflict => {
                fence.close();
                lost.cancel();
                return;
            }
            // Not renewed this time; the fence closes by itself if that goes on.
            Ok(Err(_)) | Err(_) => {
                if !fence.holds() {
                    lost.cancel();
                    return;
                }
            }
        }
    }
    held.release(cluster).await;
}
