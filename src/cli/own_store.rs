//! `apply` without files: the store `upstream-store` for downstreams that hold a credential.

use serde_json::Value;

use super::credential::store_manifest;
use super::error::CliError;
use super::session::{Session, Target};
use super::upstream::{self, Upstream, UpstreamArgs};
use crate::cluster::discovery::discover;
use crate::cluster::{Cluster, apply, observe};
use crate::plan::input::Input;
use crate::plan::names::{LABEL_CLUSTER, TOKEN_SECRET};
use crate::plan::stores::StoreScope;

/// The upstream that the store will name, and the targets without it.
///
/// # Errors
/// No usable address, or a selection that cannot be made.
pub async fn prepare(
    session: &Session,
    args: &UpstreamArgs,
    targets: &super::global::TargetArgs,
) -> Result<(Upstream, Vec<Target>), CliError> {
    if !targets.is_used() {
        return Err(CliError::usage("nothing to apply: neither -f nor --contexts is given")
            .cause("without -f the store upstream-store is applied to the clusters of --contexts")
            .hint("kubectl eso apply -f external-secret.yaml, or kubectl eso apply --contexts a,b"));
    }
    let name = session.context()?;
    session.target_names(targets, Some(&name))?;
    let found = upstream::find(session.connect(&name).await?, args).await?;
    let targets = session.targets(targets, Some((&name, Some(&found.uid)))).await?;
    Ok((found, targets))
}

/// The store as input for one downstream, whose credential tells the cluster id.
///
/// # Errors
/// There is no credential in the namespace, or it cannot be read.
pub async fn input(found: &Upstream, cluster: &Cluster) -> Result<Input, CliError> {
    let namespace = cluster.namespace.as_str();
    let served = discover(cluster, &[""]).await?;
    let resource = apply::resolve(cluster, &served, "v1", "Secret", TOKEN_SECRET)?;
    let token = observe::get(cluster, &resource, Some(namespace), TOKEN_SECRET).await?;
    let Some(token) = token else {
        return Err(CliError::failed(
            "NotFound",
            format!(
                "there is no credential in namespace {namespace:?} [{}]",
                cluster.context
            ),
        )
        .cause(format!("the store needs secret/{TOKEN_SECRET} beside it"))
        .hint(format!(
            "kubectl eso distribute-token --contexts {} -n {namespace} --with-store",
            super::error::quoted(&cluster.context)
        )));
    };
    let labels = token.pointer("/metadata/labels");
    let id = labels.and_then(|l| l.get(LABEL_CLUSTER)).and_then(Value::as_str);
    let id = id.map_or_else(|| crate::plan::cid::from_context(&cluster.context), str::to_owned);
    Ok(Input {
        manifest: store_manifest(found, &id, namespace, &StoreScope::Namespace),
        source: "upstream-store".to_owned(),
        document: 1,
    })
}
