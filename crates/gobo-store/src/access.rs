//! Who may write to a store, and how its folders are made.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::{Store, StoreError};

/// The root of a store that was not there: everybody may read, its owner may write.
const ROOT_MODE: u32 = 0o755;

/// The bits that a folder takes over from the one it lies in: who may do what, and whether what is made below belongs to
/// its group.
const INHERITED: u32 = 0o2777;

/// Who may write to a store beside root. Whoever may put a file into one of its folders decides what masks say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Writers {
    /// The user of the store's owner process alone.
    #[default]
    Owner,
    /// The folders' group too: several users who trust each other publish into one store. Their folders may belong to
    /// any of them.
    Group,
    /// Anybody: nothing is looked at.
    Anyone,
}

impl Writers {
    /// The bits that no folder may have.
    fn refused(self) -> u32 {
        match self {
            Self::Owner => 0o022,
            Self::Group => 0o002,
            Self::Anyone => 0,
        }
    }
}

impl Store {
    /// Refuses a store into whose folders others than `writers` may put files: for its owner, before anything in it is
    /// believed. Folders that are not there, or cannot be looked at, are passed over; folders above the store, and lists of
    /// access beyond the mode, are not looked at. O(1): some 520 folders.
    ///
    /// # Errors
    /// [`StoreError::OtherWriters`] naming the first such folder, and the command that mends it.
    pub fn refuse_other_writers(&self, writers: Writers) -> Result<(), StoreError> {
        if writers == Writers::Anyone {
            return Ok(());
        }
        let user = rustix::process::geteuid().as_raw();
        for folder in self.layout().folders() {
            let Ok(metadata) = fs::metadata(&folder) else { continue };
            let (mode, owner) = (metadata.mode() & 0o7777, metadata.uid());
            let is_foreign = writers == Writers::Owner && owner != user && owner != 0;
            let is_open = mode & writers.refused() != 0;
            if !is_foreign && !is_open {
                continue;
            }
            let root = quoted(self.root());
            let mend = match (is_foreign, writers) {
                (true, _) => format!("chown -R {user} {root}"),
                (false, Writers::Group) => format!("chmod -R o-w {root}"),
                (false, _) => format!("chmod -R go-w {root}"),
            };
            return Err(StoreError::OtherWriters { path: folder, mode, owner, mend });
        }
        Ok(())
    }
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    if path.bytes().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

/// Creates the root of a store with its parents. Its access does not depend on the mask of modes; that of its parents, which
/// are none of the store's, does. Each new name is on the disk afterwards.
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

/// Creates a folder of a store with the access of the one it lies in, whatever the mask of modes, and that one before it if
/// need be. Each new name is on the disk afterwards.
pub(crate) fn create_folder(folder: &Path) -> Result<(), StoreError> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_folder(parent)?;
    }
    made(folder, make_alike(folder))
}

/// Creates the folders that are missing of `folders`, all in `parent`, like [`create_folder`]. All their names are on the disk
/// afterwards, also those of folders that a process made which died before it had synced them. What is in the place of one
/// and is no folder is handed to `in_the_way`.
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

/// Sees to the end of making a folder.
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

/// Gives a folder of this process exactly this access.
pub(crate) fn set_mode(folder: &Path, mode: u32) -> io::Result<()> {
    // The mask of modes may have taken bits away.
    if fs::metadata(folder)?.mode() & INHERITED == mode {
        return Ok(());
    }
    fs::set_permissions(folder, Permissions::from_mode(mode))
}

/// The mode of what only owner processes use, in a store whose root has the mode `root`: its group may own a store only
/// where it may write.
#[cfg(feature = "catalog")]
pub(crate) fn private(root: u32) -> u32 {
    if root & 0o020 == 0 { 0o700 } else { root & 0o2770 | 0o700 }
}

/// Puts a folder's names on the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    // Nothing but a folder is opened: a named pipe that took its place makes nobody wait.
    let flags = i32::from_ne_bytes(OFlags::DIRECTORY.bits().to_ne_bytes());
    let opened = File::options().read(true).custom_flags(flags).open(folder);
    opened.and_then(|folder| folder.sync_all()).map_err(StoreError::io("sync", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quoted(Path::new("/var/lib/gobo-1.0")), "/var/lib/gobo-1.0");
        assert_eq!(quoted(Path::new("/a b/it's $HOME")), r"'/a b/it'\''s $HOME'");
    }

    #[test]
    #[cfg(feature = "catalog")]
    fn what_is_private_is_the_groups_only_where_the_group_may_write() {
        assert_eq!((private(0o755), private(0o777 & !0o020), private(0o2775)), (0o700, 0o700, 0o2770));
    }
}
