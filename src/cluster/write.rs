//! Every write the loop makes, with ESO's methods and field managers, behind one gate.
//!
//! Plain create, full update with resourceVersion and JSON merge patch, not server-side apply: ownership of keys is read
//! back from `managedFields`, and an operator must find there what it would have written itself.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use super::error::ClusterError;
use super::rest::{Resource, Rest, SECRETS, query_escape};

const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json";

/// May this process write now? Asked before every request: a holder that lost its Lease, or slept through it, stops here.
pub trait Gate: Send + Sync {
    /// What is to happen with a write into `namespace` (empty: cluster-scoped).
    fn verdict(&self, namespace: &str) -> Verdict;
    /// A write that was only reported (see [`Verdict::Report`]).
    fn report(&self, intent: &Intent<'_>);
}

/// The gate's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Send it.
    Send,
    /// Do not send it, but go on as if it had been.
    Report,
    /// Refuse it with this text.
    Refuse(String),
}

/// A write that was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intent<'a> {
    /// `create`, `update`, `patch` or `delete`.
    pub verb: &'static str,
    /// Plural name of the kind, with `/status` for that subresource.
    pub resource: &'a str,
    /// Namespace, or empty.
    pub namespace: &'a str,
    /// Name.
    pub name: &'a str,
}

/// Sends writes.
#[derive(Clone)]
pub struct Writer {
    rest: Rest,
    gate: Arc<dyn Gate>,
}

/// The server's answer; `None` where the write was only reported.
pub type Written = Option<Bytes>;

impl Writer {
    /// Over `rest`, as far as `gate` lets it.
    pub fn new(rest: Rest, gate: Arc<dyn Gate>) -> Self {
        Self { rest, gate }
    }

    async fn send(
        &self,
        method: Method,
        intent: Intent<'_>,
        path: &str,
        content_type: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Written, ClusterError> {
        match self.gate.verdict(intent.namespace) {
            Verdict::Send => self.rest.call(method, path, content_type, body).await.map(Some),
            Verdict::Report => {
                self.gate.report(&intent);
                Ok(None)
            }
            Verdict::Refuse(message) => Err(ClusterError::Fenced { message }),
        }
    }

    /// Creates an object; `manager` may be empty.
    ///
    /// # Errors
    /// As the server says.
    pub async fn create(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        body: Vec<u8>,
        manager: &str,
    ) -> Result<Written, ClusterError> {
        let path = format!("{}{}", resource.collection(namespace), manager_query(manager));
        let intent = Intent {
            verb: "create",
            resource: resource.plural,
            namespace,
            name,
        };
        self.send(Method::POST, intent, &path, Some(JSON), body).await
    }

    /// Replaces an object with `body`, which carries the resourceVersion it was built on.
    ///
    /// # Errors
    /// As the server says; a conflict where somebody wrote in between.
    pub async fn replace(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        body: Vec<u8>,
        manager: &str,
    ) -> Result<Written, ClusterError> {
        let path = format!("{}{}", resource.object(namespace, name), manager_query(manager));
        let intent = Intent {
            verb: "update",
            resource: resource.plural,
            namespace,
            name,
        };
        self.send(Method::PUT, intent, &path, Some(JSON), body).await
    }

    /// JSON merge patch of an object.
    ///
    /// # Errors
    /// As the server says.
    pub async fn merge_patch(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
        manager: &str,
    ) -> Result<Written, ClusterError> {
        let path = format!("{}{}", resource.object(namespace, name), manager_query(manager));
        let intent = Intent {
            verb: "patch",
            resource: resource.plural,
            namespace,
            name,
        };
        self.send(
            Method::PATCH,
            intent,
            &path,
            Some(MERGE),
            patch.to_string().into_bytes(),
        )
        .await
    }

    /// JSON merge patch of the `status` subresource; refused by the server if the object was made anew meanwhile (`uid`).
    ///
    /// # Errors
    /// As the server says.
    pub async fn patch_status(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        uid: &str,
        status: &Value,
    ) -> Result<Written, ClusterError> {
        let path = format!("{}/status", resource.object(namespace, name));
        let body = json!({ "metadata": { "uid": uid }, "status": status });
        let shown = format!("{}/status", resource.plural);
        let intent = Intent {
            verb: "patch",
            resource: &shown,
            namespace,
            name,
        };
        self.send(Method::PATCH, intent, &path, Some(MERGE), body.to_string().into_bytes())
            .await
    }

    /// Deletes an object, if it still has this UID (empty: whatever it is). An absent object is success: `false`.
    ///
    /// # Errors
    /// As the server says.
    pub async fn delete(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<bool, ClusterError> {
        let body = if uid.is_empty() {
            Vec::new()
        } else {
            json!({ "preconditions": { "uid": uid } }).to_string().into_bytes()
        };
        let intent = Intent {
            verb: "delete",
            resource: resource.plural,
            namespace,
            name,
        };
        let content_type = (!body.is_empty()).then_some(JSON);
        match self
            .send(
                Method::DELETE,
                intent,
                &resource.object(namespace, name),
                content_type,
                body,
            )
            .await
        {
            Ok(_) => Ok(true),
            Err(e) if e.is_not_found() => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Creates an object of a kind found by discovery; `path` is its collection. No field manager is named.
    ///
    /// # Errors
    /// As the server says.
    pub async fn create_at(
        &self,
        plural: &str,
        path: &str,
        namespace: &str,
        name: &str,
        body: Vec<u8>,
    ) -> Result<Written, ClusterError> {
        self.send(
            Method::POST,
            Intent {
                verb: "create",
                resource: plural,
                namespace,
                name,
            },
            path,
            Some(JSON),
            body,
        )
        .await
    }

    /// Replaces an object of a kind found by discovery; `path` is its own.
    ///
    /// # Errors
    /// As the server says.
    pub async fn replace_at(
        &self,
        plural: &str,
        path: &str,
        namespace: &str,
        name: &str,
        body: Vec<u8>,
    ) -> Result<Written, ClusterError> {
        self.send(
            Method::PUT,
            Intent {
                verb: "update",
                resource: plural,
                namespace,
                name,
            },
            path,
            Some(JSON),
            body,
        )
        .await
    }

    /// Deletes an object of a kind found by discovery; an absent one is success.
    ///
    /// # Errors
    /// As the server says.
    pub async fn delete_at(&self, plural: &str, path: &str, namespace: &str, name: &str) -> Result<(), ClusterError> {
        let intent = Intent {
            verb: "delete",
            resource: plural,
            namespace,
            name,
        };
        match self.send(Method::DELETE, intent, path, None, Vec::new()).await {
            Err(e) if !e.is_not_found() => Err(e),
            _ => Ok(()),
        }
    }

    /// Adds the label of managed objects to a Secret that has none.
    ///
    /// # Errors
    /// As the server says.
    pub async fn label_secret(
        &self,
        namespace: &str,
        name: &str,
        label: &str,
        manager: &str,
    ) -> Result<Written, ClusterError> {
        let patch = json!({ "metadata": { "labels": { label: "true" } } });
        self.merge_patch(&SECRETS, namespace, name, &patch, manager).await
    }
}

fn manager_query(manager: &str) -> String {
    if manager.is_empty() {
        String::new()
    } else {
        format!("?fieldManager={}", query_escape(manager))
    }
}
