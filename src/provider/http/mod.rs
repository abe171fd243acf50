//! What every provider that speaks HTTP needs: certificates, proxies, one way to build a client, Go's error texts.
//!
//! Guarantees: TLS is verified, always; a custom CA replaces the system roots; a proxy is used only where Go would use one
//! (never for this machine); no redirect is followed beyond ten; nothing here logs a header or a body.

mod proxy;
mod tls;

use std::net::IpAddr;
use std::time::Duration;

use crate::cluster::go_error::{TIMED_OUT, host_and_port, transport_text};

pub use proxy::environment_proxy;
pub use tls::{ClientIdentity, ca_certificates, fetch_ca};

/// How long connecting may take (Go's default dialer).
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Upper bound of a request whose store sets none, so that no store hangs a reconcile for good.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Which proxy a client may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proxies {
    /// None, whatever the environment says.
    Never,
    /// As Go: `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY` in either case, and never for this machine.
    Environment,
}

/// Settings of one HTTP client.
pub struct HttpSettings<'a> {
    /// CA in PEM instead of the system roots.
    pub ca: Option<&'a [u8]>,
    /// Whether proxies of the environment are used.
    pub proxies: Proxies,
    /// Whether HTTP/2 may be spoken.
    pub http2: bool,
    /// Upper bound of a whole request.
    pub timeout: Duration,
    /// At most one connection per host, kept alive: for protocols that authenticate the connection.
    pub single_connection: bool,
}

/// Builds a client. The error is Go's text for settings that cannot work.
pub fn client(settings: &HttpSettings<'_>) -> Result<reqwest::Client, String> {
    let mut tls = tls::tls_config(settings.ca)?;
    let protocols: &[&[u8]] = if settings.http2 {
        &[b"h2", b"http/1.1"]
    } else {
        &[b"http/1.1"]
    };
    tls.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(settings.timeout)
        .redirect(reqwest::redirect::Policy::limited(10))
        .referer(false)
        .no_proxy();
    if settings.proxies == Proxies::Environment {
        builder = builder.proxy(reqwest::Proxy::custom(|url| {
            environment_proxy(url.scheme(), url.host_str()?, url.port_or_known_default()?)
        }));
    }
    if !settings.http2 {
        builder = builder.http1_only();
    }
    if settings.single_connection {
        builder = builder.pool_max_idle_per_host(1);
    }
    builder.build().map_err(|error| error.to_string())
}

/// Go's text for a failed exchange, without the leading `Get "url": `.
pub async fn exchange_text(error: &reqwest::Error, url: &str) -> String {
    if error.is_timeout() && !error.is_connect() {
        return TIMED_OUT.to_owned();
    }
    if error.is_redirect() {
        return "stopped after 10 redirects".to_owned();
    }
    let (host, port) = dialled(url).await;
    transport_text(error, &host, port)
}

/// Host and port that were dialled: Go names the address, not the name.
pub async fn dialled(url: &str) -> (String, u16) {
    let (host, port) = host_and_port(url);
    (dialled_address(&host, port).await, port)
}

/// The address behind a host name; the name itself if it has none.
pub async fn dialled_address(host: &str, port: u16) -> String {
    if host.parse::<IpAddr>().is_ok() {
        return host.to_owned();
    }
    let resolved = tokio::net::lookup_host((host, port))
        .await
        .ok()
        .and_then(|mut found| found.next());
    resolved.map_or_else(|| host.to_owned(), |address| address.ip().to_string())
}
