//! What a PushSecret sends where: pure decisions, given the source and the time.
//!
//! [`entries`] turns `data` and `dataTo` into single entries; the functions here decide when a push is due and which
//! recorded entries are stale.

pub mod entries;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::api::GoDuration;
use crate::api::push_secret::{PushData, PushSecretStatus, SyncedPushSecrets};

/// Key of an entry in the status: `remoteKey`, or `remoteKey/property`.
pub fn entry_key(data: &PushData) -> String {
    let remote = &data.match_.remote_ref;
    if remote.property.is_empty() {
        remote.remote_key.clone()
    } else {
        format!("{}/{}", remote.remote_key, remote.property)
    }
}

/// Whether a push is due. This is not the rule of an ExternalSecret: a change comes before an interval of zero, and a
/// refresh time in the future is believed.
pub fn is_due(
    status: &PushSecretStatus,
    refreshed: Option<Timestamp>,
    interval: GoDuration,
    version: &str,
    now: Timestamp,
) -> bool {
    if status.synced_resource_version != version {
        return true;
    }
    if interval.as_nanos() == 0 && !status.synced_resource_version.is_empty() {
        return false;
    }
    let Some(at) = refreshed else { return true };
    at.checked_add(SignedDuration::from_nanos(interval.as_nanos()))
        .is_ok_and(|end| end < now)
}

/// How long until the next push after one at `at`; `None`: only at an event.
pub fn look_again(at: Timestamp, interval: GoDuration, now: Timestamp) -> Option<Duration> {
    let period = interval.is_positive().then(|| interval.to_std())?;
    let age = Duration::try_from(now.duration_since(at)).unwrap_or_default();
    // A push is due strictly after the interval, and times have whole seconds.
    Some(period.saturating_sub(age).saturating_add(Duration::from_millis(20)))
}

/// Both maps together; for an entry in both, the one of `old` stays (as in ESO).
pub fn merge(new: &SyncedPushSecrets, old: &SyncedPushSecrets) -> SyncedPushSecrets {
    let mut merged = new.clone();
    for (store, entries) in old {
        merged.entry(store.clone()).or_default().extend(entries.clone());
    }
    merged
}

/// The namespace an entry's envelope sends it to instead of the store's; empty for none.
pub fn namespace_override(data: &PushData) -> &str {
    let spec = data.metadata.as_ref().and_then(|m| member(m, "spec"));
    spec.and_then(|s| member(s, "remoteNamespace"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// A member of an envelope, whose names match in any case.
fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value
        .as_object()?
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

/// The entries of `old` that `new` does not have, by store: gone from the spec, or sent to another namespace now.
pub fn stale(old: &SyncedPushSecrets, new: &SyncedPushSecrets) -> Vec<(String, String, PushData)> {
    let mut out = Vec::new();
    for (store, entries) in old {
        for (key, data) in entries {
            let kept = new.get(store).and_then(|entries| entries.get(key));
            if kept.is_none_or(|kept| namespace_override(kept) != namespace_override(data)) {
                out.push((store.clone(), key.clone(), data.clone()));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::{is_due, merge, namespace_override, stale};
    use crate::api::GoDuration;
    use crate::api::push_secret::{PushData, PushSecretStatus, SyncedPushSecrets};

    fn map(value: serde_json::Value) -> SyncedPushSecrets {
        serde_json::from_value(value).unwrap()
    }

    fn entry(key: &str) -> serde_json::Value {
        json!({"match": {"secretKey": key, "remoteRef": {"remoteKey": "r"}}})
    }

    #[test]
    fn a_change_is_due_even_with_an_interval_of_zero_and_the_future_is_believed() {
        let at = |s| Timestamp::from_second(s).unwrap();
        let status = PushSecretStatus {
            synced_resource_version: "1-a".to_owned(),
            ..PushSecretStatus::default()
        };
        let hour = GoDuration::HOUR;
        for (refreshed, interval, version, now, due) in [
            (Some(at(0)), GoDuration::ZERO, "2-a", 10, true),
            (Some(at(0)), GoDuration::ZERO, "1-a", 99_999, false),
            (None, hour, "1-a", 10, true),
            (Some(at(0)), hour, "1-a", 3600, false),
            (Some(at(0)), hour, "1-a", 3601, true),
            (Some(at(9_000)), hour, "1-a", 10, false),
        ] {
            assert_eq!(
                is_due(&status, refreshed, interval, version, at(now)),
                due,
                "{refreshed:?} {version} {now}"
            );
        }
    }

    #[test]
    fn on_failure_the_recorded_entry_stays() {
        let (new, old) = (
            map(json!({"S/a": {"r": entry("new"), "q": entry("new")}})),
            map(json!({"S/a": {"r": entry("old")}, "S/b": {}})),
        );
        let merged = merge(&new, &old);
        assert_eq!(merged["S/a"]["r"].match_.secret_key, "old");
        assert_eq!((merged["S/a"].len(), merged["S/b"].len()), (2, 0));
    }

    #[test]
    fn stale_is_what_left_a_store_or_moved_to_another_namespace() {
        let moved =
            json!({"match": {"remoteRef": {"remoteKey": "r"}}, "metadata": {"spec": {"RemoteNamespace": "attic"}}});
        let old = map(json!({"S/a": {"r": entry("k"), "q": entry("k")}, "S/b": {"r": moved}}));
        let new = map(json!({"S/a": {"r": entry("other")}, "S/b": {"r": entry("k")}}));
        let gone: Vec<_> = stale(&old, &new)
            .into_iter()
            .map(|(store, key, _)| format!("{store} {key}"))
            .collect();
        assert_eq!(gone, ["S/a q", "S/b r"]);
        let data: PushData = old["S/b"]["r"].clone();
        assert_eq!(namespace_override(&data), "attic");
    }
}
