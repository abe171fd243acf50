//! What a function may use besides its arguments.

use crate::lang::gotime::Time;
use crate::template::engine::failure::Failure;
use crate::template::engine::meter;

/// Where random bytes come from.
pub trait RandomSource {
    /// Fills the buffer with bytes nobody can predict.
    fn fill(&mut self, out: &mut [u8]);
}

/// Bytes that the values of one run may hold together.
const MEMORY_LIMIT: usize = 64 << 20;
/// Steps of one run: one per node, plus what functions spend.
const STEP_LIMIT: u64 = 20_000_000;

/// One run of a template: time, randomness, budget.
pub struct Env<'a> {
    random: &'a mut dyn RandomSource,
    now: Time,
    steps: u64,
    memory_base: usize,
}

impl<'a> Env<'a> {
    /// A fresh budget. `now` is what the function `now` returns during the whole run.
    pub fn new(now: Time, random: &'a mut dyn RandomSource) -> Self {
        Self { random, now, steps: STEP_LIMIT, memory_base: meter::live() }
    }

    /// The time of this run.
    pub fn now(&self) -> Time {
        self.now.clone()
    }

    /// Fills the buffer with random bytes.
    pub fn fill_random(&mut self, out: &mut [u8]) {
        self.random.fill(out);
    }

    /// Asks for so many bytes before they are allocated.
    ///
    /// # Errors
    /// The memory limit of a run would be passed.
    pub fn reserve(&self, bytes: usize) -> Result<(), Failure> {
        let held = meter::live().saturating_sub(self.memory_base);
        if held.saturating_add(bytes) > MEMORY_LIMIT {
            return Err(Failure::limit(format!("template needs more than {} MiB of memory", MEMORY_LIMIT >> 20)));
        }
        Ok(())
    }

    /// Takes so many steps from the budget. One step is about 50 nanoseconds of work.
    ///
    /// # Errors
    /// The budget is used up.
    pub fn spend(&mut self, steps: u64) -> Result<(), Failure> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => {
                self.steps = 0;
                Err(Failure::limit(format!("template takes more than {STEP_LIMIT} steps")))
            }
        }
    }
}
