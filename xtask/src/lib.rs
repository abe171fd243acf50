//! Development tools of kubectl-eso: real control planes, a proxy that injects faults, measurements, the demo.
//!
//! The tests of the main package use this library too, so that a test, a bench and a person at the terminal all work on
//! the same clusters.

pub mod assets;
pub mod bench;
pub mod controlplane;
pub mod crds;
pub mod demo;
pub mod metrics;
pub mod proxy;
