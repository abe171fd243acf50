//! The upstream as downstream clusters will see it: its address, the CA that verifies it, both found and proved.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use serde_json::Value;

use super::error::CliError;
use super::session::cluster_uid;
use crate::cluster::proof::{CaCandidate, choose_ca};
use crate::cluster::{Cluster, RequestError};
use crate::plan::bootstrap::{Address, AddressSources, addresses, check_address, kubeadm_url};

/// Flags about how downstream clusters reach the upstream.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct UpstreamArgs {
    /// Address of the upstream API server as downstream clusters reach it
    #[arg(long, value_name = "URL")]
    pub upstream_url: Option<String>,
    /// File with the CA certificate(s) that verify that address
    #[arg(long, value_name = "FILE")]
    pub upstream_ca: Option<std::path::PathBuf>,
    /// Allow an address that only this machine can reach (test clusters)
    #[arg(long)]
    pub allow_local_url: bool,
    /// Upstream namespace of the source Secrets
    #[arg(long, value_name = "NS", default_value = crate::plan::names::DATA_NAMESPACE)]
    pub data_namespace: String,
}

/// A proved way to the upstream.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// The cluster, through the user's own credential.
    pub cluster: Cluster,
    /// UID of its `kube-system`; empty where it may not be read.
    pub uid: String,
    /// The address and its source.
    pub address: Address,
    /// The CA and its source.
    pub ca: CaCandidate,
    /// Namespace of the source Secrets.
    pub data_namespace: String,
}

/// Finds address and CA and proves that they fit together.
///
/// # Errors
/// No candidate is usable, with the reason of each.
pub async fn find(cluster: Cluster, args: &UpstreamArgs) -> Result<Upstream, CliError> {
    let uid = cluster_uid(&cluster).await?.unwrap_or_default();
    let fleet = fleet_config(&cluster).await;
    let candidates = addresses(&sources(&cluster, args, fleet.as_ref()).await);
    let cas = ca_candidates(&cluster, args, fleet.as_ref()).await?;
    let mut refused: Vec<String> = Vec::new();
    for address in candidates {
        if let Err(e) = check_address(&address.url, args.allow_local_url) {
            refused.push(format!("{e} (from {})", address.source));
            continue;
        }
        match choose_ca(&address.url, &cluster.context, &cas).await {
            Ok(ca) => {
                return Ok(Upstream {
                    cluster,
                    uid,
                    address,
                    ca,
                    data_namespace: args.data_namespace.clone(),
                });
            }
            Err(e) => refused.push(format!(
                "{}: {} (from {})",
                e.reason.as_str(),
                e.message,
                address.source
            )),
        }
    }
    let hint = if refused.iter().any(|r| r.contains("local address")) {
        "pass --upstream-url URL with an address other clusters can reach, or --allow-local-url for test clusters"
    } else {
        "pass --upstream-url URL, and --upstream-ca FILE if its certificate comes from another authority"
    };
    Err(CliError::failed(
        "NoUsableAddress",
        format!(
            "no address of the upstream is usable for other clusters [{}]",
            cluster.context
        ),
    )
    .cause(refused.join("; "))
    .hint(hint))
}

async fn sources(cluster: &Cluster, args: &UpstreamArgs, fleet: Option<&Value>) -> AddressSources {
    if args.upstream_url.is_some() {
        return AddressSources {
            flag: args.upstream_url.clone(),
            ..AddressSources::default()
        };
    }
    let info = config_map(cluster, "kube-public", "cluster-info", "kubeconfig").await;
    let kubeadm = config_map(cluster, "kube-system", "kubeadm-config", "ClusterConfiguration").await;
    let in_yaml = |text: Option<String>, pointer: &str| {
        let value = crate::api::yaml::parse_value(&text?).ok()?;
        value.pointer(pointer)?.as_str().map(str::to_owned)
    };
    AddressSources {
        flag: None,
        fleet: fleet
            .and_then(|f| f.get("apiServerURL"))
            .and_then(Value::as_str)
            .map(str::to_owned),
        cluster_info: in_yaml(info, "/clusters/0/cluster/server"),
        kubeadm: in_yaml(kubeadm, "/controlPlaneEndpoint").and_then(|e| kubeadm_url(&e)),
        context: Some(cluster.server.clone()),
    }
}

/// `--upstream-ca`, the kubeconfig's CA, `kube-root-ca.crt`, Fleet's CA, the system's roots: the first that verifies
/// chain and host name is told to downstream clusters.
async fn ca_candidates(
    cluster: &Cluster,
    args: &UpstreamArgs,
    fleet: Option<&Value>,
) -> Result<Vec<CaCandidate>, CliError> {
    let candidate = |pem: String, source: &str| CaCandidate {
        pem: Some(pem),
        source: source.to_owned(),
    };
    if let Some(path) = &args.upstream_ca {
        let pem = std::fs::read_to_string(path).map_err(|e| {
            CliError::usage(format!("cannot read --upstream-ca {}", path.display()))
                .cause(e.to_string())
                .hint("check the path")
        })?;
        crate::cluster::proof::certificates(&pem).map_err(|e| {
            CliError::usage(format!("--upstream-ca {}", path.display()))
                .cause(e)
                .hint("pass a PEM file")
        })?;
        return Ok(vec![candidate(pem, "--upstream-ca")]);
    }
    let mut out = Vec::new();
    if let Some(pem) = cluster.ca_pem.as_ref().and_then(|p| String::from_utf8(p.clone()).ok()) {
        out.push(candidate(pem, "the kubeconfig's certificate authority"));
    }
    if let Some(pem) = config_map(cluster, "kube-system", "kube-root-ca.crt", "ca.crt").await {
        out.push(candidate(pem, "ConfigMap kube-root-ca.crt"));
    }
    if let Some(pem) = fleet
        .and_then(|f| f.get("apiServerCA"))
        .and_then(Value::as_str)
        .and_then(decode)
    {
        out.push(candidate(pem, "Fleet's configuration (apiServerCA)"));
    }
    out.push(CaCandidate {
        pem: None,
        source: "the system's roots".to_owned(),
    });
    Ok(out)
}

fn decode(text: &str) -> Option<String> {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    String::from_utf8(bytes).ok()
}

async fn fleet_config(cluster: &Cluster) -> Option<Value> {
    let text = config_map(cluster, "cattle-fleet-system", "fleet-controller", "config").await?;
    serde_json::from_str(&text).ok()
}

/// A key of a ConfigMap that may well be absent or forbidden: then that source simply has nothing to say.
async fn config_map(cluster: &Cluster, namespace: &str, name: &str, key: &str) -> Option<String> {
    let api: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), namespace);
    let found = cluster
        .call(
            "get",
            &format!("configmap/{name} in namespace {namespace:?}"),
            api.get_opt(name),
        )
        .await;
    found.ok().flatten()?.data?.remove(key)
}

/// Whether a namespace exists.
///
/// # Errors
/// The server's refusal.
pub async fn namespace_exists(cluster: &Cluster, name: &str) -> Result<bool, RequestError> {
    let api: Api<Namespace> = Api::all(cluster.client.clone());
    Ok(cluster
        .call("get", &format!("namespace/{name}"), api.get_opt(name))
        .await?
        .is_some())
}
