//! Exit codes: documented, one table, one total match.

/// How the process ends. Repeated as `summary.exitCode` in JSON results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Done, or nothing to do.
    Done,
    /// Nothing wanted was achieved, a check failed, or (for `diff`) there are differences.
    Failed,
    /// Usage or local configuration error; nothing was sent.
    Usage,
    /// At least one cluster or object succeeded and at least one failed.
    Partial,
    /// `--timeout` passed before the wanted state was seen.
    TimedOut,
    /// Ended by SIGINT.
    Interrupted,
    /// Ended by SIGTERM.
    Terminated,
    /// The reader of stdout went away.
    ClosedPipe,
}

impl ExitCode {
    /// The number the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Partial => 3,
            Self::TimedOut => 4,
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::ClosedPipe => 141,
        }
    }

    /// The code for many results: all good, all bad, or some of both. An empty run is a success.
    pub fn of_results(good: usize, bad: usize) -> Self {
        match (good, bad) {
            (_, 0) => Self::Done,
            (0, _) => Self::Failed,
            _ => Self::Partial,
        }
    }
}

/// The table of `--help`.
pub const TABLE: &str = "Exit codes:
  0    done, or nothing to do
  1    failed: nothing wanted was achieved, or a check failed
  2    usage or local configuration error; nothing was sent
  3    partial: something succeeded and something failed
  4    --timeout passed before the wanted state was seen
  130  ended by SIGINT; 143 by SIGTERM; 141 by a closed pipe";

#[cfg(test)]
mod tests {
    use super::ExitCode;

    #[test]
    fn merges_results() {
        assert_eq!(ExitCode::of_results(3, 0), ExitCode::Done);
        assert_eq!(ExitCode::of_results(0, 2), ExitCode::Failed);
        assert_eq!(ExitCode::of_results(9, 1), ExitCode::Partial);
        assert_eq!(ExitCode::of_results(0, 0), ExitCode::Done);
    }
}
