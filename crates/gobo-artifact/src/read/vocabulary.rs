//! A vocabulary file, opened: O(1), and every lookup is checked against the bounds of its table.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;

use gobo_types::{CharCount, Digest, TokenId, VocabularyDigest};

use crate::layout::artifact::{Artifact, Span};
use crate::layout::error::{ArtifactError, Fault};
use crate::layout::kind::ArtifactKind;
use crate::layout::section as kinds;
use crate::layout::vocabulary::root::VocabularyRoot;
#[cfg(feature = "write")]
use crate::layout::vocabulary::shared_rows::{RowSum, SharedRows};
use crate::layout::vocabulary::slice::{MAX_SLICES, Slice, SliceEntry};
use crate::layout::vocabulary::trie::{self, Trie, TrieNode};
use crate::read::encoder_spans::EncoderSpans;
use crate::read::joined::JoinedRows;

/// Most shared rows of a vocabulary file. Each is as large as a dense row, and a writer compares every dense row with each.
const MAX_SHARED_ROWS: usize = 64;

/// A vocabulary file: the bytes of every id, whether it is special, and the tries that the compiler walks.
///
/// `Send + Sync`; one for each vocabulary and process. Its memory is the map of the file, which the processes of a host share.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// # let (_, vocabulary, _) = small::pattern();
/// // Ids 0 `a`, 1 `b`, 2 `ab`, 3 an EOS.
/// assert_eq!(vocabulary.len(), 4);
/// assert_eq!(vocabulary.row_words(), 1);
/// assert_eq!(vocabulary.bytes(2), b"ab");
/// assert!(vocabulary.is_special(3) && !vocabulary.is_special(2));
/// ```
#[derive(Debug)]
pub struct Vocabulary {
    pub(super) artifact: Artifact,
    pub(super) root: VocabularyRoot,
    pub(super) offsets: Span,
    pub(super) bytes: Span,
    pub(super) special: Span,
    pub(super) trie: Span,
    pub(super) trie_order: Span,
    pub(super) trie_set_ids: Span,
    pub(super) trie_sets: Span,
    pub(super) slices: Span,
    pub(super) slice_chars: Span,
    pub(super) slice_rows: Span,
    pub(super) slice_long: Span,
    pub(super) shared_rows: Span,
    pub(super) shared_rows_digest: Digest,
    /// The hash and the count of each shared row, for a [`RowEncoder`](crate::write::RowEncoder). Computed at the first use, by compilers.
    #[cfg(feature = "write")]
    pub(super) shared_row_sums: OnceLock<Box<[RowSum]>>,
    /// Computed at the first use, by compilers.
    pub(super) trie_heights: OnceLock<Box<[u8]>>,
    /// Computed at the first use, by matchers near a bound of a length.
    pub(super) token_chars: OnceLock<Box<[u8]>>,
    /// [`Self::token_ascii`].
    pub(super) token_ascii: OnceLock<Box<[u128]>>,
    pub(super) encoder: Option<EncoderSpans>,
    /// Filled by matchers of canonical indices.
    pub(super) joined: JoinedRows,
}

impl Vocabulary {
    /// Maps a vocabulary file. O(1); safe on any bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Io`] if it cannot be mapped, [`ArtifactError::Format`] if it is no sound vocabulary file.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::Vocabulary;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("vocabulary.gobov");
    /// # std::fs::write(&path, small::files(&["a"], &gobo_types::Constraint::regex("a+")).0)?;
    /// let vocabulary = Vocabulary::open(&path)?;
    /// assert_eq!(vocabulary.bytes(0), b"a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self, ArtifactError> {
        Self::of(Artifact::open(path, ArtifactKind::Vocabulary)?)
    }

    /// Maps a file that is open already; `path` is for errors. O(1), as [`Self::open`].
    ///
    /// # Errors
    /// As [`Self::open`].
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use std::fs::File;
    /// use gobo_artifact::Vocabulary;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("vocabulary.gobov");
    /// # std::fs::write(&path, small::files(&["a"], &gobo_types::Constraint::regex("a+")).0)?;
    /// let vocabulary = Vocabulary::open_file(&File::open(&path)?, &path)?;
    /// assert_eq!(vocabulary.bytes(0), b"a");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_file(file: &File, path: &Path) -> Result<Self, ArtifactError> {
        Self::of(Artifact::open_file(file, path, ArtifactKind::Vocabulary)?)
    }

    /// Reads a vocabulary from bytes, which are copied. O(bytes).
    ///
    /// # Errors
    /// [`ArtifactError::Format`] if they are no sound vocabulary file.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::Vocabulary;
    ///
    /// # let (bytes, _) = small::files(&["a"], &gobo_types::Constraint::regex("a+"));
    /// assert!(Vocabulary::from_bytes(&bytes).is_ok());
    /// assert!(Vocabulary::from_bytes(&bytes[1..]).is_err());
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ArtifactError> {
        Self::of(Artifact::from_bytes(bytes, ArtifactKind::Vocabulary)?)
    }

    fn of(artifact: Artifact) -> Result<Self, ArtifactError> {
        let root: VocabularyRoot = artifact.root()?;
        let len = u64::from(root.len);
        let nodes = u64::from(root.trie_nodes);
        let slices = artifact.open_span::<SliceEntry>(kinds::SLICES)?;
        let count = artifact.get::<SliceEntry>(&slices).len();
        if count > MAX_SLICES {
            let what = format!("it has {count} slices, more than {MAX_SLICES}");
            return Err(artifact.fault(Fault::Section { section: "slices".into(), what }));
        }
        let shared_rows = artifact.open_span::<u32>(kinds::SHARED_ROWS)?;
        let (words, row_words) = (artifact.get::<u32>(&shared_rows).len() as u64, len.div_ceil(32));
        if !words.is_multiple_of(row_words.max(1)) || words > MAX_SHARED_ROWS as u64 * row_words {
            let what = format!("it has {words} words, not up to {MAX_SHARED_ROWS} times {row_words}");
            return Err(artifact.fault(Fault::Section { section: "shared rows".into(), what }));
        }
        Ok(Self {
            offsets: artifact.span::<u32>(kinds::TOKEN_OFFSETS, len + 1)?,
            bytes: artifact.open_span::<u8>(kinds::TOKEN_BYTES)?,
            special: artifact.span::<u32>(kinds::SPECIAL, len.div_ceil(32))?,
            trie: artifact.span::<TrieNode>(kinds::TRIE, nodes)?,
            trie_order: artifact.span::<u32>(kinds::TRIE_ORDER, 2 * u64::from(root.ordinary))?,
            trie_set_ids: artifact.span::<u16>(kinds::TRIE_SET_IDS, nodes)?,
            trie_sets: artifact.open_span::<[u32; 8]>(kinds::TRIE_SETS)?,
            slices,
            slice_chars: artifact.open_span::<[u32; 2]>(kinds::SLICE_CHARS)?,
            slice_rows: artifact.open_span::<u32>(kinds::SLICE_ROWS)?,
            slice_long: artifact.open_span::<[u32; 2]>(kinds::SLICE_LONG)?,
            shared_rows_digest: Digest(artifact.section(kinds::SHARED_ROWS).digest),
            shared_rows,
            #[cfg(feature = "write")]
            shared_row_sums: OnceLock::new(),
            trie_heights: OnceLock::new(),
            token_chars: OnceLock::new(),
            token_ascii: OnceLock::new(),
            encoder: EncoderSpans::open(&artifact, root.len)?,
            joined: JoinedRows::default(),
            root,
            artifact,
        })
    }

    /// The header and the sections of the file. O(1).
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// All bytes of the file. O(1).
    pub fn file_bytes(&self) -> &[u8] {
        self.artifact.bytes()
    }

    /// The digest of the canonical table: the name of the vocabulary in keys. O(1).
    pub fn digest(&self) -> VocabularyDigest {
        VocabularyDigest::from(self.artifact.key())
    }

    /// Counts and byte sets. O(1).
    pub fn root(&self) -> &VocabularyRoot {
        &self.root
    }

    /// The vocabulary length: highest id + 1. O(1).
    #[expect(clippy::len_without_is_empty, reason = "a vocabulary without ids cannot be written")]
    pub fn len(&self) -> u32 {
        self.root.len
    }

    /// Words of a row, 32 bits each: `ceil(len / 32)`. O(1).
    pub fn row_words(&self) -> usize {
        self.root.len.div_ceil(32) as usize
    }

    /// The bytes of `id`; empty for holes and ids beyond the vocabulary. O(1).
    #[inline]
    pub fn bytes(&self, id: TokenId) -> &[u8] {
        let offsets: &[u32] = self.artifact.get(&self.offsets);
        let bounds = offsets.get(id as usize).zip(offsets.get(id as usize + 1));
        bounds
            .and_then(|(&from, &to)| self.artifact.get::<u8>(&self.bytes).get(from as usize..to as usize))
            .unwrap_or_default()
    }

    /// Whether `id` is special: no mask of an index has it, whatever its bytes. O(1).
    pub fn is_special(&self, id: TokenId) -> bool {
        let words: &[u32] = self.artifact.get(&self.special);
        words.get((id >> 5) as usize).is_some_and(|word| word >> (id & 31) & 1 == 1)
    }

    /// The trie over all ordinary tokens. O(1).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (_, vocabulary, _) = small::pattern();
    /// // The tokens that `abc` begins with: how many bytes, and the ids.
    /// let found: Vec<(usize, &[u32])> = vocabulary.trie().prefixes(b"abc").collect();
    /// assert_eq!(found, [(1, [0].as_slice()), (2, [2].as_slice())]);
    /// ```
    pub fn trie(&self) -> Trie<'_> {
        Trie {
            nodes: self.artifact.get(&self.trie),
            order: self.artifact.get(&self.trie_order),
            set_ids: self.artifact.get(&self.trie_set_ids),
            sets: self.artifact.get(&self.trie_sets),
            root: 0,
            from: 0,
            to: self.root.ordinary,
        }
    }

    /// `[nodes of all tries]`: the bytes of the longest text that leads from above a node to a node of its block at or after
    /// it, or below one of those; 255 for more. For the first node of a block, that is how long texts below its parent are.
    ///
    /// O(1), but for the first call: O(nodes), and as many bytes of memory.
    ///
    /// # Panics
    /// On a file that did not verify.
    pub fn trie_heights(&self) -> &[u8] {
        self.trie_heights.get_or_init(|| trie::heights(self.artifact.get(&self.trie)))
    }

    /// `[ids]`: how many characters begin in each token, as [`CharCount`] counts them from a place between two.
    /// 255 for tokens with a backslash, whose count depends on what follows it, and for 255 and more.
    ///
    /// O(1), but for the first call: O(bytes of all tokens), and a byte of memory for each id.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (_, vocabulary, _) = small::pattern();
    /// // Ids 0 and 2 are `a` and `ab`.
    /// assert_eq!([0, 2].map(|id| vocabulary.token_chars()[id]), [1, 2]);
    /// ```
    pub fn token_chars(&self) -> &[u8] {
        self.token_chars.get_or_init(|| (0..self.len()).map(|id| chars_of(self.bytes(id))).collect())
    }

    /// `[ids]`: which characters of ASCII each token has, a bit for each; bit 0 for NUL, and for any byte from 128 on.
    ///
    /// O(1), but for the first call: O(bytes of all tokens), and 16 bytes of memory for each id.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (_, vocabulary, _) = small::pattern();
    /// // Ids 0 and 2 are `a` and `ab`.
    /// assert_eq!([0, 2].map(|id| vocabulary.token_ascii()[id]), [1 << b'a', 1 << b'a' | 1 << b'b']);
    /// ```
    pub fn token_ascii(&self) -> &[u128] {
        self.token_ascii.get_or_init(|| (0..self.len()).map(|id| ascii_of(self.bytes(id))).collect())
    }

    /// The shared row of that number: `[row words]`, not empty. Rows that many indices need lie here once, so that an index
    /// names them or says how it differs. O(1).
    #[inline]
    pub fn shared_row(&self, number: u32) -> Option<&[u32]> {
        let row_words = self.row_words();
        let from = (number as usize).checked_mul(row_words)?;
        self.artifact.get::<u32>(&self.shared_rows).get(from..from.checked_add(row_words)?)
    }

    /// blake3 of all shared rows, as the section table says it. O(1).
    pub fn shared_rows_digest(&self) -> Digest {
        self.shared_rows_digest
    }

    /// The shared rows, for an encoder of rows. O(1), but for the first call: O(words).
    #[cfg(feature = "write")]
    pub fn shared_rows(&self) -> SharedRows<'_> {
        let words = self.artifact.get(&self.shared_rows);
        let row_words = self.row_words();
        let sums = self.shared_row_sums.get_or_init(|| RowSum::of_all(words, row_words));
        SharedRows { row_words, words, sums, digest: self.shared_rows_digest }
    }

    pub(super) fn slice_entries(&self) -> &[SliceEntry] {
        self.artifact.get(&self.slices)
    }

    /// The slice of that number. O(1).
    pub fn slice(&self, number: usize) -> Option<Slice<'_>> {
        let chars: &[[u32; 2]] = self.artifact.get(&self.slice_chars);
        let rows: &[u32] = self.artifact.get(&self.slice_rows);
        let long: &[[u32; 2]] = self.artifact.get(&self.slice_long);
        let entry = self.slice_entries().get(number)?;
        Some(entry.slice(self.trie(), chars, rows, long, self.row_words()))
    }

    /// The slices: disjoint, and together all ordinary tokens. O(slices).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let (_, vocabulary, _) = small::pattern();
    /// // Lower-case words: `a`, `b` and `ab`.
    /// let slices: Vec<_> = vocabulary.slices().collect();
    /// assert_eq!((slices.len(), slices[0].max_chars), (1, 2));
    /// ```
    pub fn slices(&self) -> impl Iterator<Item = Slice<'_>> {
        (0..self.slice_entries().len()).filter_map(|number| self.slice(number))
    }
}

/// The characters that begin in a token, or 255: [`Vocabulary::token_chars`].
fn chars_of(token: &[u8]) -> u8 {
    if token.contains(&b'\\') {
        return u8::MAX;
    }
    let count = token.iter().fold(CharCount::default(), |count, &byte| count.after(byte));
    u8::try_from(count.chars()).unwrap_or(u8::MAX)
}

/// The characters of ASCII in a token: [`Vocabulary::token_ascii`].
fn ascii_of(token: &[u8]) -> u128 {
    token.iter().fold(0, |set, &byte| set | 1 << if byte.is_ascii() { byte } else { 0 })
}
