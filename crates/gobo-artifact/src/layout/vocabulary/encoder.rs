//! The tables of a tokenizer's encoder: merges, and the automaton of its chunks.
//!
//! A text is cut into chunks, and merges happen within a chunk. Where a chunk ends is guessed between two tokens: by a mark, or by none. The automaton
//! reads the bytes of a text with its marks, and accepts it if they stand where the tokenizer cuts.

use gobo_types::{Digest, TokenId};

use crate::layout::vocabulary::merges::Merges;

/// The state of the automaton of chunks from which nothing leads on.
pub const NO_CHUNK: u16 = 0;

/// Most ways to put marks into a text that are open at once. Known pre-tokenizers have two or three, and more than half as many are refused.
pub const MAX_READINGS: usize = 8;

/// Most bytes of tokens times states between characters: what it takes to look at all of them. Tables in use need some hundred million.
pub const MAX_CHUNK_STEPS: u64 = 1_000_000_000;

/// The root of the tables of an encoder.
#[derive(Debug, Clone, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct EncoderRoot {
    /// Why there are no tables; empty if there are.
    pub refused: String,
    /// What is true of the texts that are cut as the tables say, if not all are; empty if all are.
    pub only: String,
    /// blake3 of the other tables: the name of the encoder in keys.
    pub digest: [u8; 32],
    /// Tokens that are their own encoding.
    pub proper: u32,
    /// Merges of proper tokens.
    pub cuts: u32,
    /// States of the automaton of chunks, the dead one 0 included.
    pub chunk_states: u32,
    /// Classes of bytes.
    pub chunk_classes: u32,
    /// The state at the beginning of a chunk of which nothing is known.
    pub chunk_start: u32,
    /// States between characters, which come first, the dead one among them.
    pub chunk_between: u32,
    /// Classes of tokens that do the same to each state between characters.
    pub token_classes: u32,
    /// Edges of the trie of words.
    pub words: u32,
}

impl EncoderRoot {
    /// The digest of the tables, by the number and the bytes of each section, and of what else decides how texts are cut. O(bytes).
    pub(crate) fn digest_of<'a>(&self, sections: impl IntoIterator<Item = (u32, &'a [u8])>) -> Digest {
        let Self {
            refused: _,
            digest: _,
            only,
            proper,
            cuts,
            chunk_states,
            chunk_classes,
            chunk_start,
            chunk_between,
            token_classes,
            words,
        } = self;
        let counts = [
            *proper,
            *cuts,
            *chunk_states,
            *chunk_classes,
            *chunk_start,
            *chunk_between,
            *token_classes,
            *words,
        ];
        let mut all: Vec<u8> = counts.iter().flat_map(|count| count.to_le_bytes()).collect();
        for (kind, bytes) in sections {
            all.extend(kind.to_le_bytes());
            all.extend(Digest::of(bytes).0);
        }
        all.extend(only.as_bytes());
        Digest::of(&all)
    }
}

/// The automaton of chunks.
#[derive(Debug, Clone, Copy)]
pub struct Chunks<'a> {
    pub(crate) start: u16,
    pub(crate) stride: usize,
    pub(crate) classes: &'a [u8],
    /// `[states, classes]`.
    pub(crate) steps: &'a [u16],
    /// `[states]`: the state behind a border without a mark, behind a mark, and whether the text may end.
    pub(crate) states: &'a [[u16; 4]],
    pub(crate) between: usize,
    /// `[ids]`.
    pub(crate) class_of: &'a [u16],
    /// `[classes of tokens, states between characters]`.
    pub(crate) class_steps: &'a [u16],
}

impl Chunks<'_> {
    /// The state at the beginning of a chunk of which nothing is known. O(1).
    pub fn start(&self) -> u16 {
        self.start
    }

    /// Number of states, the dead one included. O(1).
    #[expect(clippy::len_without_is_empty, reason = "there is always the dead state")]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// The class of a byte: the automaton does not tell bytes of one class apart. O(1).
    pub fn class(&self, byte: u8) -> u8 {
        self.classes.get(usize::from(byte)).copied().unwrap_or_default()
    }

    /// The state after a byte. O(1).
    #[inline]
    pub fn next(&self, state: u16, byte: u8) -> u16 {
        let class = usize::from(self.class(byte));
        self.steps.get(usize::from(state) * self.stride + class).copied().unwrap_or(NO_CHUNK)
    }

    /// How many states stand between characters, the dead one among them: the first ones. O(1).
    pub fn between(&self) -> u16 {
        u16::try_from(self.between).unwrap_or(u16::MAX)
    }

    /// Whether a state stands between characters. O(1).
    pub fn is_between(&self, state: u16) -> bool {
        usize::from(state) < self.between
    }

    /// The class of a token that is its own encoding: tokens of one class do the same to each state between characters. O(1).
    #[inline]
    pub fn class_of(&self, token: TokenId) -> u16 {
        self.class_of.get(token as usize).copied().unwrap_or_default()
    }

    /// The state after a token of the class, from a state between characters. O(1).
    #[inline]
    pub fn after(&self, state: u16, class: u16) -> u16 {
        let cell = usize::from(class) * self.between + usize::from(state);
        self.class_steps.get(cell).copied().unwrap_or(NO_CHUNK)
    }

    /// The state behind the border of two tokens of one chunk. O(1).
    #[inline]
    pub fn within(&self, state: u16) -> u16 {
        self.states.get(usize::from(state)).map_or(NO_CHUNK, |of| of[0])
    }

    /// The state behind the border of two chunks, or [`NO_CHUNK`] where none can be. O(1).
    #[inline]
    pub fn marked(&self, state: u16) -> u16 {
        self.states.get(usize::from(state)).map_or(NO_CHUNK, |of| of[1])
    }

    /// Whether the text may end. O(1).
    #[inline]
    pub fn may_end(&self, state: u16) -> bool {
        self.states.get(usize::from(state)).is_some_and(|of| of[2] & 1 == 1)
    }

    /// Whether a chunk begins. O(1).
    #[inline]
    pub fn begins(&self, state: u16) -> bool {
        self.states.get(usize::from(state)).is_some_and(|of| of[2] & 2 == 2)
    }
}

/// In an edge of [`Words`]: the spelling of a word ends there.
pub const WORD_ENDS: u32 = 1 << 31;

/// In the place of a node of [`Words`]: what has been written of the chunk begins no word.
pub const NO_WORD: u32 = WORD_ENDS - 1;

/// Tokens that are whole chunks although no merges make them: each is written as the token alone, and never as merges spell it. Where a chunk has been
/// written as one is spelled, it cannot end.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    /// `[edges]`: node, token, next node with [`WORD_ENDS`]; ascending. Node 0 is the root.
    pub(crate) edges: &'a [[u32; 3]],
}

impl Words<'_> {
    /// Whether there is none. O(1).
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// The node behind a token, with [`WORD_ENDS`] where a word ends; `node` may have it, too. O(log edges).
    #[inline]
    pub fn next(&self, node: u32, token: TokenId) -> u32 {
        let node = node & !WORD_ENDS;
        if node == NO_WORD {
            return NO_WORD;
        }
        let at = self.edges.partition_point(|&[from, of, _]| (from, of) < (node, token));
        self.edges.get(at).filter(|edge| edge[..2] == [node, token]).map_or(NO_WORD, |edge| edge[2])
    }

    /// The edges from a node: node, token, next node with [`WORD_ENDS`]. O(log edges).
    pub fn below(&self, node: u32) -> &[[u32; 3]] {
        let node = node & !WORD_ENDS;
        let from = self.edges.partition_point(|edge| edge[0] < node);
        let to = self.edges.partition_point(|edge| edge[0] <= node);
        self.edges.get(from..to).unwrap_or_default()
    }
}

/// How a tokenizer cuts texts into tokens.
///
/// A sequence of tokens is what the tokenizer makes of its text exactly if each token is proper, marks can be put between some of them so that
/// the automaton of chunks accepts, and no two neighbours without a mark between them join.
#[derive(Debug, Clone, Copy)]
pub struct Encoder<'a> {
    /// Which neighbours join.
    pub merges: Merges<'a>,
    /// Where chunks end.
    pub chunks: Chunks<'a>,
    /// Which chunks are written in another way than merges spell them.
    pub words: Words<'a>,
    /// What is true of the texts that are cut so; empty if all are.
    pub only: &'a str,
    /// The name of the tables in keys.
    pub digest: [u8; 32],
}
