//! The state that an engine shares with its jobs and its threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use gobo_artifact::Vocabulary;
use gobo_remote::Remote;
use gobo_store::{Opened, Store};
use gobo_types::{VocabularyDigest, panic_message};

use crate::handed_out::Known;
use crate::owned_catalog::OwnedCatalog;
use crate::request::{FlightEnd, FlightKey};
use crate::single_flight::SingleFlight;
use crate::stats::{Counters, Gauges, StoreStats};
use crate::upstream::UpstreamTier;
use crate::vocabularies::{OpenVocabulary, Vocabularies};
use crate::workers::{CompileExecutor, Pool, Turned};
use crate::{EngineConfig, EngineError};

/// Errors are shared by all who waited.
pub(crate) type VocabularyOutcome = Result<Arc<OpenVocabulary>, Arc<EngineError>>;

/// How the opening of a vocabulary's file ends; `None`: it is not there.
type OpeningEnd = Result<Option<Arc<Vocabulary>>, Arc<EngineError>>;

/// What the jobs of the pool share with their engine.
pub(crate) struct Inner {
    pub(crate) config: EngineConfig,
    pub(crate) store: Store,
    pub(crate) catalog: OwnedCatalog,
    /// Compiles and imports.
    pub(crate) pool: Pool<CompileExecutor>,
    /// What blocks on the disk and not on a core.
    pub(crate) reads: Pool<()>,
    /// What is shared with other hosts.
    pub(crate) remote: Option<Arc<Remote>>,
    /// Who compiles for this host.
    pub(crate) upstream: Option<Arc<UpstreamTier>>,
    pub(crate) flights: SingleFlight<FlightKey, FlightEnd>,
    pub(crate) known: Known,
    pub(crate) counters: Arc<Counters>,
    pub(crate) gauges: Gauges,
    pub(crate) vocabularies: Vocabularies,
    /// Held by whoever removes many files, or looks for files without a record.
    pub(crate) upkeep: Mutex<()>,
    pub(crate) imports: SingleFlight<String, VocabularyOutcome>,
    pub(crate) openings: SingleFlight<VocabularyDigest, OpeningEnd>,
    /// Held while a name is given to a file that a caller has sent.
    pub(crate) naming: Mutex<()>,
    pub(crate) closed: AtomicBool,
    pub(crate) opened: Instant,
}

impl Inner {
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Counts the catalog that was opened, if it had to be built again.
    pub(crate) fn count_rebuild(&self, opened: Option<&Opened>) {
        let is_rebuilt = matches!(opened, Some(Opened::Rebuilt { .. }));
        self.gauges.rebuilds.fetch_add(u64::from(is_rebuilt), Ordering::Relaxed);
    }

    pub(crate) fn upkeep_alone(&self) -> MutexGuard<'_, ()> {
        self.upkeep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn turned(&self, turned: Turned) -> EngineError {
        match turned {
            Turned::Closed => EngineError::Closed,
            _ => EngineError::QueueFull { limit: self.config.queue_length },
        }
    }

    pub(crate) fn store_stats(&self) -> StoreStats {
        let read = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        // A closed engine has no catalog any more.
        let catalog =
            self.catalog.with(|catalog| Ok((catalog.usage(), catalog.flushes(), catalog.verdicts())));
        let ((indices, bytes), flushes, verdicts) = catalog.unwrap_or_default();
        StoreStats {
            indices,
            bytes,
            max_bytes: self.config.upkeep.max_bytes,
            verdicts: verdicts.number,
            verdict_bytes: verdicts.bytes,
            verdicts_evicted: verdicts.evicted,
            pinned: read(&self.gauges.pinned),
            evicted: read(&self.gauges.evicted),
            evicted_bytes: read(&self.gauges.evicted_bytes),
            removed_but_mapped_bytes: read(&self.gauges.mapped_bytes),
            rebuilds: read(&self.gauges.rebuilds),
            is_catalog_off_disk: self.catalog.is_starved(),
            flushes,
            scrubbed: read(&self.gauges.scrubbed),
            scrubbed_bytes: read(&self.gauges.scrubbed_bytes),
            scrub_passes: read(&self.gauges.passes),
            scrub_damaged: read(&self.gauges.damaged),
            audited: read(&self.gauges.audited),
            audits_differing: read(&self.gauges.differing),
            audits_undecided: read(&self.gauges.undecided),
            quarantined: self.store.quarantined(),
            quarantine_bytes: read(&self.gauges.quarantine_bytes),
            upkeep_failures: read(&self.gauges.failures),
        }
    }
}

/// A panic becomes an error.
pub(crate) fn contained<T>(job: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|panic| {
        let message = panic_message(&*panic);
        tracing::error!(message, "a job panicked");
        Err(EngineError::Panicked { message })
    })
}

/// What only one of the queue and its caller gets.
pub(crate) fn take<T>(slot: &Mutex<Option<T>>) -> Option<T> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
}
