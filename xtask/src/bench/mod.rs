//! Measurements.

pub mod floor;
