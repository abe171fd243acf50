//! The work queue of one cluster: keyed, de-duplicated, by priority, with delayed entries; a key is never handed out
//! twice at once.
//!
//! kube-runtime's controller has neither priorities nor a way to keep one slow store from filling every worker; this
//! queue has both. Time comes from tokio, so tests run with a paused clock.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::retry;

/// An object of one of the kinds the loop drives.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Kind, as in the manifest: `ExternalSecret`.
    pub kind: &'static str,
    /// Namespace, empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl Key {
    /// A key from plain text.
    pub fn new(kind: &'static str, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{} {}", self.kind, self.name)
        } else {
            write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// Who goes first. Every eighth turn goes to the last in line, so that nobody starves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Waits for its first Secret.
    NeverSynced,
    /// Somebody changed it.
    Changed,
    /// Failed before.
    Failed,
    /// Only its interval has passed.
    Periodic,
}

/// What becomes of a key after a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing until an event; the failure count is reset.
    Wait,
    /// Again after this long; the failure count is reset.
    After(Duration),
    /// Again after the key's own backoff, as a failure.
    Backoff,
    /// As [`Next::Backoff`], but not sooner than this (`Retry-After`).
    BackoffAtLeast(Duration),
    /// Again as soon as possible, without counting a failure: the state under it moved.
    Again,
    /// Nothing until [`Queue::add`] is called for it; the failure count stays.
    Parked,
}

#[derive(Default)]
struct Entry {
    queued: Option<Priority>,
    running: Option<Running>,
    dirty: Option<Priority>,
    due: Option<u64>,
    failures: u32,
}

struct Running {
    since: Instant,
    lane: Option<Arc<str>>,
}

#[derive(Default)]
struct Inner {
    ready: [VecDeque<Key>; 4],
    delayed: BinaryHeap<Reverse<(Instant, u64, Key, Priority)>>,
    held: HashMap<Arc<str>, Vec<(Key, Priority)>>,
    entries: HashMap<Key, Entry>,
    lanes: HashMap<Arc<str>, Vec<Key>>,
    sequence: u64,
    turns: u64,
    running: usize,
}

/// See the module.
pub struct Queue {
    inner: Mutex<Inner>,
    wake: Notify,
    slow_limit: usize,
}

/// A pass that runs longer than this counts as slow.
const SLOW: Duration = Duration::from_secs(1);
/// Every so many turns the lowest priority goes first.
const TURN_FOR_LAST: u64 = 8;

impl Queue {
    /// `workers`: how many keys are handled at once; a quarter of them may be held by slow passes of one lane.
    pub fn new(workers: usize) -> Self {
        Self {
            inner: Mutex::default(),
            wake: Notify::new(),
            slow_limit: (workers / 4).max(1),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wants `key` handled; while it is being handled: once more afterwards.
    pub fn add(&self, key: Key, priority: Priority) {
        if self.lock().add(key, priority) {
            self.wake.notify_one();
        }
    }

    /// Wants `key` handled after `delay`, unless it already waits for less.
    pub fn add_after(&self, key: Key, priority: Priority, delay: Duration) {
        self.lock().schedule(key, priority, delay);
        self.wake.notify_one();
    }

    /// Forgets a deleted object's failure count and timer.
    pub fn forget(&self, key: &Key) {
        let mut inner = self.lock();
        if let Some(entry) = inner.entries.get_mut(key) {
            entry.failures = 0;
            entry.due = None;
            if entry.running.is_none() && entry.queued.is_none() {
                inner.entries.remove(key);
            }
        }
    }

    /// True if `key` was wanted again since its running pass began.
    pub fn is_wanted_again(&self, key: &Key) -> bool {
        self.lock().entries.get(key).is_some_and(|e| e.dirty.is_some())
    }

    /// Consecutive failures of `key`.
    pub fn failures(&self, key: &Key) -> u32 {
        self.lock().entries.get(key).map_or(0, |e| e.failures)
    }

    /// Nothing is ready and nothing runs; delayed keys do not count.
    pub fn is_idle(&self) -> bool {
        let inner = self.lock();
        inner.running == 0 && inner.held.is_empty() && inner.ready.iter().all(VecDeque::is_empty)
    }

    /// Number of keys that wait to be handled now.
    pub fn depth(&self) -> usize {
        self.lock().ready.iter().map(VecDeque::len).sum()
    }

    /// The next key to handle; waits for one. `lane` names what a key's pass depends on (its store).
    pub async fn next(&self, lane: &(dyn Fn(&Key) -> Option<Arc<str>> + Send + Sync)) -> Key {
        loop {
            let until = match self.try_next(lane) {
                Ok(key) => return key,
                Err(until) => until,
            };
            let woken = self.wake.notified();
            match until {
                Some(at) => tokio::select! {
                    () = woken => {}
                    () = tokio::time::sleep_until(at) => {}
                },
                None => woken.await,
            }
        }
    }

    /// The next key that is ready, or when the first delayed one will be.
    fn try_next(&self, lane: &(dyn Fn(&Key) -> Option<Arc<str>> + Send + Sync)) -> Result<Key, Option<Instant>> {
        let mut inner = self.lock();
        let now = Instant::now();
        inner.ripen(now);
        while let Some((key, priority)) = inner.pop() {
            let lane = lane(&key);
            if let Some(lane) = &lane
                && inner.slow_in(lane, now) >= self.slow_limit
            {
                inner.held.entry(lane.clone()).or_default().push((key, priority));
                continue;
            }
            inner.begin(&key, lane, now);
            return Ok(key);
        }
        Err(inner.delayed.peek().map(|Reverse((at, ..))| *at))
    }

    /// Ends a pass over `key`. `noise` mixes periodic keys.
    pub fn done(&self, key: &Key, next: Next, noise: u64) {
        self.lock().done(key, next, noise);
        self.wake.notify_one();
    }
}

impl Inner {
    fn add(&mut self, key: Key, priority: Priority) -> bool {
        let entry = self.entries.entry(key.clone()).or_default();
        if entry.running.is_some() {
            entry.dirty = Some(entry.dirty.map_or(priority, |p| p.min(priority)));
            return false;
        }
        match entry.queued {
            Some(queued) if queued <= priority => return false,
            _ => entry.queued = Some(priority),
        }
        self.ready[priority as usize].push_back(key);
        true
    }

    fn schedule(&mut self, key: Key, priority: Priority, delay: Duration) {
        self.sequence += 1;
        let sequence = self.sequence;
        let at = Instant::now() + delay;
        self.entries.entry(key.clone()).or_default().due = Some(sequence);
        self.delayed.push(Reverse((at, sequence, key, priority)));
    }

    fn ripen(&mut self, now: Instant) {
        while let Some(Reverse((at, ..))) = self.delayed.peek() {
            if *at > now {
                break;
            }
            let Some(Reverse((_, sequence, key, priority))) = self.delayed.pop() else {
                break;
            };
            let Some(entry) = self.entries.get_mut(&key) else {
                continue;
            };
            if entry.due == Some(sequence) {
                entry.due = None;
                self.add(key, priority);
            }
        }
    }

    fn pop(&mut self) -> Option<(Key, Priority)> {
        self.turns += 1;
        let backwards = self.turns.is_multiple_of(TURN_FOR_LAST);
        let order = [
            Priority::NeverSynced,
            Priority::Changed,
            Priority::Failed,
            Priority::Periodic,
        ];
        for step in 0..order.len() {
            let priority = order[if backwards { order.len() - 1 - step } else { step }];
            while let Some(key) = self.ready[priority as usize].pop_front() {
                if let Some(entry) = self.entries.get_mut(&key)
                    && entry.queued == Some(priority)
                {
                    return Some((key, priority));
                }
            }
        }
        None
    }

    fn slow_in(&self, lane: &Arc<str>, now: Instant) -> usize {
        let Some(keys) = self.lanes.get(lane) else { return 0 };
        let slow = |key: &&Key| {
            let running = self.entries.get(*key).and_then(|e| e.running.as_ref());
            running.is_some_and(|r| now.duration_since(r.since) > SLOW)
        };
        keys.iter().filter(slow).count()
    }

    fn begin(&mut self, key: &Key, lane: Option<Arc<str>>, now: Instant) {
        if let Some(lane) = &lane {
            self.lanes.entry(lane.clone()).or_default().push(key.clone());
        }
        let entry = self.entries.entry(key.clone()).or_default();
        entry.queued = None;
        entry.running = Some(Running { since: now, lane });
        self.running += 1;
    }

    fn done(&mut self, key: &Key, next: Next, noise: u64) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let Some(running) = entry.running.take() else { return };
        self.running -= 1;
        let dirty = entry.dirty.take();
        entry.due = None;
        let delay = entry.delay_after(next, noise);
        if let Some(lane) = running.lane {
            self.leave_lane(&lane, key);
        }
        match (dirty, delay) {
            (Some(priority), _) => {
                self.add(key.clone(), priority);
            }
            (None, Some((delay, priority))) if delay.is_zero() => {
                self.add(key.clone(), priority);
            }
            (None, Some((delay, priority))) => self.schedule(key.clone(), priority, delay),
            (None, None) => self.drop_if_empty(key),
        }
    }

    fn leave_lane(&mut self, lane: &Arc<str>, key: &Key) {
        if let Some(keys) = self.lanes.get_mut(lane) {
            keys.retain(|k| k != key);
            if keys.is_empty() {
                self.lanes.remove(lane);
            }
        }
        for (key, priority) in self.held.remove(lane).unwrap_or_default() {
            self.ready[priority as usize].push_front(key);
        }
    }

    fn drop_if_empty(&mut self, key: &Key) {
        if self
            .entries
            .get(key)
            .is_some_and(|e| e.failures == 0 && e.queued.is_none() && e.due.is_none())
        {
            self.entries.remove(key);
        }
    }
}

impl Entry {
    fn delay_after(&mut self, next: Next, noise: u64) -> Option<(Duration, Priority)> {
        match next {
            Next::Wait => {
                self.failures = 0;
                None
            }
            Next::After(delay) => {
                self.failures = 0;
                Some((retry::jitter(delay, noise), Priority::Periodic))
            }
            Next::Again => Some((Duration::ZERO, Priority::Changed)),
            Next::Parked => None,
            Next::Backoff => Some((self.fail(), Priority::Failed)),
            Next::BackoffAtLeast(least) => Some((self.fail().max(least), Priority::Failed)),
        }
    }

    fn fail(&mut self) -> Duration {
        let delay = retry::backoff(self.failures);
        self.failures = self.failures.saturating_add(1);
        delay
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Key, Next, Priority, Queue};

    fn key(name: &str) -> Key {
        Key::new("ExternalSecret", "orchard", name)
    }

    fn no_lane(_: &Key) -> Option<Arc<str>> {
        None
    }

    fn now(queue: &Queue) -> Option<Key> {
        queue.try_next(&no_lane).ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_queued_once_and_never_runs_twice_at_once() {
        let queue = Queue::new(4);
        queue.add(key("a"), Priority::Changed);
        queue.add(key("a"), Priority::Periodic);
        assert_eq!(now(&queue), Some(key("a")));
        queue.add(key("a"), Priority::Changed);
        assert_eq!(now(&queue), None, "it is still running");
        queue.done(&key("a"), Next::Wait, 0);
        assert_eq!(now(&queue), Some(key("a")), "the event that came meanwhile");
        queue.done(&key("a"), Next::Wait, 0);
        assert_eq!(now(&queue), None);
        assert!(queue.is_idle());
    }

    #[tokio::test(start_paused = true)]
    async fn never_synced_goes_before_periodic_and_a_raise_counts() {
        let queue = Queue::new(4);
        queue.add(key("old"), Priority::Periodic);
        queue.add(key("raised"), Priority::Periodic);
        queue.add(key("raised"), Priority::Changed);
        queue.add(key("new"), Priority::NeverSynced);
        let order: Vec<Key> = std::iter::from_fn(|| now(&queue)).collect();
        assert_eq!(order, [key("new"), key("raised"), key("old")]);
    }

    #[tokio::test(start_paused = true)]
    async fn periodic_keys_are_not_starved() {
        let queue = Queue::new(4);
        queue.add(key("last"), Priority::Periodic);
        (0..40).for_each(|n| queue.add(key(&format!("c{n}")), Priority::Changed));
        let order: Vec<Key> = std::iter::from_fn(|| now(&queue)).collect();
        assert!(order.iter().position(|k| *k == key("last")).unwrap() < 9);
    }

    #[tokio::test(start_paused = true)]
    async fn backoff_doubles_and_success_resets_it() {
        let queue = Queue::new(4);
        queue.add(key("a"), Priority::Changed);
        let begun = tokio::time::Instant::now();
        let mut waits = Vec::new();
        for _ in 0..4 {
            let k = queue.next(&no_lane).await;
            waits.push(begun.elapsed().as_secs());
            queue.done(&k, Next::Backoff, 0);
        }
        assert_eq!(waits, [0, 1, 3, 7]);
        assert_eq!(queue.failures(&key("a")), 4);
        let k = queue.next(&no_lane).await;
        queue.done(&k, Next::After(Duration::from_secs(5)), 0);
        assert_eq!(queue.failures(&key("a")), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_pass_replaces_the_timer() {
        let queue = Queue::new(4);
        queue.add(key("a"), Priority::Changed);
        let k = now(&queue).unwrap();
        queue.done(&k, Next::After(Duration::from_secs(8)), 0);
        queue.add(key("a"), Priority::Changed);
        let k = now(&queue).unwrap();
        queue.done(&k, Next::Wait, 0);
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(now(&queue), None);
    }

    #[tokio::test(start_paused = true)]
    async fn one_slow_lane_leaves_room_for_the_others() {
        let queue = Queue::new(8);
        let lane = |k: &Key| Some(Arc::from(if k.name.starts_with('s') { "slow" } else { "fast" }));
        (0..6).for_each(|n| queue.add(key(&format!("s{n}")), Priority::NeverSynced));
        queue.add(key("f"), Priority::Changed);
        let first = queue.try_next(&lane).unwrap();
        queue.try_next(&lane).unwrap();
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(queue.try_next(&lane).unwrap(), key("f"));
        assert!(queue.try_next(&lane).is_err());
        queue.done(&first, Next::Wait, 0);
        assert!(queue.try_next(&lane).unwrap().name.starts_with('s'));
    }
}
