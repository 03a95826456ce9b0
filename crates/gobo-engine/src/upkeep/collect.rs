//! Eviction by last use, asked for or by itself; pins, which keep an index from it.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use gobo_store::{CollectEvent, CollectPolicy, Collected, StoreError, Trimmed, Uses};
use gobo_types::IndexKey;

use crate::EngineError;
use crate::inner::Inner;

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
    /// Between rounds: a burst of compiles is not to fill the disk until the next one. A store that does not grow is looked
    /// at again once the grace of what was spared is over.
    pub(super) fn evict_growth(&self, seen: &mut u64, looked: &mut Instant) -> Result<(), EngineError> {
        let bytes = self.catalog.with(|catalog| Ok(catalog.usage().1))?;
        if bytes <= *seen && looked.elapsed() <= self.config.upkeep.grace {
            return Ok(());
        }
        *looked = Instant::now();
        self.evict()?;
        *seen = self.catalog.with(|catalog| Ok(catalog.usage().1))?;
        Ok(())
    }

    pub(super) fn evict(&self) -> Result<(), EngineError> {
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
}
