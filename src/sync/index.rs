//! Who uses what: targets and owners, so that one change finds the few objects it concerns without a search.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use crate::api::external_secret::ExternalSecret;
use crate::target::TargetSecret;
use crate::target::build::target_name;
use crate::target::names::OWNER_LABEL;

/// A namespace and a name in it.
pub type Pair = (Arc<str>, Arc<str>);

/// See the module.
#[derive(Default)]
pub struct Index {
    by_target: RwLock<HashMap<Pair, BTreeSet<Arc<str>>>>,
    by_owner: RwLock<HashMap<Pair, BTreeSet<Arc<str>>>>,
    by_remote: RwLock<HashMap<Arc<str>, BTreeSet<Pair>>>,
    searching: RwLock<BTreeSet<Pair>>,
}

/// The remote names a spec reads, and whether it searches.
fn remotes(object: &ExternalSecret) -> (BTreeSet<&str>, bool) {
    let Some(spec) = object.spec.ok() else {
        return (BTreeSet::new(), false);
    };
    let single = spec.data.iter().map(|e| e.remote_ref.key.as_str());
    let maps = spec
        .data_from
        .iter()
        .filter_map(|e| e.extract.as_ref())
        .map(|r| r.key.as_str());
    (
        single.chain(maps).collect(),
        spec.data_from.iter().any(|e| e.find.is_some()),
    )
}

impl Index {
    /// Names of the ExternalSecrets whose target is the Secret `name`.
    pub fn with_target(&self, namespace: &str, name: &str) -> Vec<Arc<str>> {
        lookup(&self.by_target, namespace, name)
    }

    /// Names of the Secrets that carry this owner label.
    pub fn owned_by(&self, namespace: &str, owner: &str) -> Vec<Arc<str>> {
        lookup(&self.by_owner, namespace, owner)
    }

    /// True if some ExternalSecret reads the remote secret `name`.
    pub fn is_remote(&self, name: &str) -> bool {
        self.by_remote
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains_key(name)
    }

    /// Every remote name that is read.
    pub fn remotes(&self) -> HashSet<String> {
        self.by_remote
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .keys()
            .map(ToString::to_string)
            .collect()
    }

    /// The ExternalSecrets that read the remote secret `name`.
    pub fn readers(&self, name: &str) -> Vec<Pair> {
        let map = self.by_remote.read().unwrap_or_else(PoisonError::into_inner);
        map.get(name)
            .map(|pairs| pairs.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// The ExternalSecrets that search.
    pub fn searchers(&self) -> Vec<Pair> {
        self.searching
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }

    fn move_remotes(&self, old: Option<&ExternalSecret>, new: Option<&ExternalSecret>) {
        if let (Some(old), Some(new)) = (old, new)
            && old.spec == new.spec
        {
            return;
        }
        let mut by_remote = self.by_remote.write().unwrap_or_else(PoisonError::into_inner);
        let mut searching = self.searching.write().unwrap_or_else(PoisonError::into_inner);
        let pair = |o: &ExternalSecret| -> Pair { (o.namespace().into(), o.name().into()) };
        if let Some(old) = old {
            let pair = pair(old);
            for name in remotes(old).0 {
                let left = by_remote.get_mut(name).is_some_and(|pairs| {
                    pairs.remove(&pair);
                    pairs.is_empty()
                });
                if left {
                    by_remote.remove(name);
                }
            }
            searching.remove(&pair);
        }
        if let Some(new) = new {
            let (names, searches) = remotes(new);
            for name in names {
                by_remote.entry(name.into()).or_default().insert(pair(new));
            }
            if searches {
                searching.insert(pair(new));
            }
        }
    }

    /// Takes in a change of an ExternalSecret.
    pub fn move_external_secret(&self, old: Option<&ExternalSecret>, new: Option<&ExternalSecret>) {
        self.move_remotes(old, new);
        let place = |o: &ExternalSecret| {
            let spec = o.spec.ok().filter(|s| s.target.manifest.is_none())?;
            Some((o.namespace().into(), target_name(spec, o.name()).into()))
        };
        let name = |o: Option<&ExternalSecret>| o.map(|o| Arc::from(o.name()));
        shift(
            &self.by_target,
            old.and_then(place),
            name(old),
            new.and_then(place),
            name(new),
        );
    }

    /// Takes in a change of a managed Secret.
    pub fn move_secret(&self, old: Option<&TargetSecret>, new: Option<&TargetSecret>) {
        let place = |s: &TargetSecret| {
            let owner = s.labels.get(OWNER_LABEL)?;
            Some((s.namespace.as_str().into(), owner.as_str().into()))
        };
        let name = |s: Option<&TargetSecret>| s.map(|s| Arc::from(s.name.as_str()));
        shift(
            &self.by_owner,
            old.and_then(place),
            name(old),
            new.and_then(place),
            name(new),
        );
    }
}

fn lookup(map: &RwLock<HashMap<Pair, BTreeSet<Arc<str>>>>, first: &str, second: &str) -> Vec<Arc<str>> {
    let pair: Pair = (first.into(), second.into());
    let map = map.read().unwrap_or_else(PoisonError::into_inner);
    map.get(&pair)
        .map(|names| names.iter().cloned().collect())
        .unwrap_or_default()
}

fn shift(
    map: &RwLock<HashMap<Pair, BTreeSet<Arc<str>>>>,
    from: Option<Pair>,
    old: Option<Arc<str>>,
    to: Option<Pair>,
    new: Option<Arc<str>>,
) {
    if from == to && old == new {
        return;
    }
    let mut map = map.write().unwrap_or_else(PoisonError::into_inner);
    if let (Some(from), Some(old)) = (from, old)
        && let Some(names) = map.get_mut(&from)
    {
        names.remove(&old);
        if names.is_empty() {
            map.remove(&from);
        }
    }
    if let (Some(to), Some(new)) = (to, new) {
        map.entry(to).or_default().insert(new);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Index;
    use crate::api::external_secret::ExternalSecret;

    fn object(name: &str, target: &str) -> ExternalSecret {
        let value = json!({"metadata": {"namespace": "orchard", "name": name}, "spec": {"target": {"name": target}}});
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn follows_a_renamed_target() {
        let index = Index::default();
        let (first, renamed) = (object("es", ""), object("es", "gate"));
        index.move_external_secret(None, Some(&first));
        index.move_external_secret(None, Some(&object("other", "es")));
        assert_eq!(index.with_target("orchard", "es").len(), 2);
        index.move_external_secret(Some(&first), Some(&renamed));
        assert_eq!(index.with_target("orchard", "es").len(), 1);
        assert_eq!(&*index.with_target("orchard", "gate")[0], "es");
        index.move_external_secret(Some(&renamed), None);
        assert!(index.with_target("orchard", "gate").is_empty());
    }
}
