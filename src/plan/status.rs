//! What `status` says about one cluster, out of the objects as read. Pure.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::distribute::TokenRecord;

/// A store or an ExternalSecret in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Namespace, empty for cluster scope.
    pub namespace: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Status of the condition `Ready`: `True`, `False`, `Unknown`.
    pub ready: String,
    /// Its reason.
    pub reason: String,
    /// Its message.
    pub message: String,
    /// `status.refreshTime` of an ExternalSecret.
    pub refreshed: Option<Timestamp>,
    /// Refresh interval of an ExternalSecret, as written.
    pub interval: Option<String>,
}

impl Line {
    /// Only `Ready=True` counts, and for stores only the reason `Valid`: `ValidationUnknown` is `True` as well, and is
    /// what an expired token looks like.
    pub fn is_good(&self) -> bool {
        let store = self.kind.ends_with("SecretStore");
        self.ready == "True" && (!store || self.reason == "Valid")
    }
}

/// Reads the line of any object with conditions.
pub fn line(object: &Value) -> Line {
    let text = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let ready = object
        .pointer("/status/conditions")
        .and_then(Value::as_array)
        .and_then(|all| all.iter().find(|c| c["type"] == "Ready"));
    let of = |key: &str| {
        ready
            .and_then(|c| c.get(key))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    Line {
        namespace: text("/metadata/namespace"),
        kind: text("/kind"),
        name: text("/metadata/name"),
        ready: if ready.is_some() {
            of("status")
        } else {
            "Unknown".to_owned()
        },
        reason: if ready.is_some() {
            of("reason")
        } else {
            "NotReconciled".to_owned()
        },
        message: of("message"),
        refreshed: text("/status/refreshTime").parse().ok(),
        interval: Some(text("/spec/refreshInterval")).filter(|i| !i.is_empty()),
    }
}

/// How a token stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenHealth {
    /// No token Secret of ours.
    Absent,
    /// Accepted, or not asked, and not expiring within the limit.
    Good,
    /// It runs out within the limit.
    Expiring,
    /// It has run out.
    Expired,
    /// The upstream refuses it although it has not run out: it was revoked.
    Revoked,
}

impl TokenHealth {
    /// A word for tables and JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Good => "good",
            Self::Expiring => "expiring",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

/// Judges a token by its record and by what the upstream said of it.
pub fn token_health(
    record: Option<&TokenRecord>,
    accepted: Option<bool>,
    now: Timestamp,
    within: SignedDuration,
) -> TokenHealth {
    let Some(record) = record else {
        return TokenHealth::Absent;
    };
    let left = record.expires_at.duration_since(now);
    if left <= SignedDuration::ZERO {
        TokenHealth::Expired
    } else if accepted == Some(false) {
        TokenHealth::Revoked
    } else if left <= within {
        TokenHealth::Expiring
    } else {
        TokenHealth::Good
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;

    use super::{TokenHealth, line, token_health};
    use crate::plan::distribute::TokenRecord;

    #[test]
    fn validation_unknown_is_not_good_although_ready() {
        let store = |reason: &str| {
            line(
                &json!({"kind": "SecretStore", "metadata": {"name": "s"}, "status": {"conditions": [{"type": "Ready", "status": "True", "reason": reason}]}}),
            )
        };
        assert!(store("Valid").is_good());
        assert!(!store("ValidationUnknown").is_good());
        assert!(!line(&json!({"kind": "ExternalSecret", "metadata": {"name": "e"}})).is_good());
    }

    #[test]
    fn tokens_expire_before_they_are_called_revoked() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().unwrap();
        let record = TokenRecord {
            generation: 1,
            issued_at: "2026-01-01T00:00:00Z".parse().unwrap(),
            expires_at: "2026-01-11T00:00:00Z".parse().unwrap(),
            token_id: String::new(),
            hub: String::new(),
        };
        let day = SignedDuration::from_hours(24);
        assert_eq!(token_health(Some(&record), Some(true), now, day), TokenHealth::Expiring);
        assert_eq!(token_health(Some(&record), Some(true), now, day / 2), TokenHealth::Good);
        assert_eq!(token_health(Some(&record), Some(false), now, day), TokenHealth::Revoked);
        assert_eq!(
            token_health(Some(&record), Some(false), now + day, day),
            TokenHealth::Expired
        );
        assert_eq!(token_health(None, None, now, day), TokenHealth::Absent);
    }
}
