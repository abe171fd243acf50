//! Names Fleet derives: bundles, releases, contents.
use md5::{Digest as _, Md5};
use sha2::Sha256;

use super::tree;

/// Longest Helm release name; bundle names obey it too (Helm's own limit).
pub const MAX_RELEASE_NAME: usize = 53;
/// Longest label value (Kubernetes); the bundle's name becomes one.
pub const MAX_LABEL_VALUE: usize = 63;

/// Name of the bundle that NAME and a directory make when its fleet file sets none.
///
/// `options_file` is the fleet file of a driven scan or `-b`; it becomes part of the name without its
/// extension.
#[must_use]
pub fn bundle_name(name: &str, dir: &str, options_file: &str) -> String {
    let stem = options_file
        .strip_suffix(tree::extension(options_file))
        .unwrap_or(options_file);
    release_name(&tree::join(&[name, dir, stem]))
}

/// The rule behind [`bundle_name`], also Helm's default release name for a bundle name.
#[must_use]
pub fn release_name(id: &str) -> String {
    let mut name = id.replace('/', "-");
    let odd = name != name.to_lowercase() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if odd {
        name = format!("{name}-{}", md5_hex(&name, 8));
    }
    let mut out = String::with_capacity(name.len());
    for c in name.to_lowercase().chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '-' };
        if c != '-' || !out.ends_with('-') {
            out.push(c);
        }
    }
    let out = out.trim_matches('-');
    if out.is_empty() {
        md5_hex(id, 24)
    } else {
        limit(out, MAX_RELEASE_NAME)
    }
}

/// Cuts an ASCII name to `max` characters, ending in five digits of its MD5.
#[must_use]
pub fn limit(name: &str, max: usize) -> String {
    const HEX: usize = 5;
    if name.len() <= max {
        return name.to_owned();
    }
    if max <= HEX + 1 {
        return name[..max].to_owned();
    }
    let kept = &name[..max - HEX - 1];
    let separator = if kept.ends_with('-') { "" } else { "-" };
    format!("{kept}{separator}{}", md5_hex(name, HEX))
}

/// Name of the Content object that holds resources with this SHA-256 (lower-case hex).
#[must_use]
pub fn content_name(sha256: &str) -> String {
    format!("s-{sha256}").chars().take(MAX_LABEL_VALUE).collect()
}

/// Directory prefix of a downloaded chart, from the options as written.
#[must_use]
pub fn chart_prefix(chart: &str, repo: &str, version: &str) -> String {
    format!(".chart/{}", sha256_hex(format!("{chart}:{repo}:{version}").as_bytes()))
}

/// Lower-case hex SHA-256.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hex MD5; only to check what a user pinned with it.
#[must_use]
pub fn md5_of(bytes: &[u8]) -> String {
    hex(&Md5::digest(bytes))
}

fn md5_hex(text: &str, digits: usize) -> String {
    let mut out = hex(&Md5::digest(text.as_bytes()));
    out.truncate(digits);
    out
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
            // Writing to a String cannot fail.
            let _ = write!(out, "{byte:02x}");
            out
        })
}

/// Whether `name` may name a Kubernetes object (RFC 1123 subdomain, at most 253 characters).
#[must_use]
pub fn is_object_name(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(|label| is_label(label, 253))
}

/// Whether `name` is a DNS label of at most `max` characters.
#[must_use]
pub fn is_label(name: &str, max: usize) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !name.is_empty() && name.len() <= max && name.bytes().all(inner) && !name.starts_with('-') && !name.ends_with('-')
}
