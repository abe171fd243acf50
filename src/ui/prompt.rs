//! Questions. Only where both ends are terminals; everything else needs `--yes`.

use super::Ui;

/// What came of asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// `y`.
    Yes,
    /// Anything else, or Ctrl-C.
    No,
    /// Nobody can be asked here.
    NobodyToAsk,
}

impl Ui {
    /// True where a person can answer.
    pub fn can_ask(&self) -> bool {
        self.terminal.stdin && self.terminal.stderr && !self.machine && !self.terminal.ci && !self.terminal.dumb
    }

    /// Asks a yes/no question on stderr; the default is no.
    pub fn confirm(&self, question: &str) -> Answer {
        if !self.can_ask() {
            return Answer::NobodyToAsk;
        }
        let asked = dialoguer::Confirm::new()
            .with_prompt(question)
            .default(false)
            .show_default(true)
            .interact_opt();
        match asked {
            Ok(Some(true)) => Answer::Yes,
            _ => Answer::No,
        }
    }
}
