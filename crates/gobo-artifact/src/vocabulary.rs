use std::path::Path;

use gobo_types::{KeyHasher, TokenId, VocabularyDigest};
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

    /// Reads everything: digests of all sections, that the key is the digest of the table, and that counts, offsets,
    /// flags and trie say the same. O(file), whatever its bytes.
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
        self.verify_trie()
    }

    /// The root as the table says it. O(file).
    fn counted(&self) -> VocabularyRoot {
        let mut root = VocabularyRoot {
            len: self.root.len,
            tokens: 0,
            special: 0,
            longest_token_bytes: 0,
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
            let length = u32::try_from(bytes.len()).expect("offsets are u32");
            root.longest_token_bytes = root.longest_token_bytes.max(length);
            bytes.iter().for_each(|&byte| set_insert(&mut root.spellable, byte));
            if let [byte] = bytes {
                set_insert(&mut root.single, *byte);
            }
        }
        root
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
        let last = trie.nodes.len() - 1;
        let closing = trie.nodes[last];
        if closing.first as usize != trie.order.len() || trie.nodes[0].first != 0 {
            return fault("the trie does not cover the trie order".into());
        }
        if closing.end() != last || closing.byte() != 0 {
            return fault("the closing trie node is not the last".into());
        }
        // Walk the trie with the path of open nodes, comparing each node's ids with their bytes. What lies below a node
        // is gathered on the way up, so that depth costs nothing.
        let mut open = vec![OpenNode { number: None, end: last, below: [0; 8], last_child: None }];
        let mut path: Vec<u8> = Vec::new();
        for number in 0..=last {
            while open.len() > 1 && open.last().is_some_and(|node| node.end == number) {
                self.close(&trie, &mut open)?;
                path.pop();
            }
            if number == last {
                break;
            }
            let node = trie.nodes[number];
            let parent = open.last_mut().expect("the outermost never closes");
            if node.end() <= number || node.end() > parent.end {
                return fault(format!("trie node {number} does not nest"));
            }
            if parent.last_child.is_some_and(|before| before >= node.byte()) {
                return fault(format!("trie node {number} is out of order"));
            }
            parent.last_child = Some(node.byte());
            open.push(OpenNode { number: Some(number), end: node.end(), below: [0; 8], last_child: None });
            path.push(node.byte());
            let own = node.first as usize..trie.nodes[number + 1].first as usize;
            let Some(ids) = trie.order.get(own) else {
                return fault(format!("trie node {number} has no range of ids"));
            };
            if ids.iter().any(|&id| self.bytes(id) != path) {
                return fault(format!("trie node {number} names tokens with other bytes"));
            }
            if ids.is_empty() && node.end() == number + 1 {
                return fault(format!("trie node {number} leads to no token"));
            }
            if usize::from(trie.set_ids[number]) >= trie.sets.len() {
                return fault(format!("trie node {number} names a byte set that is not there"));
            }
        }
        Ok(())
    }

    /// Closes the innermost open node: its set must hold every byte below it.
    fn close(&self, trie: &Trie<'_>, open: &mut Vec<OpenNode>) -> Result<(), ArtifactError> {
        let Some(OpenNode { number: Some(number), below, .. }) = open.pop() else { return Ok(()) };
        let set = &trie.sets[usize::from(trie.set_ids[number])];
        if below.iter().zip(set).any(|(below, set)| below & !set != 0) {
            return Err(self.artifact.meaning(format!("the byte set of trie node {number} misses a byte")));
        }
        if let Some(parent) = open.last_mut() {
            parent.below.iter_mut().zip(below).for_each(|(parent, below)| *parent |= below);
            set_insert(&mut parent.below, trie.nodes[number].byte());
        }
        Ok(())
    }
}

/// A trie node whose subtree is being checked; the root has no number.
struct OpenNode {
    number: Option<usize>,
    end: usize,
    /// The bytes on all edges below.
    below: [u32; 8],
    /// The byte of the child seen last: siblings ascend.
    last_child: Option<u8>,
}

fn set_insert(set: &mut [u32; 8], byte: u8) {
    set[usize::from(byte >> 5)] |= 1 << (byte & 31);
}

/// The digest over every id's bytes and special flag, in id order, holes included: tables are equal exactly if their
/// digests are. O(bytes).
///
/// # Panics
/// If a token has 4 GiB, which neither a table nor a file can hold.
pub fn vocabulary_digest<'a>(ids: impl Iterator<Item = (&'a [u8], bool)>) -> VocabularyDigest {
    let mut flat = Vec::new();
    for (bytes, special) in ids {
        flat.push(u8::from(special));
        let length = u32::try_from(bytes.len()).expect("tables and files keep token bytes below 4 GiB");
        flat.extend_from_slice(&length.to_le_bytes());
        flat.extend_from_slice(bytes);
    }
    VocabularyDigest(KeyHasher::new("gobo vocabulary v1").field("table", &flat).finish())
}
