//! How a pass ends: what the status says then, and when the object is looked at again.

use std::time::Duration;

/// The end of a pass over an object whose target was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A success: condition `True`, refresh time and version set.
    Done {
        /// Reason of the condition.
        reason: &'static str,
        /// Message of the condition.
        message: &'static str,
        /// What was done, for whoever watches.
        change: crate::sync::event::Change,
    },
    /// A failure: condition `False`, an event with the whole cause.
    Failed {
        /// Reason of the condition.
        reason: &'static str,
        /// Message of the condition; never the cause.
        message: &'static str,
        /// The whole cause.
        cause: String,
        /// What comes next.
        retry: Retry,
    },
    /// Not due.
    NotDue {
        /// Only a sync window forbids it.
        held_back: bool,
    },
    /// An API error outside a documented failure: no status, no event, tried again.
    ApiError(String),
    /// Somebody wrote in between: tried again at once, nothing said.
    Conflict,
    /// Waits for the first validation of a store.
    Parked,
}

/// Whether a failure is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// With backoff.
    Backoff,
    /// With backoff, not sooner than this.
    AtLeast(Duration),
    /// Not before something changes.
    Never,
}

/// Reason of a success.
pub const SYNCED: &str = "SecretSynced";
/// Reason of every failure of a Secret target.
pub const ERROR: &str = "SecretSyncedError";
/// Message of a failed fetch.
pub const FETCH_FAILED: &str = "could not get secret data from provider";
/// Message of a failed write.
pub const WRITE_FAILED: &str = "could not update secret";

impl Outcome {
    /// A failure of a Secret target that is tried again.
    pub fn failed(message: &'static str, cause: impl Into<String>) -> Self {
        Self::Failed {
            reason: ERROR,
            message,
            cause: cause.into(),
            retry: Retry::Backoff,
        }
    }

    /// A failure of a Secret target that is not tried again.
    pub fn refused(message: &'static str, cause: impl Into<String>) -> Self {
        Self::Failed {
            reason: ERROR,
            message,
            cause: cause.into(),
            retry: Retry::Never,
        }
    }

    /// `SecretSynced`.
    pub fn synced(change: crate::sync::event::Change) -> Self {
        Self::Done {
            reason: SYNCED,
            message: "secret synced",
            change,
        }
    }
}
