//! One layer in front of every request: `-v 6…8` lines (never a body, never a credential) and the server's `Warning`
//! headers, which kube-rs drops.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

use http::{HeaderMap, Request, Response};
use tower::{Layer, Service};

/// Warnings of all API servers of this run: text → contexts that sent it.
#[derive(Debug, Clone, Default)]
pub struct Warnings(Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>);

impl Warnings {
    fn add(&self, context: &str, text: String) {
        let mut all = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // A server that warns on each of thousands of requests must not fill memory.
        if all.len() < 256 || all.contains_key(&text) {
            all.entry(text).or_default().insert(context.to_owned());
        }
    }

    /// Takes what has been collected.
    pub fn take(&self) -> BTreeMap<String, BTreeSet<String>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// Builds [`HttpLog`] services that know their context.
#[derive(Debug, Clone)]
pub struct HttpLogLayer {
    context: Arc<str>,
    warnings: Warnings,
}

impl HttpLogLayer {
    /// A layer for the client of `context`.
    pub fn new(context: &str, warnings: Warnings) -> Self {
        Self {
            context: context.into(),
            warnings,
        }
    }
}

impl<S> Layer<S> for HttpLogLayer {
    type Service = HttpLog<S>;

    fn layer(&self, inner: S) -> HttpLog<S> {
        HttpLog {
            inner,
            context: self.context.clone(),
            warnings: self.warnings.clone(),
        }
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct HttpLog<S> {
    inner: S,
    context: Arc<str>,
    warnings: Warnings,
}

impl<S, B, R> Service<Request<B>> for HttpLog<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
    R: 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (context, warnings) = (self.context.clone(), self.warnings.clone());
        let line = format!("{} {}", request.method(), request.uri());
        if tracing::enabled!(target: "kubectl_eso::http", tracing::Level::TRACE) {
            tracing::trace!(target: "kubectl_eso::http", context = &*context, "{line} headers: {}", shown(request.headers()));
        }
        let started = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let millis = started.elapsed().as_millis();
            match &answer {
                Ok(response) => {
                    tracing::debug!(target: "kubectl_eso::http", context = &*context, "{line} {} in {millis} ms", response.status());
                    collect(response.headers(), &context, &warnings);
                }
                Err(_) => {
                    tracing::debug!(target: "kubectl_eso::http", context = &*context, "{line} failed after {millis} ms");
                }
            }
            answer
        })
    }
}

/// Only `Warning: 299 agent "text"` carries a message for people (RFC 7234, as client-go reads it).
fn collect(headers: &HeaderMap, context: &str, warnings: &Warnings) {
    for value in headers.get_all("warning") {
        let Ok(text) = value.to_str() else { continue };
        if let Some(rest) = text.strip_prefix("299 ")
            && let Some((_, quoted)) = rest.split_once('"')
        {
            let message = quoted.strip_suffix('"').unwrap_or(quoted).replace("\\\"", "\"");
            warnings.add(context, message);
        }
    }
}

fn shown(headers: &HeaderMap) -> String {
    let mut out = String::new();
    for (name, value) in headers {
        let text = match name.as_str() {
            "authorization" | "cookie" | "proxy-authorization" => "***",
            _ => value.to_str().unwrap_or("<bytes>"),
        };
        out.push_str(&format!("{name}={text} "));
    }
    out
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::{Warnings, collect, shown};

    #[test]
    fn keeps_each_warning_once_with_its_contexts() {
        let warnings = Warnings::default();
        let mut headers = HeaderMap::new();
        headers.append("warning", HeaderValue::from_static("299 - \"use v1\""));
        collect(&headers, "a", &warnings);
        collect(&headers, "b", &warnings);
        let all = warnings.take();
        assert_eq!(all["use v1"].iter().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn masks_credentials() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer canary-canary-canary"));
        assert!(!shown(&headers).contains("canary"));
    }
}
