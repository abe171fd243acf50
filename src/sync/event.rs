//! What the loop tells whoever started it. `ui` decides what a person sees; nothing here holds a value.

use std::sync::Arc;
use std::time::Duration;

use super::queue::Key;

/// What a pass did to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Made it.
    Created,
    /// Changed it.
    Updated,
    /// Deleted it.
    Deleted,
    /// Read the provider, nothing to change.
    Unchanged,
    /// By policy nothing was written (creation policy `None`, a missing `Merge` target, retained).
    NotWritten,
    /// Not due; the provider was not asked.
    NotDue,
}

/// What a PushSecret would do with one remote entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RemoteAction {
    /// Make it.
    Create,
    /// Change it, or (where the store cannot tell) write the same again.
    Update,
    /// Nothing: it holds that already.
    Unchanged,
    /// Nothing: it exists, and the policy is `IfNotExists`.
    Skip,
    /// Delete it.
    Delete,
    /// Not delete it, although it is no longer asked for.
    Leave,
}

impl RemoteAction {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Unchanged => "unchanged",
            Self::Skip => "skip",
            Self::Delete => "delete",
            Self::Leave => "leave",
        }
    }
}

/// One thing that happened in one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncEvent {
    /// Everything is listed; the loop begins to work.
    Started {
        /// Number of ExternalSecrets seen.
        external_secrets: usize,
        /// Number of stores seen.
        stores: usize,
    },
    /// A pass ended well.
    Synced {
        /// The object.
        key: Key,
        /// What was done.
        change: Change,
        /// How long the pass took.
        took: Duration,
    },
    /// A pass failed.
    Failed {
        /// The object.
        key: Key,
        /// The whole cause, as in the object's event.
        message: String,
        /// When it is tried again; `None`: not before something changes.
        retry: Option<Duration>,
        /// How long the pass took.
        took: Duration,
    },
    /// A pass ended well, and yet not everything that was asked for is there.
    Warning {
        /// The object.
        key: Key,
        /// What is amiss, with the remote name; never a value.
        message: String,
    },
    /// Another controller class is responsible.
    NotOurs {
        /// The object.
        key: Key,
    },
    /// An object was deleted, and what it held was cleaned up.
    Released {
        /// The object.
        key: Key,
    },
    /// A store was validated.
    Store {
        /// The store.
        key: Key,
        /// Whether it may be used.
        ready: bool,
        /// The condition's reason, empty where none was written.
        reason: String,
        /// The whole cause of a failure.
        message: String,
    },
    /// A watch lost or regained its connection.
    Watch {
        /// Plural name of the kind.
        resource: String,
        /// `None`: current again. Else why it is stale.
        stale: Option<String>,
    },
    /// A write that shadow mode did not send.
    Would {
        /// `create`, `update`, `patch`, `delete`.
        verb: &'static str,
        /// Plural name, with `/status` for that subresource.
        resource: String,
        /// Namespace, or empty.
        namespace: String,
        /// Name.
        name: String,
    },
    /// What a PushSecret would have done at the provider, in shadow mode.
    Remote {
        /// The PushSecret.
        key: Key,
        /// `Kind/name` of the store.
        store: String,
        /// Remote key, with `/property`.
        entry: String,
        /// What.
        action: RemoteAction,
    },
    /// Something worth a line that concerns no single object.
    Note {
        /// The text.
        message: String,
    },
}

/// Receives events; must not block.
pub type Sink = Arc<dyn Fn(&str, SyncEvent) + Send + Sync>;
