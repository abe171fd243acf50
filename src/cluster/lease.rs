//! A Lease keeps two runs apart. It does not fence: a holder renews, and checks that it still holds before it writes.
//!
//! The Lease of a run that was killed is waited out, unless this machine can tell that its process is gone
//! ([`super::process`]); then only the requests that were still under way are waited for.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};

use super::{Cluster, Reason, RequestError, process};

/// Requests of a process that is gone are over this long after it was found gone: what it had sent, the server has read.
const IN_FLIGHT: SignedDuration = SignedDuration::from_secs(1);
const POLL: Duration = Duration::from_millis(500);

/// A Lease this process holds.
#[derive(Debug)]
pub struct Held {
    api: Api<Lease>,
    current: Lease,
    name: String,
    holder: String,
    duration: Duration,
}

/// What taking a Lease needs.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Unique name of this run, from [`process::holder`].
    pub holder: String,
    /// How long it holds without a renewal.
    pub duration: Duration,
    /// How long to wait for another holder before giving up.
    pub wait: Duration,
}

/// Takes the Lease, waiting for another holder at most `spec.wait`.
///
/// # Errors
/// [`Reason::Conflict`] naming the holder, or the server's refusal.
pub async fn acquire(cluster: &Cluster, spec: &Spec, now: impl Fn() -> Timestamp) -> Result<Held, RequestError> {
    let api: Api<Lease> = Api::namespaced(cluster.client.clone(), &spec.namespace);
    let label = format!(
        "lease.coordination.k8s.io/{} in namespace {:?}",
        spec.name, spec.namespace
    );
    let deadline = now() + SignedDuration::try_from(spec.wait).unwrap_or(SignedDuration::MAX);
    let mut gone = Gone::default();
    loop {
        let found = cluster.call("get", &label, api.get_opt(&spec.name)).await?;
        let abandoned = found
            .as_ref()
            .is_some_and(|lease| gone.is_over(lease, now(), process::is_gone));
        let attempt = match &found {
            None => {
                cluster
                    .call(
                        "create",
                        &label,
                        api.create(&PostParams::default(), &fresh(spec, now(), None)),
                    )
                    .await
            }
            Some(lease) if abandoned || is_free(lease, &spec.holder, now()) => {
                let next = fresh(spec, now(), Some(lease));
                cluster
                    .call("update", &label, api.replace(&spec.name, &PostParams::default(), &next))
                    .await
            }
            Some(lease) => Err(RequestError::local(
                "take",
                &label,
                &cluster.context,
                Reason::Conflict,
                held_text(lease),
            )),
        };
        match attempt {
            Ok(current) => {
                return Ok(Held {
                    api,
                    current,
                    name: spec.name.clone(),
                    holder: spec.holder.clone(),
                    duration: spec.duration,
                });
            }
            Err(e) if !matches!(e.reason, Reason::Conflict | Reason::AlreadyExists) || now() >= deadline => {
                return Err(e);
            }
            Err(_) => tokio::time::sleep(POLL).await,
        }
    }
}

/// The holder that was found gone, and when.
#[derive(Debug, Default)]
struct Gone(Option<(String, Timestamp)>);

impl Gone {
    /// True once its holder has been gone for as long as its last requests may take.
    fn is_over(&mut self, lease: &Lease, now: Timestamp, is_gone: impl Fn(&str) -> bool) -> bool {
        let holder = lease.spec.as_ref().and_then(|s| s.holder_identity.as_deref());
        let Some(holder) = holder.filter(|h| is_gone(h)) else {
            self.0 = None;
            return false;
        };
        match &self.0 {
            Some((seen, since)) if seen == holder => now.duration_since(*since) >= IN_FLIGHT,
            _ => {
                self.0 = Some((holder.to_owned(), now));
                false
            }
        }
    }
}

impl Held {
    /// Renews; fails where somebody else took it, after which nothing more may be written.
    ///
    /// # Errors
    /// [`Reason::Conflict`] where it is lost.
    pub async fn renew(&mut self, cluster: &Cluster, now: Timestamp) -> Result<(), RequestError> {
        let label = format!("lease.coordination.k8s.io/{}", self.name);
        let mut next = self.current.clone();
        let spec = next.spec.get_or_insert_with(LeaseSpec::default);
        spec.renew_time = Some(MicroTime(now));
        self.current = cluster
            .call(
                "update",
                &label,
                self.api.replace(&self.name, &PostParams::default(), &next),
            )
            .await?;
        Ok(())
    }

    /// True once half of the duration has gone by since the last renewal.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        let renewed = self
            .current
            .spec
            .as_ref()
            .and_then(|s| s.renew_time.as_ref())
            .map(|t| t.0);
        let half = SignedDuration::try_from(self.duration / 2).unwrap_or(SignedDuration::ZERO);
        renewed.is_none_or(|t| now.duration_since(t) >= half)
    }

    /// Gives it back, so that the next run need not wait; a failure only costs the next run that wait.
    pub async fn release(mut self, cluster: &Cluster) {
        let spec = self.current.spec.get_or_insert_with(LeaseSpec::default);
        spec.holder_identity = None;
        let label = format!("lease.coordination.k8s.io/{}", self.name);
        let params = PostParams::default();
        let call = self.api.replace(&self.name, &params, &self.current);
        if let Err(e) = cluster.call("update", &label, call).await {
            tracing::debug!(
                context = cluster.context,
                holder = self.holder,
                "could not release the lease: {}",
                e.message
            );
        }
    }
}

fn fresh(spec: &Spec, now: Timestamp, previous: Option<&Lease>) -> Lease {
    let transitions = previous
        .and_then(|l| l.spec.as_ref())
        .and_then(|s| s.lease_transitions)
        .unwrap_or(0);
    let metadata = match previous {
        Some(lease) => lease.metadata.clone(),
        None => ObjectMeta {
            name: Some(spec.name.clone()),
            namespace: Some(spec.namespace.clone()),
            labels: Some(
                [(
                    crate::plan::names::LABEL_MANAGED_BY.to_owned(),
                    crate::plan::names::MANAGED_BY.to_owned(),
                )]
                .into(),
            ),
            ..ObjectMeta::default()
        },
    };
    Lease {
        metadata,
        spec: Some(LeaseSpec {
            holder_identity: Some(spec.holder.clone()),
            lease_duration_seconds: i32::try_from(spec.duration.as_secs()).ok(),
            acquire_time: Some(MicroTime(now)),
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(transitions + i32::from(previous.is_some())),
            ..LeaseSpec::default()
        }),
    }
}

/// Free: no holder, ours, or not renewed for its whole duration.
fn is_free(lease: &Lease, holder: &str, now: Timestamp) -> bool {
    let Some(spec) = &lease.spec else { return true };
    let Some(current) = spec.holder_identity.as_deref().filter(|h| !h.is_empty()) else {
        return true;
    };
    let life = SignedDuration::from_secs(i64::from(spec.lease_duration_seconds.unwrap_or(15)));
    current == holder || spec.renew_time.as_ref().is_none_or(|t| now.duration_since(t.0) > life)
}

fn held_text(lease: &Lease) -> String {
    let holder = lease
        .spec
        .as_ref()
        .and_then(|s| s.holder_identity.clone())
        .unwrap_or_default();
    format!("another run holds it: {holder}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::{SignedDuration, Timestamp};

    use super::{Gone, Spec, fresh, is_free};

    fn spec(holder: &str) -> Spec {
        Spec {
            namespace: "n".to_owned(),
            name: "l".to_owned(),
            holder: holder.to_owned(),
            duration: Duration::from_secs(15),
            wait: Duration::ZERO,
        }
    }

    #[test]
    fn a_gone_holder_is_followed_after_its_last_requests_and_a_new_one_starts_anew() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let later = |ms: i64| now + SignedDuration::from_millis(ms);
        let (dead, other) = (fresh(&spec("dead"), now, None), fresh(&spec("dead too"), now, None));
        let mut gone = Gone::default();
        let dies = |holder: &str| holder.starts_with("dead");
        assert!(!gone.is_over(&dead, later(0), dies));
        assert!(!gone.is_over(&dead, later(999), dies));
        assert!(gone.is_over(&dead, later(1000), dies));
        assert!(
            !gone.is_over(&other, later(1000), dies),
            "somebody else took it and died"
        );
        assert!(gone.is_over(&other, later(2000), dies));
        assert!(!gone.is_over(&other, later(9000), |_| false), "alive");
    }

    #[test]
    fn a_lease_is_free_when_expired_released_or_ours() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let spec = spec("a");
        let mut lease = fresh(&spec, now, None);
        assert!(is_free(&lease, "a", now));
        assert!(!is_free(&lease, "b", now + SignedDuration::from_secs(15)));
        assert!(is_free(&lease, "b", now + SignedDuration::from_secs(16)));
        lease.spec.as_mut().unwrap().holder_identity = None;
        assert!(is_free(&lease, "b", now));
    }
}
