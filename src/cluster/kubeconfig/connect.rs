//! One context → one [`Cluster`]: overrides, headers, proxy, time limits.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use kube::Client;
use kube::client::ClientBuilder;
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};

use super::{ConfigError, ConnectOptions, Environment, Loaded, proxy};
use crate::cluster::Cluster;
use crate::cluster::http_log::{HttpLogLayer, Warnings};

/// How long a TCP and TLS handshake may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Builds the client of `context`. Sends nothing; an exec plugin runs here, on the blocking pool.
///
/// # Errors
/// [`ConfigError`] for anything wrong with the local configuration.
pub async fn connect(
    loaded: &Loaded,
    context: &str,
    options: &ConnectOptions,
    env: &Environment,
) -> Result<Cluster, ConfigError> {
    let invalid = |message: String| ConfigError::Invalid {
        context: context.to_owned(),
        message,
    };
    let mut config = match &loaded.config {
        None => in_cluster(env).map_err(invalid)?,
        Some(kubeconfig) => {
            let prepared = prepare(kubeconfig, context, options)?;
            let selected = KubeConfigOptions {
                context: Some(context.to_owned()),
                cluster: None,
                user: None,
            };
            let no_cluster_proxy = cluster_proxy(&prepared, context).is_none();
            let mut config = Config::from_custom_kubeconfig(prepared, &selected)
                .await
                .map_err(|e| invalid(crate::cluster::request_error::one_line(&e.to_string())))?;
            if no_cluster_proxy {
                config.proxy_url = proxy::from_environment(&config.cluster_url, env).map_err(invalid)?;
            }
            config
        }
    };
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config.headers.extend(headers(options).map_err(invalid)?);
    if config.cluster_url.scheme_str() == Some("http") {
        // client-go sends credentials over TLS only.
        config.auth_info = AuthInfo::default();
    }
    let namespace = options
        .namespace
        .clone()
        .or_else(|| loaded.namespace_of(context))
        .unwrap_or_else(|| default_namespace(loaded, &config));
    let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let ca_pem = config.root_cert.as_ref().map(|ders| to_pem(ders));
    let (label, warnings) = (context.to_owned(), options.warnings.clone());
    let client = tokio::task::spawn_blocking(move || build(config, &label, warnings))
        .await
        .map_err(|e| invalid(e.to_string()))?
        .map_err(invalid)?;
    Ok(Cluster {
        context: context.to_owned(),
        namespace,
        server,
        ca_pem,
        client,
        request_timeout: options.request_timeout,
    })
}

/// kube runs exec plugins while building; that blocks, so it happens on the blocking pool.
fn build(config: Config, context: &str, warnings: Warnings) -> Result<Client, String> {
    let exec = config.auth_info.exec.as_ref().map(|e| {
        let hint = e.command.clone().unwrap_or_default();
        hint.rsplit('/').next().unwrap_or_default().to_owned()
    });
    let builder = ClientBuilder::try_from(config).map_err(|e| match (&e, exec) {
        // kube's text may hold the plugin's environment and stdout.
        (kube::Error::Auth(_), Some(command)) => {
            format!("the credential plugin {command:?} failed; run it by hand to see why")
        }
        _ => crate::cluster::request_error::one_line(&e.to_string()),
    })?;
    Ok(builder.with_layer(&HttpLogLayer::new(context, warnings)).build())
}

fn in_cluster(env: &Environment) -> Result<Config, String> {
    let mut config = Config::incluster().map_err(|e| crate::cluster::request_error::one_line(&e.to_string()))?;
    if let Some(ns) = env.pod_namespace.as_ref().filter(|n| !n.is_empty()) {
        config.default_namespace.clone_from(ns);
    }
    Ok(config)
}

fn default_namespace(loaded: &Loaded, config: &Config) -> String {
    if loaded.config.is_none() {
        config.default_namespace.clone()
    } else {
        "default".to_owned()
    }
}

/// The kubeconfig with the flags of [`super::Overrides`] worked into the entries this context uses.
fn prepare(kubeconfig: &Kubeconfig, context: &str, options: &ConnectOptions) -> Result<Kubeconfig, ConfigError> {
    let mut config = kubeconfig.clone();
    let overrides = &options.overrides;
    let entry = config
        .contexts
        .iter_mut()
        .find(|c| c.name == context)
        .and_then(|c| c.context.as_mut())
        .ok_or_else(|| ConfigError::UnknownContext {
            name: context.to_owned(),
            nearest: Vec::new(),
        })?;
    if let Some(cluster) = &overrides.cluster {
        entry.cluster.clone_from(cluster);
    }
    if let Some(user) = &overrides.user {
        entry.user = Some(user.clone());
    }
    let (cluster_name, user_name) = (entry.cluster.clone(), entry.user.clone().unwrap_or_default());
    let cluster = config
        .clusters
        .iter_mut()
        .find(|c| c.name == cluster_name)
        .and_then(|c| c.cluster.as_mut())
        .ok_or(ConfigError::UnknownEntry {
            what: "cluster",
            name: cluster_name,
        })?;
    override_cluster(cluster, options);
    if !user_name.is_empty() {
        let user = config
            .auth_infos
            .iter_mut()
            .find(|u| u.name == user_name)
            .ok_or(ConfigError::UnknownEntry {
                what: "user",
                name: user_name,
            })?;
        override_user(user.auth_info.get_or_insert_with(AuthInfo::default), options);
    }
    super::tame_exec(&mut config, options.stdin_free);
    Ok(config)
}

fn override_cluster(cluster: &mut kube::config::Cluster, options: &ConnectOptions) {
    let overrides = &options.overrides;
    if let Some(server) = &overrides.server {
        cluster.server = Some(server.clone());
        cluster.tls_server_name = None;
    }
    if let Some(ca) = &overrides.certificate_authority {
        cluster.certificate_authority = Some(ca.to_string_lossy().into_owned());
        cluster.certificate_authority_data = None;
        cluster.insecure_skip_tls_verify = None;
    }
    if overrides.insecure {
        cluster.insecure_skip_tls_verify = Some(true);
        if overrides.certificate_authority.is_none() {
            cluster.certificate_authority = None;
            cluster.certificate_authority_data = None;
        }
    }
    if let Some(name) = &overrides.tls_server_name {
        cluster.tls_server_name = Some(name.clone());
    }
}

fn override_user(user: &mut AuthInfo, options: &ConnectOptions) {
    let overrides = &options.overrides;
    if let Some(path) = &overrides.client_certificate {
        user.client_certificate = Some(path.to_string_lossy().into_owned());
        user.client_certificate_data = None;
    }
    if let Some(path) = &overrides.client_key {
        user.client_key = Some(path.to_string_lossy().into_owned());
        user.client_key_data = None;
    }
    if let Some(token) = &overrides.token {
        user.token = Some(token.to_string().into());
        user.token_file = None;
        user.exec = None;
    }
    let who = &options.impersonate;
    if let Some(name) = &who.user {
        user.impersonate = Some(name.clone());
        user.impersonate_uid.clone_from(&who.uid);
        user.impersonate_groups = (!who.groups.is_empty()).then(|| who.groups.clone());
        user.impersonate_user_extra = (!who.extra.is_empty()).then(|| {
            let mut all: std::collections::HashMap<String, Vec<String>> = std::collections::HashMap::new();
            for (key, value) in &who.extra {
                all.entry(key.clone()).or_default().push(value.clone());
            }
            all
        });
    }
}

fn cluster_proxy(kubeconfig: &Kubeconfig, context: &str) -> Option<String> {
    let name = &kubeconfig
        .contexts
        .iter()
        .find(|c| c.name == context)?
        .context
        .as_ref()?
        .cluster;
    let cluster = kubeconfig.clusters.iter().find(|c| &c.name == name)?.cluster.as_ref()?;
    cluster.proxy_url.clone().filter(|p| !p.is_empty())
}

/// User-Agent, and the two headers of KEP 859; flag values never travel.
fn headers(options: &ConnectOptions) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let agent = format!(
        "kubectl-eso/{} ({}/{})",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    );
    let pairs = [
        ("user-agent", agent),
        ("kubectl-command", format!("kubectl eso {}", options.command)),
        ("kubectl-session", options.session.clone()),
    ];
    pairs
        .into_iter()
        .map(|(name, value)| {
            let value = HeaderValue::from_str(&value).map_err(|e| e.to_string())?;
            Ok((HeaderName::from_static(name), value))
        })
        .collect()
}

fn to_pem(ders: &[Vec<u8>]) -> Vec<u8> {
    use base64::Engine;
    let mut out = String::new();
    for der in ders {
        out.push_str("-----BEGIN CERTIFICATE-----\n");
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (line, tail) = rest.split_at(rest.len().min(64));
            out.push_str(line);
            out.push('\n');
            rest = tail;
        }
        out.push_str("-----END CERTIFICATE-----\n");
    }
    out.into_bytes()
}
