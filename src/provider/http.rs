//! What every provider that speaks HTTP needs: certificates, proxies, one way to build a client, Go's error texts.
//!
//! Guarantees: TLS is verified, always; a custom CA replaces the system roots; a proxy is used only where Go would use one
//! (never for this machine); no redirect is followed beyond ten; nothing here logs a header or a body.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls_platform_verifier::BuilderVerifierExt as _;
use zeroize::Zeroizing;

use super::ProviderError;
use crate::api::secret_store::CaProvider;
use crate::cluster::credentials::{Credentials, Scope};
use crate::cluster::go_error::{TIMED_OUT, host_and_port, transport_text};

/// How long connecting may take (Go's default dialer).
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Upper bound of a request whose store sets none, so that no store hangs a reconcile for good.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The CA of a store: `caBundle` if there is one, else what `caProvider` names, else none (system roots).
///
/// Errors are ESO's texts; `caBundle` must begin with a certificate, provider content is not checked here.
pub async fn fetch_ca(
    credentials: &Credentials,
    scope: Scope<'_>,
    bundle: Option<&[u8]>,
    provider: Option<&CaProvider>,
) -> Result<Option<Vec<u8>>, ProviderError> {
    if let Some(bundle) = bundle.filter(|bytes| !bytes.is_empty()) {
        return decode_bundle(bundle)
            .map(Some)
            .map_err(|error| ProviderError::invalid(format!("failed to decode ca bundle: {error}")));
    }
    let Some(provider) = provider else { return Ok(None) };
    match credentials.ca(scope, provider).await {
        Ok(bytes) => Ok(Some(bytes.expose().to_vec())),
        Err(error) => Err(ProviderError::invalid(error.to_string())),
    }
}

/// `caBundle` may be PEM, or base64 of PEM; its first block must be a certificate. All of it is used then.
fn decode_bundle(bundle: &[u8]) -> Result<Vec<u8>, String> {
    if let Some(checked) = check_first_block(bundle) {
        return checked.map(|()| bundle.to_vec());
    }
    let text: Vec<u8> = bundle
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    for decoded in [STANDARD.decode(&text), URL_SAFE.decode(&text)].into_iter().flatten() {
        if let Some(checked) = check_first_block(&decoded) {
            return checked.map(|()| decoded);
        }
    }
    Err("failed to parse the new certificate, not valid pem data".to_owned())
}

/// `None` if there is no PEM block at all, else whether the first one is a certificate.
fn check_first_block(pem: &[u8]) -> Option<Result<(), String>> {
    let mut rest = pem;
    let (label, der) = match rustls::pki_types::pem::from_buf(&mut rest) {
        Ok(Some((kind, der))) => (kind, der),
        Ok(None) | Err(_) => return first_unknown_block(pem),
    };
    let parsed = matches!(label, rustls::pki_types::pem::SectionKind::Certificate) && is_certificate(&der);
    Some(if parsed {
        Ok(())
    } else {
        Err("failed to validate certificate: x509: malformed certificate".to_owned())
    })
}

/// A block whose label the parser skips is a block all the same, though no certificate.
fn first_unknown_block(pem: &[u8]) -> Option<Result<(), String>> {
    let text = String::from_utf8_lossy(pem);
    let whole = text.contains("-----BEGIN ") && text.contains("-----END ");
    whole.then(|| Err("failed to validate certificate: x509: malformed certificate".to_owned()))
}

fn is_certificate(der: &[u8]) -> bool {
    rustls::server::ParsedCertificate::try_from(&CertificateDer::from(der)).is_ok()
}

/// The certificates of a CA file, or client-go's text for a file without any.
pub fn ca_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem).flatten().collect();
    let good: Vec<_> = all.iter().filter(|der| is_certificate(der)).cloned().collect();
    if !good.is_empty() {
        return Ok(good);
    }
    Err(if all.is_empty() {
        "unable to parse bytes as PEM block"
    } else {
        "failed to parse certificate: x509: malformed certificate"
    }
    .to_owned())
}

/// A client certificate with its key, in PEM.
#[derive(Clone)]
pub struct ClientIdentity {
    /// Certificate chain.
    pub certificate: Zeroizing<Vec<u8>>,
    /// Private key.
    pub key: Zeroizing<Vec<u8>>,
}

impl ClientIdentity {
    /// Checks the pair as Go's `tls.X509KeyPair` does, with its texts.
    pub fn check(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&self.certificate).flatten().collect();
        if chain.is_empty() {
            return Err("tls: failed to find any PEM data in certificate input".to_owned());
        }
        let Ok(key) = PrivateKeyDer::from_pem_slice(&self.key) else {
            return Err("tls: failed to find any PEM data in key input".to_owned());
        };
        let certified = CertifiedKey::from_der(chain.clone(), key.clone_key(), &crypto_provider());
        match certified {
            Ok(_) => Ok((chain, key)),
            Err(rustls::Error::InconsistentKeys(_)) => Err("tls: private key does not match public key".to_owned()),
            Err(error) => Err(format!("tls: failed to parse private key: {error}")),
        }
    }
}

/// The cryptography all our connections use.
pub fn crypto_provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// TLS settings: TLS 1.2 or newer, `ca` instead of the system roots if given, a client certificate if given.
pub fn tls_config(ca: Option<&[u8]>, identity: Option<&ClientIdentity>) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(crypto_provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match ca {
        Some(pem) => {
            let mut roots = rustls::RootCertStore::empty();
            roots.add_parsable_certificates(ca_certificates(pem)?);
            builder.with_root_certificates(roots)
        }
        None => builder.with_platform_verifier().map_err(|error| error.to_string())?,
    };
    match identity {
        Some(identity) => {
            let (chain, key) = identity.check()?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| error.to_string())
        }
        None => Ok(builder.with_no_client_auth()),
    }
}

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
    let mut tls = tls_config(settings.ca, None)?;
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

/// The proxy Go would use for a URL, from the environment of this process.
pub fn environment_proxy(scheme: &str, host: &str, port: u16) -> Option<String> {
    let variable = |names: [&str; 2]| {
        names
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|text| !text.is_empty()))
    };
    let no_proxy = variable(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    if !wants_proxy(host, port, &no_proxy) {
        return None;
    }
    let proxy = match scheme {
        "https" => variable(["HTTPS_PROXY", "https_proxy"]),
        // A CGI program must not believe HTTP_PROXY in capitals: it may come from a request header.
        "http" if std::env::var_os("REQUEST_METHOD").is_none() => variable(["HTTP_PROXY", "http_proxy"]),
        _ => None,
    }?;
    Some(if proxy.contains("://") {
        proxy
    } else {
        format!("http://{proxy}")
    })
}

/// False for this machine and for what `no_proxy` lists: names (with their subdomains), `*`, addresses, networks, each
/// perhaps with a port.
fn wants_proxy(host: &str, port: u16, no_proxy: &str) -> bool {
    let host = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .trim_end_matches('.')
        .to_ascii_lowercase();
    let address = host.parse::<IpAddr>().ok();
    if host == "localhost" || address.is_some_and(|ip| ip.is_loopback()) {
        return false;
    }
    let listed = |entry: &str| match_no_proxy(entry.trim(), &host, address, port);
    !no_proxy.split(',').any(listed)
}

fn match_no_proxy(entry: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    let entry = entry.to_ascii_lowercase();
    match entry.as_str() {
        "" => return false,
        "*" => return true,
        _ => {}
    }
    if let Some((network, bits)) = entry.split_once('/') {
        let (Ok(network), Ok(bits), Some(address)) = (network.parse::<IpAddr>(), bits.parse::<u32>(), address) else {
            return false;
        };
        return in_network(address, network, bits);
    }
    let (name, wanted_port) = match entry.rsplit_once(':') {
        Some((name, digits)) if !name.contains(':') || name.ends_with(']') => (name, digits.parse::<u16>().ok()),
        _ => (entry.as_str(), None),
    };
    if wanted_port.is_some_and(|wanted| wanted != port) {
        return false;
    }
    let name = name.trim_start_matches('[').trim_end_matches(']');
    if let Ok(ip) = name.parse::<IpAddr>() {
        return address == Some(ip);
    }
    let name = name.strip_prefix('*').unwrap_or(name);
    match name.strip_prefix('.') {
        Some(domain) => host.ends_with(name) && host.len() > domain.len(),
        None => host == name || host.ends_with(&format!(".{name}")),
    }
}

fn in_network(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            a.to_bits() & mask == n.to_bits() & mask
        }
        (IpAddr::V6(a), IpAddr::V6(n)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            a.to_bits() & mask == n.to_bits() & mask
        }
        _ => false,
    }
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

#[cfg(test)]
mod tests {
    use super::{ClientIdentity, ca_certificates, decode_bundle, wants_proxy};
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use zeroize::Zeroizing;

    fn pair(name: &str) -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_bundle_may_be_pem_or_base64_of_pem() {
        let (pem, _) = pair("a.test");
        let two = format!("{pem}{}", pair("b.test").0);
        for text in [two.clone(), STANDARD.encode(&two), URL_SAFE.encode(&two)] {
            assert_eq!(decode_bundle(text.as_bytes()), Ok(two.clone().into_bytes()));
        }
    }

    #[test]
    fn a_bundle_that_is_no_certificate_is_refused() {
        let none = "failed to parse the new certificate, not valid pem data";
        let bad = "failed to validate certificate: x509: malformed certificate";
        let (_, key) = pair("a.test");
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (text, error) in [("junk", none), ("", none), (key.as_str(), bad), (broken, bad)] {
            assert_eq!(decode_bundle(text.as_bytes()), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_ca_file_without_certificate_is_told_as_client_go_does() {
        assert_eq!(
            ca_certificates(b"junk"),
            Err("unable to parse bytes as PEM block".to_owned())
        );
    }

    #[test]
    fn a_client_pair_must_belong_together() {
        let (certificate, key) = pair("a.test");
        let identity = |certificate: &str, key: &str| ClientIdentity {
            certificate: Zeroizing::new(certificate.as_bytes().to_vec()),
            key: Zeroizing::new(key.as_bytes().to_vec()),
        };
        assert!(identity(&certificate, &key).check().is_ok());
        for (certificate, key, error) in [
            (
                "junk",
                key.as_str(),
                "tls: failed to find any PEM data in certificate input",
            ),
            (
                certificate.as_str(),
                "junk",
                "tls: failed to find any PEM data in key input",
            ),
            (
                certificate.as_str(),
                &pair("b.test").1,
                "tls: private key does not match public key",
            ),
        ] {
            assert_eq!(identity(certificate, key).check().err().as_deref(), Some(error));
        }
    }

    #[test]
    fn proxies_are_not_used_for_this_machine_or_listed_hosts() {
        for (host, list, wanted) in [
            ("localhost", "", false),
            ("127.0.0.1", "", false),
            ("[::1]", "", false),
            ("a.test", "", true),
            ("a.test", "*", false),
            ("a.test", "a.test", false),
            ("b.a.test", "a.test", false),
            ("a.test", ".a.test", true),
            ("b.a.test", ".a.test", false),
            ("xa.test", "a.test", true),
            ("10.1.2.3", "10.0.0.0/8", false),
            ("11.1.2.3", "10.0.0.0/8,192.168.0.0/16", true),
            ("a.test", "a.test:80", true),
            ("a.test", "a.test:443", false),
            ("fd00::5", "fd00::/16", false),
        ] {
            assert_eq!(wants_proxy(host, 443, list), wanted, "{host} {list}");
        }
    }
}
