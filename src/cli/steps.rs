//! Observe, decide, execute: the path every written object takes.

use serde_json::Value;

use super::error::CliError;
use super::global::{DryRun, WriteArgs};
use crate::cluster::apply::{self, Options};
use crate::cluster::discovery::Served;
use crate::cluster::{Cluster, observe};
use crate::plan::compare::Policy;
use crate::plan::{Action, Manifest, Outcome, Step, Verdict};

/// Where writes go and under which rules.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Its kinds.
    pub served: &'a Served,
    /// The flags.
    pub write: &'a WriteArgs,
    /// How strict to be with what exists.
    pub policy: Policy,
}

impl Writer<'_> {
    /// What is there under the manifest's name.
    ///
    /// # Errors
    /// The kind is not served, or the read is refused.
    pub async fn observe(&self, manifest: &Manifest) -> Result<Option<Value>, CliError> {
        let place = observe::within(&manifest.display(), manifest.namespace());
        let resource = apply::resolve(
            self.cluster,
            self.served,
            manifest.api_version(),
            manifest.kind(),
            &place,
        )?;
        Ok(observe::get(self.cluster, &resource, manifest.namespace(), manifest.name()).await?)
    }

    /// Reads, compares, and applies where needed.
    ///
    /// # Errors
    /// The refusal, in three lines.
    pub async fn apply(&self, manifest: Manifest) -> Result<Outcome, CliError> {
        let live = self.observe(&manifest).await?;
        self.execute(&Step::apply(manifest, live, self.policy)).await
    }

    /// Executes a step whose observation was made before.
    ///
    /// # Errors
    /// The refusal, in three lines.
    pub async fn execute(&self, step: &Step) -> Result<Outcome, CliError> {
        if self.write.mode() == DryRun::Client {
            return planned(step, self.cluster);
        }
        let options = Options {
            server_dry_run: self.write.mode() == DryRun::Server,
            force: self.write.force_conflicts,
            lenient: self.write.lenient,
        };
        Ok(apply::execute(self.cluster, self.served, step, options).await?)
    }
}

/// What a client dry run says about a step.
fn planned(step: &Step, cluster: &Cluster) -> Result<Outcome, CliError> {
    let (namespace, action) = match step {
        Step::Delete(d) => (d.namespace.clone(), Action::Deleted),
        Step::Apply(a) => {
            let action = match a.verdict {
                Verdict::Create => Action::Created,
                Verdict::Configure => Action::Configured,
                Verdict::Unchanged => Action::Unchanged,
                Verdict::Foreign | Verdict::ImmutableRoleRef => {
                    return Err(CliError::failed(
                        "Conflict",
                        format!("cannot apply {} [{}]", step.display(), cluster.context),
                    )
                    .cause(if a.verdict == Verdict::Foreign {
                        "it exists and was not made by kubectl-eso"
                    } else {
                        "it refers to another role"
                    })
                    .hint(if a.verdict == Verdict::Foreign {
                        "--adopt takes it over"
                    } else {
                        "--recreate replaces it"
                    }));
                }
            };
            (a.manifest.namespace().map(str::to_owned), action)
        }
    };
    Ok(Outcome {
        object: step.display(),
        namespace,
        action,
    })
}

/// Objects as files for git: apply order, `---` between them, Secrets left out with a comment that says what supplies
/// them.
pub fn export(manifests: &[Manifest], include_secrets: bool) -> String {
    let mut out = String::new();
    for manifest in manifests {
        if !out.is_empty() {
            out.push_str("---\n");
        }
        if manifest.kind() == "Secret" && !include_secrets {
            out.push_str(&format!(
                "# {} in namespace {:?} is left out: secrets do not belong into git.\n# It is supplied by: kubectl eso distribute-token\n",
                manifest.display(),
                manifest.namespace().unwrap_or_default()
            ));
            continue;
        }
        out.push_str(&crate::api::yaml::write(manifest.value()));
    }
    out
}
