//! The upstream's objects: the data namespace, the reader Role, the shared account and its binding.

use serde_json::{Value, json};

use super::Manifest;
use super::names::{LABEL_MANAGED_BY, LABEL_PART, MANAGED_BY, Part, READER_ROLE, STORE};

/// What the user wants of `bootstrap`.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Namespace of the source Secrets.
    pub namespace: String,
    /// `--secrets`: the Role is limited to these names; `None` means all Secrets of the namespace.
    pub secrets: Option<Vec<String>>,
}

/// Namespace, Role, ServiceAccount, RoleBinding, in apply order.
pub fn objects(spec: &Spec) -> Vec<Manifest> {
    let ns = &spec.namespace;
    vec![
        namespace(ns),
        role(ns, READER_ROLE, &reader_rules(spec.secrets.as_deref()), None),
        service_account(ns, STORE, None, &Value::Null),
        role_binding(ns, STORE, READER_ROLE, (ns, STORE), None),
    ]
}

/// A Namespace; only the managed-by label, since it may hold other people's things too.
pub fn namespace(name: &str) -> Manifest {
    Manifest::ours(json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": {LABEL_MANAGED_BY: MANAGED_BY}},
    }))
}

/// Rules that let a store read Secrets. `get`, `list` and `watch` on single names work through the field selector
/// `metadata.name`; an empty name list gives no rule at all, since RBAC reads an empty `resourceNames` as "all".
pub fn reader_rules(names: Option<&[String]>) -> Value {
    match names {
        None => json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}]),
        Some([]) => json!([]),
        Some(names) => {
            let mut sorted = names.to_vec();
            sorted.sort();
            sorted.dedup();
            json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"], "resourceNames": sorted}])
        }
    }
}

/// A Role of ours; `cluster` labels it as belonging to one downstream.
pub fn role(namespace: &str, name: &str, rules: &Value, cluster: Option<&str>) -> Manifest {
    Manifest::ours(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": name, "namespace": namespace, "labels": labels(Part::Identity, cluster)},
        "rules": rules,
    }))
}

/// A ServiceAccount that no pod mounts by itself.
pub fn service_account(namespace: &str, name: &str, cluster: Option<&str>, annotations: &Value) -> Manifest {
    let mut object = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace, "labels": labels(Part::Identity, cluster)},
        "automountServiceAccountToken": false,
    });
    if !annotations.is_null() {
        object["metadata"]["annotations"] = annotations.clone();
    }
    Manifest::ours(object)
}

/// Binds a Role of `namespace` to an account, given as (namespace, name).
pub fn role_binding(namespace: &str, name: &str, role: &str, account: (&str, &str), cluster: Option<&str>) -> Manifest {
    Manifest::ours(json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace, "labels": labels(Part::Identity, cluster)},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account.1, "namespace": account.0}],
    }))
}

/// Our labels for a part, perhaps of one downstream.
pub fn labels(part: Part, cluster: Option<&str>) -> Value {
    use super::names::LABEL_CLUSTER;
    let mut labels = json!({LABEL_MANAGED_BY: MANAGED_BY, LABEL_PART: part.as_str()});
    if let Some(cid) = cluster {
        labels[LABEL_CLUSTER] = json!(cid);
    }
    labels
}

/// How an API server's address was found; printed beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// `https://host:port`, no trailing slash.
    pub url: String,
    /// Where it came from, in words.
    pub source: String,
}

/// Why an address cannot be told to downstream clusters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Credentials would travel in clear.
    #[error("{0} is not an https address")]
    NotHttps(String),
    /// It means something else, or nothing, on another machine.
    #[error("{0} is a local address: other clusters cannot reach it")]
    Local(String),
    /// It does not parse.
    #[error("{0} is not a URL")]
    NotAUrl(String),
}

/// Names under which local tools forward a cluster or its node to the host.
const HOST_NAMES: [&str; 4] = [
    "host.docker.internal",
    "host.containers.internal",
    "kubernetes.docker.internal",
    "host.k3d.internal",
];

/// Checks an address for downstream use; `allow_local` is `--allow-local-url`.
///
/// # Errors
/// Which rule it breaks.
pub fn check_address(url: &str, allow_local: bool) -> Result<(), AddressError> {
    let uri: http::Uri = url.parse().map_err(|_| AddressError::NotAUrl(url.to_owned()))?;
    if uri.scheme_str() != Some("https") {
        return Err(AddressError::NotHttps(url.to_owned()));
    }
    let host = uri
        .host()
        .unwrap_or_default()
        .trim_matches(['[', ']'])
        .to_ascii_lowercase();
    if host.is_empty() {
        return Err(AddressError::NotAUrl(url.to_owned()));
    }
    let local_ip = host.parse::<std::net::IpAddr>().is_ok_and(|ip| match ip {
        std::net::IpAddr::V4(v4) => v4.is_loopback() || v4.is_unspecified() || v4.is_link_local(),
        std::net::IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified() || v6.is_unicast_link_local(),
    });
    let local_name = host == "localhost"
        || [".localhost", ".local", ".svc", ".svc.cluster.local"]
            .iter()
            .any(|s| host.ends_with(s))
        || HOST_NAMES.contains(&host.as_str())
        || !host.contains('.') && host.parse::<std::net::IpAddr>().is_err();
    if (local_ip || local_name) && !allow_local {
        return Err(AddressError::Local(url.to_owned()));
    }
    Ok(())
}

/// Candidate addresses in order of trust (DESIGN: flag, Fleet, cluster-info, kubeadm-config, the context's server).
#[derive(Debug, Clone, Default)]
pub struct AddressSources {
    /// `--upstream-url`.
    pub flag: Option<String>,
    /// `apiServerURL` of Fleet's ConfigMap `fleet-controller`.
    pub fleet: Option<String>,
    /// `kubeconfig` of ConfigMap `cluster-info` in `kube-public`.
    pub cluster_info: Option<String>,
    /// `ClusterConfiguration` of ConfigMap `kubeadm-config` in `kube-system`.
    pub kubeadm: Option<String>,
    /// `server` of the upstream context.
    pub context: Option<String>,
}

/// The candidates in order, cleaned and without duplicates.
pub fn addresses(sources: &AddressSources) -> Vec<Address> {
    if let Some(url) = &sources.flag {
        return vec![Address {
            url: clean(url),
            source: "--upstream-url".to_owned(),
        }];
    }
    let listed = [
        (&sources.fleet, "Fleet's configuration (apiServerURL)"),
        (&sources.cluster_info, "ConfigMap kube-public/cluster-info"),
        (&sources.kubeadm, "ConfigMap kube-system/kubeadm-config"),
        (&sources.context, "the server of this kubeconfig context"),
    ];
    let mut out: Vec<Address> = Vec::new();
    for (url, source) in listed {
        let Some(url) = url.as_deref().map(clean).filter(|u| !u.is_empty()) else {
            continue;
        };
        if !out.iter().any(|a| a.url == url) {
            out.push(Address {
                url,
                source: source.to_owned(),
            });
        }
    }
    out
}

fn clean(url: &str) -> String {
    url.trim().trim_end_matches('/').to_owned()
}

/// `controlPlaneEndpoint` of kubeadm's ClusterConfiguration: no scheme, port 6443 unless given.
pub fn kubeadm_url(endpoint: &str) -> Option<String> {
    let endpoint = endpoint.trim();
    if endpoint.is_empty() {
        return None;
    }
    let has_port = endpoint
        .rsplit_once(':')
        .is_some_and(|(h, p)| p.parse::<u16>().is_ok() && (!h.contains(':') || h.ends_with(']')));
    Some(if has_port {
        format!("https://{endpoint}")
    } else {
        format!("https://{endpoint}:6443")
    })
}

#[cfg(test)]
mod tests {
    use super::{AddressSources, Spec, addresses, check_address, kubeadm_url, objects, reader_rules};

    #[test]
    fn makes_the_four_objects_in_order() {
        let made = objects(&Spec {
            namespace: "eso-data".to_owned(),
            secrets: None,
        });
        let names: Vec<String> = made.iter().map(super::Manifest::display).collect();
        assert_eq!(
            names,
            [
                "namespace/eso-data",
                "role.rbac.authorization.k8s.io/eso-store-role",
                "serviceaccount/upstream-store",
                "rolebinding.rbac.authorization.k8s.io/upstream-store",
            ]
        );
    }

    #[test]
    fn an_empty_name_list_gives_no_rule() {
        assert_eq!(reader_rules(Some(&[])), serde_json::json!([]));
        assert_eq!(
            reader_rules(Some(&["b".to_owned(), "a".to_owned(), "b".to_owned()]))[0]["resourceNames"],
            serde_json::json!(["a", "b"])
        );
    }

    #[test]
    fn refuses_addresses_that_mean_another_machine_elsewhere() {
        for url in [
            "https://127.0.0.1:6443",
            "https://localhost:6443",
            "https://0.0.0.0:1",
            "https://[::1]:6443",
            "https://kind-control-plane:6443",
            "https://169.254.1.1",
            "https://kubernetes.default.svc",
            "https://host.docker.internal:6443",
            "https://nas.local",
        ] {
            assert!(check_address(url, false).is_err(), "{url}");
            assert!(check_address(url, true).is_ok(), "{url}");
        }
        assert!(check_address("http://api.example.com", true).is_err());
        assert!(check_address("https://api.example.com:6443", false).is_ok());
        assert!(check_address("https://10.0.0.5:6443", false).is_ok());
        assert!(check_address("https://[2001:db8::1]:6443", false).is_ok());
    }

    #[test]
    fn the_flag_beats_discovery_and_duplicates_vanish() {
        let sources = AddressSources {
            cluster_info: Some("https://a/".to_owned()),
            context: Some("https://a".to_owned()),
            ..AddressSources::default()
        };
        assert_eq!(addresses(&sources).len(), 1);
        let flagged = AddressSources {
            flag: Some("https://b".to_owned()),
            ..sources
        };
        assert_eq!(addresses(&flagged)[0].url, "https://b");
    }

    #[test]
    fn kubeadm_endpoints_get_scheme_and_port() {
        assert_eq!(kubeadm_url("cp.example.com").unwrap(), "https://cp.example.com:6443");
        assert_eq!(kubeadm_url("cp.example.com:443").unwrap(), "https://cp.example.com:443");
        assert_eq!(kubeadm_url("[2001:db8::1]:443").unwrap(), "https://[2001:db8::1]:443");
        assert_eq!(kubeadm_url(" "), None);
    }
}
