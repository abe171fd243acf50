//! Facts about KES read off its Deployment: plain environment values, references to credentials, the account it runs as.
//!
//! Values of Secrets are never read; a reference stays a reference.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::entries::mapping;
use super::object::Backend;
use super::options::{Controller, Options, ServiceAccount};
use super::store::credential_fields;
use crate::api::yaml_tree::{Mapping, Value};

/// What a Deployment refers to, read beforehand.
#[derive(Debug, Clone, Default)]
pub struct Referenced {
    /// Data of `ConfigMaps` in the namespace of the Deployment, by name.
    pub config_maps: BTreeMap<String, BTreeMap<String, String>>,
    /// Keys of Secrets in that namespace, by name; no values.
    pub secret_keys: BTreeMap<String, Vec<String>>,
    /// Annotations of the account.
    pub account_annotations: BTreeMap<String, String>,
}

/// A key of a Secret.
type SecretKey = (String, String);

/// Names of `ConfigMaps` and Secrets a Deployment takes its environment from, for reading them.
#[must_use]
pub fn references(deployment: &Json) -> (Vec<String>, Vec<String>) {
    let (mut config_maps, mut secrets) = (Vec::new(), Vec::new());
    let mut add = |list: usize, name: &Json| {
        let list = if list == 0 { &mut config_maps } else { &mut secrets };
        if let Some(name) = name.as_str().filter(|n| !list.iter().any(|l| l == n)) {
            list.push(name.to_owned());
        }
    };
    for container in containers(deployment) {
        for source in container["envFrom"].as_array().into_iter().flatten() {
            add(0, &source["configMapRef"]["name"]);
            add(1, &source["secretRef"]["name"]);
        }
        for variable in container["env"].as_array().into_iter().flatten() {
            add(0, &variable["valueFrom"]["configMapKeyRef"]["name"]);
        }
    }
    (config_maps, secrets)
}

fn containers(deployment: &Json) -> impl Iterator<Item = &Json> {
    deployment["spec"]["template"]["spec"]["containers"]
        .as_array()
        .into_iter()
        .flatten()
}

/// Options for a conversion. The user's choices are empty in the result.
#[must_use]
pub fn from_deployment(deployment: &Json, referenced: &Referenced) -> Options {
    let namespace = deployment["metadata"]["namespace"]
        .as_str()
        .unwrap_or("default")
        .to_owned();
    let pod = &deployment["spec"]["template"]["spec"];
    let account = pod["serviceAccountName"].as_str().unwrap_or("default").to_owned();
    let (mut plain, mut secret) = (BTreeMap::new(), BTreeMap::new());
    for container in containers(deployment) {
        environment(container, referenced, &mut plain, &mut secret);
    }
    let mut auth = BTreeMap::new();
    for (name, backend) in [
        ("aws", Backend::SecretsManager),
        ("azure", Backend::AzureKeyVault),
        ("ibm", Backend::IbmSecretsManager),
        ("akeyless", Backend::Akeyless),
    ] {
        let block = credentials(backend, &secret, &namespace);
        if !block.is_empty() {
            auth.insert(name.to_owned(), block);
        }
    }
    if let Some(block) = google(deployment, &plain, &namespace) {
        auth.insert("gcp".to_owned(), block);
    }
    let uses_role = referenced
        .account_annotations
        .contains_key("eks.amazonaws.com/role-arn");
    let reference = || {
        mapping([(
            "serviceAccountRef",
            mapping([
                ("name", account.as_str().into()),
                ("namespace", namespace.as_str().into()),
            ])
            .into(),
        )])
    };
    if uses_role && !plain.contains_key("AWS_SECRET_ACCESS_KEY") {
        auth.entry("aws".to_owned())
            .or_insert_with(|| mapping([("jwt", reference().into())]));
    }
    auth.insert("vault".to_owned(), mapping([("kubernetes", reference().into())]));
    let controller = Controller {
        namespace: Some(namespace.clone()),
        // Without a role of its own AWS credentials come from the node, and no account is named.
        service_account: uses_role.then_some(ServiceAccount {
            name: account,
            namespace,
        }),
        env: plain.into_iter().map(|(k, v)| (k, Value::from(v))).collect(),
        ..Controller::default()
    };
    Options {
        controller: Some(controller),
        auth,
        ..Options::default()
    }
}

fn environment(
    container: &Json,
    referenced: &Referenced,
    plain: &mut BTreeMap<String, String>,
    secret: &mut BTreeMap<String, SecretKey>,
) {
    for source in container["envFrom"].as_array().into_iter().flatten() {
        let prefix = source["prefix"].as_str().unwrap_or_default();
        if let Some(map) = source["configMapRef"]["name"]
            .as_str()
            .and_then(|n| referenced.config_maps.get(n))
        {
            plain.extend(map.iter().map(|(k, v)| (format!("{prefix}{k}"), v.clone())));
        }
        if let Some(name) = source["secretRef"]["name"].as_str() {
            let keys = referenced.secret_keys.get(name).into_iter().flatten();
            secret.extend(keys.map(|k| (format!("{prefix}{k}"), (name.to_owned(), k.clone()))));
        }
    }
    // Single variables win over whole sources.
    for variable in container["env"].as_array().into_iter().flatten() {
        let Some(name) = variable["name"].as_str() else {
            continue;
        };
        let (map, key) = (
            &variable["valueFrom"]["configMapKeyRef"],
            &variable["valueFrom"]["secretKeyRef"],
        );
        if let Some(value) = variable["value"].as_str() {
            plain.insert(name.to_owned(), value.to_owned());
            secret.remove(name);
        } else if let (Some(map), Some(key)) = (map["name"].as_str(), map["key"].as_str()) {
            if let Some(value) = referenced.config_maps.get(map).and_then(|m| m.get(key)) {
                plain.insert(name.to_owned(), value.clone());
            }
        } else if let (Some(from), Some(key)) = (key["name"].as_str(), key["key"].as_str()) {
            plain.remove(name);
            secret.insert(name.to_owned(), (from.to_owned(), key.to_owned()));
        }
    }
}

fn credentials(backend: Backend, secret: &BTreeMap<String, SecretKey>, namespace: &str) -> Mapping {
    let mut block = Mapping::new();
    for (env, _, place) in credential_fields(backend) {
        let Some((name, key)) = secret.get(*env) else { continue };
        let reference = mapping([
            ("name", name.as_str().into()),
            ("key", key.as_str().into()),
            ("namespace", namespace.into()),
        ]);
        let mut inner = block
            .get(place[0])
            .and_then(Value::as_mapping)
            .cloned()
            .unwrap_or_default();
        inner.insert(place[1].into(), reference.into());
        block.insert(place[0].into(), inner.into());
    }
    block
}

/// The Secret mounted where `GOOGLE_APPLICATION_CREDENTIALS` points to.
fn google(deployment: &Json, plain: &BTreeMap<String, String>, namespace: &str) -> Option<Mapping> {
    let path = plain.get("GOOGLE_APPLICATION_CREDENTIALS")?;
    let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array()?;
    for mount in containers(deployment).flat_map(|c| c["volumeMounts"].as_array().into_iter().flatten()) {
        let Some(file) = mount["mountPath"].as_str().and_then(|m| path.strip_prefix(m)) else {
            continue;
        };
        let file = file.trim_start_matches('/');
        let Some(secret) = volumes
            .iter()
            .find(|v| v["name"] == mount["name"])
            .map(|v| &v["secret"])
        else {
            continue;
        };
        let item = secret["items"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|i| i["path"] == file);
        let key = if file.is_empty() {
            mount["subPath"].as_str()?
        } else {
            item.and_then(|i| i["key"].as_str()).unwrap_or(file)
        };
        let reference = mapping([
            ("name", secret["secretName"].as_str()?.into()),
            ("key", key.into()),
            ("namespace", namespace.into()),
        ]);
        return Some(mapping([(
            "secretRef",
            mapping([("secretAccessKeySecretRef", reference.into())]).into(),
        )]));
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Referenced, from_deployment, references};
    use crate::api::yaml_tree as yaml;

    #[test]
    fn reads_references_and_plain_values() {
        let deployment = json!({"metadata": {"namespace": "kes", "name": "kes"}, "spec": {"template": {"spec": {
            "serviceAccountName": "sa",
            "volumes": [{"name": "g", "secret": {"secretName": "gcp"}}],
            "containers": [{
                "envFrom": [{"configMapRef": {"name": "cm"}}, {"secretRef": {"name": "azure"}}],
                "env": [
                    {"name": "VAULT_ADDR", "value": "https://v"},
                    {"name": "AWS_SECRET_ACCESS_KEY", "valueFrom": {"secretKeyRef": {"name": "aws", "key": "sk"}}},
                    {"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": "/g/key.json"}],
                "volumeMounts": [{"name": "g", "mountPath": "/g"}]}]}}}});
        assert_eq!(
            references(&deployment),
            (vec!["cm".to_owned()], vec!["azure".to_owned()])
        );
        let referenced = Referenced {
            config_maps: [("cm".to_owned(), [("AWS_REGION".to_owned(), "r1".to_owned())].into())].into(),
            secret_keys: [("azure".to_owned(), vec!["AZURE_CLIENT_SECRET".to_owned()])].into(),
            account_annotations: [("eks.amazonaws.com/role-arn".to_owned(), "arn".to_owned())].into(),
        };
        let options = from_deployment(&deployment, &referenced);
        assert_eq!(options.env("AWS_REGION").as_deref(), Some("r1"));
        assert_eq!(options.env("VAULT_ADDR").as_deref(), Some("https://v"));
        let auth = yaml::to_value(&options.auth).unwrap();
        assert_eq!(auth["aws"]["secretRef"]["secretAccessKeySecretRef"]["key"], "sk");
        assert_eq!(auth["azure"]["authSecretRef"]["clientSecret"]["name"], "azure");
        assert_eq!(auth["gcp"]["secretRef"]["secretAccessKeySecretRef"]["key"], "key.json");
        assert_eq!(auth["vault"]["kubernetes"]["serviceAccountRef"]["name"], "sa");
    }
}
