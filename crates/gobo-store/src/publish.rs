//! How a file becomes visible: whole, durable, and never twice.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use gobo_artifact::file::{Links, OpenError, OpenRegular};
use gobo_types::{ArtifactDigest, Digest};
use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use crate::access::{create_folder, sync_folder};
use crate::{Store, StoreError};

/// Temporary files are named `.tmp-<process id>-<random>`, in the folder of the file to be.
pub(crate) const TEMP_PREFIX: &str = ".tmp-";

/// Written and hashed in pieces of this size, so that hashing finds the bytes in the cache.
const PIECE_BYTES: usize = 1 << 20;

/// The steps of publishing, in order. An observer is told of each after it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PublishStep {
    /// The temporary file exists, empty and locked by its writer.
    TempCreated,
    /// It holds all bytes (and was verified, if that was asked for).
    Written,
    /// It can no longer be opened for writing (mode 0444).
    ModeSet,
    /// Its bytes are on the disk.
    FileSynced,
    /// It has its name: from here on others see it.
    Renamed,
    /// Its name is on the disk.
    DirectorySynced,
    /// The catalog's record of it is on the disk.
    Catalogued,
}

impl PublishStep {
    /// All steps, in order.
    pub const ALL: [Self; 7] = [
        Self::TempCreated,
        Self::Written,
        Self::ModeSet,
        Self::FileSynced,
        Self::Renamed,
        Self::DirectorySynced,
        Self::Catalogued,
    ];
}

/// What to do when the name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Leave the old file as it is: artifacts never change.
    Keep,
    /// The new file takes its place in one step.
    Replace,
}

/// What became of a publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    New(ArtifactDigest),
    /// The name was taken, and the old file was kept.
    Kept,
}

/// A file under way to `path`: it has a temporary name in the same folder, and is locked. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Begun {
    temp: NamedTempFile,
    path: PathBuf,
}

impl Begun {
    pub(crate) fn new(store: &Store, path: &Path) -> Result<Self, StoreError> {
        let folder = path.parent().unwrap_or(Path::new("."));
        create_folder(folder)?;
        let temp = tempfile::Builder::new()
            .prefix(&format!("{TEMP_PREFIX}{}-", std::process::id()))
            .tempfile_in(folder)
            .map_err(StoreError::io("create a temporary file in", folder))?;
        // Tells `sweep` that the writer lives, in whatever container. Where locks do not work, age has to tell.
        let _ = flock(temp.as_file(), FlockOperation::NonBlockingLockExclusive);
        store.observe(PublishStep::TempCreated);
        Ok(Self { temp, path: path.to_owned() })
    }

    /// Where its bytes are to be written.
    pub(crate) fn temp_path(&self) -> &Path {
        self.temp.path()
    }

    /// Makes what was written durable and gives it its name. False: the name was taken, and the old file was kept.
    pub(crate) fn finish(self, store: &Store, taken: Taken) -> Result<bool, StoreError> {
        let Self { temp, path } = self;
        store.observe(PublishStep::Written);

        temp.as_file()
            .set_permissions(Permissions::from_mode(0o444))
            .map_err(StoreError::io("set the mode of", &path))?;
        store.observe(PublishStep::ModeSet);

        temp.as_file().sync_all().map_err(StoreError::io("sync", &path))?;
        store.observe(PublishStep::FileSynced);

        match give_name(temp, &path, taken) {
            Ok(()) => {}
            Err(error) if taken == Taken::Keep && error.kind() == io::ErrorKind::AlreadyExists => {
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

/// Writes `bytes` to `path` by the protocol. `check` sees the temporary file once its bytes are written and may
/// refuse them. After any error nothing is visible and the temporary file is gone.
pub(crate) fn publish(
    store: &Store,
    path: &Path,
    bytes: &[u8],
    taken: Taken,
    check: impl FnOnce(&Path) -> Result<(), StoreError>,
) -> Result<Outcome, StoreError> {
    let mut begun = Begun::new(store, path)?;
    let digest = write_hashing(begun.temp.as_file_mut(), bytes).map_err(StoreError::io("write", path))?;
    check(begun.temp_path())?;
    Ok(if begun.finish(store, taken)? { Outcome::New(digest) } else { Outcome::Kept })
}

fn write_hashing(file: &mut File, bytes: &[u8]) -> io::Result<ArtifactDigest> {
    let mut hasher = blake3::Hasher::new();
    for piece in bytes.chunks(PIECE_BYTES) {
        hasher.update(piece);
        file.write_all(piece)?;
    }
    Ok(ArtifactDigest(Digest(*hasher.finalize().as_bytes())))
}

/// Renames the temporary file. Without replacing, two writers that race end with the first one's file
/// (`RENAME_NOREPLACE`, or link and unlink where the file system lacks it): a published file is never swapped out
/// under a reader.
fn give_name(temp: NamedTempFile, path: &Path, taken: Taken) -> io::Result<()> {
    let renamed = match taken {
        Taken::Keep => temp.persist_noclobber(path),
        Taken::Replace => temp.persist(path),
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
    give_name(temp, path, Taken::Replace)
}

/// Moves what is published out of the way, never into it.
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

/// Writes a file that lies in no store, as a published file is written: in one step, and durable when it returns. Who has
/// mapped or opened the file that was there keeps it. A link at `path` is replaced, not followed. The new file has the mode
/// of the regular file that it replaces, else what the mask of modes leaves of 0666. O(bytes).
///
/// # Errors
/// [`StoreError::NoRoom`] and [`StoreError::Io`] if it cannot be written. What was at `path` is there still, and nothing else.
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
    give_name(temp, path, Taken::Replace).map_err(failed())?;
    sync_folder(folder)
}
