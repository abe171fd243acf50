//! `status`: per cluster the store and its reason, the token's expiry, and which ExternalSecrets are not ready and why.

use std::time::Duration;

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::credential::stored_token;
use super::error::CliError;
use super::exit::ExitCode;
use super::global::{Output, OutputArgs, TargetArgs, duration};
use super::session::{Session, Stopwatch, Target, failure, now, unreachable};
use crate::cluster::discovery::{Served, discover};
use crate::cluster::fanout::fan_out;
use crate::cluster::proof::Visitor;
use crate::cluster::{Cluster, Reason, observe};
use crate::plan::compare::is_ours;
use crate::plan::distribute::{TokenRecord, record_of};
use crate::plan::names::{STORE, TOKEN_SECRET};
use crate::plan::status::{Line, TokenHealth, line, token_health};
use crate::ui::results::Failure;
use crate::ui::table::Table;
use crate::ui::text::human_duration;

/// Show stores, tokens and ExternalSecrets of many clusters
///
/// Exits 1 when anything is broken: a store that is not Valid, an ExternalSecret that is not Ready, a token that has
/// expired, is refused, or runs out within --expiring-within.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  # Two clusters
  kubectl eso status --contexts a,b

  # Everything in all namespaces, with reasons
  kubectl eso status --contexts 'prod-*' -A -o wide

  # Fail when a token runs out within two weeks
  kubectl eso status --all-contexts --expiring-within 14d

  # Only what needs attention
  kubectl eso status --all-contexts --only-problems")]
pub struct StatusArgs {
    #[command(flatten)]
    targets: TargetArgs,
    /// All namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Label selector of ExternalSecrets
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// Count a token as a problem when it runs out this soon
    #[arg(long, value_name = "D", default_value = "24h", value_parser = duration)]
    expiring_within: Duration,
    /// Show only clusters and objects with a problem
    #[arg(long)]
    only_problems: bool,
    /// Do not ask the upstream whether it accepts the tokens
    #[arg(long)]
    offline: bool,
    /// No header line
    #[arg(long)]
    no_headers: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl StatusArgs {
    /// True where stdout holds one document.
    pub fn is_machine(&self) -> bool {
        self.output.output.is_machine()
    }
}

/// One cluster's state.
struct State {
    context: String,
    server: String,
    namespace: String,
    stores: Vec<Line>,
    secrets: Vec<Line>,
    record: Option<TokenRecord>,
    token: TokenHealth,
    failure: Option<Failure>,
    took: Duration,
}

impl State {
    fn is_good(&self) -> bool {
        let token = matches!(self.token, TokenHealth::Good | TokenHealth::Absent);
        self.failure.is_none() && token && self.stores.iter().chain(&self.secrets).all(Line::is_good)
    }

    fn ready(&self) -> usize {
        self.secrets.iter().filter(|s| s.is_good()).count()
    }
}

/// Runs the command.
///
/// # Errors
/// In three lines; clusters that cannot be asked are results.
pub async fn run(session: &Session, args: StatusArgs) -> Result<ExitCode, CliError> {
    let targets = if args.targets.is_used() {
        session.targets(&args.targets, None).await?
    } else {
        let context = session.context()?;
        let cluster = session.connect(&context).await;
        vec![Target {
            context,
            cluster,
            uid: None,
        }]
    };
    let args_ref = &args;
    let states = fan_out(
        targets,
        usize::from(args.targets.concurrency),
        |t| async move { of_one(args_ref, &t).await },
        |_| {},
    )
    .await;
    let bad = states.iter().filter(|s| !s.is_good()).count();
    let exit = if bad == 0 { ExitCode::Done } else { ExitCode::Failed };
    match args.output.output {
        Output::Json | Output::Yaml => super::output::value(session, args.output.output, &document(&states, exit))?,
        Output::Name => names(session, &args, &states),
        Output::Table | Output::Wide => tables(session, &args, &states),
    }
    for failure in states.iter().filter_map(|s| s.failure.as_ref()) {
        session.ui.error(&failure.text());
    }
    Ok(exit)
}

async fn of_one(args: &StatusArgs, target: &Target) -> State {
    let watch = Stopwatch::start();
    let empty = |server: String, namespace: String, failure: Option<Failure>| State {
        context: target.context.clone(),
        server,
        namespace,
        stores: Vec::new(),
        secrets: Vec::new(),
        record: None,
        token: TokenHealth::Absent,
        failure,
        took: watch.took(),
    };
    let cluster = match &target.cluster {
        Ok(cluster) => cluster,
        Err(e) => {
            return empty(
                String::new(),
                String::new(),
                unreachable(&target.context, e, watch.took()).failure,
            );
        }
    };
    let mut state = empty(cluster.server.clone(), cluster.namespace.clone(), None);
    if let Err(e) = read(args, cluster, &mut state).await {
        state.failure = Some(failure(&e));
    }
    state.took = watch.took();
    state
}

async fn read(args: &StatusArgs, cluster: &Cluster, state: &mut State) -> Result<(), CliError> {
    let served = discover(cluster, &["", "external-secrets.io"]).await?;
    let namespace = (!args.all_namespaces).then_some(cluster.namespace.as_str());
    if !served.has_group("external-secrets.io") {
        return Err(CliError::failed(
            "KindMissing",
            format!("External Secrets is not installed [{}]", cluster.context),
        )
        .cause("the cluster serves nothing in group external-secrets.io")
        .hint(format!(
            "kubectl eso crds --apply --contexts {}",
            super::error::quoted(&cluster.context)
        )));
    }
    state.stores = lines(cluster, &served, "SecretStore", namespace, None).await?;
    state
        .stores
        .extend(lines(cluster, &served, "ClusterSecretStore", None, None).await?);
    state.secrets = lines(cluster, &served, "ExternalSecret", namespace, args.selector.as_deref()).await?;
    let (record, accepted) = token(args, cluster, &served).await?;
    let within = SignedDuration::try_from(args.expiring_within).unwrap_or(SignedDuration::MAX);
    state.token = token_health(record.as_ref(), accepted, now(), within);
    state.record = record;
    Ok(())
}

async fn lines(
    cluster: &Cluster,
    served: &Served,
    kind: &str,
    namespace: Option<&str>,
    selector: Option<&str>,
) -> Result<Vec<Line>, CliError> {
    let Some(version) = served
        .versions_of("external-secrets.io", kind)
        .first()
        .map(|v| (*v).to_owned())
    else {
        return Ok(Vec::new());
    };
    let Some((resource, _)) = served.resource(&format!("external-secrets.io/{version}"), kind) else {
        return Ok(Vec::new());
    };
    match observe::list(cluster, resource, namespace, selector).await {
        Ok(found) => Ok(found.iter().map(line).collect()),
        // Cluster-wide stores are often out of sight for people who may see everything else.
        Err(e) if e.reason == Reason::Forbidden && kind == "ClusterSecretStore" => Ok(Vec::new()),
        Err(e) => Err(e.into()),
    }
}

/// The record beside the stored token, and whether the upstream accepts it.
async fn token(
    args: &StatusArgs,
    cluster: &Cluster,
    served: &Served,
) -> Result<(Option<TokenRecord>, Option<bool>), CliError> {
    let Some((resource, _)) = served.resource("v1", "Secret") else {
        return Ok((None, None));
    };
    let found = match observe::get(cluster, resource, Some(&cluster.namespace), TOKEN_SECRET).await {
        Ok(found) => found.filter(is_ours),
        Err(e) if e.reason == Reason::Forbidden => return Ok((None, None)),
        Err(e) => return Err(e.into()),
    };
    let record = found.as_ref().and_then(record_of);
    if args.offline || record.is_none() {
        return Ok((record, None));
    }
    let (Some(secret), Some((url, ca))) = (found, upstream_of(cluster, served).await?) else {
        return Ok((record, None));
    };
    let Some(token) = stored_token(&secret) else {
        return Ok((record, Some(false)));
    };
    let visitor = Visitor {
        url: &url,
        ca_pem: ca.as_deref(),
        token: Some(token.as_str()),
        context: &cluster.context,
    };
    Ok(match visitor.whoami().await {
        Ok(_) => (record, Some(true)),
        Err(e) if e.reason == Reason::Unauthorized => (record, Some(false)),
        // Not reachable from here says nothing about the token.
        Err(_) => (record, None),
    })
}

/// Address and CA as the store beside the token names them.
async fn upstream_of(cluster: &Cluster, served: &Served) -> Result<Option<(String, Option<String>)>, CliError> {
    for (kind, namespace) in [
        ("SecretStore", Some(cluster.namespace.as_str())),
        ("ClusterSecretStore", None),
    ] {
        let Some((resource, _)) = served.resource("external-secrets.io/v1", kind) else {
            continue;
        };
        let Ok(Some(store)) = observe::get(cluster, resource, namespace, STORE).await else {
            continue;
        };
        let Some(url) = store
            .pointer("/spec/provider/kubernetes/server/url")
            .and_then(Value::as_str)
        else {
            continue;
        };
        let Some((maps, _)) = served.resource("v1", "ConfigMap") else {
            continue;
        };
        let ca = observe::get(
            cluster,
            maps,
            Some(&cluster.namespace),
            crate::plan::names::CA_CONFIG_MAP,
        )
        .await?;
        let pem = ca
            .as_ref()
            .and_then(|c| c.pointer("/data/ca.crt"))
            .and_then(Value::as_str)
            .map(str::to_owned);
        return Ok(Some((url.to_owned(), pem)));
    }
    Ok(None)
}

fn document(states: &[State], exit: ExitCode) -> Value {
    let show = |l: &Line| json!({"kind": l.kind, "namespace": l.namespace, "name": l.name, "ready": l.ready, "reason": l.reason, "message": l.message, "refreshTime": l.refreshed.map(|t| t.to_string())});
    let items: Vec<Value> = states
        .iter()
        .map(|s| {
            json!({
                "context": s.context, "cluster": {"server": s.server}, "namespace": s.namespace,
                "outcome": if s.failure.is_some() { "failed" } else if s.is_good() { "ok" } else { "problem" },
                "stores": s.stores.iter().map(show).collect::<Vec<_>>(),
                "externalSecrets": s.secrets.iter().map(show).collect::<Vec<_>>(),
                "token": {"state": s.token.as_str(), "expiresAt": s.record.as_ref().map(|r| r.expires_at.to_string()), "generation": s.record.as_ref().map(|r| r.generation)},
                "error": s.failure.as_ref().map(|f| json!({"reason": f.reason, "message": f.what, "hint": f.hint})),
                "durationSeconds": s.took.as_secs_f64(),
            })
        })
        .collect();
    let good = states.iter().filter(|s| s.is_good()).count();
    json!({"apiVersion": "kubectl-eso/v1", "kind": "StatusReport", "items": items,
        "summary": {"clusters": states.len(), "ok": good, "problems": states.len() - good, "exitCode": exit.code()}})
}

fn names(session: &Session, args: &StatusArgs, states: &[State]) {
    for l in states.iter().flat_map(|s| s.stores.iter().chain(&s.secrets)) {
        if !args.only_problems || !l.is_good() {
            session
                .ui
                .line(&crate::plan::manifest::display(&l.kind, "external-secrets.io", &l.name));
        }
    }
}

fn tables(session: &Session, args: &StatusArgs, states: &[State]) {
    let wide = args.output.output == Output::Wide;
    let mut clusters = Table::new(if wide {
        vec![
            "CONTEXT",
            "STORES",
            "SECRETS",
            "TOKEN",
            "EXPIRES",
            "NAMESPACE",
            "SERVER",
        ]
    } else {
        vec!["CONTEXT", "STORES", "SECRETS", "TOKEN", "EXPIRES"]
    });
    for s in states.iter().filter(|s| !args.only_problems || !s.is_good()) {
        let good = s.stores.iter().filter(|l| l.is_good()).count();
        let mut row = if s.failure.is_some() {
            vec![
                s.context.clone(),
                "<unknown>".to_owned(),
                "<unknown>".to_owned(),
                "<unknown>".to_owned(),
                "<unknown>".to_owned(),
            ]
        } else {
            let expires = s.record.as_ref().map(|r| left(r.expires_at)).unwrap_or_default();
            vec![
                s.context.clone(),
                format!("{good}/{}", s.stores.len()),
                format!("{}/{}", s.ready(), s.secrets.len()),
                s.token.as_str().to_owned(),
                expires,
            ]
        };
        if wide {
            row.extend([s.namespace.clone(), s.server.clone()]);
        }
        clusters.row(row);
    }
    session.ui.document(&clusters.render(!args.no_headers));
    problems(session, args, states, wide);
}

fn left(at: Timestamp) -> String {
    let span = at.duration_since(now());
    if span <= SignedDuration::ZERO {
        format!("{} ago", human_duration(-span))
    } else {
        human_duration(span)
    }
}

/// Below the clusters: what is not ready (all objects with `-o wide`).
fn problems(session: &Session, args: &StatusArgs, states: &[State], wide: bool) {
    let mut table = Table::new(vec!["CONTEXT", "NAMESPACE", "OBJECT", "READY", "REASON", "MESSAGE"]);
    for s in states {
        for l in s
            .stores
            .iter()
            .chain(&s.secrets)
            .filter(|l| (wide && !args.only_problems) || !l.is_good())
        {
            table.row(vec![
                s.context.clone(),
                l.namespace.clone(),
                format!("{}/{}", l.kind.to_lowercase(), l.name),
                l.ready.clone(),
                l.reason.clone(),
                l.message.clone(),
            ]);
        }
    }
    if !table.is_empty() {
        session.ui.document("\n");
        session.ui.document(&table.render(!args.no_headers));
    }
}
