use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;

use gobo_types::{Digest, KeyHasher, TokenId, VocabularyDigest};

use crate::error::{ArtifactError, Fault};
use crate::file::{Artifact, Span};
use crate::header::ArtifactKind;
use crate::root::VocabularyRoot;
use crate::row::{MAX_SHARED_ROWS, RowSum, SharedRows};
use crate::section as kinds;
use crate::slice::{MAX_SLICES, Slice, SliceEntry, SliceTables};
use crate::trie::{self, Trie, TrieNode};

/// A vocabulary file: every id's bytes and flag, and the trie that the compiler walks. Opened once per host and shared.
#[derive(Debug)]
pub struct Vocabulary {
    artifact: Artifact,
    root: VocabularyRoot,
    offsets: Span,
    bytes: Span,
    special: Span,
    trie: Span,
    trie_order: Span,
    trie_set_ids: Span,
    trie_sets: Span,
    slices: Span,
    slice_chars: Span,
    slice_rows: Span,
    slice_long: Span,
    shared_rows: Span,
    shared_rows_digest: Digest,
    /// What [`crate::RowEncoder`] asks of each shared row. Made when it is first asked for, which only compilers do.
    shared_row_sums: OnceLock<Box<[RowSum]>>,
    /// Made when it is first asked for, which only compilers do.
    trie_heights: OnceLock<Box<[u8]>>,
}

impl Vocabulary {
    /// Maps a vocabulary file. O(1); safe on any bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Io`] if it cannot be mapped, [`ArtifactError::Format`] if it is no sound vocabulary file.
    pub fn open(path: &Path) -> Result<Self, ArtifactError> {
        Self::of(Artifact::open(path, ArtifactKind::Vocabulary)?)
    }

    /// Maps the file that `file` has open: for those who open it in a way of their own. `path` is for errors.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_file(file: &File, path: &Path) -> Result<Self, ArtifactError> {
        Self::of(Artifact::open_file(file, path, ArtifactKind::Vocabulary)?)
    }

    /// Reads a vocabulary from bytes, which are copied.
    ///
    /// # Errors
    /// [`ArtifactError::Format`] if they are no sound vocabulary file.
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
            shared_row_sums: OnceLock::new(),
            trie_heights: OnceLock::new(),
            root,
            artifact,
        })
    }

    /// The file.
    pub fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// All bytes of the file.
    pub fn file_bytes(&self) -> &[u8] {
        self.artifact.bytes()
    }

    /// The digest of the canonical table.
    pub fn digest(&self) -> VocabularyDigest {
        VocabularyDigest::from(self.artifact.key())
    }

    /// Counts and byte sets.
    pub fn root(&self) -> &VocabularyRoot {
        &self.root
    }

    /// The vocabulary length: highest id + 1.
    #[expect(clippy::len_without_is_empty, reason = "a vocabulary without ids cannot be written")]
    pub fn len(&self) -> u32 {
        self.root.len
    }

    /// Words of a row: `ceil(len / 32)`.
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

    /// Whether `id` is special: never reached by spelling.
    pub fn is_special(&self, id: TokenId) -> bool {
        let words: &[u32] = self.artifact.get(&self.special);
        words.get((id >> 5) as usize).is_some_and(|word| word >> (id & 31) & 1 == 1)
    }

    /// The trie over all ordinary tokens.
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

    /// `[nodes of all tries]`: the bytes of the longest text that leads from above a node to a node of its block at or behind
    /// it, or below one of those; 255 for more. For the first node of a block, that is how long texts below its parent are.
    ///
    /// O(1), but for the first call: O(nodes), and as many bytes of memory.
    ///
    /// # Panics
    /// On a file that did not verify.
    pub fn trie_heights(&self) -> &[u8] {
        self.trie_heights.get_or_init(|| trie::heights(self.artifact.get(&self.trie)))
    }

    /// The shared row of that number: `[row words]`, not empty. Rows that many indices need lie here once, so that an index
    /// names them or says how it differs. O(1).
    #[inline]
    pub fn shared_row(&self, number: u32) -> Option<&[u32]> {
        let row_words = self.row_words();
        let from = (number as usize).checked_mul(row_words)?;
        self.artifact.get::<u32>(&self.shared_rows).get(from..from.checked_add(row_words)?)
    }

    /// blake3 of all shared rows, as the file says it.
    pub fn shared_rows_digest(&self) -> Digest {
        self.shared_rows_digest
    }

    /// The shared rows, for an encoder of rows. O(1), but for the first call: O(words).
    pub fn shared_rows(&self) -> SharedRows<'_> {
        let words = self.artifact.get(&self.shared_rows);
        let row_words = self.row_words();
        let sums = self.shared_row_sums.get_or_init(|| RowSum::of_all(words, row_words));
        SharedRows { row_words, words, sums, digest: self.shared_rows_digest }
    }

    fn slice_entries(&self) -> &[SliceEntry] {
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

    /// The slices: disjoint, and together all ordinary tokens.
    pub fn slices(&self) -> impl Iterator<Item = Slice<'_>> {
        (0..self.slice_entries().len()).filter_map(|number| self.slice(number))
    }

    /// Reads everything: digests of all sections, that the key is the digest of the table, and that counts, offsets,
    /// flags, tries and slices say the same. O(file), whatever its bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Format`] naming the first fault.
    pub fn verify(&self) -> Result<(), ArtifactError> {
        self.artifact.verify_digests()?;
        let fault = |what: &str| Err(self.artifact.meaning(what));
        let offsets: &[u32] = self.artifact.get(&self.offsets);
        let byte_count = self.artifact.get::<u8>(&self.bytes).len();
        if offsets[0] != 0 || offsets.windows(2).any(|pair| pair[0] > pair[1]) {
            return fault("token offsets are not ascending from zero");
        }
        if offsets.last().map(|&end| end as usize) != Some(byte_count) {
            return fault("the last token offset is not the number of token bytes");
        }
        let ids = || (0..self.len()).map(|id| (self.bytes(id), self.is_special(id)));
        // The digest cannot see a flag without an id, and it is the name under which the file is handed out.
        let flags: &[u32] = self.artifact.get(&self.special);
        let flagged: u32 = flags.iter().map(|word| word.count_ones()).sum();
        if flagged as usize != ids().filter(|(_, special)| *special).count() {
            return fault("an id beyond the vocabulary is special");
        }
        if vocabulary_digest(ids()) != self.digest() {
            return fault("the key is not the digest of the table");
        }
        if self.counted() != self.root {
            return fault("the root's counts are not those of the table");
        }
        let nodes_end = self.verify_trie()?;
        self.verify_slices(nodes_end)?;
        self.verify_shared_rows()
    }

    /// A row of an index is never empty for lack of words, and holds ordinary tokens only.
    fn verify_shared_rows(&self) -> Result<(), ArtifactError> {
        let mut ordinary = vec![0_u32; self.row_words()];
        self.trie().order.iter().for_each(|&id| ordinary[(id >> 5) as usize] |= 1 << (id & 31));
        for (number, row) in self.artifact.get::<u32>(&self.shared_rows).chunks(self.row_words()).enumerate()
        {
            let fault = |what: &str| Err(self.artifact.meaning(format!("shared row {number} {what}")));
            if row.iter().all(|&word| word == 0) {
                return fault("is empty");
            }
            if row.iter().zip(&ordinary).any(|(row, ordinary)| row & !ordinary != 0) {
                return fault("has an id that is no ordinary token");
            }
        }
        Ok(())
    }

    /// The root as the table says it. O(file).
    fn counted(&self) -> VocabularyRoot {
        let mut root = VocabularyRoot {
            len: self.root.len,
            tokens: 0,
            ordinary: 0,
            special: 0,
            longest_token_bytes: 0,
            longest_token_chars: 0,
            longest_inner_chars: 0,
            trie_nodes: self.root.trie_nodes,
            spellable: [0; 8],
            single: [0; 8],
        };
        for id in 0..self.len() {
            let bytes = self.bytes(id);
            root.tokens += u32::from(!bytes.is_empty());
            if self.is_special(id) {
                root.special += 1;
                continue;
            }
            root.ordinary += u32::from(!bytes.is_empty());
            let length = u32::try_from(bytes.len()).expect("offsets are u32");
            root.longest_token_bytes = root.longest_token_bytes.max(length);
            root.longest_token_chars = root.longest_token_chars.max(count_chars(bytes));
            if begins_inside(bytes) {
                root.longest_inner_chars = root.longest_inner_chars.max(count_chars(bytes));
            }
            bytes.iter().for_each(|&byte| set_insert(&mut root.spellable, byte));
            if let [byte] = bytes {
                set_insert(&mut root.single, *byte);
            }
        }
        root
    }

    /// Checks the trie of all ordinary tokens. Returns the number of the node behind its last one.
    fn verify_trie(&self) -> Result<usize, ArtifactError> {
        let trie = self.trie();
        let fault = |what: &str| Err(self.artifact.meaning(what));
        let order = &trie.order[..trie.to as usize];
        if order.is_empty() {
            return fault("there is no ordinary token");
        }
        let is_ordinary = |id: TokenId| id < self.len() && !self.is_special(id) && !self.bytes(id).is_empty();
        // The slices are tokens of the same kind, so all of the table is looked at here.
        if trie.order.iter().any(|&id| !is_ordinary(id)) {
            return fault("the trie order is not the ordinary tokens");
        }
        if !self.is_sorted(order) {
            return fault("the trie order is not sorted by bytes");
        }
        if trie.sets.first() != Some(&[u32::MAX; 8]) {
            return fault("byte set 0 does not hold all bytes");
        }
        trie.verify(self).map_err(|what| self.artifact.meaning(what))
    }

    /// By bytes, then by id; no id twice.
    fn is_sorted(&self, ids: &[TokenId]) -> bool {
        ids.windows(2).all(|pair| (self.bytes(pair[0]), pair[0]) < (self.bytes(pair[1]), pair[1]))
    }

    /// Checks that the slices are disjoint and complete, that their tables lie one behind the other, and that they say what
    /// follows from their tokens.
    fn verify_slices(&self, nodes_end: usize) -> Result<(), ArtifactError> {
        // Where the next slice begins: nodes, ids, ranges of characters, words of bitmaps, long tokens.
        let mut next = [nodes_end, self.root.ordinary as usize, 0, 0, 0];
        let mut seen = vec![0_u32; self.row_words()];
        for (number, (entry, slice)) in self.slice_entries().iter().zip(self.slices()).enumerate() {
            let fault = |what: &str| Err(self.artifact.meaning(format!("slice {number}: {what}")));
            let begins =
                [entry.root, entry.order[0], entry.chars[0], entry.rows, entry.long[0]].map(|at| at as usize);
            if [begins[0], begins[1], begins[2], begins[3].saturating_mul(self.row_words()), begins[4]]
                != next
            {
                return fault("it does not begin where the one before ends");
            }
            let trie = slice.trie;
            let Some(ids) =
                trie.order.get(trie.from as usize..trie.to as usize).filter(|ids| !ids.is_empty())
            else {
                return fault("it has no ids");
            };
            if !self.is_sorted(ids) {
                return fault("its ids are not sorted by bytes");
            }
            for &id in ids {
                let (word, bit) = (&mut seen[(id >> 5) as usize], 1 << (id & 31));
                if *word & bit != 0 {
                    return fault(&format!("token {id} is in another slice too"));
                }
                *word |= bit;
                if !self.bytes(id).iter().any(|&byte| set_contains(slice.needs, byte)) {
                    return fault(&format!("token {id} has none of the bytes that it needs"));
                }
            }
            next[0] = trie.verify(self).or_else(|what| fault(&what).map(|()| 0))?;
            let is_text = slice.max_chars > 0;
            let tokens = ids.iter().map(|&id| (id, self.bytes(id)));
            match SliceTables::new(tokens, is_text, slice.lead, self.row_words()) {
                Err(what) => return fault(&what),
                Ok(tables) if slice.holds(&tables) => {
                    next[1] = trie.to as usize;
                    next[2] += tables.chars.len();
                    next[3] += tables.rows.len();
                    next[4] += tables.long.len();
                }
                Ok(_) => return fault("its lengths or characters are not those of its tokens"),
            }
        }
        let trie = self.trie();
        let ends = [
            (kinds::TRIE, trie.nodes.len()),
            (kinds::TRIE_ORDER, trie.order.len()),
            (kinds::SLICE_CHARS, self.artifact.get::<[u32; 2]>(&self.slice_chars).len()),
            (kinds::SLICE_ROWS, self.artifact.get::<u32>(&self.slice_rows).len()),
            (kinds::SLICE_LONG, self.artifact.get::<[u32; 2]>(&self.slice_long).len()),
        ];
        // The order holds ordinary tokens twice as many as there are, and no slice any twice: with its end, all are there.
        match ends.iter().zip(next).find(|((_, end), next)| end != next) {
            Some(((kind, _), _)) => {
                let name = self.artifact.section(*kind).name();
                Err(self.artifact.meaning(format!("no slice holds the end of section {name}")))
            }
            None => Ok(()),
        }
    }
}

/// How many characters some bytes are: each byte that does not continue a character begins one, and what continues one
/// from before counts as one more. Of text, its number of characters; of any piece of a text, how many it touches.
pub fn count_chars(bytes: &[u8]) -> u32 {
    let begun = bytes.iter().filter(|&&byte| !continues(byte)).count();
    u32::try_from(begun).unwrap_or(u32::MAX).saturating_add(u32::from(begins_inside(bytes)))
}

/// Whether some bytes begin inside a UTF-8 character.
pub fn begins_inside(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|&byte| continues(byte))
}

fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

pub(crate) fn set_insert(set: &mut [u32; 8], byte: u8) {
    set[usize::from(byte >> 5)] |= 1 << (byte & 31);
}

fn set_contains(set: &[u32; 8], byte: u8) -> bool {
    set[usize::from(byte >> 5)] >> (byte & 31) & 1 == 1
}

/// The digest over every id's bytes and special flag, in id order, holes included: tables are equal exactly if their
/// digests are. O(bytes).
///
/// # Panics
/// If a token has 4 GiB, which neither a table nor a file can hold.
pub fn vocabulary_digest<'a>(ids: impl Iterator<Item = (&'a [u8], bool)> + Clone) -> VocabularyDigest {
    // A flag, a length and the bytes of each: counted first, as some megabytes are moved often while they grow.
    let mut flat = Vec::with_capacity(ids.clone().map(|(bytes, _)| 5 + bytes.len()).sum());
    for (bytes, special) in ids {
        flat.push(u8::from(special));
        let length = u32::try_from(bytes.len()).expect("tables and files keep token bytes below 4 GiB");
        flat.extend_from_slice(&length.to_le_bytes());
        flat.extend_from_slice(bytes);
    }
    VocabularyDigest(KeyHasher::new("gobo vocabulary v1").field("table", &flat).finish())
}
