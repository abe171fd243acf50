//! The only room that talks to an API server for us: connections, reads, and the one writer of plan steps.

pub mod credentials;
pub mod go_error;
