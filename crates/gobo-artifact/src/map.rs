//! The one place that maps files. Everything else sees a byte slice.
#![expect(unsafe_code, reason = "mapping a file is the point of the format, and memmap2 cannot make it safe")]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

use crate::AlignedBytes;

/// The bytes of one artifact: mapped from a file, or in memory with the same alignment.
#[derive(Debug)]
pub(crate) enum Backing {
    Mapped(memmap2::Mmap),
    Heap(AlignedBytes),
}

impl Backing {
    /// Maps a regular file read-only. O(1).
    pub(crate) fn map(path: &Path) -> io::Result<Self> {
        // Looked at before it is opened: opening a pipe waits for its writer.
        let not_regular = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
        if !std::fs::metadata(path)?.is_file() {
            return Err(not_regular());
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(not_regular());
        }
        if metadata.len() == 0 {
            // An empty file cannot be mapped; it fails the header check like any other foreign file.
            return Ok(Self::Heap(AlignedBytes::new()));
        }
        // SAFETY: the map is sound as long as nobody writes to the file or truncates it while it is mapped. gobo never
        // does: a published file has mode 0444, is complete before its name exists, is never opened for writing
        // again, and goes away by unlink only, which live maps survive. Whoever writes into a store by other means
        // breaks this promise; the documentation says so.
        let map = unsafe { memmap2::Mmap::map(&file)? };
        Ok(Self::Mapped(map))
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
            Self::Mapped(map) => map,
            Self::Heap(bytes) => bytes,
        }
    }
}
