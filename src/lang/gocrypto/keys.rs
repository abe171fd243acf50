//! Private and public keys: reading and writing PKCS#1, PKCS#8 and SEC 1, making and using them.

use crypto_bigint::BoxedUint;
use ed25519_dalek::Signer as _;
use p256::ecdsa::signature::hazmat::PrehashSigner as _;
use p256::elliptic_curve::sec1::ToSec1Point as _;
use rsa::PrivateKey as RsaPrivateKey;
use rsa::traits::{PrivateKeyParts as _, PublicKeyParts as _};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use zeroize::Zeroizing;

use super::der::{self, Algorithm, Encoded, Reader, tag};
use super::{Adapter, CryptoError, Random, oid};

/// A private key of a kind that Go's `crypto/x509` reads.
#[derive(Clone)]
pub enum PrivateKey {
    /// RSA.
    Rsa(Box<RsaPrivateKey>),
    /// A key on one of the NIST curves.
    Ec(EcKey),
    /// Ed25519, by its seed.
    Ed25519(Zeroizing<[u8; 32]>),
    /// X25519: can be carried, not used to sign.
    X25519(Zeroizing<[u8; 32]>),
}

/// A private key on a NIST curve.
#[derive(Clone)]
pub struct EcKey {
    curve: Curve,
    secret: Zeroizing<Vec<u8>>,
    /// The public point, uncompressed.
    point: Vec<u8>,
}

/// The NIST curves that are supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Curve {
    P256,
    P384,
    P521,
}

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// Modulus and exponent.
    Rsa {
        /// The modulus, most significant byte first.
        modulus: Vec<u8>,
        /// The exponent, most significant byte first.
        exponent: Vec<u8>,
    },
    /// A point on a curve.
    Ec {
        /// The curve's object identifier.
        curve: Vec<u8>,
        /// The uncompressed point.
        point: Vec<u8>,
    },
    /// Ed25519.
    Ed25519(Vec<u8>),
}

impl Curve {
    pub(super) fn oid(self) -> &'static [u8] {
        match self {
            Self::P256 => oid::P256,
            Self::P384 => oid::P384,
            Self::P521 => oid::P521,
        }
    }

    pub(super) fn from_oid(number: &[u8]) -> Option<Self> {
        [Self::P256, Self::P384, Self::P521]
            .into_iter()
            .find(|curve| curve.oid() == number)
    }

    /// Bytes of a coordinate and of a private number.
    pub(super) fn size(self) -> usize {
        match self {
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        }
    }

    /// The public point of a private number; nothing when it is zero or too large.
    fn point_of(self, secret: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::P256 => p256::SecretKey::from_slice(secret)
                .ok()
                .map(|key| key.public_key().to_sec1_point(false).as_bytes().to_vec()),
            Self::P384 => p384::SecretKey::from_slice(secret)
                .ok()
                .map(|key| key.public_key().to_sec1_point(false).as_bytes().to_vec()),
            Self::P521 => p521::SecretKey::from_slice(secret)
                .ok()
                .map(|key| key.public_key().to_sec1_point(false).as_bytes().to_vec()),
        }
    }

    /// True for an uncompressed point on this curve.
    pub(super) fn has_point(self, point: &[u8]) -> bool {
        point.first() == Some(&4)
            && match self {
                Self::P256 => p256::PublicKey::from_sec1_bytes(point).is_ok(),
                Self::P384 => p384::PublicKey::from_sec1_bytes(point).is_ok(),
                Self::P521 => p521::PublicKey::from_sec1_bytes(point).is_ok(),
            }
    }
}

impl EcKey {
    /// A key from its private number; leading zeros may be missing or too many.
    pub(super) fn new(curve: Curve, secret: &[u8]) -> Option<Self> {
        let secret = fixed_size(secret, curve.size())?;
        let point = curve.point_of(&secret)?;
        Some(Self { curve, secret, point })
    }

    /// A key whose point was given beside the number; only the point is checked.
    pub(super) fn with_point(curve: Curve, secret: &[u8], point: Vec<u8>) -> Option<Self> {
        let secret = fixed_size(secret, curve.size())?;
        curve.has_point(&point).then_some(Self { curve, secret, point })
    }

    fn sec1(&self, with_curve: bool) -> Encoded {
        let curve = der::encode(tag::explicit(0), &[&der::oid(self.curve.oid())]);
        let point = der::encode(tag::explicit(1), &[&der::bits(&self.point)]);
        let curve: &[u8] = if with_curve { &curve } else { &[] };
        der::sequence(&[&der::small(1), &der::octets(&self.secret), curve, &point])
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, CryptoError> {
        let failed = |_| CryptoError::new("x509: signing failed");
        match self.curve {
            Curve::P256 => {
                let key = p256::ecdsa::SigningKey::from_slice(&self.secret).map_err(failed)?;
                let signature: p256::ecdsa::Signature = key.sign_prehash(&Sha256::digest(message)).map_err(failed)?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Curve::P384 => {
                let key = p384::ecdsa::SigningKey::from_slice(&self.secret).map_err(failed)?;
                let signature: p384::ecdsa::Signature = key.sign_prehash(&Sha384::digest(message)).map_err(failed)?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
            Curve::P521 => {
                let key = p521::ecdsa::SigningKey::from_slice(&self.secret).map_err(failed)?;
                let signature: p521::ecdsa::Signature = key.sign_prehash(&Sha512::digest(message)).map_err(failed)?;
                Ok(signature.to_der().as_bytes().to_vec())
            }
        }
    }
}

/// Cuts or fills leading zeros.
fn fixed_size(number: &[u8], size: usize) -> Option<Zeroizing<Vec<u8>>> {
    let zeros = number.iter().take_while(|&&byte| byte == 0).count();
    let digits = &number[zeros..];
    let mut fixed = Zeroizing::new(vec![0; size.checked_sub(digits.len())?]);
    fixed.extend_from_slice(digits);
    Some(fixed)
}

impl PrivateKey {
    /// A fresh RSA key.
    ///
    /// # Errors
    /// When the random source yields no primes.
    pub fn generate_rsa(bits: usize, random: &mut Random<'_>) -> Result<Self, CryptoError> {
        RsaPrivateKey::new(&mut Adapter(random), bits)
            .map(|key| Self::Rsa(Box::new(key)))
            .map_err(|_| CryptoError::new("error generating rsa key"))
    }

    /// A fresh key on P-256.
    pub fn generate_p256(random: &mut Random<'_>) -> Self {
        loop {
            let mut secret = Zeroizing::new([0; 32]);
            random(&mut *secret);
            if let Some(key) = EcKey::new(Curve::P256, &*secret) {
                return Self::Ec(key);
            }
        }
    }

    /// A fresh Ed25519 key.
    pub fn generate_ed25519(random: &mut Random<'_>) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        random(&mut *seed);
        Self::Ed25519(seed)
    }

    /// An RSA key from its numbers, most significant byte first. Without primes they are found from the rest.
    pub(super) fn rsa_from_parts(n: &[u8], e: &[u8], d: &[u8], primes: &[&[u8]]) -> Result<Self, CryptoError> {
        let number = BoxedUint::from_be_slice_vartime;
        let primes = primes.iter().map(|prime| number(prime)).collect();
        RsaPrivateKey::from_components(number(n), number(e), number(d), primes)
            .map(|key| Self::Rsa(Box::new(key)))
            .map_err(|_| CryptoError::new("crypto/rsa: invalid private key"))
    }

    /// Reads PKCS#1, the plain form of RSA keys, with RFC 8017's names.
    ///
    /// # Errors
    /// When it is something else or the numbers do not belong together.
    #[expect(clippy::many_single_char_names, reason = "the standard's own names")]
    pub fn from_pkcs1(data: &[u8]) -> Result<Self, CryptoError> {
        let malformed = || CryptoError::new("x509: failed to parse RSA private key");
        let mut outer = Reader::new(data);
        let mut key = outer.nested(tag::SEQUENCE).ok_or_else(malformed)?;
        if !outer.is_empty() {
            return Err(CryptoError::new("asn1: syntax error: trailing data"));
        }
        let version = key.small().ok_or_else(malformed)?;
        if version > 1 {
            return Err(CryptoError::new("x509: unsupported private key version"));
        }
        let mut next = || key.unsigned().ok_or_else(malformed);
        let (n, e, d, p, q) = (next()?, next()?, next()?, next()?, next()?);
        Self::rsa_from_parts(n, e, d, &[p, q])
    }

    /// Reads SEC 1, the plain form of elliptic-curve keys.
    ///
    /// # Errors
    /// When it is something else or the curve is unknown.
    pub fn from_sec1(data: &[u8]) -> Result<Self, CryptoError> {
        Self::sec1(data, None)
    }

    fn sec1(data: &[u8], curve: Option<&[u8]>) -> Result<Self, CryptoError> {
        let malformed = || CryptoError::new("x509: failed to parse EC private key");
        let mut key = Reader::new(data).nested(tag::SEQUENCE).ok_or_else(malformed)?;
        let version = key.small().ok_or_else(malformed)?;
        if version != 1 {
            return Err(CryptoError::new(format!(
                "x509: unknown EC private key version {version}"
            )));
        }
        let secret = key.content(tag::OCTET_STRING).ok_or_else(malformed)?;
        let named = key.optional(tag::explicit(0)).ok_or_else(malformed)?;
        let named = named.and_then(|content| Reader::new(content).oid());
        let curve = curve
            .or(named)
            .and_then(Curve::from_oid)
            .ok_or_else(|| CryptoError::new("x509: unknown elliptic curve"))?;
        EcKey::new(curve, secret)
            .map(Self::Ec)
            .ok_or_else(|| CryptoError::new("x509: invalid elliptic curve private key value"))
    }

    /// Reads PKCS#8, the common envelope.
    ///
    /// # Errors
    /// When it is something else or the kind of key is unknown.
    pub fn from_pkcs8(data: &[u8]) -> Result<Self, CryptoError> {
        let malformed = || CryptoError::new("x509: failed to parse private key");
        let mut envelope = Reader::new(data).nested(tag::SEQUENCE).ok_or_else(malformed)?;
        envelope.small().ok_or_else(malformed)?;
        let algorithm = envelope.algorithm().ok_or_else(malformed)?;
        let key = envelope.content(tag::OCTET_STRING).ok_or_else(malformed)?;
        match algorithm.oid {
            oid::RSA => Self::from_pkcs1(key)
                .map_err(|error| error.prefixed("x509: failed to parse RSA private key embedded in PKCS#8: ")),
            oid::EC => Self::sec1(key, Reader::new(algorithm.parameters).oid())
                .map_err(|error| error.prefixed("x509: failed to parse EC private key embedded in PKCS#8: ")),
            oid::ED25519 => octet_key(algorithm, key, "Ed25519").map(Self::Ed25519),
            oid::X25519 => octet_key(algorithm, key, "X25519").map(Self::X25519),
            other => Err(CryptoError::new(format!(
                "x509: PKCS#8 wrapping contained private key with unknown algorithm: {}",
                oid::dotted(other)
            ))),
        }
    }

    /// Reads any of the three forms, as ESO does.
    ///
    /// # Errors
    /// `unable to parse private key type`
    pub fn from_any(data: &[u8]) -> Result<Self, CryptoError> {
        Self::from_pkcs1(data)
            .or_else(|_| Self::from_pkcs8(data))
            .or_else(|_| Self::from_sec1(data))
            .map_err(|_| CryptoError::new("unable to parse private key type"))
    }

    /// Writes PKCS#8.
    pub fn to_pkcs8(&self) -> Encoded {
        let (algorithm, key) = match self {
            Self::Rsa(key) => (der::sequence(&[&der::oid(oid::RSA), der::NULL]), pkcs1(key)),
            Self::Ec(key) => (ec_algorithm(key.curve.oid()), key.sec1(false)),
            Self::Ed25519(seed) => (der::sequence(&[&der::oid(oid::ED25519)]), der::octets(&**seed)),
            Self::X25519(seed) => (der::sequence(&[&der::oid(oid::X25519)]), der::octets(&**seed)),
        };
        der::sequence(&[&der::small(0), &algorithm, &der::octets(&key)])
    }

    /// The form Go's tools write for each kind, with its PEM word: PKCS#1, SEC 1, or PKCS#8 for all others.
    pub fn to_traditional(&self) -> (&'static str, Encoded) {
        match self {
            Self::Rsa(key) => ("RSA PRIVATE KEY", pkcs1(key)),
            Self::Ec(key) => ("EC PRIVATE KEY", key.sec1(true)),
            Self::Ed25519(_) | Self::X25519(_) => ("PRIVATE KEY", self.to_pkcs8()),
        }
    }

    /// The public half, if the key can sign.
    pub fn public(&self) -> Option<PublicKey> {
        match self {
            Self::Rsa(key) => Some(PublicKey::Rsa {
                modulus: key.n_bytes().into_vec(),
                exponent: key.e_bytes().into_vec(),
            }),
            Self::Ec(key) => Some(PublicKey::Ec {
                curve: key.curve.oid().to_vec(),
                point: key.point.clone(),
            }),
            Self::Ed25519(seed) => {
                let key = ed25519_dalek::SigningKey::from_bytes(seed);
                Some(PublicKey::Ed25519(key.verifying_key().to_bytes().to_vec()))
            }
            Self::X25519(_) => None,
        }
    }

    /// Signs with the algorithm Go takes for this kind of key; gives the algorithm identifier and the signature.
    pub(super) fn sign(&self, message: &[u8], random: &mut Random<'_>) -> Result<(Encoded, Vec<u8>), CryptoError> {
        match self {
            Self::Rsa(key) => {
                let signature = key
                    .pkcs1v15_sign_with_rng::<Sha256, _>(&mut Adapter(random), message)
                    .map_err(|_| CryptoError::new("crypto/rsa: message too long for RSA key size"))?;
                Ok((der::sequence(&[&der::oid(oid::SHA256_WITH_RSA), der::NULL]), signature))
            }
            Self::Ec(key) => {
                let algorithm = match key.curve {
                    Curve::P256 => oid::ECDSA_WITH_SHA256,
                    Curve::P384 => oid::ECDSA_WITH_SHA384,
                    Curve::P521 => oid::ECDSA_WITH_SHA512,
                };
                Ok((der::sequence(&[&der::oid(algorithm)]), key.sign(message)?))
            }
            Self::Ed25519(seed) => {
                let signature = ed25519_dalek::SigningKey::from_bytes(seed).sign(message);
                Ok((der::sequence(&[&der::oid(oid::ED25519)]), signature.to_bytes().to_vec()))
            }
            Self::X25519(_) => Err(CryptoError::new(
                "x509: certificate private key does not implement crypto.Signer",
            )),
        }
    }

    /// Decrypts RSA-OAEP with one hash for label and mask and an empty label. The hash word is ESO's:
    /// `SHA1`, `SHA512`, anything else is SHA-256.
    ///
    /// # Errors
    /// When the key is not RSA or the text was not made for it.
    pub fn decrypt_oaep(&self, hash: &[u8], data: &[u8], random: &mut Random<'_>) -> Result<Vec<u8>, CryptoError> {
        let Self::Rsa(key) = self else {
            return Err(CryptoError::new("could not parse RSA private key"));
        };
        let mut random = Adapter(random);
        match hash {
            b"SHA1" => key.oaep_decrypt_with_rng::<sha1::Sha1, _>(&mut random, data),
            b"SHA512" => key.oaep_decrypt_with_rng::<Sha512, _>(&mut random, data),
            _ => key.oaep_decrypt_with_rng::<Sha256, _>(&mut random, data),
        }
        .map_err(|_| CryptoError::new("crypto/rsa: decryption error"))
    }
}

fn pkcs1(key: &RsaPrivateKey) -> Encoded {
    let number = |value: &BoxedUint| der::integer(&Zeroizing::new(value.to_be_bytes().into_vec()));
    let mut pieces = vec![
        der::small(0),
        der::integer(&key.n_bytes()),
        der::integer(&key.e_bytes()),
        number(key.d()),
    ];
    pieces.extend(key.primes().iter().map(|prime| number(prime.as_ref())));
    // A key that was made or checked has its remainders.
    pieces.extend(key.dp().map(number));
    pieces.extend(key.dq().map(number));
    pieces.extend(key.crt_coefficient().as_ref().map(number));
    let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_slice()).collect();
    der::sequence(&pieces)
}

fn ec_algorithm(curve: &[u8]) -> Encoded {
    der::sequence(&[&der::oid(oid::EC), &der::oid(curve)])
}

fn octet_key(algorithm: Algorithm<'_>, key: &[u8], kind: &str) -> Result<Zeroizing<[u8; 32]>, CryptoError> {
    if !algorithm.parameters.is_empty() {
        return Err(CryptoError::new(format!("x509: invalid {kind} private key parameters")));
    }
    Reader::new(key)
        .content(tag::OCTET_STRING)
        .and_then(|seed| seed.try_into().ok())
        .map(Zeroizing::new)
        .ok_or_else(|| CryptoError::new(format!("x509: invalid {kind} private key length")))
}

impl PublicKey {
    /// Writes a subject public key info (PKIX).
    pub fn to_pkix(&self) -> Vec<u8> {
        let encoded = match self {
            Self::Rsa { modulus, exponent } => {
                let key = der::sequence(&[&der::integer(modulus), &der::integer(exponent)]);
                der::sequence(&[&der::sequence(&[&der::oid(oid::RSA), der::NULL]), &der::bits(&key)])
            }
            Self::Ec { curve, point } => der::sequence(&[&ec_algorithm(curve), &der::bits(point)]),
            Self::Ed25519(key) => der::sequence(&[&der::sequence(&[&der::oid(oid::ED25519)]), &der::bits(key)]),
        };
        encoded.to_vec()
    }

    /// The bytes that the bit string of the key info holds.
    pub(super) fn key_bits(&self) -> Vec<u8> {
        match self {
            Self::Rsa { modulus, exponent } => {
                der::sequence(&[&der::integer(modulus), &der::integer(exponent)]).to_vec()
            }
            Self::Ec { point, .. } => point.clone(),
            Self::Ed25519(key) => key.clone(),
        }
    }
}
