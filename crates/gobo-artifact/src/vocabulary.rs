use std::path::Path;

use gobo_types::{TokenId, VocabularyDigest};
use zerocopy::{FromBytes, Immutable, KnownLayout};

use crate::error::ArtifactError;
use crate::file::{Artifact, Span};
use crate::header::ArtifactKind;
use crate::root::VocabularyRoot;
use crate::section as kinds;

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
}

/// One node of the trie: 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TrieNode {
    end_and_byte: u32,
    /// Position in the trie order of the first id that ends at this node or later.
    pub first: u32,
}

impl TrieNode {
    /// Most nodes of a trie: 24 bits number them.
    pub const MAX_NODES: usize = (1 << 24) - 1;

    /// A node over the edge `byte`; `end` is the number of the first node behind its subtree.
    ///
    /// # Panics
    /// If `end` is beyond [`Self::MAX_NODES`].
    pub fn new(byte: u8, end: usize, first: u32) -> Self {
        assert!(end <= Self::MAX_NODES, "a trie has at most 2^24 - 1 nodes");
        Self { end_and_byte: u32::from(byte) << 24 | u32::try_from(end).expect("24 bits"), first }
    }

    /// The byte on the edge that leads here.
    #[inline]
    pub fn byte(self) -> u8 {
        self.end_and_byte.to_be_bytes()[0]
    }

    /// The number of the first node behind the subtree of this one.
    #[inline]
    pub fn end(self) -> usize {
        (self.end_and_byte & 0xff_ffff) as usize
    }

    fn words(self) -> [u32; 2] {
        [self.end_and_byte, self.first]
    }

    pub(crate) fn write(nodes: &[Self]) -> Vec<u8> {
        nodes.iter().flat_map(|node| node.words()).flat_map(u32::to_le_bytes).collect()
    }
}

/// The tokens of a vocabulary as a trie over their bytes, in preorder: the ids at or below a node are one range of
/// `order`. Special ids and holes are not in it.
#[derive(Debug, Clone, Copy)]
pub struct Trie<'a> {
    /// `[nodes + 1]`, the root left out; the last one closes the ranges.
    pub nodes: &'a [TrieNode],
    /// `[spellable ids]`, by bytes, then by id.
    pub order: &'a [TokenId],
    /// `[nodes]`: number of the byte set over all edges below a node; 0 where none is kept.
    pub set_ids: &'a [u16],
    /// `[sets]`: bit `b & 31` of word `b >> 5` is byte `b`. Set 0 holds all bytes.
    pub sets: &'a [[u32; 8]],
}

impl Vocabulary {
    /// Maps a vocabulary file. O(1); safe on any bytes.
    ///
    /// # Errors
    /// [`ArtifactError::Io`] if it cannot be mapped, [`ArtifactError::Format`] if it is no sound vocabulary file.
    pub fn open(path: &Path) -> Result<Self, ArtifactError> {
        Self::of(Artifact::open(path, ArtifactKind::Vocabulary)?)
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
        Ok(Self {
            offsets: artifact.span::<u32>(kinds::TOKEN_OFFSETS, len + 1)?,
            bytes: artifact.open_span::<u8>(kinds::TOKEN_BYTES)?,
            special: artifact.span::<u32>(kinds::SPECIAL, len.div_ceil(32))?,
            trie: artifact.span::<TrieNode>(kinds::TRIE, nodes + 1)?,
            trie_order: artifact.open_span::<u32>(kinds::TRIE_ORDER)?,
            trie_set_ids: artifact.span::<u16>(kinds::TRIE_SET_IDS, nodes)?,
            trie_sets: artifact.open_span::<[u32; 8]>(kinds::TRIE_SETS)?,
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
        }
    }

    /// Reads everything: digests of all sections, and that offsets, flags and trie say the same. O(file).
    ///
    /// # Errors
    /// [`ArtifactError::Format`] naming the first fault.
    pub fn verify(&self) -> Result<(), ArtifactError> {
        self.artifact.verify_digests()?;
        let offsets: &[u32] = self.artifact.get(&self.offsets);
        let byte_count = self.artifact.get::<u8>(&self.bytes).len();
        if offsets[0] != 0 || offsets.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(self.artifact.meaning("token offsets are not ascending from zero"));
        }
        if offsets.last().map(|&end| end as usize) != Some(byte_count) {
            return Err(self.artifact.meaning("the last token offset is not the number of token bytes"));
        }
        self.verify_trie()
    }

    fn verify_trie(&self) -> Result<(), ArtifactError> {
        let trie = self.trie();
        let fault = |what: String| Err(self.artifact.meaning(what));
        let spellable = |id: &TokenId| !self.is_special(*id) && !self.bytes(*id).is_empty();
        let expected = (0..self.len()).filter(spellable).count();
        if trie.order.len() != expected || trie.order.iter().any(|id| *id >= self.len() || !spellable(id)) {
            return fault("the trie order is not the ordinary tokens".into());
        }
        let sorted = |pair: &[TokenId]| (self.bytes(pair[0]), pair[0]) < (self.bytes(pair[1]), pair[1]);
        if !trie.order.windows(2).all(sorted) {
            return fault("the trie order is not sorted by bytes".into());
        }
        if trie.sets.first() != Some(&[u32::MAX; 8]) {
            return fault("byte set 0 does not hold all bytes".into());
        }
        // Walk the trie with the path of open nodes, comparing each node's ids with their bytes.
        let last = trie.nodes.len() - 1;
        if trie.nodes[last].first as usize != trie.order.len() || trie.nodes[0].first != 0 {
            return fault("the trie does not cover the trie order".into());
        }
        let mut open: Vec<usize> = Vec::new();
        let mut path: Vec<u8> = Vec::new();
        for (number, node) in trie.nodes[..last].iter().enumerate() {
            while open.last().is_some_and(|&end| end == number) {
                open.pop();
                path.pop();
            }
            let limit = open.last().copied().unwrap_or(last);
            if node.end() <= number || node.end() > limit {
                return fault(format!("trie node {number} does not nest"));
            }
            open.push(node.end());
            path.push(node.byte());
            let own = node.first as usize..trie.nodes[number + 1].first as usize;
            let Some(ids) = trie.order.get(own) else {
                return fault(format!("trie node {number} has no range of ids"));
            };
            if ids.iter().any(|&id| self.bytes(id) != path) {
                return fault(format!("trie node {number} names tokens with other bytes"));
            }
            let Some(set) = trie.sets.get(trie.set_ids[number] as usize) else {
                return fault(format!("trie node {number} names a byte set that is not there"));
            };
            let below = &trie.nodes[number + 1..node.end()];
            if trie.set_ids[number] != 0 && below.iter().any(|node| !set_contains(set, node.byte())) {
                return fault(format!("the byte set of trie node {number} misses a byte"));
            }
        }
        Ok(())
    }
}

fn set_contains(set: &[u32; 8], byte: u8) -> bool {
    set[usize::from(byte >> 5)] >> (byte & 31) & 1 == 1
}
