//! What the integration tests share: clusters, namespaces, the command under test, canaries, waiting.

#![expect(
    dead_code,
    reason = "a vocabulary for tests: some words wait for their first sentence"
)]

pub mod canary;
pub mod cluster;
pub mod eso;
pub mod namespace;
pub mod wait;

mod tests;

pub use cluster::{own_clusters, shared, with_crds};
pub use eso::{Eso, Finished};
pub use namespace::TempNamespace;
pub use wait::{wait_until, within};
