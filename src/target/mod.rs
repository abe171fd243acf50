//! What should exist in a cluster because of an ExternalSecret: pure decisions, given what exists and the time.
//!
//! `spec + provider data + existing → build → decide`; refresh, sync windows and conditions sit beside it.

pub mod build;
pub mod condition;
pub mod decide;
pub mod hash;
pub mod managed;
pub mod manifest;
pub mod names;
pub mod patch;
pub mod push;
pub mod refresh;
pub mod secret;
pub mod windows;

pub use secret::TargetSecret;
