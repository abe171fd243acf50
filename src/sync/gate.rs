//! The one place where a write can be stopped: shadow mode, a lost Lease.

use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::event::{Sink, SyncEvent};
use crate::cluster::write::{Gate, Intent, Verdict};

/// Everything is sent, or (in shadow mode) reported, as long as the Lease is ours.
pub struct LoopGate {
    cluster: Arc<str>,
    shadow: bool,
    sink: Sink,
    fence: Arc<Fence>,
}

impl LoopGate {
    /// For one cluster.
    pub fn new(cluster: Arc<str>, shadow: bool, sink: Sink, fence: Arc<Fence>) -> Self {
        Self {
            cluster,
            shadow,
            sink,
            fence,
        }
    }
}

impl Gate for LoopGate {
    fn verdict(&self, _namespace: &str) -> Verdict {
        if self.shadow {
            return Verdict::Report;
        }
        if self.fence.holds() {
            Verdict::Send
        } else {
            Verdict::Refuse("the Lease of this loop is lost".to_owned())
        }
    }

    fn report(&self, intent: &Intent<'_>) {
        let event = SyncEvent::Would {
            verb: intent.verb,
            resource: intent.resource.to_owned(),
            namespace: intent.namespace.to_owned(),
            name: intent.name.to_owned(),
        };
        (self.sink)(&self.cluster, event);
    }
}

/// Until when this process may write. Both clocks must agree: the monotonic one may stand still while the machine
/// sleeps, the other may be set back.
#[derive(Default)]
pub struct Fence {
    until: Mutex<Option<(Instant, SystemTime)>>,
    unneeded: bool,
}

impl Fence {
    /// A fence that never closes, where no Lease is kept.
    pub fn open() -> Self {
        Self {
            until: Mutex::default(),
            unneeded: true,
        }
    }

    /// The Lease was renewed at `renewed` (both clocks read before the request) and lasts for `life`.
    pub fn extend(&self, renewed: (Instant, SystemTime), life: Duration) {
        let until = (renewed.0 + life, renewed.1 + life);
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    /// The Lease is somebody else's.
    pub fn close(&self) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// True while writing is allowed.
    pub fn holds(&self) -> bool {
        if self.unneeded {
            return true;
        }
        let until = *self.until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|(steady, wall)| Instant::now() < steady && SystemTime::now() < wall)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant, SystemTime};

    use super::Fence;

    #[test]
    fn a_fence_holds_for_the_life_of_the_lease_on_both_clocks() {
        let fence = Fence::default();
        assert!(!fence.holds(), "no Lease yet");
        let now = (Instant::now(), SystemTime::now());
        fence.extend(now, Duration::from_secs(10));
        assert!(fence.holds());
        fence.extend((now.0, now.1 - Duration::from_secs(20)), Duration::from_secs(10));
        assert!(!fence.holds(), "the machine slept");
        fence.extend(now, Duration::from_secs(10));
        fence.close();
        assert!(!fence.holds());
        assert!(Fence::open().holds());
    }
}
