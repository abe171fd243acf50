//! A short memory of answers, so that many who ask for the same at once cause one request.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Answers by key, each kept for as long as its reader says; concurrent readers of one key wait for one request.
pub struct Recent<K, V> {
    slots: Mutex<HashMap<K, Arc<Slot<V>>>>,
}

struct Slot<V> {
    value: tokio::sync::Mutex<Option<(V, Instant)>>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self {
            slots: Mutex::default(),
        }
    }
}

impl<K: Eq + Hash + Clone, V: Clone> Recent<K, V> {
    /// Above this many keys, those nobody uses and whose answer is too old are dropped.
    const SWEEP_ABOVE: usize = 256;

    /// The answer for `key`: the one remembered, or what `read` gives together with how long it may be used (zero: not
    /// again). A failure is never remembered.
    pub async fn get<E>(&self, key: K, read: impl Future<Output = Result<(V, Duration), E>>) -> Result<V, E> {
        let slot = self.slot(key);
        let mut held = slot.value.lock().await;
        if let Some((value, until)) = held.as_ref()
            && Instant::now() < *until
        {
            return Ok(value.clone());
        }
        *held = None;
        let (value, life) = read.await?;
        if !life.is_zero() {
            *held = Some((value.clone(), Instant::now() + life));
        }
        Ok(value)
    }

    fn slot(&self, key: K) -> Arc<Slot<V>> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() > Self::SWEEP_ABOVE {
            let now = Instant::now();
            slots.retain(|_, slot| {
                Arc::strong_count(slot) > 1
                    || slot
                        .value
                        .try_lock()
                        .is_ok_and(|held| held.as_ref().is_some_and(|(_, until)| now < *until))
            });
        }
        let empty = || {
            Arc::new(Slot {
                value: tokio::sync::Mutex::new(None),
            })
        };
        Arc::clone(slots.entry(key).or_insert_with(empty))
    }

    /// Forgets the answer for `key`.
    pub fn forget(&self, key: &K) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Forgets the answers whose keys are `unwanted`.
    pub fn forget_where(&self, unwanted: impl Fn(&K) -> bool) {
        self.slots
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|key, _| !unwanted(key));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::Recent;

    #[tokio::test]
    async fn concurrent_readers_share_one_answer_and_failures_are_not_kept() {
        let recent = Recent::<&str, usize>::default();
        let calls = AtomicUsize::new(0);
        let read = |outcome: Result<usize, ()>| {
            let calls = &calls;
            recent.get("k", async move {
                calls.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                outcome.map(|value| (value, Duration::from_secs(60)))
            })
        };
        assert_eq!(read(Err(())).await, Err(()));
        let (first, second) = futures::join!(read(Ok(1)), read(Ok(2)));
        assert_eq!((first, second), (Ok(1), Ok(1)));
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        recent.forget(&"k");
        assert_eq!(read(Ok(3)).await, Ok(3));
    }

    #[tokio::test]
    async fn no_life_means_no_memory() {
        let recent = Recent::<&str, usize>::default();
        let read = |value| recent.get("k", async move { Ok::<_, ()>((value, Duration::ZERO)) });
        assert_eq!((read(1).await, read(2).await), (Ok(1), Ok(2)));
    }
}
