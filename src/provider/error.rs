//! What can go wrong between us and a secret store.

use std::time::Duration;

/// A provider's failure. `message` is ESO's text for it (it reaches events and `why`) and never holds a secret value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// ESO's dedicated not-found error (`NoSecretErr`): the deletion policy decides what it means.
    #[error("{message}")]
    NoSecret {
        /// ESO's text: `Secret does not exist`, perhaps wrapped.
        message: String,
    },
    /// The credential was refused (401) or has no right (403).
    #[error("{message}")]
    Denied {
        /// ESO's text.
        message: String,
    },
    /// The store asks us to slow down.
    #[error("{message}")]
    Throttled {
        /// ESO's text.
        message: String,
        /// The store's own hint (`Retry-After`), if it gave one.
        after: Option<Duration>,
    },
    /// The store's configuration or the reference is wrong; a retry without a change is pointless.
    #[error("{message}")]
    Invalid {
        /// ESO's text.
        message: String,
    },
    /// The store could not be reached or answered garbage.
    #[error("{message}")]
    Transport {
        /// ESO's text.
        message: String,
    },
    /// Anything else, with ESO's text.
    #[error("{message}")]
    Other {
        /// ESO's text.
        message: String,
    },
}

impl ProviderError {
    /// The dedicated not-found error with ESO's plain text.
    pub fn no_secret() -> Self {
        Self::NoSecret {
            message: "Secret does not exist".to_owned(),
        }
    }

    /// An [`ProviderError::Other`] with ESO's text.
    pub fn other(message: impl Into<String>) -> Self {
        Self::Other {
            message: message.into(),
        }
    }

    /// An [`ProviderError::Invalid`] with ESO's text.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid {
            message: message.into(),
        }
    }

    /// The same class with `prefix` put before the text, as Go's `fmt.Errorf("prefix: %w", err)` does.
    /// A wrapped `NoSecret` stays one, as Go's `errors.Is` sees through the chain.
    #[must_use]
    pub fn wrap(self, prefix: &str) -> Self {
        let join = |m: String| format!("{prefix}: {m}");
        match self {
            Self::NoSecret { message } => Self::NoSecret { message: join(message) },
            Self::Denied { message } => Self::Denied { message: join(message) },
            Self::Throttled { message, after } => Self::Throttled {
                message: join(message),
                after,
            },
            Self::Invalid { message } => Self::Invalid { message: join(message) },
            Self::Transport { message } => Self::Transport { message: join(message) },
            Self::Other { message } => Self::Other { message: join(message) },
        }
    }
}
