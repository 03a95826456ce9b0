//! A temporary folder of this process, for what the store cannot take: laid out as a store, made at first use, removed with its
//! owner. A process that is killed leaves it behind, in the system's folder for such files.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use gobo_store::Store;
use tempfile::TempDir;

use crate::error::LookupError;

/// The folder, once there is one.
pub(crate) struct Scratch {
    /// The process that it belongs to: a child after a fork must not remove it.
    process: u32,
    made: Mutex<Option<(Store, TempDir)>>,
}

impl Scratch {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self { process: std::process::id(), made: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Store, TempDir)>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder as a store; made now if there is none yet.
    pub(crate) fn store(&self) -> Result<Store, LookupError> {
        let mut made = self.lock();
        if let Some((store, _)) = &*made {
            return Ok(store.clone());
        }
        let prefix = format!("gobo-{}-", self.process);
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir().map_err(LookupError::Temporary)?;
        let store = Store::open(folder.path())?;
        *made = Some((store.clone(), folder));
        Ok(store)
    }

    /// The folder as a store, if there is one.
    pub(crate) fn existing(&self) -> Option<Store> {
        self.lock().as_ref().map(|(store, _)| store.clone())
    }

    /// Removes the folder. What is mapped of it stays mapped.
    pub(crate) fn remove(&self) {
        if self.process == std::process::id() {
            drop(self.lock().take());
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            let made = self.made.get_mut().unwrap_or_else(PoisonError::into_inner);
            mem::forget(made.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_made_once_and_goes_with_its_owner() {
        let scratch = Scratch::new();
        assert!(scratch.existing().is_none());
        let root = scratch.store().unwrap().root().to_owned();
        assert_eq!(scratch.store().unwrap().root(), root);
        drop(scratch);
        assert!(!root.exists());

        let of_parent = Scratch { process: 1, made: Mutex::default() };
        let root = of_parent.store().unwrap().root().to_owned();
        drop(of_parent);
        assert!(root.exists(), "a child does not remove its parent's");
        std::fs::remove_dir_all(root).unwrap();
    }
}
