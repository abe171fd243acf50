//! Progress on stderr: one bar on a terminal, nothing elsewhere (results are printed line by line there).

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Ui;

/// A running count of clusters.
#[derive(Debug, Clone)]
pub struct Progress(ProgressBar);

impl Ui {
    /// Starts a bar over `total` clusters; hidden off a terminal, with `-q`, JSON output or `-v 4` and above.
    pub fn progress(&self, total: usize, verb: &str) -> Progress {
        let shown = self.terminal.stderr
            && !self.terminal.dumb
            && !self.quiet
            && !self.machine
            && self.verbosity < 4
            && total > 1;
        let bar = ProgressBar::with_draw_target(
            Some(total as u64),
            if shown {
                ProgressDrawTarget::stderr()
            } else {
                ProgressDrawTarget::hidden()
            },
        );
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {pos}/{len} clusters [{elapsed}]") {
            bar.set_style(style);
        }
        bar.set_message(verb.to_owned());
        if shown {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Progress(bar)
    }
}

impl Progress {
    /// One more is done.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// Runs `print` with the bar out of the way.
    pub fn around(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
