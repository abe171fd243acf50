//! When an ExternalSecret is due: ESO's decision, given the time.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{hash, windows};
use crate::api::external_secret::{ExternalSecretSpec, RefreshPolicy};

/// Longest pause before a refresh held back by sync windows is looked at again.
const WINDOW_RECHECK: Duration = Duration::from_secs(3600);

/// The text under which a successful reconcile is remembered: `<generation>-<hash of labels and annotations>`.
pub fn version(
    generation: i64,
    labels: Option<&BTreeMap<String, String>>,
    annotations: Option<&BTreeMap<String, String>>,
) -> String {
    let empty = BTreeMap::new();
    format!(
        "{generation}-{}",
        hash::of_metadata(annotations.unwrap_or(&empty), labels.unwrap_or(&empty))
    )
}

/// What is known about the last success.
#[derive(Debug, Clone, Copy)]
pub struct LastSuccess<'a> {
    /// `status.syncedResourceVersion`, empty before the first.
    pub version: &'a str,
    /// `status.refreshTime`, or a later refresh that changed nothing and was not written.
    pub at: Option<Timestamp>,
}

/// Whether provider data is to be read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// Read.
    Yes,
    /// Not yet, or never.
    No,
    /// The interval has passed, a sync window forbids it.
    HeldBack,
}

/// ESO's decision at `now`, for the version string `current`.
pub fn due(spec: &ExternalSecretSpec, last: LastSuccess<'_>, current: &str, now: Timestamp) -> Due {
    let never = last.version.is_empty();
    match spec.refresh_policy {
        RefreshPolicy::CreatedOnce => yes(never || last.at.is_none()),
        RefreshPolicy::OnChange => yes(never || last.at.is_none() || last.version != current),
        RefreshPolicy::Periodic | RefreshPolicy::Other(_) => periodic(spec, last, current, now),
    }
}

fn yes(refresh: bool) -> Due {
    if refresh { Due::Yes } else { Due::No }
}

fn periodic(spec: &ExternalSecretSpec, last: LastSuccess<'_>, current: &str, now: Timestamp) -> Due {
    let interval = spec.interval();
    if !interval.is_positive() && !last.version.is_empty() {
        return Due::No;
    }
    let Some(at) = last.at.filter(|at| last.version == current && *at <= now) else {
        return Due::Yes;
    };
    let elapsed = at
        .checked_add(SignedDuration::from_nanos(interval.as_nanos()))
        .is_ok_and(|end| end < now);
    match elapsed {
        false => Due::No,
        true if windows::allow(spec.sync_windows.as_ref(), now) => Due::Yes,
        true => Due::HeldBack,
    }
}

/// When to look again after a success or a skip; `None`: only at an event.
///
/// ESO asks for "now" over and over once the interval has passed with nothing to do; the time at which the answer can
/// change is known, so that is returned instead.
pub fn look_again(
    spec: &ExternalSecretSpec,
    last: LastSuccess<'_>,
    now: Timestamp,
    held_back: bool,
) -> Option<Duration> {
    let interval = spec.interval();
    if !interval.is_positive() {
        return None;
    }
    let period = Duration::from_nanos(u64::try_from(interval.as_nanos()).unwrap_or_default());
    let Some(at) = last.at else { return Some(period) };
    let age = Duration::try_from(now.duration_since(at)).unwrap_or_default();
    if age < period {
        // A refresh is due strictly after the interval, and times have whole seconds.
        return Some((period - age).saturating_add(Duration::from_millis(20)));
    }
    if held_back {
        return Some(
            windows::next_change(spec.sync_windows.as_ref(), now)
                .unwrap_or(WINDOW_RECHECK)
                .min(WINDOW_RECHECK),
        );
    }
    match spec.refresh_policy {
        RefreshPolicy::CreatedOnce | RefreshPolicy::OnChange => Some(period),
        RefreshPolicy::Periodic | RefreshPolicy::Other(_) => Some(Duration::from_millis(20)),
    }
}

/// Whether a changed source may be read at once although the interval has not passed: only where the policy would read
/// it again by itself, and no window forbids it.
pub fn follows_source(spec: &ExternalSecretSpec, now: Timestamp) -> bool {
    matches!(spec.refresh_policy, RefreshPolicy::Periodic | RefreshPolicy::Other(_))
        && spec.interval().is_positive()
        && windows::allow(spec.sync_windows.as_ref(), now)
}

#[cfg(test)]
mod tests;
