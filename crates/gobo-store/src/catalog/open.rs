//! Opens a catalog: creates, migrates or rebuilds it, and falls back to memory on a full disk.

use std::sync::Arc;
use std::time::SystemTime;

use gobo_types::error_chain;

use super::folder::{make_private, not_a_folder, require_room};
use super::handle::{Catalog, failed};
use super::migrations::{Migrations, State};
use super::owner_lock::OwnerLock;
use super::rebuild::Rebuilt;
use super::records::INDICES;
use crate::database::{Database as _, DatabaseError, Guarded, OpenDatabase, Sled};
use crate::directory::folders::create_folder;
use crate::files::quarantine::Reason;
use crate::{Store, StoreError};

/// How [`Catalog::open`] got the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// It existed. Records were added for files without one, and removed where the file is gone.
    Existing,
    /// The store is new: there was no catalog, and there are no indices.
    Created,
    /// The same, and the steps after `from` up to `to` were applied.
    Migrated {
        /// Number of the last step it knew.
        from: u32,
        /// Number of the last step it knows now.
        to: u32,
    },
    /// It was lost, unreadable or not understood, and was rebuilt from the files. The old one is in quarantine.
    Rebuilt {
        /// What was wrong, for a person.
        why: String,
        /// The files that the rebuild found.
        found: Rebuilt,
    },
}

impl Catalog {
    /// Opens the catalog of `store`, or makes it: new for an empty store, migrated from an earlier version, or rebuilt from the
    /// files if it is lost, damaged, or of a version that this one does not understand (the old one is then moved to
    /// quarantine). An existing one is reconciled with the names of the files ([`Catalog::reconcile`]).
    /// O(records + files); O(bytes of all files) when rebuilding.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if it has an owner, in this process or another. [`StoreError::Io`] and
    /// [`StoreError::Catalog`] if the disk refuses, [`StoreError::NoRoom`] if it is full: the catalog on it stays.
    /// [`StoreError::NetworkFileSystem`] if locks and `fsync` of the store's file system are unreliable.
    pub fn open(store: &Store) -> Result<(Self, Opened), StoreError> {
        Self::open_in(store, &Sled)
    }

    /// As [`Catalog::open`], in another database: for tests that break it.
    ///
    /// # Errors
    /// As for [`Catalog::open`].
    pub fn open_in(store: &Store, databases: &dyn OpenDatabase) -> Result<(Self, Opened), StoreError> {
        store.refuse_network()?;
        Self::open_locked(store, databases, Arc::new(OwnerLock::take(store)?))
    }

    /// A catalog without a disk, for an owner whose disk is full: empty, and lost when it is dropped. The catalog on the disk
    /// is not read; no other process can open it meanwhile. The files of the store are verified and recorded one by one, as
    /// they are requested. [`Catalog::reopen`] goes back to the disk.
    ///
    /// # Errors
    /// As for [`Catalog::open`], except the errors of the database.
    pub fn in_memory(store: &Store) -> Result<Self, StoreError> {
        store.refuse_network()?;
        let lock = Arc::new(OwnerLock::take(store)?);
        Ok(Self::over_memory(store, lock))
    }

    /// Closes the database and opens it again, as [`Catalog::open`] does: a database that has met a full disk never works again.
    /// The ownership of the store is kept throughout. If the opening fails, the catalog is in memory from then on.
    ///
    /// # Errors
    /// As for [`Catalog::open_in`].
    pub fn reopen(&mut self, databases: &dyn OpenDatabase) -> Result<Opened, StoreError> {
        if !self.is_in_memory() {
            *self = Self::over_memory(&self.store, Arc::clone(&self.lock));
            databases.await_release(&self.store.layout().catalog());
        }
        let (catalog, opened) = Self::open_locked(&self.store, databases, Arc::clone(&self.lock))?;
        *self = catalog;
        Ok(opened)
    }

    fn open_locked(
        store: &Store,
        databases: &dyn OpenDatabase,
        lock: Arc<OwnerLock>,
    ) -> Result<(Self, Opened), StoreError> {
        let migrations = Migrations::built_in()?;
        let path = store.layout().catalog();
        require_room(store)?;
        let mut why = not_a_folder(&path);
        let mut db = None;
        if why.is_none() && path.exists() {
            make_private(store)?;
            match attempt(store, databases, &migrations)? {
                Attempt::Ready(db, State::At(from)) => {
                    let catalog = Self::over(db, store, lock);
                    let to = migrations.last();
                    if from < to {
                        catalog.finish(&migrations, from)?;
                    }
                    catalog.add_up()?;
                    catalog.note_verdicts()?;
                    // A database that lost its tail opens without an error.
                    let (added, removed) = catalog.reconcile()?;
                    if added + removed > 0 {
                        tracing::info!(added, removed, "brought the catalog in step with the files");
                    }
                    let opened = if from < to { Opened::Migrated { from, to } } else { Opened::Existing };
                    return Ok((catalog, opened));
                }
                // Its maker died before the first record: it counts as missing.
                Attempt::Ready(blank, State::Blank) => db = Some(blank),
                Attempt::Ready(foreign, State::Foreign(reason)) => {
                    drop(foreign);
                    why = Some(reason);
                }
                Attempt::Unreadable(reason) => why = Some(reason),
            }
        }
        if let Some(reason) = &why {
            databases.await_release(&path);
            store.quarantine(&path, Reason::Catalog, reason)?;
        }
        let (db, absence) = if let Some(blank) = db {
            (blank, "it was empty")
        } else {
            create_folder(&path)?;
            make_private(store)?;
            (Guarded::open(databases, &path).map_err(|error| failed(store, error))?, "it was missing")
        };
        let catalog = Self::over(db, store, lock);
        let found = catalog.rebuild()?;
        // Last: a crash before this leaves records that no step declares, so the catalog is foreign and rebuilt again.
        catalog.finish(&migrations, 0)?;
        if why.is_none() && found.indices == 0 {
            // Vocabularies may have been imported before a catalog was needed: nothing is wrong.
            return Ok((catalog, Opened::Created));
        }
        let why = why.unwrap_or_else(|| absence.to_owned());
        tracing::warn!(path = %path.display(), why, indices = found.indices, "the catalog was rebuilt from the files");
        Ok((catalog, Opened::Rebuilt { why, found }))
    }

    /// Sums the existing records. O(records), once.
    fn add_up(&self) -> Result<(), StoreError> {
        for entry in self.with_prefix(INDICES, INDICES) {
            self.totals.count(&entry?.1, 1);
        }
        Ok(())
    }

    /// Records the steps after `from`.
    fn finish(&self, migrations: &Migrations, from: u32) -> Result<(), StoreError> {
        self.db.apply(&migrations.entries(from, SystemTime::now())?).map_err(|error| self.failed(error))?;
        self.flush()
    }
}

/// The result of opening the database in the catalog's folder.
enum Attempt {
    Ready(Guarded, State),
    /// Unusable, and why.
    Unreadable(String),
}

/// Opens and reads the database. Errors are those of the machine; a fault of the bytes is `Unreadable`.
fn attempt(
    store: &Store,
    databases: &dyn OpenDatabase,
    migrations: &Migrations,
) -> Result<Attempt, StoreError> {
    let opened = Guarded::open(databases, &store.layout().catalog()).and_then(|db| {
        let state = migrations.state(&db)?;
        Ok((db, state))
    });
    match opened {
        Ok((db, state)) => Ok(Attempt::Ready(db, state)),
        Err(error) if is_machine(&error) => Err(failed(store, error)),
        Err(error) => Ok(Attempt::Unreadable(error_chain(&error))),
    }
}

/// Errors that are not the fault of the bytes: quarantine would lose them for nothing.
fn is_machine(error: &DatabaseError) -> bool {
    use std::io::ErrorKind as Io;

    match error {
        DatabaseError::InUse => true,
        DatabaseError::Io(error) => matches!(
            error.kind(),
            Io::PermissionDenied
                | Io::ReadOnlyFilesystem
                | Io::StorageFull
                | Io::QuotaExceeded
                | Io::FileTooLarge
                | Io::OutOfMemory
                | Io::StaleNetworkFileHandle
        ),
        _ => false,
    }
}
