//! Where a bundle stands on every cluster, and why it does not move.
use serde_json::Value;

use super::clusters::FleetCluster;
use super::object::{condition, condition_message, flag, number, text};

/// States of a deployment, from good to bad: Fleet's ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Everything is there and unchanged.
    Ready,
    /// Objects are there, some not ready.
    NotReady,
    /// Matched, but no deployment exists yet.
    Pending,
    /// A newer version is held back.
    OutOfSync,
    /// Somebody changed objects on the cluster.
    Modified,
    /// Not yet applied by the agent.
    WaitApplied,
    /// The agent could not apply it.
    ErrApplied,
}

impl State {
    /// Fleet's word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "Ready",
            Self::NotReady => "NotReady",
            Self::Pending => "Pending",
            Self::OutOfSync => "OutOfSync",
            Self::Modified => "Modified",
            Self::WaitApplied => "WaitApplied",
            Self::ErrApplied => "ErrApplied",
        }
    }

    /// State of a BundleDeployment, decided in Fleet's order.
    #[must_use]
    pub fn of(deployment: &Value) -> Self {
        let wanted = text(deployment, "/spec/deploymentID");
        if text(deployment, "/status/appliedDeploymentID") != wanted {
            let failed =
                condition(deployment, "Deployed").is_some_and(|condition| text(condition, "/status") == "False");
            if failed { Self::ErrApplied } else { Self::WaitApplied }
        } else if !flag(deployment, "/status/ready") {
            Self::NotReady
        } else if wanted != text(deployment, "/spec/stagedDeploymentID") {
            Self::OutOfSync
        } else if !flag(deployment, "/status/nonModified") {
            Self::Modified
        } else {
            Self::Ready
        }
    }
}

/// Why a deployment does not get on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The bundle or its deployment is paused.
    BundlePaused,
    /// The cluster is paused.
    ClusterPaused,
    /// The cluster is outside its schedule.
    OffSchedule,
    /// The hub has not yet made the deployment's values.
    WaitingForValues,
    /// The agent was last seen this many seconds ago; `None`: never.
    Offline(Option<i64>),
    /// Another bundle has to become ready first.
    DependsOn,
    /// Objects need a CRD that is not there yet.
    MissingKind,
    /// A webhook refuses or does not answer; it often has no certificate yet.
    Webhook,
    /// The service account may not do what the bundle needs.
    Forbidden,
    /// The bundle breaks a Policy of its namespace.
    Policy,
    /// Fewer objects are listed than differ.
    Incomplete,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::BundlePaused => "the bundle is paused",
            Self::ClusterPaused => "the cluster is paused",
            Self::OffSchedule => "the cluster is outside its schedule",
            Self::WaitingForValues => "the hub has not made its values yet",
            Self::Offline(None) => "its agent was never seen",
            Self::Offline(Some(age)) => return write!(f, "its agent was last seen {} minutes ago", age / 60),
            Self::DependsOn => "it waits for another bundle (dependsOn)",
            Self::MissingKind => "a CRD is missing; it heals when the operator's bundle is there",
            Self::Webhook => "a webhook refuses or does not answer yet",
            Self::Forbidden => "the bundle's service account lacks permissions",
            Self::Policy => "a Policy of the namespace forbids it",
            Self::Incomplete => "more objects differ than are listed",
        })
    }
}

/// One cluster's part of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentStatus {
    /// Display name of the cluster.
    pub cluster: String,
    /// Cluster namespace on the hub.
    pub cluster_namespace: String,
    /// Where it stands.
    pub state: State,
    /// Fleet's message for it.
    pub message: String,
    /// Reasons this program recognises, none twice.
    pub reasons: Vec<Reason>,
    /// Objects that are not ready or were changed, in words.
    pub objects: Vec<String>,
}

/// A bundle on all its clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleStatus {
    /// Namespace of the bundle.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Generation of its spec.
    pub generation: i64,
    /// Generation its status belongs to.
    pub observed_generation: i64,
    /// Clusters that are ready.
    pub ready: i64,
    /// Clusters that match.
    pub desired: i64,
    /// Text of the Ready condition.
    pub message: String,
    /// One per cluster, in the order of display names.
    pub deployments: Vec<DeploymentStatus>,
}

/// Agents check in every 15 minutes; after three missed times a cluster counts as unreachable.
pub const OFFLINE_AFTER_SECONDS: i64 = 3 * 15 * 60;

/// Joins a Bundle with its BundleDeployments and the Clusters. `now` is in seconds since 1970.
///
/// `deployments` may hold those of other bundles; they are left out.
#[must_use]
pub fn bundle_status(bundle: &Value, deployments: &[Value], clusters: &[FleetCluster], now: i64) -> BundleStatus {
    let (namespace, name) = (text(bundle, "/metadata/namespace"), text(bundle, "/metadata/name"));
    let label = |deployment: &Value, key: &str| {
        text(deployment, &format!("/metadata/labels/fleet.cattle.io~1{key}")).to_owned()
    };
    let mut rows: Vec<DeploymentStatus> = deployments
        .iter()
        .filter(|deployment| {
            label(deployment, "bundle-name") == name && label(deployment, "bundle-namespace") == namespace
        })
        .map(|deployment| {
            let home = text(deployment, "/metadata/namespace");
            let cluster = clusters
                .iter()
                .find(|cluster| cluster.cluster_namespace == home && !home.is_empty());
            row(bundle, deployment, cluster, &label(deployment, "cluster"), now)
        })
        .collect();
    rows.extend(pending(bundle, clusters, &rows, now));
    rows.sort_by(|a, b| (&a.cluster, &a.cluster_namespace).cmp(&(&b.cluster, &b.cluster_namespace)));
    BundleStatus {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        generation: number(bundle, "/metadata/generation"),
        observed_generation: number(bundle, "/status/observedGeneration"),
        ready: number(bundle, "/status/summary/ready"),
        desired: number(bundle, "/status/summary/desiredReady"),
        message: condition_message(bundle, "Ready").to_owned(),
        deployments: rows,
    }
}

fn row(bundle: &Value, deployment: &Value, cluster: Option<&FleetCluster>, label: &str, now: i64) -> DeploymentStatus {
    let state = State::of(deployment);
    let message = message(deployment);
    let mut reasons = Vec::new();
    if state != State::Ready {
        if flag(bundle, "/spec/paused")
            || flag(deployment, "/spec/paused") && !cluster.is_some_and(|cluster| cluster.paused)
        {
            reasons.push(Reason::BundlePaused);
        }
        for (path, reason) in [
            ("/spec/offSchedule", Reason::OffSchedule),
            ("/spec/waitingForValues", Reason::WaitingForValues),
        ] {
            if flag(deployment, path) {
                reasons.push(reason);
            }
        }
        if let Some(cluster) = cluster {
            of_cluster(cluster, now, &mut reasons);
        }
        of_message(
            &format!("{message} {}", condition_message(bundle, "Ready")),
            &message,
            &mut reasons,
        );
        if flag(deployment, "/status/incompleteState") {
            reasons.push(Reason::Incomplete);
        }
    }
    DeploymentStatus {
        cluster: cluster.map_or_else(|| label.to_owned(), |cluster| cluster.display_name.clone()),
        cluster_namespace: text(deployment, "/metadata/namespace").to_owned(),
        state,
        message,
        reasons,
        objects: objects(deployment),
    }
}

/// Matched clusters without a deployment only show in the bundle's summary, at most ten of them.
fn pending(bundle: &Value, clusters: &[FleetCluster], rows: &[DeploymentStatus], now: i64) -> Vec<DeploymentStatus> {
    let listed = bundle
        .pointer("/status/summary/nonReadyResources")
        .and_then(Value::as_array);
    listed
        .into_iter()
        .flatten()
        .filter(|entry| text(entry, "/bundleState") == "Pending")
        .filter_map(|entry| {
            let name = text(entry, "/name");
            let cluster = clusters
                .iter()
                .find(|cluster| format!("{}/{}", cluster.namespace, cluster.name) == name);
            let home = cluster.map_or("", |cluster| cluster.cluster_namespace.as_str());
            if !home.is_empty() && rows.iter().any(|row| row.cluster_namespace == home) {
                return None;
            }
            let mut reasons = Vec::new();
            if flag(bundle, "/spec/paused") {
                reasons.push(Reason::BundlePaused);
            }
            if let Some(cluster) = cluster {
                of_cluster(cluster, now, &mut reasons);
            }
            let message = text(entry, "/message").to_owned();
            of_message(
                &format!("{message} {}", condition_message(bundle, "Ready")),
                &message,
                &mut reasons,
            );
            Some(DeploymentStatus {
                cluster: cluster.map_or_else(|| name.to_owned(), |cluster| cluster.display_name.clone()),
                cluster_namespace: home.to_owned(),
                state: State::Pending,
                message,
                reasons,
                objects: Vec::new(),
            })
        })
        .collect()
}

fn of_cluster(cluster: &FleetCluster, now: i64, reasons: &mut Vec<Reason>) {
    if cluster.paused {
        reasons.push(Reason::ClusterPaused);
    }
    match cluster.last_seen {
        None => reasons.push(Reason::Offline(None)),
        Some(seen) if now - seen > OFFLINE_AFTER_SECONDS => reasons.push(Reason::Offline(Some(now - seen))),
        Some(_) => {}
    }
}

/// What the agent's words point to. Policies are reported on the bundle, the rest on the deployment.
fn of_message(all: &str, own: &str, reasons: &mut Vec<Reason>) {
    let has = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    if has(own, &["dependent bundle", "no bundles matching labels"]) {
        reasons.push(Reason::DependsOn);
    }
    if has(own, &["no matches for kind", "ensure CRDs are installed first"]) {
        reasons.push(Reason::MissingKind);
    }
    if has(own, &["failed calling webhook", "admission webhook"]) {
        reasons.push(Reason::Webhook);
    }
    if has(
        own,
        &[
            "is forbidden",
            "cannot list resource",
            "cannot get resource",
            "cannot create resource",
        ],
    ) && !has(own, &["admission webhook"])
    {
        reasons.push(Reason::Forbidden);
    }
    if has(all, &["required by Policy", "not in allowed set", "from Policy"]) {
        reasons.push(Reason::Policy);
    }
}

/// The deployment's message by Fleet's order of conditions; an `Installed` text of an older attempt is stale.
fn message(deployment: &Value) -> String {
    let current = text(deployment, "/status/appliedDeploymentID") == text(deployment, "/spec/deploymentID");
    [("Deployed", true), ("Installed", current), ("Monitored", true)]
        .into_iter()
        .filter(|(_, counts)| *counts)
        .map(|(kind, _)| condition_message(deployment, kind))
        .find(|message| !message.is_empty())
        .unwrap_or_default()
        .to_owned()
}

fn objects(deployment: &Value) -> Vec<String> {
    let list = |pointer: &str| {
        deployment
            .pointer(pointer)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let mut out: Vec<String> = list("/status/nonReadyStatus")
        .map(|entry| format!("{} {}", object_name(entry), summary(entry)))
        .collect();
    out.extend(list("/status/modifiedStatus").map(|entry| {
        let what = match (flag(entry, "/missing"), flag(entry, "/exist"), flag(entry, "/delete")) {
            (true, true, _) => "is not owned by the bundle",
            (true, false, _) => "is missing",
            (false, _, true) => "is extra",
            // The patch itself may hold data of the object, so it is not shown.
            (false, _, false) => "was modified",
        };
        format!("{} {what}", object_name(entry))
    }));
    out
}

fn object_name(entry: &Value) -> String {
    let group = text(entry, "/apiVersion")
        .split_once('/')
        .map_or("", |(group, _)| group);
    let kind = text(entry, "/kind").to_lowercase();
    let kind = if group.is_empty() {
        kind
    } else {
        format!("{kind}.{group}")
    };
    let (namespace, name) = (text(entry, "/namespace"), text(entry, "/name"));
    if namespace.is_empty() {
        format!("{kind}/{name}")
    } else {
        format!("{kind}/{name} in {namespace}")
    }
}

fn summary(entry: &Value) -> String {
    let messages: Vec<&str> = entry
        .pointer("/summary/message")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match (flag(entry, "/summary/transitioning"), flag(entry, "/summary/error")) {
        (false, false) => text(entry, "/summary/state").to_owned(),
        (true, false) => format!("[progressing] {}", messages.join(", ")),
        (_, true) => format!("[error] {}", messages.join(", ")),
    }
    .trim_end()
    .to_owned()
}

impl BundleStatus {
    /// The worst state; `None` when every cluster is ready.
    #[must_use]
    pub fn worst(&self) -> Option<State> {
        self.deployments
            .iter()
            .map(|row| row.state)
            .filter(|state| *state != State::Ready)
            .max()
    }
}
