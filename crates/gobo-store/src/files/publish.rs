//! Publishes and removes indices and vocabularies.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use gobo_artifact::file::OpenError;
use gobo_artifact::{Index, Vocabulary};
use gobo_types::{ArtifactDigest, Digest, IndexKey, VocabularyDigest};

use super::atomic_write::{OnConflict, Outcome, PendingFile, digest_file, publish};
use super::check::{ArtifactFile, Depth, Looked, look, require};
use super::quarantine::Reason;
use super::stamp;
use crate::directory::folders::{create_folders, sync_folder};
use crate::directory::layout::fan_out_names;
use crate::{Store, StoreError};

impl Store {
    /// Makes all 256 folders of indices ahead, so that no publish has to make one and wait until its name is on the disk. For
    /// the store's owner. A file in the place of a folder, here and among vocabularies, goes to quarantine.
    ///
    /// # Errors
    /// [`StoreError::Io`] (or [`StoreError::NoRoom`]) naming the folder that cannot be created.
    pub fn prepare(&self) -> Result<(), StoreError> {
        let parent = self.layout().indices();
        let in_the_way = |path: &Path| {
            let why = "it is in the place of a folder of published files";
            self.quarantine(path, Reason::Corrupt, why).map(drop)
        };
        create_folders(&parent, fan_out_names().map(|two| parent.join(two)), &in_the_way)?;
        let parent = self.layout().vocabularies();
        for path in fan_out_names().map(|two| parent.join(two)) {
            if fs::symlink_metadata(&path).is_ok() && !path.is_dir() {
                in_the_way(&path)?;
            }
        }
        Ok(())
    }

    /// Publishes an index that this process compiled: durable when it returns. If a sound file already has the name,
    /// it stays, and its digest is returned. O(bytes).
    ///
    /// # Errors
    /// [`StoreError::NoRoom`] on a full disk and [`StoreError::Io`] for other refusals of the file system. Nothing is
    /// visible then, and the temporary file is gone.
    pub fn publish_index(&self, key: &IndexKey, bytes: &[u8]) -> Result<ArtifactDigest, StoreError> {
        self.publish::<Index>(&self.index_path(key), key.0, bytes, |_| Ok(()))
    }

    /// Publishes a vocabulary that this process built, like [`Store::publish_index`].
    ///
    /// # Errors
    /// As for [`Store::publish_index`].
    pub fn publish_vocabulary(
        &self,
        digest: &VocabularyDigest,
        bytes: &[u8],
    ) -> Result<ArtifactDigest, StoreError> {
        self.publish::<Vocabulary>(&self.vocabulary_path(digest), digest.0, bytes, |_| Ok(()))
    }

    /// Publishes an index of another origin: before it gets its name it is opened, verified to its last byte, and its key is
    /// compared with `key`.
    ///
    /// # Errors
    /// [`StoreError::Artifact`] for bytes that are no sound index, [`StoreError::WrongKey`] for another index, and
    /// those of [`Store::publish_index`].
    pub fn publish_verified_index(&self, key: &IndexKey, bytes: &[u8]) -> Result<ArtifactDigest, StoreError> {
        let path = self.index_path(key);
        self.publish::<Index>(&path, key.0, bytes, |temp| require::<Index>(temp, &path, key.0).map(drop))
    }

    /// Begins an index whose bytes another process writes, into [`PendingIndex::path`].
    ///
    /// # Errors
    /// [`StoreError::NoRoom`] and [`StoreError::Io`] if the temporary file cannot be made.
    pub fn begin_index(&self, key: &IndexKey) -> Result<PendingIndex, StoreError> {
        let file = PendingFile::new(self, &self.index_path(key))?;
        Ok(PendingIndex { store: self.clone(), key: *key, file })
    }

    /// Publishes a vocabulary of another origin, like [`Store::publish_verified_index`].
    ///
    /// # Errors
    /// As for [`Store::publish_verified_index`].
    pub fn publish_verified_vocabulary(
        &self,
        digest: &VocabularyDigest,
        bytes: &[u8],
    ) -> Result<ArtifactDigest, StoreError> {
        let path = self.vocabulary_path(digest);
        self.publish::<Vocabulary>(&path, digest.0, bytes, |temp| {
            require::<Vocabulary>(temp, &path, digest.0).map(drop)
        })
    }

    fn publish<A: ArtifactFile>(
        &self,
        path: &Path,
        name: Digest,
        bytes: &[u8],
        check: impl FnOnce(&Path) -> Result<(), StoreError>,
    ) -> Result<ArtifactDigest, StoreError> {
        // Before writing anything: publishing twice is common, and a full disk does not matter then.
        if let Some(digest) = self.already_published::<A>(path, name, bytes)? {
            return Ok(digest);
        }
        match publish(self, path, bytes, OnConflict::Keep, check)? {
            Outcome::New(digest) => Ok(digest),
            // Another publisher was faster.
            Outcome::Kept => digest_file(path).map_err(StoreError::open("read", path)),
        }
    }

    /// The digest of the file that has the name already. Equal bytes make equal files; a file with other bytes is verified, or
    /// damage that only `verify` sees would stay for ever.
    fn already_published<A: ArtifactFile>(
        &self,
        path: &Path,
        name: Digest,
        bytes: &[u8],
    ) -> Result<Option<ArtifactDigest>, StoreError> {
        let mut found = match digest_file(path) {
            Ok(found) => Some(found),
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // `look` says what it is.
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::PermissionDenied => None,
            Err(OpenError::NotRegular { .. }) => None,
            Err(error) => return Err(StoreError::open("read", path)(error)),
        };
        if found.is_none_or(|found| found.0 != Digest::of(bytes)) {
            match look::<A>(self, path, name, Depth::Verify)? {
                Looked::Sound(artifact) => {
                    tracing::warn!(path = %path.display(), "another file of this name is published already; it stays");
                    found = Some(artifact.artifact().digest());
                }
                Looked::OtherVersion => {
                    self.set_aside(
                        path,
                        Reason::Version,
                        "another version's file was in the way of a new one",
                    );
                    return Ok(None);
                }
                Looked::Absent | Looked::Quarantined => return Ok(None),
            }
        }
        // Its publisher may have died between the rename and this.
        path.parent().map_or(Ok(()), sync_folder)?;
        Ok(found)
    }

    /// Removes the index of `key`; says whether there was one. Processes that have it mapped keep it. The owner
    /// removes the catalog's record afterwards.
    ///
    /// # Errors
    /// [`StoreError::Io`] if it is there and cannot be removed.
    pub fn remove_index(&self, key: &IndexKey) -> Result<bool, StoreError> {
        let path = self.index_path(key);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io("remove", &path)(error)),
        }
    }

    /// Removes the file of a vocabulary; says whether there was one. Processes that have it mapped keep it. The caller sees to
    /// it that no name and no index needs it.
    ///
    /// # Errors
    /// [`StoreError::Io`] if it is there and cannot be removed.
    pub fn remove_vocabulary(&self, digest: &VocabularyDigest) -> Result<bool, StoreError> {
        let path = self.vocabulary_path(digest);
        match fs::remove_file(&path) {
            Ok(()) => {
                stamp::remove(&path);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io("remove", &path)(error)),
        }
    }
}

/// An index that is being written: a temporary file, empty at first, in the folder of the final file. Dropping it removes
/// the file.
#[derive(Debug)]
pub struct PendingIndex {
    store: Store,
    key: IndexKey,
    file: PendingFile,
}

impl PendingIndex {
    /// The path to write its bytes to. The writer must have ended before [`PendingIndex::publish`]: a file that is truncated
    /// while it is read kills the reader.
    pub fn path(&self) -> &Path {
        self.file.temp_path()
    }

    /// Writes its bytes, piece by piece, until `next` has none left. Blocks as long as `next` and the disk do.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`] and [`StoreError::Io`].
    pub fn write<B: AsRef<[u8]>>(&self, mut next: impl FnMut() -> Option<B>) -> Result<(), StoreError> {
        let failed = |error| StoreError::io("write", self.path())(error);
        let mut file = File::options().write(true).open(self.path()).map_err(failed)?;
        while let Some(piece) = next() {
            file.write_all(piece.as_ref()).map_err(failed)?;
        }
        Ok(())
    }

    /// Verifies the written file to its last byte and publishes it: durable when it returns. If a sound file already has
    /// the name, it stays, and its digest is returned. O(bytes).
    ///
    /// # Errors
    /// As for [`Store::publish_verified_index`]. Nothing is visible then, and the temporary file is gone.
    pub fn publish(self) -> Result<ArtifactDigest, StoreError> {
        let Self { store, key, file } = self;
        let path = store.index_path(&key);
        let index = require::<Index>(file.temp_path(), &path, key.0)?;
        if let Some(digest) = store.already_published::<Index>(&path, key.0, index.file_bytes())? {
            return Ok(digest);
        }
        let digest = ArtifactDigest(Digest::of(index.file_bytes()));
        if file.commit(&store, OnConflict::Keep)? {
            return Ok(digest);
        }
        // Another publisher was faster.
        digest_file(&path).map_err(StoreError::open("read", &path))
    }
}
