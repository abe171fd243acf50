//! Facts about the KES controller, and what the user chose.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use thiserror::Error;

use crate::api::yaml_tree::{self as yaml, Mapping, Value};

/// Why options cannot be read.
#[derive(Debug, Error)]
pub enum OptionsError {
    /// Not YAML or JSON, or fields of the wrong type.
    #[error("cannot read the options")]
    Syntax(#[source] yaml::Error),
}

/// Kind of the stores that are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum StoreKind {
    /// One store for all namespaces that need it.
    #[default]
    ClusterSecretStore,
    /// One store per namespace.
    SecretStore,
}

impl StoreKind {
    /// The Kubernetes kind.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            StoreKind::ClusterSecretStore => "ClusterSecretStore",
            StoreKind::SecretStore => "SecretStore",
        }
    }
}

/// A store that exists already.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StoreTarget {
    /// Its kind.
    #[serde(default)]
    pub kind: StoreKind,
    /// Its name.
    pub name: String,
}

/// One line of a store map.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StoreMatch {
    /// Identity fields that must be equal (`backendType`, `region`, `roleArn`, …), or `name` for the generated name.
    #[serde(rename = "match")]
    pub fields: BTreeMap<String, String>,
    /// The store to use.
    pub store: StoreTarget,
}

/// What the user chose on the command line.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Kind of the stores.
    pub store_kind: StoreKind,
    /// Existing stores; none is written when this is not empty.
    pub store_map: Vec<StoreMatch>,
    /// A Go duration, or `auto` or nothing for the interval of the controller.
    pub refresh_interval: Option<String>,
    /// Reproduce faults of KES where a template can.
    pub faithful: bool,
    /// Leave out template fields that cannot be converted instead of refusing the object.
    pub allow_partial: bool,
    /// Appended to the names of the `ExternalSecret` and its Secret.
    pub target_suffix: Option<String>,
    /// Secret group for IBM secrets that are known by name.
    pub ibm_secret_group: Option<String>,
    /// Namespace of objects that name none.
    pub namespace: Option<String>,
    /// Add the annotations that order stores before `ExternalSecrets` in Argo CD.
    pub sync_wave: bool,
}

/// A service account of the controller.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServiceAccount {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// What is known about the KES controller.
///
/// Environment values can hold credentials, so `Debug` prints the names only.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Controller {
    /// Poll interval in milliseconds.
    pub poller_interval_milliseconds: Option<u64>,
    /// Polling is off.
    pub disable_polling: bool,
    /// `INSTANCE_ID`.
    pub instance_id: Option<String>,
    /// Namespaces it watches; empty for all.
    pub watched_namespaces: Vec<String>,
    /// Namespace it runs in.
    pub namespace: Option<String>,
    /// The account it runs as.
    pub service_account: Option<ServiceAccount>,
    /// Plain environment values.
    pub env: BTreeMap<String, Value>,
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("poller_interval_milliseconds", &self.poller_interval_milliseconds)
            .field("disable_polling", &self.disable_polling)
            .field("instance_id", &self.instance_id)
            .field("watched_namespaces", &self.watched_namespaces)
            .field("namespace", &self.namespace)
            .field("service_account", &self.service_account)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// Everything a conversion is told besides its input.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Options {
    /// Facts about the controller; `None` when nothing is known.
    pub controller: Option<Controller>,
    /// Authentication blocks by provider (`aws`, `vault`, `azure`, `gcp`, `ibm`, `akeyless`), copied into the stores.
    pub auth: BTreeMap<String, Mapping>,
    /// Annotations of namespaces, by name.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// The user's choices.
    #[serde(flatten)]
    pub settings: Settings,
}

impl Options {
    /// Reads an options file (JSON or YAML).
    ///
    /// # Errors
    ///
    /// [`OptionsError::Syntax`].
    pub fn parse(text: &str) -> Result<Self, OptionsError> {
        yaml::from_str(text).map_err(OptionsError::Syntax)
    }

    /// A non-empty environment value of the controller.
    #[must_use]
    pub fn env(&self, name: &str) -> Option<String> {
        self.controller
            .as_ref()
            .and_then(|c| c.env(name))
            .filter(|v| !v.is_empty())
    }

    /// `INSTANCE_ID`, empty when there is none.
    #[must_use]
    pub fn instance(&self) -> String {
        self.controller
            .as_ref()
            .and_then(|c| c.instance_id.clone())
            .or_else(|| self.env("INSTANCE_ID"))
            .unwrap_or_default()
    }

    /// The namespaces KES watches; empty for all.
    #[must_use]
    pub fn watched(&self) -> BTreeSet<String> {
        let listed = self
            .controller
            .as_ref()
            .map(|c| c.watched_namespaces.clone())
            .unwrap_or_default();
        let env = self.env("WATCHED_NAMESPACES").unwrap_or_default();
        let env = env.split(',').map(|n| n.trim().to_owned()).filter(|n| !n.is_empty());
        listed.into_iter().chain(env).collect()
    }

    /// How results refresh.
    #[must_use]
    pub fn refresh(&self) -> Refresh {
        match self.settings.refresh_interval.as_deref() {
            None | Some("auto" | "") => {}
            Some(fixed) => return Refresh::Every(fixed.to_owned()),
        }
        let Some(controller) = &self.controller else {
            return Refresh::Unknown;
        };
        if controller.disable_polling {
            return Refresh::OnChange("controller.disablePolling");
        }
        if controller.env.contains_key("DISABLE_POLLING") {
            return Refresh::OnChange("controller.env.DISABLE_POLLING");
        }
        let env = self
            .env("POLLER_INTERVAL_MILLISECONDS")
            .and_then(|v| v.trim().parse().ok());
        Refresh::Every(interval(
            controller
                .poller_interval_milliseconds
                .or(env)
                .unwrap_or(DEFAULT_INTERVAL),
        ))
    }
}

impl Controller {
    /// An environment value as text.
    #[must_use]
    pub fn env(&self, name: &str) -> Option<String> {
        match self.env.get(name)? {
            Value::String(s) => Some(s.clone()),
            Value::Number(n) => Some(n.to_string()),
            Value::Bool(b) => Some(b.to_string()),
            _ => None,
        }
    }
}

/// KES polls every ten seconds when it is not told otherwise.
const DEFAULT_INTERVAL: u64 = 10_000;

/// How an `ExternalSecret` refreshes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refresh {
    /// At an interval, as a Go duration.
    Every(String),
    /// Only when the object changes; the text says which fact decided.
    OnChange(&'static str),
    /// Nothing is known about the controller.
    Unknown,
}

/// Milliseconds as a Go duration in the largest unit that divides them.
#[must_use]
pub fn interval(milliseconds: u64) -> String {
    for (size, unit) in [(3_600_000, "h"), (60_000, "m"), (1_000, "s")] {
        if milliseconds >= size && milliseconds.is_multiple_of(size) {
            return format!("{}{unit}", milliseconds / size);
        }
    }
    format!("{milliseconds}ms")
}
