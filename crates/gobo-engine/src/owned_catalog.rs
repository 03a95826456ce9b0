use std::sync::{PoisonError, RwLock};

use gobo_store::{Catalog, StoreError};

use crate::EngineError;

/// The catalog for as long as the engine is open. Closing lets go of it, so that another process may own the store
/// even while somebody still holds the closed engine.
#[derive(Debug)]
pub(crate) struct OwnedCatalog(RwLock<Option<Catalog>>);

impl OwnedCatalog {
    pub(crate) fn new(catalog: Catalog) -> Self {
        Self(RwLock::new(Some(catalog)))
    }

    /// Uses the catalog. Any number of threads at once; the catalog sees to its own order.
    pub(crate) fn with<T>(
        &self,
        job: impl FnOnce(&Catalog) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        let catalog = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Ok(job(catalog.as_ref().ok_or(EngineError::Closed)?)?)
    }

    /// Flushes and lets go, once nobody uses it.
    pub(crate) fn close(&self) -> Result<(), StoreError> {
        let catalog = self.0.write().unwrap_or_else(PoisonError::into_inner).take();
        catalog.map_or(Ok(()), |catalog| catalog.flush())
    }
}
