//! Opens and verifies published files: a sound file is mapped, any other is a miss.

use gobo_artifact::{Index, Vocabulary};
use gobo_types::{Digest, IndexKey, VocabularyDigest};

use super::check::{Depth, Expected, Looked, look};
use crate::{Store, StoreError};

impl Store {
    /// Maps the index of `key`. O(1): the file is checked as far as safety needs, and says that its key is `key`. `None`: not
    /// published, of another version, or damaged or foreign, in which case it was moved to quarantine. On a network file
    /// system ([`Store::network`]) it is copied into memory instead, O(bytes).
    ///
    /// # Errors
    /// [`StoreError::Artifact`] if the file is there and this process cannot read it.
    pub fn open_index(&self, key: &IndexKey) -> Result<Option<Index>, StoreError> {
        look(self, &self.index_path(key), key.0, Depth::Open).map(Looked::sound)
    }

    /// As [`Store::open_index`], of the file with this header ([`gobo_artifact::layout::Artifact::header_digest`]): a file with another
    /// header is foreign, whatever its length. With `whole` all of it is read, O(bytes): then every byte is the recorded one.
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

    /// Maps the index of `key` and reads all of it: a file with damage that [`Store::open_index`] does not see goes to
    /// quarantine too. O(bytes). This does not count as a use: where the system allows it, its access time is unchanged.
    ///
    /// # Errors
    /// As for [`Store::open_index`].
    pub fn verify_index(&self, key: &IndexKey) -> Result<Option<Index>, StoreError> {
        look(self, &self.index_path(key), key.0, Depth::Verify).map(Looked::sound)
    }

    /// Maps a vocabulary to compile with. A wrong byte in it would make wrong masks, so all of it is read, unless a stamp
    /// beside it says that this very file was verified on this host since its start, by an equally strict reader. O(1) then;
    /// otherwise as [`Store::verify_vocabulary`], and the stamp is written where possible.
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
}
