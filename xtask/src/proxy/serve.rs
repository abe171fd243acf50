//! The proxy's loop: accept, decrypt, decide, forward.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER, TRANSFER_ENCODING};
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::Upstream;
use super::body::{Ending, ProxyBody, collect, forwarded, full, half, throttled};
use super::script::{Action, Script};
use crate::controlplane::{Signal, exists, signal};

/// What every connection of a proxy needs.
pub(super) struct Server {
    pub(super) cluster: String,
    pub(super) authority: String,
    pub(super) tls: Arc<ServerConfig>,
    pub(super) admin_der: CertificateDer<'static>,
    pub(super) as_admin: Upstream,
    pub(super) as_is: Upstream,
    pub(super) script: Script,
}

/// Serves until told to stop; open connections are cut then.
pub(super) async fn run(listener: TcpListener, server: Arc<Server>, mut stopped: oneshot::Receiver<()>) {
    // The listener was made non-blocking, which is all that the conversion asks for.
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                // A failed accept is the client's trouble; it sees a closed connection.
                if let Ok((stream, _)) = accepted {
                    connections.spawn(connection(stream, Arc::clone(&server)));
                }
            }
        }
    }
}

async fn connection(stream: TcpStream, server: Arc<Server>) {
    // Errors of a connection are the client's to report: it sees the same break from the other end.
    let _ = stream.set_nodelay(true);
    let Ok(tls) = TlsAcceptor::from(Arc::clone(&server.tls)).accept(stream).await else {
        return;
    };
    let is_admin = tls
        .get_ref()
        .1
        .peer_certificates()
        .and_then(<[_]>::first)
        .is_some_and(|cert| *cert == server.admin_der);
    let cut = Arc::new(Notify::new());
    let service = service_fn(|request| {
        let (server, cut) = (Arc::clone(&server), Arc::clone(&cut));
        async move {
            match server.handle(request, is_admin).await {
                Ok(Some(response)) => Ok::<_, std::convert::Infallible>(response),
                Ok(None) => {
                    cut.notify_one();
                    std::future::pending().await
                }
                Err(error) => Ok(status(502, "BadGateway", &format!("{error:#}"), None)),
            }
        }
    });
    let builder = auto::Builder::new(TokioExecutor::new());
    tokio::select! {
        _ = builder.serve_connection(TokioIo::new(tls), service) => {}
        () = cut.notified() => {}
    }
}

impl Server {
    /// The answer to a request, or `None` to cut the connection.
    async fn handle(&self, request: Request<Incoming>, is_admin: bool) -> Result<Option<Response<ProxyBody>>> {
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", http::uri::PathAndQuery::as_str);
        if let Some(value) = request
            .headers()
            .get(AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
        {
            self.script.authorization(value);
        }
        let (number, action) = self.script.arrive(&self.cluster, request.method().as_str(), path);
        let response = match action {
            None => self.forward(request, is_admin).await.map(Some),
            Some(action) => self.act(action, request, is_admin).await,
        }?;
        if let Some(response) = &response {
            self.script.answered(number, response.status().as_u16());
        }
        Ok(response)
    }

    async fn act(
        &self,
        action: Action,
        request: Request<Incoming>,
        is_admin: bool,
    ) -> Result<Option<Response<ProxyBody>>> {
        let answer = match action {
            Action::Status {
                code,
                reason,
                retry_after,
            } => status(code, reason, "injected by the proxy", retry_after),
            Action::Respond { code, headers, body } => respond(code, headers, body)?,
            Action::WatchExpired => watch_expired()?,
            Action::Hang => std::future::pending().await,
            Action::HalfBody => halve(self.forward_whole(request, is_admin).await?, Ending::Cut),
            Action::StallBody => halve(self.forward_whole(request, is_admin).await?, Ending::Silence),
            Action::Delay(delay) => {
                tokio::time::sleep(delay).await;
                self.forward(request, is_admin).await?
            }
            Action::Throttle(rate) => {
                let (head, whole) = self.forward_whole(request, is_admin).await?.into_parts();
                Response::from_parts(head, throttled(whole, rate))
            }
            Action::CutBefore => return Ok(None),
            Action::CutAfter => {
                self.forward_whole(request, is_admin).await?;
                return Ok(None);
            }
            Action::KillBefore => {
                self.kill_victim().await;
                return Ok(None);
            }
            Action::KillAfter => {
                self.forward_whole(request, is_admin).await?;
                self.kill_victim().await;
                return Ok(None);
            }
        };
        Ok(Some(answer))
    }

    /// Ends the victim. The test learns its pid only after it has started, so it may have to be waited for.
    async fn kill_victim(&self) {
        const POLL: Duration = Duration::from_millis(1);
        let pid = loop {
            match self.script.victim() {
                Some(pid) => break pid,
                None => tokio::time::sleep(POLL).await,
            }
        };
        if exists(pid) {
            signal(pid, Signal::KILL);
        }
    }

    /// Sends the request on and returns the answer as it comes, watches included.
    async fn forward(&self, request: Request<Incoming>, is_admin: bool) -> Result<Response<ProxyBody>> {
        Ok(self.send(request, is_admin).await?.map(forwarded))
    }

    /// Sends the request on and waits for the whole answer.
    async fn forward_whole(&self, request: Request<Incoming>, is_admin: bool) -> Result<Response<bytes::Bytes>> {
        let (mut head, body) = self.send(request, is_admin).await?.into_parts();
        let whole = collect(body).await?;
        head.headers.remove(TRANSFER_ENCODING);
        head.headers.insert(CONTENT_LENGTH, whole.len().into());
        Ok(Response::from_parts(head, whole))
    }

    async fn send(&self, request: Request<Incoming>, is_admin: bool) -> Result<Response<Incoming>> {
        let (mut head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        head.uri = Uri::builder()
            .scheme("https")
            .authority(self.authority.as_str())
            .path_and_query(path)
            .build()?;
        head.version = http::Version::default();
        // The client sets it anew for the server's address, or as `:authority`.
        head.headers.remove(HOST);
        let certificate = is_admin && !head.headers.contains_key(AUTHORIZATION);
        let upstream = if certificate { &self.as_admin } else { &self.as_is };
        upstream
            .request(Request::from_parts(head, forwarded(body)))
            .await
            .context("the API server does not answer")
    }
}

fn halve(response: Response<bytes::Bytes>, ending: Ending) -> Response<ProxyBody> {
    response.map(|whole| half(&whole, ending))
}

/// A Kubernetes `Status` of failure.
fn status(code: u16, reason: &str, message: &str, retry_after: Option<u32>) -> Response<ProxyBody> {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
        "details": retry_after.map(|seconds| json!({ "retryAfterSeconds": seconds })),
    });
    let mut response = Response::new(full(body.to_string()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

fn respond(code: u16, headers: Vec<(&'static str, String)>, body: String) -> Result<Response<ProxyBody>> {
    let mut builder = Response::builder().status(code);
    for (name, value) in headers {
        builder = builder.header(name, value);
    }
    Ok(builder.body(full(body))?)
}

fn watch_expired() -> Result<Response<ProxyBody>> {
    let event = json!({ "type": "ERROR", "object": {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too old resource version: 1 (2)", "reason": "Expired", "code": 410,
    }});
    Ok(Response::builder()
        .header(CONTENT_TYPE, "application/json")
        .body(full(format!("{event}\n")))?)
}
