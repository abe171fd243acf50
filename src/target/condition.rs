//! How a condition enters a list of conditions: ESO's update rule.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::{Condition, READY};

/// The `Ready` condition of an outcome, not yet dated.
pub fn ready(ready: bool, reason: &str, message: &str) -> Condition {
    Condition {
        type_: READY.to_owned(),
        status: if ready { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_transition_time: None,
    }
}

/// Puts `new` into `conditions`. The same status, reason and message: nothing changes. The same status otherwise: replaced,
/// the transition time kept. Else replaced with `now`. A replaced entry moves to the end.
pub fn set(conditions: &mut Vec<Condition>, mut new: Condition, now: Timestamp) {
    let old = conditions.iter().find(|c| c.type_ == new.type_);
    if old.is_some_and(|o| o.status == new.status && o.reason == new.reason && o.message == new.message) {
        return;
    }
    let kept = old
        .filter(|o| o.status == new.status)
        .and_then(|o| o.last_transition_time.clone());
    new.last_transition_time = Some(kept.unwrap_or_else(|| Time(whole_seconds(now))));
    conditions.retain(|c| c.type_ != new.type_);
    conditions.push(new);
}

/// Kubernetes stores times in whole seconds.
pub fn whole_seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{ready, set};

    #[test]
    fn the_transition_time_is_the_status_and_nothing_else() {
        let at = |s| Timestamp::from_second(s).unwrap();
        let mut list = Vec::new();
        set(&mut list, ready(false, "A", "a"), at(10));
        set(&mut list, ready(false, "A", "a"), at(20));
        assert_eq!(list[0].last_transition_time.as_ref().unwrap().0, at(10));
        set(&mut list, ready(false, "B", "b"), at(30));
        assert_eq!(
            (
                list[0].reason.as_str(),
                list[0].last_transition_time.as_ref().unwrap().0
            ),
            ("B", at(10))
        );
        set(&mut list, ready(true, "C", "c"), at(40));
        assert_eq!(list[0].last_transition_time.as_ref().unwrap().0, at(40));
        assert_eq!(list.len(), 1);
    }
}
