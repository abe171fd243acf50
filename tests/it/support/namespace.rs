//! A namespace for one test: a name nobody else has, its state shown when the test fails, removed at the end.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, DynamicObject, ListParams, ObjectMeta, PostParams};
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Api, Client, Resource};
use serde_json::{Value, json};
use xtask::controlplane::Cluster;

/// A namespace that goes with this value. `ESO_TEST_KEEP` in the environment keeps it.
pub struct TempNamespace {
    cluster: Cluster,
    name: String,
}

impl TempNamespace {
    /// Makes one, named `PREFIX-` and a random rest.
    pub async fn new(cluster: &Cluster, prefix: &str) -> Self {
        let suffix: String = std::iter::repeat_with(fastrand::lowercase).take(8).collect();
        let name = format!("{prefix}-{suffix}");
        Self::named(cluster, &name).await
    }

    /// The same random name on several clusters, in their order.
    pub async fn on_each(clusters: &[&Cluster], prefix: &str) -> Vec<Self> {
        let mut made: Vec<Self> = Vec::new();
        for cluster in clusters {
            made.push(match made.first() {
                None => Self::new(cluster, prefix).await,
                Some(first) => Self::named(cluster, &first.name).await,
            });
        }
        made
    }

    async fn named(cluster: &Cluster, name: &str) -> Self {
        let metadata = ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        };
        let namespace = Namespace {
            metadata,
            ..Namespace::default()
        };
        let api: Api<Namespace> = Api::all(cluster.client().await.unwrap());
        api.create(&PostParams::default(), &namespace).await.unwrap();
        Self {
            cluster: cluster.clone(),
            name: name.to_owned(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cluster it is in.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The administrator's view of one kind in it.
    pub async fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.cluster.client().await.unwrap(), &self.name)
    }

    async fn end(cluster: Cluster, name: String, failed: bool) -> anyhow::Result<()> {
        let client = cluster.client().await?;
        if failed {
            eprintln!("--- namespace {name} of {} when the test failed ---", cluster.name());
            eprintln!("{}", dump(&client, &name).await?);
        }
        if std::env::var_os("ESO_TEST_KEEP").is_none() {
            Api::<Namespace>::all(client)
                .delete(&name, &DeleteParams::default())
                .await?;
        }
        Ok(())
    }
}

impl Drop for TempNamespace {
    fn drop(&mut self) {
        let (cluster, name, failed) = (self.cluster.clone(), self.name.clone(), std::thread::panicking());
        // A runtime may be running on this thread, so the work is done on another one.
        let ended = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(Self::end(cluster, name, failed))
        })
        .join();
        if let Ok(Err(error)) = ended
            && !failed
        {
            eprintln!("namespace {} was not removed: {error:#}", self.name);
        }
    }
}

/// Everything in the namespace as YAML. Of Secrets the keys and sizes only: a test's output is a place where values
/// must not appear.
async fn dump(client: &Client, namespace: &str) -> anyhow::Result<String> {
    let mut out = String::new();
    for group in Discovery::new(client.clone()).run().await?.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            let listed = capabilities.scope == Scope::Namespaced && capabilities.supports_operation(verbs::LIST);
            // Events are served by two groups.
            if !listed || (resource.kind == "Event" && resource.group.is_empty()) {
                continue;
            }
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
            for object in api.list(&ListParams::default()).await?.items {
                out.push_str("---\n");
                out.push_str(&serde_yaml::to_string(&readable(&resource.kind, object)?)?);
            }
        }
    }
    Ok(out)
}

fn readable(kind: &str, mut object: DynamicObject) -> anyhow::Result<Value> {
    object.metadata.managed_fields = None;
    let mut value = serde_json::to_value(object)?;
    value["kind"] = kind.into();
    if kind == "Secret" {
        for data in value["data"]
            .as_object_mut()
            .into_iter()
            .flat_map(|data| data.values_mut())
        {
            *data = json!(format!(
                "<{} characters of base64>",
                data.as_str().unwrap_or_default().len()
            ));
        }
    }
    Ok(value)
}
