//! Command lines of the control plane's programs, and the proof that they work.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::Api;

use super::certs::{Authority, TokenSigner};
use super::cluster::{Cluster, Inner};
use super::kubeconfig::{Entry, Kubeconfig, User};
use super::process::Process;
use super::{Options, write_private};
use crate::assets::Assets;

/// The user name under which the controllers of the harness write; tests that count requests leave it out.
pub const CONTROLLER_USER: &str = "system:kube-controller-manager";

const READY_WITHIN: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// Every request, without bodies; the event is written when the response is complete.
const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

/// A free port of 127.0.0.1 below the range that outgoing connections take theirs from, so that none of those can take
/// it between this check and the start of the server.
pub fn free_port() -> Result<u16> {
    for _ in 0..200 {
        let port = fastrand::u16(18_000..32_000);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    anyhow::bail!("no free port between 18000 and 32000")
}

pub(super) fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Starts etcd and waits until it listens. Returns the client URL.
pub(super) fn etcd(assets: &Assets, dir: &Path) -> Result<(Process, String)> {
    let (client, peer) = (free_port()?, free_port()?);
    let url = format!("http://127.0.0.1:{client}");
    let mut command = Command::new(assets.binary("etcd"));
    command
        .arg(format!("--data-dir={}", dir.join("etcd").display()))
        .arg(format!("--listen-client-urls={url}"))
        .arg(format!("--advertise-client-urls={url}"))
        .arg(format!("--listen-peer-urls=http://127.0.0.1:{peer}"))
        // The data is worthless after a crash, and waiting for the disk costs seconds.
        .args([
            "--unsafe-no-fsync",
            "--log-level=error",
            "--quota-backend-bytes=8589934592",
        ]);
    let mut process = Process::start("etcd", command, dir)?;
    let deadline = Instant::now() + READY_WITHIN;
    while TcpStream::connect(local(client)).is_err() {
        process.check()?;
        anyhow::ensure!(Instant::now() < deadline, "etcd does not listen");
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok((process, url))
}

/// Makes the keys and certificates of cluster number `index` (from 0) and writes them under `dir`.
pub(super) fn prepare(dir: &Path, index: usize, options: &Options) -> Result<Cluster> {
    let name = format!("c{}", index + 1);
    let authority = Authority::new(&format!("{name}-ca"))?;
    let server = authority.server(
        "kube-apiserver",
        &[
            "127.0.0.1",
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
        ],
    )?;
    let signer = TokenSigner::new()?;
    let ca_pem = authority.ca_pem();
    for (file, text) in [
        ("ca.crt", &ca_pem),
        ("apiserver.crt", &server.cert_pem),
        ("apiserver.key", &server.key_pem),
        ("sa.key", &signer.private_pem()),
        ("sa.pub", &signer.public_pem()),
    ] {
        write_private(&dir.join(format!("{name}-{file}")), text)?;
    }
    let port = free_port()?;
    let admin = authority.client("admin", &["system:masters"])?;
    let controllers = User::Certificate(authority.client(CONTROLLER_USER, &["system:masters"])?);
    let cluster = Cluster::new(Inner {
        url: format!("https://127.0.0.1:{port}"),
        issuer: format!("https://{name}.local"),
        audit_log: options.audit.then(|| dir.join(format!("{name}-audit.log"))),
        apiserver: AtomicU32::new(0),
        port,
        authority,
        ca_pem,
        admin,
        signer,
        name,
    });
    Kubeconfig::new()
        .with(Entry::admin("controllers", &cluster).user(controllers))
        .write(&dir.join(format!("{}-controllers.kubeconfig", cluster.name())))?;
    Ok(cluster)
}

/// Starts the API server of a prepared cluster.
pub(super) fn apiserver(
    assets: &Assets,
    dir: &Path,
    cluster: &Cluster,
    etcd_url: &str,
    extra: &[String],
) -> Result<Process> {
    let name = cluster.name();
    let file = |suffix: &str| dir.join(format!("{name}-{suffix}")).display().to_string();
    let mut command = Command::new(assets.binary("kube-apiserver"));
    command
        .arg(format!("--etcd-servers={etcd_url}"))
        .arg(format!("--etcd-prefix=/{name}"))
        .arg(format!("--secure-port={}", cluster.port()))
        .arg(format!("--tls-cert-file={}", file("apiserver.crt")))
        .arg(format!("--tls-private-key-file={}", file("apiserver.key")))
        .arg(format!("--client-ca-file={}", file("ca.crt")))
        .arg(format!("--service-account-key-file={}", file("sa.pub")))
        .arg(format!("--service-account-signing-key-file={}", file("sa.key")))
        .arg(format!("--service-account-issuer={}", cluster.issuer()))
        .args([
            "--bind-address=127.0.0.1",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
        ])
        // No pods run here, and nothing would ever answer under the Service `kubernetes`.
        .args([
            "--disable-admission-plugins=ServiceAccount",
            "--endpoint-reconciler-type=none",
        ]);
    if let Some(log) = cluster.audit_log() {
        let policy = dir.join("audit-policy.yaml");
        write_private(&policy, AUDIT_POLICY)?;
        command
            .arg(format!("--audit-policy-file={}", policy.display()))
            .arg(format!("--audit-log-path={}", log.display()))
            .args(["--audit-log-mode=blocking", "--audit-log-maxsize=0"]);
    }
    command.args(extra);
    let process = Process::start(&format!("{name}-apiserver"), command, dir)?;
    cluster
        .inner()
        .apiserver
        .store(process.pid(), std::sync::atomic::Ordering::Relaxed);
    Ok(process)
}

/// Starts the controllers that a cluster without nodes needs: those that publish the CA, make the `default` service
/// account, empty deleted namespaces and collect garbage.
pub(super) fn controller_manager(assets: &Assets, dir: &Path, cluster: &Cluster) -> Result<Process> {
    let name = cluster.name();
    let mut command = Command::new(assets.binary("kube-controller-manager"));
    command
        .arg(format!(
            "--kubeconfig={}",
            dir.join(format!("{name}-controllers.kubeconfig")).display()
        ))
        .arg(format!(
            "--root-ca-file={}",
            dir.join(format!("{name}-ca.crt")).display()
        ))
        .arg(
            "--controllers=root-ca-certificate-publisher-controller,serviceaccount-controller,namespace-controller,\
             garbage-collector-controller",
        )
        .args([
            "--secure-port=0",
            "--leader-elect=false",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ]);
    Process::start(&format!("{name}-controllers"), command, dir)
}

/// Waits until an API server says it is ready. `check` fails when a process has ended.
pub(super) async fn apiserver_ready(cluster: &Cluster, check: &mut impl FnMut() -> Result<()>) -> Result<()> {
    let client = cluster.http2_client().await?;
    poll(&format!("{} is not ready", cluster.name()), check, async || {
        let request = http::Request::get("/readyz")
            .body(Vec::new())
            .context("a constant request")?;
        client.request_text(request).await?;
        Ok(())
    })
    .await
}

/// Waits until the controllers have done their first work.
pub(super) async fn controllers_ready(cluster: &Cluster, check: &mut impl FnMut() -> Result<()>) -> Result<()> {
    let client = cluster.http2_client().await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), "default");
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    poll(
        &format!("the controllers of {} do nothing", cluster.name()),
        check,
        async || {
            accounts.get("default").await?;
            maps.get("kube-root-ca.crt").await?;
            Ok(())
        },
    )
    .await
}

async fn poll(
    failure: &str,
    check: &mut impl FnMut() -> Result<()>,
    mut condition: impl AsyncFnMut() -> Result<()>,
) -> Result<()> {
    let deadline = Instant::now() + READY_WITHIN;
    loop {
        let Err(error) = condition().await else { return Ok(()) };
        check()?;
        if Instant::now() > deadline {
            return Err(error.context(format!("{failure} after {} s", READY_WITHIN.as_secs())));
        }
        tokio::time::sleep(POLL).await;
    }
}
