//! The one place that maps files. Everything else sees a byte slice.
#![expect(unsafe_code, reason = "mapping a file is the point of the format, and memmap2 cannot make it safe")]

use std::fs::{File, Metadata};
use std::io;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::file::aligned::AlignedBytes;
use crate::file::regular::{Links, OpenError, OpenRegular, check_regular};

/// The state of an opened file in the file system. Writing to the file, renaming it and changing its mode change this state; another
/// file in its place has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileState {
    /// The device that holds it.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its length.
    pub bytes: u64,
    /// When its bytes changed last: seconds and nanoseconds.
    pub modified: (i64, i64),
    /// When anything of it changed last: seconds and nanoseconds.
    pub changed: (i64, i64),
}

impl FileState {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The bytes of one artifact: mapped from a file, or in memory with the same alignment.
#[derive(Debug)]
pub(crate) enum Backing {
    /// And the state of the file, taken from what was opened before any of it was read.
    Mapped(memmap2::Mmap, FileState),
    Heap(AlignedBytes),
}

impl Backing {
    /// Maps a regular file read-only. O(1).
    pub(crate) fn map(path: &Path) -> Result<Self, OpenError> {
        Self::map_file(&OpenRegular::new(Links::Follow).open(path)?)
    }

    /// As [`Backing::map`], of a file that is open.
    pub(crate) fn map_file(file: &File) -> Result<Self, OpenError> {
        let metadata = file.metadata()?;
        check_regular(metadata.file_type())?;
        // Told to the map, which would ask the system once more.
        let bytes = usize::try_from(metadata.len()).map_err(io::Error::other)?;
        if bytes == 0 {
            // An empty file cannot be mapped; it fails the header check like any other foreign file.
            return Ok(Self::Heap(AlignedBytes::new()));
        }
        // SAFETY: the map is sound as long as nobody writes to the file or truncates it while it is mapped. gobo never
        // does: a published file has mode 0444, is complete before its name exists, is never opened for writing
        // again, and goes away by unlink only, which live maps survive. Whoever writes into a store by other means
        // breaks this promise; the documentation says so.
        let map = unsafe { memmap2::MmapOptions::new().len(bytes).map(file) }.map_err(OpenError::Io)?;
        Ok(Self::Mapped(map, FileState::of(&metadata)))
    }

    /// The state of the mapped file, as it was when it was opened.
    pub(crate) fn state(&self) -> Option<FileState> {
        match self {
            Self::Mapped(_, state) => Some(*state),
            Self::Heap(_) => None,
        }
    }

    /// Copies bytes into aligned memory.
    pub(crate) fn heap(bytes: &[u8]) -> Self {
        let mut aligned = AlignedBytes::with_capacity(bytes.len());
        aligned.extend_from_slice(bytes);
        Self::Heap(aligned)
    }
}

impl Deref for Backing {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map, _) => map,
            Self::Heap(bytes) => bytes,
        }
    }
}
