//! The only language in which a change to a cluster can be said: pure values, shown, approved, then executed by
//! [`crate::cluster`].

pub mod bootstrap;
pub mod cid;
pub mod compare;
pub mod distribute;
pub mod input;
pub mod manifest;
pub mod names;
pub mod push_target;
pub mod request;
pub mod status;
pub mod stores;

pub use compare::{Verdict, decide};
pub use manifest::Manifest;

use serde_json::Value;

/// One intended change, with what was seen before it.
#[derive(Debug, Clone)]
pub enum Step {
    /// Server-side apply of a manifest.
    Apply(Apply),
    /// Removal of one object, guarded by the UID that was seen.
    Delete(Delete),
}

/// A manifest to apply and the verdict about it.
#[derive(Debug, Clone)]
pub struct Apply {
    /// What should be there.
    pub manifest: Manifest,
    /// What is there, as read before.
    pub live: Option<Value>,
    /// Whether and how it has to be written.
    pub verdict: Verdict,
}

/// An object to delete.
#[derive(Debug, Clone)]
pub struct Delete {
    /// `apiVersion` of the object.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, `None` for cluster scope.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// The UID that was seen: another object of the same name is left alone.
    pub uid: String,
    /// Why it goes, for the plan's display.
    pub why: String,
}

impl Step {
    /// A step that applies `manifest` over `live`.
    pub fn apply(manifest: Manifest, live: Option<Value>, policy: compare::Policy) -> Self {
        let verdict = decide(&manifest, live.as_ref(), policy);
        Self::Apply(Apply {
            manifest,
            live,
            verdict,
        })
    }

    /// `kind.group/name`.
    pub fn display(&self) -> String {
        match self {
            Self::Apply(a) => a.manifest.display(),
            Self::Delete(d) => {
                let group = d.api_version.split_once('/').map_or("", |(g, _)| g);
                manifest::display(&d.kind, group, &d.name)
            }
        }
    }
}

/// What became of a step; the word is kubectl's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It was not there.
    Created,
    /// It was there and differed.
    Configured,
    /// It was as wanted; no request was sent.
    Unchanged,
    /// It was applied without being allowed to read it first.
    Applied,
    /// It was removed.
    Deleted,
    /// A value was issued and written.
    Issued,
}

impl Action {
    /// kubectl's verb.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Applied => "serverside-applied",
            Self::Deleted => "deleted",
            Self::Issued => "issued",
        }
    }

    /// True where a cluster was changed.
    pub fn is_change(self) -> bool {
        self != Self::Unchanged
    }
}

/// One line of a result: an object and what happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// `kind.group/name`.
    pub object: String,
    /// Its namespace.
    pub namespace: Option<String>,
    /// What happened.
    pub action: Action,
}
