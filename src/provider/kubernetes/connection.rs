//! From a store's configuration to a connected client of the other API server.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::config::{Auth, CertAuth, KubernetesConfig};
use super::sources::SourceWatches;
use crate::api::secret_store::{SecretKeySelector, ServiceAccountSelector};
use crate::cluster::credentials::{Credentials, Scope};
use crate::provider::http::{self, ClientIdentity};
use crate::provider::{OpenRequest, ProviderError};

/// Life of a token minted for `auth.serviceAccount`, as ESO asks for.
const TOKEN_SECONDS: i64 = 3600;

/// Who we are, where, and in which namespace: two stores with equal identities may share one connection and one watch.
/// Credential and CA are kept as SHA-256 only.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RemoteIdentity {
    /// URL of the API server, with scheme.
    pub server: String,
    /// SHA-256 of the CA that verifies it; all zero for the system roots.
    pub ca: [u8; 32],
    /// SHA-256 of the credential.
    pub credential: [u8; 32],
    /// Namespace the store reads.
    pub namespace: String,
}

impl fmt::Debug for RemoteIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteIdentity")
            .field("server", &self.server)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// A connected client and whose it is.
#[derive(Clone)]
pub struct Remote {
    /// Server, CA, credential and namespace.
    pub identity: RemoteIdentity,
    /// The client.
    pub client: Client,
    /// The ServiceAccount (namespace, name) whose minted token it uses, if it does.
    pub minted_for: Option<(String, String)>,
    /// True if the server would be spoken to in clear text over a network: no request is sent then.
    pub clear_text: bool,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// Everything [`resolve`] needs, owned, so that a client can be resolved again when its token was refused.
#[derive(Clone)]
pub struct Origin {
    /// The store's configuration.
    pub config: KubernetesConfig,
    /// True for a ClusterSecretStore.
    pub cluster_scoped: bool,
    /// Namespace of the asking object; empty when a ClusterSecretStore is validated.
    pub namespace: String,
    /// Reads Secrets, ConfigMaps and tokens of the cluster the store lives in.
    pub credentials: Credentials,
    /// Open connections.
    pub connections: Connections,
    /// Sources kept current by a watch.
    pub sources: SourceWatches,
}

impl Origin {
    /// From a request to open a store.
    pub fn new(request: &OpenRequest<'_>) -> Result<Self, ProviderError> {
        Ok(Self {
            config: KubernetesConfig::decode(request.config)?,
            cluster_scoped: request.is_cluster_scoped(),
            namespace: request.namespace.to_owned(),
            credentials: request.credentials.clone(),
            connections: request.shared().connections.clone(),
            sources: request.shared().sources.clone(),
        })
    }

    fn scope(&self) -> Scope<'_> {
        Scope {
            cluster_scoped: self.cluster_scoped,
            namespace: &self.namespace,
        }
    }

    /// True if nothing can be connected before an ExternalSecret brings its namespace.
    pub fn awaits_namespace(&self) -> bool {
        self.cluster_scoped && self.namespace.is_empty() && self.config.is_referent()
    }
}

/// Connects, or finds the connection that is there already. Errors are ESO's, with their prefix.
pub async fn resolve(origin: &Origin) -> Result<Remote, ProviderError> {
    let target = match (&origin.config.auth_ref, &origin.config.auth) {
        (Some(_), Some(_)) => Err(ProviderError::invalid("authRef and inline auth cannot both be set")),
        (Some(selector), None) => kubeconfig_target(origin, selector).await,
        (None, Some(auth)) => inline_target(origin, auth).await,
        (None, None) => Err(ProviderError::invalid("no auth provider given")),
    }
    .map_err(|error| error.wrap("failed to prepare auth"))?;
    let client = origin
        .connections
        .get(&target)
        .await
        .map_err(|error| ProviderError::invalid(format!("error configuring clientset: {error}")))?;
    let identity = target.identity(&origin.config.remote_namespace);
    let clear_text = is_clear_text(&target.server);
    Ok(Remote {
        identity,
        client,
        minted_for: target.minted_for,
        clear_text,
    })
}

/// A server and a credential, not connected yet.
struct Target {
    server: String,
    ca: Option<Vec<u8>>,
    login: Login,
    minted_for: Option<(String, String)>,
}

enum Login {
    Token(Zeroizing<String>),
    Certificate(ClientIdentity),
    Kubeconfig(Box<Kubeconfig>, [u8; 32]),
}

impl Target {
    fn identity(&self, namespace: &str) -> RemoteIdentity {
        let ca = self.ca.as_deref().map_or([0; 32], |pem| Sha256::digest(pem).into());
        let credential = match &self.login {
            Login::Token(token) => Sha256::digest(token.as_bytes()).into(),
            Login::Certificate(pair) => {
                let mut hash = Sha256::new();
                hash.update(Sha256::digest(&*pair.certificate));
                hash.update(Sha256::digest(&*pair.key));
                hash.finalize().into()
            }
            Login::Kubeconfig(_, hash) => *hash,
        };
        RemoteIdentity {
            server: self.server.clone(),
            ca,
            credential,
            namespace: namespace.to_owned(),
        }
    }

    async fn config(&self) -> Result<Config, String> {
        let mut config = match &self.login {
            Login::Kubeconfig(kubeconfig, _) => {
                Config::from_custom_kubeconfig((**kubeconfig).clone(), &KubeConfigOptions::default())
                    .await
                    .map_err(|error| error.to_string())?
            }
            _ => self.inline_config()?,
        };
        config.connect_timeout = Some(http::CONNECT_TIMEOUT);
        if config.proxy_url.is_none() {
            let url = &config.cluster_url;
            let default = if url.scheme_str() == Some("http") { 80 } else { 443 };
            let scheme = url.scheme_str().unwrap_or("https");
            let proxy = http::environment_proxy(
                scheme,
                url.host().unwrap_or_default(),
                url.port_u16().unwrap_or(default),
            );
            config.proxy_url = proxy.and_then(|proxy| proxy.parse().ok());
        }
        Ok(config)
    }

    fn inline_config(&self) -> Result<Config, String> {
        let url = self
            .server
            .parse()
            .map_err(|_| format!("host must be a URL or a host:port pair: {:?}", self.server))?;
        let mut config = Config::new(url);
        if let Some(pem) = &self.ca {
            let certificates = http::ca_certificates(pem);
            let certificates = certificates.map_err(|error| format!("unable to load root certificates: {error}"))?;
            config.root_cert = Some(certificates.into_iter().map(|der| der.to_vec()).collect());
        }
        match &self.login {
            Login::Token(token) => config.auth_info.token = Some(token.to_string().into()),
            Login::Certificate(pair) => {
                pair.check()?;
                config.auth_info.client_certificate_data = Some(STANDARD.encode(&*pair.certificate));
                config.auth_info.client_key_data = Some(STANDARD.encode(&*pair.key).into());
            }
            Login::Kubeconfig(..) => {}
        }
        Ok(config)
    }
}

async fn inline_target(origin: &Origin, auth: &Auth) -> Result<Target, ProviderError> {
    let server = origin.config.server.as_ref();
    let url = server.map(|server| server.url.as_str()).unwrap_or_default();
    if url.is_empty() {
        return Err(ProviderError::invalid("no server URL provided"));
    }
    let bundle = server.and_then(|server| server.ca_bundle.as_deref());
    let provider = server.and_then(|server| server.ca_provider.as_ref());
    let ca = http::fetch_ca(&origin.credentials, origin.scope(), bundle, provider).await?;
    let ways = [
        auth.token.is_some(),
        auth.service_account.is_some(),
        auth.cert.is_some(),
    ];
    if ways.into_iter().filter(|set| *set).count() > 1 {
        let text = "multiple auth methods provided: set exactly one of Token, ServiceAccount, or Cert";
        return Err(ProviderError::invalid(text));
    }
    let mut minted_for = None;
    let login = if let Some(token) = &auth.token {
        Login::Token(bearer_token(origin, &token.bearer_token).await?)
    } else if let Some(account) = &auth.service_account {
        let namespace = origin.scope().resolve(account.namespace.as_deref()).to_owned();
        minted_for = Some((namespace, account.name.clone()));
        Login::Token(minted_token(origin, account).await?)
    } else if let Some(cert) = &auth.cert {
        Login::Certificate(client_identity(origin, cert).await?)
    } else {
        return Err(ProviderError::invalid("no auth provider given"));
    };
    let tls = ca.is_some() || matches!(login, Login::Certificate(_));
    Ok(Target {
        server: with_scheme(url, tls),
        ca,
        login,
        minted_for,
    })
}

/// Go's client takes `http` for a host without scheme unless it has TLS settings.
fn with_scheme(url: &str, tls: bool) -> String {
    let url = url.trim_end_matches('/');
    match (url.contains("://"), tls) {
        (true, _) => url.to_owned(),
        (false, true) => format!("https://{url}"),
        (false, false) => format!("http://{url}"),
    }
}

/// A credential is never sent in clear text over a network (ESO would); this machine itself is allowed.
fn is_clear_text(server: &str) -> bool {
    let (host, _) = crate::cluster::go_error::host_and_port(server);
    let loopback = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    server.starts_with("http://") && !loopback
}

async fn bearer_token(origin: &Origin, selector: &SecretKeySelector) -> Result<Zeroizing<String>, ProviderError> {
    let prefix = "could not fetch Auth.Token.BearerToken";
    let value = origin.credentials.secret_key(origin.scope(), selector).await;
    let value = value.map_err(|error| ProviderError::invalid(format!("{prefix}: {error}")))?;
    clean_token(value.expose()).ok_or_else(|| {
        let text = format!(
            "key {:?} of secret {:?} holds no token: a token is one line of visible ASCII",
            selector.key, selector.name
        );
        ProviderError::invalid(format!("{prefix}: {text}"))
    })
}

/// White space around a token is never part of it (tools that write files end them with a line break); white space inside
/// makes it no token.
fn clean_token(bytes: &[u8]) -> Option<Zeroizing<String>> {
    let text = std::str::from_utf8(bytes).ok()?.trim_ascii();
    text.bytes()
        .all(|byte| byte.is_ascii_graphic())
        .then(|| Zeroizing::new(text.to_owned()))
}

async fn minted_token(origin: &Origin, account: &ServiceAccountSelector) -> Result<Zeroizing<String>, ProviderError> {
    let minted = origin
        .credentials
        .service_account_token(origin.scope(), account, &[], Some(TOKEN_SECONDS))
        .await;
    let minted =
        minted.map_err(|error| ProviderError::invalid(format!("could not fetch Auth.ServiceAccount: {error}")))?;
    clean_token(minted.expose())
        .ok_or_else(|| ProviderError::invalid("could not fetch Auth.ServiceAccount: the server returned no token"))
}

async fn client_identity(origin: &Origin, cert: &CertAuth) -> Result<ClientIdentity, ProviderError> {
    let read = async |what: &str, selector: &SecretKeySelector| {
        let value = origin.credentials.secret_key(origin.scope(), selector).await;
        value.map(crate::secret::SecretValue::into_exposed).map_err(|error| {
            ProviderError::invalid(format!(
                "could not fetch client key and cert: unable to fetch client {what}: {error}"
            ))
        })
    };
    let certificate = read("certificate", &cert.client_cert).await?;
    Ok(ClientIdentity {
        certificate,
        key: read("key", &cert.client_key).await?,
    })
}

async fn kubeconfig_target(origin: &Origin, selector: &SecretKeySelector) -> Result<Target, ProviderError> {
    let value = origin.credentials.secret_key(origin.scope(), selector).await;
    let value = value.map_err(|error| ProviderError::invalid(error.to_string()))?;
    let hash: [u8; 32] = Sha256::digest(value.expose()).into();
    let text = std::str::from_utf8(value.expose()).map_err(|_| {
        ProviderError::invalid(format!(
            "key {:?} of secret {:?} is not UTF-8",
            selector.key, selector.name
        ))
    })?;
    // The parser quotes the text it stumbles over, so its words are left out.
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(|_| {
        ProviderError::invalid(format!(
            "key {:?} of secret {:?} is no kubeconfig",
            selector.key, selector.name
        ))
    })?;
    let server = check_kubeconfig(&kubeconfig)?;
    Ok(Target {
        server,
        ca: None,
        login: Login::Kubeconfig(Box::new(kubeconfig), hash),
        minted_for: None,
    })
}

/// The server of the current context. A kubeconfig out of a Secret must carry everything itself: it may neither run a
/// command nor read a file of the machine this process runs on.
fn check_kubeconfig(kubeconfig: &Kubeconfig) -> Result<String, ProviderError> {
    let invalid = |text: String| Err(ProviderError::invalid(text));
    let Some(current) = kubeconfig.current_context.as_deref().filter(|name| !name.is_empty()) else {
        return invalid("invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable".to_owned());
    };
    let context = kubeconfig
        .contexts
        .iter()
        .find(|named| named.name == current)
        .and_then(|named| named.context.as_ref());
    let Some(context) = context else {
        return invalid(format!("context {current:?} does not exist"));
    };
    let cluster = kubeconfig
        .clusters
        .iter()
        .find(|named| named.name == context.cluster)
        .and_then(|named| named.cluster.as_ref());
    let Some(cluster) = cluster else {
        return invalid(format!("cluster {:?} does not exist", context.cluster));
    };
    if let Some(user) = &context.user {
        let found = kubeconfig
            .auth_infos
            .iter()
            .find(|named| &named.name == user)
            .and_then(|named| named.auth_info.as_ref());
        if let Some(field) = found.and_then(outside_field) {
            return invalid(format!(
                "kubeconfig user {user:?} uses {field}: a kubeconfig of authRef must hold its credential itself"
            ));
        }
    }
    if cluster.certificate_authority.is_some() {
        return invalid(format!(
            "kubeconfig cluster {:?} uses certificate-authority: a kubeconfig of authRef must hold its CA itself (certificate-authority-data)",
            context.cluster
        ));
    }
    match cluster.server.as_deref().filter(|server| !server.is_empty()) {
        Some(server) => Ok(with_scheme(server, true)),
        None => invalid(format!(
            "invalid configuration: no server found for cluster {:?}",
            context.cluster
        )),
    }
}

fn outside_field(user: &AuthInfo) -> Option<&'static str> {
    [
        (user.exec.is_some(), "exec"),
        (user.auth_provider.is_some(), "auth-provider"),
        (user.token_file.is_some(), "tokenFile"),
        (user.client_certificate.is_some(), "client-certificate"),
        (user.client_key.is_some(), "client-key"),
    ]
    .into_iter()
    .find_map(|(used, field)| used.then_some(field))
}

/// Open connections by server, CA and credential. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct Connections {
    open: Arc<Mutex<HashMap<ConnectionKey, Held>>>,
}

type ConnectionKey = (String, [u8; 32], [u8; 32]);

struct Held {
    client: Client,
    used: Instant,
}

impl Connections {
    /// The most connections kept; the one used longest ago goes first.
    const MOST: usize = 128;
    /// A connection nobody used for so long is dropped (rotated tokens leave such behind).
    const IDLE: Duration = Duration::from_secs(900);

    async fn get(&self, target: &Target) -> Result<Client, String> {
        let identity = target.identity("");
        let key = (identity.server, identity.ca, identity.credential);
        if let Some(held) = self.lock().get_mut(&key) {
            held.used = Instant::now();
            return Ok(held.client.clone());
        }
        let client = Client::try_from(target.config().await?).map_err(|error| super::go_client_error(&error))?;
        let mut open = self.lock();
        Self::make_room(&mut open);
        // Somebody else may have been quicker; one connection is enough.
        let held = open.entry(key).or_insert_with(|| Held {
            client,
            used: Instant::now(),
        });
        Ok(held.client.clone())
    }

    fn make_room(open: &mut HashMap<ConnectionKey, Held>) {
        let now = Instant::now();
        open.retain(|_, held| now.duration_since(held.used) < Self::IDLE);
        while open.len() >= Self::MOST {
            let oldest = open
                .iter()
                .min_by_key(|(_, held)| held.used)
                .map(|(key, _)| key.clone());
            let Some(key) = oldest else { break };
            open.remove(&key);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ConnectionKey, Held>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
