//! Sync windows: recurring times at which a periodic refresh is allowed or denied, in UTC.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::api::external_secret::{SyncWindow, SyncWindows};
use crate::lang::cron::Schedule;

/// True where a periodic refresh may happen at `now`. No windows: always; a kind other than `allow` or `deny`: always. A
/// schedule that cannot be read is never active.
pub fn allow(windows: Option<&SyncWindows>, now: Timestamp) -> bool {
    let Some(windows) = windows.filter(|w| !w.windows.is_empty()) else {
        return true;
    };
    let any = || windows.windows.iter().any(|w| active(w, now));
    match windows.kind.as_str() {
        "deny" => !any(),
        "allow" => any(),
        _ => true,
    }
}

/// Active with P = the first firing strictly after (now − duration − 1 s): P ≤ now ≤ P + duration. The second of slack is
/// ESO's.
fn active(window: &SyncWindow, now: Timestamp) -> bool {
    let duration = SignedDuration::from_nanos(window.duration.as_nanos());
    let Ok(schedule) = Schedule::parse(&window.schedule) else {
        return false;
    };
    let start = duration
        .checked_add(SignedDuration::from_secs(1))
        .and_then(|back| now.checked_sub(back).ok())
        .and_then(|from| schedule.next(from, &TimeZone::UTC));
    start.is_some_and(|p| p <= now && p.checked_add(duration).is_ok_and(|end| now <= end))
}

/// How long until the verdict of [`allow`] can change: the next opening or closing of any window.
pub fn next_change(windows: Option<&SyncWindows>, now: Timestamp) -> Option<Duration> {
    let moments = windows?.windows.iter().filter_map(|window| {
        let schedule = Schedule::parse(&window.schedule).ok()?;
        let opens = schedule.next(now, &TimeZone::UTC);
        let duration = SignedDuration::from_nanos(window.duration.as_nanos());
        let began = now
            .checked_sub(duration.checked_add(SignedDuration::from_secs(1))?)
            .ok()?;
        let closes = schedule
            .next(began, &TimeZone::UTC)
            .and_then(|p| p.checked_add(duration).ok())
            .filter(|end| *end > now);
        [opens, closes].into_iter().flatten().min()
    });
    let first = moments.min()?;
    let wait = Duration::try_from(first.duration_since(now)).ok()?;
    Some(wait + Duration::from_millis(50))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::{allow, next_change};
    use crate::api::external_secret::SyncWindows;

    fn windows(kind: &str, schedule: &str, duration: &str) -> SyncWindows {
        let value = json!({"kind": kind, "windows": [{"schedule": schedule, "duration": duration}]});
        serde_json::from_value(value).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn both_ends_belong_to_the_window() {
        let nightly = windows("allow", "0 2 * * *", "1h");
        for (time, open) in [
            ("2026-03-01T01:59:59Z", false),
            ("2026-03-01T02:00:00Z", true),
            ("2026-03-01T03:00:00Z", true),
            ("2026-03-01T03:00:01Z", false),
        ] {
            assert_eq!(allow(Some(&nightly), at(time)), open, "{time}");
        }
        assert!(!allow(
            Some(&windows("deny", "0 2 * * *", "1h")),
            at("2026-03-01T02:30:00Z")
        ));
    }

    #[test]
    fn unreadable_schedules_are_never_active() {
        let noon = at("2026-03-01T12:00:00Z");
        assert!(!allow(Some(&windows("allow", "* * * * 7", "1h")), noon));
        assert!(allow(Some(&windows("deny", "* * * * 7", "1h")), noon));
        assert!(allow(None, noon));
        assert!(allow(Some(&windows("other", "* * * * *", "1h")), noon));
    }

    #[test]
    fn every_is_anchored_to_nothing() {
        let noon = at("2026-03-01T12:00:00Z");
        assert!(allow(Some(&windows("allow", "@every 30m", "1h")), noon));
        assert!(!allow(Some(&windows("allow", "@every 2h", "1h")), noon));
    }

    #[test]
    fn the_next_change_is_the_opening_or_the_closing() {
        let nightly = windows("allow", "0 2 * * *", "1h");
        assert_eq!(
            next_change(Some(&nightly), at("2026-03-01T01:00:00Z"))
                .unwrap()
                .as_secs(),
            3600
        );
        assert_eq!(
            next_change(Some(&nightly), at("2026-03-01T02:30:00Z"))
                .unwrap()
                .as_secs(),
            1800
        );
    }
}
