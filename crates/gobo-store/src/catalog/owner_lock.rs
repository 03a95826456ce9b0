//! Ownership of a catalog: an advisory lock on a file, `catalog.lock`.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use gobo_artifact::file::kind_name;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::directory::folders::private;
use crate::{Store, StoreError};

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
            Ok(()) => Ok(Self(file)),
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
        // Closing is not enough: a child process between its fork and its exec still has the file open.
        if let Err(error) = flock(&self.0, FlockOperation::Unlock) {
            tracing::warn!(%error, "cannot unlock the catalog");
        }
    }
}

/// The error of a process that is not the owner.
pub(super) fn locked(store: &Store) -> StoreError {
    let (path, socket) = (store.layout().catalog(), store.layout().socket());
    // A command that works by itself never listens.
    let is_daemon = UnixStream::connect(&socket).is_ok();
    StoreError::Locked { path, socket, is_daemon }
}
