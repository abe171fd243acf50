//! Generator `Webhook`: the members of a JSON answer.
//!
//! ESO shares one instance of it between all its workers, which then mix up namespaces; here every run has its own.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Method;

use super::{GenerateRequest, Generated, GeneratorError, spec_of};
use crate::cluster::credentials::Scope;
use crate::provider::ProviderError;
use crate::provider::http::fetch_ca;
use crate::provider::webhook::answer;
use crate::provider::webhook::config::WebhookConfig;
use crate::provider::webhook::exchange::{Endpoint, Plan};
use crate::provider::webhook::{clients_of, template};

/// Asks the endpoint. Templates see the Secrets of `secrets[]` only; nothing is escaped, and the path is no template.
pub fn generate(request: GenerateRequest<'_>) -> BoxFuture<'_, Result<Generated, GeneratorError>> {
    async move {
        let config: WebhookConfig = spec_of(&request)?;
        ask(&request, config).await.map_err(|error| match error {
            ProviderError::NoSecret { message } => GeneratorError {
                message,
                no_secret: true,
            },
            other => GeneratorError::new(other.to_string()),
        })
    }
    .boxed()
}

async fn ask(request: &GenerateRequest<'_>, mut config: WebhookConfig) -> Result<Generated, ProviderError> {
    let scope = Scope {
        cluster_scoped: false,
        namespace: request.namespace,
    };
    // References of a generator are read where its consumer lives.
    if let Some(provider) = &mut config.ca_provider {
        provider.namespace = None;
    }
    let (bundle, provider) = (config.ca_bundle.as_deref(), config.ca_provider.as_ref());
    let ca = fetch_ca(request.credentials, scope, bundle, provider).await?;
    let path = config.result.json_path.clone();
    let name = request
        .object
        .pointer("/metadata/name")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default();
    let endpoint = Endpoint {
        config,
        cluster_scoped: false,
        namespace: request.namespace.to_owned(),
        credentials: request.credentials.clone(),
        clients: clients_of(request.credentials),
        owner: (
            "generator/Webhook".to_owned(),
            request.namespace.to_owned(),
            name.to_owned(),
        ),
        ca,
    };
    let mut seen = template::Scope::new();
    endpoint.add_secrets(&mut seen).await?;
    let plan = Plan {
        default_method: Method::GET,
        default_body: "",
        raw: seen.clone(),
        escaped: seen,
    };
    let prepared = endpoint.prepare(&plan)?;
    let answered = endpoint.send(&prepared).await.map_err(|error| match error {
        ProviderError::Transport { .. } => error.wrap("failed to call endpoint"),
        other => other,
    })?;
    Ok(Generated {
        data: answer::map(&answered.into_body()?, &path)?,
        state: None,
    })
}
