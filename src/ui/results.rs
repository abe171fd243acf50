//! Results of a command on one or many clusters: object lines, a summary, or one JSON document.

use std::time::Duration;

use serde_json::{Value, json};

use super::Ui;
use super::progress::Progress;
use crate::plan::Outcome;

/// An error as results show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// CamelCase class.
    pub reason: String,
    /// What failed, one line.
    pub what: String,
    /// Why.
    pub cause: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl Failure {
    /// Three lines.
    pub fn text(&self) -> String {
        let mut out = self.what.clone();
        if let Some(cause) = &self.cause {
            out.push_str(&format!("\n  cause: {cause}"));
        }
        if let Some(hint) = &self.hint {
            out.push_str(&format!("\n  hint:  {hint}"));
        }
        out
    }
}

/// What one cluster's part of a command came to.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The context.
    pub context: String,
    /// Host of its API server.
    pub server: String,
    /// UID of its `kube-system`, where known.
    pub cluster_uid: Option<String>,
    /// One per object, in the order they were handled.
    pub objects: Vec<Outcome>,
    /// Remarks for people, on stderr.
    pub notes: Vec<String>,
    /// Warnings for people, on stderr.
    pub warnings: Vec<String>,
    /// Why it stopped, if it did.
    pub failure: Option<Failure>,
    /// Extra fields of this command, for JSON.
    pub details: Value,
    /// How long it took.
    pub took: Duration,
}

impl Report {
    /// True where nothing was changed and nothing failed.
    pub fn is_unchanged(&self) -> bool {
        self.failure.is_none() && self.objects.iter().all(|o| !o.action.is_change())
    }

    fn outcome(&self) -> &'static str {
        match (&self.failure, self.is_unchanged()) {
            (Some(_), _) => "failed",
            (None, true) => "unchanged",
            (None, false) => "ok",
        }
    }

    fn json(&self) -> Value {
        let objects: Vec<Value> = self
            .objects
            .iter()
            .map(|o| json!({"object": o.object, "namespace": o.namespace, "action": o.action.as_str()}))
            .collect();
        let mut item = json!({
            "context": self.context,
            "cluster": {"server": self.server, "uid": self.cluster_uid},
            "outcome": self.outcome(),
            "reason": self.failure.as_ref().map(|f| f.reason.clone()),
            "objects": objects,
            "warnings": self.warnings,
            "error": self.failure.as_ref().map(|f| json!({"reason": f.reason, "message": one(f), "hint": f.hint})),
            "durationSeconds": self.took.as_secs_f64(),
        });
        if let (Value::Object(extra), Some(map)) = (&self.details, item.as_object_mut()) {
            map.extend(extra.clone());
        }
        item
    }
}

fn one(failure: &Failure) -> String {
    match &failure.cause {
        Some(cause) => format!("{}: {cause}", failure.what),
        None => failure.what.clone(),
    }
}

impl Ui {
    /// Prints one cluster's lines: results on stdout, remarks and errors on stderr.
    pub fn report(&self, report: &Report, many: bool, suffix: &str, progress: Option<&Progress>) {
        let print = || {
            let prefix = if many {
                format!("[{}] ", report.context)
            } else {
                String::new()
            };
            for outcome in &report.objects {
                self.line(&format!(
                    "{prefix}{} {}{suffix}",
                    outcome.object,
                    outcome.action.as_str()
                ));
            }
            for note in &report.notes {
                self.note(&format!("{prefix}{}", super::text::clean(note)));
            }
            for warning in &report.warnings {
                self.warn(&format!("{prefix}{warning}"));
            }
            if let Some(failure) = &report.failure {
                self.error(&failure.text());
            }
        };
        match progress {
            Some(bar) => bar.around(print),
            None => print(),
        }
    }

    /// One line on stderr: `12 clusters: 10 ok, 1 unchanged, 1 failed`.
    pub fn summary(&self, reports: &[Report]) {
        let count = |what: &str| reports.iter().filter(|r| r.outcome() == what).count();
        let parts: Vec<String> = ["ok", "unchanged", "failed"]
            .iter()
            .filter(|w| count(w) > 0)
            .map(|w| format!("{} {w}", count(w)))
            .collect();
        let noun = if reports.len() == 1 { "cluster" } else { "clusters" };
        self.note(&format!("{} {noun}: {}", reports.len(), parts.join(", ")));
    }

    /// The whole result as one document.
    pub fn results_json(&self, kind: &str, reports: &[Report], exit: u8) -> Value {
        let count = |what: &str| reports.iter().filter(|r| r.outcome() == what).count();
        json!({
            "apiVersion": "kubectl-eso/v1",
            "kind": kind,
            "items": reports.iter().map(Report::json).collect::<Vec<_>>(),
            "summary": {
                "clusters": reports.len(), "ok": count("ok"), "unchanged": count("unchanged"), "failed": count("failed"),
                "exitCode": exit,
            },
        })
    }
}
