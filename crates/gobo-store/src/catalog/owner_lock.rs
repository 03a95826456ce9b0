//! Ownership of a catalog: an advisory lock on a file, `catalog.lock`, in which the owner writes what it is.
//!
//! The lock decides; the note is for the message that others get. It is one line, `daemon 4242` or `prewarm 4242`: the owner's
//! [`Owner`] and its process. A note that cannot be written or read is no fault: the message says less.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use gobo_artifact::file::{Links, OpenRegular, kind_name};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::directory::folders::private;
use crate::{Owner, OwnerProcess, Store, StoreError};

/// Most bytes of a note: a longer file is none.
const MAX_NOTE_BYTES: u64 = 128;

/// Ownership of a catalog, until dropped. The lock is a file of its own, taken before the database is touched; the system frees
/// it when the process ends in any way.
#[derive(Debug)]
pub(super) struct OwnerLock(File);

impl OwnerLock {
    /// Becomes the owner.
    pub(super) fn take(store: &Store) -> Result<Self, StoreError> {
        let path = store.layout().catalog_lock();
        let file = open(store, &path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                note(&file, store.owner());
                Ok(Self(file))
            }
            Err(Errno::WOULDBLOCK) => Err(locked(store)),
            Err(error) => Err(StoreError::io("lock", &path)(error.into())),
        }
    }
}

/// Opens the file of the lock, or makes it. Never blocks: a named pipe in its place is an error.
fn open(store: &Store, path: &Path) -> Result<File, StoreError> {
    if let Ok(metadata) = fs::symlink_metadata(path)
        && !metadata.is_file()
    {
        return Err(StoreError::NotRegular { path: path.to_owned(), found: kind_name(metadata.file_type()) });
    }
    let refuse = || StoreError::io("open the lock", path);
    let root = fs::metadata(store.root()).map_err(refuse())?.mode();
    let mode = private(root) & 0o666;
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(mode)
        .custom_flags(i32::from_ne_bytes(flags.bits().to_ne_bytes()))
        .open(path)
        .map_err(refuse())?;
    let metadata = file.metadata().map_err(refuse())?;
    if metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o777 != mode {
        file.set_permissions(Permissions::from_mode(mode)).map_err(refuse())?;
    }
    Ok(file)
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // Nobody owns it from now on. A note that stays is replaced by that of the next owner.
        let _ = self.0.set_len(0);
        // Closing is not enough: a child process between its fork and its exec still has the file open.
        if let Err(error) = flock(&self.0, FlockOperation::Unlock) {
            tracing::warn!(%error, "cannot unlock the catalog");
        }
    }
}

/// Writes what this process is into the file of its lock. Without room for it others learn less, and nothing else.
fn note(mut file: &File, owner: &Owner) {
    let line = format!("{owner} {}\n", std::process::id());
    let written = file.set_len(0).and_then(|()| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        tracing::debug!(%error, "cannot note which process owns the catalog");
    }
}

/// The note of a store's owner. `None` if there is none, or this user may not read it.
fn noted(store: &Store) -> Option<OwnerProcess> {
    let note = OpenRegular::new(Links::Refuse).read(&store.layout().catalog_lock(), MAX_NOTE_BYTES).ok()?;
    let (owner, process) = std::str::from_utf8(&note).ok()?.strip_suffix('\n')?.rsplit_once(' ')?;
    Some(OwnerProcess { owner: Owner::parse(owner)?, process: process.parse().ok()? })
}

/// The error of a process that is not the owner.
pub(super) fn locked(store: &Store) -> StoreError {
    StoreError::Locked {
        path: store.layout().catalog(),
        socket: store.layout().socket(),
        owner: noted(store),
    }
}
