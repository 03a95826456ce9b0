//! Texts that begin inside of a token: bytes that were taken back from a prompt, whose end a model would rather have written in another way.
//!
//! Until they are spelled, a token is taken that is their beginning, or begins with all of them and goes on with a text of the constraint. Any
//! segmentation will do. Nothing is compiled for that: the mask is found by a walk of the vocabulary below the bytes, beside the automaton, and
//! kept with the matcher and its forks. Where so many bytes are spelled stands in the place of a state, so that steps back and forks
//! need to know nothing of it.
//!
//! A token that ends in the middle of the bytes can always be followed, because each of them is a token by itself; and so is each byte that
//! the index reads, so every state that bytes lead to is one from which tokens lead on.

use gobo_types::TokenId;

use crate::layout::{DEAD, Trie};
use crate::matcher::Matcher;
use crate::matcher::configurations::Configurations;
use crate::matcher::error::MatcherError;
use crate::matcher::places::{MAX_PREFIX, Prefix, Spelled, spelled};
use crate::matcher::readings::{Readings, is_place};
use crate::read::index::Index;
use crate::read::vocabulary::Vocabulary;

impl Matcher {
    /// The same matcher at the beginning of a text that begins with `prefix`, bytes that were taken back from a prompt so that it ends where
    /// a token does (*token healing*): tokens spell the prefix and then the constraint's text, in any segmentation, and one token may have the end of
    /// the one and the beginning of the other. At most 65,536 bytes.
    ///
    /// Exact, and nothing is compiled for it. The first mask is found by a walk of the vocabulary below the prefix: O(bytes of the tokens that begin
    /// with it). That mask, and those after a part of the prefix, are kept with this matcher and its forks.
    ///
    /// Under an index of `canonical-strict` or `canonical-heal` a chunk begins with the prefix, which has 256 bytes at most, and only what the tokenizer would write comes;
    /// [`Self::after_prompt`] knows what stands before it.
    ///
    /// # Errors
    /// [`MatcherError::CanonicalPrefix`], [`MatcherError::NothingFollows`], [`MatcherError::StuckWord`]; [`MatcherError::PrefixLength`]; [`MatcherError::PrefixByte`] where the vocabulary has no token for a byte of the prefix or of a
    /// text of the constraint.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let matcher = small::matcher();
    /// // Ids 0 `a`, 1 `b`, 2 `ab`; texts of (ab)* behind a prompt whose last token was `a`.
    /// let mut healed = matcher.with_prefix(b"a")?;
    /// assert!(healed.allows(0) && !healed.allows(1) && !healed.allows(2));
    /// healed.advance(0)?;
    /// assert!(healed.is_complete() && healed.allows(2));
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn with_prefix(mut self, prefix: &[u8]) -> Result<Self, MatcherError> {
        if self.canonical.is_some() {
            if self.index.prompt_end().is_none() {
                return Err(MatcherError::CanonicalPrefix);
            }
            let behind = Readings::of_nothing(&self.tables()?);
            self.begin(&behind, prefix, 0)?;
            return Ok(self);
        }
        if prefix.len() > MAX_PREFIX {
            return Err(MatcherError::PrefixLength { given: prefix.len(), limit: MAX_PREFIX });
        }
        if let Some(byte) = missing_byte(&self.index, &self.vocabulary, prefix) {
            return Err(MatcherError::PrefixByte { byte });
        }
        self.prefix = Prefix::new(prefix).into();
        self.reset();
        Ok(self)
    }

    /// The state of a text without calls: where the prefix is not spelled yet, that in which texts begin.
    pub(super) fn place(&self, state: u32) -> u32 {
        if spelled(state).is_some() || is_place(state) { self.index.start() } else { state }
    }

    /// [`Matcher::step`] where the text has ended, or has not come to a state.
    #[cold]
    pub(super) fn step_apart(&self, state: u32, id: TokenId) -> Result<u32, MatcherError> {
        match self.prefix.step(state, id, &self.vocabulary, &self.binding)? {
            Spelled::Part(next) => Ok(next),
            Spelled::All(text) if !self.index.are_text(text) => Err(MatcherError::Refused { id }),
            Spelled::All(text) => match self.index.walk(self.index.start(), text) {
                DEAD => Err(MatcherError::Refused { id }),
                next => Ok(next),
            },
        }
    }

    /// Writes the mask where the prefix is not spelled yet: `[mask_words]`.
    #[cold]
    pub(super) fn fill_prefix(
        &self,
        state: u32,
        configurations: Option<&Configurations>,
        out: &mut [u32],
    ) -> Result<(), MatcherError> {
        let spelled = spelled(state).ok_or(MatcherError::Corrupt { state })?;
        let kept = self.prefix.masks.get(spelled).ok_or(MatcherError::Corrupt { state })?;
        let mask = kept.get_or_init(|| self.prefix_mask(self.prefix.rest(state), configurations));
        let (words, tail) = out.split_at_mut(mask.len());
        words.copy_from_slice(mask);
        tail.fill(0);
        for &id in &self.binding.eos {
            out[(id >> 5) as usize] &= !(1 << (id & 31));
        }
        if out.iter().all(|&word| word == 0) { Err(MatcherError::OnlyEos) } else { Ok(()) }
    }

    /// `[row words]`: the tokens that spell a part of `rest`, and those that spell all of it and go on with a text.
    fn prefix_mask(&self, rest: &[u8], configurations: Option<&Configurations>) -> Box<[u32]> {
        let trie = self.vocabulary.trie();
        let mut mask = Mask { words: vec![0; self.index.row_words()], trie };
        let mut path = trie.prefixes(rest);
        for (_, ids) in path.by_ref() {
            mask.add(ids);
        }
        if let Some((block, to)) = path.below() {
            match configurations {
                None => mask.walk(&self.index, block, to, self.index.start()),
                Some(all) => mask.walk_all(&self.index, block, to, &mut all.probe(usize::MAX)),
            }
        }
        mask.words.into_boxed_slice()
    }
}

/// A byte of a prefix, or of a text of the index, that is no token by itself.
fn missing_byte(index: &Index, vocabulary: &Vocabulary, prefix: &[u8]) -> Option<u8> {
    let trie = vocabulary.trie();
    let is_token = |byte: u8| trie.prefixes(&[byte]).next().is_some_and(|(_, ids)| !ids.is_empty());
    let is_missing = |byte: &u8| !is_token(*byte);
    let of_prefix = prefix.iter().copied().find(is_missing);
    // What an index with calls reads are tokens, or it would not be.
    if index.calls().is_some() {
        return of_prefix;
    }
    let is_read = |byte: &u8| (0..index.states()).any(|state| index.next_state(state, *byte) != DEAD);
    of_prefix.or_else(|| (0..=u8::MAX).filter(is_missing).find(is_read))
}

/// A mask that is written, of the tokens of a trie.
struct Mask<'v> {
    words: Vec<u32>,
    trie: Trie<'v>,
}

impl Mask<'_> {
    fn add(&mut self, ids: &[TokenId]) {
        for &id in ids {
            if let Some(word) = self.words.get_mut((id >> 5) as usize) {
                *word |= 1 << (id & 31);
            }
        }
    }

    /// Adds the tokens of the nodes from `first` on, whose ids end at `to`, that an automaton reads from a state. As deep as a token has bytes.
    fn walk(&mut self, index: &Index, first: usize, to: u32, state: u32) {
        let trie = self.trie;
        for number in first.. {
            let node = trie.nodes[number];
            let end = trie.subtree_end(number, to);
            let next = index.next_state(state, node.byte());
            if next != DEAD {
                self.add(&trie.order[node.first as usize..trie.own_end(number, end) as usize]);
                if let Some(child) = node.children() {
                    self.walk(index, child, end, next);
                }
            }
            if node.is_last() {
                return;
            }
        }
    }

    /// The same with calls.
    fn walk_all(&mut self, index: &Index, first: usize, to: u32, all: &mut Configurations) {
        let trie = self.trie;
        for number in first.. {
            let node = trie.nodes[number];
            let end = trie.subtree_end(number, to);
            if index.are_text(&[node.byte()]) && all.advance(index, &[node.byte()]).is_ok() {
                self.add(&trie.order[node.first as usize..trie.own_end(number, end) as usize]);
                if let Some(child) = node.children() {
                    self.walk_all(index, child, end, all);
                }
                all.rollback(1);
            }
            if node.is_last() {
                return;
            }
        }
    }
}
