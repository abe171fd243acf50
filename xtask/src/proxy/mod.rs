//! A proxy in front of a real API server that counts requests and injects faults.
//!
//! It terminates TLS with a certificate of the cluster's own CA and speaks HTTP/1.1 and HTTP/2 on both sides. Bearer
//! tokens pass through. A client certificate cannot; the administrator's is recognised and used again towards the
//! server.

mod body;
mod script;
mod serve;

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context as _, Result};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::sync::oneshot;

pub use script::{Action, Rule, Script, Seen};

use crate::controlplane::{Cluster, Entry, Identity};
use body::ProxyBody;

/// The HTTP client towards the API server.
type Upstream = Client<hyper_rustls::HttpsConnector<hyper_util::client::legacy::connect::HttpConnector>, ProxyBody>;

/// Names a proxy's certificate may be wrong about, for tests of TLS errors.
#[derive(Clone, Debug, Default)]
pub struct Front {
    /// Names in the certificate; empty stands for 127.0.0.1 and localhost.
    pub names: Vec<String>,
    /// Sign with an authority that no kubeconfig trusts.
    pub foreign_ca: bool,
}

/// A running proxy; ends when dropped. It has a thread and a runtime of its own, so that it works on while the test's
/// thread blocks.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    port: u16,
    script: Script,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Starts a proxy in front of `cluster`.
    pub fn start(cluster: &Cluster, script: &Script) -> Result<Self> {
        Self::start_as(cluster, script, &Front::default())
    }

    /// As [`Proxy::start`], with a certificate that may be wrong.
    pub fn start_as(cluster: &Cluster, script: &Script, front: &Front) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let server = serve::Server {
            cluster: cluster.name().to_owned(),
            authority: format!("127.0.0.1:{}", cluster.port()),
            tls: Arc::new(front_tls(cluster, front)?),
            admin_der: der(&cluster.admin().cert_pem)?,
            as_admin: upstream(cluster, Some(cluster.admin()))?,
            as_is: upstream(cluster, None)?,
            script: script.clone(),
        };
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new()
            .name(format!("proxy-{}", cluster.name()))
            .spawn(move || runtime.block_on(serve::run(listener, Arc::new(server), stopped)))?;
        let url = format!("https://127.0.0.1:{port}");
        Ok(Self {
            url,
            port,
            script: script.clone(),
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The script it follows.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// A kubeconfig entry that reaches `cluster` through this proxy as its administrator.
    pub fn entry(&self, context: &str, cluster: &Cluster) -> Entry {
        Entry::admin(context, cluster).server(&self.url)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Both fail only when the thread has ended already.
        let _ = self.stop.take().map(|stop| stop.send(()));
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn der(pem: &str) -> Result<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(pem.as_bytes()).context("a certificate of the harness is not PEM")
}

fn key(identity: &Identity) -> Result<PrivateKeyDer<'static>> {
    PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes()).context("a key of the harness is not PEM")
}

fn roots(cluster: &Cluster) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(der(cluster.ca_pem())?)?;
    Ok(roots)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn front_tls(cluster: &Cluster, front: &Front) -> Result<ServerConfig> {
    let names: Vec<&str> = match front.names.as_slice() {
        [] => vec!["127.0.0.1", "localhost"],
        names => names.iter().map(String::as_str).collect(),
    };
    let foreign = crate::controlplane::Authority::new("foreign-ca")?;
    let authority = if front.foreign_ca {
        &foreign
    } else {
        cluster.authority()
    };
    let identity = authority.server("kube-apiserver", &names)?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(cluster)?), provider())
        .allow_unauthenticated()
        .build()?;
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![der(&identity.cert_pem)?], key(&identity)?)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn upstream(cluster: &Cluster, identity: Option<&Identity>) -> Result<Upstream> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots(cluster)?);
    let config = match identity {
        Some(identity) => builder.with_client_auth_cert(vec![der(&identity.cert_pem)?], key(identity)?)?,
        None => builder.with_no_client_auth(),
    };
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_only()
        .enable_all_versions()
        .build();
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}
