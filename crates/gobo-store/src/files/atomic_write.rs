//! Atomic, durable file creation: a file becomes visible whole and durable, or not at all.
//!
//! The protocol: a temporary file in the target's folder, locked by its writer; the bytes; mode 0444; `fsync`; a rename that
//! replaces nothing (unless asked to); `fsync` of the folder. Invariant: a file under its final name is whole and on the disk.
//! A crash leaves at most a temporary file, which [`sweep`](crate::maintenance) removes. Cost: O(bytes) and two waits for
//! the disk.
//!
//! Source: Pillai et al., *All File Systems Are Not Created Equal: On the Complexity of Crafting Crash-Consistent
//! Applications*, OSDI 2014, section 2.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gobo_artifact::file::{Links, OpenError, OpenRegular};
use gobo_types::{ArtifactDigest, Digest};
use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use crate::directory::folders::{create_folder, sync_folder};
use crate::{PublishStep, Store, StoreError};

/// Temporary files are named `.tmp-<process id>-<random>`, in the folder of the final file.
pub(crate) const TEMP_PREFIX: &str = ".tmp-";

/// Written and hashed in pieces of this size, so that hashing finds the bytes in the cache.
const PIECE_BYTES: usize = 1 << 20;

/// Which file stays if the name exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnConflict {
    /// Leave the old file as it is: artifacts never change.
    Keep,
    /// The new file takes its place in one step.
    Replace,
}

/// The result of a publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    New(ArtifactDigest),
    /// The name existed, and the old file was kept.
    Kept,
}

/// A file on its way to `path`: it has a temporary name in the same folder, and is locked. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct PendingFile {
    temp: NamedTempFile,
    path: PathBuf,
}

impl PendingFile {
    pub(crate) fn new(store: &Store, path: &Path) -> Result<Self, StoreError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        create_folder(folder)?;
        let temp = tempfile::Builder::new()
            .prefix(&format!("{TEMP_PREFIX}{}-", std::process::id()))
            .tempfile_in(folder)
            .map_err(StoreError::io("create a temporary file in", folder))?;
        // The lock tells `sweep` that the writer lives, also in another container. Without locks, age decides.
        let _ = flock(temp.as_file(), FlockOperation::NonBlockingLockExclusive);
        store.observe(PublishStep::TempCreated);
        Ok(Self { temp, path: path.to_owned() })
    }

    /// The path to write its bytes to.
    pub(crate) fn temp_path(&self) -> &Path {
        self.temp.path()
    }

    /// Makes the written bytes durable and gives the file its name. False: the name existed, and the old file was kept.
    pub(crate) fn commit(self, store: &Store, conflict: OnConflict) -> Result<bool, StoreError> {
        let Self { temp, path } = self;
        store.observe(PublishStep::Written);

        temp.as_file()
            .set_permissions(Permissions::from_mode(0o444))
            .map_err(StoreError::io("set the mode of", &path))?;
        store.observe(PublishStep::ModeSet);

        temp.as_file().sync_all().map_err(StoreError::io("sync", &path))?;
        store.observe(PublishStep::FileSynced);

        match give_name(temp, &path, conflict) {
            Ok(()) => {}
            Err(error) if conflict == OnConflict::Keep && error.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(false);
            }
            Err(error) => return Err(StoreError::io("publish", &path)(error)),
        }
        store.observe(PublishStep::Renamed);

        path.parent().map_or(Ok(()), sync_folder)?;
        store.observe(PublishStep::DirectorySynced);
        Ok(true)
    }
}

/// Writes `bytes` to `path` by the protocol. `check` reads the temporary file after its bytes are written, and may refuse
/// it. After any error nothing is visible and the temporary file is gone.
pub(crate) fn publish(
    store: &Store,
    path: &Path,
    bytes: &[u8],
    conflict: OnConflict,
    check: impl FnOnce(&Path) -> Result<(), StoreError>,
) -> Result<Outcome, StoreError> {
    let mut pending = PendingFile::new(store, path)?;
    let digest = write_hashing(pending.temp.as_file_mut(), bytes).map_err(StoreError::io("write", path))?;
    check(pending.temp_path())?;
    Ok(if pending.commit(store, conflict)? { Outcome::New(digest) } else { Outcome::Kept })
}

fn write_hashing(file: &mut File, bytes: &[u8]) -> io::Result<ArtifactDigest> {
    let mut hasher = blake3::Hasher::new();
    for piece in bytes.chunks(PIECE_BYTES) {
        hasher.update(piece);
        file.write_all(piece)?;
    }
    Ok(ArtifactDigest(Digest(*hasher.finalize().as_bytes())))
}

/// Renames the temporary file. Without replacement, of two writers that race the first one wins (`RENAME_NOREPLACE`, or link
/// and unlink where the file system lacks it): a published file is never replaced while it is read.
fn give_name(temp: NamedTempFile, path: &Path, conflict: OnConflict) -> io::Result<()> {
    let renamed = match conflict {
        OnConflict::Keep => temp.persist_noclobber(path),
        OnConflict::Replace => temp.persist(path),
    };
    renamed.map(drop).map_err(|failed| failed.error)
}

/// Writes a small file that may be lost, in one step: readers see the old one or the new one. Not a published file.
pub(crate) fn write_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temp = tempfile::Builder::new()
        .prefix(&format!("{TEMP_PREFIX}{}-", std::process::id()))
        .tempfile_in(folder)?;
    temp.write_all(bytes)?;
    temp.as_file().set_permissions(Permissions::from_mode(0o444))?;
    give_name(temp, path, OnConflict::Replace)
}

/// Moves a published file away. Nothing is published by it.
#[expect(clippy::disallowed_methods, reason = "the one rename beside publishing: into quarantine")]
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// blake3 of a published file. O(bytes).
pub(crate) fn digest_file(path: &Path) -> Result<ArtifactDigest, OpenError> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(OpenRegular::new(Links::Refuse).open(path)?)?;
    Ok(ArtifactDigest(Digest(*hasher.finalize().as_bytes())))
}

/// Writes a file outside of a store as a published file is written: in one step, and durable when it returns. Processes that
/// have mapped or opened the old file keep it. A link at `path` is replaced, not followed. The new file has the mode of the
/// regular file that it replaces, otherwise 0666 less the umask. O(bytes).
///
/// # Errors
/// [`StoreError::NoRoom`] and [`StoreError::Io`] if it cannot be written. The old file is still at `path` then, and no
/// temporary file is left.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let failed = || StoreError::io("write", path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temp = tempfile::Builder::new()
        .prefix(&format!("{TEMP_PREFIX}{}-", std::process::id()))
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(StoreError::io("create a temporary file in", folder))?;
    temp.write_all(bytes).map_err(failed())?;
    if let Ok(old) = fs::symlink_metadata(path)
        && old.is_file()
    {
        temp.as_file().set_permissions(old.permissions()).map_err(failed())?;
    }
    temp.as_file().sync_all().map_err(failed())?;
    give_name(temp, path, OnConflict::Replace).map_err(failed())?;
    sync_folder(folder)
}
