//! A closed-loop load generator: a fixed number of callers, each of which calls again as soon as it is answered (Schroeder et al.,
//! NSDI 2006, section 2; think time zero).
//!
//! Measures the throughput, in calls a second, that a number of calls under way reach; failed calls do not count for it. The
//! times of its calls are those of a saturated server: by Little's law they grow with the number of callers, and they suffer
//! from coordinated omission. Latency at a given load is for [`super::open_loop`].
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gobo_cli::output;
use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use crate::generator::Bounds;
use crate::report::Row;
use crate::report::histogram::{histogram, nanos};

/// The calls of one or several closed loops.
pub(crate) struct Flow {
    n: u64,
    failed: u64,
    times: Histogram<u64>,
    elapsed: Duration,
}

impl Flow {
    pub(crate) fn none() -> anyhow::Result<Self> {
        Ok(Self { n: 0, failed: 0, times: histogram()?, elapsed: Duration::ZERO })
    }

    pub(crate) fn add(&mut self, other: &Self) -> anyhow::Result<()> {
        self.n += other.n;
        self.failed += other.failed;
        self.elapsed += other.elapsed;
        Ok(self.times.add(&other.times)?)
    }

    pub(crate) fn n(&self) -> u64 {
        self.n
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failed
    }

    /// Good answers a second.
    pub(crate) fn per_s(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let answered = (self.n - self.failed) as f64;
        answered / self.elapsed.as_secs_f64().max(1e-9)
    }

    pub(crate) fn into_row(self, name: &str) -> Row {
        let (per_s, elapsed) = (self.per_s(), self.elapsed);
        let mut row = Row::new(name, self.n, self.failed, self.times);
        row.per_s = Some(per_s);
        row.elapsed = Some(elapsed);
        row
    }
}

/// Has `callers` tasks call within the bounds, which count over all tasks. `call` is given the number of the caller and that of
/// the call.
pub(crate) async fn closed_loop<F, C>(
    name: &'static str,
    callers: usize,
    bounds: Bounds,
    call: F,
) -> anyhow::Result<Flow>
where
    F: Fn(usize, u64) -> C + Clone + Send + 'static,
    C: Future<Output = anyhow::Result<()>> + Send,
{
    let next = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for caller in 0..callers {
        let (next, call) = (Arc::clone(&next), call.clone());
        let mut flow = Flow::none()?;
        tasks.spawn(async move {
            while begun.elapsed() < bounds.time {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                if nth >= bounds.count {
                    break;
                }
                let called = Instant::now();
                let answer = call(caller, nth).await;
                flow.n += 1;
                match answer {
                    Ok(()) => flow.times.saturating_record(nanos(called)),
                    Err(error) => {
                        if flow.failed == 0 {
                            output::note(format_args!("{name}: {error:#}"));
                        }
                        flow.failed += 1;
                    }
                }
            }
            flow
        });
    }
    let mut all = Flow::none()?;
    while let Some(flow) = tasks.join_next().await {
        all.add(&flow?)?;
    }
    all.elapsed = begun.elapsed();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_made_once_and_none_beyond_the_count() {
        let runtime = crate::generator::runtime().unwrap();
        let sum = Arc::new(AtomicU64::new(0));
        let bounds = Bounds { count: 100, time: Duration::from_secs(60) };
        let call = {
            let sum = Arc::clone(&sum);
            move |_, nth| {
                let sum = Arc::clone(&sum);
                async move {
                    sum.fetch_add(nth, Ordering::Relaxed);
                    anyhow::ensure!(nth % 10 != 0, "no");
                    Ok(())
                }
            }
        };
        let flow = runtime.block_on(closed_loop("some", 7, bounds, call)).unwrap();
        assert_eq!((flow.n, flow.failed, flow.times.len()), (100, 10, 90));
        assert_eq!(sum.load(Ordering::Relaxed), 4950);
    }
}
