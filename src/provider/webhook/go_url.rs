//! URLs as Go's `net/url` reads them: enough to know what it refuses, with its texts, and what it would dial.

use std::fmt::Write as _;

/// What a URL names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GoUrl {
    /// Lower-case scheme; empty if there is none.
    pub scheme: String,
    /// Host name or address without brackets; may be empty.
    pub host: String,
    /// Port digits; empty if there is none.
    pub port: String,
    /// Path, query and fragment as written.
    pub rest: String,
}

/// Parses as `url.Parse`; the error is Go's whole text (`parse "x": …`).
pub fn parse(text: &str) -> Result<GoUrl, String> {
    parse_parts(text).map_err(|problem| format!("parse {text:?}: {problem}"))
}

fn parse_parts(text: &str) -> Result<GoUrl, String> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let text = text.split('#').next().unwrap_or_default();
    let (scheme, rest) = split_scheme(text)?;
    let before_query = rest.split('?').next().unwrap_or_default();
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            return Ok(GoUrl {
                scheme,
                rest: rest.to_owned(),
                ..GoUrl::default()
            });
        }
        let first = before_query.split('/').next().unwrap_or_default();
        if first.contains(':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let has_authority = rest.starts_with("//") && (!scheme.is_empty() || !rest.starts_with("///"));
    let (authority, path) = match rest.strip_prefix("//").filter(|_| has_authority) {
        Some(after) => after.split_at(after.find(['/', '?']).unwrap_or(after.len())),
        None => ("", rest),
    };
    let (host, port) = parse_authority(authority)?;
    check_escapes(path.split('?').next().unwrap_or_default())?;
    Ok(GoUrl {
        scheme,
        host,
        port,
        rest: path.to_owned(),
    })
}

fn split_scheme(text: &str) -> Result<(String, &str), String> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok((text[..at].to_ascii_lowercase(), &text[at + 1..])),
            _ => break,
        }
    }
    Ok((String::new(), text))
}

fn parse_authority(authority: &str) -> Result<(String, String), String> {
    let host_port = authority.rsplit_once('@').map_or(authority, |(_, after)| after);
    if let Some(inner) = host_port.strip_prefix('[') {
        let Some((address, after)) = inner.rsplit_once(']') else {
            return Err("missing ']' in host".to_owned());
        };
        let port = checked_port(after)?;
        check_host(address)?;
        return Ok((address.to_owned(), port));
    }
    let (host, colon_port) = host_port.split_at(host_port.rfind(':').unwrap_or(host_port.len()));
    let port = checked_port(colon_port)?;
    check_host(host)?;
    Ok((host.to_owned(), port))
}

fn checked_port(colon_port: &str) -> Result<String, String> {
    let digits = colon_port.strip_prefix(':').unwrap_or_default();
    if colon_port.is_empty() || (colon_port.starts_with(':') && digits.bytes().all(|byte| byte.is_ascii_digit())) {
        return Ok(digits.to_owned());
    }
    Err(format!("invalid port {colon_port:?} after host"))
}

fn check_host(host: &str) -> Result<(), String> {
    let bad = host
        .chars()
        .find(|c| c.is_ascii() && !(c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(*c)));
    match bad {
        Some(c) => Err(format!("invalid character {:?} in host name", c.to_string())),
        None => Ok(()),
    }
}

fn check_escapes(path: &str) -> Result<(), String> {
    let bytes = path.as_bytes();
    for (at, _) in path.match_indices('%') {
        let digits = bytes.get(at + 1..at + 3);
        if !digits.is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit)) {
            let mut end = (at + 3).min(path.len());
            while !path.is_char_boundary(end) {
                end += 1;
            }
            return Err(format!("invalid URL escape {:?}", &path[at..end]));
        }
    }
    Ok(())
}

/// `url.QueryEscape`: letters, digits and `-_.~` stay, a space becomes `+`.
pub fn query_escape(text: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(text.len());
    for byte in text {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(*byte)),
            b' ' => out.push('+'),
            other => write!(out, "%{other:02X}").expect("a String takes every write"),
        }
    }
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{GoUrl, parse, query_escape};

    fn dialled(text: &str) -> (String, String) {
        let GoUrl { host, port, .. } = parse(text).unwrap();
        (host, port)
    }

    #[test]
    fn what_would_be_dialled() {
        for (text, host, port) in [
            ("http://a.test:8099/json/{{ .remoteRef.key }}", "a.test", "8099"),
            ("https://[::1]:1/x", "::1", "1"),
            ("http://user:pw@a.test/x?y=:z", "a.test", ""),
            ("{{ .cred.url }}", "", ""),
            ("http://a.test", "a.test", ""),
            ("/only/path", "", ""),
        ] {
            assert_eq!(dialled(text), (host.to_owned(), port.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_go_refuses() {
        for (text, problem) in [
            ("http://{{ .x }}/", "invalid character \"{\" in host name"),
            ("http://a b/", "invalid character \" \" in host name"),
            ("http://a.test:x/", "invalid port \":x\" after host"),
            ("http://a.test/%zz", "invalid URL escape \"%zz\""),
            ("://a.test", "missing protocol scheme"),
            ("127.0.0.1:80/x", "first path segment in URL cannot contain colon"),
            ("http://[::1/x", "missing ']' in host"),
        ] {
            assert_eq!(parse(text), Err(format!("parse {text:?}: {problem}")));
        }
        assert!(
            parse("http://a.test/\n")
                .unwrap_err()
                .ends_with("net/url: invalid control character in URL")
        );
    }

    #[test]
    fn values_are_escaped_for_a_query() {
        assert_eq!(
            query_escape("/garden/north bed~é".as_bytes()),
            b"%2Fgarden%2Fnorth+bed~%C3%A9"
        );
    }
}
