//! Which proxy Go's HTTP client would use.

use std::net::IpAddr;

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

#[cfg(test)]
mod tests {
    use super::wants_proxy;

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
