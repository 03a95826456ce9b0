use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gobo_artifact::file::OpenError;
use gobo_artifact::{Index, Vocabulary};
use gobo_types::{ArtifactDigest, Digest, IndexKey, VocabularyDigest};

use crate::access::{create_folder, create_folders, create_root, sync_folder};
use crate::artifact::{ArtifactFile, Depth, Expected, Looked, look, require};
use crate::layout::{Layout, fan_out_names};
use crate::publish::{Begun, Outcome, Taken, digest_file, publish};
use crate::quarantine::Reason;
use crate::{FileSystem, PublishStep, StoreError};

type Observer = Arc<dyn Fn(PublishStep) + Send + Sync>;

/// A directory of published files. Cheap to clone; any number of processes may use one directory at once.
///
/// # Contract
/// - A file under its final name is whole, on the disk, and never changes.
/// - A reader never crashes over a file: what is damaged, foreign or of another version is a miss.
/// - Removing a file does not disturb those who have it mapped.
#[derive(Clone)]
pub struct Store {
    layout: Arc<Layout>,
    observer: Option<Observer>,
    verifications: Arc<AtomicU64>,
    quarantined: Arc<AtomicU64>,
    /// The file system of the network that the store is on.
    pub(crate) network: Option<Arc<str>>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("root", &self.root()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store at `root`, creating what is missing of its folders. A complete store that may only be read is
    /// opened too: its files serve, publishing to it fails.
    ///
    /// # Errors
    /// [`StoreError::Io`] (or [`StoreError::NoRoom`]) naming the folder that is missing and cannot be created.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_on(root, FileSystem::of)
    }

    /// As [`Store::open`], taking `probe`'s word for what file system the store is on: for tests.
    ///
    /// # Errors
    /// As for [`Store::open`].
    pub fn open_on(
        root: impl Into<PathBuf>,
        probe: impl FnOnce(&Path) -> io::Result<FileSystem>,
    ) -> Result<Self, StoreError> {
        let root = root.into();
        // Paths are handed to other processes: they must not depend on this one's current folder.
        let root = std::path::absolute(&root).map_err(StoreError::io("find", &root))?;
        let layout = Layout::new(root);
        create_root(layout.root())?;
        for folder in [layout.indices(), layout.vocabularies(), layout.names(), layout.quarantine()] {
            create_folder(&folder)?;
        }
        // Where the system does not say, it is taken for a disk of this host.
        let network = probe(layout.root()).ok().and_then(|found| found.network().map(Arc::from));
        let (verifications, quarantined) = (Arc::default(), Arc::default());
        Ok(Self { layout: Arc::new(layout), observer: None, verifications, quarantined, network })
    }

    /// Makes all 256 folders of indices ahead, so that no publish has to make one and wait until its name is on the disk:
    /// for the store's owner. What is no folder in the place of one, here and among vocabularies, goes to quarantine.
    ///
    /// # Errors
    /// [`StoreError::Io`] (or [`StoreError::NoRoom`]) naming the folder that cannot be created.
    pub fn prepare(&self) -> Result<(), StoreError> {
        let parent = self.layout.indices();
        let in_the_way = |path: &Path| {
            let why = "it is in the place of a folder of published files";
            self.quarantine(path, Reason::Corrupt, why).map(drop)
        };
        create_folders(&parent, fan_out_names().map(|two| parent.join(two)), &in_the_way)?;
        let parent = self.layout.vocabularies();
        for path in fan_out_names().map(|two| parent.join(two)) {
            if fs::symlink_metadata(&path).is_ok() && !path.is_dir() {
                in_the_way(&path)?;
            }
        }
        Ok(())
    }

    /// The same store, telling `observer` of each step of publishing done through this handle and its clones. For
    /// tests that stop in the middle; called on the publishing thread.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn Fn(PublishStep) + Send + Sync>) -> Self {
        self.observer = Some(observer);
        self
    }

    pub(crate) fn observe(&self, step: PublishStep) {
        if let Some(observer) = &self.observer {
            observer(step);
        }
    }

    /// How many published files this handle and its clones have read whole, to verify them.
    pub fn verifications(&self) -> u64 {
        self.verifications.load(Ordering::Relaxed)
    }

    pub(crate) fn count_verification(&self) {
        self.verifications.fetch_add(1, Ordering::Relaxed);
    }

    /// How many things this handle and its clones have moved to quarantine.
    pub fn quarantined(&self) -> u64 {
        self.quarantined.load(Ordering::Relaxed)
    }

    pub(crate) fn count_quarantined(&self) {
        self.quarantined.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The store's directory, absolute.
    pub fn root(&self) -> &Path {
        self.layout.root()
    }

    /// Where the daemon that owns this store listens: `<root>/daemon.sock`.
    pub fn socket_path(&self) -> PathBuf {
        self.layout.socket()
    }

    /// Where files are kept that failed their checks: `<root>/quarantine`.
    pub fn quarantine_path(&self) -> PathBuf {
        self.layout.quarantine()
    }

    /// Where the index of this key lies once it is published: `<root>/v0/index/ab/<key>.gobo`.
    pub fn index_path(&self, key: &IndexKey) -> PathBuf {
        self.layout.index(key)
    }

    /// Where this vocabulary lies once it is published: `<root>/v0/vocab/ab/<digest>-<slice-set epoch>.gobov`.
    pub fn vocabulary_path(&self, digest: &VocabularyDigest) -> PathBuf {
        self.layout.vocabulary(digest)
    }

    /// Publishes an index that this process compiled: durable when it returns. If a sound file already has the name,
    /// that one stays, and its digest is returned. O(bytes).
    ///
    /// # Errors
    /// [`StoreError::NoRoom`] on a full disk and [`StoreError::Io`] for what else the file system refuses. Nothing is
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

    /// Publishes an index that came from elsewhere: opened, verified to its last byte and found to be the one of `key`
    /// before it gets its name.
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
        let begun = Begun::new(self, &self.index_path(key))?;
        Ok(PendingIndex { store: self.clone(), key: *key, begun })
    }

    /// Publishes a vocabulary that came from elsewhere, like [`Store::publish_verified_index`].
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
        match publish(self, path, bytes, Taken::Keep, check)? {
            Outcome::New(digest) => Ok(digest),
            // Someone was faster by a moment.
            Outcome::Kept => digest_file(path).map_err(StoreError::open("read", path)),
        }
    }

    /// The digest of the file that has the name already. Equal bytes make equal files; a file with other bytes has to
    /// prove itself, or damage that only `verify` sees would stay for ever.
    fn already_published<A: ArtifactFile>(
        &self,
        path: &Path,
        name: Digest,
        bytes: &[u8],
    ) -> Result<Option<ArtifactDigest>, StoreError> {
        let mut found = match digest_file(path) {
            Ok(found) => Some(found),
            Err(OpenError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            // A closer look says what it is.
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

    /// Maps the index of `key`. O(1): the file is checked as far as safety needs, and its key is the one asked for.
    /// `None`: not published, of another version, or damaged or foreign, in which case it was moved to quarantine. On a file
    /// system of the network ([`Store::network`]) it is copied into memory instead, O(bytes).
    ///
    /// # Errors
    /// [`StoreError::Artifact`] if the file is there and this process cannot read it.
    pub fn open_index(&self, key: &IndexKey) -> Result<Option<Index>, StoreError> {
        look(self, &self.index_path(key), key.0, Depth::Open).map(Looked::sound)
    }

    /// As [`Store::open_index`], of the file with this header ([`gobo_artifact::layout::Artifact::header_digest`]): one with another
    /// header is foreign, whatever its length. With `whole` all of it is read, O(bytes): then every byte is the one on record.
    ///
    /// # Errors
    /// As for [`Store::open_index`].
    pub fn open_recorded_index(
        &self,
        key: &IndexKey,
        header: &Digest,
        whole: bool,
    ) -> Result<Option<Index>, StoreError> {
        let depth = if whole { Depth::Verify } else { Depth::Open };
        look(self, &self.index_path(key), Expected::recorded(key.0, *header), depth).map(Looked::sound)
    }

    /// Maps a vocabulary, like [`Store::open_index`].
    ///
    /// # Errors
    /// As for [`Store::open_index`].
    pub fn open_vocabulary(&self, digest: &VocabularyDigest) -> Result<Option<Vocabulary>, StoreError> {
        look(self, &self.vocabulary_path(digest), digest.0, Depth::Open).map(Looked::sound)
    }

    /// Maps the index of `key` and reads all of it: damage that [`Store::open_index`] does not see sends it to quarantine
    /// too. O(bytes). This is no use of the file: where the system allows it, its time of access stays as it was.
    ///
    /// # Errors
    /// As for [`Store::open_index`].
    pub fn verify_index(&self, key: &IndexKey) -> Result<Option<Index>, StoreError> {
        look(self, &self.index_path(key), key.0, Depth::Verify).map(Looked::sound)
    }

    /// Maps a vocabulary to compile with: a wrong byte in it would make wrong masks, so all of it is read, unless a stamp
    /// beside it says that this very file was verified on this host since it started, by a reader that looks for as
    /// much. O(1) then, else as [`Store::verify_vocabulary`], and the stamp is written where that can be.
    ///
    /// # Errors
    /// As for [`Store::open_index`].
    pub fn open_verified_vocabulary(
        &self,
        digest: &VocabularyDigest,
    ) -> Result<Option<Vocabulary>, StoreError> {
        look(self, &self.vocabulary_path(digest), digest.0, Depth::VerifyOnce).map(Looked::sound)
    }

    /// Maps a vocabulary and reads all of it, whatever its stamp says, like [`Store::verify_index`].
    ///
    /// # Errors
    /// As for [`Store::open_index`].
    pub fn verify_vocabulary(&self, digest: &VocabularyDigest) -> Result<Option<Vocabulary>, StoreError> {
        look(self, &self.vocabulary_path(digest), digest.0, Depth::Verify).map(Looked::sound)
    }

    /// Removes the index of `key`; says whether there was one. Those who have it mapped keep it. The catalog's record
    /// is the owner's to remove, afterwards.
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
}

/// An index under way: a temporary file, empty at first, beside where it is to be. Dropping it removes the file.
#[derive(Debug)]
pub struct PendingIndex {
    store: Store,
    key: IndexKey,
    begun: Begun,
}

impl PendingIndex {
    /// Where its bytes are to be written. The writer must have ended before [`PendingIndex::publish`]: a file that is
    /// cut while it is read ends the reader.
    pub fn path(&self) -> &Path {
        self.begun.temp_path()
    }

    /// Verifies what was written to its last byte and publishes it: durable when it returns. If a sound file already has
    /// the name, that one stays, and its digest is returned. O(bytes).
    ///
    /// # Errors
    /// As for [`Store::publish_verified_index`]. Nothing is visible then, and the temporary file is gone.
    pub fn publish(self) -> Result<ArtifactDigest, StoreError> {
        let Self { store, key, begun } = self;
        let path = store.index_path(&key);
        let index = require::<Index>(begun.temp_path(), &path, key.0)?;
        if let Some(digest) = store.already_published::<Index>(&path, key.0, index.file_bytes())? {
            return Ok(digest);
        }
        let digest = ArtifactDigest(Digest::of(index.file_bytes()));
        if begun.finish(&store, Taken::Keep)? {
            return Ok(digest);
        }
        // Someone was faster by a moment.
        digest_file(&path).map_err(StoreError::open("read", &path))
    }
}
