//! Prepares the catalog's folder before a database is opened in it: room on the disk, its kind, its mode.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use gobo_artifact::file::kind_name;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::directory::folders::{private, set_mode};
use crate::{Store, StoreError};

/// Free room that a catalog needs to be opened: some segments of its database.
const ROOM_BYTES: u64 = 4 << 20;

/// Refuses a full disk before the database is opened. Opening writes to the disk, and a half-written record looks like damage
/// at the next opening.
pub(super) fn require_room(store: &Store) -> Result<(), StoreError> {
    let failed = || StoreError::io("open the catalog in", store.root());
    // A file without a name, gone when it is closed.
    let file = tempfile::tempfile_in(store.root()).map_err(failed())?;
    match fallocate(&file, FallocateFlags::empty(), 0, ROOM_BYTES) {
        // This file system cannot reserve room.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(failed()(error.into())),
    }
}

/// Why the entry at the path of the catalog's folder is no folder; `None` if it is one, or missing.
pub(super) fn not_a_folder(path: &Path) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?.file_type();
    (!path.is_dir()).then(|| format!("it is {}, not a folder", kind_name(found)))
}

/// Lets only owners of the store into its catalog, whatever the modes of the files that the database makes.
pub(super) fn make_private(store: &Store) -> Result<(), StoreError> {
    let path = store.layout().catalog();
    let failed = || StoreError::io("set the mode of", &path);
    let root = fs::metadata(store.root()).map_err(failed())?;
    let found = fs::metadata(&path).map_err(failed())?;
    if found.uid() == geteuid().as_raw() {
        set_mode(&path, private(root.mode())).map_err(failed())?;
    }
    Ok(())
}
