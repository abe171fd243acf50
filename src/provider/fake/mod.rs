//! Provider `fake`: values written in the store itself, and what was pushed to it.
//!
//! Pushed entries live as long as the loop. ESO keeps them by store name alone, so that stores of one name in two
//! namespaces overwrite each other's values; here each store has its own table. Opening a store replaces nothing that
//! another open client reads, so workers cannot disturb each other.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::values::{convert_keys, name_matcher, raw_map, secret_value};
use super::{Capabilities, Entry, OpenRequest, Provider, ProviderError, PushSource, Validation, Writer};
use crate::api::Parsed;
use crate::api::external_secret::{Find, RemoteRef};
use crate::api::push_secret::{PushData, PushRemoteRef};
use crate::lang::gjson;
use crate::secret::{SecretData, SecretValue};

/// The row of this provider.
pub const ENTRY: Entry = Entry {
    key: "fake",
    capabilities: Capabilities::ReadWrite,
    maintained: false,
    open: open_boxed,
};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FakeConfig {
    data: Vec<FakeData>,
    validation_result: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FakeData {
    key: String,
    value: String,
    version: String,
}

/// Kind, namespace (empty for a ClusterSecretStore) and name of a store.
type StoreId = (String, String, String);

/// Pushed entries by store. Cheap to clone; clones share them.
#[derive(Clone, Default)]
pub struct Tables(Arc<Mutex<HashMap<StoreId, Pushed>>>);

type Pushed = Arc<Mutex<BTreeMap<String, SecretValue>>>;

impl Tables {
    fn of(&self, request: &OpenRequest<'_>) -> Pushed {
        let namespace = if request.is_cluster_scoped() {
            ""
        } else {
            request.namespace
        };
        let id = (
            request.store_kind.to_owned(),
            namespace.to_owned(),
            request.store_name.to_owned(),
        );
        Arc::clone(lock(&self.0).entry(id).or_default())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open_boxed(request: OpenRequest<'_>) -> BoxFuture<'_, Result<Box<dyn Provider>, ProviderError>> {
    async move { Fake::open(&request).map(|fake| Box::new(fake) as Box<dyn Provider>) }.boxed()
}

struct Fake {
    entries: BTreeMap<String, FakeEntry>,
    pushed: Pushed,
    validation_result: i64,
}

struct FakeEntry {
    value: SecretValue,
    version: String,
}

impl Fake {
    fn open(request: &OpenRequest<'_>) -> Result<Self, ProviderError> {
        let config: FakeConfig = match crate::api::decode(request.config.clone(), false) {
            Parsed::Ok(config) => config,
            Parsed::Bad { error } => return Err(ProviderError::invalid(error)),
        };
        let pushed = request.shared().fake.of(request);
        let mut entries = BTreeMap::new();
        for FakeData { key, value, version } in config.data {
            // An entry is known by key and version run together, as in ESO; later ones win.
            let id = format!("{key}{version}");
            lock(&pushed).remove(&id);
            entries.insert(
                id,
                FakeEntry {
                    value: SecretValue::from(value),
                    version,
                },
            );
        }
        Ok(Self {
            entries,
            pushed,
            validation_result: config.validation_result.unwrap_or(0),
        })
    }

    fn lookup(&self, key: &RemoteRef) -> Result<SecretValue, ProviderError> {
        let id = format!("{}{}", key.key, key.version);
        let value = match self.entries.get(&id) {
            Some(entry) if entry.version == key.version => entry.value.clone(),
            Some(_) => return Err(ProviderError::no_secret()),
            // What was pushed has no version.
            None if key.version.is_empty() => lock(&self.pushed)
                .get(&id)
                .cloned()
                .ok_or_else(ProviderError::no_secret)?,
            None => return Err(ProviderError::no_secret()),
        };
        if key.property.is_empty() {
            return Ok(value);
        }
        let found = gjson::get(value.expose(), key.property.as_bytes()).ok_or_else(ProviderError::no_secret)?;
        Ok(secret_value(found.text()))
    }
}

#[async_trait]
impl Provider for Fake {
    async fn get(&self, key: &RemoteRef) -> Result<SecretValue, ProviderError> {
        self.lookup(key)
    }

    async fn get_map(&self, key: &RemoteRef) -> Result<SecretData, ProviderError> {
        let value = self.lookup(key)?;
        raw_map(value.expose()).map_err(|error| ProviderError::other(format!("unable to unmarshal secret: {error}")))
    }

    async fn find(&self, query: &Find) -> Result<SecretData, ProviderError> {
        let matcher = name_matcher(query)?;
        let mut newest: BTreeMap<String, (String, SecretValue)> = BTreeMap::new();
        let pushed: Vec<_> = lock(&self.pushed)
            .iter()
            .map(|(id, value)| (id.clone(), String::new(), value.clone()))
            .collect();
        let own = self
            .entries
            .iter()
            .map(|(id, entry)| (id.clone(), entry.version.clone(), entry.value.clone()));
        for (id, version, value) in own.chain(pushed) {
            let name = id.strip_suffix(&version).unwrap_or(&id).to_owned();
            if !matcher.is_match(name.as_bytes()) {
                continue;
            }
            // Versions are compared as texts: "9" is newer than "10".
            let newer = newest.get(&name).is_none_or(|(known, _)| version >= *known);
            if newer {
                newest.insert(name, (version, value));
            }
        }
        convert_keys(
            newest.into_iter().map(|(name, (_, value))| (name, value)).collect(),
            &query.conversion_strategy,
        )
    }

    async fn validate(&self) -> Validation {
        let error = || ProviderError::invalid("unable to validate");
        match self.validation_result {
            0 => Validation::Valid,
            1 => Validation::Unknown(error()),
            _ => Validation::Invalid(error()),
        }
    }

    fn writer(&self) -> Option<&dyn Writer> {
        Some(self)
    }
}

#[async_trait]
impl Writer for Fake {
    async fn push(&self, secret: &PushSource, data: &PushData) -> Result<(), ProviderError> {
        let key = &data.match_.remote_ref.remote_key;
        if self.entries.contains_key(key) {
            return Err(ProviderError::invalid("key already exists"));
        }
        let value = secret.data.get(&data.match_.secret_key).cloned().unwrap_or_default();
        lock(&self.pushed).insert(key.clone(), value);
        Ok(())
    }

    async fn delete(&self, _: &PushRemoteRef) -> Result<(), ProviderError> {
        Ok(())
    }

    async fn exists(&self, remote: &PushRemoteRef) -> Result<bool, ProviderError> {
        Ok(self.entries.contains_key(&remote.remote_key) || lock(&self.pushed).contains_key(&remote.remote_key))
    }
}

#[cfg(test)]
mod tests;
