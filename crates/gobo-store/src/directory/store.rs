//! The handle to a store: where it lies, and counts of events.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gobo_types::{IndexKey, VocabularyDigest};

use super::folders::{create_folder, create_root};
use super::layout::Layout;
use super::{FileSystem, PublishStep};
use crate::{Owner, StoreError};

type Observer = Arc<dyn Fn(PublishStep) + Send + Sync>;

/// A directory of published files. Cheap to clone; any number of processes may use one directory at once.
///
/// # Contract
/// - A file under its final name is whole, on the disk, and never changes.
/// - A reader never crashes because of a file: one that is damaged, foreign or of another version is a miss.
/// - Removing a file does not disturb the processes that map it.
#[derive(Clone)]
pub struct Store {
    layout: Arc<Layout>,
    observer: Option<Observer>,
    verifications: Arc<AtomicU64>,
    quarantined: Arc<AtomicU64>,
    /// The network file system that holds the store, if one does.
    network: Option<Arc<str>>,
    /// What this process is where it owns the catalog.
    owner: Arc<Owner>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("root", &self.root()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store at `root`, and creates its missing folders. A complete store that may only be read is opened too: its
    /// files serve, publishing to it fails.
    ///
    /// # Errors
    /// [`StoreError::Io`] (or [`StoreError::NoRoom`]) naming the folder that is missing and cannot be created.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        Self::open_on(root, FileSystem::of)
    }

    /// As [`Store::open`]; `probe` tells the file system of a path. For tests.
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
        // An unknown file system counts as a local disk.
        let network = probe(layout.root()).ok().and_then(|found| found.network().map(Arc::from));
        let (verifications, quarantined) = (Arc::default(), Arc::default());
        let owner = Arc::default();
        Ok(Self { layout: Arc::new(layout), observer: None, verifications, quarantined, network, owner })
    }

    /// The same store, whose catalog this process owns as `owner`: so says the error that other processes get meanwhile.
    #[must_use]
    pub fn owned_as(mut self, owner: Owner) -> Self {
        self.owner = Arc::new(owner);
        self
    }

    #[cfg(feature = "catalog")]
    pub(crate) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The same store, which tells `observer` of each step of publishing through this handle and its clones. For tests that
    /// stop in the middle; called on the publishing thread.
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

    /// The socket of the daemon that owns this store: `<root>/daemon.sock`.
    pub fn socket_path(&self) -> PathBuf {
        self.layout.socket()
    }

    /// The folder of the files that failed a check: `<root>/quarantine`.
    pub fn quarantine_path(&self) -> PathBuf {
        self.layout.quarantine()
    }

    /// The path of the index of this key, once it is published: `<root>/v0/index/ab/<key>.gobo`.
    pub fn index_path(&self, key: &IndexKey) -> PathBuf {
        self.layout.index(key)
    }

    /// The path of this vocabulary, once it is published: `<root>/v0/vocab/ab/<digest>-<slice-set epoch>.gobov`.
    pub fn vocabulary_path(&self, digest: &VocabularyDigest) -> PathBuf {
        self.layout.vocabulary(digest)
    }

    /// The network file system that holds the store, if one does. Files are then copied into memory and not mapped, because
    /// a file that another host truncates would kill the processes that map it, and no [`Catalog`](crate::Catalog) can be
    /// opened.
    pub fn network(&self) -> Option<&str> {
        self.network.as_deref()
    }

    /// Refuses a store that cannot have an owner: one on a network file system.
    #[cfg(feature = "catalog")]
    pub(crate) fn refuse_network(&self) -> Result<(), StoreError> {
        self.network().map_or(Ok(()), |kind| {
            let (path, kind) = (self.root().to_owned(), kind.to_owned());
            Err(StoreError::NetworkFileSystem { path, kind })
        })
    }
}
