//! Certificates: CA bundles and client pairs as Go checks them, and the TLS settings made of them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt as _;
use zeroize::Zeroizing;

use crate::api::secret_store::CaProvider;
use crate::cluster::credentials::{Credentials, Scope};
use crate::provider::ProviderError;

/// The CA of a store: `caBundle` if there is one, else what `caProvider` names, else none (system roots).
///
/// Errors are ESO's texts; `caBundle` must begin with a certificate, provider content is not checked here.
pub async fn fetch_ca(
    credentials: &Credentials,
    scope: Scope<'_>,
    bundle: Option<&[u8]>,
    provider: Option<&CaProvider>,
) -> Result<Option<Vec<u8>>, ProviderError> {
    if let Some(bundle) = bundle.filter(|bytes| !bytes.is_empty()) {
        return decode_bundle(bundle)
            .map(Some)
            .map_err(|error| ProviderError::invalid(format!("failed to decode ca bundle: {error}")));
    }
    let Some(provider) = provider else { return Ok(None) };
    match credentials.ca(scope, provider).await {
        Ok(bytes) => Ok(Some(bytes.expose().to_vec())),
        Err(error) => Err(ProviderError::invalid(error.to_string())),
    }
}

/// `caBundle` may be PEM, or base64 of PEM; its first block must be a certificate. All of it is used then.
fn decode_bundle(bundle: &[u8]) -> Result<Vec<u8>, String> {
    if let Some(checked) = check_first_block(bundle) {
        return checked.map(|()| bundle.to_vec());
    }
    let text: Vec<u8> = bundle
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    for decoded in [STANDARD.decode(&text), URL_SAFE.decode(&text)].into_iter().flatten() {
        if let Some(checked) = check_first_block(&decoded) {
            return checked.map(|()| decoded);
        }
    }
    Err("failed to parse the new certificate, not valid pem data".to_owned())
}

/// `None` if there is no PEM block at all, else whether the first one is a certificate.
fn check_first_block(pem: &[u8]) -> Option<Result<(), String>> {
    let mut rest = pem;
    let (label, der) = match rustls::pki_types::pem::from_buf(&mut rest) {
        Ok(Some((kind, der))) => (kind, der),
        Ok(None) | Err(_) => return first_unknown_block(pem),
    };
    let parsed = matches!(label, rustls::pki_types::pem::SectionKind::Certificate) && is_certificate(&der);
    Some(if parsed {
        Ok(())
    } else {
        Err("failed to validate certificate: x509: malformed certificate".to_owned())
    })
}

/// A block whose label the parser skips is a block all the same, though no certificate.
fn first_unknown_block(pem: &[u8]) -> Option<Result<(), String>> {
    let text = String::from_utf8_lossy(pem);
    let whole = text.contains("-----BEGIN ") && text.contains("-----END ");
    whole.then(|| Err("failed to validate certificate: x509: malformed certificate".to_owned()))
}

fn is_certificate(der: &[u8]) -> bool {
    rustls::server::ParsedCertificate::try_from(&CertificateDer::from(der)).is_ok()
}

/// The certificates of a CA file, or client-go's text for a file without any.
pub fn ca_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem).flatten().collect();
    let good: Vec<_> = all.iter().filter(|der| is_certificate(der)).cloned().collect();
    if !good.is_empty() {
        return Ok(good);
    }
    Err(if all.is_empty() {
        "unable to parse bytes as PEM block"
    } else {
        "failed to parse certificate: x509: malformed certificate"
    }
    .to_owned())
}

/// A client certificate with its key, in PEM.
#[derive(Clone)]
pub struct ClientIdentity {
    /// Certificate chain.
    pub certificate: Zeroizing<Vec<u8>>,
    /// Private key.
    pub key: Zeroizing<Vec<u8>>,
}

impl ClientIdentity {
    /// Checks the pair as Go's `tls.X509KeyPair` does, with its texts.
    pub fn check(&self) -> Result<(), String> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&self.certificate).flatten().collect();
        if chain.is_empty() {
            return Err("tls: failed to find any PEM data in certificate input".to_owned());
        }
        let Ok(key) = PrivateKeyDer::from_pem_slice(&self.key) else {
            return Err("tls: failed to find any PEM data in key input".to_owned());
        };
        let certified = CertifiedKey::from_der(chain, key, &crypto_provider());
        match certified {
            Ok(_) => Ok(()),
            Err(rustls::Error::InconsistentKeys(_)) => Err("tls: private key does not match public key".to_owned()),
            Err(error) => Err(format!("tls: failed to parse private key: {error}")),
        }
    }
}

/// The cryptography all our connections use.
pub fn crypto_provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// TLS settings: TLS 1.2 or newer, `ca` instead of the system roots if given.
pub fn tls_config(ca: Option<&[u8]>) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(crypto_provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match ca {
        Some(pem) => {
            let verifier = CaVerifier::new(ca_certificates(pem)?)?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
        None => builder.with_platform_verifier().map_err(|error| error.to_string())?,
    };
    Ok(builder.with_no_client_auth())
}

/// Verifies against a given CA. A server may also show a certificate that is itself in the CA: Go takes a self-signed
/// one then even if it calls itself an authority, as `openssl req -x509` makes them; rustls alone does not.
#[derive(Debug)]
struct CaVerifier {
    chain: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
}

impl CaVerifier {
    fn new(trusted: Vec<CertificateDer<'static>>) -> Result<Self, String> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(trusted.iter().cloned());
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), crypto_provider());
        Ok(Self {
            chain: chain.build().map_err(|error| error.to_string())?,
            trusted,
        })
    }

    /// Dates were checked before this fault was found; the name was not.
    fn is_trusted_itself(&self, error: &rustls::Error, end_entity: &CertificateDer<'_>) -> bool {
        let rustls::Error::InvalidCertificate(CertificateError::Other(other)) = error else {
            return false;
        };
        other.to_string().contains("CaUsedAsEndEntity") && self.trusted.iter().any(|known| known == end_entity)
    }
}

impl ServerCertVerifier for CaVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self
            .chain
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
        {
            Err(error) if self.is_trusted_itself(&error, end_entity) => {
                rustls::client::verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::{CaVerifier, ClientIdentity, ca_certificates, decode_bundle};
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use rustls::client::danger::ServerCertVerifier as _;
    use rustls::pki_types::{ServerName, UnixTime};
    use zeroize::Zeroizing;

    fn pair(name: &str) -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_bundle_may_be_pem_or_base64_of_pem() {
        let (pem, _) = pair("a.test");
        let two = format!("{pem}{}", pair("b.test").0);
        for text in [two.clone(), STANDARD.encode(&two), URL_SAFE.encode(&two)] {
            assert_eq!(decode_bundle(text.as_bytes()), Ok(two.clone().into_bytes()));
        }
    }

    #[test]
    fn a_bundle_that_is_no_certificate_is_refused() {
        let none = "failed to parse the new certificate, not valid pem data";
        let bad = "failed to validate certificate: x509: malformed certificate";
        let (_, key) = pair("a.test");
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (text, error) in [("junk", none), ("", none), (key.as_str(), bad), (broken, bad)] {
            assert_eq!(decode_bundle(text.as_bytes()), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_ca_file_without_certificate_is_told_as_client_go_does() {
        assert_eq!(
            ca_certificates(b"junk"),
            Err("unable to parse bytes as PEM block".to_owned())
        );
    }

    #[test]
    fn a_client_pair_must_belong_together() {
        let (certificate, key) = pair("a.test");
        let identity = |certificate: &str, key: &str| ClientIdentity {
            certificate: Zeroizing::new(certificate.as_bytes().to_vec()),
            key: Zeroizing::new(key.as_bytes().to_vec()),
        };
        assert!(identity(&certificate, &key).check().is_ok());
        for (certificate, key, error) in [
            (
                "junk",
                key.as_str(),
                "tls: failed to find any PEM data in certificate input",
            ),
            (
                certificate.as_str(),
                "junk",
                "tls: failed to find any PEM data in key input",
            ),
            (
                certificate.as_str(),
                &pair("b.test").1,
                "tls: private key does not match public key",
            ),
        ] {
            assert_eq!(identity(certificate, key).check().err().as_deref(), Some(error));
        }
    }

    fn verdict(made: &rcgen::Certificate, trusted: &rcgen::Certificate, name: &str) -> Result<(), rustls::Error> {
        let verifier = CaVerifier::new(vec![trusted.der().clone()]).unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        verifier
            .verify_server_cert(made.der(), &[], &name, &[], UnixTime::now())
            .map(|_| ())
    }

    #[test]
    fn a_self_signed_authority_that_is_trusted_itself_may_be_the_server() {
        let made = |name: &str| {
            let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap()
        };
        let (own, other) = (made("a.test"), made("a.test"));
        assert_eq!(verdict(&own, &own, "a.test"), Ok(()));
        assert!(verdict(&own, &own, "b.test").is_err());
        assert!(verdict(&own, &other, "a.test").is_err());
    }
}
