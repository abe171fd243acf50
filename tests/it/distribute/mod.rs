//! The main job on real clusters: prepare the upstream, hand credentials to downstreams, apply, and what goes wrong.

mod errors;
mod fan_out;
mod flow;
mod interruption;
mod plugin;

use std::path::PathBuf;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ListParams, PostParams};
use tempfile::TempDir;
use xtask::controlplane::{Cluster, Entry, Kubeconfig, User};

use crate::support::{Eso, canary};

/// A kubeconfig in a folder of its own, which goes with this value.
pub struct Config {
    _folder: TempDir,
    path: PathBuf,
}

impl Config {
    /// Writes it; the first entry is current.
    pub fn new(kubeconfig: &Kubeconfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = kubeconfig.write(&folder.path().join("config")).unwrap();
        Self { _folder: folder, path }
    }

    /// A command with it.
    pub fn eso(&self, args: &[&str]) -> Eso {
        Eso::new(&self.path).args(args.iter().copied())
    }
}

/// Upstream `hub` and downstreams under these names.
pub fn config(hub: &Cluster, downstreams: &[(&str, &Cluster)]) -> Config {
    let mut kubeconfig = Kubeconfig::new().admin("hub", hub).current("hub");
    for (name, cluster) in downstreams {
        kubeconfig = kubeconfig.admin(name, cluster);
    }
    Config::new(&kubeconfig)
}

/// The bearer token a downstream holds, registered as a canary.
pub async fn stored_token(cluster: &Cluster, namespace: &str) -> Option<String> {
    let api: Api<Secret> = Api::namespaced(cluster.client().await.unwrap(), namespace);
    let secret = api.get_opt("upstream-token").await.unwrap()?;
    let token = String::from_utf8(secret.data?.remove("token")?.0).unwrap();
    canary::register_token(&token);
    Some(token)
}

/// Who the upstream sees behind a token; `None` where it refuses it.
pub async fn whoami(hub: &Cluster, token: &str) -> Option<String> {
    let entry = Entry::admin("visitor", hub).user(User::Token(token.to_owned()));
    let client = hub.client_for(entry).await.unwrap();
    let api: Api<SelfSubjectReview> = Api::all(client);
    let answer = api
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await
        .ok()?;
    answer.status?.user_info?.username
}

/// Generations of the anchors upstream whose token is meant for this downstream namespace.
pub async fn anchors(hub: &Cluster, namespace: &str) -> Vec<u64> {
    let api: Api<Secret> = Api::namespaced(hub.client().await.unwrap(), "eso-identities");
    let all = api
        .list(&ListParams::default().labels("kubectl-eso/part=anchor"))
        .await
        .unwrap();
    let mut found: Vec<u64> = all
        .items
        .iter()
        .filter_map(|s| {
            let annotations = s.metadata.annotations.as_ref()?;
            let target = annotations.get("kubectl-eso/target")?;
            (target.split('/').next() == Some(namespace))
                .then(|| annotations.get("kubectl-eso/generation")?.parse().ok())?
        })
        .collect();
    found.sort_unstable();
    found
}

/// The generation recorded beside the token downstream.
pub async fn stored_generation(cluster: &Cluster, namespace: &str) -> Option<u64> {
    let api: Api<Secret> = Api::namespaced(cluster.client().await.unwrap(), namespace);
    let secret = api.get_opt("upstream-token").await.unwrap()?;
    secret.metadata.annotations?.get("kubectl-eso/generation")?.parse().ok()
}
