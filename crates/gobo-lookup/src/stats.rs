//! What a lookup has done: counters, which cost an atomic addition each.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gobo_types::IndexKey;

use crate::error::LookupError;
use crate::found::FoundSource;

/// Why a stage did not serve a request, so that the next one had its turn, or none was left.
///
/// ```
/// use gobo_lookup::Reason;
///
/// assert_eq!(Reason::NoDaemon.name(), "no_daemon");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No daemon listens, or the connection broke.
    NoDaemon,
    /// A daemon takes connections and answers not even an empty call.
    DeafDaemon,
    /// The daemon lives and turned the request away.
    BusyDaemon,
    /// The daemon had not answered when its time was up.
    LateDaemon,
    /// The daemon is of another version.
    OtherVersion,
    /// The daemon lacks the vocabulary, and could not be given it.
    NoVocabulary,
    /// The daemon failed in another way.
    DaemonFailed,
    /// A file of the daemon could not be streamed to this host.
    StreamFailed,
    /// The store of this host cannot be read or written: what is compiled stays in memory.
    StoreFailed,
    /// The store of this host holds as much as it may: what is compiled stays in memory.
    StoreFull,
    /// There is no local worker to go on to.
    NoLocal,
    /// Too many compiles wait for the local worker.
    LocalFull,
    /// The local worker died, or could not be started; the compile was tried once more.
    LocalDied,
    /// The local worker could not do a compile.
    LocalFailed,
    /// A request ended because its time was up.
    Timeout,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::NoDaemon,
        Self::DeafDaemon,
        Self::BusyDaemon,
        Self::LateDaemon,
        Self::OtherVersion,
        Self::NoVocabulary,
        Self::DaemonFailed,
        Self::StreamFailed,
        Self::StoreFailed,
        Self::StoreFull,
        Self::NoLocal,
        Self::LocalFull,
        Self::LocalDied,
        Self::LocalFailed,
        Self::Timeout,
    ];

    /// Its word in counters and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoDaemon => "no_daemon",
            Self::DeafDaemon => "deaf_daemon",
            Self::BusyDaemon => "busy_daemon",
            Self::LateDaemon => "late_daemon",
            Self::OtherVersion => "other_version",
            Self::NoVocabulary => "no_vocabulary",
            Self::DaemonFailed => "daemon_failed",
            Self::StreamFailed => "stream_failed",
            Self::StoreFailed => "store_failed",
            Self::StoreFull => "store_full",
            Self::NoLocal => "no_local",
            Self::LocalFull => "local_full",
            Self::LocalDied => "local_died",
            Self::LocalFailed => "local_failed",
            Self::Timeout => "timeout",
        }
    }
}

/// The upper bounds of the classes of waits, in milliseconds; longer waits are a class of their own.
pub const WAIT_BOUNDS: [u64; 5] = [1, 10, 100, 1_000, 10_000];

/// How many indices were found, by source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FoundCounts([u64; FoundSource::ALL.len()]);

impl FoundCounts {
    /// How many were come by in this way.
    pub fn of(&self, source: FoundSource) -> u64 {
        self.0[source as usize]
    }
}

/// How often a stage was passed over for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FallbackCount {
    /// The reason.
    pub reason: Reason,
    /// How often.
    pub count: u64,
    /// The index that was asked for the first time, and what the stage said: for one line in a log.
    pub first: Option<(IndexKey, String)>,
}

/// How long requests took that were not answered at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many ended, well or not.
    pub count: u64,
    /// Their time together.
    pub total: Duration,
    /// How many in each class: at most [`WAIT_BOUNDS`] milliseconds, and more.
    pub classes: [u64; WAIT_BOUNDS.len() + 1],
}

/// What a lookup has done in this process. Each number is right by itself; all together they are a glance at a moving thing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Indices handed out, by source.
    pub found: FoundCounts,
    /// Reasons for which stages were passed over, those that came up.
    pub fallbacks: Vec<FallbackCount>,
    /// Requests that ended with a verdict, remembered ones included.
    pub verdicts: u64,
    /// Verdicts that were remembered.
    pub remembered: u64,
    /// Requests that ended with neither an index nor a verdict.
    pub failures: u64,
    /// Requests that were not answered at once.
    pub waits: Waits,
    /// First masks, as far as those who make matchers have counted them.
    pub first_masks: u64,
    /// Compiles that the local worker was given, each attempt and each pass for itself.
    pub local_compiles: u64,
    /// Indices that are in the memory of this process alone, and their bytes.
    pub in_memory: (u64, u64),
}

#[derive(Default)]
struct Fallbacks {
    count: AtomicU64,
    first: OnceLock<(IndexKey, String)>,
}

#[derive(Default)]
pub(crate) struct Counters {
    found: [AtomicU64; FoundSource::ALL.len()],
    fallbacks: [Fallbacks; Reason::ALL.len()],
    verdicts: AtomicU64,
    remembered: AtomicU64,
    failures: AtomicU64,
    waits: AtomicU64,
    wait_us: AtomicU64,
    classes: [AtomicU64; WAIT_BOUNDS.len() + 1],
    first_masks: AtomicU64,
    local_compiles: AtomicU64,
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

impl Counters {
    pub(crate) fn found(&self, source: FoundSource) {
        add(&self.found[source as usize], 1);
    }

    /// A request ended without an index.
    pub(crate) fn ended(&self, error: &LookupError) {
        add(if error.verdict().is_some() { &self.verdicts } else { &self.failures }, 1);
    }

    pub(crate) fn remembered(&self) {
        add(&self.verdicts, 1);
        add(&self.remembered, 1);
    }

    /// A stage is passed over. The first time for each reason is worth a line in the log.
    pub(crate) fn fell_back(&self, reason: Reason, key: &IndexKey, detail: &str) {
        let fallbacks = &self.fallbacks[reason as usize];
        add(&fallbacks.count, 1);
        fallbacks.first.get_or_init(|| {
            tracing::warn!(%key, reason = reason.name(), detail, "the next in order has its turn");
            (*key, detail.to_owned())
        });
    }

    pub(crate) fn waited(&self, time: Duration) {
        add(&self.waits, 1);
        add(&self.wait_us, u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        let is_below = |bound: &u64| time <= Duration::from_millis(*bound);
        let class = WAIT_BOUNDS.iter().position(is_below).unwrap_or(WAIT_BOUNDS.len());
        add(&self.classes[class], 1);
    }

    pub(crate) fn first_mask(&self) {
        add(&self.first_masks, 1);
    }

    pub(crate) fn local_compile(&self) {
        add(&self.local_compiles, 1);
    }

    pub(crate) fn read(&self, in_memory: (u64, u64)) -> Stats {
        let fallbacks = Reason::ALL.into_iter().filter_map(|reason| {
            let Fallbacks { count, first } = &self.fallbacks[reason as usize];
            let count = get(count);
            (count > 0).then(|| FallbackCount { reason, count, first: first.get().cloned() })
        });
        Stats {
            found: FoundCounts(std::array::from_fn(|at| get(&self.found[at]))),
            fallbacks: fallbacks.collect(),
            verdicts: get(&self.verdicts),
            remembered: get(&self.remembered),
            failures: get(&self.failures),
            waits: Waits {
                count: get(&self.waits),
                total: Duration::from_micros(get(&self.wait_us)),
                classes: std::array::from_fn(|at| get(&self.classes[at])),
            },
            first_masks: get(&self.first_masks),
            local_compiles: get(&self.local_compiles),
            in_memory,
        }
    }
}

impl Stats {
    /// How often a stage was passed over for this reason. O(reasons).
    pub fn fell_back(&self, reason: Reason) -> u64 {
        self.fallbacks.iter().find(|fallback| fallback.reason == reason).map_or(0, |fallback| fallback.count)
    }
}

/// Counters that several owners add to.
pub(crate) type SharedCounters = Arc<Counters>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_and_source_has_its_place_and_word() {
        for (at, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, at, "{reason:?}");
        }
        for (at, source) in FoundSource::ALL.into_iter().enumerate() {
            assert_eq!(source as usize, at, "{source:?}");
        }
        let names: std::collections::BTreeSet<_> = Reason::ALL.iter().map(|reason| reason.name()).collect();
        assert_eq!(names.len(), Reason::ALL.len());
    }

    #[test]
    fn waits_are_classed_and_the_first_of_a_reason_is_kept() {
        let counters = Counters::default();
        for ms in [0, 1, 2, 10_000, 10_001] {
            counters.waited(Duration::from_millis(ms));
        }
        let (one, other) = (IndexKey::from([1; 32]), IndexKey::from([2; 32]));
        counters.fell_back(Reason::NoDaemon, &one, "first");
        counters.fell_back(Reason::NoDaemon, &other, "second");
        let stats = counters.read((0, 0));
        assert_eq!(stats.waits.classes, [2, 1, 0, 0, 1, 1]);
        assert_eq!((stats.waits.count, stats.waits.total), (5, Duration::from_millis(20_004)));
        let first = Some((one, "first".to_owned()));
        assert_eq!(stats.fallbacks, [FallbackCount { reason: Reason::NoDaemon, count: 2, first }]);
        assert_eq!((stats.fell_back(Reason::NoDaemon), stats.fell_back(Reason::Timeout)), (2, 0));
    }
}
