//! How long a failing key waits: ESO's per-key exponential backoff (`1 s · 2ⁿ`, at most 7 minutes), and the jitter that
//! keeps periodic refreshes from arriving together. Pure.

use std::time::Duration;

/// Longest pause between two attempts at one key.
pub const MAX_BACKOFF: Duration = Duration::from_secs(420);

/// Pause before the next attempt, after `failures` consecutive earlier ones: 1, 2, 4, … 256, 420 seconds.
pub fn backoff(failures: u32) -> Duration {
    if failures >= 9 {
        return MAX_BACKOFF;
    }
    Duration::from_secs(1 << failures)
}

/// Adds up to a tenth of `delay` (at most a minute), so that objects made together drift apart.
///
/// `noise` is any well-mixed number; delays below ten seconds stay exact, because people watch those.
pub fn jitter(delay: Duration, noise: u64) -> Duration {
    if delay < Duration::from_secs(10) {
        return delay;
    }
    let room = (delay / 10).min(Duration::from_secs(60));
    let share = u32::try_from(noise % 1000).unwrap_or(0);
    delay + room * share / 1000
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{MAX_BACKOFF, backoff, jitter};

    #[test]
    fn doubles_from_one_second_to_seven_minutes() {
        let seconds: Vec<u64> = (0..11).map(|n| backoff(n).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 420, 420]);
        assert_eq!(backoff(u32::MAX), MAX_BACKOFF);
    }

    #[test]
    fn jitter_never_shortens_and_leaves_short_delays_alone() {
        assert_eq!(jitter(Duration::from_secs(2), 999), Duration::from_secs(2));
        let hour = Duration::from_secs(3600);
        assert!((0..5000).all(|n| jitter(hour, n) >= hour && jitter(hour, n) <= hour + Duration::from_secs(60)));
    }
}
