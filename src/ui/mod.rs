//! The terminal: the only room that prints, asks and draws. Results go to stdout, talk goes to stderr.

pub mod log;
pub mod progress;
pub mod prompt;
pub mod results;
pub mod table;
pub mod text;

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;

use serde_json::Value;

/// `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Colour on terminals, unless `NO_COLOR` is set or the terminal is dumb.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What the terminal is like; read once in `main`.
#[derive(Debug, Clone, Default)]
pub struct Terminal {
    /// `NO_COLOR` is present (kubectl takes mere presence).
    pub no_color: bool,
    /// `TERM` is `dumb`.
    pub dumb: bool,
    /// The locale says UTF-8.
    pub utf8: bool,
    /// `CI` is set: nothing is asked.
    pub ci: bool,
    /// stdin is a terminal.
    pub stdin: bool,
    /// stdout is a terminal.
    pub stdout: bool,
    /// stderr is a terminal.
    pub stderr: bool,
}

impl Terminal {
    /// Asks the standard streams; the flags of the environment come as arguments.
    pub fn detect(no_color: bool, dumb: bool, utf8: bool, ci: bool) -> Self {
        Self {
            no_color,
            dumb,
            utf8,
            ci,
            stdin: io::stdin().is_terminal(),
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
        }
    }
}

/// Where output goes and how it looks.
#[derive(Debug)]
pub struct Ui {
    /// The terminal.
    pub terminal: Terminal,
    /// `--color`.
    pub color: Color,
    /// `-q`.
    pub quiet: bool,
    /// A machine reads stdout: no progress, no prompts, no hints between lines.
    pub machine: bool,
    /// `-v`.
    pub verbosity: u8,
    closed: Mutex<bool>,
}

impl Ui {
    /// A user interface for these settings.
    pub fn new(terminal: Terminal, color: Color, quiet: bool, machine: bool, verbosity: u8) -> Self {
        Self {
            terminal,
            color,
            quiet,
            machine,
            verbosity,
            closed: Mutex::new(false),
        }
    }

    /// One line of result on stdout. A reader that went away is remembered, not reported.
    pub fn line(&self, text: &str) {
        self.put(&format!("{}\n", text::clean(text)));
    }

    /// Text that is already formatted (tables, documents, manifests), as it is.
    pub fn document(&self, text: &str) {
        self.put(text);
    }

    fn put(&self, text: &str) {
        let mut out = io::stdout().lock();
        let failed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if failed.is_err_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
            *self.closed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
        }
    }

    /// True once the reader of stdout has gone.
    pub fn is_closed(&self) -> bool {
        *self.closed.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Talk on stderr: what is happening, what was found. Silent with `-q`.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            Self::err(text);
        }
    }

    /// A warning on stderr.
    pub fn warn(&self, text: &str) {
        let word = self.paint("33", "Warning:");
        Self::err(&format!("{word} {}", text::clean(text)));
    }

    /// An error on stderr, three lines.
    pub fn error(&self, text: &str) {
        let word = self.paint("31", "error:");
        Self::err(&format!("{word} {}", text::clean_lines(text)));
    }

    fn err(text: &str) {
        // Nobody can be told that stderr is gone.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    /// A JSON document on stdout.
    pub fn json(&self, value: &Value) {
        let text = serde_json::to_string_pretty(value).expect("a JSON value always has a text");
        self.document(&format!("{text}\n"));
    }

    /// The text in a colour on stderr, if that is wanted.
    pub fn paint(&self, code: &str, text: &str) -> String {
        self.painted(self.terminal.stderr, code, text)
    }

    /// The text in a colour on stdout, if that is wanted.
    pub fn paint_out(&self, code: &str, text: &str) -> String {
        self.painted(self.terminal.stdout, code, text)
    }

    fn painted(&self, terminal: bool, code: &str, text: &str) -> String {
        let wanted = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !self.terminal.no_color && !self.terminal.dumb,
        };
        if wanted {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
