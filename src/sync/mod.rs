//! The loop: what the External Secrets Operator does, for any number of clusters, from one process.
//!
//! ```text
//! watches ─► caches ─► listeners ─► queue ─► pass (one file per kind) ─► writer ─► API server
//!                                     ▲                   │                 └────► caches (our own writes, at once)
//!                                     └─── backoff, interval, woken by stores
//! ```
//!
//! Each cluster has its own queue, caches, connections and failures; a dead one costs the others nothing.

pub mod children;
pub mod cluster_external_secret;
pub mod cluster_push_secret;
pub mod context;
pub mod credential_watch;
pub mod event;
pub mod external_secret;
pub mod gate;
pub mod generate;
pub mod generator_state;
pub mod guard;
pub mod index;
pub mod kind;
pub mod leader;
pub mod objects;
pub mod pause;
pub mod push_secret;
pub mod queue;
pub mod recorder;
pub mod retry;
mod run;
pub mod settings;
mod source_watch;
pub mod store;
pub mod store_access;
pub mod store_finalizer;

use kind::Kind;

pub use event::{Change, RemoteAction, Sink, SyncEvent};
pub use run::{ClusterReport, Target, run};
pub use settings::{Mode, Settings, SourceWatch};

/// Makes one driven kind.
type Make = fn() -> Box<dyn Kind>;

/// Every kind the loop drives. Stores come first: their first look decides whether others can begin.
pub static KINDS: &[Make] = &[
    store::StoreKind::namespaced,
    store::StoreKind::cluster_wide,
    external_secret::ExternalSecretKind::boxed,
    push_secret::PushSecretKind::boxed,
    store_finalizer::StoreFinalizer::namespaced,
    store_finalizer::StoreFinalizer::cluster_wide,
    cluster_external_secret::ClusterExternalSecretKind::boxed,
    cluster_push_secret::ClusterPushSecretKind::boxed,
    generator_state::GeneratorStateKind::boxed,
];
