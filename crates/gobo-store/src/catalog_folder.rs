//! What has to be seen to before a database is opened in the catalog's folder.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use gobo_artifact::file::kind_name;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::access::{private, set_mode};
use crate::{Store, StoreError};

/// Room that has to be there before a catalog is opened: some segments of its database.
const ROOM_BYTES: u64 = 4 << 20;

/// Refuses a disk without room before the database sees it. Opening one writes to it, and what is half written when the disk
/// is full looks like damage the next time.
pub(crate) fn require_room(store: &Store) -> Result<(), StoreError> {
    let failed = || StoreError::io("open the catalog in", store.root());
    // It has no name, and is gone when it is closed.
    let file = tempfile::tempfile_in(store.root()).map_err(failed())?;
    match fallocate(&file, FallocateFlags::empty(), 0, ROOM_BYTES) {
        // This file system does not tell.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(failed()(error.into())),
    }
}

/// Why what lies in the place of the catalog's folder is none, if something does.
pub(crate) fn not_a_folder(path: &Path) -> Option<String> {
    let found = fs::symlink_metadata(path).ok()?.file_type();
    (!path.is_dir()).then(|| format!("it is {}, not a folder", kind_name(found)))
}

/// Nobody but owners of the store has to do with its catalog, whatever the modes of the files that the database makes.
pub(crate) fn make_private(store: &Store) -> Result<(), StoreError> {
    let path = store.layout().catalog();
    let failed = || StoreError::io("set the mode of", &path);
    let root = fs::metadata(store.root()).map_err(failed())?;
    let found = fs::metadata(&path).map_err(failed())?;
    if found.uid() == geteuid().as_raw() {
        set_mode(&path, private(root.mode())).map_err(failed())?;
    }
    Ok(())
}
