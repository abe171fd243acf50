//! The providers against real API servers.

mod kubernetes;
