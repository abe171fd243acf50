//! Certificates: sprig's generators and ESO's readers of PEM text.

use std::net::IpAddr;
use std::rc::Rc;

use crate::lang::gocrypto::{self, Block, CryptoError, DsaKey, Issuer, PrivateKey, Request};
use crate::template::engine::functions::{Env, ParamType as P, Row, arg, encoding};
use crate::template::engine::{Certificate, Failure, List, Str, Value, format};

/// The functions of this family.
pub const ROWS: &[Row] = &[
    Row::new("genCA", &[P::String, P::Int], gen_ca),
    Row::new("genCAWithKey", &[P::String, P::Int, P::String], gen_ca_with_key),
    Row::new("genSelfSignedCert", &[P::String, P::List, P::List, P::Int], gen_self_signed),
    Row::new("genSelfSignedCertWithKey", &[P::String, P::List, P::List, P::Int, P::String], gen_self_signed_with_key),
    Row::new("genSignedCert", &[P::String, P::List, P::List, P::Int, P::Certificate], gen_signed),
    Row::new(
        "genSignedCertWithKey",
        &[P::String, P::List, P::List, P::Int, P::Certificate, P::String],
        gen_signed_with_key,
    ),
    Row::new("buildCustomCert", &[P::String, P::String], build_custom),
    Row::new("filterPEM", &[P::String, P::String], filter_pem),
    Row::new("filterCertChain", &[P::String, P::String], filter_chain),
    Row::new("certSANs", &[P::String], alt_names),
];

const CERTIFICATE: &str = "CERTIFICATE";
/// Steps that a fresh RSA key of 2048 bits costs.
const RSA_2048: u64 = 2_000_000;
/// Steps that reading and signing cost.
const SIGNING: u64 = 100_000;
/// Bytes of PEM text that one step pays for.
const BYTES_PER_STEP: usize = 8;

/// A crypto error as the failure of a function; these messages hold no data.
#[expect(clippy::needless_pass_by_value, reason = "used as a function of `map_err`")]
pub(super) fn failure(error: CryptoError) -> Failure {
    if error.is_limit() { Failure::limit(error.to_string()) } else { Failure::new(error.to_string()) }
}

/// A block as a text value.
pub(super) fn pem_value(block: &Block) -> Value {
    Value::str(pem_text(block))
}

fn pem_text(block: &Block) -> Vec<u8> {
    // Only a header with a colon in its name cannot be written, and reading splits there.
    gocrypto::encode_pem(block).map(|text| text.to_vec()).unwrap_or_default()
}

/// A private key of a kind that sprig reads.
enum AnyKey {
    Usual(PrivateKey),
    /// Can be read, but signs nothing.
    Dsa,
}

impl AnyKey {
    /// Reads the first PEM block; the word before `PRIVATE KEY` decides on the form.
    fn read(pem: &[u8]) -> Result<Self, CryptoError> {
        let block = gocrypto::decode_pem(pem).0.ok_or_else(|| CryptoError::new("no PEM data in input"))?;
        match block.kind.as_slice() {
            b"PRIVATE KEY" => PrivateKey::from_pkcs8(&block.body)
                .map(Self::Usual)
                .map_err(|error| error.prefixed("decoding PEM as PKCS#8: ")),
            b"RSA PRIVATE KEY" => PrivateKey::from_pkcs1(&block.body)
                .map(Self::Usual)
                .map_err(|error| error.prefixed("parsing RSA private key from PEM: ")),
            b"EC PRIVATE KEY" => PrivateKey::from_sec1(&block.body)
                .map(Self::Usual)
                .map_err(|error| error.prefixed("parsing EC private key from PEM: ")),
            b"DSA PRIVATE KEY" => DsaKey::from_der(&block.body)
                .map(|_| Self::Dsa)
                .map_err(|error| error.prefixed("parsing DSA private key from PEM: ")),
            kind if kind.ends_with(b" PRIVATE KEY") => Err(CryptoError::new("invalid private key type")),
            _ => Err(CryptoError::new("no private key data in PEM block")),
        }
    }

    fn usual(self) -> Result<PrivateKey, CryptoError> {
        match self {
            Self::Usual(key) => Ok(key),
            Self::Dsa => Err(CryptoError::new(
                "error creating certificate: x509: certificate private key does not implement crypto.Signer",
            )),
        }
    }
}

/// What all generators have in common.
struct Order {
    common_name: String,
    addresses: Vec<IpAddr>,
    dns_names: Vec<String>,
    days: i64,
}

impl Order {
    fn new(name: &[u8], addresses: &List, dns_names: &List, days: i64) -> Result<Self, Failure> {
        let common_name = String::from_utf8(name.to_vec())
            .map_err(|_| Failure::new("error creating certificate: asn1: string not valid UTF-8"))?;
        Ok(Self { common_name, addresses: read_addresses(addresses)?, dns_names: read_dns_names(dns_names)?, days })
    }

    fn from_args(args: &[Value]) -> Result<Self, Failure> {
        Self::new(arg::bytes(args, 0), &arg::list(args, 1), &arg::list(args, 2), arg::int(args, 3))
    }

    fn fill(&self, env: &mut Env<'_>, key: &PrivateKey, authority: bool, issuer: &Issuer<'_>) -> Result<Value, Failure> {
        const DAY: i64 = 24 * 3600 * 1_000_000_000;
        env.spend(SIGNING)?;
        let now = env.now();
        let dns_names: Vec<&str> = self.dns_names.iter().map(String::as_str).collect();
        let request = Request {
            common_name: &self.common_name,
            addresses: &self.addresses,
            dns_names: &dns_names,
            not_after: now.add(DAY.wrapping_mul(self.days)),
            not_before: now,
            authority,
            key,
        };
        let encoded = gocrypto::issue(&request, issuer, &mut |out| env.fill_random(out))
            .map_err(|error| failure(error.prefixed("error creating certificate: ")))?;
        let (kind, key) = key.to_traditional();
        Ok(certificate_value(
            pem_text(&Block::new(CERTIFICATE, &encoded)),
            pem_text(&Block::new(kind, &key)),
        ))
    }
}

fn certificate_value(cert: Vec<u8>, key: Vec<u8>) -> Value {
    Value::Certificate(Rc::new(Certificate { cert: Str::new(cert), key: Str::new(key) }))
}

fn not_text(what: &str, value: &Value) -> Failure {
    let shown = match format::sprint(value) {
        Ok(shown) => String::from_utf8_lossy(&shown).into_owned(),
        Err(failure) => return failure,
    };
    Failure::with_data(format!("{what}: {shown} is not a string"), format!("{what}: not a string"))
}

fn read_addresses(list: &List) -> Result<Vec<IpAddr>, Failure> {
    const WHAT: &str = "error parsing ip";
    list.iter()
        .map(|value| {
            let text = value.as_bytes().ok_or_else(|| not_text(WHAT, value))?;
            let text = String::from_utf8_lossy(text);
            text.parse().map_err(|_| Failure::with_data(format!("{WHAT}: {text}"), WHAT))
        })
        .collect()
}

fn read_dns_names(list: &List) -> Result<Vec<String>, Failure> {
    list.iter()
        .map(|value| {
            let text = value.as_bytes().ok_or_else(|| not_text("error processing alternate dns name", value))?;
            Ok(String::from_utf8_lossy(text).into_owned())
        })
        .collect()
}

fn fresh_key(env: &mut Env<'_>) -> Result<PrivateKey, Failure> {
    env.spend(RSA_2048)?;
    PrivateKey::generate_rsa(2048, &mut |out| env.fill_random(out)).map_err(failure)
}

fn given_key(args: &[Value], at: usize) -> Result<PrivateKey, Failure> {
    let key = AnyKey::read(arg::bytes(args, at)).map_err(|error| failure(error.prefixed("parsing private key: ")))?;
    key.usual().map_err(failure)
}

fn gen_ca(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let order = Order::new(arg::bytes(args, 0), &List::nil(), &List::nil(), arg::int(args, 1))?;
    let key = fresh_key(env)?;
    order.fill(env, &key, true, &Issuer::Itself)
}

fn gen_ca_with_key(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let key = given_key(args, 2)?;
    let order = Order::new(arg::bytes(args, 0), &List::nil(), &List::nil(), arg::int(args, 1))?;
    order.fill(env, &key, true, &Issuer::Itself)
}

fn gen_self_signed(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let order = Order::from_args(args)?;
    let key = fresh_key(env)?;
    order.fill(env, &key, false, &Issuer::Itself)
}

fn gen_self_signed_with_key(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let key = given_key(args, 4)?;
    Order::from_args(args)?.fill(env, &key, false, &Issuer::Itself)
}

fn gen_signed(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (certificate, issuer_key) = read_issuer(args)?;
    let order = Order::from_args(args)?;
    let key = fresh_key(env)?;
    order.fill(env, &key, false, &Issuer::Other(&certificate, &issuer_key))
}

fn gen_signed_with_key(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let key = given_key(args, 5)?;
    let (certificate, issuer_key) = read_issuer(args)?;
    Order::from_args(args)?.fill(env, &key, false, &Issuer::Other(&certificate, &issuer_key))
}

fn read_issuer(args: &[Value]) -> Result<(gocrypto::Certificate, PrivateKey), Failure> {
    let Some(Value::Certificate(issuer)) = args.get(4) else {
        return Err(Failure::new("unable to decode certificate"));
    };
    let certificate = read_certificate(&issuer.cert, "decodedSignerCert")?;
    let key = AnyKey::read(&issuer.key).map_err(|error| failure(error.prefixed("error parsing private key: ")))?;
    Ok((certificate, key.usual().map_err(failure)?))
}

/// The first PEM block of a text as a certificate; `name` is what sprig calls it in its message.
fn read_certificate(pem: &[u8], name: &str) -> Result<gocrypto::Certificate, Failure> {
    let block = gocrypto::decode_pem(pem).0.ok_or_else(|| Failure::new("unable to decode certificate"))?;
    gocrypto::Certificate::parse(&block.body)
        .map_err(|error| failure(error.prefixed(&format!("error parsing certificate: {name}.Bytes: "))))
}

fn build_custom(_env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let decode = |at: usize, what: &str| {
        encoding::base64_decode(arg::bytes(args, at), encoding::Alphabet::Standard)
            .map_err(|_| Failure::new(format!("unable to decode base64 {what}")))
    };
    let (certificate, key) = (decode(0, "certificate")?, decode(1, "private key")?);
    read_certificate(&certificate, "decodedCert")?;
    AnyKey::read(&key).map_err(|error| failure(error.prefixed("error parsing private key: ")))?;
    Ok(certificate_value(certificate, key))
}

/// Drops everything before the first begin line.
fn trim_junk(text: &[u8]) -> &[u8] {
    const BEGIN: &[u8] = b"-----BEGIN";
    let start = text.windows(BEGIN.len()).position(|window| window == BEGIN).unwrap_or(0);
    &text[start..]
}

fn spend_bytes(env: &mut Env<'_>, bytes: usize) -> Result<(), Failure> {
    env.spend(u64::try_from(bytes / BYTES_PER_STEP).unwrap_or(u64::MAX))
}

fn filter_pem(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let (kind, mut rest) = (arg::bytes(args, 0), trim_junk(arg::bytes(args, 1)));
    spend_bytes(env, rest.len())?;
    let mut kept = Vec::new();
    while let (Some(block), after) = gocrypto::decode_pem(rest) {
        rest = after;
        if block.kind.eq_ignore_ascii_case(kind) {
            kept.extend_from_slice(&pem_text(&block));
        }
    }
    if kept.is_empty() && !rest.is_empty() {
        return Err(Failure::new("error filtering pem: found junk"));
    }
    Ok(Value::str(kept))
}

/// Puts the certificates of a PEM text in order: leaf, intermediates, root.
///
/// This looks at key ids alone and proves nothing. Two absent key ids count as equal, as in ESO.
///
/// # Errors
/// Unreadable certificates, several leaves, no leaf, a cycle.
pub(super) fn order_chain(pem: &[u8]) -> Result<Vec<gocrypto::Certificate>, Failure> {
    let mut certificates = Vec::new();
    let mut rest = pem;
    while let (Some(block), after) = gocrypto::decode_pem(rest) {
        rest = after;
        certificates.push(gocrypto::Certificate::parse(&block.body).map_err(failure)?);
    }
    let issues = |parent: &gocrypto::Certificate, child: &gocrypto::Certificate| {
        child.authority_key_id().unwrap_or_default() == parent.subject_key_id().unwrap_or_default()
    };
    let parents: Vec<Option<usize>> = (0..certificates.len())
        .map(|child| {
            (0..certificates.len())
                .find(|&parent| parent != child && issues(&certificates[parent], &certificates[child]))
        })
        .collect();
    let mut leaves = (0..certificates.len()).filter(|index| !parents.contains(&Some(*index)));
    let leaf = leaves.next().ok_or_else(|| Failure::new("no leaf certificate found"))?;
    if leaves.next().is_some() {
        return Err(Failure::new("found multiple leaf or disjunct certificates"));
    }
    let mut ordered = Vec::new();
    let mut next = Some(leaf);
    while let Some(index) = next {
        if ordered.len() == certificates.len() {
            return Err(Failure::new("constructing chain resulted in cycle"));
        }
        ordered.push(certificates[index].clone());
        next = parents[index];
    }
    Ok(ordered)
}

fn is_root(certificate: &gocrypto::Certificate) -> bool {
    let authority = certificate.authority_key_id();
    authority.is_none() || authority == Some(certificate.subject_key_id().unwrap_or_default())
}

/// Certificates as PEM text, one after another.
pub(super) fn certificates_pem<'c>(certificates: impl IntoIterator<Item = &'c gocrypto::Certificate>) -> Vec<u8> {
    certificates.into_iter().flat_map(|certificate| pem_text(&Block::new(CERTIFICATE, certificate.raw()))).collect()
}

fn filter_chain(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let pem = arg::bytes(args, 1);
    // Every certificate is compared with every other.
    spend_bytes(env, pem.len() + pem.len() / 64 * (pem.len() / 4096))?;
    let ordered = order_chain(pem)?;
    let chosen: Vec<&gocrypto::Certificate> = match arg::bytes(args, 0) {
        b"leaf" => ordered.first().filter(|certificate| !is_root(certificate)).into_iter().collect(),
        b"intermediate" => ordered.iter().skip(1).take_while(|certificate| !is_root(certificate)).collect(),
        b"root" => ordered.last().filter(|certificate| is_root(certificate)).into_iter().collect(),
        _ => Vec::new(),
    };
    Ok(Value::str(certificates_pem(chosen)))
}

fn alt_names(env: &mut Env<'_>, args: &[Value]) -> Result<Value, Failure> {
    let pem = trim_junk(arg::bytes(args, 0));
    spend_bytes(env, pem.len())?;
    let block = gocrypto::decode_pem(pem).0.ok_or_else(|| Failure::new("failed to decode PEM block"))?;
    let certificate = gocrypto::Certificate::parse(&block.body)
        .map_err(|error| failure(error.prefixed("failed to parse certificate: ")))?;
    Ok(Value::strings(certificate.alt_names().map(Str::from).collect()))
}
