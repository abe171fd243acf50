//! The transaction that gives one downstream a working credential: rights → anchor → token → proof → CA → token Secret
//! → store → old anchors. Safe to kill at any request and to run again; at no moment is a stored token revoked.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::error::CliError;
use super::global::{DryRun, WriteArgs};
use super::session::{Stopwatch, Target, failure, now, unreachable};
use super::steps::Writer;
use super::upstream::Upstream;
use crate::cluster::discovery::{Served, discover};
use crate::cluster::proof::Visitor;
use crate::cluster::token::{self, Issued};
use crate::cluster::{Cluster, Reason};
use crate::plan::compare::{Policy, is_ours};
use crate::plan::distribute::{
    Anchor, Due, Scope, TokenRecord, TokenState, anchor, ca_config_map, due, identity, identity_name, next_generation,
    record_of, retirable, scope_of, token_secret,
};
use crate::plan::names::{CA_CONFIG_MAP, IDENTITY_NAMESPACE, READER_ROLE, STORE, TOKEN_SECRET};
use crate::plan::{Action, Delete, Manifest, Outcome, Step, stores};
use crate::ui::results::Report;

/// What the user wants for every downstream.
#[derive(Debug, Clone)]
pub struct Wish {
    /// Life asked for.
    pub ttl: Duration,
    /// Audiences; empty means the API server's own.
    pub audiences: Vec<String>,
    /// Renew even a good token.
    pub force: bool,
    /// Life that must be left; one third of the whole when absent.
    pub min_remaining: Option<Duration>,
    /// How long an old token stays valid beside a new one.
    pub overlap: Duration,
    /// `--secrets` or `--all-secrets`; `None` keeps what is there.
    pub scope: Option<Scope>,
    /// Use the one account of the data namespace.
    pub shared_identity: bool,
    /// Also apply the store.
    pub store: Option<stores::StoreScope>,
    /// Make the downstream namespace.
    pub create_namespace: bool,
    /// Dry run and force flags.
    pub write: WriteArgs,
    /// How strict to be with what exists.
    pub policy: Policy,
}

/// The upstream side, read once for all downstreams.
pub struct Hub<'a> {
    /// The proved upstream.
    pub upstream: &'a Upstream,
    /// Its kinds.
    pub served: &'a Served,
    /// Account namespace and accounts of all downstreams.
    pub accounts: &'a [Value],
    /// All anchors, with the id they belong to.
    pub anchors: &'a [(String, Anchor)],
    /// The wish.
    pub wish: &'a Wish,
}

/// What is there downstream before anything is written.
struct Seen {
    token: Option<Value>,
    record: Option<TokenRecord>,
    served: Served,
}

impl Hub<'_> {
    fn account(&self, cid: &str) -> (String, String) {
        if self.wish.shared_identity {
            (self.upstream.data_namespace.clone(), STORE.to_owned())
        } else {
            (IDENTITY_NAMESPACE.to_owned(), identity_name(cid))
        }
    }

    fn upstream_writer(&self) -> Writer<'_> {
        Writer {
            cluster: &self.upstream.cluster,
            served: self.served,
            write: &self.wish.write,
            policy: self.wish.policy,
        }
    }

    fn is_dry(&self) -> bool {
        self.wish.write.mode() != DryRun::None
    }

    /// Runs the transaction for one downstream and reports it; never fails as a whole.
    pub async fn serve(&self, target: &Target, cid: &str, namespace: &str) -> Report {
        let watch = Stopwatch::start();
        let cluster = match &target.cluster {
            Ok(cluster) => cluster,
            Err(e) => return unreachable(&target.context, e, watch.took()),
        };
        let mut report = Report {
            context: target.context.clone(),
            server: cluster.server.clone(),
            cluster_uid: target.uid.clone(),
            details: json!({"clusterId": cid, "namespace": namespace}),
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
        let seen = self.look(cluster, cid, namespace, report).await?;
        let downstream = Writer {
            cluster,
            served: &seen.served,
            write: &self.wish.write,
            policy: self.wish.policy,
        };
        self.ensure_identity(target, cid, report).await?;
        let place = format!("{namespace}/{TOKEN_SECRET}");
        let anchors: Vec<Anchor> = self
            .anchors
            .iter()
            .filter(|(id, _)| id == cid)
            .map(|(_, a)| a.clone())
            .collect();
        let accepted = self.accepted(&seen, cid).await?;
        let state = TokenState {
            record: seen.record.as_ref(),
            anchors: &anchors,
            hub: &self.upstream.uid,
            accepted,
        };
        let verdict = due(&state, now(), self.wish.min_remaining, self.wish.force);
        self.apply_ca(&downstream, cid, namespace, report).await?;
        let record = if verdict == Due::No {
            report.objects.push(unchanged(TOKEN_SECRET, namespace));
            seen.record.clone()
        } else {
            let generation = next_generation(&anchors, seen.record.as_ref());
            Some(self.renew(&downstream, cid, generation, &place, &seen, report).await?)
        };
        if let Some(record) = &record {
            report.details["token"] = json!({"expiresAt": record.expires_at.to_string(), "generation": record.generation, "due": format!("{verdict:?}")});
        }
        self.apply_store(&downstream, cid, namespace, report).await?;
        self.retire(&anchors, &place, record.as_ref(), cid, report).await
    }

    /// Reads everything downstream before the first write, so that a refusal leaves nothing half done.
    async fn look(&self, cluster: &Cluster, cid: &str, namespace: &str, report: &mut Report) -> Result<Seen, CliError> {
        let groups: &[&str] = if self.wish.store.is_some() {
            &["", "external-secrets.io"]
        } else {
            &[""]
        };
        let served = discover(cluster, groups).await?;
        let writer = Writer {
            cluster,
            served: &served,
            write: &self.wish.write,
            policy: self.wish.policy,
        };
        if !super::upstream::namespace_exists(cluster, namespace).await? {
            if !self.wish.create_namespace {
                return Err(CliError::failed(
                    "NotFound",
                    format!("namespace {namespace:?} does not exist [{}]", cluster.context),
                )
                .cause("the credential and the store go into this namespace")
                .hint("pass --create-namespace, or another namespace with -n"));
            }
            report
                .objects
                .push(writer.apply(crate::plan::bootstrap::namespace(namespace)).await?);
        }
        let token = writer.observe(&token_secret(namespace, cid, None, None)).await?;
        let ca = writer.observe(&ca_config_map(namespace, cid, "")).await?;
        for (found, name) in [
            (&token, format!("secret/{TOKEN_SECRET}")),
            (&ca, format!("configmap/{CA_CONFIG_MAP}")),
        ] {
            if found.as_ref().is_some_and(|f| !is_ours(f)) && !self.wish.policy.adopt {
                return Err(CliError::failed(
                    "Conflict",
                    format!("cannot write {name} in namespace {namespace:?} [{}]", cluster.context),
                )
                .cause("it exists and was not made by kubectl-eso")
                .hint("--adopt takes it over; another namespace is chosen with -n"));
            }
        }
        if let Some(scope) = &self.wish.store {
            let kind = store_manifest(self.upstream, cid, namespace, scope).kind().to_owned();
            if served.versions_of("external-secrets.io", &kind).is_empty() {
                return Err(CliError::failed(
                    "KindMissing",
                    format!(
                        "cannot apply {}.external-secrets.io/{STORE} [{}]",
                        kind.to_lowercase(),
                        cluster.context
                    ),
                )
                .cause("the cluster does not serve the CRDs of External Secrets")
                .hint(format!(
                    "kubectl eso crds --apply --contexts {}",
                    super::error::quoted(&cluster.context)
                )));
            }
        }
        let record = token.as_ref().filter(|t| is_ours(t)).and_then(record_of);
        Ok(Seen { token, record, served })
    }

    async fn ensure_identity(&self, target: &Target, cid: &str, report: &mut Report) -> Result<(), CliError> {
        if self.wish.shared_identity {
            return Ok(());
        }
        let writer = self.upstream_writer();
        let data = &self.upstream.data_namespace;
        let name = identity_name(cid);
        let binding =
            crate::plan::bootstrap::role_binding(data, &name, READER_ROLE, (IDENTITY_NAMESPACE, &name), Some(cid));
        let role = crate::plan::bootstrap::role(data, &name, &json!([]), Some(cid));
        let (live_binding, live_role) = (writer.observe(&binding).await?, writer.observe(&role).await?);
        let kept = scope_of(live_binding.as_ref(), live_role.as_ref(), cid);
        let scope = self.wish.scope.clone().or(kept).unwrap_or(Scope::All);
        report.details["scope"] = match &scope {
            Scope::All => json!("all"),
            Scope::Names(names) => json!(names),
        };
        for manifest in identity(cid, target.uid.as_deref(), data, &scope) {
            let live = match manifest.kind() {
                "RoleBinding" => live_binding.clone(),
                "Role" => live_role.clone(),
                _ => self
                    .accounts
                    .iter()
                    .find(|a| a.pointer("/metadata/name").and_then(Value::as_str) == Some(manifest.name()))
                    .cloned(),
            };
            report
                .objects
                .push(writer.execute(&Step::apply(manifest, live, self.wish.policy)).await?);
        }
        Ok(())
    }

    /// Asks the upstream whether it takes the stored token; a transport failure is not a refusal.
    async fn accepted(&self, seen: &Seen, cid: &str) -> Result<Option<bool>, CliError> {
        if seen.record.is_none() || self.is_dry() {
            return Ok(None);
        }
        let Some(token) = seen.token.as_ref().and_then(stored_token) else {
            return Ok(Some(false));
        };
        let visitor = Visitor {
            url: &self.upstream.address.url,
            ca_pem: self.upstream.ca.pem.as_deref(),
            token: Some(token.as_str()),
            context: &self.upstream.cluster.context,
        };
        match visitor.whoami().await {
            Ok(user) => Ok(Some(user == user_name(&self.account(cid)))),
            Err(e) if e.reason == Reason::Unauthorized => Ok(Some(false)),
            Err(e) => Err(e.into()),
        }
    }

    async fn apply_ca(
        &self,
        downstream: &Writer<'_>,
        cid: &str,
        namespace: &str,
        report: &mut Report,
    ) -> Result<(), CliError> {
        if let Some(pem) = &self.upstream.ca.pem {
            report
                .objects
                .push(downstream.apply(ca_config_map(namespace, cid, pem)).await?);
        }
        Ok(())
    }

    /// New anchor, new token, proof, token Secret; a token that does not arrive takes its anchor with it.
    async fn renew(
        &self,
        downstream: &Writer<'_>,
        cid: &str,
        generation: u64,
        place: &str,
        seen: &Seen,
        report: &mut Report,
    ) -> Result<TokenRecord, CliError> {
        let account = self.account(cid);
        let namespace = place.split('/').next().unwrap_or_default();
        let marker = anchor(&account.0, cid, generation, place);
        if self.is_dry() {
            return self.pretend(downstream, cid, generation, &marker, (namespace, seen), report);
        }
        let upstream = self.upstream_writer();
        let made = upstream
            .execute(&Step::apply(marker.clone(), None, self.wish.policy))
            .await?;
        report.objects.push(Outcome {
            action: Action::Created,
            ..made
        });
        let live = upstream.observe(&marker).await?;
        let uid = live
            .as_ref()
            .and_then(|l| l.pointer("/metadata/uid"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let written = self
            .issue_and_write(downstream, cid, (generation, &marker, &uid), (namespace, seen), report)
            .await;
        if written.is_err() {
            // The old token, if there was one, is untouched and stays valid.
            let gone = Step::Delete(delete_anchor(
                &account.0,
                marker.name(),
                &uid,
                "its token never reached the downstream",
            ));
            if let Err(e) = upstream.execute(&gone).await {
                report.warnings.push(format!(
                    "could not remove {}: {}; the next run does",
                    gone.display(),
                    e.what
                ));
            }
        }
        written
    }

    async fn issue_and_write(
        &self,
        downstream: &Writer<'_>,
        cid: &str,
        (generation, marker, uid): (u64, &Manifest, &str),
        (namespace, seen): (&str, &Seen),
        report: &mut Report,
    ) -> Result<TokenRecord, CliError> {
        let issued = self.issue(cid, marker, uid, report).await?;
        self.prove(&issued, cid).await?;
        let record = TokenRecord {
            generation,
            issued_at: Timestamp::from_second(issued.claims.issued_at).unwrap_or_else(|_| now()),
            expires_at: issued.expires_at,
            token_id: issued.claims.id.clone(),
            hub: self.upstream.uid.clone(),
        };
        let secret = token_secret(namespace, cid, Some(&record), Some(issued.token.as_str()));
        let outcome = downstream
            .execute(&Step::apply(secret, seen.token.clone(), self.wish.policy))
            .await?;
        report.objects.push(outcome);
        report.notes.push(format!(
            "token of generation {generation} expires at {}",
            record.expires_at
        ));
        Ok(record)
    }

    async fn issue(&self, cid: &str, marker: &Manifest, uid: &str, report: &mut Report) -> Result<Issued, CliError> {
        let account = self.account(cid);
        let seconds = i64::try_from(self.wish.ttl.as_secs()).unwrap_or(i64::MAX);
        let request = token::Request {
            namespace: &account.0,
            account: &account.1,
            seconds,
            audiences: &self.wish.audiences,
            bound: Some(("Secret", marker.name(), uid)),
        };
        let issued = token::issue(&self.upstream.cluster, &request).await?;
        let granted = issued.claims.expires_at - issued.claims.issued_at;
        // The server may lengthen or shorten by a little; only a real cut is worth a word.
        if granted > 0 && granted < seconds - 60 {
            report.warnings.push(format!(
                "the upstream granted a token of {granted}s instead of {seconds}s: rotate accordingly"
            ));
        }
        Ok(issued)
    }

    /// This host, with exactly the credential the downstream will use.
    async fn prove(&self, issued: &Issued, cid: &str) -> Result<(), CliError> {
        let visitor = Visitor {
            url: &self.upstream.address.url,
            ca_pem: self.upstream.ca.pem.as_deref(),
            token: Some(issued.token.as_str()),
            context: &self.upstream.cluster.context,
        };
        let user = visitor.whoami().await.map_err(|e| {
            let cause = format!("{}: {}", e.reason.as_str(), e.message);
            CliError::failed(
                e.reason.as_str(),
                format!(
                    "the upstream does not accept the new token at {}",
                    self.upstream.address.url
                ),
            )
            .cause(cause)
            .hint("leave out --audience; behind a proxy pass --upstream-url with the API server's own address")
        })?;
        let wanted = user_name(&self.account(cid));
        if user == wanted {
            return Ok(());
        }
        Err(CliError::failed(
            "WrongIdentity",
            format!(
                "the address {} sees the new token as {user:?}",
                self.upstream.address.url
            ),
        )
        .cause(format!(
            "expected {wanted:?}: the address may belong to another cluster or a proxy"
        ))
        .hint("pass --upstream-url with the API server's own address"))
    }

    fn pretend(
        &self,
        downstream: &Writer<'_>,
        cid: &str,
        generation: u64,
        marker: &Manifest,
        (namespace, seen): (&str, &Seen),
        report: &mut Report,
    ) -> Result<TokenRecord, CliError> {
        let made = |m: &Manifest, action| Outcome {
            object: m.display(),
            namespace: m.namespace().map(str::to_owned),
            action,
        };
        report.objects.push(made(marker, Action::Created));
        let secret = token_secret(namespace, cid, None, None);
        let action = if seen.token.is_some() {
            Action::Configured
        } else {
            Action::Created
        };
        report.objects.push(made(&secret, action));
        let at = now();
        let expires_at = at
            .checked_add(jiff::SignedDuration::try_from(self.wish.ttl).unwrap_or_default())
            .unwrap_or(at);
        report.notes.push(format!(
            "no token is issued in a dry run [{}]",
            downstream.cluster.context
        ));
        Ok(TokenRecord {
            generation,
            issued_at: at,
            expires_at,
            token_id: String::new(),
            hub: self.upstream.uid.clone(),
        })
    }

    async fn apply_store(
        &self,
        downstream: &Writer<'_>,
        cid: &str,
        namespace: &str,
        report: &mut Report,
    ) -> Result<(), CliError> {
        let Some(scope) = &self.wish.store else { return Ok(()) };
        let mut manifest = store_manifest(self.upstream, cid, namespace, scope);
        let versions = downstream.served.versions_of("external-secrets.io", manifest.kind());
        if !versions.contains(&"v1") {
            // Old operators (0.15 and before) serve v1beta1 only; the fields are the same.
            manifest.set_version(versions.first().copied().unwrap_or("v1"));
        }
        report.objects.push(downstream.apply(manifest).await?);
        Ok(())
    }

    async fn retire(
        &self,
        anchors: &[Anchor],
        place: &str,
        record: Option<&TokenRecord>,
        cid: &str,
        report: &mut Report,
    ) -> Result<(), CliError> {
        let account = self.account(cid);
        let writer = self.upstream_writer();
        for old in retirable(anchors, place, record, now(), self.wish.overlap) {
            let step = Step::Delete(delete_anchor(
                &account.0,
                &old.name,
                &old.uid,
                "its token is no longer in use",
            ));
            report.objects.push(writer.execute(&step).await?);
        }
        Ok(())
    }
}

/// The store of this upstream for a downstream.
pub fn store_manifest(upstream: &Upstream, cid: &str, namespace: &str, scope: &stores::StoreScope) -> Manifest {
    let spec = stores::Spec {
        url: upstream.address.url.clone(),
        with_ca: upstream.ca.pem.is_some(),
        remote_namespace: upstream.data_namespace.clone(),
        namespace: namespace.to_owned(),
        scope: scope.clone(),
    };
    stores::store(&spec, Some(cid))
}

/// Removal of an anchor.
pub fn delete_anchor(namespace: &str, name: &str, uid: &str, why: &str) -> Delete {
    Delete {
        api_version: "v1".to_owned(),
        kind: "Secret".to_owned(),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
        uid: uid.to_owned(),
        why: why.to_owned(),
    }
}

/// The token out of a token Secret, trimmed of the line break that files bring along.
pub fn stored_token(secret: &Value) -> Option<zeroize::Zeroizing<String>> {
    use base64::Engine;
    let encoded = secret.pointer("/data/token")?.as_str()?;
    let bytes = zeroize::Zeroizing::new(base64::engine::general_purpose::STANDARD.decode(encoded).ok()?);
    let text = std::str::from_utf8(&bytes).ok()?.trim_end_matches(['\r', '\n']);
    Some(zeroize::Zeroizing::new(text.to_owned()))
}

fn user_name((namespace, account): &(String, String)) -> String {
    format!("system:serviceaccount:{namespace}:{account}")
}

fn unchanged(name: &str, namespace: &str) -> Outcome {
    Outcome {
        object: format!("secret/{name}"),
        namespace: Some(namespace.to_owned()),
        action: Action::Unchanged,
    }
}
