//! The same work on many clusters: bounded, every result kept, in the order asked for.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream;

/// Runs `work` for each item, at most `concurrency` at a time, and calls `done` with each result as soon as it and all
/// results before it are there. One failing item never stops the others.
pub async fn fan_out<I, T, F, Fut>(items: Vec<I>, concurrency: usize, work: F, mut done: impl FnMut(&T)) -> Vec<T>
where
    F: Fn(I) -> Fut,
    Fut: Future<Output = T>,
{
    let work = Arc::new(work);
    let mut results = Vec::with_capacity(items.len());
    let mut running = stream::iter(items).map(|item| work(item)).buffered(concurrency.max(1));
    while let Some(result) = running.next().await {
        done(&result);
        results.push(result);
    }
    results
}

#[cfg(test)]
mod tests {
    use super::fan_out;

    #[tokio::test]
    async fn keeps_order_and_every_result() {
        let mut seen = Vec::new();
        let out = fan_out(
            vec![3, 1, 2],
            2,
            |n| async move { if n == 1 { Err(n) } else { Ok(n) } },
            |r| seen.push(*r),
        )
        .await;
        assert_eq!(out, [Ok(3), Err(1), Ok(2)]);
        assert_eq!(seen, out);
    }
}
