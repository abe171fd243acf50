//! Randomness as generators need it: injected, so that tests can pin it.

use super::GeneratorError;

/// A source of cryptographic randomness.
pub trait Random: Send {
    /// Fills `bytes`.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), GeneratorError>;

    /// A number below `bound`, each equally likely.
    fn below(&mut self, bound: usize) -> Result<usize, GeneratorError> {
        let bound = u64::try_from(bound).map_err(|_| no_randomness())?;
        // Numbers of the last, incomplete round would favour the small ones.
        let limit = u64::MAX - u64::MAX % bound.max(1);
        loop {
            let mut bytes = [0; 8];
            self.fill(&mut bytes)?;
            let number = u64::from_le_bytes(bytes);
            if number < limit {
                return usize::try_from(number % bound.max(1)).map_err(|_| no_randomness());
            }
        }
    }
}

/// The operating system's source.
pub struct SystemRandom;

impl Random for SystemRandom {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), GeneratorError> {
        getrandom::fill(bytes).map_err(|_| no_randomness())
    }
}

fn no_randomness() -> GeneratorError {
    GeneratorError::new("the operating system gave no randomness")
}

/// A repeatable source for tests: a counter through SHA-256.
#[cfg(test)]
pub(crate) struct Counting(pub u64);

#[cfg(test)]
impl Random for Counting {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), GeneratorError> {
        use sha2::{Digest as _, Sha256};
        for chunk in bytes.chunks_mut(32) {
            chunk.copy_from_slice(&Sha256::digest(self.0.to_le_bytes())[..chunk.len()]);
            self.0 += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Counting, Random, SystemRandom};

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_of_it() {
        let mut random = Counting(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[random.below(5).unwrap()] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_eq!(SystemRandom.below(1), Ok(0));
    }
}
