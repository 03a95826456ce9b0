//! Makes the folders of a store: their modes, and the durability of their names.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::StoreError;

/// Mode of a new root: everybody may read, its owner may write.
const ROOT_MODE: u32 = 0o755;

/// The mode bits that a new folder takes over from its parent: the permissions, and the bit that gives new entries the
/// parent's group.
const INHERITED: u32 = 0o2777;

/// Creates the root of a store with its parents. The root's mode does not depend on the umask; the modes of its parents,
/// which do not belong to the store, do. Each new name is on the disk afterwards.
pub(crate) fn create_root(root: &Path) -> Result<(), StoreError> {
    if root.is_dir() {
        return Ok(());
    }
    if let Some(parent) = root.parent() {
        create_parents(parent)?;
    }
    made(root, make(root, ROOT_MODE))
}

fn create_parents(folder: &Path) -> Result<(), StoreError> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        create_parents(parent)?;
    }
    made(folder, fs::create_dir(folder))
}

/// Creates a folder of a store with the mode of its parent, whatever the umask, and first the parent if it is missing. Each
/// new name is on the disk afterwards.
pub(crate) fn create_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_folder(parent)?;
    }
    made(folder, make_alike(folder))
}

/// Creates the missing ones of `folders`, all in `parent`, like [`create_folder`]. All their names are on the disk afterwards,
/// also those of folders whose maker died before it had synced them. A file in the place of a folder is passed to
/// `in_the_way`.
pub(crate) fn create_folders(
    parent: &Path,
    folders: impl Iterator<Item = PathBuf>,
    in_the_way: &dyn Fn(&Path) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    for folder in folders {
        let failed = |error| StoreError::io("create", &folder)(error);
        match make_alike(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !folder.is_dir() {
                    in_the_way(&folder)?;
                    make_alike(&folder).map_err(failed)?;
                }
            }
            made => made.map_err(failed)?,
        }
    }
    sync_folder(parent)
}

/// Finishes the making of a folder: a folder that another process made meanwhile is a success, and its name is synced.
fn made(folder: &Path, result: io::Result<()>) -> Result<(), StoreError> {
    match result {
        Ok(()) => {}
        // Another process was faster. A file of that name is an error all the same.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => return Ok(()),
        Err(error) => return Err(StoreError::io("create", folder)(error)),
    }
    folder.parent().map_or(Ok(()), sync_folder)
}

fn make_alike(folder: &Path) -> io::Result<()> {
    let mode = fs::metadata(folder.parent().unwrap_or(Path::new(".")))?.mode();
    make(folder, mode & INHERITED | 0o700)
}

fn make(folder: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode & 0o777).create(folder)?;
    set_mode(folder, mode)
}

/// Gives a folder of this process exactly this mode.
pub(crate) fn set_mode(folder: &Path, mode: u32) -> io::Result<()> {
    // The umask may have taken bits away.
    if fs::metadata(folder)?.mode() & INHERITED == mode {
        return Ok(());
    }
    fs::set_permissions(folder, Permissions::from_mode(mode))
}

/// The mode of the files that only owner processes use, in a store whose root has the mode `root`: members of its group may
/// be owners only where they may write.
#[cfg(feature = "catalog")]
pub(crate) fn private(root: u32) -> u32 {
    if root & 0o020 == 0 { 0o700 } else { root & 0o2770 | 0o700 }
}

/// Puts a folder's names on the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    // Nothing but a folder is opened: opening a named pipe in its place would block.
    let flags = i32::from_ne_bytes(OFlags::DIRECTORY.bits().to_ne_bytes());
    let opened = File::options().read(true).custom_flags(flags).open(folder);
    opened.and_then(|folder| folder.sync_all()).map_err(StoreError::io("sync", folder))
}

#[cfg(test)]
#[cfg(feature = "catalog")]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_is_the_groups_only_where_the_group_may_write() {
        assert_eq!((private(0o755), private(0o777 & !0o020), private(0o2775)), (0o700, 0o700, 0o2770));
    }
}
