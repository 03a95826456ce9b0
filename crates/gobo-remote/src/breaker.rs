//! A circuit breaker (M. Nygard, *Release It!*, 2007): after some failures in a row nobody is sent to what fails for a while, then one to try
//! it. Reads and writes of a bucket have one each, because a bucket that has lost a disk may answer the ones and hang in the others.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures in a row that open it.
const FAILURES: u32 = 5;
/// How long it is open at first. Each probe that fails doubles that.
const SHORTEST: Duration = Duration::from_secs(1);
/// How long it is open at most; and at once where credentials are refused, which no second try mends.
const LONGEST: Duration = Duration::from_secs(30);

/// What a [`Breaker`] is told of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    /// Whoever was called has answered, whatever it said.
    Answered,
    /// It has not, or not in time.
    Failed,
    /// It has answered what no second try mends: it refuses the credentials, or is of another version.
    Denied,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
        pause: Duration,
    },
    /// One call tries it.
    HalfOpen {
        pause: Duration,
    },
}

/// A circuit breaker of one kind of calls. Five failures in a row open it, for a second and at most for thirty.
///
/// ```
/// use std::time::Instant;
/// use gobo_remote::{Breaker, CallEnd};
///
/// let breaker = Breaker::new();
/// for _ in 0..5 {
///     breaker.admit(Instant::now()).expect("it is closed").tell(CallEnd::Failed);
/// }
/// assert!(breaker.is_open() && breaker.admit(Instant::now()).is_none());
/// ```
#[derive(Debug)]
pub struct Breaker(Mutex<State>);

impl Breaker {
    /// A closed one.
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State::Closed { failures: 0 })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether calls are not made now.
    pub fn is_open(&self) -> bool {
        !matches!(*self.lock(), State::Closed { .. })
    }

    /// Leave to make a call now; `None`: it is not to be made. O(1).
    pub fn admit(self: &Arc<Self>, now: Instant) -> Option<Permit> {
        let mut state = self.lock();
        match *state {
            State::Closed { .. } => {}
            State::Open { until, pause } if until <= now => *state = State::HalfOpen { pause },
            State::Open { .. } | State::HalfOpen { .. } => return None,
        }
        Some(Permit { breaker: Arc::clone(self), is_told: false })
    }

    /// For a call that is made whatever the breaker says: what is told of it counts where it is closed.
    pub(crate) fn aside(self: &Arc<Self>) -> Permit {
        Permit { breaker: Arc::clone(self), is_told: true }
    }

    fn told(&self, end: CallEnd, now: Instant) {
        let mut state = self.lock();
        // Who fails together is sent back at different times.
        let open =
            |pause: Duration| State::Open { until: now + pause.mul_f64(0.75 + fastrand::f64() / 2.0), pause };
        *state = match (*state, end) {
            (State::Closed { .. } | State::HalfOpen { .. }, CallEnd::Answered) => {
                State::Closed { failures: 0 }
            }
            (State::Closed { failures }, CallEnd::Failed) if failures + 1 < FAILURES => {
                State::Closed { failures: failures + 1 }
            }
            (State::Closed { .. }, CallEnd::Failed) => open(SHORTEST),
            (State::HalfOpen { pause }, CallEnd::Failed) => open((pause * 2).min(LONGEST)),
            (State::Closed { .. } | State::HalfOpen { .. }, CallEnd::Denied) => open(LONGEST),
            // A call from before it opened.
            (state @ State::Open { .. }, _) => state,
        };
    }
}

/// Leave to make one call. Dropped untold, because the call was given up, it says nothing.
#[derive(Debug)]
pub struct Permit {
    breaker: Arc<Breaker>,
    is_told: bool,
}

impl Permit {
    /// Says how the call ended.
    pub fn tell(mut self, end: CallEnd) {
        self.is_told = true;
        self.breaker.told(end, Instant::now());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.breaker.lock();
        if let State::HalfOpen { pause } = *state
            && !self.is_told
        {
            *state = State::Open { until: Instant::now(), pause };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a call end so.
    fn call(breaker: &Arc<Breaker>, now: Instant, end: CallEnd) -> bool {
        let admitted = breaker.admit(now);
        let is_admitted = admitted.is_some();
        if let Some(mut permit) = admitted {
            permit.is_told = true;
            breaker.told(end, now);
        }
        is_admitted
    }

    #[test]
    fn failures_in_a_row_open_it_and_one_answer_closes_it() {
        let (breaker, start) = (Breaker::new(), Instant::now());
        for _ in 0..3 {
            for _ in 1..FAILURES {
                assert!(call(&breaker, start, CallEnd::Failed));
            }
            assert!(call(&breaker, start, CallEnd::Answered), "not in a row");
        }
        for _ in 0..FAILURES {
            assert!(call(&breaker, start, CallEnd::Failed));
        }
        assert!(breaker.is_open() && breaker.admit(start).is_none());
        // Each probe that fails doubles the pause, give or take a fourth.
        let mut now = start;
        for pause in [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0] {
            let pause = Duration::from_secs_f64(pause);
            assert!(breaker.admit(now + pause.mul_f64(0.74)).is_none());
            now += pause.mul_f64(1.26);
            assert!(call(&breaker, now, CallEnd::Failed));
        }
        now += LONGEST * 2;
        let probe = breaker.admit(now).unwrap();
        assert!(breaker.admit(now).is_none(), "one call tries it");
        drop(probe);
        assert!(breaker.admit(Instant::now()).is_some(), "and one that is given up leaves it to the next");
        assert!(call(&Breaker::new(), now, CallEnd::Denied));
    }

    #[test]
    fn refused_credentials_open_it_at_once() {
        let (breaker, now) = (Breaker::new(), Instant::now());
        assert!(call(&breaker, now, CallEnd::Denied));
        assert!(breaker.admit(now + SHORTEST * 2).is_none());
        assert!(call(&breaker, now + LONGEST * 2, CallEnd::Answered));
        assert!(!breaker.is_open());
    }
}
