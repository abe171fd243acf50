//! External Secrets over many clusters: the library behind the `kubectl-eso` binary.
//!
//! ```text
//! typed by the user                                   kept in a store
//!   cli ── settings ──► plan ──► cluster                provider / generator
//!                         ▲                                   │ SecretValue
//!                         │ steps                             ▼
//!                      target ◄── template ◄──────────────  secret
//! ```
//!
//! One-shot commands run down the left; the sync loop runs up the right and ends in the same writes. See
//! `ARCHITECTURE.md` for the rooms and for what is absent from each.

pub mod api;
pub mod cli;
pub mod cluster;
pub mod fleet;
pub mod generator;
pub mod lang;
pub mod migrate;
pub mod plan;
pub mod provider;
pub mod secret;
pub mod sync;
pub mod target;
pub mod template;
pub mod ui;

mod start;

pub use start::main;
