//! `push-target`: the upstream may write some Secrets of every downstream: rights → anchor → token → proof → token Secret
//! → store → PushSecrets → old anchors. Safe to kill at any request and to run again.

mod args;

use args::DeletionArg;
pub use args::PushTargetArgs;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::credential::{delete_anchor, stored_token};
use super::distribute_token::{ids, namespace_of, not_started};
use super::error::CliError;
use super::exit::ExitCode;
use super::global::DryRun;
use super::session::{Session, Stopwatch, Target, cluster_uid, exit_of, failure, now, unreachable};
use super::steps::{Writer, export};
use super::upstream::{self, Upstream, UpstreamArgs};
use crate::cluster::discovery::{Served, discover};
use crate::cluster::fanout::fan_out;
use crate::cluster::proof::Visitor;
use crate::cluster::{Cluster, Reason, observe, token};
use crate::plan::compare::is_ours;
use crate::plan::distribute::{
    Anchor, Due, TokenRecord, TokenState, anchor, anchor_of, due, next_generation, record_of, retirable,
};
use crate::plan::names::{
    LABEL_CLUSTER, LABEL_MANAGED_BY, LABEL_PART, MANAGED_BY, PUSH_ACCOUNT, PUSH_NAMESPACE, Part, READER_ROLE,
};
use crate::plan::push_target::{
    Deletion, Spec, admitted, credential, identity, place, push_secrets, store, target_name,
};
use crate::plan::{Action, Manifest, Outcome, Step, bootstrap};
use crate::ui::results::Report;

/// The upstream side, read once for all downstreams.
struct Hub<'a> {
    cluster: Cluster,
    served: Served,
    /// Token Secrets of ours in the push namespace.
    held: Vec<Value>,
    args: &'a PushTargetArgs,
}

/// One downstream, found and proved.
struct Spoke {
    found: Upstream,
    served: Served,
    spec: Spec,
    anchors: Vec<Anchor>,
    stored: Option<Value>,
    record: Option<TokenRecord>,
}

/// Runs the command.
///
/// # Errors
/// In three lines; failures of single clusters are results, not errors.
pub async fn run(session: &Session, args: PushTargetArgs) -> Result<ExitCode, CliError> {
    args.check()?;
    let typed = args.typed_ids()?;
    let name = session.context()?;
    session.target_names(&args.targets, Some(&name))?;
    let cluster = session.connect(&name).await?;
    let uid = cluster_uid(&cluster).await?;
    let targets = session.targets(&args.targets, Some((&name, uid.as_deref()))).await?;
    let served = discover(&cluster, &["", "rbac.authorization.k8s.io", "external-secrets.io"]).await?;
    let held = ours(&cluster, &served, PUSH_NAMESPACE, Part::Credential).await?;
    let hub = Hub {
        cluster,
        served,
        held,
        args: &args,
    };
    hub.check().await?;
    let ids = ids(&targets, &hub.held, &typed)?;
    if args.write.export {
        return hub.export(session, &targets, &ids).await;
    }
    let shared = hub.writer().apply(bootstrap::namespace(PUSH_NAMESPACE)).await?;
    let mut reports = hub.serve_all(session, &targets, ids).await;
    if let Some(first) = reports.first_mut() {
        first.objects.insert(0, shared);
    }
    let exit = exit_of(&reports);
    super::output::print(
        session,
        args.output.output,
        "PushTargetResult",
        &reports,
        exit,
        args.write.suffix(),
    )?;
    Ok(exit)
}

async fn ours(cluster: &Cluster, served: &Served, namespace: &str, part: Part) -> Result<Vec<Value>, CliError> {
    let resource = crate::cluster::apply::resolve(cluster, served, "v1", "Secret", namespace)?;
    let selector = format!(
        "{LABEL_MANAGED_BY}={MANAGED_BY},{LABEL_PART}={},{LABEL_CLUSTER}",
        part.as_str()
    );
    Ok(observe::list(cluster, &resource, Some(namespace), Some(&selector)).await?)
}

impl Hub<'_> {
    fn writer(&self) -> Writer<'_> {
        Writer {
            cluster: &self.cluster,
            served: &self.served,
            write: &self.args.write,
            policy: self.args.policy(),
        }
    }

    fn is_dry(&self) -> bool {
        self.args.write.mode() != DryRun::None
    }

    /// The definitions are served, and the push namespace is none that the reader Role covers.
    async fn check(&self) -> Result<(), CliError> {
        for kind in ["ClusterSecretStore", "PushSecret"] {
            if self.served.versions_of("external-secrets.io", kind).is_empty() {
                return Err(CliError::failed(
                    "KindMissing",
                    format!("the upstream does not serve {kind} [{}]", self.cluster.context),
                )
                .cause("the CRDs of External Secrets are not installed there")
                .hint(format!(
                    "kubectl eso crds --apply --contexts {}",
                    super::error::quoted(&self.cluster.context)
                )));
            }
        }
        let rbac = "rbac.authorization.k8s.io/v1";
        let resource = crate::cluster::apply::resolve(&self.cluster, &self.served, rbac, "Role", READER_ROLE)?;
        if observe::get(&self.cluster, &resource, Some(PUSH_NAMESPACE), READER_ROLE)
            .await?
            .is_none()
        {
            return Ok(());
        }
        Err(CliError::failed(
            "Conflict",
            format!(
                "the namespace {PUSH_NAMESPACE:?} has a reader role [{}]",
                self.cluster.context
            ),
        )
        .cause(format!(
            "role {READER_ROLE} lets other clusters read the Secrets there, and push credentials are Secrets"
        ))
        .hint(format!("kubectl delete role {READER_ROLE} -n {PUSH_NAMESPACE}")))
    }

    async fn serve_all(&self, session: &Session, targets: &[Target], ids: Vec<String>) -> Vec<Report> {
        let failed = std::sync::atomic::AtomicBool::new(false);
        let (failed, fail_fast) = (&failed, self.args.targets.fail_fast);
        let work: Vec<(&Target, String, String)> = targets
            .iter()
            .zip(ids)
            .map(|(t, id)| (t, id, namespace_of(session, t)))
            .collect();
        fan_out(
            work,
            usize::from(self.args.targets.concurrency),
            |(target, id, namespace)| async move {
                use std::sync::atomic::Ordering;
                if session.cancel.is_cancelled() || fail_fast && failed.load(Ordering::Relaxed) {
                    return not_started(&target.context);
                }
                let report = self.serve(target, &id, &namespace).await;
                failed.fetch_or(report.failure.is_some(), Ordering::Relaxed);
                report
            },
            |_| {},
        )
        .await
    }

    /// Runs the transaction for one downstream and reports it; never fails as a whole.
    async fn serve(&self, target: &Target, cid: &str, namespace: &str) -> Report {
        let watch = Stopwatch::start();
        let cluster = match &target.cluster {
            Ok(cluster) => cluster,
            Err(e) => return unreachable(&target.context, e, watch.took()),
        };
        let mut report = Report {
            context: target.context.clone(),
            server: cluster.server.clone(),
            cluster_uid: target.uid.clone(),
            details: json!({"clusterId": cid, "namespace": namespace, "store": target_name(cid)}),
            ..Report::default()
        };
        if let Err(e) = self.transact(cluster, target, cid, namespace, &mut report).await {
            report.failure = Some(failure(&e));
        }
        report.took = watch.took();
        report
    }

    async fn transact(
        &self,
        cluster: &Cluster,
        target: &Target,
        cid: &str,
        namespace: &str,
        report: &mut Report,
    ) -> Result<(), CliError> {
        let spoke = self.look(cluster, target, cid, namespace).await?;
        let downstream = Writer {
            cluster,
            served: &spoke.served,
            write: &self.args.write,
            policy: self.args.policy(),
        };
        self.rights(&downstream, &spoke, report).await?;
        let state = TokenState {
            record: spoke.record.as_ref(),
            anchors: &spoke.anchors,
            hub: &spoke.found.uid,
            accepted: self.accepted(&spoke).await?,
        };
        let verdict = due(&state, now(), self.args.min_remaining, self.args.force);
        let record = match &spoke.record {
            Some(record) if verdict == Due::No => {
                let kept = credential(&spoke.spec, None, None);
                report.objects.push(outcome(&kept, Action::Unchanged));
                record.clone()
            }
            _ => self.renew(&downstream, &spoke, report).await?,
        };
        report.details["token"] = json!({"expiresAt": record.expires_at.to_string(), "generation": record.generation, "due": format!("{verdict:?}")});
        let writer = self.writer();
        report.objects.push(writer.apply(store(&spoke.spec)).await?);
        for manifest in push_secrets(&spoke.spec) {
            report.objects.push(writer.apply(manifest).await?);
        }
        for old in retirable(&spoke.anchors, &place(cid), Some(&record), now(), self.args.overlap) {
            let step = Step::Delete(delete_anchor(
                namespace,
                &old.name,
                &old.uid,
                "its token is no longer in use",
            ));
            report.objects.push(downstream.execute(&step).await?);
        }
        Ok(())
    }

    fn spec(&self, target: &Target, found: &Upstream, cid: &str, namespace: &str) -> Spec {
        Spec {
            cid: cid.to_owned(),
            cluster_uid: target.uid.clone(),
            url: found.address.url.clone(),
            ca_pem: found.ca.pem.clone(),
            remote_namespace: namespace.to_owned(),
            data_namespace: self.args.data_namespace.clone(),
            secrets: self.args.secrets.clone(),
            interval: self.args.refresh_interval.clone(),
            deletion: match self.args.deletion_policy {
                DeletionArg::None => Deletion::Keep,
                DeletionArg::Delete => Deletion::Delete,
            },
        }
    }

    async fn find(&self, cluster: &Cluster) -> Result<Upstream, CliError> {
        let wish = UpstreamArgs {
            upstream_url: None,
            upstream_ca: None,
            allow_local_url: self.args.allow_local_url,
            data_namespace: self.args.data_namespace.clone(),
        };
        upstream::find(cluster.clone(), &wish)
            .await
            .map_err(|e| e.hint("the upstream must reach this cluster; test clusters need --allow-local-url"))
    }

    /// Reads everything before the first write, so that a refusal leaves nothing half done.
    async fn look(&self, cluster: &Cluster, target: &Target, cid: &str, namespace: &str) -> Result<Spoke, CliError> {
        let found = self.find(cluster).await?;
        let served = discover(cluster, &["", "rbac.authorization.k8s.io"]).await?;
        let spec = self.spec(target, &found, cid, namespace);
        let stored = self.writer().observe(&credential(&spec, None, None)).await?;
        if stored.as_ref().is_some_and(|s| !is_ours(s)) && !self.args.adopt {
            return Err(CliError::failed(
                "Conflict",
                format!(
                    "cannot write secret/{} in namespace {PUSH_NAMESPACE:?} [{}]",
                    target_name(cid),
                    self.cluster.context
                ),
            )
            .cause("it exists and was not made by kubectl-eso")
            .hint("--adopt takes it over; --cluster-id chooses another name"));
        }
        let anchors = ours(cluster, &served, namespace, Part::Anchor).await?;
        let record = stored.as_ref().filter(|s| is_ours(s)).and_then(record_of);
        Ok(Spoke {
            anchors: anchors
                .iter()
                .filter_map(anchor_of)
                .filter(|a| a.target == place(cid))
                .collect(),
            found,
            served,
            spec,
            stored,
            record,
        })
    }

    async fn rights(&self, downstream: &Writer<'_>, spoke: &Spoke, report: &mut Report) -> Result<(), CliError> {
        let namespace = &spoke.spec.remote_namespace;
        if !upstream::namespace_exists(downstream.cluster, namespace).await? {
            if !self.args.create_namespace {
                return Err(CliError::failed(
                    "NotFound",
                    format!(
                        "namespace {namespace:?} does not exist [{}]",
                        downstream.cluster.context
                    ),
                )
                .cause("the account and the pushed Secrets go into this namespace")
                .hint("pass --create-namespace, or another namespace with -n"));
            }
            let made = downstream.apply(bootstrap::namespace(namespace)).await?;
            report.objects.push(made);
        }
        let wanted = identity(&spoke.spec, &[]);
        let live = match wanted.first() {
            Some(role) => downstream.observe(role).await?,
            None => None,
        };
        for manifest in identity(&spoke.spec, &admitted(live.as_ref().filter(|r| is_ours(r)))) {
            report.objects.push(downstream.apply(manifest).await?);
        }
        Ok(())
    }

    /// Asks the downstream whether it takes the stored token; a transport failure is not a refusal.
    async fn accepted(&self, spoke: &Spoke) -> Result<Option<bool>, CliError> {
        if spoke.record.is_none() || self.is_dry() {
            return Ok(None);
        }
        let Some(token) = spoke.stored.as_ref().and_then(stored_token) else {
            return Ok(Some(false));
        };
        match visitor(spoke, &token).whoami().await {
            Ok(user) => Ok(Some(user == user_name(&spoke.spec))),
            Err(e) if e.reason == Reason::Unauthorized => Ok(Some(false)),
            Err(e) => Err(e.into()),
        }
    }

    /// New anchor, new token, proof, token Secret; a token that does not arrive takes its anchor with it.
    async fn renew(
        &self,
        downstream: &Writer<'_>,
        spoke: &Spoke,
        report: &mut Report,
    ) -> Result<TokenRecord, CliError> {
        let (spec, generation) = (&spoke.spec, next_generation(&spoke.anchors, spoke.record.as_ref()));
        let marker = anchor(&spec.remote_namespace, &spec.cid, generation, &place(&spec.cid));
        if self.is_dry() {
            return Ok(self.pretend(spoke, generation, &marker, report));
        }
        report.objects.push(downstream.apply(marker.clone()).await?);
        let live = downstream.observe(&marker).await?;
        let uid = live
            .as_ref()
            .and_then(|l| l.pointer("/metadata/uid"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let written = self
            .issue(downstream.cluster, spoke, (generation, &marker, &uid), report)
            .await;
        if written.is_err() {
            let why = "its token never reached the upstream";
            let gone = Step::Delete(delete_anchor(&spec.remote_namespace, marker.name(), &uid, why));
            if let Err(e) = downstream.execute(&gone).await {
                let text = format!("could not remove {}: {}; the next run does", gone.display(), e.what);
                report.warnings.push(text);
            }
        }
        written
    }

    async fn issue(
        &self,
        cluster: &Cluster,
        spoke: &Spoke,
        (generation, marker, uid): (u64, &Manifest, &str),
        report: &mut Report,
    ) -> Result<TokenRecord, CliError> {
        let spec = &spoke.spec;
        let request = token::Request {
            namespace: &spec.remote_namespace,
            account: PUSH_ACCOUNT,
            seconds: i64::try_from(self.args.token_ttl.as_secs()).unwrap_or(i64::MAX),
            audiences: &[],
            bound: Some(("Secret", marker.name(), uid)),
        };
        let issued = token::issue(cluster, &request).await?;
        let user = visitor(spoke, &issued.token).whoami().await?;
        if user != user_name(spec) {
            return Err(CliError::failed(
                "WrongIdentity",
                format!("the address {} sees the new token as {user:?}", spec.url),
            )
            .cause(format!("expected {:?}", user_name(spec)))
            .hint("the address may belong to another cluster or a proxy"));
        }
        let record = TokenRecord {
            generation,
            issued_at: Timestamp::from_second(issued.claims.issued_at).unwrap_or_else(|_| now()),
            expires_at: issued.expires_at,
            token_id: issued.claims.id.clone(),
            hub: spoke.found.uid.clone(),
        };
        let secret = credential(spec, Some(&record), Some(issued.token.as_str()));
        let step = Step::apply(secret, spoke.stored.clone(), self.args.policy());
        report.objects.push(self.writer().execute(&step).await?);
        report.notes.push(format!(
            "token of generation {generation} expires at {}",
            record.expires_at
        ));
        Ok(record)
    }

    fn pretend(&self, spoke: &Spoke, generation: u64, marker: &Manifest, report: &mut Report) -> TokenRecord {
        report.objects.push(outcome(marker, Action::Created));
        let action = if spoke.stored.is_some() {
            Action::Configured
        } else {
            Action::Created
        };
        report
            .objects
            .push(outcome(&credential(&spoke.spec, None, None), action));
        report.notes.push(format!(
            "no token is issued in a dry run [{}]",
            spoke.found.cluster.context
        ));
        let at = now();
        let life = jiff::SignedDuration::try_from(self.args.token_ttl).unwrap_or_default();
        TokenRecord {
            generation,
            issued_at: at,
            expires_at: at.checked_add(life).unwrap_or(at),
            token_id: String::new(),
            hub: spoke.found.uid.clone(),
        }
    }

    /// The upstream's objects as files; the token is named in a remark.
    async fn export(&self, session: &Session, targets: &[Target], ids: &[String]) -> Result<ExitCode, CliError> {
        let mut manifests = vec![bootstrap::namespace(PUSH_NAMESPACE)];
        for (target, cid) in targets.iter().zip(ids) {
            let cluster = target.cluster.as_ref().map_err(Clone::clone)?;
            let found = self.find(cluster).await?;
            let spec = self.spec(target, &found, cid, &namespace_of(session, target));
            manifests.push(store(&spec));
            manifests.extend(push_secrets(&spec));
        }
        session.ui.document(&export(&manifests, false));
        session.ui.note(&format!(
            "the tokens in namespace {PUSH_NAMESPACE} and the accounts downstream are not exported: run push-target without --export to make them"
        ));
        Ok(ExitCode::Done)
    }
}

fn visitor<'a>(spoke: &'a Spoke, token: &'a str) -> Visitor<'a> {
    Visitor {
        url: &spoke.spec.url,
        ca_pem: spoke.spec.ca_pem.as_deref(),
        token: Some(token),
        context: &spoke.found.cluster.context,
    }
}

fn user_name(spec: &Spec) -> String {
    format!("system:serviceaccount:{}:{PUSH_ACCOUNT}", spec.remote_namespace)
}

fn outcome(manifest: &Manifest, action: Action) -> Outcome {
    Outcome {
        object: manifest.display(),
        namespace: manifest.namespace().map(str::to_owned),
        action,
    }
}
