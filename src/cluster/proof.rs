//! Proofs: does this address answer with a certificate that this CA verifies, and does the API server behind it accept
//! this token as that account? Seen from this host, with exactly the credential a downstream will use.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::{Api, PostParams};
use kube::config::{AuthInfo, Config};
use kube::{Client, client::ClientBuilder};

use super::{Cluster, Reason, RequestError, request_error::one_line};

/// How long a proof may take.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A CA that may verify the upstream, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaCandidate {
    /// PEM; `None` means the system's roots.
    pub pem: Option<String>,
    /// Where it was found, in words.
    pub source: String,
}

/// A connection as a downstream will make it: an address, a CA, a token, nothing else of the kubeconfig.
pub struct Visitor<'a> {
    /// URL to dial.
    pub url: &'a str,
    /// PEM of the CA; `None` means the system's roots.
    pub ca_pem: Option<&'a str>,
    /// Bearer token; `None` is anonymous.
    pub token: Option<&'a str>,
    /// Context name for error texts.
    pub context: &'a str,
}

impl Visitor<'_> {
    fn client(&self) -> Result<Client, RequestError> {
        let bad = |message: String| RequestError::local("connect to", self.url, self.context, Reason::Other, message);
        let uri = self.url.parse().map_err(|_| bad("not a URL".to_owned()))?;
        let mut config = Config::new(uri);
        config.connect_timeout = Some(TIMEOUT);
        config.default_retry = false;
        if let Some(pem) = self.ca_pem {
            config.root_cert = Some(certificates(pem).map_err(bad)?);
        }
        if let Some(token) = self.token {
            config.auth_info = AuthInfo {
                token: Some(token.to_owned().into()),
                ..AuthInfo::default()
            };
        }
        let builder = ClientBuilder::try_from(config).map_err(|e| bad(one_line(&e.to_string())))?;
        Ok(builder.build())
    }

    fn cluster(&self) -> Result<Cluster, RequestError> {
        Ok(Cluster {
            context: self.context.to_owned(),
            namespace: "default".to_owned(),
            server: self.url.to_owned(),
            ca_pem: self.ca_pem.map(|p| p.as_bytes().to_vec()),
            client: self.client()?,
            request_timeout: TIMEOUT,
        })
    }

    /// TLS and HTTP reach an API server: any answer of it counts, 401 and 403 too.
    ///
    /// # Errors
    /// TLS, name resolution or connection failures.
    pub async fn reach(&self) -> Result<(), RequestError> {
        let cluster = self.cluster()?;
        match cluster
            .call("reach", self.url, cluster.client.apiserver_version())
            .await
        {
            Ok(_) => Ok(()),
            Err(e) if e.code != 0 => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// The user name the server sees behind the token.
    ///
    /// # Errors
    /// [`Reason::Unauthorized`] for a refused token, transport failures.
    pub async fn whoami(&self) -> Result<String, RequestError> {
        let cluster = self.cluster()?;
        let reviews: Api<SelfSubjectReview> = Api::all(cluster.client.clone());
        let review = SelfSubjectReview::default();
        let answer = cluster
            .call(
                "prove token at",
                self.url,
                reviews.create(&PostParams::default(), &review),
            )
            .await?;
        Ok(answer
            .status
            .and_then(|s| s.user_info)
            .and_then(|u| u.username)
            .unwrap_or_default())
    }
}

/// PEM → DER of every certificate in it.
///
/// # Errors
/// A text where there is none.
pub fn certificates(pem: &str) -> Result<Vec<Vec<u8>>, String> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let all: Vec<Vec<u8>> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .map(|c| {
            c.map(|der| der.to_vec())
                .map_err(|e| format!("not a PEM certificate: {e}"))
        })
        .collect::<Result<_, _>>()?;
    if all.is_empty() {
        Err("holds no PEM certificate".to_owned())
    } else {
        Ok(all)
    }
}

/// The first candidate whose chain **and** host name verification succeed at `url`.
///
/// # Errors
/// The failure of the last candidate, or a connection failure at once: no CA mends that.
pub async fn choose_ca(url: &str, context: &str, candidates: &[CaCandidate]) -> Result<CaCandidate, RequestError> {
    let mut last = None;
    for candidate in candidates {
        let visitor = Visitor {
            url,
            ca_pem: candidate.pem.as_deref(),
            token: None,
            context,
        };
        match visitor.reach().await {
            Ok(()) => return Ok(candidate.clone()),
            Err(e) if matches!(e.reason, Reason::UnknownAuthority | Reason::Tls | Reason::Other) => last = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(last.unwrap_or_else(|| RequestError::local("verify", url, context, Reason::UnknownAuthority, "no CA to try")))
}
