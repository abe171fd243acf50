//! What an API server can answer with, in a form that may be shown: kube's own errors repeat their sources in Display.

/// A failed request to an API server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The server answered with a `Status`.
    #[error("{message}")]
    Api {
        /// HTTP code.
        code: u16,
        /// `Status.reason`: `NotFound`, `AlreadyExists`, `Conflict`, …
        reason: String,
        /// `Status.message`, as the server wrote it.
        message: String,
        /// `Retry-After` in seconds, where the server gave one.
        retry_after: Option<u64>,
    },
    /// No answer came: refused, reset, timed out, TLS.
    #[error("{message}")]
    Transport {
        /// Text of the innermost cause.
        message: String,
    },
    /// The answer was not what the Kubernetes API promises.
    #[error("unexpected answer of the API server: {message}")]
    Decode {
        /// What was expected; never the body.
        message: String,
    },
    /// The request could not be built (an invalid name, a header that cannot be sent).
    #[error("cannot build the request: {message}")]
    Request {
        /// The cause.
        message: String,
    },
    /// Writing was refused on our side: the Lease is lost, or the run only watches.
    #[error("{message}")]
    Fenced {
        /// Which fence.
        message: String,
    },
}

impl ClusterError {
    /// The HTTP code, where there was an answer.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Api { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// True for 404.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// True for 409 with reason `AlreadyExists`.
    pub fn is_already_exists(&self) -> bool {
        matches!(self, Self::Api { code: 409, reason, .. } if reason == "AlreadyExists")
    }

    /// True for 409 with any other reason: somebody else wrote in between.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409) && !self.is_already_exists()
    }

    /// True where a watch or a paged list must start over (410).
    pub fn is_expired(&self) -> bool {
        self.code() == Some(410)
    }
}

impl From<kube::Error> for ClusterError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Api {
                code: status.code,
                reason: status.reason.clone(),
                message: status.message.clone(),
                retry_after: status
                    .details
                    .as_ref()
                    .map(|d| u64::from(d.retry_after_seconds))
                    .filter(|s| *s > 0),
            },
            other => Self::Transport {
                message: innermost(&other),
            },
        }
    }
}

/// The text of the last error of the chain: the outer ones repeat it.
pub fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(next) = last.source() {
        last = next;
    }
    last.to_string()
}
