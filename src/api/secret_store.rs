//! SecretStore and ClusterSecretStore `external-secrets.io/v1`, and the names of all providers ESO knows.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Condition, GROUP, GoDuration, Kind, Object, Raw, V1};

/// A store of one namespace.
pub type SecretStore = Object<SecretStoreKind>;
/// A store of the whole cluster.
pub type ClusterSecretStore = Object<ClusterSecretStoreKind>;

/// The kind behind [`SecretStore`].
pub enum SecretStoreKind {}
/// The kind behind [`ClusterSecretStore`].
pub enum ClusterSecretStoreKind {}

impl Kind for SecretStoreKind {
    type Spec = SecretStoreSpec;
    type Status = SecretStoreStatus;
    type Scope = NamespaceResourceScope;
    const GROUP: &'static str = GROUP;
    const VERSION: &'static str = V1;
    const KIND: &'static str = "SecretStore";
    const PLURAL: &'static str = "secretstores";
}

impl Kind for ClusterSecretStoreKind {
    type Spec = SecretStoreSpec;
    type Status = SecretStoreStatus;
    type Scope = ClusterResourceScope;
    const GROUP: &'static str = GROUP;
    const VERSION: &'static str = V1;
    const KIND: &'static str = "ClusterSecretStore";
    const PLURAL: &'static str = "clustersecretstores";
}

/// Where secrets are, and who may use them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretStoreSpec {
    /// Controller class; empty means every controller.
    pub controller: String,
    /// One key with its configuration.
    pub provider: ProviderConfig,
    /// Passed to the provider as it is.
    pub retry_settings: Option<RetrySettings>,
    /// Revalidation period: seconds, or a Go duration; see [`SecretStoreSpec::revalidation`].
    pub refresh_interval: Option<IntOrString>,
    /// Which namespaces may use a ClusterSecretStore; ignored on a SecretStore.
    pub conditions: Vec<StoreCondition>,
}

impl SecretStoreSpec {
    /// The revalidation period, `None` where the controller's default applies. The error is ESO's text without its
    /// prefix `invalid refreshInterval: `.
    pub fn revalidation(&self) -> Result<Option<GoDuration>, String> {
        let period = match &self.refresh_interval {
            None => return Ok(None),
            Some(IntOrString::Int(seconds)) if *seconds < 0 => {
                return Err(format!("invalid refreshInterval {seconds}: must not be negative"));
            }
            Some(IntOrString::Int(seconds)) => GoDuration::from_nanos(i64::from(*seconds) * 1_000_000_000),
            Some(IntOrString::String(text)) => {
                let period =
                    GoDuration::parse(text).map_err(|error| format!("invalid refreshInterval {text:?}: {error}"))?;
                if period < GoDuration::ZERO {
                    return Err(format!("invalid refreshInterval {text:?}: must not be negative"));
                }
                period
            }
        };
        Ok(period.is_positive().then_some(period))
    }
}

/// `spec.provider`: keys with raw configuration. `Debug` hides the configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderConfig(BTreeMap<String, Raw>);

impl ProviderConfig {
    /// The one provider and its configuration, or how many there are instead.
    pub fn only(&self) -> Result<(&str, &Value), usize> {
        let mut entries = self.0.iter();
        match (entries.next(), entries.next()) {
            (Some((key, config)), None) => Ok((key, config.expose())),
            _ => Err(self.0.len()),
        }
    }

    /// From one key and its configuration.
    pub fn new(key: &str, config: Value) -> Self {
        Self(BTreeMap::from([(key.to_owned(), Raw::new(config))]))
    }
}

/// `spec.retrySettings`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RetrySettings {
    /// Number of retries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<i32>,
    /// Go duration, not validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_interval: Option<String>,
}

/// One condition of a ClusterSecretStore; any of its members admits a namespace.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StoreCondition {
    /// By labels; present but empty admits all.
    pub namespace_selector: Option<LabelSelector>,
    /// By name, compared with the label `kubernetes.io/metadata.name`.
    pub namespaces: Vec<String>,
    /// By name, RE2, unanchored.
    pub namespace_regexes: Vec<String>,
}

/// What validation found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretStoreStatus {
    /// Only `Ready` is ever stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// `ReadOnly`, `WriteOnly` or `ReadWrite`; empty before the first success.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub capabilities: String,
}

/// Names a key of a Secret (credentials of a store or a generator).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct SecretKeySelector {
    /// Name of the Secret.
    pub name: String,
    /// Its namespace; only a ClusterSecretStore may choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The key.
    pub key: String,
}

/// Names a ServiceAccount whose token is used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ServiceAccountSelector {
    /// Name of the ServiceAccount.
    pub name: String,
    /// Its namespace; only a ClusterSecretStore may choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Audiences of the token.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audiences: Vec<String>,
}

/// A CA certificate kept in a Secret or a ConfigMap.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct CaProvider {
    /// `Secret` or `ConfigMap`.
    #[serde(rename = "type")]
    pub type_: String,
    /// Name of the object.
    pub name: String,
    /// The key.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Its namespace; required on a ClusterSecretStore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A provider ESO knows: its key and what ESO reports in `status.capabilities`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownProvider {
    /// Key under `spec.provider`.
    pub key: &'static str,
    /// `ReadOnly`, `WriteOnly` or `ReadWrite`.
    pub capabilities: &'static str,
}

/// Every key under `spec.provider` of ESO 2.9.0, in byte order.
#[rustfmt::skip]
pub const KNOWN_PROVIDERS: &[KnownProvider] = &[
    known("akeyless", "ReadWrite"), known("aws", "ReadWrite"), known("azurekv", "ReadWrite"), known("barbican", "ReadOnly"),
    known("beyondtrust", "ReadWrite"), known("beyondtrustworkloadcredentials", "ReadOnly"),
    known("bitwardensecretsmanager", "ReadWrite"), known("chef", "ReadOnly"), known("cloudrusm", "ReadOnly"),
    known("conjur", "ReadOnly"), known("crd", "ReadOnly"), known("delinea", "ReadOnly"), known("doppler", "ReadOnly"),
    known("dvls", "ReadWrite"), known("fake", "ReadWrite"), known("fortanix", "ReadOnly"), known("gcpsm", "ReadWrite"),
    known("github", "WriteOnly"), known("gitlab", "ReadOnly"), known("ibm", "ReadOnly"), known("infisical", "ReadWrite"),
    known("keepersecurity", "ReadWrite"), known("kubernetes", "ReadWrite"), known("nebiusmysterybox", "ReadOnly"),
    known("ngrok", "WriteOnly"), known("onboardbase", "ReadOnly"), known("onepassword", "ReadWrite"),
    known("onepasswordSDK", "ReadWrite"), known("openBao", "ReadOnly"), known("oracle", "ReadWrite"), known("ovh", "ReadWrite"),
    known("passbolt", "ReadOnly"), known("passworddepot", "ReadOnly"), known("previder", "ReadOnly"), known("pulumi", "ReadOnly"),
    known("scaleway", "ReadWrite"), known("secretserver", "ReadWrite"), known("senhasegura", "ReadOnly"),
    known("vault", "ReadWrite"), known("volcengine", "ReadOnly"), known("webhook", "ReadWrite"),
    known("yandexcertificatemanager", "ReadOnly"), known("yandexlockbox", "ReadOnly"),
];

const fn known(key: &'static str, capabilities: &'static str) -> KnownProvider {
    KnownProvider { key, capabilities }
}

/// Why a store with provider `key` (which no row of the registry serves) cannot work, for the store's event and for `why`.
pub fn unserved_text(key: &str) -> String {
    if KNOWN_PROVIDERS.iter().any(|provider| provider.key == key) {
        format!("provider {key:?} is known to the External Secrets Operator but not served by kubectl-eso")
    } else {
        format!("unknown provider {key:?}")
    }
}
