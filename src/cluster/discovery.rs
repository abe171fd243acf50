//! Which kinds and versions a cluster serves; asked once per group and run.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::core::{ApiResource, GroupVersionKind};

use super::{Cluster, Reason, RequestError};

/// Served kinds of one cluster: (group, version, kind) → resource.
#[derive(Debug, Clone, Default)]
pub struct Served {
    kinds: BTreeMap<(String, String, String), (ApiResource, bool)>,
    /// Group → versions, the preferred one first.
    versions: BTreeMap<String, Vec<String>>,
}

impl Served {
    /// The resource of a kind in exactly this version, and whether it is namespaced.
    pub fn resource(&self, api_version: &str, kind: &str) -> Option<&(ApiResource, bool)> {
        let (group, version) = split(api_version);
        self.kinds.get(&(group.to_owned(), version.to_owned(), kind.to_owned()))
    }

    /// Versions of a group in which `kind` is served, preferred first.
    pub fn versions_of(&self, group: &str, kind: &str) -> Vec<&str> {
        self.versions
            .get(group)
            .into_iter()
            .flatten()
            .filter(|v| {
                self.kinds
                    .contains_key(&(group.to_owned(), (*v).clone(), kind.to_owned()))
            })
            .map(String::as_str)
            .collect()
    }

    /// True when the group is served at all.
    pub fn has_group(&self, group: &str) -> bool {
        self.versions.contains_key(group)
    }
}

/// `group/version` → both; the core group is empty.
pub fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Asks for the kinds of `groups` (empty string: core). Groups that are not served are simply absent.
///
/// # Errors
/// Any failure but 404.
pub async fn discover(cluster: &Cluster, groups: &[&str]) -> Result<Served, RequestError> {
    let mut served = Served::default();
    let wants_named = groups.iter().any(|g| !g.is_empty());
    let listed = if wants_named {
        cluster
            .call("list", "API groups", cluster.client.list_api_groups())
            .await?
            .groups
    } else {
        Vec::new()
    };
    for group in groups {
        let versions = if group.is_empty() {
            vec!["v1".to_owned()]
        } else {
            let Some(found) = listed.iter().find(|g| g.name == *group) else {
                continue;
            };
            let preferred = found.preferred_version.as_ref().map(|v| v.version.clone());
            let mut all: Vec<String> = found.versions.iter().map(|v| v.version.clone()).collect();
            all.sort_by_key(|v| Some(v) != preferred.as_ref());
            all
        };
        for version in &versions {
            add_version(cluster, &mut served, group, version).await?;
        }
        served.versions.insert((*group).to_owned(), versions);
    }
    Ok(served)
}

async fn add_version(cluster: &Cluster, served: &mut Served, group: &str, version: &str) -> Result<(), RequestError> {
    let object = format!(
        "API resources of {}",
        if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        }
    );
    let request = async {
        if group.is_empty() {
            cluster.client.list_core_api_resources(version).await
        } else {
            cluster
                .client
                .list_api_group_resources(&format!("{group}/{version}"))
                .await
        }
    };
    let list: APIResourceList = match cluster.call("list", &object, request).await {
        Ok(list) => list,
        Err(e) if matches!(e.reason, Reason::NotFound | Reason::KindMissing) => return Ok(()),
        Err(e) => return Err(e),
    };
    for r in list.resources.iter().filter(|r| !r.name.contains('/')) {
        let gvk = GroupVersionKind::gvk(group, version, &r.kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, &r.name);
        served.kinds.insert(
            (group.to_owned(), version.to_owned(), r.kind.clone()),
            (resource, r.namespaced),
        );
    }
    Ok(())
}
