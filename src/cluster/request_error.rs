//! `kube::Error` → [`RequestError`]: the only place that reads kube's errors. They print their source inside `Display`
//! and return it again, so a chain printed naively repeats every line.

use std::error::Error as StdError;
use std::time::Duration;

/// Why a cluster did not do what it was asked; decides hint, exit code and retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// 401: the credential is missing, expired or revoked.
    Unauthorized,
    /// 403: RBAC says no.
    Forbidden,
    /// 404 of an object.
    NotFound,
    /// 404 of a whole kind: its CRD is not installed or not served in this version.
    KindMissing,
    /// 409 on a create.
    AlreadyExists,
    /// 409: another field manager owns the field, or the object changed meanwhile.
    Conflict,
    /// 422 or 400: the API server refused the object.
    Invalid,
    /// 429.
    Throttled,
    /// The name did not resolve.
    Dns,
    /// Refused, reset, no route.
    Connect,
    /// The server's certificate is signed by an authority we do not trust.
    UnknownAuthority,
    /// The server's certificate is not valid for the name we dialled.
    WrongHostName,
    /// The server's certificate is expired or not yet valid.
    CertificateExpired,
    /// Another TLS failure.
    Tls,
    /// The request took longer than `--request-timeout`.
    Timeout,
    /// The exec credential plugin failed.
    ExecPlugin,
    /// Anything else.
    Other,
}

impl Reason {
    /// CamelCase word for JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::KindMissing => "KindMissing",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Invalid => "Invalid",
            Self::Throttled => "TooManyRequests",
            Self::Dns => "NameNotResolved",
            Self::Connect => "ConnectionFailed",
            Self::UnknownAuthority => "UnknownAuthority",
            Self::WrongHostName => "WrongHostName",
            Self::CertificateExpired => "CertificateExpired",
            Self::Tls => "TlsFailed",
            Self::Timeout => "Timeout",
            Self::ExecPlugin => "ExecPluginFailed",
            Self::Other => "Error",
        }
    }
}

/// A failed request against one cluster.
#[derive(Debug, Clone, thiserror::Error)]
#[error("cannot {verb} {object} [{context}]")]
pub struct RequestError {
    /// `get`, `list`, `create`, `patch`, `delete`, `watch`, `connect`.
    pub verb: &'static str,
    /// `kind.group/name`, perhaps with ` in namespace "x"`.
    pub object: String,
    /// The kubeconfig context.
    pub context: String,
    /// Class of the failure.
    pub reason: Reason,
    /// The cause in the server's (or the network's) words, one line, no secret in it.
    pub message: String,
    /// HTTP status, 0 where there was no answer.
    pub code: u16,
    /// For conflicts: `field` paths per owning manager, as the server lists them.
    pub conflicts: Vec<(String, String)>,
    /// Server's wish to wait, from `Retry-After` in the Status details.
    pub retry_after: Option<Duration>,
}

impl RequestError {
    /// The request did not end in time.
    pub fn timeout(verb: &'static str, object: &str, context: &str, limit: Duration) -> Self {
        Self {
            verb,
            object: object.to_owned(),
            context: context.to_owned(),
            reason: Reason::Timeout,
            message: format!("no answer within {}s", limit.as_secs()),
            code: 0,
            conflicts: Vec::new(),
            retry_after: None,
        }
    }

    /// A failure that we found ourselves, without a request.
    pub fn local(verb: &'static str, object: &str, context: &str, reason: Reason, message: impl Into<String>) -> Self {
        Self {
            verb,
            object: object.to_owned(),
            context: context.to_owned(),
            reason,
            message: message.into(),
            code: 0,
            conflicts: Vec::new(),
            retry_after: None,
        }
    }

    /// Reads what kube reports, once.
    pub fn from_kube(verb: &'static str, object: &str, context: &str, server: &str, error: &kube::Error) -> Self {
        let mut out = Self::local(verb, object, context, Reason::Other, String::new());
        if let kube::Error::Api(status) = error {
            out.code = status.code;
            out.message = one_line(&status.message);
            (out.reason, out.conflicts) = classify_status(status);
            out.retry_after = status
                .details
                .as_ref()
                .filter(|d| d.retry_after_seconds > 0)
                .map(|d| Duration::from_secs(u64::from(d.retry_after_seconds)));
            if out.message.is_empty() {
                out.message = if status.reason.is_empty() {
                    format!("HTTP {}", status.code)
                } else {
                    status.reason.clone()
                };
            }
            return out;
        }
        let (reason, message) = classify_transport(error, server);
        out.reason = reason;
        out.message = message;
        out
    }

    /// True where the object simply is not there.
    pub fn is_not_found(&self) -> bool {
        self.reason == Reason::NotFound
    }
}

fn classify_status(status: &kube::core::Status) -> (Reason, Vec<(String, String)>) {
    let conflicts = status
        .details
        .as_ref()
        .map(|d| {
            d.causes
                .iter()
                .map(|c| (manager_in(&c.message), c.field.clone()))
                .collect::<Vec<_>>()
        })
        .unwrap_or_default();
    let has_name = status.details.as_ref().is_some_and(|d| !d.name.is_empty());
    let reason = match (status.code, status.reason.as_str()) {
        (401, _) => Reason::Unauthorized,
        (403, _) => Reason::Forbidden,
        // The API server answers a path it does not serve without naming an object.
        (404, _) if !has_name => Reason::KindMissing,
        (404, _) => Reason::NotFound,
        (409, "AlreadyExists") => Reason::AlreadyExists,
        (409, _) => Reason::Conflict,
        (400 | 422, _) => Reason::Invalid,
        (429, _) => Reason::Throttled,
        (504, _) => Reason::Timeout,
        _ => Reason::Other,
    };
    (
        reason,
        if reason == Reason::Conflict {
            conflicts
        } else {
            Vec::new()
        },
    )
}

/// `conflict with "NAME" using v1` → `NAME`.
fn manager_in(message: &str) -> String {
    message.split('"').nth(1).unwrap_or(message).to_owned()
}

fn classify_transport(error: &kube::Error, server: &str) -> (Reason, String) {
    if matches!(error, kube::Error::Auth(_)) {
        // kube's text holds the plugin's command line, environment and stdout, where a token may be.
        return (
            Reason::ExecPlugin,
            "the credential plugin of this kubeconfig user failed".to_owned(),
        );
    }
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    let mut last = String::new();
    while let Some(e) = cause {
        if let Some(tls) = find_tls(e) {
            return classify_tls(tls, server);
        }
        if let Some(io) = e.downcast_ref::<std::io::Error>()
            && let Some((reason, text)) = classify_io(io, server)
        {
            return (reason, text);
        }
        last = one_line(&e.to_string());
        cause = e.source();
    }
    if let Some(found) = classify_tls_text(&last, server) {
        return found;
    }
    if last.contains("failed to lookup address") || last.contains("dns error") {
        return (Reason::Dns, format!("host name of {server} does not resolve"));
    }
    (
        Reason::Other,
        if last.is_empty() {
            "unknown error".to_owned()
        } else {
            last
        },
    )
}

/// Some layers hand a TLS failure on as text only; the words are rustls's.
fn classify_tls_text(text: &str, server: &str) -> Option<(Reason, String)> {
    if !text.contains("invalid peer certificate") {
        return None;
    }
    Some(if text.contains("UnknownIssuer") {
        (
            Reason::UnknownAuthority,
            format!("x509: certificate of {server} is signed by an unknown authority"),
        )
    } else if text.contains("not valid for name") || text.contains("NotValidForName") {
        (
            Reason::WrongHostName,
            format!("x509: certificate is not valid for the host of {server}"),
        )
    } else if text.contains("xpired") || text.contains("NotValidYet") || text.contains("not valid yet") {
        (
            Reason::CertificateExpired,
            format!("x509: certificate of {server} has expired or is not yet valid"),
        )
    } else {
        (Reason::Tls, text.to_owned())
    })
}

fn find_tls<'a>(e: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = e.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    e.downcast_ref::<std::io::Error>()?
        .get_ref()?
        .downcast_ref::<rustls::Error>()
}

fn classify_tls(error: &rustls::Error, server: &str) -> (Reason, String) {
    use rustls::CertificateError as C;
    match error {
        rustls::Error::InvalidCertificate(C::UnknownIssuer) => (
            Reason::UnknownAuthority,
            format!("x509: certificate of {server} is signed by an unknown authority"),
        ),
        rustls::Error::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. }) => (
            Reason::WrongHostName,
            format!("x509: certificate is not valid for the host of {server}"),
        ),
        rustls::Error::InvalidCertificate(
            C::Expired | C::ExpiredContext { .. } | C::NotValidYet | C::NotValidYetContext { .. },
        ) => (
            Reason::CertificateExpired,
            format!("x509: certificate of {server} has expired or is not yet valid"),
        ),
        other => (Reason::Tls, one_line(&other.to_string())),
    }
}

fn classify_io(io: &std::io::Error, server: &str) -> Option<(Reason, String)> {
    use std::io::ErrorKind as K;
    let text = io.to_string();
    if text.contains("failed to lookup address") {
        return Some((Reason::Dns, format!("host name of {server} does not resolve")));
    }
    match io.kind() {
        K::ConnectionRefused => Some((
            Reason::Connect,
            format!("the connection to the server {server} was refused"),
        )),
        K::ConnectionReset | K::ConnectionAborted | K::BrokenPipe | K::UnexpectedEof => {
            Some((Reason::Connect, format!("the server {server} closed the connection")))
        }
        K::TimedOut => Some((Reason::Timeout, format!("no answer from {server}"))),
        K::HostUnreachable | K::NetworkUnreachable => Some((Reason::Connect, format!("no route to {server}"))),
        _ => None,
    }
}

/// Server texts may hold line breaks and escape bytes; errors are one printable line.
pub fn one_line(text: &str) -> String {
    let joined = text
        .split('\n')
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect::<Vec<_>>()
        .join("; ");
    joined.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::{manager_in, one_line};

    #[test]
    fn reads_the_manager_out_of_a_conflict() {
        assert_eq!(manager_in("conflict with \"helm\" using v1"), "helm");
    }

    #[test]
    fn keeps_errors_on_one_printable_line() {
        assert_eq!(one_line("a\n  b\u{1b}[31m"), "a; b [31m");
    }
}
