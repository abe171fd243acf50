//! List and watch of one collection, for ever: pages, bookmarks, expiry, silence, backoff.
//!
//! One object that cannot be decoded is handed on as such and never stalls the others, as it does where a whole list is
//! decoded at once.

use std::time::Duration;

use futures::AsyncBufReadExt as _;
use http::Request;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::error::ClusterError;
use super::rest::{Rest, decode, query_escape};

/// API servers send a bookmark about every minute; two missed ones are a dead connection.
const SILENCE: Duration = Duration::from_secs(130);
/// Upper bound of the pause between attempts.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// Asked of the server, so that connections are renewed and load balancers can move them.
const WATCH_SECONDS: u32 = 290;

/// What to follow.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Path of the collection, without a query.
    pub path: String,
    /// `labelSelector`, or empty.
    pub labels: String,
    /// `fieldSelector`, or empty.
    pub fields: String,
    /// Only metadata (`PartialObjectMetadata`).
    pub metadata_only: bool,
    /// Objects per page of the list.
    pub page: u32,
}

impl Scope {
    /// Everything under `path`, 500 objects a page.
    pub fn all(path: String) -> Self {
        Self {
            path,
            labels: String::new(),
            fields: String::new(),
            metadata_only: false,
            page: 500,
        }
    }

    fn query(&self) -> String {
        let mut query = String::new();
        if !self.labels.is_empty() {
            query.push_str("&labelSelector=");
            query.push_str(&query_escape(&self.labels));
        }
        if !self.fields.is_empty() {
            query.push_str("&fieldSelector=");
            query.push_str(&query_escape(&self.fields));
        }
        query
    }

    fn request(&self, uri: &str) -> Result<Request<Vec<u8>>, ClusterError> {
        let mut builder = Request::get(uri);
        if self.metadata_only {
            let list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
            let one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
            builder = builder.header(
                http::header::ACCEPT,
                if uri.contains("watch=true") { one } else { list },
            );
        }
        builder
            .body(Vec::new())
            .map_err(|e| ClusterError::Request { message: e.to_string() })
    }
}

/// What happened to the collection, in order. Objects are raw JSON: the receiver decodes.
pub enum Signal<'a> {
    /// A list began; everything known may be old.
    ListStarted,
    /// One object of the list.
    Listed(&'a RawValue),
    /// The list is whole, as of this resource version: what it did not name is gone.
    ListDone(&'a str),
    /// Added or changed.
    Applied(&'a RawValue),
    /// Deleted, or no longer matching the selector.
    Deleted(&'a RawValue),
    /// The connection works as of now (list, event or bookmark).
    Alive,
    /// It does not; the watch goes on trying.
    Lost(&'a ClusterError),
}

/// Follows `scope` until `stop`; never returns before.
pub async fn follow(rest: &Rest, scope: &Scope, stop: &CancellationToken, sink: &mut (dyn FnMut(Signal<'_>) + Send)) {
    let mut version: Option<String> = None;
    let mut failures = 0_u32;
    loop {
        let round = run_once(rest, scope, &mut version, sink);
        let outcome = tokio::select! {
            () = stop.cancelled() => return,
            outcome = round => outcome,
        };
        match outcome {
            Ok(true) => {
                failures = 0;
                continue;
            }
            Ok(false) => failures += 1,
            Err(error) => {
                if error.is_expired() {
                    version = None;
                }
                sink(Signal::Lost(&error));
                failures += 1;
                if error.is_expired() && failures < 3 {
                    continue;
                }
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(pause(failures)) => {}
        }
    }
}

fn pause(failures: u32) -> Duration {
    let base = Duration::from_millis(250).saturating_mul(1 << failures.saturating_sub(1).min(10));
    base.min(MAX_PAUSE)
}

/// One list (if nothing is known) and one watch. `Ok(true)`: it lived long enough to say something.
async fn run_once(
    rest: &Rest,
    scope: &Scope,
    version: &mut Option<String>,
    sink: &mut (dyn FnMut(Signal<'_>) + Send),
) -> Result<bool, ClusterError> {
    let from = match version.take() {
        Some(known) => known,
        None => list(rest, scope, sink).await?,
    };
    *version = Some(from);
    watch(rest, scope, version, sink).await
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMeta {
    #[serde(default)]
    resource_version: String,
    #[serde(default)]
    r#continue: String,
}

#[derive(Deserialize)]
struct Page<'a> {
    metadata: ListMeta,
    #[serde(borrow, default)]
    items: Vec<&'a RawValue>,
}

async fn list(rest: &Rest, scope: &Scope, sink: &mut (dyn FnMut(Signal<'_>) + Send)) -> Result<String, ClusterError> {
    sink(Signal::ListStarted);
    let mut token = String::new();
    loop {
        let mut uri = format!("{}?limit={}{}", scope.path, scope.page, scope.query());
        if !token.is_empty() {
            uri.push_str("&continue=");
            uri.push_str(&query_escape(&token));
        }
        let bytes = rest.raw(scope.request(&uri)?).await?;
        let page: Page<'_> = serde_json::from_slice(&bytes).map_err(|e| ClusterError::Decode {
            message: format!("a list: line {}, column {}", e.line(), e.column()),
        })?;
        for item in &page.items {
            sink(Signal::Listed(item));
        }
        if page.metadata.r#continue.is_empty() {
            sink(Signal::ListDone(&page.metadata.resource_version));
            sink(Signal::Alive);
            return Ok(page.metadata.resource_version);
        }
        token = page.metadata.r#continue;
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    r#type: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct VersionOnly {
    metadata: ListMeta,
}

async fn watch(
    rest: &Rest,
    scope: &Scope,
    version: &mut Option<String>,
    sink: &mut (dyn FnMut(Signal<'_>) + Send),
) -> Result<bool, ClusterError> {
    let from = version.clone().unwrap_or_default();
    let uri = format!(
        "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={from}{}",
        scope.path,
        scope.query()
    );
    let opening = rest.client().request_stream(scope.request(&uri)?);
    let mut stream = timeout(super::rest::REQUEST_TIMEOUT, opening)
        .await
        .map_err(|_| silence())??;
    sink(Signal::Alive);
    let mut line = Vec::new();
    let mut heard = false;
    loop {
        line.clear();
        let read = timeout(SILENCE, stream.read_until(b'\n', &mut line))
            .await
            .map_err(|_| silence())?;
        match read {
            Ok(0) => return Ok(heard),
            Err(_) if heard => return Ok(true),
            Err(e) => {
                return Err(ClusterError::Transport {
                    message: super::error::innermost(&e),
                });
            }
            Ok(_) => {}
        }
        let Ok(event) = serde_json::from_slice::<Line<'_>>(&line) else {
            continue;
        };
        heard = true;
        take_event(&event, version, sink)?;
    }
}

fn silence() -> ClusterError {
    ClusterError::Transport {
        message: "the connection fell silent".to_owned(),
    }
}

fn take_event(
    event: &Line<'_>,
    version: &mut Option<String>,
    sink: &mut (dyn FnMut(Signal<'_>) + Send),
) -> Result<(), ClusterError> {
    if event.r#type == "ERROR" {
        let status: Failure = decode(event.object.get().as_bytes())?;
        return Err(ClusterError::Api {
            code: status.code,
            reason: status.reason,
            message: status.message,
            retry_after: None,
        });
    }
    let meta: VersionOnly = decode(event.object.get().as_bytes())?;
    if !meta.metadata.resource_version.is_empty() {
        *version = Some(meta.metadata.resource_version);
    }
    match event.r#type.as_str() {
        "ADDED" | "MODIFIED" => sink(Signal::Applied(event.object)),
        "DELETED" => sink(Signal::Deleted(event.object)),
        _ => {}
    }
    sink(Signal::Alive);
    Ok(())
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    code: u16,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
}

#[cfg(test)]
mod tests {
    use super::{Line, Scope, Signal, pause, take_event};

    #[test]
    fn selectors_are_escaped_into_the_query() {
        let mut scope = Scope::all("/api/v1/secrets".to_owned());
        scope.labels = "a/b=true".to_owned();
        assert_eq!(scope.query(), "&labelSelector=a%2Fb%3Dtrue");
    }

    #[test]
    fn an_expired_watch_is_an_error_and_a_bookmark_moves_the_version() {
        let mut version = Some("1".to_owned());
        let gone = r#"{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"too old"}}"#;
        let line: Line<'_> = serde_json::from_str(gone).unwrap();
        assert!(take_event(&line, &mut version, &mut |_| {}).unwrap_err().is_expired());
        let mark = r#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#;
        let line: Line<'_> = serde_json::from_str(mark).unwrap();
        let mut seen = 0;
        take_event(&line, &mut version, &mut |s| {
            seen += u32::from(matches!(s, Signal::Applied(_)));
        })
        .unwrap();
        assert_eq!((version.as_deref(), seen), (Some("7"), 0));
    }

    #[test]
    fn pauses_grow_and_are_bounded() {
        assert!(pause(1) < pause(3));
        assert_eq!(pause(40), super::MAX_PAUSE);
    }
}
