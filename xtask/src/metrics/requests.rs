//! Counts from an API server's `/metrics`.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

const METRIC: &str = "apiserver_request_total{";

/// What one counter is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    verb: String,
    group: String,
    resource: String,
    subresource: String,
    code: String,
}

/// Requests an API server has answered since it started, by verb, resource and code. Includes those of the controllers
/// and of the API server to itself; take differences, and compare with an idle span.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    counts: BTreeMap<Key, u64>,
}

impl RequestCounts {
    /// Reads the counters now.
    pub async fn read(client: &kube::Client) -> Result<Self> {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let text = client
            .request_text(request)
            .await
            .context("cannot read the API server's metrics")?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut counts = BTreeMap::new();
        for line in text.lines() {
            if let Some((key, value)) = parse_line(line) {
                *counts.entry(key).or_default() += value;
            }
        }
        Self { counts }
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let counts = self.counts.iter().filter_map(|(key, value)| {
            let added = value.saturating_sub(earlier.counts.get(key).copied().unwrap_or(0));
            (added > 0).then(|| (key.clone(), added))
        });
        Self {
            counts: counts.collect(),
        }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Those of this verb (as the metric spells it: `GET`, `LIST`, `WATCH`, `POST`, `PUT`, `PATCH`, `APPLY`, `DELETE`,
    /// `DELETECOLLECTION`) and resource, subresources included.
    pub fn of(&self, verb: &str, resource: &str) -> u64 {
        self.sum(|key| key.verb == verb && key.resource == resource)
    }

    /// Those of the resources of an API group, such as `external-secrets.io`; the core group is the empty text.
    pub fn of_group(&self, group: &str) -> u64 {
        self.sum(|key| key.group == group)
    }

    /// Those that may have changed something.
    pub fn writes(&self) -> u64 {
        self.sum(|key| !matches!(key.verb.as_str(), "GET" | "LIST" | "WATCH"))
    }

    /// Those answered with this HTTP code.
    pub fn with_code(&self, code: u16) -> u64 {
        let code = code.to_string();
        self.sum(|key| key.code == code)
    }

    /// `verb resource/subresource` → count, for a report.
    pub fn by_request(&self) -> BTreeMap<String, u64> {
        let mut out = BTreeMap::new();
        for (key, value) in &self.counts {
            let slash = if key.subresource.is_empty() { "" } else { "/" };
            *out.entry(format!("{} {}{slash}{}", key.verb, key.resource, key.subresource))
                .or_default() += value;
        }
        out
    }

    fn sum(&self, holds: impl Fn(&Key) -> bool) -> u64 {
        self.counts
            .iter()
            .filter(|(key, _)| holds(key))
            .map(|(_, value)| value)
            .sum()
    }
}

/// Label values of this metric hold no quotes or commas, so splitting is enough.
fn parse_line(line: &str) -> Option<(Key, u64)> {
    let (labels, value) = line.strip_prefix(METRIC)?.split_once("} ")?;
    let label = |name: &str| {
        let pair = labels
            .split(',')
            .find_map(|pair| pair.strip_prefix(name)?.strip_prefix("=\""));
        pair.and_then(|value| value.strip_suffix('"'))
            .unwrap_or_default()
            .to_owned()
    };
    let key = Key {
        verb: label("verb"),
        group: label("group"),
        resource: label("resource"),
        subresource: label("subresource"),
        code: label("code"),
    };
    // Counters are printed as floats, in exponent form from a million on.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a counter is a whole number below 2^53"
    )]
    let value = value.trim().parse::<f64>().ok()? as u64;
    Some((key, value))
}

#[cfg(test)]
mod tests {
    use super::RequestCounts;

    const BEFORE: &str = r#"
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="secrets",scope="resource",subresource="",verb="POST",version="v1"} 7
apiserver_request_total{code="0",component="apiserver",dry_run="",group="",resource="secrets",scope="cluster",subresource="",verb="WATCH",version="v1"} 2
"#;
    const AFTER: &str = r#"
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="secrets",scope="resource",subresource="",verb="POST",version="v1"} 1.000007e+06
apiserver_request_total{code="0",component="apiserver",dry_run="",group="",resource="secrets",scope="cluster",subresource="",verb="WATCH",version="v1"} 2
apiserver_request_total{code="200",component="apiserver",dry_run="",group="external-secrets.io",resource="externalsecrets",scope="resource",subresource="status",verb="PATCH",version="v1"} 3
"#;

    #[test]
    fn counters_are_read_subtracted_and_summed() {
        let added = RequestCounts::parse(AFTER).since(&RequestCounts::parse(BEFORE));
        assert_eq!(added.of("POST", "secrets"), 1_000_000);
        assert_eq!(added.of_group("external-secrets.io"), 3);
        assert_eq!(
            (added.total(), added.writes(), added.with_code(200)),
            (1_000_003, 1_000_003, 3)
        );
        assert_eq!(added.by_request()["PATCH externalsecrets/status"], 3);
    }
}
