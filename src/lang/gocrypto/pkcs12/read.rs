//! Reading a file: the MAC first, then its one or two safes, then the bags in them.

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::super::der::{Algorithm, Reader, tag};
use super::super::{Allowance, Certificate, CryptoError, PrivateKey, oid};
use super::crypt::{decrypt, hmac_hash, malformed, read_pbkdf2, rounds};
use super::kdf::{Hash, Purpose, pbkdf2, pkcs12};
use super::{Password, not_implemented};

/// What a key store holds.
pub struct Contents {
    /// The private key.
    pub key: PrivateKey,
    /// All certificates in the order of the file; the first one belongs to the key.
    pub certificates: Vec<Certificate>,
}

/// Reads a key store with exactly one key.
///
/// # Errors
/// With go-pkcs12's messages, such as `pkcs12: decryption password incorrect`.
pub fn read(data: &[u8], password: &[u8], allowance: &mut Allowance<'_>) -> Result<Contents, CryptoError> {
    let mut password = Password::new(password)?;
    let file = File::read(data).map_err(|error| error.prefixed("pkcs12: error reading P12 data: "))?;
    if file.version != 3 {
        return Err(not_implemented("can only decode v3 PFX PDU's"));
    }
    if file.kind != oid::DATA {
        return Err(not_implemented("only password-protected PFX is implemented"));
    }
    let safe = octets(file.content)?;
    match &file.mac {
        None if password.is_empty() => {}
        None => return Err(CryptoError::new("pkcs12: no MAC in data")),
        Some(mac) => {
            let mut right = mac.verify(safe, &password, allowance)?;
            if !right && password.is_empty() {
                // Some writers take no password at all for an empty one.
                password = Password::none();
                right = mac.verify(safe, &password, allowance)?;
            }
            if !right {
                return Err(CryptoError::new("pkcs12: decryption password incorrect"));
            }
        }
    }
    let mut bags = Bags::default();
    for safe in open_safes(safe, &password, allowance)? {
        bags.take(&safe, &password, allowance)?;
    }
    if bags.certificates.is_empty() {
        return Err(CryptoError::new("pkcs12: certificate missing"));
    }
    let key = bags
        .key
        .ok_or_else(|| CryptoError::new("pkcs12: private key missing"))?;
    Ok(Contents {
        key,
        certificates: bags.certificates,
    })
}

/// The outermost structure.
struct File<'d> {
    version: i64,
    kind: &'d [u8],
    content: &'d [u8],
    mac: Option<Mac<'d>>,
}

impl<'d> File<'d> {
    fn read(data: &'d [u8]) -> Result<Self, CryptoError> {
        let mut input = Reader::new(data);
        let mut outer = input.nested(tag::SEQUENCE).ok_or_else(malformed)?;
        if !input.is_empty() {
            return Err(CryptoError::new("pkcs12: trailing data found"));
        }
        let version = outer.small().ok_or_else(malformed)?;
        let (kind, content) = content_info(&mut outer)?;
        let mac = if outer.is_empty() {
            None
        } else {
            Some(Mac::read(&mut outer).ok_or_else(malformed)?)
        };
        Ok(Self {
            version,
            kind,
            content,
            mac,
        })
    }
}

fn content_info<'d>(reader: &mut Reader<'d>) -> Result<(&'d [u8], &'d [u8]), CryptoError> {
    let mut info = reader.nested(tag::SEQUENCE).ok_or_else(malformed)?;
    let kind = info.oid().ok_or_else(malformed)?;
    let content = info.optional(tag::explicit(0)).ok_or_else(malformed)?;
    Ok((kind, content.unwrap_or_default()))
}

/// The single octet string that a content consists of.
fn octets(content: &[u8]) -> Result<&[u8], CryptoError> {
    let mut reader = Reader::new(content);
    let octets = reader.content(tag::OCTET_STRING).ok_or_else(malformed)?;
    if reader.is_empty() {
        Ok(octets)
    } else {
        Err(CryptoError::new("pkcs12: trailing data found"))
    }
}

/// The proof that password and contents belong together.
struct Mac<'d> {
    algorithm: Algorithm<'d>,
    digest: &'d [u8],
    salt: &'d [u8],
    rounds: u32,
}

impl<'d> Mac<'d> {
    fn read(reader: &mut Reader<'d>) -> Option<Self> {
        let mut mac = reader.nested(tag::SEQUENCE)?;
        let mut info = mac.nested(tag::SEQUENCE)?;
        let algorithm = info.algorithm()?;
        let digest = info.content(tag::OCTET_STRING)?;
        let salt = mac.content(tag::OCTET_STRING)?;
        let rounds = if mac.is_empty() { 1 } else { rounds(&mut mac).ok()? };
        Some(Self {
            algorithm,
            digest,
            salt,
            rounds,
        })
    }

    fn verify(&self, message: &[u8], password: &Password, allowance: &mut Allowance<'_>) -> Result<bool, CryptoError> {
        let hash = match self.algorithm.oid {
            oid::SHA1 => Hash::Sha1,
            oid::SHA256 => Hash::Sha256,
            oid::SHA512 => Hash::Sha512,
            oid::PBMAC1 => return self.verify_pbmac1(message, password, allowance),
            other => {
                return Err(not_implemented(&format!(
                    "MAC digest algorithm not supported: {}",
                    oid::dotted(other)
                )));
            }
        };
        let key = pkcs12(
            hash,
            Purpose::Mac,
            &password.wide,
            self.salt,
            self.rounds,
            hash.size(),
            allowance,
        )?;
        Ok(self.matches(hash, &key, message))
    }

    fn verify_pbmac1(
        &self,
        message: &[u8],
        password: &Password,
        allowance: &mut Allowance<'_>,
    ) -> Result<bool, CryptoError> {
        let decoding = |error: CryptoError| error.prefixed("error decoding PBMAC1 parameters: ");
        let mut parameters = Reader::new(self.algorithm.parameters)
            .nested(tag::SEQUENCE)
            .ok_or_else(|| decoding(malformed()))?;
        let kdf = parameters.algorithm().ok_or_else(|| decoding(malformed()))?;
        let mac = parameters.algorithm().ok_or_else(|| decoding(malformed()))?;
        let kdf = read_pbkdf2(kdf, "PBMAC1")?;
        let hash = hmac_hash(mac.oid).ok_or_else(|| {
            not_implemented(&format!(
                "PBMAC1 MAC algorithm {} is not supported",
                oid::dotted(mac.oid)
            ))
        })?;
        let length = match kdf.length {
            None | Some(..=0) => {
                return Err(not_implemented(
                    "PBMAC1 requires explicit KeyLength parameter in PBKDF2 parameters",
                ));
            }
            Some(length @ ..20) => {
                return Err(not_implemented(&format!(
                    "PBMAC1 key length {length} is too short to be secure (minimum 20 octets)"
                )));
            }
            Some(length @ 65..) => {
                return Err(not_implemented(&format!(
                    "PBMAC1 key length {length} is too large (maximum 64 octets)"
                )));
            }
            Some(length) => usize::try_from(length).map_err(|_| malformed())?,
        };
        let key = pbkdf2(kdf.hash, &password.text, kdf.salt, kdf.rounds, length, allowance)?;
        Ok(self.matches(hash, &key, message))
    }

    fn matches(&self, hash: Hash, key: &[u8], message: &[u8]) -> bool {
        hash.mac(key, message)
            .is_some_and(|expected| bool::from(expected.as_slice().ct_eq(self.digest)))
    }
}

/// The decrypted safes of a file: one or two.
fn open_safes(
    data: &[u8],
    password: &Password,
    allowance: &mut Allowance<'_>,
) -> Result<Vec<Zeroizing<Vec<u8>>>, CryptoError> {
    let mut input = Reader::new(data);
    let mut list = input.nested(tag::SEQUENCE).ok_or_else(malformed)?;
    let mut infos = Vec::new();
    while !list.is_empty() {
        infos.push(content_info(&mut list)?);
    }
    if !(1..=2).contains(&infos.len()) {
        let found = infos.len();
        return Err(not_implemented(&format!(
            "expected between 1 and 2 items in the authenticated safe, but this file has {found}"
        )));
    }
    infos
        .into_iter()
        .map(|(kind, content)| match kind {
            oid::DATA => octets(content).map(|data| Zeroizing::new(data.to_vec())),
            oid::ENCRYPTED_DATA => open_encrypted(content, password, allowance),
            _ => Err(not_implemented(
                "only data and encryptedData content types are supported in authenticated safe",
            )),
        })
        .collect()
}

fn open_encrypted(
    content: &[u8],
    password: &Password,
    allowance: &mut Allowance<'_>,
) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
    let mut data = Reader::new(content).nested(tag::SEQUENCE).ok_or_else(malformed)?;
    if data.small().ok_or_else(malformed)? != 0 {
        return Err(not_implemented("only version 0 of EncryptedData is supported"));
    }
    let mut info = data.nested(tag::SEQUENCE).ok_or_else(malformed)?;
    info.oid().ok_or_else(malformed)?;
    let algorithm = info.algorithm().ok_or_else(malformed)?;
    let encrypted = info.optional(tag::implicit(0)).ok_or_else(malformed)?;
    decrypt(algorithm, encrypted.unwrap_or_default(), password, allowance)
}

#[derive(Default)]
struct Bags {
    key: Option<PrivateKey>,
    certificates: Vec<Certificate>,
}

impl Bags {
    fn take(&mut self, safe: &[u8], password: &Password, allowance: &mut Allowance<'_>) -> Result<(), CryptoError> {
        let mut input = Reader::new(safe);
        let mut bags = input.nested(tag::SEQUENCE).ok_or_else(malformed)?;
        while !bags.is_empty() {
            let mut bag = bags.nested(tag::SEQUENCE).ok_or_else(malformed)?;
            let kind = bag.oid().ok_or_else(malformed)?;
            let value = bag.content(tag::explicit(0)).ok_or_else(malformed)?;
            match kind {
                oid::CERT_BAG => self.certificates.push(read_certificate(value)?),
                oid::KEY_BAG => self.set_key(PrivateKey::from_pkcs8(value)?)?,
                oid::SHROUDED_KEY_BAG => {
                    self.check_single_key()?;
                    let key = read_shrouded_key(value, password, allowance)?;
                    self.set_key(key)?;
                }
                // Other kinds of bags (lists of revoked certificates, secrets) are passed over.
                _ => {}
            }
        }
        Ok(())
    }

    fn set_key(&mut self, key: PrivateKey) -> Result<(), CryptoError> {
        self.check_single_key()?;
        self.key = Some(key);
        Ok(())
    }

    fn check_single_key(&self) -> Result<(), CryptoError> {
        match self.key {
            None => Ok(()),
            Some(_) => Err(CryptoError::new("pkcs12: expected exactly one key bag")),
        }
    }
}

fn read_certificate(value: &[u8]) -> Result<Certificate, CryptoError> {
    let decoding = || malformed().prefixed("pkcs12: error decoding cert bag: ");
    let mut bag = Reader::new(value).nested(tag::SEQUENCE).ok_or_else(decoding)?;
    if bag.oid().ok_or_else(decoding)? != oid::X509_CERTIFICATE {
        return Err(not_implemented("only X509 certificates are supported in cert bags"));
    }
    let content = bag.content(tag::explicit(0)).ok_or_else(decoding)?;
    let data = Reader::new(content).content(tag::OCTET_STRING).ok_or_else(decoding)?;
    let mut certificates = Certificate::parse_all(data)?;
    match (certificates.pop(), certificates.is_empty()) {
        (Some(certificate), true) => Ok(certificate),
        _ => Err(CryptoError::new(
            "pkcs12: expected exactly one certificate in the certBag",
        )),
    }
}

fn read_shrouded_key(
    value: &[u8],
    password: &Password,
    allowance: &mut Allowance<'_>,
) -> Result<PrivateKey, CryptoError> {
    let decoding = || malformed().prefixed("pkcs12: error decoding PKCS#8 shrouded key bag: ");
    let mut info = Reader::new(value).nested(tag::SEQUENCE).ok_or_else(decoding)?;
    let algorithm = info.algorithm().ok_or_else(decoding)?;
    let encrypted = info.content(tag::OCTET_STRING).ok_or_else(decoding)?;
    let key = decrypt(algorithm, encrypted, password, allowance)
        .map_err(|error| error.prefixed("pkcs12: error decrypting PKCS#8 shrouded key bag: "))?;
    PrivateKey::from_pkcs8(&key).map_err(|error| error.prefixed("pkcs12: error parsing PKCS#8 private key: "))
}
