//! The provider `kubernetes`: the store lives in one cluster, the Secrets in another.

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use kubectl_eso::api::external_secret::{Find, FindName, RemoteRef};
use kubectl_eso::api::push_secret::{PushData, PushRemoteRef};
use kubectl_eso::cluster::credentials::Credentials;
use kubectl_eso::provider::{OpenRequest, Provider, ProviderError, PushSource, Validation, entry};
use kubectl_eso::secret::SecretValue;
use serde_json::{Value, json};
use xtask::controlplane::Cluster;
use xtask::metrics::AuditMark;

use crate::support::{TempNamespace, shared};

/// A downstream namespace with a store's credentials, and an upstream one with the Secrets.
struct Pair {
    down: TempNamespace,
    up: TempNamespace,
    credentials: Credentials,
}

impl Pair {
    async fn new() -> Self {
        let (down, up) = (shared().cluster(0), shared().cluster(1));
        let credentials = Credentials::new(down.client().await.unwrap(), down.url());
        Self {
            down: TempNamespace::new(down, "store").await,
            up: TempNamespace::new(up, "cellar").await,
            credentials,
        }
    }

    fn upstream(&self) -> &Cluster {
        self.up.cluster()
    }

    async fn secret(&self, place: &TempNamespace, name: &str, data: Value) {
        let secret = json!({"metadata": {"name": name, "labels": {"tier": "db"}}, "stringData": data});
        create::<Secret>(place, secret).await;
    }

    /// An account upstream with these verbs on Secrets, and its token.
    async fn account(&self, name: &str, verbs: &[&str]) -> String {
        create::<ServiceAccount>(&self.up, json!({"metadata": {"name": name}})).await;
        let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": verbs}]);
        create::<Role>(&self.up, json!({"metadata": {"name": name}, "rules": rules})).await;
        let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": self.up.name()});
        self.bind(name, subject).await;
        token(&self.up, name).await
    }

    async fn bind(&self, role: &str, subject: Value) {
        let role_ref = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role});
        create::<RoleBinding>(
            &self.up,
            json!({"metadata": {"name": role}, "roleRef": role_ref, "subjects": [subject]}),
        )
        .await;
    }

    /// The upstream server with `auth`.
    fn config(&self, auth: Value) -> Value {
        let ca = data_encoding(self.upstream().ca_pem());
        json!({"server": {"url": self.upstream().url(), "caBundle": ca}, "remoteNamespace": self.up.name(), "auth": auth})
    }

    async fn try_open(&self, config: &Value) -> Result<Box<dyn Provider>, ProviderError> {
        let request = OpenRequest {
            store_kind: "SecretStore",
            store_name: "s",
            namespace: self.down.name(),
            config,
            retry: None,
            credentials: &self.credentials,
        };
        (entry("kubernetes").unwrap().open)(request).await
    }

    async fn open(&self, config: &Value) -> Box<dyn Provider> {
        self.try_open(config).await.unwrap()
    }

    /// A store that uses a token kept in a Secret downstream.
    async fn token_store(&self, token: &str) -> Box<dyn Provider> {
        self.secret(&self.down, "reader", json!({"token": token})).await;
        self.open(&self.config(json!({"token": {"bearerToken": {"name": "reader", "key": "token"}}})))
            .await
    }
}

fn data_encoding(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

async fn create<K>(place: &TempNamespace, object: Value)
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + serde::Serialize
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    place
        .api::<K>()
        .await
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
}

async fn token(place: &TempNamespace, account: &str) -> String {
    let spec = TokenRequestSpec {
        expiration_seconds: Some(600),
        ..TokenRequestSpec::default()
    };
    let request = TokenRequest {
        spec: Some(spec),
        ..TokenRequest::default()
    };
    let api: Api<ServiceAccount> = place.api().await;
    let made = api
        .create_token_request(account, &PostParams::default(), &request)
        .await
        .unwrap();
    made.status.unwrap().token.unwrap()
}

fn reference(key: &str, property: &str) -> RemoteRef {
    RemoteRef {
        key: key.to_owned(),
        property: property.to_owned(),
        ..RemoteRef::default()
    }
}

async fn text(store: &dyn Provider, key: &str, property: &str) -> Result<String, String> {
    let found = store
        .get(&reference(key, property))
        .await
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(found.expose()).into_owned())
}

#[tokio::test]
async fn a_token_reads_one_key_all_keys_and_many_secrets() {
    let pair = Pair::new().await;
    pair.secret(
        &pair.up,
        "jar",
        json!({"user": "ida", "conf": "{\"db\":{\"port\":5432}}"}),
    )
    .await;
    pair.secret(&pair.up, "crate", json!({"user": "eve"})).await;
    let token = pair.account("reader", &["get", "list"]).await;
    // A line break at the end of a stored token is not part of it.
    let store = pair.token_store(&format!("{token}\n")).await;
    assert_eq!(store.validate().await, Validation::Valid);
    assert_eq!(text(&*store, "jar", "user").await.as_deref(), Ok("ida"));
    assert_eq!(text(&*store, "jar", "conf.db.port").await.as_deref(), Ok("5432"));
    let all: Vec<_> = store
        .get_map(&reference("jar", ""))
        .await
        .unwrap()
        .into_keys()
        .collect();
    assert_eq!(all, ["conf", "user"]);
    let find = Find {
        name: Some(FindName {
            regexp: "^cr".to_owned(),
        }),
        ..Find::default()
    };
    let found = store.find(&find).await.unwrap();
    assert_eq!(found["crate"].expose(), br#"{"user":"eve"}"#);
    let labelled = Find {
        tags: Some([("tier".to_owned(), "db".to_owned())].into()),
        ..Find::default()
    };
    assert_eq!(store.find(&labelled).await.unwrap().len(), 2);
}

#[tokio::test]
async fn refusals_read_as_the_api_server_says_them() {
    let pair = Pair::new().await;
    pair.secret(&pair.up, "jar", json!({"user": "ida"})).await;
    let token = pair.account("reader", &["get"]).await;
    let store = pair.token_store(&token).await;
    assert_eq!(
        text(&*store, "gone", "x").await,
        Err("secrets \"gone\" not found".to_owned())
    );
    assert!(matches!(
        store.get_map(&reference("gone", "")).await,
        Err(ProviderError::NoSecret { .. })
    ));
    let find = Find {
        tags: Some(std::collections::BTreeMap::new()),
        ..Find::default()
    };
    let user = format!("system:serviceaccount:{}:reader", pair.up.name());
    let forbidden = format!(
        "unable to list secrets: secrets is forbidden: User \"{user}\" cannot list resource \"secrets\" in API group \"\" in the namespace \"{}\"",
        pair.up.name()
    );
    assert_eq!(
        store.find(&find).await.unwrap_err(),
        ProviderError::Denied { message: forbidden }
    );
    assert_eq!(
        text(&*store, "../jar", "x").await,
        Err("invalid resource name \"../jar\": [may not contain '/']".to_owned())
    );
}

#[tokio::test]
async fn a_store_without_rights_is_invalid_and_one_with_junk_is_unknown() {
    let pair = Pair::new().await;
    let token = pair.account("nobody", &[]).await;
    let store = pair.token_store(&token).await;
    let denied = ProviderError::Denied {
        message: "client is not allowed to get secrets".to_owned(),
    };
    assert_eq!(store.validate().await, Validation::Invalid(denied));

    pair.secret(&pair.down, "junk", json!({"token": "junk"})).await;
    let junk = pair
        .open(&pair.config(json!({"token": {"bearerToken": {"name": "junk", "key": "token"}}})))
        .await;
    let unknown = ProviderError::Denied {
        message: "could not verify if client is valid: Unauthorized".to_owned(),
    };
    assert_eq!(junk.validate().await, Validation::Unknown(unknown));
    assert_eq!(text(&*junk, "jar", "x").await, Err("Unauthorized".to_owned()));
}

#[tokio::test]
async fn a_server_signed_by_somebody_else_is_not_trusted() {
    let pair = Pair::new().await;
    let token = pair.account("reader", &["get"]).await;
    pair.secret(&pair.down, "reader", json!({"token": token})).await;
    let mut config = pair.config(json!({"token": {"bearerToken": {"name": "reader", "key": "token"}}}));
    config["server"]["caBundle"] = json!(data_encoding(pair.down.cluster().ca_pem()));
    let store = pair.open(&config).await;
    let url = format!(
        "{}/api/v1/namespaces/{}/secrets/jar",
        pair.upstream().url(),
        pair.up.name()
    );
    let cause = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert_eq!(text(&*store, "jar", "x").await, Err(format!("Get \"{url}\": {cause}")));
    let Validation::Unknown(error) = store.validate().await else {
        panic!("a broken connection proves nothing")
    };
    let reviews = format!(
        "{}/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        pair.upstream().url()
    );
    assert_eq!(
        error.to_string(),
        format!("could not verify if client is valid: Post \"{reviews}\": {cause}")
    );
}

#[tokio::test]
async fn nobody_listening_is_a_refused_connection() {
    let pair = Pair::new().await;
    pair.secret(&pair.down, "reader", json!({"token": "x"})).await;
    let port = xtask::controlplane::free_port().unwrap();
    let mut config = pair.config(json!({"token": {"bearerToken": {"name": "reader", "key": "token"}}}));
    config["server"]["url"] = json!(format!("https://127.0.0.1:{port}"));
    let url = format!(
        "https://127.0.0.1:{port}/api/v1/namespaces/{}/secrets/jar",
        pair.up.name()
    );
    let store = pair.open(&config).await;
    let refused = format!("Get \"{url}\": dial tcp 127.0.0.1:{port}: connect: connection refused");
    assert_eq!(text(&*store, "jar", "x").await, Err(refused));
}

#[tokio::test]
async fn a_client_certificate_and_a_kubeconfig_log_in() {
    let pair = Pair::new().await;
    pair.secret(&pair.up, "jar", json!({"user": "ida"})).await;
    pair.account("reader", &["get"]).await;
    pair.up
        .api::<RoleBinding>()
        .await
        .delete("reader", &DeleteParams::default())
        .await
        .unwrap();
    pair.bind(
        "reader",
        json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bertha"}),
    )
    .await;
    let identity = pair.upstream().authority().client("bertha", &[]).unwrap();
    pair.secret(
        &pair.down,
        "pair",
        json!({"crt": identity.cert_pem, "key": identity.key_pem}),
    )
    .await;
    let selector = |key: &str| json!({"name": "pair", "key": key});
    let cert = json!({"cert": {"clientCert": selector("crt"), "clientKey": selector("key")}});
    let store = pair.open(&pair.config(cert)).await;
    assert_eq!(text(&*store, "jar", "user").await.as_deref(), Ok("ida"));

    let kubeconfig = pair.upstream().kubeconfig("up").to_yaml().unwrap();
    pair.secret(&pair.down, "up", json!({"config": kubeconfig})).await;
    let config = json!({"authRef": {"name": "up", "key": "config"}, "remoteNamespace": pair.up.name()});
    assert_eq!(
        text(&*pair.open(&config).await, "jar", "user").await.as_deref(),
        Ok("ida")
    );
}

/// The store's cluster is the read one here: a token is minted there.
#[tokio::test]
async fn a_minted_token_is_replaced_when_its_account_was_made_anew() {
    let pair = Pair::new().await;
    let down = pair.down.cluster();
    create::<Secret>(
        &pair.down,
        json!({"metadata": {"name": "jar"}, "stringData": {"user": "ida"}}),
    )
    .await;
    create::<ServiceAccount>(&pair.down, json!({"metadata": {"name": "minter"}})).await;
    let rules = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]);
    create::<Role>(&pair.down, json!({"metadata": {"name": "minter"}, "rules": rules})).await;
    let subject = json!({"kind": "ServiceAccount", "name": "minter", "namespace": pair.down.name()});
    let role_ref = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "minter"});
    create::<RoleBinding>(
        &pair.down,
        json!({"metadata": {"name": "minter"}, "roleRef": role_ref, "subjects": [subject]}),
    )
    .await;
    let config = json!({
        "server": {"url": down.url(), "caBundle": data_encoding(down.ca_pem())}, "remoteNamespace": pair.down.name(),
        "auth": {"serviceAccount": {"name": "minter"}},
    });
    let store = pair.open(&config).await;
    assert_eq!(text(&*store, "jar", "user").await.as_deref(), Ok("ida"));
    let accounts = pair.down.api::<ServiceAccount>().await;
    accounts.delete("minter", &DeleteParams::default()).await.unwrap();
    create::<ServiceAccount>(&pair.down, json!({"metadata": {"name": "minter"}})).await;
    assert_eq!(
        text(&*pair.open(&config).await, "jar", "user").await.as_deref(),
        Ok("ida")
    );

    let config = json!({"server": config["server"], "auth": {"serviceAccount": {"name": "gone"}}});
    let error = pair.try_open(&config).await.err().unwrap().to_string();
    assert_eq!(
        error,
        "failed to prepare auth: could not fetch Auth.ServiceAccount: cannot create service account token: \"serviceaccounts \\\"gone\\\" not found\""
    );
}

#[tokio::test]
async fn pushes_change_only_what_differs() {
    let pair = Pair::new().await;
    let token = pair.account("writer", &["get", "create", "update", "delete"]).await;
    let store = pair.token_store(&token).await;
    let writer = store.writer().unwrap();
    let source = PushSource {
        labels: [("team".to_owned(), "red".to_owned())].into(),
        data: [("user", "ida"), ("pin", "4711")]
            .map(|(key, value)| (key.to_owned(), SecretValue::from(value.to_owned())))
            .into(),
        ..PushSource::default()
    };
    let entry = |secret_key: &str, property: &str| -> PushData {
        let remote = json!({"remoteKey": "copy", "property": property});
        serde_json::from_value(json!({"match": {"secretKey": secret_key, "remoteRef": remote}})).unwrap()
    };
    let remote = |property: &str| PushRemoteRef {
        remote_key: "copy".to_owned(),
        property: property.to_owned(),
    };
    assert!(!writer.exists(&remote("")).await.unwrap());
    writer.push(&source, &entry("user", "login")).await.unwrap();
    writer.push(&source, &entry("pin", "code")).await.unwrap();
    let copy = || async { pair.up.api::<Secret>().await.get_opt("copy").await.unwrap() };
    let made = copy().await.unwrap();
    assert_eq!(made.type_.as_deref(), Some("Opaque"));
    assert_eq!(made.data.unwrap().into_keys().collect::<Vec<_>>(), ["code", "login"]);
    assert_eq!(made.metadata.labels.unwrap()["team"], "red");

    let mark = AuditMark::set(pair.upstream()).await.unwrap();
    writer.push(&source, &entry("pin", "code")).await.unwrap();
    let writes = mark.writes().await.unwrap();
    assert!(
        writes.iter().all(|event| event.namespace() != pair.up.name()),
        "{writes:?}"
    );

    writer.delete(&remote("nope")).await.unwrap();
    writer.delete(&remote("code")).await.unwrap();
    assert!(writer.exists(&remote("login")).await.unwrap() && !writer.exists(&remote("code")).await.unwrap());
    writer.delete(&remote("login")).await.unwrap();
    assert!(copy().await.is_none());
    writer.delete(&remote("login")).await.unwrap();

    let error = writer.push(&source, &entry("user", "")).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "requires property in RemoteRef to push secret value if secret key is defined"
    );
}
