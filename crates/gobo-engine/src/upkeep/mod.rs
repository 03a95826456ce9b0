//! Care for the store in the long run: rounds once a minute; eviction and pins (`collect`), verification (`scrub`, `audit`).

mod audit;
mod collect;
mod scrub;
mod stop;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime};

use gobo_store::Catalog;
use gobo_types::{error_chain, panic_message};

pub use audit::{Audit, audit};
pub use collect::{CollectRequest, Garbage};
pub(crate) use scrub::Pace;
use stop::{Stop, TICK};

use crate::EngineError;
use crate::inner::Inner;

/// Every so many rounds what takes longer is done too: looking for files without a record, and for verdicts that have
/// expired.
const LONG_ROUNDS: u32 = 60;

/// The threads of an engine that care for its store.
#[derive(Default)]
pub(crate) struct Upkeep {
    stop: Arc<Stop>,
    threads: Mutex<Vec<JoinHandle<()>>>,
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
        self.stop.tell();
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

    /// The numbers that take more than a load to know.
    fn refresh(&self) -> Result<(), EngineError> {
        self.gauges.mapped_bytes.store(self.store.removed_but_mapped_bytes(), Ordering::Relaxed);
        self.gauges.pinned.store(self.store.pins()?.len() as u64, Ordering::Relaxed);
        Ok(())
    }
}
