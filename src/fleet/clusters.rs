//! Fleet's `Cluster` objects: what they say about a cluster and how to reach it.
use std::collections::BTreeMap;

use serde_json::Value;

use super::error::FleetError;
use super::kubeconfig::{Access, AccessSource, check};
use super::object::{condition_message, describe, flag, seconds, secret_key, text, text_map};

/// Label with the name Rancher shows for a cluster.
pub const DISPLAY_NAME: &str = "management.cattle.io/cluster-display-name";
/// Label of clusters that another system manages.
const MANAGED: &str = "fleet.cattle.io/cluster-management";
/// Key of a kubeconfig in its Secret (the format of Cluster API).
const KUBECONFIG_KEY: &str = "value";
/// Namespaces a Cluster may take its kubeconfig from, beside its own and those that start `cluster-`.
const KUBECONFIG_NAMESPACES: [&str; 6] = [
    "fleet-local",
    "fleet-default",
    "cattle-fleet-system",
    "fleet-system",
    "cattle-fleet-clusters-system",
    "fleet-clusters-system",
];

/// A cluster as Fleet knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetCluster {
    /// Namespace of the Cluster object; decides which bundles can match.
    pub namespace: String,
    /// Name of the Cluster object.
    pub name: String,
    /// Rancher's name for it, or its own.
    pub display_name: String,
    /// Labels, for selectors.
    pub labels: BTreeMap<String, String>,
    /// Namespace on the hub that holds its BundleDeployments; empty until Fleet made it.
    pub cluster_namespace: String,
    /// How it can be reached from the hub's data.
    pub reach: Reach,
    /// Deployments are not updated.
    pub paused: bool,
    /// Worst state of its bundles; empty when all are ready, `WaitCheckIn` before the agent was seen.
    pub state: String,
    /// `ready/desired` bundles.
    pub ready_bundles: String,
    /// Seconds since 1970 at which the agent was last seen.
    pub last_seen: Option<i64>,
    /// Text of the Ready condition.
    pub message: String,
}

/// How a cluster can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Through the kubeconfig in this Secret.
    Secret {
        /// Namespace of the Secret.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Its agent registered itself: the hub holds no kubeconfig.
    AgentOnly,
    /// Another system manages it.
    ManagedElsewhere,
    /// The Cluster names a namespace that Fleet would not read either.
    Refused {
        /// That namespace.
        namespace: String,
    },
}

impl FleetCluster {
    /// Reads a Cluster object.
    ///
    /// # Errors
    /// An object without a name.
    pub fn parse(object: &Value) -> Result<Self, FleetError> {
        let name = text(object, "/metadata/name");
        if name.is_empty() {
            return Err(FleetError::Object {
                object: describe(object),
                problem: "has no name".to_owned(),
            });
        }
        let labels = text_map(object, "/metadata/labels");
        Ok(Self {
            namespace: text(object, "/metadata/namespace").to_owned(),
            name: name.to_owned(),
            display_name: labels.get(DISPLAY_NAME).cloned().unwrap_or_else(|| name.to_owned()),
            reach: reach(object, &labels),
            labels,
            cluster_namespace: text(object, "/status/namespace").to_owned(),
            paused: flag(object, "/spec/paused"),
            state: text(object, "/status/display/state").to_owned(),
            ready_bundles: text(object, "/status/display/readyBundles").to_owned(),
            last_seen: seconds(text(object, "/status/agent/lastSeen")).filter(|seen| *seen > 0),
            message: condition_message(object, "Ready").to_owned(),
        })
    }

    /// Access by the kubeconfig Secret that [`FleetCluster::reach`] names.
    ///
    /// # Errors
    /// A Secret without the key, or a kubeconfig this program refuses.
    pub fn access(&self, secret: &Value, allow_insecure: bool) -> Result<Access, FleetError> {
        let kubeconfig = secret_key(secret, KUBECONFIG_KEY)?;
        let summary = check(&self.display_name, kubeconfig.expose(), allow_insecure)?;
        Ok(Access {
            name: self.display_name.clone(),
            source: AccessSource::Fleet,
            server: summary.server,
            namespace: summary.namespace,
            kubeconfig,
        })
    }

    /// Why there is no access, in words; empty when there is.
    #[must_use]
    pub fn unreachable(&self) -> String {
        match &self.reach {
            Reach::Secret { .. } => String::new(),
            Reach::AgentOnly => "registered by its agent: the hub holds no kubeconfig for it".to_owned(),
            Reach::ManagedElsewhere => format!("managed by another system (label {MANAGED})"),
            Reach::Refused { namespace } => {
                format!("its kubeconfig Secret would be in namespace {namespace}, which is not allowed")
            }
        }
    }
}

fn reach(object: &Value, labels: &BTreeMap<String, String>) -> Reach {
    let own = text(object, "/metadata/namespace");
    let name = text(object, "/spec/kubeConfigSecret");
    let namespace = text(object, "/spec/kubeConfigSecretNamespace");
    let namespace = if namespace.is_empty() { own } else { namespace };
    if labels.get(MANAGED).is_some_and(|value| !value.is_empty()) {
        Reach::ManagedElsewhere
    } else if name.is_empty() {
        Reach::AgentOnly
    } else if namespace == own || KUBECONFIG_NAMESPACES.contains(&namespace) || namespace.starts_with("cluster-") {
        Reach::Secret {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    } else {
        Reach::Refused {
            namespace: namespace.to_owned(),
        }
    }
}

/// Whether a cluster matches a label selector of the API's form. An absent selector matches nothing, an
/// empty one everything.
#[must_use]
pub fn selects(selector: Option<&Value>, labels: &BTreeMap<String, String>) -> bool {
    let Some(selector) = selector else { return false };
    let equal = text_map(selector, "/matchLabels")
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value));
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    equal
        && expressions.into_iter().flatten().all(|expression| {
            let found = labels.get(text(expression, "/key"));
            let values = expression.get("values").and_then(Value::as_array);
            let listed =
                found.is_some_and(|found| values.into_iter().flatten().any(|value| value.as_str() == Some(found)));
            match text(expression, "/operator") {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                _ => false,
            }
        })
}
