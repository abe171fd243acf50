//! `net/url.URL`, as far as templates see it.

use super::escape::{Part, escape, should_escape, unescape};
use crate::template::engine::format::quote;
use crate::template::engine::lex::find;

/// User name and, perhaps, password; both unescaped.
pub(super) struct User {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

impl User {
    pub(super) fn text(&self) -> Vec<u8> {
        let mut out = escape(&self.name, Part::User);
        if let Some(password) = &self.password {
            out.push(b':');
            out.extend(escape(password, Part::User));
        }
        out
    }
}

#[derive(Default)]
pub(super) struct Url {
    pub scheme: Vec<u8>,
    pub opaque: Vec<u8>,
    pub user: Option<User>,
    pub host: Vec<u8>,
    pub path: Vec<u8>,
    pub raw_path: Vec<u8>,
    pub omit_host: bool,
    pub force_query: bool,
    pub query: Vec<u8>,
    pub fragment: Vec<u8>,
    pub raw_fragment: Vec<u8>,
}

fn cut(text: &[u8], mark: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|&byte| byte == mark) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

impl Url {
    /// Takes a URL apart; the error is Go's message.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let (body, fragment) = cut(text, b'#');
        let shown = |text: &[u8], message: String| format!("parse {}: {message}", quote::quoted(text));
        let mut url = Self::parse_body(body).map_err(|message| shown(body, message))?;
        if let Some(fragment) = fragment.filter(|fragment| !fragment.is_empty()) {
            url.fragment = unescape(fragment, Part::Fragment).map_err(|message| shown(text, message))?;
            if escape(&url.fragment, Part::Fragment) != fragment {
                url.raw_fragment = fragment.to_vec();
            }
        }
        Ok(url)
    }

    fn parse_body(text: &[u8]) -> Result<Self, String> {
        if text.iter().any(|&byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        let mut url = Self::default();
        if text == b"*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, mut rest) = scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        if rest.ends_with(b"?") && rest.iter().filter(|&&byte| byte == b'?').count() == 1 {
            url.force_query = true;
            rest = &rest[..rest.len() - 1];
        } else {
            let (before, query) = cut(rest, b'?');
            rest = before;
            url.query = query.unwrap_or_default().to_vec();
        }
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            if cut(rest, b'/').0.contains(&b':') {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        if (!url.scheme.is_empty() || !rest.starts_with(b"///")) && rest.starts_with(b"//") {
            let after = &rest[2..];
            let end = after.iter().position(|&byte| byte == b'/').unwrap_or(after.len());
            url.set_authority(&after[..end])?;
            rest = &after[end..];
        } else if !url.scheme.is_empty() && rest.starts_with(b"/") {
            url.omit_host = true;
        }
        url.path = unescape(rest, Part::Path)?;
        if escape(&url.path, Part::Path) != rest {
            url.raw_path = rest.to_vec();
        }
        Ok(url)
    }

    fn set_authority(&mut self, authority: &[u8]) -> Result<(), String> {
        let at = authority.iter().rposition(|&byte| byte == b'@');
        let host = at.map_or(authority, |at| &authority[at + 1..]);
        self.host = parse_host(&self.scheme, host)?;
        let Some(userinfo) = at.map(|at| &authority[..at]) else { return Ok(()) };
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
        if !userinfo.iter().all(allowed) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        let (name, password) = cut(userinfo, b':');
        let name = unescape(name, Part::User)?;
        let password = password.map(|password| unescape(password, Part::User)).transpose()?;
        self.user = Some(User { name, password });
        Ok(())
    }

    /// The host without port and brackets.
    pub(super) fn hostname(&self) -> &[u8] {
        let mut host = &self.host[..];
        if let Some(colon) = host.iter().rposition(|&byte| byte == b':')
            && is_port(&host[colon..])
        {
            host = &host[..colon];
        }
        host.strip_prefix(b"[").and_then(|inner| inner.strip_suffix(b"]")).unwrap_or(host)
    }

    fn escaped(raw: &[u8], plain: &[u8], part: Part) -> Vec<u8> {
        let valid = |&byte: &u8| b"!$&'()*+,;=:@[]%".contains(&byte) || !should_escape(byte, part);
        if !raw.is_empty() && raw.iter().all(valid) && unescape(raw, part).is_ok_and(|text| text == plain) {
            return raw.to_vec();
        }
        if part == Part::Path && plain == b"*" { plain.to_vec() } else { escape(plain, part) }
    }

    /// The whole URL.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.write_hierarchy(&mut out);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if self.force_query || !self.query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend(Self::escaped(&self.raw_fragment, &self.fragment, Part::Fragment));
        }
        out
    }

    fn write_hierarchy(&self, out: &mut Vec<u8>) {
        let user = self.user.as_ref();
        let any = !self.scheme.is_empty() || !self.host.is_empty() || user.is_some();
        if any && !(self.omit_host && self.host.is_empty() && user.is_none()) {
            if !self.host.is_empty() || !self.path.is_empty() || user.is_some() {
                out.extend_from_slice(b"//");
            }
            if let Some(user) = user {
                out.extend(user.text());
                out.push(b'@');
            }
            out.extend(escape(&self.host, Part::Host));
        }
        let path = Self::escaped(&self.raw_path, &self.path, Part::Path);
        if !path.is_empty() && path[0] != b'/' && !self.host.is_empty() {
            out.push(b'/');
        }
        if out.is_empty() && cut(&path, b'/').0.contains(&b':') {
            out.extend_from_slice(b"./");
        }
        out.extend(path);
    }
}

fn scheme(text: &[u8]) -> Result<(&[u8], &[u8]), String> {
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok((b"", text))
}

fn is_port(text: &[u8]) -> bool {
    match text.split_first() {
        None => true,
        Some((b':', digits)) => digits.iter().all(u8::is_ascii_digit),
        Some(_) => false,
    }
}

fn bad_port(text: &[u8]) -> String {
    format!("invalid port {} after host", quote::quoted(text))
}

fn parse_host(scheme: &[u8], host: &[u8]) -> Result<Vec<u8>, String> {
    match host.iter().rposition(|&byte| byte == b'[') {
        Some(0) => return parse_literal(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    if let Some(first) = host.iter().position(|&byte| byte == b':') {
        let web = scheme == b"http" || scheme == b"https";
        let last = host.iter().rposition(|&byte| byte == b':').unwrap_or(first);
        let port = &host[if web { first } else { last }..];
        if !is_port(port) {
            return Err(bad_port(port));
        }
    }
    unescape(host, Part::Host)
}

/// `[address]:port`
fn parse_literal(host: &[u8]) -> Result<Vec<u8>, String> {
    let close = host.iter().rposition(|&byte| byte == b']').ok_or("missing ']' in host")?;
    let port = &host[close + 1..];
    if !is_port(port) {
        return Err(bad_port(port));
    }
    let name = &host[1..close];
    let address = match find(name, b"%25") {
        Some(zone) => [unescape(&name[..zone], Part::Host)?, unescape(&name[zone..], Part::Zone)?].concat(),
        None => unescape(name, Part::Host)?,
    };
    let plain = cut(&address, b'%').0;
    let parsed = std::str::from_utf8(plain).ok().and_then(|text| text.parse::<std::net::IpAddr>().ok());
    match parsed {
        Some(std::net::IpAddr::V6(_)) => Ok([b"[", &address[..], b"]", port].concat()),
        Some(std::net::IpAddr::V4(_)) => Err("invalid IP-literal".to_owned()),
        None => Err(format!("invalid host: ParseAddr({}): unable to parse IP", quote::quoted(&address))),
    }
}
