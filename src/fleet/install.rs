//! External Secrets Operator on every cluster, through Fleet.
use serde_json::{Map, Value, json};

use super::build::{API_VERSION, merge};
use super::decode::Decoder;
use super::discover::Dir;
use super::error::{FleetError, Notice};
use super::options::{NamedFile, Options, Source, ValuesFrom};
use super::tree::{Entry, Tree};
use super::{emit, scan, schema};

/// Version of the operator that this program is equal to.
pub const ESO_VERSION: &str = "2.9.0";
/// The operator's public chart repository.
pub const ESO_REPOSITORY: &str = "https://charts.external-secrets.io";
/// Name of the operator's chart; also the default name of the HelmOp, the bundle and the release.
pub const ESO_CHART: &str = "external-secrets";
/// Label on the operator's bundle, for `dependsOn.selector`.
const ROLE: (&str, &str) = ("role", "eso-operator");

/// What `fleet install-eso` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallOptions {
    /// Name of the HelmOp or bundle.
    pub name: String,
    /// Namespace on the hub.
    pub namespace: String,
    /// Namespace of the operator on the clusters.
    pub release_namespace: String,
    /// Chart repository; `oci://…` names the chart itself.
    pub repo: String,
    /// Chart version or range.
    pub version: String,
    /// Values files, merged in order over `installCRDs: true`.
    pub values: Vec<NamedFile>,
    /// Values read on the clusters.
    pub values_from: Vec<ValuesFrom>,
    /// Targets; none = every cluster of the namespace.
    pub targets_file: Option<NamedFile>,
    /// Account used on the clusters; needs cluster-wide rights for this chart.
    pub service_account: String,
    /// HelmOp only: Secret with credentials of the repository.
    pub helm_secret: String,
    /// HelmOp only: how often a version range is looked up again, a Go duration.
    pub polling_interval: String,
    /// HelmOp only: the repository's certificate is not verified.
    pub insecure_skip_tls_verify: bool,
    /// Create it paused.
    pub paused: bool,
    /// Unknown keys of the targets file are ignored.
    pub lenient: bool,
}

impl InstallOptions {
    /// The operator this program is equal to, in namespace `external-secrets`, on every cluster.
    #[must_use]
    pub fn new(namespace: &str) -> Self {
        Self {
            name: ESO_CHART.to_owned(),
            namespace: namespace.to_owned(),
            release_namespace: ESO_CHART.to_owned(),
            repo: ESO_REPOSITORY.to_owned(),
            version: ESO_VERSION.to_owned(),
            values: Vec::new(),
            values_from: Vec::new(),
            targets_file: None,
            service_account: String::new(),
            helm_secret: String::new(),
            polling_interval: String::new(),
            insecure_skip_tls_verify: false,
            paused: false,
            lenient: false,
        }
    }

    /// The HelmOp: agents fetch the chart themselves, nothing of it is stored on the hub.
    ///
    /// # Errors
    /// Unreadable values or targets, credentials in values, a polling interval without a range.
    pub fn helm_op(&self) -> Result<(Value, Vec<Notice>), FleetError> {
        let mut notices = Vec::new();
        let mut spec = self.spec(&mut notices)?;
        let targets = self.targets(&mut notices)?;
        spec.extend(targets);
        spec.insert("labels".to_owned(), json!({ROLE.0: ROLE.1}));
        for (key, value) in [
            ("helmSecretName", &self.helm_secret),
            ("pollingInterval", &self.polling_interval),
        ] {
            if !value.is_empty() {
                spec.insert(key.to_owned(), json!(value));
            }
        }
        if !self.polling_interval.is_empty() && super::version::Version::parse(&self.version).is_some() {
            return Err(FleetError::Usage(
                "--polling-interval has no effect with an exact --version; give a range such as ~2.9".to_owned(),
            ));
        }
        if self.insecure_skip_tls_verify {
            spec.insert("insecureSkipTLSVerify".to_owned(), Value::Bool(true));
        }
        let object = json!({
            "apiVersion": API_VERSION,
            "kind": "HelmOp",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": spec,
        });
        Ok((object, notices))
    }

    /// A source tree and options that make the same as a Bundle with the chart inside: go on with
    /// [`prepare`](super::prepare::prepare).
    ///
    /// # Errors
    /// As [`InstallOptions::helm_op`], and options that only a HelmOp has.
    pub fn bundle_source(&self) -> Result<(Tree, Options, Vec<Notice>), FleetError> {
        if !self.helm_secret.is_empty() || !self.polling_interval.is_empty() || self.insecure_skip_tls_verify {
            return Err(FleetError::Usage(
                "--helm-secret, --polling-interval and --insecure-skip-tls-verify need a HelmOp (leave out --bundle)"
                    .to_owned(),
            ));
        }
        let mut notices = Vec::new();
        let mut file = self.spec(&mut notices)?;
        file.insert("labels".to_owned(), json!({ROLE.0: ROLE.1}));
        file.insert("name".to_owned(), json!(self.name));
        let mut tree = Tree::new();
        tree.insert(
            "chart/fleet.yaml",
            Entry::File(emit::document(&Value::Object(file)).into_bytes()),
        );
        tree.mark_complete("chart");
        let every_cluster = || NamedFile {
            path: "targets".to_owned(),
            bytes: b"targets:\n- clusterSelector: {}\n".to_vec(),
        };
        let options = Options {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            sources: vec![Source {
                dir: Dir::new("chart"),
                file: String::new(),
                scan: false,
            }],
            targets_file: Some(self.targets_file.clone().unwrap_or_else(every_cluster)),
            lenient: self.lenient,
            ..Options::default()
        };
        Ok((tree, options, notices))
    }

    fn spec(&self, notices: &mut Vec<Notice>) -> Result<Map<String, Value>, FleetError> {
        let mut helm = json!({"releaseName": ESO_CHART, "repo": self.repo, "values": self.values(notices)?});
        // An OCI address names the chart; a second name is refused by the hub.
        if !self.repo.starts_with("oci://") {
            helm["chart"] = json!(ESO_CHART);
        }
        if !self.version.is_empty() {
            helm["version"] = json!(self.version);
        }
        if !self.values_from.is_empty() {
            helm["valuesFrom"] = self.values_from.iter().map(ValuesFrom::to_json).collect();
        }
        // The chart has cluster-scoped objects, so the namespace is a default, never forced.
        let mut spec = Map::new();
        spec.insert("defaultNamespace".to_owned(), json!(self.release_namespace));
        spec.insert("helm".to_owned(), helm);
        if !self.service_account.is_empty() {
            spec.insert("serviceAccount".to_owned(), json!(self.service_account));
        }
        if self.paused {
            spec.insert("paused".to_owned(), Value::Bool(true));
        }
        Ok(spec)
    }

    fn values(&self, notices: &mut Vec<Notice>) -> Result<Map<String, Value>, FleetError> {
        let mut values = Map::new();
        values.insert("installCRDs".to_owned(), Value::Bool(true));
        for file in &self.values {
            let mut decoder = Decoder {
                file: &file.path,
                lenient: true,
                notices: Vec::new(),
            };
            let more = decoder.values_file(&file.bytes)?;
            notices.append(&mut decoder.notices);
            scan::check_values(&file.path, &Value::Object(more.clone()))?;
            merge(&mut values, more);
        }
        Ok(values)
    }

    fn targets(&self, notices: &mut Vec<Notice>) -> Result<Map<String, Value>, FleetError> {
        let mut out = Map::new();
        if let Some(file) = &self.targets_file {
            let mut decoder = Decoder {
                file: &file.path,
                lenient: self.lenient,
                notices: Vec::new(),
            };
            let mut spec = decoder.object(&file.bytes, &schema::BUNDLE_SPEC)?;
            notices.append(&mut decoder.notices);
            for key in ["targets", "targetRestrictions"] {
                out.extend(spec.remove(key).map(|list| (key.to_owned(), list)));
            }
        }
        out.entry("targets").or_insert_with(|| json!([{"clusterSelector": {}}]));
        Ok(out)
    }
}
