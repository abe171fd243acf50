//! When a bundle counts as arrived, and when waiting for it is pointless.
use std::collections::BTreeMap;

use super::status::{BundleStatus, DeploymentStatus, Reason, State};

/// Rules of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitRules {
    /// Generation that was written, or zero to take the one the bundle has.
    pub generation: i64,
    /// A bundle that matches no cluster counts as done.
    pub allow_empty: bool,
    /// Clusters whose agent is offline are not waited for.
    pub ignore_offline: bool,
    /// Seconds an error may last: missing CRDs and young webhooks heal by themselves.
    pub error_grace: i64,
}

/// What a wait knows after a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Ready everywhere it must be.
    Done,
    /// Not yet; what is missing, one line per cluster.
    Waiting(Vec<String>),
    /// It will not become ready; why.
    Failed(Vec<String>),
}

/// A wait over several looks: remembers since when a cluster shows an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wait {
    errors_since: BTreeMap<String, i64>,
}

impl Wait {
    /// Judges one look at a bundle. `now` is in seconds since 1970.
    pub fn look(&mut self, status: &BundleStatus, rules: WaitRules, now: i64) -> Verdict {
        let generation = if rules.generation == 0 {
            status.generation
        } else {
            rules.generation
        };
        let failing: BTreeMap<String, i64> = status
            .deployments
            .iter()
            .filter(|row| row.state == State::ErrApplied)
            .map(|row| {
                (
                    row.cluster_namespace.clone(),
                    self.errors_since.get(&row.cluster_namespace).copied().unwrap_or(now),
                )
            })
            .collect();
        self.errors_since = failing;
        if status.observed_generation < generation {
            return Verdict::Waiting(vec![format!(
                "the hub has seen generation {} of {generation}",
                status.observed_generation
            )]);
        }
        if status.desired == 0 {
            let why = if status.message.is_empty() {
                "no cluster matches its targets".to_owned()
            } else {
                format!("no cluster has it: {}", status.message)
            };
            return if rules.allow_empty && status.message.is_empty() {
                Verdict::Done
            } else {
                Verdict::Failed(vec![why])
            };
        }
        let ignored = |row: &&DeploymentStatus| {
            rules.ignore_offline && row.reasons.iter().any(|reason| matches!(reason, Reason::Offline(_)))
        };
        let open: Vec<&DeploymentStatus> = status
            .deployments
            .iter()
            .filter(|row| row.state != State::Ready)
            .filter(|row| !ignored(row))
            .collect();
        let failed: Vec<String> = open
            .iter()
            .filter(|row| self.failed(row, rules, now))
            .map(|row| line(row))
            .collect();
        if !failed.is_empty() {
            return Verdict::Failed(failed);
        }
        let skipped = status
            .deployments
            .iter()
            .filter(|row| row.state != State::Ready)
            .filter(ignored)
            .count();
        let missing = status.desired - status.ready - i64::try_from(skipped).unwrap_or(i64::MAX);
        if open.is_empty() && missing <= 0 {
            return Verdict::Done;
        }
        let mut lines: Vec<String> = open.iter().map(|row| line(row)).collect();
        if lines.is_empty() {
            lines.push(format!("{} of {} clusters ready", status.ready, status.desired));
        }
        Verdict::Waiting(lines)
    }

    /// An error past its grace, or a state that only a person ends.
    fn failed(&self, row: &DeploymentStatus, rules: WaitRules, now: i64) -> bool {
        let stuck = row
            .reasons
            .iter()
            .any(|reason| matches!(reason, Reason::BundlePaused | Reason::ClusterPaused | Reason::Policy));
        let expired = self
            .errors_since
            .get(&row.cluster_namespace)
            .is_some_and(|since| now - since > rules.error_grace);
        stuck || row.state == State::ErrApplied && expired
    }
}

/// State, message, reasons and the first three objects of a cluster on one line.
fn line(row: &DeploymentStatus) -> String {
    let message = if row.message.is_empty() {
        String::new()
    } else {
        format!(": {}", row.message)
    };
    let mut parts = vec![format!("{}: {}{message}", row.cluster, row.state.as_str())];
    parts.extend(row.reasons.iter().map(ToString::to_string));
    parts.extend(row.objects.iter().take(3).cloned());
    parts.join("; ")
}
