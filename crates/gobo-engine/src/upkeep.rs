//! Care for the store in the long run: eviction, scrubbing, bounds.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use gobo_store::{
    Catalog, Checked, CollectEvent, CollectPolicy, Collected, Quarantine, StoreError, Trimmed, Uses,
};
use gobo_types::{IndexKey, VocabularyDigest, error_chain};

use crate::EngineError;
use crate::audit::{Audit, audit};
use crate::engine::Inner;
use crate::error::panic_message;

/// Uses are stamped to the second.
const TICK: Duration = Duration::from_secs(1);

/// Every so many rounds what takes longer is done too: looking for files without a record, and for verdicts that have
/// expired.
const LONG_ROUNDS: u32 = 60;

/// For so many ticks an audit waits for an engine that is busy; then its index waits for its next turn.
const AUDIT_PATIENCE: u32 = 10;

/// How an engine cares for its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpkeepConfig {
    /// Whether the engine does it by itself, on two threads of its own. Default no: a command does its work and ends.
    pub background: bool,
    /// Bytes of indices above which those are removed that were not used for the longest time. `None`: nothing is ever
    /// removed. Default 32 GiB.
    pub max_bytes: Option<u64>,
    /// Down to how much of `max_bytes`, in percent, once something has to go. Default 90: a pass of eviction looks at all
    /// files, and is worth its while.
    pub low_percent: u8,
    /// What was published or used within this time is never removed, so that a path can be opened that a reply has just
    /// named. Default 10 minutes. An engine that has just been opened does not know what the one before had handed out,
    /// and removes nothing by itself for as long.
    pub grace: Duration,
    /// How fast files are read to verify them, in bytes a second. `None`: not at all. Default 16 MiB.
    pub scrub_rate: Option<u64>,
    /// From the begin of one pass over all files to that of the next. Default one day.
    pub scrub_every: Duration,
    /// Of how many indices one is audited in each pass: compiled again, alone, and compared. Each index has its turn once in so many
    /// passes, as far as the engine is idle then. `None`: none is. Default 20, which takes a twentieth of what
    /// compiling the whole store takes.
    pub audit_share: Option<u64>,
    /// What is kept of files that failed their checks.
    pub quarantine: Quarantine,
    /// From one round to the next: in each, last uses go to the catalog, bytes are compared with their bounds, and
    /// [`StoreStats`](crate::StoreStats) is refreshed. Default one minute.
    pub every: Duration,
}

impl Default for UpkeepConfig {
    fn default() -> Self {
        Self {
            background: false,
            max_bytes: Some(32 << 30),
            low_percent: 90,
            grace: Duration::from_secs(600),
            scrub_rate: Some(16 << 20),
            scrub_every: Duration::from_secs(24 * 3600),
            audit_share: Some(20),
            quarantine: Quarantine::default(),
            every: Duration::from_secs(60),
        }
    }
}

impl UpkeepConfig {
    fn policy(&self) -> Option<CollectPolicy> {
        let high_bytes = self.max_bytes?;
        let low_bytes = high_bytes / 100 * u64::from(self.low_percent.min(100));
        Some(CollectPolicy { high_bytes, low_bytes, grace: self.grace, dry_run: false })
    }
}

/// What is asked of [`Engine::collect`](crate::Engine::collect).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CollectRequest {
    /// Down to so many bytes of indices; `None`: as the engine does by itself, to the low watermark if they are above the
    /// high one.
    pub max_bytes: Option<u64>,
    /// Only say what would be removed.
    pub dry_run: bool,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Garbage {
    /// Indices.
    pub indices: Collected,
    /// Files that had failed their checks.
    pub quarantine: Trimmed,
}

/// The threads of an engine that care for its store.
#[derive(Default)]
pub(crate) struct Upkeep {
    stop: Arc<Stop>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
pub(crate) struct Stop {
    stopped: Mutex<bool>,
    signal: Condvar,
}

impl Stop {
    /// Waits, at most for `time`; breaks off once it is time to stop.
    fn wait(&self, time: Duration) -> ControlFlow<()> {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = self.signal.wait_timeout_while(stopped, time, |stopped| !*stopped);
        if *wait.unwrap_or_else(PoisonError::into_inner).0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// What a pass of the scrubber gives way to.
pub(crate) enum Pace<'a> {
    /// Nothing: somebody waits for it.
    Asked,
    /// Those whom the engine serves: it reads so many bytes a second, audits while no compile runs, and ends when it is to stop.
    Beside { rate: u64, stop: &'a Stop },
}

impl Pace<'_> {
    fn after_reading(&self, bytes: u64) -> ControlFlow<()> {
        match self {
            Self::Asked => ControlFlow::Continue(()),
            Self::Beside { rate, stop } => stop.wait(pause(bytes, *rate)),
        }
    }
}

impl Upkeep {
    /// Starts the threads, if the engine is to have them.
    pub(crate) fn start(inner: &Arc<Inner>) -> Result<Self, EngineError> {
        let upkeep = Self::default();
        let config = inner.config.upkeep;
        if config.background {
            let keep = Arc::clone(inner);
            upkeep.spawn("gobo-upkeep", move |stop| keep.keep(stop))?;
        }
        if let Some(rate) = config.scrub_rate.filter(|_| config.background) {
            let scrub = Arc::clone(inner);
            upkeep.spawn("gobo-scrub", move |stop| scrub.scrub(rate.max(1), stop))?;
        }
        Ok(upkeep)
    }

    fn spawn(&self, name: &str, work: impl FnOnce(&Stop) + Send + 'static) -> Result<(), EngineError> {
        let stop = Arc::clone(&self.stop);
        let thread = thread::Builder::new().name(name.into()).spawn(move || work(&stop));
        let thread = thread.map_err(EngineError::Threads)?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Stops the threads and waits for them: as long as removing or verifying one file takes. May be called again.
    pub(crate) fn stop(&self) {
        *self.stop.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.signal.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Uses for Inner {
    fn idle(&self, key: &IndexKey) -> Option<Duration> {
        self.known.idle(key)
    }

    fn watched(&self) -> Duration {
        self.known.watched()
    }

    fn retire(
        &self,
        key: &IndexKey,
        grace: Duration,
        remove: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<bool, StoreError> {
        // Who closes the engine waits for the catalog: the rest of the pass removes nothing, and takes no time.
        if self.is_closed() { Ok(false) } else { self.known.retire(key, grace, remove) }
    }
}

impl Inner {
    fn keep(&self, stop: &Stop) {
        let mut last = Instant::now();
        let mut rounds = 0;
        let (mut seen, mut looked) = (0, Instant::now());
        self.contained("refreshing the numbers of the store", || self.refresh());
        while stop.wait(TICK).is_continue() {
            self.known.tick();
            if last.elapsed() < self.config.upkeep.every {
                self.contained("evicting", || self.evict_growth(&mut seen, &mut looked));
                continue;
            }
            last = Instant::now();
            rounds += 1;
            self.round(rounds % LONG_ROUNDS == 0);
        }
    }

    /// One round of care; each part whatever became of the others.
    pub(crate) fn round(&self, is_long: bool) {
        self.contained("stamping uses", || self.write_uses());
        if is_long {
            self.contained("looking for files without a record", || {
                let _alone = self.upkeep_alone();
                let (added, removed) = self.catalog.with(Catalog::reconcile)?;
                tracing::debug!(added, removed, "the catalog is in step with the files");
                Ok(())
            });
            self.contained("dropping expired verdicts", || {
                let dropped = self.catalog.with(|catalog| catalog.drop_expired(SystemTime::now()))?;
                tracing::debug!(dropped, "dropped expired verdicts");
                Ok(())
            });
        }
        self.contained("evicting", || self.evict());
        self.contained("trimming the quarantine", || {
            let bounds = &self.config.upkeep.quarantine;
            let trimmed = self.store.trim_quarantine(bounds, SystemTime::now(), true)?;
            self.gauges.quarantine_bytes.store(trimmed.left_bytes, Ordering::Relaxed);
            Ok(())
        });
        self.contained("bringing the catalog back to the disk", || self.recover_catalog());
        self.contained("refreshing the numbers of the store", || self.refresh());
    }

    fn recover_catalog(&self) -> Result<(), EngineError> {
        let opened = self.catalog.recover()?;
        self.count_rebuild(opened.as_ref());
        Ok(())
    }

    /// Whatever fails is tried again in the next round.
    fn contained(&self, what: &str, job: impl FnOnce() -> Result<(), EngineError>) {
        let why = match catch_unwind(AssertUnwindSafe(job)) {
            Ok(Ok(()) | Err(EngineError::Closed)) => return,
            Ok(Err(error)) => error_chain(&error),
            Err(panic) => format!("a panic: {}", panic_message(&*panic)),
        };
        self.gauges.failures.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(why, "{what} failed, and will be tried again");
    }

    /// Puts the last uses into the catalog, all in one batch.
    pub(crate) fn write_uses(&self) -> Result<(), EngineError> {
        let (uses, seconds) = self.known.uses_to_write();
        let now = SystemTime::now();
        let uses: Vec<_> =
            uses.into_iter().filter_map(|(key, idle)| Some((key, now.checked_sub(idle)?))).collect();
        self.catalog.with(|catalog| catalog.put_uses(&uses, now))?;
        self.known.wrote_uses(seconds, self.config.upkeep.grace);
        Ok(())
    }

    /// Between rounds: a burst of compiles is not to fill the disk until the next one. A store that does not grow is looked
    /// at again once the grace of what was spared is over.
    fn evict_growth(&self, seen: &mut u64, looked: &mut Instant) -> Result<(), EngineError> {
        let bytes = self.catalog.with(|catalog| Ok(catalog.usage().1))?;
        if bytes <= *seen && looked.elapsed() <= self.config.upkeep.grace {
            return Ok(());
        }
        *looked = Instant::now();
        self.evict()?;
        *seen = self.catalog.with(|catalog| Ok(catalog.usage().1))?;
        Ok(())
    }

    fn evict(&self) -> Result<(), EngineError> {
        let Some(policy) = self.config.upkeep.policy() else { return Ok(()) };
        let bytes = if self.catalog.is_starved() {
            // It does not know, and on a full disk it matters most.
            self.store.usage()?.index_bytes
        } else {
            self.catalog.with(|catalog| Ok(catalog.usage().1))?
        };
        if bytes <= policy.high_bytes || self.known.watched() < policy.grace {
            return Ok(());
        }
        let collected = self.collect_indices(&policy, &mut |_| {})?;
        tracing::info!(
            removed = collected.removed,
            removed_bytes = collected.removed_bytes,
            pinned = collected.pinned,
            in_grace = collected.in_grace,
            "evicted indices"
        );
        if collected.bytes - collected.removed_bytes > policy.high_bytes {
            tracing::warn!(
                bytes = collected.bytes - collected.removed_bytes,
                max_bytes = policy.high_bytes,
                "the store stays above its bound: the rest is pinned or in use"
            );
        }
        Ok(())
    }

    fn collect_indices(
        &self,
        policy: &CollectPolicy,
        each: &mut dyn FnMut(CollectEvent),
    ) -> Result<Collected, EngineError> {
        let _alone = self.upkeep_alone();
        let mut counting = |event: CollectEvent| {
            if let CollectEvent::Removed(candidate) = event
                && !policy.dry_run
            {
                self.gauges.evicted.fetch_add(1, Ordering::Relaxed);
                self.gauges.evicted_bytes.fetch_add(candidate.bytes, Ordering::Relaxed);
            }
            each(event);
        };
        self.catalog.with(|catalog| catalog.collect(policy, self, SystemTime::now(), &mut counting))
    }

    /// As asked for by a person.
    pub(crate) fn collect(
        &self,
        request: &CollectRequest,
        each: &mut dyn FnMut(CollectEvent),
    ) -> Result<Garbage, EngineError> {
        let config = &self.config.upkeep;
        // Without any bound it only counts.
        let unbound = CollectPolicy {
            high_bytes: u64::MAX,
            low_bytes: u64::MAX,
            grace: config.grace,
            dry_run: request.dry_run,
        };
        let mut policy = config.policy().unwrap_or(unbound);
        if let Some(bytes) = request.max_bytes {
            (policy.high_bytes, policy.low_bytes) = (bytes, bytes);
        }
        policy.dry_run = request.dry_run;
        self.known.catch_up();
        let indices = self.collect_indices(&policy, each)?;
        let quarantine =
            self.store.trim_quarantine(&config.quarantine, SystemTime::now(), !request.dry_run)?;
        // What was removed may have made room for it.
        self.recover_catalog()?;
        self.refresh()?;
        Ok(Garbage { indices, quarantine })
    }

    /// Pins an index that is in the store.
    pub(crate) fn pin(&self, key: &IndexKey) -> Result<bool, EngineError> {
        let is_new = self.store.pin(key)?;
        // Whoever evicts it looks for the pin last: once it is not leaving, it stays or has gone.
        self.known.settle(key);
        let path = self.store.index_path(key);
        if !path.try_exists().map_err(|source| StoreError::Io { action: "read", path, source })? {
            if is_new {
                self.store.unpin(key)?;
            }
            return Err(EngineError::UnknownIndex { key: *key });
        }
        self.gauges.pinned.fetch_add(u64::from(is_new), Ordering::Relaxed);
        Ok(is_new)
    }

    /// Takes back a pin, whether its index is there or not.
    pub(crate) fn unpin(&self, key: &IndexKey) -> Result<bool, EngineError> {
        let was_pinned = self.store.unpin(key)?;
        if was_pinned {
            self.gauges.pinned.store(self.store.pins()?.len() as u64, Ordering::Relaxed);
        }
        Ok(was_pinned)
    }

    /// The numbers that take more than a load to know.
    fn refresh(&self) -> Result<(), EngineError> {
        self.gauges.mapped_bytes.store(self.store.removed_but_mapped_bytes(), Ordering::Relaxed);
        self.gauges.pinned.store(self.store.pins()?.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Verifies all files again and again. Where a pass is, only the thread knows: after a restart it begins anew.
    fn scrub(&self, rate: u64, stop: &Stop) {
        // Begins anywhere, so that a daemon that is often restarted does not audit the same ones for ever.
        let mut turn = unix_seconds(SystemTime::now());
        loop {
            let begun = Instant::now();
            let pace = Pace::Beside { rate, stop };
            self.contained("verifying the files of the store", || self.scrub_pass(turn, &pace));
            turn = turn.wrapping_add(1);
            let rest = self.config.upkeep.scrub_every.saturating_sub(begun.elapsed());
            // A pass that took longer than a day is followed by a breath all the same.
            if stop.wait(rest.max(TICK)).is_break() {
                return;
            }
        }
    }

    /// Verifies each file once, those that others are compiled over first, and audits the indices whose `turn` it is.
    pub(crate) fn scrub_pass(&self, turn: u64, pace: &Pace<'_>) -> Result<(), EngineError> {
        for file in self.store.scan_vocabularies() {
            let file = file?;
            if self.read_slowly(&file.path, pace).is_break() {
                return Ok(());
            }
            // A file that cannot be read hides no other.
            self.contained("verifying a vocabulary", || self.scrub_vocabulary(&file.key));
            self.count_scrubbed(file.bytes);
        }
        for file in self.store.scan_indices() {
            let file = file?;
            if self.read_slowly(&file.path, pace).is_break() {
                return Ok(());
            }
            self.contained("verifying an index", || self.scrub_index(&file.key));
            self.count_scrubbed(file.bytes);
            let share = self.config.upkeep.audit_share;
            if share.is_some_and(|share| is_turn(&file.key, turn, share)) && self.may_audit(pace) {
                self.contained("auditing an index", || self.audit_index(&file.key));
            }
        }
        self.gauges.passes.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn read_slowly(&self, path: &Path, pace: &Pace<'_>) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        self.store.read_through(path, &mut |bytes| {
            flow = pace.after_reading(bytes);
            flow
        });
        flow
    }

    fn count_scrubbed(&self, bytes: u64) {
        self.gauges.scrubbed.fetch_add(1, Ordering::Relaxed);
        self.gauges.scrubbed_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn scrub_index(&self, key: &IndexKey) -> Result<(), EngineError> {
        let record = self.catalog.get(|catalog| catalog.get_index(key))?;
        let checked = match record.and_then(|record| record.header_digest) {
            Some(header) => self.store.check_recorded_index(key, &header)?,
            None => self.store.check_index(key)?,
        };
        if checked == Checked::Damaged {
            self.gauges.damaged.fetch_add(1, Ordering::Relaxed);
            self.known.remove(key);
            self.catalog.with(|catalog| catalog.remove_index(key))?;
        }
        Ok(())
    }

    /// Whether an audit takes nobody's turn: no compile runs or waits, now or within a few seconds. Who asked for the pass has asked
    /// for its audits as well.
    fn may_audit(&self, pace: &Pace<'_>) -> bool {
        let Pace::Beside { stop, .. } = pace else { return true };
        for _ in 0..AUDIT_PATIENCE {
            if self.pool.queued_and_running() == (0, 0) {
                return true;
            }
            if stop.wait(TICK).is_break() {
                return false;
            }
        }
        false
    }

    fn audit_index(&self, key: &IndexKey) -> Result<(), EngineError> {
        let Some(index) = self.store.open_index(key)? else { return Ok(()) };
        let vocabulary = self.store.vocabulary_path(&index.vocabulary_digest());
        let processes = self.config.processes.clone().map(Arc::new);
        let limits = self.config.limits;
        self.gauges.audited.fetch_add(1, Ordering::Relaxed);
        match audit(processes.as_ref(), &index, &vocabulary, &[], limits, &self.closed) {
            Audit::Same => {}
            Audit::Undecided { why } => {
                self.gauges.undecided.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(%key, why, "an index cannot be audited");
            }
            Audit::Differs { found } => {
                self.gauges.differing.fetch_add(1, Ordering::Relaxed);
                let why = format!("compiled alone it is {found}");
                tracing::error!(%key, why, "an index is not what its key says");
                self.store.condemn_index(key, &why)?;
                self.known.remove(key);
                self.catalog.with(|catalog| catalog.remove_index(key))?;
            }
        }
        Ok(())
    }

    fn scrub_vocabulary(&self, digest: &VocabularyDigest) -> Result<(), EngineError> {
        if self.store.check_vocabulary(digest)? == Checked::Damaged {
            self.gauges.damaged.fetch_add(1, Ordering::Relaxed);
            self.vocabularies.condemn(digest);
            tracing::error!(
                vocabulary = %digest,
                "a vocabulary was found damaged; import its tokenizer again, and restart the workers that have it open"
            );
        }
        Ok(())
    }
}

/// Whether an index has its turn: once in any `share` turns that follow each other.
fn is_turn(key: &IndexKey, turn: u64, share: u64) -> bool {
    let [first, ..] = key.as_bytes().as_chunks::<8>().0 else { return false };
    let share = share.max(1);
    (u128::from(u64::from_le_bytes(*first)) + u128::from(turn)).is_multiple_of(u128::from(share))
}

fn unix_seconds(now: SystemTime) -> u64 {
    now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// How long so many bytes may take.
fn pause(bytes: u64, rate: u64) -> Duration {
    let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watermarks_and_pauses() {
        let config = UpkeepConfig { max_bytes: Some(1000), ..UpkeepConfig::default() };
        let policy = config.policy().unwrap();
        assert_eq!((policy.high_bytes, policy.low_bytes), (1000, 900));
        assert_eq!(UpkeepConfig { max_bytes: None, ..config }.policy(), None);
        let all = UpkeepConfig { max_bytes: Some(u64::MAX), low_percent: 255, ..config }.policy().unwrap();
        assert!(all.low_bytes <= all.high_bytes);
        assert_eq!(pause(1 << 20, 16 << 20), Duration::from_micros(62_500));
        assert!(pause(u64::MAX, 1) > Duration::from_secs(1 << 30));
    }

    #[test]
    fn every_index_has_its_turn() {
        for key in [[0; 32], [7; 32], [255; 32]].map(IndexKey::from) {
            for share in [1, 3, 20] {
                let turns =
                    |from: u64| (from..from + share).filter(|&turn| is_turn(&key, turn, share)).count();
                assert_eq!([turns(0), turns(5), turns(1 << 40)], [1, 1, 1]);
            }
            assert!(is_turn(&key, 9, 0));
        }
    }
}
