//! What a user reads when something fails: what, cause, hint, each on its line.

use crate::cluster::kubeconfig::ConfigError;
use crate::cluster::{Reason, RequestError};
use crate::plan::input::InputError;

use super::exit::ExitCode;

/// A failure with everything the user needs to act on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CliError {
    /// How the process ends.
    pub exit: ExitCode,
    /// CamelCase class, for JSON.
    pub reason: String,
    /// What failed: verb, object, context. One line.
    pub what: String,
    /// The cause, in the server's words where there is a server.
    pub cause: Option<String>,
    /// A command or change that helps.
    pub hint: Option<String>,
}

impl CliError {
    /// A usage or configuration error; nothing was sent.
    pub fn usage(what: impl Into<String>) -> Self {
        Self {
            exit: ExitCode::Usage,
            reason: "Usage".to_owned(),
            what: what.into(),
            cause: None,
            hint: None,
        }
    }

    /// A failure.
    pub fn failed(reason: &str, what: impl Into<String>) -> Self {
        Self {
            exit: ExitCode::Failed,
            reason: reason.to_owned(),
            what: what.into(),
            cause: None,
            hint: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// The error as the one document of a machine-readable run.
    pub fn json(&self) -> serde_json::Value {
        let message = match &self.cause {
            Some(cause) => format!("{}: {cause}", self.what),
            None => self.what.clone(),
        };
        serde_json::json!({
            "apiVersion": "kubectl-eso/v1", "kind": "Error",
            "error": {"reason": self.reason, "message": message, "hint": self.hint},
            "summary": {"exitCode": self.exit.code()},
        })
    }

    /// Adds the hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::fmt::Display for CliError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)?;
        if let Some(cause) = &self.cause {
            write!(f, "\n  cause: {cause}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint:  {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for CliError {}

impl From<ConfigError> for CliError {
    fn from(error: ConfigError) -> Self {
        let out = Self {
            reason: "Configuration".to_owned(),
            ..Self::usage(error.to_string())
        };
        match error {
            ConfigError::Unreadable { message, .. } => out
                .cause(message)
                .hint("check --kubeconfig, or the files listed in KUBECONFIG"),
            ConfigError::Absent { looked } => {
                let looked: Vec<String> = looked.iter().map(|p| p.display().to_string()).collect();
                out.cause(format!(
                    "looked for {}",
                    if looked.is_empty() {
                        "nothing: no home directory".to_owned()
                    } else {
                        looked.join(", ")
                    }
                ))
                .hint("pass --kubeconfig FILE, set KUBECONFIG, or put one at ~/.kube/config")
            }
            ConfigError::UnknownContext { nearest, .. } if !nearest.is_empty() => out
                .cause(format!("the nearest names are {}", nearest.join(", ")))
                .hint("kubectl config get-contexts"),
            ConfigError::UnknownContext { .. } => out
                .cause("the kubeconfig has no contexts")
                .hint("kubectl config get-contexts"),
            ConfigError::NoContext { available } => out
                .cause(format!(
                    "there is no current-context; contexts are {}",
                    available.join(", ")
                ))
                .hint("pass --context NAME, or run: kubectl config use-context NAME"),
            ConfigError::UnknownEntry { what, .. } => out
                .cause("the context, or a flag, refers to it")
                .hint(format!("kubectl config get-{what}s")),
            ConfigError::Invalid { message, .. } => {
                let hint = invalid_hint(&message);
                out.cause(message).hint(hint)
            }
        }
    }
}

impl From<RequestError> for CliError {
    fn from(error: RequestError) -> Self {
        let hint = hint_for(&error);
        let mut cause = format!("{}: {}", error.reason.as_str(), error.message);
        for (manager, field) in &error.conflicts {
            cause.push_str(&format!("; {field} is owned by {manager:?}"));
        }
        Self {
            hint,
            ..Self::failed(error.reason.as_str(), error.to_string()).cause(cause)
        }
    }
}

impl From<InputError> for CliError {
    fn from(error: InputError) -> Self {
        let out = Self {
            reason: "Input".to_owned(),
            ..Self::usage(error.to_string())
        };
        match error {
            InputError::Yaml { message, file, .. } => out
                .cause(message)
                .hint(format!("kubectl apply --dry-run=client -f {file}")),
            InputError::Object { message, .. } => out
                .cause(message)
                .hint("every document needs apiVersion, kind and metadata.name"),
            InputError::Namespace { .. } => out
                .cause("-n and the file disagree")
                .hint("leave out -n, or change the file"),
            InputError::Empty => out.hint("pass -f FILE, -f DIRECTORY or -f -"),
        }
    }
}

/// Go's client takes X.509 version 1 certificates, which have no extensions; rustls does not (RFC 5280, 4.1.2.1).
fn invalid_hint(message: &str) -> &'static str {
    if message.contains("UnsupportedCertVersion") {
        "the client certificate is X.509 version 1: issue it anew as version 3 (openssl x509 -req -extfile FILE)"
    } else {
        "kubectl config view --minify"
    }
}

/// A command to paste, or a flag to add, by class of failure.
fn hint_for(error: &RequestError) -> Option<String> {
    let context = quoted(&error.context);
    Some(match error.reason {
        Reason::Unauthorized => format!("the credential of this context is missing, expired or revoked: kubectl --context {context} auth whoami"),
        Reason::Forbidden => format!("kubectl --context {context} auth can-i --list"),
        Reason::KindMissing => format!("install the CRDs: kubectl eso crds --apply --contexts {context}"),
        Reason::NotFound if error.message.contains("namespaces") => {
            format!("create it (kubectl --context {context} create namespace NAME) or pass --create-namespace")
        }
        Reason::NotFound => format!("kubectl --context {context} get {}", error.object.split(" in ").next().unwrap_or_default()),
        Reason::Conflict if !error.conflicts.is_empty() => {
            "leave the field out, set the same value, or take it with --force-conflicts".to_owned()
        }
        Reason::Dns => "check the server's host name in the kubeconfig, and DNS on this machine".to_owned(),
        Reason::Connect | Reason::Timeout => format!("is the API server up and reachable? kubectl --context {context} get --raw /readyz"),
        Reason::UnknownAuthority => "the CA does not match the server: check certificate-authority-data, or pass --upstream-ca FILE for the upstream".to_owned(),
        Reason::WrongHostName => "use an address that the certificate names, or set tls-server-name".to_owned(),
        Reason::CertificateExpired => "renew the server's certificate, and compare the clocks".to_owned(),
        Reason::ExecPlugin => format!("run the credential plugin by hand: kubectl --context {context} get --raw /readyz -v 6"),
        Reason::Throttled => "the server asks for fewer requests: lower --concurrency".to_owned(),
        Reason::Invalid => "fix the field that the cause names".to_owned(),
        Reason::AlreadyExists | Reason::Conflict | Reason::Tls | Reason::Other => return None,
    })
}

/// Quotes for the shell where needed, so that hints can be pasted.
pub fn quoted(word: &str) -> String {
    let plain = !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_./:@=,+".contains(c));
    if plain {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{CliError, invalid_hint, quoted};
    use crate::cluster::{Reason, RequestError};

    #[test]
    fn three_lines() {
        let error = RequestError::local(
            "create",
            "secret/x in namespace \"eso\"",
            "prod eu",
            Reason::Forbidden,
            "no",
        );
        assert_eq!(
            CliError::from(error).to_string(),
            "cannot create secret/x in namespace \"eso\" [prod eu]\n  cause: Forbidden: no\n  hint:  kubectl --context 'prod eu' auth can-i --list"
        );
    }

    #[test]
    fn a_client_certificate_of_version_1_gets_the_way_out() {
        assert!(invalid_hint("client: UnsupportedCertVersion").contains("version 3"));
        assert_eq!(invalid_hint("bad"), "kubectl config view --minify");
    }

    #[test]
    fn quotes_only_where_needed() {
        assert_eq!(quoted("a-b.c"), "a-b.c");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
