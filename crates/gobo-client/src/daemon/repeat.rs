//! How often calls are repeated: after a pause by chance, and within a budget of the whole client.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::ClientError;

/// Shortest and longest pause before a call is repeated, in milliseconds. It lets a connection that has just ended be seen to have ended, and
/// keeps clients that lost one daemon at one moment from calling the next at one moment.
const PAUSE_MS: std::ops::Range<u64> = 20..60;

/// Repetitions that a client may have used up at once, and how fast it gets them back: where most calls fail, repeating them all doubles the
/// load of daemons that are in trouble as it is.
const BURST: f64 = 64.0;
const PER_SECOND: f64 = 4.0;

/// A token bucket of repetitions.
#[derive(Debug)]
pub(crate) struct Repeats(Mutex<(f64, Instant)>);

impl Default for Repeats {
    fn default() -> Self {
        Self(Mutex::new((BURST, Instant::now())))
    }
}

impl Repeats {
    fn take(&self, now: Instant) -> bool {
        let mut bucket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, since) = *bucket;
        let left = (left + now.saturating_duration_since(since).as_secs_f64() * PER_SECOND).min(BURST);
        let may = left >= 1.0;
        *bucket = (if may { left - 1.0 } else { left }, now);
        may
    }

    /// Whether a call that ended so is to be repeated; if so, the pause is over.
    pub(crate) async fn allow(&self, error: &ClientError) -> bool {
        if !error.is_worth_repeating() || !self.take(Instant::now()) {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(fastrand::u64(PAUSE_MS))).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_repeats_no_more_than_its_budget() {
        let (repeats, begun) = (Repeats::default(), Instant::now());
        let taken = (0..100).filter(|_| repeats.take(begun)).count();
        assert_eq!(taken, 64);
        assert!(!repeats.take(begun + Duration::from_millis(200)));
        assert!(repeats.take(begun + Duration::from_millis(550)));
        assert!(repeats.take(begun + Duration::from_millis(560)));
        assert!(!repeats.take(begun + Duration::from_millis(570)));
    }
}
