//! Response bodies that fail on the way.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Result;
use bytes::Bytes;
use futures::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};

/// The error type hyper wants from a body.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;
/// Any body the proxy sends.
pub type ProxyBody = BoxBody<Bytes, BodyError>;

/// A whole body in memory.
pub fn full(bytes: impl Into<Bytes>) -> ProxyBody {
    Full::new(bytes.into())
        .map_err(|never: Infallible| match never {})
        .boxed()
}

/// The server's body, as it comes.
pub fn forwarded(body: Incoming) -> ProxyBody {
    body.map_err(BodyError::from).boxed()
}

/// How a body that was begun ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The connection breaks.
    Cut,
    /// Nothing more ever comes.
    Silence,
}

/// The first half of `whole`, then `ending`.
pub fn half(whole: &Bytes, ending: Ending) -> ProxyBody {
    let first = whole.slice(..whole.len() / 2);
    let frames = stream::unfold(Some(first), move |first| async move {
        if let Some(first) = first {
            return Some((Ok(Frame::data(first)), None));
        }
        if ending == Ending::Silence {
            std::future::pending::<()>().await;
        }
        // Hyper writes out what it has when the body is not ready at once; only then may the error follow.
        tokio::task::yield_now().await;
        Some((Err(BodyError::from("cut on purpose")), None))
    });
    BodyExt::boxed(StreamBody::new(SyncStream::new(frames)))
}

/// `whole` in ten pieces a second, `rate` bytes a second in all.
pub fn throttled(whole: Bytes, rate: u32) -> ProxyBody {
    const PIECES_A_SECOND: u32 = 10;
    let piece = (rate / PIECES_A_SECOND).max(1) as usize;
    let frames = stream::unfold(whole, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(Duration::from_secs(1) / PIECES_A_SECOND).await;
        let next = rest.split_to(piece.min(rest.len()));
        Some((Ok(Frame::data(next)), rest))
    });
    BodyExt::boxed(StreamBody::new(SyncStream::new(frames)))
}

/// Collects a server's body.
pub async fn collect(body: Incoming) -> Result<Bytes> {
    Ok(body.collect().await?.to_bytes())
}

/// `BoxBody` asks for `Sync`, which the futures above are not said to be; a mutex that is never contended gives it.
struct SyncStream<S> {
    inner: std::sync::Mutex<std::pin::Pin<Box<S>>>,
}

impl<S> SyncStream<S> {
    fn new(stream: S) -> Self {
        Self {
            inner: std::sync::Mutex::new(Box::pin(stream)),
        }
    }
}

impl<S: stream::Stream<Item = Result<Frame<Bytes>, BodyError>>> stream::Stream for SyncStream<S> {
    type Item = Result<Frame<Bytes>, BodyError>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let inner = self
            .get_mut()
            .inner
            .get_mut()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        inner.as_mut().poll_next(cx)
    }
}
