use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use gobo_store::{Catalog, OpenDatabase, Opened, Store, StoreError, VerdictBounds};
use gobo_types::error_chain;

use crate::EngineError;

/// Where an engine's catalog is opened, and opened again.
pub(crate) type Databases = Box<dyn OpenDatabase + Send + Sync>;

/// The catalog for as long as the engine is open. Closing lets go of it, so that another process may own the store
/// even while somebody still holds the closed engine.
///
/// Where the disk has no room for it, at the start or later, the engine goes on without what it knows:
/// files serve, and can be removed. It is back once there is room ([`OwnedCatalog::recover`]).
pub(crate) struct OwnedCatalog {
    catalog: RwLock<Option<Catalog>>,
    databases: Databases,
    /// Of each catalog that is opened.
    bounds: VerdictBounds,
    /// It has met a full disk since it was opened.
    starved: AtomicBool,
}

impl OwnedCatalog {
    /// Opens the catalog of `store`, in memory where the disk is full: then nothing says how it was opened.
    pub(crate) fn open(
        store: &Store,
        databases: Databases,
        bounds: VerdictBounds,
    ) -> Result<(Self, Option<Opened>), StoreError> {
        let (catalog, opened) = match Catalog::open_in(store, &*databases) {
            Ok((catalog, opened)) => (catalog, Some(opened)),
            Err(error @ StoreError::NoRoom { .. }) => {
                let why = error_chain(&error);
                tracing::warn!(why, "the catalog is kept in memory until there is room on the disk");
                (Catalog::in_memory(store)?, None)
            }
            Err(error) => return Err(error),
        };
        let is_full = match catalog.bound_verdicts(bounds) {
            Ok(()) => false,
            Err(StoreError::NoRoom { .. }) => true,
            Err(error) => return Err(error),
        };
        let starved = AtomicBool::new(opened.is_none() || is_full);
        Ok((Self { catalog: RwLock::new(Some(catalog)), databases, bounds, starved }, opened))
    }

    /// Uses the catalog. Any number of threads at once; the catalog sees to its own order.
    pub(crate) fn with<T>(
        &self,
        job: impl FnOnce(&Catalog) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        let catalog = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
        let done = job(catalog.as_ref().ok_or(EngineError::Closed)?);
        if let Err(StoreError::NoRoom { .. }) = &done {
            self.starved.store(true, Ordering::Relaxed);
        }
        Ok(done?)
    }

    /// As [`OwnedCatalog::with`], of what the engine can do without: `None` also where the disk is full.
    pub(crate) fn get<T>(
        &self,
        job: impl FnOnce(&Catalog) -> Result<Option<T>, StoreError>,
    ) -> Result<Option<T>, EngineError> {
        match self.with(job) {
            Err(EngineError::Store(StoreError::NoRoom { .. })) => Ok(None),
            other => other,
        }
    }

    /// Whether the catalog has met a full disk, and is without it since then.
    pub(crate) fn is_starved(&self) -> bool {
        self.starved.load(Ordering::Relaxed)
    }

    /// Opens the catalog again if it has met a full disk, and says how, if that has worked. Everybody else waits meanwhile,
    /// as long as a start takes.
    pub(crate) fn recover(&self) -> Result<Option<Opened>, EngineError> {
        if !self.is_starved() {
            return Ok(None);
        }
        let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        let catalog = catalog.as_mut().ok_or(EngineError::Closed)?;
        let opened = catalog.reopen(&*self.databases);
        let bounded = catalog.bound_verdicts(self.bounds);
        match opened.and_then(|opened| bounded.map(|()| opened)) {
            Ok(opened) => {
                self.starved.store(false, Ordering::Relaxed);
                tracing::info!(?opened, "the catalog is on the disk again");
                Ok(Some(opened))
            }
            Err(StoreError::NoRoom { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Flushes and lets go, once nobody uses it.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        let catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner).take();
        catalog.map_or(Ok(()), |catalog| catalog.flush())
    }
}
