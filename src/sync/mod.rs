//! The loop: what the External Secrets Operator does, for any number of clusters, from one process.
//!
//! ```text
//! watches ─► caches ─► listeners ─► queue ─► pass (one file per kind) ─► writer ─► API server
//!                                     ▲                   │                 └────► caches (our own writes, at once)
//!                                     └─── backoff, interval, woken by stores
//! ```
//!
//! Each cluster has its own queue, caches, connections and failures; a dead one costs the others nothing.

pub mod context;
pub mod event;
pub mod external_secret;
pub mod gate;
pub mod guard;
pub mod index;
pub mod kind;
pub mod leader;
pub mod objects;
pub mod pause;
pub mod queue;
pub mod recorder;
pub mod retry;
mod run;
mod source_watch;
pub mod settings;
pub mod store;
pub mod store_access;

use kind::Kind;

pub use event::{Change, Sink, SyncEvent};
pub use run::{ClusterReport, Target, run};
pub use settings::{Mode, Settings, SourceWatch};

/// Makes one driven kind.
type Make = fn() -> Box<dyn Kind>;

/// Every kind the loop drives. Stores come first: their first look decides whether others can begin.
pub static KINDS: &[Make] = &[
    store::StoreKind::namespaced,
    store::StoreKind::cluster_wide,
    external_secret::ExternalSecretKind::boxed,
];
