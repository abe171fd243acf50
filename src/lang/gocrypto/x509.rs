//! X.509 certificates: as much as templates look at, with Go's strictness.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::lang::gotime;

use super::der::{Algorithm, Reader, tag};
use super::keys::Curve;
use super::name::{self, Attribute};
use super::{CryptoError, oid};

/// A certificate that was read.
#[derive(Clone, Debug)]
pub struct Certificate {
    raw: Vec<u8>,
    subject: Vec<u8>,
    names: Vec<Attribute>,
    key_algorithm: Vec<u8>,
    key_bits: Vec<u8>,
    subject_key_id: Option<Vec<u8>>,
    authority_key_id: Option<Vec<u8>>,
    alt_names: AltNames,
}

/// Subject alternative names by kind.
#[derive(Clone, Debug, Default)]
struct AltNames {
    dns: Vec<String>,
    addresses: Vec<String>,
    emails: Vec<String>,
    uris: Vec<String>,
}

fn error(what: &str) -> CryptoError {
    CryptoError::new(format!("x509: {what}"))
}

impl Certificate {
    /// Reads one certificate; nothing may follow it.
    ///
    /// # Errors
    /// With Go's messages, such as `x509: malformed tbs certificate`.
    pub fn parse(data: &[u8]) -> Result<Self, CryptoError> {
        let (certificate, rest) = Self::parse_first(data)?;
        if rest == 0 {
            Ok(certificate)
        } else {
            Err(error("trailing data"))
        }
    }

    /// Reads a run of certificates.
    ///
    /// # Errors
    /// As [`Certificate::parse`].
    pub fn parse_all(mut data: &[u8]) -> Result<Vec<Self>, CryptoError> {
        let mut certificates = Vec::new();
        while !data.is_empty() {
            let (certificate, rest) = Self::parse_first(data)?;
            data = &data[data.len() - rest..];
            certificates.push(certificate);
        }
        Ok(certificates)
    }

    fn parse_first(data: &[u8]) -> Result<(Self, usize), CryptoError> {
        let mut input = Reader::new(data);
        let whole = input
            .element()
            .filter(|element| element.tag == tag::SEQUENCE)
            .ok_or_else(|| error("malformed certificate"))?;
        let rest = data.len() - whole.raw.len();
        let mut outer = Reader::new(whole.content);
        let mut tbs = outer
            .nested(tag::SEQUENCE)
            .ok_or_else(|| error("malformed tbs certificate"))?;
        let version = read_version(&mut tbs)?;
        let serial = tbs.integer().ok_or_else(|| error("malformed serial number"))?;
        if serial[0] >= 0x80 {
            return Err(error("negative serial number"));
        }
        let inner = tbs
            .algorithm()
            .ok_or_else(|| error("malformed signature algorithm identifier"))?;
        let algorithm = outer
            .algorithm()
            .ok_or_else(|| error("malformed algorithm identifier"))?;
        if inner != algorithm {
            return Err(error("inner and outer signature algorithm identifiers don't match"));
        }
        tbs.content(tag::SEQUENCE)
            .and_then(name::read)
            .ok_or_else(|| error("malformed issuer"))?;
        let mut validity = tbs.nested(tag::SEQUENCE).ok_or_else(|| error("malformed validity"))?;
        read_time(&mut validity)?;
        read_time(&mut validity)?;
        let subject = tbs
            .element()
            .filter(|element| element.tag == tag::SEQUENCE)
            .ok_or_else(|| error("malformed issuer"))?;
        let names = name::read(subject.content).ok_or_else(|| error("invalid RDNSequence"))?;
        let (key, key_bits) = read_key(&mut tbs)?;
        let mut certificate = Self {
            raw: whole.raw.to_vec(),
            subject: subject.raw.to_vec(),
            names,
            key_algorithm: key.oid.to_vec(),
            key_bits: key_bits.to_vec(),
            subject_key_id: None,
            authority_key_id: None,
            alt_names: AltNames::default(),
        };
        if version > 0 {
            certificate.read_tail(&mut tbs, version)?;
        }
        outer.bit_string().ok_or_else(|| error("malformed signature"))?;
        Ok((certificate, rest))
    }

    /// Unique ids and, in version 3, extensions.
    fn read_tail(&mut self, tbs: &mut Reader<'_>, version: i64) -> Result<(), CryptoError> {
        tbs.optional(tag::implicit(1))
            .ok_or_else(|| error("malformed issuerUniqueID"))?;
        tbs.optional(tag::implicit(2))
            .ok_or_else(|| error("malformed subjectUniqueID"))?;
        if version < 2 {
            return Ok(());
        }
        let Some(content) = tbs
            .optional(tag::explicit(3))
            .ok_or_else(|| error("malformed extensions"))?
        else {
            return Ok(());
        };
        let mut extensions = Reader::new(content)
            .nested(tag::SEQUENCE)
            .ok_or_else(|| error("malformed extensions"))?;
        let mut seen: Vec<&[u8]> = Vec::new();
        while !extensions.is_empty() {
            let mut extension = extensions
                .nested(tag::SEQUENCE)
                .ok_or_else(|| error("malformed extension"))?;
            let oid = extension.oid().ok_or_else(|| error("malformed extension OID field"))?;
            if seen.contains(&oid) {
                return Err(error("certificate contains duplicate extensions"));
            }
            seen.push(oid);
            let critical = extension
                .optional(tag::BOOLEAN)
                .ok_or_else(|| error("malformed extension critical field"))?;
            if critical.is_some_and(|value| !matches!(value, [0 | 0xff])) {
                return Err(error("malformed extension critical field"));
            }
            let value = extension
                .content(tag::OCTET_STRING)
                .ok_or_else(|| error("malformed extension value field"))?;
            self.take_extension(oid, critical == Some(&[0xff]), value)?;
        }
        Ok(())
    }

    fn take_extension(&mut self, oid: &[u8], critical: bool, value: &[u8]) -> Result<(), CryptoError> {
        let mut value = Reader::new(value);
        match oid {
            oid::KEY_USAGE => {
                value
                    .content(tag::BIT_STRING)
                    .ok_or_else(|| error("invalid key usage"))?;
            }
            oid::BASIC_CONSTRAINTS => {
                value
                    .nested(tag::SEQUENCE)
                    .ok_or_else(|| error("invalid basic constraints"))?;
            }
            oid::EXT_KEY_USAGE => {
                let mut usages = value
                    .nested(tag::SEQUENCE)
                    .ok_or_else(|| error("invalid extended key usages"))?;
                while !usages.is_empty() {
                    usages.oid().ok_or_else(|| error("invalid extended key usages"))?;
                }
            }
            oid::SUBJECT_KEY_ID if critical => {
                return Err(error("subject key identifier incorrectly marked critical"));
            }
            oid::SUBJECT_KEY_ID => {
                let id = value
                    .content(tag::OCTET_STRING)
                    .ok_or_else(|| error("invalid subject key identifier"))?;
                self.subject_key_id = Some(id.to_vec());
            }
            oid::AUTHORITY_KEY_ID if critical => {
                return Err(error("authority key identifier incorrectly marked critical"));
            }
            oid::AUTHORITY_KEY_ID => {
                let invalid = || error("invalid authority key identifier");
                let mut parts = value.nested(tag::SEQUENCE).ok_or_else(invalid)?;
                let id = parts.optional(tag::implicit(0)).ok_or_else(invalid)?;
                self.authority_key_id = id.map(<[u8]>::to_vec);
            }
            oid::SUBJECT_ALT_NAME => self.alt_names = read_alt_names(&mut value)?,
            _ => {}
        }
        Ok(())
    }

    /// The certificate as it was encoded.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The encoded subject.
    pub(super) fn subject(&self) -> &[u8] {
        &self.subject
    }

    /// The subject as Go prints it, such as `CN=x,O=y`.
    pub(super) fn subject_text(&self) -> String {
        name::print(&self.names)
    }

    /// The kind of public key, as an object identifier, and the key.
    pub(super) fn key(&self) -> (&[u8], &[u8]) {
        (&self.key_algorithm, &self.key_bits)
    }

    /// The subject key id, if there is one.
    pub fn subject_key_id(&self) -> Option<&[u8]> {
        self.subject_key_id.as_deref()
    }

    /// The key id of the issuer, if there is one.
    pub fn authority_key_id(&self) -> Option<&[u8]> {
        self.authority_key_id.as_deref()
    }

    /// All alternative names: DNS names, IP addresses, e-mail addresses, URIs.
    pub fn alt_names(&self) -> impl Iterator<Item = &str> {
        let names = &self.alt_names;
        [&names.dns, &names.addresses, &names.emails, &names.uris]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }
}

fn read_version(tbs: &mut Reader<'_>) -> Result<i64, CryptoError> {
    let malformed = || error("malformed version");
    let Some(content) = tbs.optional(tag::explicit(0)).ok_or_else(malformed)? else {
        return Ok(0);
    };
    let version = Reader::new(content)
        .small()
        .filter(|&version| version >= 0)
        .ok_or_else(malformed)?;
    if version > 2 {
        Err(error("invalid version"))
    } else {
        Ok(version)
    }
}

fn read_time(validity: &mut Reader<'_>) -> Result<(), CryptoError> {
    let element = validity.element().ok_or_else(|| error("malformed validity"))?;
    let (layouts, kind): (&[&str], _) = match element.tag {
        tag::UTC_TIME => (&["060102150405Z0700", "0601021504Z0700"], "UTCTime"),
        tag::GENERALIZED_TIME => (&["20060102150405Z0700"], "GeneralizedTime"),
        _ => return Err(error("unsupported time format")),
    };
    // A time that is read must also be written that way.
    let text = String::from_utf8_lossy(element.content);
    let fits = layouts
        .iter()
        .any(|layout| gotime::parse(layout, &text).is_ok_and(|time| time.format(layout.as_bytes()) == element.content));
    if fits {
        Ok(())
    } else {
        Err(error(&format!("malformed {kind}")))
    }
}

fn read_key<'d>(tbs: &mut Reader<'d>) -> Result<(Algorithm<'d>, &'d [u8]), CryptoError> {
    let mut info = tbs.nested(tag::SEQUENCE).ok_or_else(|| error("malformed spki"))?;
    let algorithm = info
        .algorithm()
        .ok_or_else(|| error("malformed public key algorithm identifier"))?;
    let bits = info.bit_string().ok_or_else(|| error("malformed subjectPublicKey"))?;
    match algorithm.oid {
        oid::RSA => check_rsa(algorithm, bits)?,
        oid::EC => check_ec(algorithm, bits)?,
        oid::ED25519 if !algorithm.parameters.is_empty() => {
            return Err(error("Ed25519 key encoded with illegal parameters"));
        }
        oid::ED25519 if bits.len() != 32 => return Err(error("wrong Ed25519 public key size")),
        oid::X25519 if !algorithm.parameters.is_empty() => {
            return Err(error("X25519 key encoded with illegal parameters"));
        }
        oid::DSA => {
            Reader::new(bits)
                .unsigned()
                .ok_or_else(|| error("invalid DSA public key"))?;
        }
        // Kinds that Go does not know are carried along.
        _ => {}
    }
    Ok((algorithm, bits))
}

fn check_rsa(algorithm: Algorithm<'_>, bits: &[u8]) -> Result<(), CryptoError> {
    if algorithm.parameters != super::der::NULL {
        return Err(error("RSA key missing NULL parameters"));
    }
    let mut key = Reader::new(bits)
        .nested(tag::SEQUENCE)
        .ok_or_else(|| error("invalid RSA public key"))?;
    key.unsigned()
        .filter(|n| *n != [0])
        .ok_or_else(|| error("invalid RSA modulus"))?;
    key.unsigned()
        .filter(|e| *e != [0])
        .ok_or_else(|| error("invalid RSA public exponent"))?;
    Ok(())
}

fn check_ec(algorithm: Algorithm<'_>, bits: &[u8]) -> Result<(), CryptoError> {
    let curve = Reader::new(algorithm.parameters)
        .oid()
        .ok_or_else(|| error("invalid ECDSA parameters"))?;
    if curve == oid::P224 {
        return Ok(());
    }
    let curve = Curve::from_oid(curve).ok_or_else(|| error("unsupported elliptic curve"))?;
    if curve.has_point(bits) {
        Ok(())
    } else {
        Err(error("failed to unmarshal elliptic curve point"))
    }
}

fn read_alt_names(value: &mut Reader<'_>) -> Result<AltNames, CryptoError> {
    let invalid = || error("invalid subject alternative names");
    let mut names = AltNames::default();
    let mut list = value.nested(tag::SEQUENCE).ok_or_else(invalid)?;
    if !value.is_empty() {
        return Err(error("trailing data after X.509 extension"));
    }
    while !list.is_empty() {
        let element = list.element().ok_or_else(invalid)?;
        let text = || {
            let ascii = element.content.is_ascii();
            ascii.then(|| String::from_utf8_lossy(element.content).into_owned())
        };
        match element.tag {
            0x81 => names
                .emails
                .push(text().ok_or_else(|| error("SAN rfc822Name is malformed"))?),
            0x82 => names.dns.push(text().ok_or_else(|| error("SAN dNSName is malformed"))?),
            0x86 => names.uris.push(
                text()
                    .filter(|uri| is_uri(uri))
                    .map(lower_scheme)
                    .ok_or_else(|| error("SAN uniformResourceIdentifier is malformed"))?,
            ),
            0x87 => names.addresses.push(address(element.content)?),
            _ => {}
        }
    }
    Ok(names)
}

/// The rules of Go's URL parser that matter here: no control characters, whole escapes, a proper scheme.
fn is_uri(uri: &str) -> bool {
    let bytes = uri.as_bytes();
    let hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    let clean = !bytes.iter().any(u8::is_ascii_control);
    let escapes = (0..bytes.len()).all(|at| bytes[at] != b'%' || (hex(at + 1) && hex(at + 2)));
    let first = uri.split(['/', '?', '#']).next().unwrap_or_default();
    let scheme = first.split_once(':').is_none_or(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    clean && escapes && scheme
}

fn lower_scheme(uri: String) -> String {
    match uri.split_once(':') {
        Some((scheme, rest))
            if scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) =>
        {
            format!("{}:{rest}", scheme.to_ascii_lowercase())
        }
        _ => uri,
    }
}

fn address(bytes: &[u8]) -> Result<String, CryptoError> {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Ok(Ipv4Addr::from(bytes).to_string());
    }
    let bytes: [u8; 16] = bytes
        .try_into()
        .map_err(|_| error(&format!("cannot parse IP address of length {}", bytes.len())))?;
    let address = Ipv6Addr::from(bytes);
    Ok(address
        .to_ipv4_mapped()
        .map_or_else(|| address.to_string(), |address| address.to_string()))
}
