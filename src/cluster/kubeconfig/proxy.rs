//! Proxy from the environment as client-go resolves it: scheme of the server decides the variable, `NO_PROXY` is
//! honoured, loopback is never proxied.

use std::net::IpAddr;

use http::Uri;

use super::Environment;

/// The proxy for `server`, `None` for a direct connection.
///
/// # Errors
/// The text of an unusable proxy URL.
pub fn from_environment(server: &Uri, env: &Environment) -> Result<Option<Uri>, String> {
    let variable = if server.scheme_str() == Some("http") {
        &env.http_proxy
    } else {
        &env.https_proxy
    };
    let Some(proxy) = variable.as_ref().filter(|p| !p.is_empty()) else {
        return Ok(None);
    };
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    if is_loopback(host) || excluded(host, server.port_u16(), env.no_proxy.as_deref().unwrap_or_default()) {
        return Ok(None);
    }
    let with_scheme = if proxy.contains("://") {
        proxy.clone()
    } else {
        format!("http://{proxy}")
    };
    with_scheme
        .parse()
        .map(Some)
        .map_err(|_| "the proxy URL in the environment is not a URL".to_owned())
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Go's rules (`golang.org/x/net/http/httpproxy`): `*`, suffixes with or without a leading dot, addresses, CIDR blocks,
/// each perhaps with a port.
fn excluded(host: &str, port: Option<u16>, no_proxy: &str) -> bool {
    no_proxy
        .split(',')
        .map(str::trim)
        .filter(|p| !p.is_empty())
        .any(|pattern| {
            if pattern == "*" {
                return true;
            }
            if let Some((network, bits)) = pattern.split_once('/') {
                return in_network(host, network, bits);
            }
            let (name, wanted) = match pattern.rsplit_once(':') {
                Some((n, p)) if !n.contains(':') => (n, p.parse::<u16>().ok()),
                _ => (pattern, None),
            };
            if wanted.is_some() && wanted != port {
                return false;
            }
            let name = name.trim_start_matches("*.").to_ascii_lowercase();
            let host = host.to_ascii_lowercase();
            match name.strip_prefix('.') {
                Some(suffix) => host.ends_with(&format!(".{suffix}")),
                None => host == name || host.ends_with(&format!(".{name}")),
            }
        })
}

fn in_network(host: &str, network: &str, bits: &str) -> bool {
    let (Ok(ip), Ok(network), Ok(bits)) = (host.parse::<IpAddr>(), network.parse::<IpAddr>(), bits.parse::<u32>())
    else {
        return false;
    };
    match (ip, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            u32::from(a) & mask == u32::from(n) & mask
        }
        (IpAddr::V6(a), IpAddr::V6(n)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            u128::from(a) & mask == u128::from(n) & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, from_environment};

    fn proxied(server: &str, no_proxy: &str) -> bool {
        let env = Environment {
            https_proxy: Some("http://proxy.example:3128".to_owned()),
            no_proxy: Some(no_proxy.to_owned()),
            ..Environment::default()
        };
        from_environment(&server.parse().unwrap(), &env).unwrap().is_some()
    }

    #[test]
    fn follows_go_rules() {
        assert!(proxied("https://api.example:6443", ""));
        assert!(!proxied("https://127.0.0.1:6443", ""));
        assert!(!proxied("https://localhost:6443", ""));
        assert!(!proxied("https://api.example:6443", "example"));
        assert!(!proxied("https://api.example:6443", ".example"));
        assert!(proxied("https://example:6443", ".example"));
        assert!(!proxied("https://10.1.2.3:6443", "10.0.0.0/8"));
        assert!(proxied("https://11.1.2.3:6443", "10.0.0.0/8"));
        assert!(proxied("https://api.example:6443", "api.example:443"));
        assert!(!proxied("https://api.example:6443", "*"));
    }
}
