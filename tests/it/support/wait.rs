//! Waiting for a condition, never for a span of time.

use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(25);

/// A deadline this many seconds from now.
pub fn within(seconds: u64) -> Instant {
    Instant::now() + Duration::from_secs(seconds)
}

/// Polls until `condition` gives a value, and returns that; fails the test at the deadline, naming `what`.
pub async fn wait_until<T>(what: &str, deadline: Instant, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(value) = condition().await {
            return value;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(POLL).await;
    }
}

/// As [`wait_until`], for tests without a runtime.
pub fn block_until<T>(what: &str, deadline: Instant, mut condition: impl FnMut() -> Option<T>) -> T {
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(POLL);
    }
}
