//! Reads an API server's audit log: who asked what, and in which order.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::controlplane::{CONTROLLER_USER, Cluster};

/// The object a request was about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// Plural resource name.
    pub resource: String,
    /// Namespace, empty for cluster-scoped ones.
    pub namespace: String,
    /// Name; empty for lists and for creates that leave the name to the server.
    pub name: String,
    /// API group, empty for the core group.
    pub api_group: String,
    /// Subresource, for example `status` or `token`.
    pub subresource: String,
}

/// Who made a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AuditUser {
    /// User name.
    pub username: String,
    /// Groups.
    pub groups: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

/// One request, at its completion (a watch: also at its start, as `ResponseStarted`).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditEvent {
    /// Kubernetes verb: get, list, watch, create, update, patch, delete, deletecollection; for non-resource paths the
    /// HTTP method in lower case.
    pub verb: String,
    /// `ResponseStarted` or `ResponseComplete`.
    pub stage: String,
    /// Path with query.
    #[serde(rename = "requestURI")]
    pub request_uri: String,
    /// The user, after impersonation's start.
    pub user: AuditUser,
    /// `User-Agent`.
    pub user_agent: String,
    /// The object; absent for paths outside the resources.
    pub object_ref: Option<ObjectReference>,
    response_status: ResponseStatus,
    /// Arrival, RFC 3339 with microseconds; sorts as text.
    pub request_received_timestamp: String,
}

impl AuditEvent {
    /// The resource, or the empty text.
    pub fn resource(&self) -> &str {
        self.object_ref.as_ref().map_or("", |object| &object.resource)
    }

    /// The object's namespace, or the empty text.
    pub fn namespace(&self) -> &str {
        self.object_ref.as_ref().map_or("", |object| &object.namespace)
    }

    /// The object's name, or the empty text.
    pub fn name(&self) -> &str {
        self.object_ref.as_ref().map_or("", |object| &object.name)
    }

    /// The subresource, or the empty text.
    pub fn subresource(&self) -> &str {
        self.object_ref.as_ref().map_or("", |object| &object.subresource)
    }

    /// The HTTP code of the answer.
    pub fn code(&self) -> u16 {
        self.response_status.code
    }

    /// Whether it may have changed a stored object: a writing verb that succeeded, no dry run, and no review or token
    /// request, which are created but never stored.
    pub fn is_write(&self) -> bool {
        const NEVER_STORED: [&str; 6] = [
            "selfsubjectaccessreviews",
            "selfsubjectrulesreviews",
            "selfsubjectreviews",
            "subjectaccessreviews",
            "localsubjectaccessreviews",
            "tokenreviews",
        ];
        matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        ) && self.code() < 400
            && !NEVER_STORED.contains(&self.resource())
            && !(self.resource() == "serviceaccounts" && self.subresource() == "token")
            && !self.request_uri.contains("dryRun=All")
    }

    /// Whether the controllers of the harness or the API server itself made it.
    pub fn is_internal(&self) -> bool {
        self.user.username == CONTROLLER_USER || self.user.username == "system:apiserver"
    }
}

/// A place in a cluster's audit log; events after it can be read.
#[derive(Clone, Debug)]
pub struct AuditMark {
    cluster: Cluster,
    log: PathBuf,
    offset: u64,
}

impl AuditMark {
    /// Marks the log's end, after everything that was answered before.
    pub async fn set(cluster: &Cluster) -> Result<Self> {
        let log = cluster
            .audit_log()
            .context("these clusters were started without an audit log")?
            .to_path_buf();
        let mut mark = Self {
            cluster: cluster.clone(),
            log,
            offset: 0,
        };
        mark.settle().await?;
        mark.offset = std::fs::metadata(&mark.log)?.len();
        Ok(mark)
    }

    /// The events of others than the controllers and the API server itself since the mark, in order of completion.
    pub async fn events(&self) -> Result<Vec<AuditEvent>> {
        self.settle().await?;
        let events = self.read()?;
        Ok(events
            .into_iter()
            .filter(|event| !event.is_internal() && !is_marker(event))
            .collect())
    }

    /// The requests among [`AuditMark::events`] that changed a stored object, Leases excepted.
    pub async fn writes(&self) -> Result<Vec<AuditEvent>> {
        let mut events = self.events().await?;
        events.retain(|event| event.is_write() && event.resource() != "leases");
        Ok(events)
    }

    /// The log is written after the answer is sent. A request of our own that shows up in it proves that those answered
    /// before are in it too.
    async fn settle(&self) -> Result<()> {
        const WITHIN: Duration = Duration::from_secs(10);
        let marker = format!("/version?{MARKER}={}", fastrand::u64(..));
        let client = self.cluster.http2_client().await?;
        client
            .request_text(http::Request::get(&marker).body(Vec::new())?)
            .await?;
        let deadline = Instant::now() + WITHIN;
        while !self.read()?.iter().any(|event| event.request_uri == marker) {
            anyhow::ensure!(
                Instant::now() < deadline,
                "the audit log of {} does not grow",
                self.cluster.name()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Whole lines only: the last one may still be under way.
    fn read(&self) -> Result<Vec<AuditEvent>> {
        let mut file = File::open(&self.log).with_context(|| format!("cannot open {}", self.log.display()))?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut reader = BufReader::new(file);
        let mut events = Vec::new();
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 {
            if line.ends_with('\n') {
                events.push(serde_json::from_str(&line).context("the audit log holds a line that is no event")?);
            }
            line.clear();
        }
        Ok(events)
    }
}

const MARKER: &str = "audit-marker";

fn is_marker(event: &AuditEvent) -> bool {
    event.request_uri.starts_with("/version?") && event.request_uri.contains(MARKER)
}

#[cfg(test)]
mod tests {
    use super::AuditEvent;

    fn event(text: &str) -> AuditEvent {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn reviews_dry_runs_tokens_and_failures_are_no_writes() {
        let write = r#"{"verb":"patch","objectRef":{"resource":"secrets","name":"a"},"responseStatus":{"code":200}}"#;
        assert!(event(write).is_write());
        for text in [
            r#"{"verb":"get","objectRef":{"resource":"secrets"},"responseStatus":{"code":200}}"#,
            r#"{"verb":"create","objectRef":{"resource":"selfsubjectaccessreviews"},"responseStatus":{"code":201}}"#,
            r#"{"verb":"create","objectRef":{"resource":"serviceaccounts","subresource":"token"},"responseStatus":{"code":201}}"#,
            r#"{"verb":"patch","objectRef":{"resource":"secrets"},"responseStatus":{"code":409}}"#,
            r#"{"verb":"patch","requestURI":"/x?dryRun=All","objectRef":{"resource":"secrets"},"responseStatus":{"code":200}}"#,
        ] {
            assert!(!event(text).is_write(), "{text}");
        }
    }
}
