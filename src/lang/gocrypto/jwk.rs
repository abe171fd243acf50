//! JSON Web Keys: RSA, the NIST curves, Ed25519.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::CryptoError;
use super::keys::{Curve, EcKey, PrivateKey, PublicKey};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
const PLAIN_BASE64: GeneralPurpose = GeneralPurpose::new(&STANDARD, LENIENT);
const URL_BASE64: GeneralPurpose = GeneralPurpose::new(&URL_SAFE, LENIENT);

/// A public JWK as a subject public key info.
///
/// # Errors
/// When the text is no JWK, or one with private parts.
pub fn public_key_der(json: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let jwk = Jwk::parse(json)?;
    if jwk.has("d") {
        let kind = match jwk.kind.as_str() {
            "RSA" => "*rsa.PrivateKey",
            "EC" => "*ecdsa.PrivateKey",
            _ => "ed25519.PrivateKey",
        };
        jwk.private_key()?;
        return Err(CryptoError::new(format!("x509: unsupported public key type: {kind}")));
    }
    jwk.public_key().map(|key| key.to_pkix())
}

/// A private JWK as PKCS#8.
///
/// # Errors
/// When the text is no JWK, or one without private parts.
pub fn private_key_der(json: &[u8]) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
    let jwk = Jwk::parse(json)?;
    if jwk.has("d") {
        return jwk.private_key().map(|key| key.to_pkcs8());
    }
    let kind = match jwk.public_key()? {
        PublicKey::Rsa { .. } => "*rsa.PublicKey",
        PublicKey::Ec { .. } => "*ecdsa.PublicKey",
        PublicKey::Ed25519(_) => "ed25519.PublicKey",
    };
    Err(CryptoError::new(format!(
        "x509: unknown key type while marshaling PKCS#8: {kind}"
    )))
}

struct Jwk {
    kind: String,
    members: Map<String, Value>,
}

impl Jwk {
    fn parse(json: &[u8]) -> Result<Self, CryptoError> {
        let hint = |what: &str| CryptoError::new(format!("failed to unmarshal JSON into key hint: {what}"));
        if json.trim_ascii().is_empty() {
            return Err(hint("EOF"));
        }
        let value: Value = serde_json::from_slice(json).map_err(|_| hint("invalid JSON"))?;
        let Value::Object(members) = value else {
            return Err(hint("not an object"));
        };
        let kind = match members.get("kty") {
            Some(Value::String(kind)) => kind.clone(),
            None | Some(Value::Null) => String::new(),
            Some(_) => return Err(hint("cannot unmarshal value into Go struct field .kty of type string")),
        };
        match kind.as_str() {
            "RSA" | "EC" | "OKP" => Ok(Self { kind, members }),
            "oct" => Err(CryptoError::new("x509: unsupported public key type: []uint8")),
            _ => Err(CryptoError::new(format!("invalid key type from JSON ({kind})"))),
        }
    }

    fn has(&self, member: &str) -> bool {
        self.members.get(member).is_some_and(|value| !value.is_null())
    }

    fn curve(&self) -> Result<&str, CryptoError> {
        match self.members.get("crv") {
            Some(Value::String(curve)) => Ok(curve),
            _ => Err(self.error("required field crv is missing")),
        }
    }

    fn error(&self, what: &str) -> CryptoError {
        let (kind, half) = match self.kind.as_str() {
            "RSA" => ("rsa", if self.has("d") { "Private" } else { "Public" }),
            "EC" => ("ecdsa", if self.has("d") { "Private" } else { "Public" }),
            _ => ("okp", if self.has("d") { "Private" } else { "Public" }),
        };
        CryptoError::new(format!(
            "failed to unmarshal JSON into key (*jwk.{kind}{half}Key): {what}"
        ))
    }

    /// The bytes of a member that must be there.
    fn bytes(&self, member: &str) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
        match self.members.get(member) {
            None | Some(Value::Null) => Err(self.error(&format!("required field {member} is missing"))),
            Some(Value::String(text)) => {
                let engine = if text.contains(['+', '/']) {
                    &PLAIN_BASE64
                } else {
                    &URL_BASE64
                };
                engine
                    .decode(text.as_bytes())
                    .map(Zeroizing::new)
                    .map_err(|_| self.bad_value(member))
            }
            Some(_) => Err(self.bad_value(member)),
        }
    }

    fn bad_value(&self, member: &str) -> CryptoError {
        self.error(&format!(
            "failed to decode value for key {member}: expected base64 encoded []byte (string)"
        ))
    }

    fn public_key(&self) -> Result<PublicKey, CryptoError> {
        match self.kind.as_str() {
            "RSA" => {
                let (modulus, exponent) = (self.bytes("n")?.to_vec(), self.bytes("e")?.to_vec());
                Ok(PublicKey::Rsa { modulus, exponent })
            }
            "EC" => {
                let (curve, point) = self.point()?;
                Ok(PublicKey::Ec {
                    curve: curve.oid().to_vec(),
                    point,
                })
            }
            _ => {
                let key = self.bytes("x")?;
                self.require_ed25519()?;
                Ok(PublicKey::Ed25519(key.to_vec()))
            }
        }
    }

    #[expect(clippy::many_single_char_names, reason = "the members of the JSON object")]
    fn private_key(&self) -> Result<PrivateKey, CryptoError> {
        match self.kind.as_str() {
            "RSA" => {
                let (n, e, d) = (self.bytes("n")?, self.bytes("e")?, self.bytes("d")?);
                let (p, q) = (self.bytes("p")?, self.bytes("q")?);
                PrivateKey::rsa_from_parts(&n, &e, &d, &[&p, &q])
            }
            "EC" => {
                let (curve, point) = self.point()?;
                EcKey::with_point(curve, &self.bytes("d")?, point)
                    .map(PrivateKey::Ec)
                    .ok_or_else(|| CryptoError::new("invalid elliptic key public key"))
            }
            _ => {
                let (seed, public) = (self.bytes("d")?, self.bytes("x")?);
                self.require_ed25519()?;
                let seed: [u8; 32] = seed
                    .as_slice()
                    .try_into()
                    .map_err(|_| CryptoError::new("ed25519: wrong private key size"))?;
                let key = PrivateKey::Ed25519(Zeroizing::new(seed));
                match key.public() {
                    Some(PublicKey::Ed25519(own)) if own == *public => Ok(key),
                    _ => Err(CryptoError::new("ed25519: invalid x value given d value")),
                }
            }
        }
    }

    fn require_ed25519(&self) -> Result<(), CryptoError> {
        match self.curve()? {
            "Ed25519" => Ok(()),
            "X25519" => Err(CryptoError::new("x509: unsupported public key type: x25519.PublicKey")),
            _ => Err(CryptoError::new("invalid curve algorithm")),
        }
    }

    fn point(&self) -> Result<(Curve, Vec<u8>), CryptoError> {
        let curve = match self.curve()? {
            "P-256" => Curve::P256,
            "P-384" => Curve::P384,
            "P-521" => Curve::P521,
            _ => return Err(CryptoError::new("invalid curve algorithm")),
        };
        let not_on_curve = || {
            let name = match curve {
                Curve::P256 => "P256",
                Curve::P384 => "P384",
                Curve::P521 => "P521",
            };
            CryptoError::new(format!("{name} point not on curve"))
        };
        let mut point = vec![4];
        for member in ["x", "y"] {
            let coordinate = self.bytes(member)?;
            let zeros = coordinate.iter().take_while(|&&byte| byte == 0).count();
            let digits = &coordinate[zeros..];
            let missing = curve.size().checked_sub(digits.len()).ok_or_else(not_on_curve)?;
            point.resize(point.len() + missing, 0);
            point.extend_from_slice(digits);
        }
        if curve.has_point(&point) {
            Ok((curve, point))
        } else {
            Err(not_on_curve())
        }
    }
}
