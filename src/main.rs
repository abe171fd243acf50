//! `kubectl-eso`: parse, run, exit.
fn main() {}
