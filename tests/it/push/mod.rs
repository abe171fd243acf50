//! PushSecret, ClusterExternalSecret and `push --dry-run` on real clusters: what is written, what is left alone, how fast.

mod fan_out;
mod keeping;
mod values;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use kubectl_eso::cluster::rest::Rest;
use serde_json::{Value, json};
use xtask::controlplane::Cluster;

use crate::support::eso::Running;
use crate::support::{Eso, TempNamespace, shared, wait_until, with_crds, within};

const STORES: &str = "apis/external-secrets.io/v1";
const PUSHES: &str = "apis/external-secrets.io/v1alpha1";

/// A namespace with a source and stores, a second one that the stores write into, and the loop over the first.
struct Bed {
    rest: Rest,
    here: TempNamespace,
    there: TempNamespace,
}

impl Bed {
    async fn new() -> Self {
        let cluster = shared().cluster(0);
        with_crds(cluster).await;
        let (here, there) = (
            TempNamespace::new(cluster, "push").await,
            TempNamespace::new(cluster, "cellar").await,
        );
        let bed = Self {
            rest: Rest::new(cluster.client().await.unwrap()),
            here,
            there,
        };
        let account = json!({"kind": "ServiceAccount", "name": "pusher", "namespace": bed.here.name()});
        let group = "rbac.authorization.k8s.io";
        let rule = json!({"apiGroups": [""], "resources": ["secrets"],
            "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]});
        bed.apply(
            &bed.here,
            "api/v1",
            "serviceaccounts",
            "pusher",
            json!({"kind": "ServiceAccount"}),
        )
        .await;
        let base = "apis/rbac.authorization.k8s.io/v1";
        bed.apply(
            &bed.there,
            base,
            "roles",
            "pusher",
            json!({"kind": "Role", "rules": [rule]}),
        )
        .await;
        let role = json!({"apiGroup": group, "kind": "Role", "name": "pusher"});
        let binding = json!({"kind": "RoleBinding", "roleRef": role, "subjects": [account]});
        bed.apply(&bed.there, base, "rolebindings", "pusher", binding).await;
        bed.store("first").await;
        bed
    }

    fn cluster(&self) -> &Cluster {
        self.here.cluster()
    }

    /// A store of the second namespace.
    async fn store(&self, name: &str) {
        let config = json!({
            "server": {"url": self.cluster().url(), "caBundle": STANDARD.encode(self.cluster().ca_pem())},
            "remoteNamespace": self.there.name(), "auth": {"serviceAccount": {"name": "pusher"}},
        });
        let spec = json!({"kind": "SecretStore", "spec": {"provider": {"kubernetes": config}}});
        self.apply(&self.here, STORES, "secretstores", name, spec).await;
    }

    async fn source(&self, data: Value) {
        self.apply(
            &self.here,
            "api/v1",
            "secrets",
            "src",
            json!({"kind": "Secret", "stringData": data}),
        )
        .await;
    }

    async fn push(&self, name: &str, spec: Value) {
        self.apply(
            &self.here,
            PUSHES,
            "pushsecrets",
            name,
            json!({"kind": "PushSecret", "spec": spec}),
        )
        .await;
    }

    /// Server-side apply under a manager of the test's own.
    async fn apply(&self, place: &TempNamespace, base: &str, plural: &str, name: &str, mut object: Value) {
        object["apiVersion"] = base.trim_start_matches("apis/").trim_start_matches("api/").into();
        object["metadata"] = json!({"name": name, "namespace": place.name()});
        let path = path(place, base, plural, name);
        let path = format!("{path}?fieldManager=somebody&force=true");
        let body = object.to_string().into_bytes();
        self.rest
            .call(Method::PATCH, &path, Some("application/apply-patch+yaml"), body)
            .await
            .unwrap();
    }

    async fn merge(&self, place: &TempNamespace, base: &str, plural: &str, name: &str, patch: Value) {
        let (path, body) = (path(place, base, plural, name), patch.to_string().into_bytes());
        self.rest
            .call(Method::PATCH, &path, Some("application/merge-patch+json"), body)
            .await
            .unwrap();
    }

    async fn delete(&self, place: &TempNamespace, base: &str, plural: &str, name: &str) {
        let path = path(place, base, plural, name);
        self.rest.call(Method::DELETE, &path, None, Vec::new()).await.unwrap();
    }

    async fn read(&self, place: &TempNamespace, base: &str, plural: &str, name: &str) -> Option<Value> {
        self.rest.get_opt(&path(place, base, plural, name)).await.unwrap()
    }

    /// The decoded keys of a remote Secret; `None` if it does not exist.
    async fn remote(&self, name: &str) -> Option<std::collections::BTreeMap<String, Vec<u8>>> {
        let secret = self.read(&self.there, "api/v1", "secrets", name).await?;
        let data = secret["data"].as_object().cloned().unwrap_or_default();
        Some(
            data.into_iter()
                .map(|(k, v)| (k, STANDARD.decode(v.as_str().unwrap()).unwrap()))
                .collect(),
        )
    }

    async fn remote_text(&self, name: &str, key: &str) -> Option<String> {
        Some(String::from_utf8(self.remote(name).await?.get(key)?.clone()).unwrap())
    }

    /// Starts the loop over the first namespace.
    fn sync(&self, more: &[&str]) -> Running {
        let mut eso = Eso::new(&shared().kubeconfig_path())
            .args([
                "sync",
                "--watch",
                "-n",
                self.here.name(),
                "--context",
                self.cluster().name(),
            ])
            .args(more.iter().copied())
            .timeout(300)
            .start();
        eso.wait_for_stderr("ExternalSecrets", within(60));
        eso
    }

    /// Waits for the condition of a PushSecret.
    async fn wait_reason(&self, name: &str, reason: &str) -> Value {
        wait_until(&format!("PushSecret {name} says {reason}"), within(60), async || {
            let object = self.read(&self.here, PUSHES, "pushsecrets", name).await?;
            (object["status"]["conditions"][0]["reason"] == reason).then_some(object)
        })
        .await
    }

    async fn wait_gone(&self, name: &str) {
        wait_until(&format!("PushSecret {name} is gone"), within(60), async || {
            self.read(&self.here, PUSHES, "pushsecrets", name)
                .await
                .is_none()
                .then_some(())
        })
        .await;
    }
}

fn path(place: &TempNamespace, base: &str, plural: &str, name: &str) -> String {
    format!("/{base}/namespaces/{}/{plural}/{name}", place.name())
}

/// A spec that pushes the key `user` of the source to `copy`, property `login`.
fn login(store: &str, policy: &str) -> Value {
    json!({
        "refreshInterval": "1h", "deletionPolicy": policy, "secretStoreRefs": [{"name": store}],
        "selector": {"secret": {"name": "src"}},
        "data": [{"match": {"secretKey": "user", "remoteRef": {"remoteKey": "copy", "property": "login"}}}],
    })
}
