//! What a fault proxy does with which request, and the list of what it has seen.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::time::Instant;

use regex::Regex;

/// One request as a proxy saw it. Bodies are not kept, and credentials not here.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its number, from 1, counted over all proxies that share the script.
    pub number: usize,
    /// The name of the proxy's cluster.
    pub cluster: String,
    /// The HTTP method.
    pub method: String,
    /// Path with query.
    pub path: String,
    /// When it arrived.
    pub at: Instant,
    /// The answer's status, once there is one. A connection cut on purpose has none.
    pub status: Option<u16>,
}

impl Seen {
    /// Whether the request may change something.
    pub fn is_write(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }

    /// Whether it opens a watch.
    pub fn is_watch(&self) -> bool {
        self.path.split_once('?').is_some_and(|(_, query)| {
            query
                .split('&')
                .any(|pair| matches!(pair, "watch=true" | "watch=1" | "watch"))
        })
    }
}

/// What happens to a request that a rule selects.
#[derive(Clone, Debug)]
pub enum Action {
    /// Answer with a Kubernetes `Status` instead of asking the server.
    Status {
        /// The HTTP code.
        code: u16,
        /// `Status.reason`, for example `TooManyRequests`.
        reason: &'static str,
        /// `Retry-After`, in seconds.
        retry_after: Option<u32>,
    },
    /// Answer with this body, which need not be Kubernetes' at all (a login page, a redirect).
    Respond {
        /// The HTTP code.
        code: u16,
        /// Header fields.
        headers: Vec<(&'static str, String)>,
        /// The body.
        body: String,
    },
    /// Open the watch and end it with the error event 410 `Expired`, as a server does whose history is too short.
    WatchExpired,
    /// Never answer; the request does not reach the server.
    Hang,
    /// Forward, send the header and half of the body, then cut the connection. The header's `content-length` is whole.
    HalfBody,
    /// Forward, send the header and half of the body, then stay silent.
    StallBody,
    /// Wait, then forward.
    Delay(Duration),
    /// Forward, and send the body at this many bytes a second.
    Throttle(u32),
    /// Cut the connection before the server hears of the request.
    CutBefore,
    /// Let the server do it, then cut the connection instead of answering.
    CutAfter,
    /// End the victim (see [`Script::set_victim`]) with SIGKILL before the server hears of the request.
    KillBefore,
    /// Let the server do it, then end the victim with SIGKILL instead of answering.
    KillAfter,
}

/// Which of the requests that match a rule it acts on, counted from 1 for each rule.
#[derive(Clone, Copy, Debug)]
enum When {
    Always,
    Nth(usize),
    First(usize),
    From(usize),
}

impl When {
    fn holds(self, hit: usize) -> bool {
        match self {
            Self::Always => true,
            Self::Nth(n) => hit == n,
            Self::First(n) => hit <= n,
            Self::From(n) => hit >= n,
        }
    }
}

/// A selection of requests and what happens to them.
#[derive(Clone, Debug)]
pub struct Rule {
    method: Option<String>,
    path: Option<Regex>,
    cluster: Option<String>,
    watches: Option<bool>,
    writes_only: bool,
    when: When,
    action: Action,
    hits: usize,
}

impl Rule {
    /// Acts on every request, until narrowed.
    pub fn new(action: Action) -> Self {
        Self {
            method: None,
            path: None,
            cluster: None,
            watches: None,
            writes_only: false,
            when: When::Always,
            action,
            hits: 0,
        }
    }

    /// Only requests of this HTTP method.
    #[must_use]
    pub fn method(mut self, method: &str) -> Self {
        self.method = Some(method.to_ascii_uppercase());
        self
    }

    /// Only requests whose path with query matches this regular expression anywhere.
    ///
    /// # Panics
    ///
    /// When it is not a regular expression.
    #[must_use]
    pub fn path(mut self, pattern: &str) -> Self {
        self.path = Some(Regex::new(pattern).expect("the test's pattern is a regular expression"));
        self
    }

    /// Only requests through the proxy of this cluster.
    #[must_use]
    pub fn cluster(mut self, name: &str) -> Self {
        self.cluster = Some(name.to_owned());
        self
    }

    /// Only watches, or only what is none.
    #[must_use]
    pub fn watches(mut self, watches: bool) -> Self {
        self.watches = Some(watches);
        self
    }

    /// Only requests that may change something.
    #[must_use]
    pub fn writes(mut self) -> Self {
        self.writes_only = true;
        self
    }

    /// Only the n-th of them, from 1.
    #[must_use]
    pub fn nth(mut self, n: usize) -> Self {
        self.when = When::Nth(n);
        self
    }

    /// Only the first n of them.
    #[must_use]
    pub fn first(mut self, n: usize) -> Self {
        self.when = When::First(n);
        self
    }

    /// Only the n-th of them and all later ones.
    #[must_use]
    pub fn from(mut self, n: usize) -> Self {
        self.when = When::From(n);
        self
    }

    fn selects(&self, seen: &Seen) -> bool {
        self.method.as_ref().is_none_or(|method| *method == seen.method)
            && self.cluster.as_ref().is_none_or(|cluster| *cluster == seen.cluster)
            && self.watches.is_none_or(|watches| watches == seen.is_watch())
            && (!self.writes_only || seen.is_write())
            && self.path.as_ref().is_none_or(|path| path.is_match(&seen.path))
    }
}

/// Rules and counters, shared by any number of proxies; cheap to clone. Rules may change while proxies run.
#[derive(Clone, Default)]
pub struct Script {
    state: Arc<Mutex<State>>,
    victim: Arc<AtomicU32>,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    seen: Vec<Seen>,
    bearer_tokens: BTreeSet<String>,
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        f.debug_struct("Script")
            .field("rules", &state.rules)
            .field("seen", &state.seen)
            .finish_non_exhaustive()
    }
}

impl Script {
    /// No rules: everything is forwarded, and counted.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule. Of several that select a request, the first whose turn it is acts.
    #[must_use]
    pub fn with(self, rule: Rule) -> Self {
        self.push(rule);
        self
    }

    /// Adds a rule to a running script.
    pub fn push(&self, rule: Rule) {
        self.state().rules.push(rule);
    }

    /// Removes all rules; counts stay.
    pub fn clear_rules(&self) {
        self.state().rules.clear();
    }

    /// The process that [`Action::KillBefore`] and [`Action::KillAfter`] end. A kill that is due before the victim is
    /// known waits for it.
    pub fn set_victim(&self, pid: u32) {
        self.victim.store(pid, Ordering::Release);
    }

    /// The victim's pid, once set.
    pub(super) fn victim(&self) -> Option<u32> {
        Some(self.victim.load(Ordering::Acquire)).filter(|pid| *pid != 0)
    }

    /// All requests so far, in order of arrival.
    pub fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// How many requests there were.
    pub fn count(&self) -> usize {
        self.state().seen.len()
    }

    /// How many requests may have changed something.
    pub fn writes(&self) -> usize {
        self.state().seen.iter().filter(|seen| seen.is_write()).count()
    }

    /// The bearer tokens clients have shown, for a test that searches its output for them.
    pub fn bearer_tokens(&self) -> Vec<String> {
        self.state().bearer_tokens.iter().cloned().collect()
    }

    /// Notes a client's `Authorization` header.
    pub(super) fn authorization(&self, value: &str) {
        if let Some(token) = value.strip_prefix("Bearer ") {
            self.state().bearer_tokens.insert(token.to_owned());
        }
    }

    /// Notes a request and finds what to do with it; returns its number.
    pub(super) fn arrive(&self, cluster: &str, method: &str, path: &str) -> (usize, Option<Action>) {
        let mut state = self.state();
        let seen = Seen {
            number: state.seen.len() + 1,
            cluster: cluster.to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            at: Instant::now(),
            status: None,
        };
        let mut action = None;
        for rule in &mut state.rules {
            if rule.selects(&seen) {
                rule.hits += 1;
                if action.is_none() && rule.when.holds(rule.hits) {
                    action = Some(rule.action.clone());
                }
            }
        }
        let number = seen.number;
        state.seen.push(seen);
        (number, action)
    }

    /// Notes the answer to request `number`.
    pub(super) fn answered(&self, number: usize, status: u16) {
        if let Some(seen) = self.state().seen.get_mut(number - 1) {
            seen.status = Some(status);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Rule, Script};

    fn acts(script: &Script, method: &str, path: &str) -> bool {
        script.arrive("c1", method, path).1.is_some()
    }

    #[test]
    fn rules_select_by_method_path_and_turn() {
        let script = Script::new().with(
            Rule::new(Action::CutBefore)
                .method("patch")
                .path("/secrets/[^/]+$")
                .nth(2),
        );
        assert!(!acts(&script, "PATCH", "/api/v1/namespaces/a/secrets/x"));
        assert!(!acts(&script, "GET", "/api/v1/namespaces/a/secrets/x"));
        assert!(!acts(&script, "PATCH", "/api/v1/namespaces/a/configmaps/x"));
        assert!(acts(&script, "PATCH", "/api/v1/namespaces/a/secrets/x"));
        assert!(!acts(&script, "PATCH", "/api/v1/namespaces/a/secrets/x"));
        assert_eq!((script.count(), script.writes()), (5, 4));
    }

    #[test]
    fn watches_and_clusters_can_be_told_apart() {
        let watch = "/api/v1/secrets?allowWatchBookmarks=true&watch=true&resourceVersion=5";
        let script = Script::new().with(Rule::new(Action::WatchExpired).watches(true).cluster("c1").first(1));
        assert!(!acts(&script, "GET", "/api/v1/secrets?fieldSelector=watch%3Dtrue"));
        assert!(script.arrive("c2", "GET", watch).1.is_none());
        assert!(acts(&script, "GET", watch));
        assert!(!acts(&script, "GET", watch));
    }

    #[test]
    fn the_first_rule_whose_turn_it_is_acts_and_all_count() {
        let script = Script::new()
            .with(Rule::new(Action::Hang).nth(1))
            .with(Rule::new(Action::CutBefore).nth(1))
            .with(Rule::new(Action::CutAfter).from(2));
        assert!(matches!(script.arrive("c1", "GET", "/").1, Some(Action::Hang)));
        assert!(matches!(script.arrive("c1", "GET", "/").1, Some(Action::CutAfter)));
        script.clear_rules();
        assert!(!acts(&script, "GET", "/"));
    }
}
