//! Certificate authorities and the identities they sign.
//!
//! Each cluster has an authority of its own, as real clusters do: a CA that ends up with the wrong cluster must fail.

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};

/// A certificate with its private key, both PEM.
#[derive(Clone)]
pub struct Identity {
    /// The certificate.
    pub cert_pem: String,
    /// The private key, PKCS#8.
    pub key_pem: String,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// A certificate authority (ECDSA P-256).
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// A new authority whose certificate carries `common_name`.
    pub fn new(common_name: &str) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?).context("cannot sign the CA")?;
        Ok(Self { issuer })
    }

    /// The CA certificate, PEM.
    pub fn ca_pem(&self) -> String {
        self.issuer.pem()
    }

    /// A server certificate for these names; addresses are recognised as such.
    pub fn server(&self, common_name: &str, names: &[&str]) -> Result<Identity> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, common_name);
        self.sign(params, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A client certificate: Kubernetes takes the user from the common name and the groups from the organisations.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Identity> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        // A distinguished name holds one organisation here, which is all that the harness needs.
        anyhow::ensure!(
            groups.len() <= 1,
            "a client certificate of the harness has at most one group"
        );
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        self.sign(params, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(&self, mut params: CertificateParams, usage: ExtendedKeyUsagePurpose) -> Result<Identity> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let cert = params
            .signed_by(&key, &self.issuer)
            .context("cannot sign a certificate")?;
        Ok(Identity {
            cert_pem: cert.pem(),
            key_pem: key.serialize_pem(),
        })
    }
}

/// The key pair that signs a cluster's service account tokens (ECDSA P-256, so `ES256`).
pub struct TokenSigner {
    key: KeyPair,
}

impl TokenSigner {
    /// A new key pair.
    pub fn new() -> Result<Self> {
        Ok(Self {
            key: KeyPair::generate()?,
        })
    }

    /// The private key, PEM.
    pub fn private_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// The public key, PEM.
    pub fn public_pem(&self) -> String {
        self.key.public_key_pem()
    }

    /// A signed token (JWT) of these claims.
    pub fn sign(&self, claims: &serde_json::Value) -> Result<String> {
        use base64::Engine as _;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD;

        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, self.key.serialized_der(), &random)
            .map_err(|error| anyhow::anyhow!("the signing key was rejected: {error}"))?;
        let header = URL_SAFE_NO_PAD.encode(br#"{"alg":"ES256","typ":"JWT"}"#);
        let payload = URL_SAFE_NO_PAD.encode(serde_json::to_vec(claims)?);
        let signed = format!("{header}.{payload}");
        let signature = key
            .sign(&random, signed.as_bytes())
            .map_err(|_| anyhow::anyhow!("cannot sign a token"))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
    }
}
