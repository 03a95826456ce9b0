use std::fs::{File, OpenOptions};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::{Store, StoreError};

/// Ownership of a catalog, until dropped. The lock is a file of our own, taken before the database touches anything; the
/// system frees it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct OwnerLock(File);

impl OwnerLock {
    /// Becomes the owner.
    pub(crate) fn take(store: &Store) -> Result<Self, StoreError> {
        let path = store.layout().catalog_lock();
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(StoreError::io("open the lock", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self(file)),
            Err(Errno::WOULDBLOCK) => Err(locked(store)),
            Err(error) => Err(StoreError::io("lock", &path)(error.into())),
        }
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // Closing is not enough: a child process between its fork and its exec still has the file open.
        if let Err(error) = flock(&self.0, FlockOperation::Unlock) {
            tracing::warn!(%error, "cannot unlock the catalog");
        }
    }
}

pub(crate) fn locked(store: &Store) -> StoreError {
    StoreError::Locked { path: store.layout().catalog(), socket: store.layout().socket() }
}
