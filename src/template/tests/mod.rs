//! Tests of the room: recorded results, faults and where they are, limits, and random input.

mod corpus;
mod faulty;
mod fuzz;
mod limits;

use super::{RandomSource, Surroundings};

/// A counter with good spread: tests need no secrecy.
pub(super) struct Counter(pub u64);

impl RandomSource for Counter {
    fn fill(&mut self, out: &mut [u8]) {
        for byte in out {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (self.0 >> 56) as u8;
        }
    }
}

pub(super) fn surroundings(random: &mut Counter) -> Surroundings<'_> {
    Surroundings { now: (1_790_000_000, 0), random }
}

