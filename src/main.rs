//! `kubectl-eso`: parse, run, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubectl_eso::main()
}
