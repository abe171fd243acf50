//! What Go's Kubernetes and HTTP clients say when a request fails, rebuilt from our own client's errors.
//!
//! Events and conditions of ESO carry these texts, and people search for them.

use std::error::Error as StdError;
use std::net::IpAddr;
use std::time::Duration;

use kube::core::Status;
use rustls::{AlertDescription, CertificateError};

/// A failed request: class and Go's text. The text never holds a credential or a secret value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiFailure {
    /// HTTP status; 0 where no answer came.
    pub code: u16,
    /// Go's text.
    pub message: String,
    /// The server's hint when to come back, with 429 and 503.
    pub retry_after: Option<Duration>,
}

impl ApiFailure {
    /// A failure without an answer.
    pub fn local(message: impl Into<String>) -> Self {
        Self {
            code: 0,
            message: message.into(),
            retry_after: None,
        }
    }

    /// True for 404: the object is not there.
    pub fn is_not_found(&self) -> bool {
        self.code == 404
    }
}

/// One request as Go's texts name it.
#[derive(Debug, Clone, Copy)]
pub struct RequestLine<'a> {
    /// HTTP method in capitals.
    pub method: &'a str,
    /// Whole URL, query included; must hold no credential.
    pub url: &'a str,
    /// API verb or HTTP method in lower case: `get`, `list`, `post`, `put`, `delete`.
    pub verb: &'a str,
    /// Resource, with its group if it has one: `secrets`, `selfsubjectrulesreviews.authorization.k8s.io`.
    pub resource: &'a str,
    /// Name of the object; empty for lists and creations.
    pub name: &'a str,
}

/// Go's text for a failed Kubernetes request.
pub fn api_failure(error: &kube::Error, line: RequestLine<'_>) -> ApiFailure {
    if let kube::Error::Api(status) = error {
        return status_failure(status, line);
    }
    let (host, port) = host_and_port(line.url);
    ApiFailure::local(url_error(line.method, line.url, &transport_text(error, &host, port)))
}

/// Go's `url.Error`: `Get "https://…": cause`.
pub fn url_error(method: &str, url: &str, cause: &str) -> String {
    let mut letters = method.chars();
    let verb: String = letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters.flat_map(char::to_lowercase))
        .collect();
    format!("{verb} {url:?}: {cause}")
}

fn status_failure(status: &Status, line: RequestLine<'_>) -> ApiFailure {
    let retry_after = status
        .details
        .as_ref()
        .map(|details| details.retry_after_seconds)
        .filter(|seconds| *seconds > 0);
    let message = if status.reason == NO_STATUS {
        generic_text(status.code, &status.message, line)
    } else {
        status.message.clone()
    };
    ApiFailure {
        code: status.code,
        message,
        retry_after: retry_after.map(|seconds| Duration::from_secs(u64::from(seconds))),
    }
}

/// How the client marks an answer whose body was no `Status` object.
const NO_STATUS: &str = "Failed to parse error data";

/// client-go's text for an answer that is no `Status` object.
fn generic_text(code: u16, body: &str, line: RequestLine<'_>) -> String {
    let text = match code {
        409 => "the server reported a conflict",
        404 => "the server could not find the requested resource",
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        403 => body,
        405 => "the server does not allow this method on the requested resource",
        406 | 415 => "the server was unable to respond with a content type that the client supports",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        _ => return server_text(code, body, line),
    };
    format!("{text} ({})", target(line))
}

fn server_text(code: u16, body: &str, line: RequestLine<'_>) -> String {
    if code >= 500 {
        format!(
            "an error on the server ({body:?}) has prevented the request from succeeding ({})",
            target(line)
        )
    } else {
        format!(
            "the server responded with the status code {code} but did not return more information ({})",
            target(line)
        )
    }
}

fn target(line: RequestLine<'_>) -> String {
    let RequestLine {
        verb, resource, name, ..
    } = line;
    if name.is_empty() {
        format!("{verb} {resource}")
    } else {
        format!("{verb} {resource} {name}")
    }
}

/// Host and port of a URL; the port defaults by scheme.
pub fn host_and_port(url: &str) -> (String, u16) {
    let uri = url.parse::<http::Uri>().unwrap_or_default();
    let host = uri
        .host()
        .unwrap_or_default()
        .trim_start_matches('[')
        .trim_end_matches(']')
        .to_owned();
    let default = if uri.scheme_str() == Some("http") { 80 } else { 443 };
    (host, uri.port_u16().unwrap_or(default))
}

/// `host:port` as Go prints it, IPv6 in brackets.
pub fn join_host_port(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// Go's text for what went wrong on the wire, from the chain of causes of `error`. `host` and `port` are those dialled.
pub fn transport_text(error: &(dyn StdError + 'static), host: &str, port: u16) -> String {
    let mut last = error.to_string();
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(text) = known_cause(cause, host, port) {
            return text;
        }
        last = cause.to_string();
        next = cause.source();
    }
    last
}

fn known_cause(cause: &(dyn StdError + 'static), host: &str, port: u16) -> Option<String> {
    if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
        return Some(tls_text(tls, host));
    }
    if cause.is::<tokio::time::error::Elapsed>() {
        return Some(TIMED_OUT.to_owned());
    }
    if let Some(io) = cause.downcast_ref::<std::io::Error>() {
        // A wrapped cause says more than the wrapper; io::Error::source skips it, so it is asked for here.
        if let Some(inner) = io.get_ref() {
            let inner: &(dyn StdError + 'static) = inner;
            if let Some(text) = known_cause(inner, host, port) {
                return Some(text);
            }
        }
        return io_text(io, host, port);
    }
    None
}

/// Go's text for a request that took longer than the client's timeout.
pub const TIMED_OUT: &str = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";

fn io_text(error: &std::io::Error, host: &str, port: u16) -> Option<String> {
    use std::io::ErrorKind;
    let dial = |what: &str| Some(format!("dial tcp {}: {what}", join_host_port(host, port)));
    match error.kind() {
        ErrorKind::ConnectionRefused => dial("connect: connection refused"),
        ErrorKind::HostUnreachable => dial("connect: no route to host"),
        ErrorKind::NetworkUnreachable => dial("connect: network is unreachable"),
        ErrorKind::TimedOut => dial("i/o timeout"),
        ErrorKind::ConnectionReset => Some("read: connection reset by peer".to_owned()),
        ErrorKind::BrokenPipe => Some("write: broken pipe".to_owned()),
        ErrorKind::UnexpectedEof => Some("EOF".to_owned()),
        _ if error.to_string().contains("failed to lookup address information") => {
            Some(format!("dial tcp: lookup {host}: no such host"))
        }
        _ => None,
    }
}

fn tls_text(error: &rustls::Error, host: &str) -> String {
    match error {
        rustls::Error::InvalidCertificate(problem) => {
            format!(
                "tls: failed to verify certificate: x509: {}",
                certificate_text(problem, host)
            )
        }
        rustls::Error::AlertReceived(alert) => format!("remote error: tls: {}", alert_text(*alert)),
        rustls::Error::InvalidMessage(_) => "http: server gave HTTP response to HTTPS client".to_owned(),
        other => format!("tls: {other}"),
    }
}

fn certificate_text(problem: &CertificateError, host: &str) -> String {
    match problem {
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => "certificate has expired or is not yet valid".to_owned(),
        CertificateError::NotValidForName => format!("certificate is not valid for {host}"),
        CertificateError::NotValidForNameContext { presented, .. } => names_text(presented, host),
        CertificateError::Revoked => "certificate has been revoked".to_owned(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "certificate specifies an incompatible key usage".to_owned()
        }
        CertificateError::BadEncoding => "malformed certificate".to_owned(),
        _ => "certificate signed by unknown authority".to_owned(),
    }
}

/// Go lists the names of the kind that was asked for: addresses for an address, DNS names for a name.
fn names_text(presented: &[String], host: &str) -> String {
    let wanted_ip = host.parse::<IpAddr>().is_ok();
    let names: Vec<&str> = presented
        .iter()
        .filter_map(|name| presented_name(name, wanted_ip))
        .collect();
    match (names.is_empty(), wanted_ip) {
        (false, _) => format!("certificate is valid for {}, not {host}", names.join(", ")),
        (true, true) => format!("cannot validate certificate for {host} because it doesn't contain any IP SANs"),
        (true, false) => format!("certificate is not valid for any names, but wanted to match {host}"),
    }
}

/// The verifier shows names as `DnsName("a")` and `IpAddress(1.2.3.4)`.
fn presented_name(shown: &str, wanted_ip: bool) -> Option<&str> {
    let prefix = if wanted_ip { "IpAddress(" } else { "DnsName(" };
    Some(shown.strip_prefix(prefix)?.trim_end_matches(')').trim_matches('"'))
}

fn alert_text(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::CertificateRequired => "certificate required",
        AlertDescription::BadCertificate => "bad certificate",
        AlertDescription::CertificateExpired => "expired certificate",
        AlertDescription::CertificateUnknown => "unknown certificate",
        AlertDescription::UnknownCA => "unknown certificate authority",
        AlertDescription::HandshakeFailure => "handshake failure",
        AlertDescription::ProtocolVersion => "protocol version not supported",
        AlertDescription::UnrecognisedName => "unrecognized name",
        AlertDescription::AccessDenied => "access denied",
        AlertDescription::InternalError => "internal error",
        _ => "alert",
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::{ApiFailure, RequestLine, api_failure, host_and_port, transport_text, url_error};

    const LINE: RequestLine<'_> = RequestLine {
        method: "GET",
        url: "https://10.0.0.1:6443/api/v1/namespaces/n/secrets/jar",
        verb: "get",
        resource: "secrets",
        name: "jar",
    };

    fn answer(body: &str, reason: &str, code: u16) -> ApiFailure {
        let status = kube::core::Status::failure(body, reason).with_code(code);
        api_failure(&kube::Error::Api(status.boxed()), LINE)
    }

    #[test]
    fn a_status_speaks_for_itself() {
        let failure = answer("secrets \"jar\" not found", "NotFound", 404);
        assert!(failure.is_not_found());
        assert_eq!(failure.to_string(), "secrets \"jar\" not found");
    }

    #[test]
    fn an_answer_without_status_gets_the_text_of_client_go() {
        for (code, text) in [
            (
                400,
                "the server rejected our request for an unknown reason (get secrets jar)",
            ),
            (
                401,
                "the server has asked for the client to provide credentials (get secrets jar)",
            ),
            (
                404,
                "the server could not find the requested resource (get secrets jar)",
            ),
            (
                502,
                "an error on the server (\"oops\") has prevented the request from succeeding (get secrets jar)",
            ),
            (
                503,
                "the server is currently unable to handle the request (get secrets jar)",
            ),
        ] {
            assert_eq!(answer("oops", "Failed to parse error data", code).message, text);
        }
    }

    #[test]
    fn wire_failures_read_as_in_go() {
        let refused = Error::from(ErrorKind::ConnectionRefused);
        assert_eq!(
            transport_text(&refused, "::1", 80),
            "dial tcp [::1]:80: connect: connection refused"
        );
        let unknown = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let wrapped = Error::new(ErrorKind::InvalidData, unknown);
        assert_eq!(
            url_error("POST", "https://h/x", &transport_text(&wrapped, "h", 443)),
            "Post \"https://h/x\": tls: failed to verify certificate: x509: certificate signed by unknown authority"
        );
    }

    #[test]
    fn names_of_a_certificate_are_listed() {
        let problem = rustls::CertificateError::NotValidForNameContext {
            expected: rustls::pki_types::ServerName::try_from("b.test").unwrap(),
            presented: vec!["DnsName(\"a.test\")".to_owned(), "IpAddress(10.0.0.1)".to_owned()],
        };
        let error = rustls::Error::InvalidCertificate(problem);
        assert_eq!(
            transport_text(&error, "b.test", 443),
            "tls: failed to verify certificate: x509: certificate is valid for a.test, not b.test"
        );
    }

    #[test]
    fn hosts_and_ports() {
        assert_eq!(host_and_port("https://[::1]/x"), ("::1".to_owned(), 443));
        assert_eq!(host_and_port("http://a.test:8080/x"), ("a.test".to_owned(), 8080));
    }
}
