//! Counts the bytes that template values of this thread hold at the moment.
//!
//! Values are reference counted and never leave their thread, so a thread-local counter is exact. The engine
//! compares it with the count at the start of a run and stops a template that holds too much.

use std::cell::Cell;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
}

/// Bytes held by values of this thread.
pub fn live() -> usize {
    LIVE.get()
}

/// A claim on the meter, given back on drop.
#[derive(Debug)]
pub struct Charge(usize);

impl Charge {
    /// Claims so many bytes.
    pub fn new(bytes: usize) -> Self {
        LIVE.set(LIVE.get().saturating_add(bytes));
        Self(bytes)
    }

    /// Replaces the claim by one of another size.
    pub fn resize(&mut self, bytes: usize) {
        LIVE.set(LIVE.get().saturating_sub(self.0).saturating_add(bytes));
        self.0 = bytes;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        LIVE.set(LIVE.get().saturating_sub(self.0));
    }
}
