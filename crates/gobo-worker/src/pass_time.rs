//! The processor time of a pass: a second net below its counted budget.
//!
//! A budget of steps ends a costly compile after a time that is about the same on every host, as long as every loop charges
//! what it does. The limit here is ten times that time and more. What reaches it has found a loop that charges too little:
//! always a bug, never a verdict about the constraint.

use std::time::{Duration, Instant};

use gobo_types::IsOutOfTime;
use rustix::time::{ClockId, clock_gettime};

/// How much processor time a pass may use for its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassTime {
    /// For what every compile costs, and for the noise of small numbers. Default 2 seconds.
    pub floor: Duration,
    /// For each step of the pass's budget, on top. Default 100 nanoseconds: some ten times what a step takes.
    pub per_step: Duration,
}

impl Default for PassTime {
    fn default() -> Self {
        Self { floor: Duration::from_secs(2), per_step: Duration::from_nanos(100) }
    }
}

impl PassTime {
    /// The limit of a pass of so many steps: by default 2.8 seconds of 8 million, 14.8 of 128 million, 202 of 2 thousand
    /// million.
    pub fn of(&self, steps: u64) -> Duration {
        let per_step = u64::try_from(self.per_step.as_nanos()).unwrap_or(u64::MAX);
        self.floor.saturating_add(Duration::from_nanos(per_step.saturating_mul(steps)))
    }
}

/// Processor time of this process, or of this thread, so far.
pub(crate) fn used(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Whether this thread has used more than `limit` of processor time from now on. To be asked on this thread.
pub fn thread_clock(limit: Duration) -> Box<IsOutOfTime> {
    let began = Instant::now();
    let before = used(ClockId::ThreadCPUTime);
    // The wall clock is cheaper to read, and never less.
    Box::new(move || began.elapsed() > limit && used(ClockId::ThreadCPUTime).saturating_sub(before) > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_in_proportion_and_never_overflows() {
        let time = PassTime::default();
        for (steps, ms) in [(0, 2_000), (8_000_000, 2_800), (128_000_000, 14_800), (2_000_000_000, 202_000)] {
            assert_eq!(time.of(steps), Duration::from_millis(ms));
        }
        assert!(time.of(u64::MAX) > Duration::from_secs(1 << 30));
        let most = PassTime { floor: Duration::MAX, per_step: Duration::MAX };
        assert_eq!(most.of(u64::MAX), Duration::MAX);
    }

    #[test]
    fn a_thread_that_works_runs_out_of_time() {
        let is_out_of_time = thread_clock(Duration::from_millis(1));
        assert!(!thread_clock(Duration::from_secs(3600))());
        while !is_out_of_time() {
            std::hint::spin_loop();
        }
    }
}
