//! The running account of a compile against its limits.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{CompileError, CompileLimits, Limit, OverBudget, Phase, PhaseTime};

/// Says whether a compile has used more processor time than it may, asked on the thread that compiles.
pub type IsOutOfTime = dyn Fn() -> bool + Send + Sync;

/// Number of charges of steps between two readings of the clock.
const CHARGES_PER_LOOK: u64 = 64;

/// A clock that ends a compile which the counted limits do not end.
struct Clock {
    is_out_of_time: Box<IsOutOfTime>,
    charges: AtomicU64,
    has_ended: AtomicBool,
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}

/// The running account of one compile against its [`CompileLimits`], shared by its threads.
///
/// Where several threads work counters only grow, and a limit is passed exactly if the total of all charges passes it, so
/// the verdict does not depend on the number of threads or their order. Bytes are given back by [`Budget::holding`] alone.
#[derive(Debug, Default)]
pub struct Budget {
    limits: CompileLimits,
    steps: AtomicU64,
    bytes: AtomicU64,
    peak_states: AtomicU64,
    peak_bytes: AtomicU64,
    cancelled: Arc<AtomicBool>,
    clock: Option<Arc<Clock>>,
    /// The limits of the last pass, if that is another one.
    last: Option<CompileLimits>,
    /// The phases so far, each with its beginning.
    phases: Mutex<Vec<(Phase, Instant)>>,
}

impl Clock {
    fn look(&self) -> Result<(), CompileError> {
        let charges = self.charges.fetch_add(1, Ordering::Relaxed);
        if charges.is_multiple_of(CHARGES_PER_LOOK) && (self.is_out_of_time)() {
            self.has_ended.store(true, Ordering::Relaxed);
            return Err(CompileError::unavailable("the compile is out of processor time"));
        }
        Ok(())
    }
}

/// A state of a [`Budget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    steps: u64,
    bytes: u64,
}

impl Budget {
    /// An empty account.
    pub fn new(limits: CompileLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// An account that also stops with [`CompileError::Unavailable`] soon after `cancelled` is set. The flag is read whenever
    /// steps are charged: at least every few thousand steps.
    pub fn cancellable(limits: CompileLimits, cancelled: Arc<AtomicBool>) -> Self {
        Self { limits, cancelled, ..Self::default() }
    }

    /// The same account, which also stops with [`CompileError::Unavailable`] once `is_out_of_time` says so: a second safeguard
    /// after the counted limits, for a host that compiles on threads and has no process to end. The clock is read at every
    /// sixty-fourth charge of steps, so it does not stop a loop that charges nothing.
    #[must_use]
    pub fn timed(self, is_out_of_time: Box<IsOutOfTime>) -> Self {
        let clock = Clock { is_out_of_time, charges: AtomicU64::new(0), has_ended: AtomicBool::new(false) };
        Self { clock: Some(Arc::new(clock)), ..self }
    }

    /// The same account, of a compile that begins again where it runs out of steps, with `last` limits in the end: that verdict is
    /// not the last.
    ///
    /// ```
    /// use gobo_types::{Budget, CompileLimits};
    ///
    /// let last = CompileLimits::default();
    /// let pass = Budget::new(CompileLimits { max_steps: 8_000_000, ..last }).pass_before(last);
    /// assert!(!pass.is_last_pass() && pass.last_limits() == last && Budget::new(last).is_last_pass());
    /// ```
    #[must_use]
    pub fn pass_before(self, last: CompileLimits) -> Self {
        Self { last: Some(last), ..self }
    }

    /// The limits after which a compile does not begin again.
    pub fn last_limits(&self) -> CompileLimits {
        self.last.unwrap_or(self.limits)
    }

    /// Whether a compile that runs out of steps does not begin again.
    pub fn is_last_pass(&self) -> bool {
        self.last_limits() == self.limits
    }

    /// An empty account with limits of its own, which is cancelled, and out of time, with this one.
    ///
    /// ```
    /// use gobo_types::{Budget, CompileLimits};
    ///
    /// let budget = Budget::new(CompileLimits::default());
    /// let trial = budget.beside(CompileLimits { max_steps: 10, ..budget.limits() });
    /// assert!(trial.charge_steps("a trial", 11).is_err() && budget.steps() == 0);
    /// ```
    #[must_use]
    pub fn beside(&self, limits: CompileLimits) -> Self {
        let (cancelled, clock) = (Arc::clone(&self.cancelled), self.clock.clone());
        Self { limits, cancelled, clock, ..Self::default() }
    }

    /// Whether the clock of [`Self::timed`] has ended the compile.
    pub fn is_out_of_time(&self) -> bool {
        self.clock.as_ref().is_some_and(|clock| clock.has_ended.load(Ordering::Relaxed))
    }

    /// The limits.
    pub fn limits(&self) -> CompileLimits {
        self.limits
    }

    /// Steps charged so far.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Bytes charged so far and not given back.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Most states of an automaton that were asked for so far: the least [`CompileLimits::max_states`] that would have done.
    pub fn peak_states(&self) -> u64 {
        self.peak_states.load(Ordering::Relaxed)
    }

    /// Most bytes that were charged at a time.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes.load(Ordering::Relaxed)
    }

    /// Counts `n` steps of `phase`.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`] past `max_steps`; [`CompileError::Unavailable`] when cancelled or out of time.
    pub fn charge_steps(&self, phase: &str, n: u64) -> Result<(), CompileError> {
        let before = self.steps.fetch_add(n, Ordering::Relaxed);
        if before.saturating_add(n) > self.limits.max_steps {
            return Err(Self::over(Limit::MaxSteps, self.limits.max_steps, phase));
        }
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(CompileError::unavailable("the compile was cancelled"));
        }
        self.clock.as_deref().map_or(Ok(()), Clock::look)
    }

    /// Counts `n` bytes of tables of `phase`.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`] past `max_bytes`.
    pub fn charge_bytes(&self, phase: &str, n: u64) -> Result<(), CompileError> {
        let bytes = self.bytes.fetch_add(n, Ordering::Relaxed).saturating_add(n);
        self.peak_bytes.fetch_max(bytes, Ordering::Relaxed);
        if bytes > self.limits.max_bytes {
            return Err(Self::over(Limit::MaxBytes, self.limits.max_bytes, phase));
        }
        Ok(())
    }

    /// Does a step of work that leaves only its result: the bytes that it charged beyond `held(result)` are given back. To be
    /// called while no other thread charges, so that a verdict does not depend on the order of threads.
    ///
    /// # Errors
    /// Those of `work`, with nothing given back.
    pub fn holding<T>(
        &self,
        work: impl FnOnce() -> Result<T, CompileError>,
        held: impl FnOnce(&T) -> u64,
    ) -> Result<T, CompileError> {
        let before = self.bytes();
        let result = work()?;
        let charged = self.bytes() - before;
        self.bytes.fetch_sub(charged.saturating_sub(held(&result)), Ordering::Relaxed);
        Ok(result)
    }

    /// The present state of the account, for [`Self::rewind`].
    pub fn mark(&self) -> Mark {
        Mark { steps: self.steps(), bytes: self.bytes() }
    }

    /// Takes back all charges since the mark, because the work is done again. To be called while no other thread charges.
    pub fn rewind(&self, mark: Mark) {
        self.steps.store(mark.steps, Ordering::Relaxed);
        self.bytes.store(mark.bytes, Ordering::Relaxed);
    }

    /// Whether less than an eighth of the steps or of the bytes is left.
    pub fn is_nearly_spent(&self) -> bool {
        let CompileLimits { max_steps, max_bytes, .. } = self.limits;
        self.steps() > max_steps - max_steps / 8 || self.bytes() > max_bytes - max_bytes / 8
    }

    /// The compile enters a phase, which ends the one before it. A few times in a compile, on the thread that leads it: it takes a lock
    /// and reads the clock.
    pub fn begin_phase(&self, phase: Phase) {
        let mut phases = self.phases_so_far();
        if phases.len() < PhaseTime::MOST {
            phases.push((phase, Instant::now()));
        }
    }

    /// The phases until now, in their order: the first begins the compile, and the last ends now. At most 32 are kept.
    ///
    /// ```
    /// use gobo_types::{Budget, CompileLimits, Phase};
    ///
    /// let budget = Budget::new(CompileLimits::default());
    /// budget.begin_phase(Phase::Lower);
    /// budget.begin_phase(Phase::Rows);
    /// let [lower, rows] = budget.phases()[..] else { panic!() };
    /// assert_eq!((lower.phase, lower.after_us, rows.phase), (Phase::Lower, 0, Phase::Rows));
    /// assert!(rows.after() >= lower.took());
    /// ```
    pub fn phases(&self) -> Vec<PhaseTime> {
        let phases = self.phases_so_far();
        let Some(&(_, began)) = phases.first() else { return Vec::new() };
        let ends = phases.iter().skip(1).map(|(_, begun)| *begun).chain([Instant::now()]);
        let micros = |from: Instant, to: Instant| {
            u64::try_from(to.saturating_duration_since(from).as_micros()).unwrap_or(u64::MAX)
        };
        let times = phases.iter().zip(ends).map(|(&(phase, begun), end)| PhaseTime {
            phase,
            after_us: micros(began, begun),
            took_us: micros(begun, end),
        });
        times.collect()
    }

    fn phases_so_far(&self) -> MutexGuard<'_, Vec<(Phase, Instant)>> {
        self.phases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses an automaton of more than `max_states` states.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`] if `states > max_states`.
    pub fn check_states(&self, phase: &str, states: usize) -> Result<(), CompileError> {
        self.peak_states.fetch_max(states as u64, Ordering::Relaxed);
        if states as u64 > self.limits.max_states {
            return Err(Self::over(Limit::MaxStates, self.limits.max_states, phase));
        }
        Ok(())
    }

    #[cold]
    fn over(limit: Limit, given: u64, phase: &str) -> CompileError {
        OverBudget::at(limit, given, phase).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_reached_at_its_number_and_named() {
        let budget = Budget::new(CompileLimits { max_states: 2, max_steps: 10, max_bytes: 10 });
        assert_eq!(budget.check_states("rows", 2), Ok(()));
        assert_eq!(budget.charge_steps("rows", 10), Ok(()));
        assert_eq!(budget.charge_bytes("rows", 10), Ok(()));
        for (result, limit, given) in [
            (budget.check_states("rows", 3), Limit::MaxStates, 2),
            (budget.charge_steps("rows", 1), Limit::MaxSteps, 10),
            (budget.charge_bytes("rows", u64::MAX), Limit::MaxBytes, 10),
        ] {
            assert_eq!(result, Err(OverBudget::at(limit, given, "rows").into()));
        }
    }

    #[test]
    fn bytes_that_a_step_drops_are_given_back() {
        let budget = Budget::new(CompileLimits { max_bytes: 10, ..CompileLimits::default() });
        for (charged, held, bytes) in [(8, 3, 3), (7, 1, 4), (2, 9, 6), (4, 4, 10)] {
            let step = || budget.charge_bytes("rows", charged);
            assert_eq!((budget.holding(step, |()| held), budget.bytes()), (Ok(()), bytes));
        }
        // Bytes that a step needs for a moment count too.
        assert!(budget.holding(|| budget.charge_bytes("rows", 1), |()| 0).is_err());
    }

    #[test]
    fn work_that_is_done_again_is_charged_once() {
        let budget = Budget::new(CompileLimits { max_steps: 16, max_bytes: 16, ..CompileLimits::default() });
        budget.charge_steps("rows", 3).unwrap();
        budget.charge_bytes("rows", 14).unwrap();
        let mark = budget.mark();
        assert!(!budget.is_nearly_spent());
        assert!(budget.charge_steps("rows", 14).is_err());
        budget.charge_bytes("rows", 1).unwrap();
        assert!(budget.is_nearly_spent());
        budget.rewind(mark);
        assert_eq!((budget.steps(), budget.bytes(), budget.is_nearly_spent()), (3, 14, false));
        budget.charge_steps("rows", 12).unwrap();
        assert!(budget.is_nearly_spent());
    }

    #[test]
    fn a_clock_ends_a_compile_within_its_counts() {
        let asked = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&asked);
        let clock = Box::new(move || count.fetch_add(1, Ordering::Relaxed) == 2);
        let budget = Budget::new(CompileLimits::default()).timed(clock);
        let charged = (0..1 << 20).take_while(|_| budget.charge_steps("rows", 1).is_ok()).count();
        assert_eq!((charged as u64, asked.load(Ordering::Relaxed)), (2 * CHARGES_PER_LOOK, 3));
        assert!(budget.is_out_of_time() && !Budget::default().is_out_of_time());
    }

    #[test]
    fn a_peak_is_the_least_limit_that_would_have_done() {
        let budget = Budget::new(CompileLimits::default());
        let work = || budget.charge_bytes("rows", 7);
        budget.holding(work, |()| 2).unwrap();
        budget.charge_bytes("rows", 1).unwrap();
        budget.check_states("rows", 9).unwrap();
        budget.check_states("rows", 4).unwrap();
        assert_eq!((budget.peak_states(), budget.peak_bytes(), budget.bytes()), (9, 7, 3));
    }

    #[test]
    fn an_account_beside_another_ends_with_it_and_counts_alone() {
        let flag = Arc::new(AtomicBool::new(false));
        let budget = Budget::cancellable(CompileLimits::default(), Arc::clone(&flag));
        let trial = budget.beside(CompileLimits { max_steps: 5, ..CompileLimits::default() });
        trial.charge_steps("rows", 5).unwrap();
        assert_eq!((budget.steps(), trial.steps()), (0, 5));
        flag.store(true, Ordering::Relaxed);
        assert!(matches!(trial.charge_steps("rows", 0), Err(CompileError::Unavailable { .. })));
    }

    #[test]
    fn a_cancelled_compile_is_unavailable_not_over_budget() {
        let flag = Arc::new(AtomicBool::new(true));
        let result = Budget::cancellable(CompileLimits::default(), flag).charge_steps("rows", 1);
        assert!(matches!(result, Err(CompileError::Unavailable { .. })));
    }
}
