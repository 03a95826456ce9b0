//! An open-loop load generator: calls arrive by a schedule, whatever the answers (Schroeder et al., NSDI 2006, section 2).
//!
//! Measures nanoseconds of a call *from the moment at which it was due*, not from the moment at which it left. A caller that waits
//! for an answer before it asks again stops asking just when the server is slow, and its percentiles leave the slow moments out:
//! Gil Tene's *coordinated omission*. Timing from the due moment keeps them in.
//!
//! **Arrival process.** Poisson, with independent, exponentially distributed gaps (many independent callers), or fixed gaps; at
//! `rate` arrivals a second, from a seed.
//!
//! **Invariant.** Every arrival is counted: as a call with a time, as a failed call, or as skipped, where `in_flight` calls of its
//! lane were under way or the generator itself was more than [`MOST_LATE`] late. A sleeping thread wakes up some 60 µs late, so
//! open loops are compared with each other and not with paired measurements.
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use gobo_cli::output;
use hdrhistogram::Histogram;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use crate::args::Arrivals;
use crate::generator::Bounds;
use crate::report::Row;
use crate::report::histogram::{histogram, nanos};

/// A call that is due for longer than this is skipped.
const MOST_LATE: Duration = Duration::from_millis(100);

/// The arrival process and its bounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Arrivals a second.
    pub(crate) rate: f64,
    pub(crate) arrivals: Arrivals,
    pub(crate) bounds: Bounds,
    /// Most calls of one lane under way at once; a call beyond them is skipped.
    pub(crate) in_flight: usize,
    pub(crate) seed: u64,
}

/// A lane: the calls of one class, counted and timed by themselves.
pub(crate) struct Lane {
    n: u64,
    failed: u64,
    skipped: u64,
    /// Nanoseconds from the moment at which a call was due.
    times: Histogram<u64>,
    elapsed: Duration,
}

impl Lane {
    pub(crate) fn into_row(self, name: &str) -> Row {
        let mut row = Row::new(name, self.n, self.failed, self.times);
        row.skipped = self.skipped;
        row.elapsed = Some(self.elapsed);
        row
    }

    pub(crate) fn into_times(self) -> Histogram<u64> {
        self.times
    }
}

/// Makes calls within the bounds of `plan`, then waits for those under way. `arrival` gives the lane and the call of the nth
/// arrival; `names` has a name for each lane.
///
/// # Errors
/// None of a call: those are counted, and the first of each lane is shown.
pub(crate) fn open_loop<F, C>(
    runtime: &Runtime,
    plan: &Plan,
    names: &[&'static str],
    mut arrival: F,
) -> anyhow::Result<Vec<Lane>>
where
    F: FnMut(u64) -> (usize, C),
    C: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let lanes: Vec<(Arc<Mutex<Lane>>, Arc<Semaphore>)> = names
        .iter()
        .map(|_| {
            let lane = Lane { n: 0, failed: 0, skipped: 0, times: histogram()?, elapsed: Duration::ZERO };
            Ok((Arc::new(Mutex::new(lane)), Arc::new(Semaphore::new(plan.in_flight))))
        })
        .collect::<anyhow::Result<_>>()?;
    let mut random = fastrand::Rng::with_seed(plan.seed);
    let begun = Instant::now();
    let mut due = begun;
    for nth in 0..plan.bounds.count {
        due += gap(plan, &mut random);
        if due - begun >= plan.bounds.time {
            break;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let (at, call) = arrival(nth);
        let (lane, slots) = &lanes[at];
        let slot = Arc::clone(slots).try_acquire_owned().ok().filter(|_| due.elapsed() <= MOST_LATE);
        let Some(slot) = slot else {
            lock(lane).skipped += 1;
            continue;
        };
        let (lane, name) = (Arc::clone(lane), names[at]);
        runtime.spawn(async move {
            let answer = call.await;
            let nanos = nanos(due);
            lock(&lane).count(name, answer, nanos);
            // The slot is released last: the holder of all slots is the only owner of the lanes.
            drop(lane);
            drop(slot);
        });
    }
    let all = u32::try_from(plan.in_flight)?;
    for (_, slots) in &lanes {
        // Each call has a deadline, so this ends.
        drop(runtime.block_on(slots.acquire_many(all))?);
    }
    let elapsed = begun.elapsed();
    let own = |(lane, _): (Arc<Mutex<Lane>>, _)| {
        let lane = Arc::into_inner(lane).context("a call is still under way")?;
        Ok(Lane { elapsed, ..lane.into_inner().unwrap_or_else(PoisonError::into_inner) })
    };
    lanes.into_iter().map(own).collect()
}

impl Lane {
    fn count(&mut self, name: &str, answer: anyhow::Result<()>, nanos: u64) {
        self.n += 1;
        match answer {
            Ok(()) => self.times.saturating_record(nanos),
            Err(error) => {
                if self.failed == 0 {
                    output::note(format_args!("{name}: {error:#}"));
                }
                self.failed += 1;
            }
        }
    }
}

fn lock(lane: &Mutex<Lane>) -> std::sync::MutexGuard<'_, Lane> {
    lane.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time between two arrivals: for a Poisson process by inversion of the exponential distribution.
fn gap(plan: &Plan, random: &mut fastrand::Rng) -> Duration {
    let seconds = match plan.arrivals {
        Arrivals::Fixed => 1.0 / plan.rate,
        Arrivals::Poisson => -(1.0 - random.f64()).ln() / plan.rate,
    };
    Duration::from_secs_f64(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(rate: f64, count: u64, in_flight: usize) -> Plan {
        let bounds = Bounds { count, time: Duration::from_secs(60) };
        Plan { rate, arrivals: Arrivals::Fixed, bounds, in_flight, seed: 1 }
    }

    fn runtime() -> Runtime {
        crate::generator::runtime().unwrap()
    }

    #[test]
    fn every_arrival_is_sent_failed_or_skipped() {
        let runtime = runtime();
        let call = |nth: u64| {
            let lane = usize::from(nth.is_multiple_of(2));
            (lane, async move {
                anyhow::ensure!(nth != 3, "no");
                Ok(())
            })
        };
        let lanes = open_loop(&runtime, &plan(5000.0, 40, 64), &["odd", "even"], call).unwrap();
        assert_eq!(lanes.iter().map(|lane| lane.n + lane.skipped).sum::<u64>(), 40);
        // On a machine that is held up for long the one that fails may be skipped.
        assert!(lanes[0].failed <= 1 && lanes[1].failed == 0);
        assert_eq!(lanes[0].times.len(), lanes[0].n - lanes[0].failed);
    }

    #[test]
    fn a_stall_is_in_the_times_of_all_that_were_due_during_it() {
        // One slot, and the first call holds it for 60 ms: what is due meanwhile is skipped, not forgotten.
        let runtime = runtime();
        let call = |nth: u64| {
            (0, async move {
                tokio::time::sleep(Duration::from_millis(if nth == 0 { 60 } else { 0 })).await;
                Ok(())
            })
        };
        let lanes = open_loop(&runtime, &plan(200.0, 20, 1), &["some"], call).unwrap();
        assert!(lanes[0].skipped >= 2 && lanes[0].n + lanes[0].skipped == 20, "{}", lanes[0].skipped);
        // This thread is held up itself: calls leave late, and are timed from when they were due.
        let late = |nth: u64| {
            if nth == 0 {
                std::thread::sleep(Duration::from_millis(50));
            }
            (0, async { Ok(()) })
        };
        let lanes = open_loop(&runtime, &plan(1000.0, 30, 64), &["some"], late).unwrap();
        let times = &lanes[0].times;
        assert!(times.value_at_quantile(0.3) > 10_000_000, "{}", times.value_at_quantile(0.3));
    }

    #[test]
    fn arrivals_keep_their_rate_and_repeat_with_their_seed() {
        let plan = Plan { arrivals: Arrivals::Poisson, ..plan(1000.0, 1, 1) };
        let sum = |seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            (0..10_000).map(|_| gap(&plan, &mut random).as_secs_f64()).sum::<f64>()
        };
        assert!((9.0..11.0).contains(&sum(1)), "{}", sum(1));
        assert!((sum(1) - sum(1)).abs() < 1e-12 && (sum(1) - sum(2)).abs() > 1e-6);
    }
}
