//! Whose ExternalSecret it is: ESO's check of controller classes, with its look-up order.

use crate::api::external_secret::{ExternalSecretSpec, StoreRef};
use crate::api::generator::GeneratorRef;
use crate::sync::context::Context;
use crate::sync::queue::Key;
use crate::sync::store::{self, CLUSTER_SECRET_STORE, SECRET_STORE};

/// The key of a referenced store; anything but `ClusterSecretStore` means a SecretStore of `namespace`.
pub fn store_key(reference: &StoreRef, namespace: &str) -> Key {
    if reference.kind.is_cluster() {
        Key::new(CLUSTER_SECRET_STORE, "", &reference.name)
    } else {
        Key::new(SECRET_STORE, namespace, &reference.name)
    }
}

/// Every store the spec names: the default first, then `data`, then `dataFrom`.
pub fn stores(spec: &ExternalSecretSpec) -> Vec<&StoreRef> {
    let default = Some(&spec.secret_store_ref).filter(|r| !r.name.is_empty());
    let single = spec
        .data
        .iter()
        .filter_map(|e| e.source_ref.as_ref()?.store_ref.as_ref());
    let maps = spec
        .data_from
        .iter()
        .filter_map(|e| e.source_ref.as_ref()?.store_ref.as_ref());
    default.into_iter().chain(single).chain(maps).collect()
}

/// Every generator the spec names under `dataFrom`.
pub fn generators(spec: &ExternalSecretSpec) -> impl Iterator<Item = &GeneratorRef> {
    spec.data_from
        .iter()
        .filter_map(|e| e.source_ref.as_ref()?.generator_ref.as_ref())
}

/// True where another class is responsible because of a store. A store that does not exist counts as nobody's.
///
/// ESO blanks the look-up namespace at the first ClusterSecretStore and leaves it blank: SecretStores named after one
/// escape the check (recorded), and the fetch then fails for them.
pub fn is_foreign(cx: &Context, spec: &ExternalSecretSpec, namespace: &str) -> bool {
    let mut lookup = namespace;
    let mut named = 0;
    for reference in stores(spec) {
        let cluster = reference.kind.is_cluster();
        if cluster {
            lookup = "";
        }
        let Some(store) = store::find(cx, cluster, lookup, &reference.name) else {
            continue;
        };
        named += 1;
        if store.spec.as_ref().is_ok_and(|s| !cx.settings.serves(&s.controller)) {
            return true;
        }
    }
    // A class of our own serves nothing that names no store of it.
    !cx.settings.is_default_class() && named == 0 && generators(spec).next().is_none()
}
