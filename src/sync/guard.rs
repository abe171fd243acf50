//! Is a live operator already serving this class? A ready Deployment, or a fresh Lease, says so.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::cluster::rest::Rest;

const DEPLOYMENTS: &str = "/apis/apps/v1/deployments?labelSelector=app.kubernetes.io%2Fname%3Dexternal-secrets";
const LEASES: &str = "/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3Dexternal-secrets-controller";

#[derive(Deserialize)]
struct List<T> {
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

#[derive(Deserialize)]
struct Meta {
    name: String,
    #[serde(default)]
    namespace: String,
}

#[derive(Deserialize)]
struct Deployment {
    metadata: Meta,
    #[serde(default)]
    status: DeploymentStatus,
    spec: DeploymentSpec,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct DeploymentStatus {
    #[serde(default)]
    ready_replicas: i32,
}

#[derive(Deserialize)]
struct DeploymentSpec {
    template: PodTemplate,
}

#[derive(Deserialize)]
struct PodTemplate {
    #[serde(default)]
    spec: PodSpec,
}

#[derive(Deserialize, Default)]
struct PodSpec {
    #[serde(default)]
    containers: Vec<Container>,
}

#[derive(Deserialize)]
struct Container {
    #[serde(default)]
    args: Vec<String>,
}

#[derive(Deserialize)]
struct Lease {
    metadata: Meta,
    #[serde(default)]
    spec: LeaseSpec,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct LeaseSpec {
    #[serde(default)]
    holder_identity: Option<String>,
    #[serde(default)]
    lease_duration_seconds: Option<i64>,
    #[serde(default)]
    renew_time: Option<Timestamp>,
}

/// What serves `class` here, in words; `None` if nothing was found (or nothing may be looked at).
pub async fn live_operator(rest: &Rest, class: &str, now: Timestamp) -> Option<String> {
    if let Ok(found) = rest.get::<List<Deployment>>(DEPLOYMENTS).await
        && let Some(live) = found.items.iter().find(|d| serves(d, class))
    {
        return Some(format!(
            "Deployment {}/{} is ready",
            live.metadata.namespace, live.metadata.name
        ));
    }
    let leases = rest.get::<List<Lease>>(LEASES).await.ok()?;
    let live = leases.items.iter().find(|l| is_fresh(l, now))?;
    let holder = live.spec.holder_identity.as_deref().unwrap_or_default();
    Some(format!(
        "Lease {}/{} is held by {holder}",
        live.metadata.namespace, live.metadata.name
    ))
}

fn serves(deployment: &Deployment, class: &str) -> bool {
    let args = deployment
        .spec
        .template
        .spec
        .containers
        .iter()
        .flat_map(|c| &c.args)
        .map(String::as_str);
    let mut named = None;
    let mut previous = "";
    for arg in args {
        if let Some(value) = arg.strip_prefix("--controller-class=") {
            named = Some(value);
        } else if previous == "--controller-class" {
            named = Some(arg);
        }
        previous = arg;
    }
    deployment.status.ready_replicas > 0 && named.unwrap_or("default") == class
}

fn is_fresh(lease: &Lease, now: Timestamp) -> bool {
    let life = SignedDuration::from_secs(lease.spec.lease_duration_seconds.unwrap_or(15));
    let held = lease.spec.holder_identity.as_ref().is_some_and(|h| !h.is_empty());
    held && lease.spec.renew_time.is_some_and(|t| now.duration_since(t) <= life)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Deployment, Lease, is_fresh, serves};

    fn deployment(ready: i32, args: &[&str]) -> Deployment {
        serde_json::from_value(json!({
            "metadata": {"name": "external-secrets", "namespace": "eso"}, "status": {"readyReplicas": ready},
            "spec": {"template": {"spec": {"containers": [{"args": args}]}}},
        }))
        .unwrap()
    }

    #[test]
    fn only_a_ready_deployment_of_the_same_class_counts() {
        assert!(serves(&deployment(1, &["--concurrent=1"]), "default"));
        assert!(!serves(&deployment(0, &[]), "default"));
        assert!(!serves(&deployment(1, &["--controller-class=x"]), "default"));
        assert!(serves(&deployment(1, &["--controller-class", "x"]), "x"));
    }

    #[test]
    fn a_lease_counts_while_it_is_renewed() {
        let lease: Lease = serde_json::from_value(json!({
            "metadata": {"name": "external-secrets-controller"},
            "spec": {"holderIdentity": "pod_1", "leaseDurationSeconds": 15, "renewTime": "2026-03-01T12:00:00.000000Z"},
        }))
        .unwrap();
        assert!(is_fresh(&lease, "2026-03-01T12:00:10Z".parse().unwrap()));
        assert!(!is_fresh(&lease, "2026-03-01T12:00:16Z".parse().unwrap()));
    }
}
