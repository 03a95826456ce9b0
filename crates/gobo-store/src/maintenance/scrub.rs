//! Verifies published files one by one, at the pace of the caller.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;

use gobo_artifact::file::{Links, OpenRegular};
use gobo_artifact::{Index, Vocabulary};
use gobo_types::{Digest, IndexKey, VocabularyDigest};

use crate::files::check::{Depth, Expected, Looked, look};
use crate::{Store, StoreError};

/// Files are read in pieces of this size, so that a caller can pace the reading.
const PIECE_BYTES: usize = 1 << 20;

/// The result of verifying a published file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Checked {
    /// Every byte of it is right.
    Sound,
    /// There is no such file.
    Absent,
    /// Written by another version; left alone.
    OtherVersion,
    /// Damaged or foreign; moved to quarantine where possible.
    Damaged,
}

impl<A> From<Looked<A>> for Checked {
    fn from(looked: Looked<A>) -> Self {
        match looked {
            Looked::Sound(_) => Self::Sound,
            Looked::Absent => Self::Absent,
            Looked::OtherVersion => Self::OtherVersion,
            Looked::Quarantined => Self::Damaged,
        }
    }
}

impl Store {
    /// Verifies the index of `key`, like [`Store::verify_index`], and returns the result.
    ///
    /// # Errors
    /// As for [`Store::open_index`].
    pub fn check_index(&self, key: &IndexKey) -> Result<Checked, StoreError> {
        look::<Index>(self, &self.index_path(key), key.0, Depth::Verify).map(Checked::from)
    }

    /// As [`Store::check_index`], of the file with this header ([`gobo_artifact::layout::Artifact::header_digest`]): a sound file with
    /// another header is foreign.
    ///
    /// # Errors
    /// As for [`Store::open_index`].
    pub fn check_recorded_index(&self, key: &IndexKey, header: &Digest) -> Result<Checked, StoreError> {
        let expected = Expected::recorded(key.0, *header);
        look::<Index>(self, &self.index_path(key), expected, Depth::Verify).map(Checked::from)
    }

    /// Verifies a vocabulary whatever its stamp says, like [`Store::verify_vocabulary`], and returns the result.
    ///
    /// # Errors
    /// As for [`Store::open_index`].
    pub fn check_vocabulary(&self, digest: &VocabularyDigest) -> Result<Checked, StoreError> {
        look::<Vocabulary>(self, &self.vocabulary_path(digest), digest.0, Depth::Verify).map(Checked::from)
    }

    /// Reads a file into the system's cache, and calls `each` with the length of every piece, at most 1 MiB. `each` may wait, so
    /// that verifying the file afterwards does not read the disk too fast, or stop. An unreadable file is skipped: verifying
    /// will say why.
    pub fn read_through(&self, path: &Path, each: &mut dyn FnMut(u64) -> ControlFlow<()>) {
        let Ok(mut file) = OpenRegular::new(Links::Refuse).unnoticed().open(path) else { return };
        let mut piece = vec![0; PIECE_BYTES];
        while let Ok(length @ 1..) = file.read(&mut piece) {
            if each(length as u64).is_break() {
                return;
            }
        }
    }
}
