//! External Secrets over many clusters: the library behind the `kubectl-eso` binary.

pub mod api;
pub mod plan;
pub mod secret;
