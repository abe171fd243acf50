//! Installs custom resource definitions and waits until they are served.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde::Deserialize as _;
use serde_json::Value;

const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// Applies every CustomResourceDefinition in `yaml` (server-side, forced) and waits until each is established. Documents
/// of other kinds are left out. Returns their names.
pub async fn apply(client: &Client, yaml: &str) -> Result<Vec<String>> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &crd_resource());
    let mut names = Vec::new();
    for document in serde_yaml::Deserializer::from_str(yaml) {
        let value = Value::deserialize(document).context("the definitions are not YAML")?;
        if value["kind"] != "CustomResourceDefinition" {
            continue;
        }
        let name = value["metadata"]["name"]
            .as_str()
            .context("a definition has no name")?
            .to_owned();
        let params = PatchParams::apply("kubectl-eso-xtask").force();
        api.patch(&name, &params, &Patch::Apply(&value))
            .await
            .with_context(|| format!("cannot apply {name}"))?;
        names.push(name);
    }
    anyhow::ensure!(!names.is_empty(), "there is no CustomResourceDefinition in it");
    for name in &names {
        established(&api, name).await?;
    }
    Ok(names)
}

/// As [`apply`], from a file.
pub async fn apply_file(client: &Client, path: &Path) -> Result<Vec<String>> {
    let yaml = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    apply(client, &yaml).await
}

/// The definitions that the built `kubectl-eso` prints with `crds`.
pub fn printed_by(binary: &Path) -> Result<String> {
    let output = Command::new(binary).arg("crds").env_remove("KUBECONFIG").output();
    let output = output.with_context(|| format!("cannot start {}", binary.display()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "`kubectl-eso crds` failed: {errors}");
    String::from_utf8(output.stdout).context("`kubectl-eso crds` printed no text")
}

fn crd_resource() -> ApiResource {
    ApiResource {
        group: "apiextensions.k8s.io".into(),
        version: "v1".into(),
        api_version: "apiextensions.k8s.io/v1".into(),
        kind: "CustomResourceDefinition".into(),
        plural: "customresourcedefinitions".into(),
    }
}

/// Waits for the condition `Established` with the names as asked for.
async fn established(api: &Api<DynamicObject>, name: &str) -> Result<()> {
    let deadline = Instant::now() + ESTABLISHED_WITHIN;
    loop {
        let definition = api.get(name).await?;
        let conditions = definition.data["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let holds = |kind: &str| {
            conditions
                .iter()
                .any(|each| each["type"] == kind && each["status"] == "True")
        };
        if holds("Established") && holds("NamesAccepted") {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < deadline, "{name} is not established: {conditions:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
