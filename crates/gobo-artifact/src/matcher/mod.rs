//! One text being decoded: the mask of the next token, and steps forward and back.
//!
//! - `fill.rs`: the mask at the present state, and whether one token may come next.
//! - `advance.rs`: takes tokens or bytes, takes tokens back, tries tokens without moving, and tells the bytes that must come next.
//! - `edges.rs`: steps under an index with token edges.
//! - `prefix.rs`: texts that begin inside of a token.
//! - `prompt.rs`: texts that go on with the last chunk of a prompt.
//! - `places.rs`: what stands in the place of a state behind an EOS and before a prefix is spelled.
//! - `probe.rs`: a place that moves while its matcher stays.
//! - `drafts`: the masks along a chain and over a tree of draft tokens.
//! - `configurations`: the ways to read a text under an index with calls, each a state and its stacks; `stacks` has the graph of
//!   all stacks.
//! - `readings`: the ways to read a text that is cut into tokens as the tokenizer cuts it; where it begins behind a prompt, and the healing of one.
//! - `batch.rs`: the masks of many texts in one matrix; `matrix.rs` has its rows.

mod advance;
mod batch;
mod configurations;
mod counted;
mod drafts;
mod edges;
mod error;
mod fill;
mod matrix;
mod places;
mod prefix;
mod probe;
mod prompt;
mod readings;
mod stacks;

use std::sync::Arc;

use gobo_types::{Binding, Digest, LengthRange};

pub use self::batch::{fill_batch, fill_rows};
use self::configurations::{Configurations, Limits};
pub use self::configurations::{DEFAULT_MAX_STACK_DEPTH, DEFAULT_MAX_STACK_NODES};
pub use self::drafts::{Chain, DraftTree};
pub use self::error::{BatchError, DraftError, MatcherError};
pub use self::fill::Fill;
use self::places::{ENDED, FIRST_APART, Prefix};
pub use self::readings::ByteReader;
use self::readings::{Frames, Healing, Reading, Readings, Tables};
use crate::layout::index::root::IndexClass;
use crate::layout::{DEAD, NO_CHUNK, Row};
use crate::read::index::Index;
use crate::read::vocabulary::Vocabulary;

/// How many tokens a matcher can take back unless told otherwise.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// use gobo_artifact::{DEFAULT_MAX_ROLLBACK, MatcherError};
///
/// # let mut matcher = small::matcher();
/// // A matcher remembers its last 256 tokens, and no more than it took.
/// let error = MatcherError::Rollback { given: DEFAULT_MAX_ROLLBACK, available: 0 };
/// assert_eq!(matcher.rollback(DEFAULT_MAX_ROLLBACK), Err(error));
/// ```
pub const DEFAULT_MAX_ROLLBACK: usize = 256;

/// One text being decoded under an index: its configurations, and the masks of its next tokens.
///
/// A few words for each text; the index and its vocabulary are shared by all texts and threads. Under an index with
/// calls a matcher also holds the stack, shared with those it can go back to. No method allocates once the stack has been
/// as deep as it gets, except [`Self::new`], [`Clone::clone`] (which is the fork, O(depth)), [`Self::forced`] into its
/// buffer, [`Self::forced_tokens`], [`Self::fill_tree`], [`Self::validate`] and [`Self::fill_chain`] where there is a stack, and [`Self::fill`]
/// where a canonical index has several readings of a text or meets a token anew.
///
/// Text is the concatenation of the bytes of the tokens taken, exactly; tokens that edges read stand in it as themselves. An EOS of the
/// binding is allowed exactly where the text is complete, and ends it, unless an edge names it, which it may take too.
///
/// ```
/// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
/// use gobo_artifact::{Fill, Matcher};
///
/// # let (index, vocabulary, binding) = small::pattern();
/// // Ids 0 `a`, 1 `b`, 2 `ab`, 3 the EOS; texts of (ab)*.
/// let mut matcher = Matcher::new(index, vocabulary, &binding)?;
/// let mut mask = vec![0; matcher.mask_words()];
/// assert_eq!(matcher.fill(&mut mask)?, Fill::Masked);
/// assert_eq!(mask, [0b1101]);
/// matcher.advance(0)?;
/// matcher.fill(&mut mask)?;
/// assert_eq!(mask, [0b0010]);
/// # Ok::<(), gobo_artifact::MatcherError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Matcher {
    index: Arc<Index>,
    vocabulary: Arc<Vocabulary>,
    binding: Arc<Binding>,
    /// Where the text stands in an index without calls; in every index [`ENDED`] after an EOS, and before the whole prefix is spelled how much
    /// of it is.
    state: u32,
    prefix: Arc<Prefix>,
    /// Where it stands in an index with calls.
    configurations: Option<Box<Configurations>>,
    /// Where it stands in a canonical index.
    canonical: Option<Box<Canonical>>,
    /// The states before the last tokens: a ring, so that taking a step never moves memory.
    history: Box<[u32]>,
    /// Where the next state goes.
    head: usize,
    remembered: usize,
}

/// Where a text stands in a canonical index.
#[derive(Debug, Clone)]
struct Canonical {
    now: Readings,
    /// The stacks of all of them.
    frames: Frames,
    /// Before any token.
    beginning: Readings,
    /// Bytes of a prompt that are written anew before the text.
    healing: Option<Arc<Healing>>,
    /// How many tokens of a prompt were taken back.
    taken_back: usize,
    /// Before the last tokens: a ring beside that of the states.
    history: Box<[Readings]>,
}

/// A place of a text.
#[derive(Clone, Copy)]
struct At<'a> {
    state: u32,
    configurations: Option<&'a Configurations>,
    readings: Option<(&'a Readings, &'a Frames)>,
}

impl Matcher {
    /// A matcher at the empty text that remembers [`DEFAULT_MAX_ROLLBACK`] tokens.
    ///
    /// # Errors
    /// See [`Self::with_rollback`].
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::{Binding, Matcher, MatcherError};
    ///
    /// # let (index, vocabulary, binding) = small::pattern();
    /// let matcher = Matcher::new(index.clone(), vocabulary.clone(), &binding)?;
    /// assert!(matcher.is_complete(), "the empty text is one of (ab)*");
    /// let narrow = Matcher::new(index, vocabulary, &Binding::new(vec![], 2));
    /// assert!(matches!(narrow, Err(MatcherError::NarrowLogits { given: 2, vocabulary_len: 4 })));
    /// # Ok::<(), MatcherError>(())
    /// ```
    pub fn new(
        index: Arc<Index>,
        vocabulary: Arc<Vocabulary>,
        binding: &Binding,
    ) -> Result<Self, MatcherError> {
        Self::with_rollback(index, vocabulary, binding, DEFAULT_MAX_ROLLBACK)
    }

    /// A matcher at the empty text that remembers `max_rollback` tokens: 4 bytes each.
    ///
    /// # Errors
    /// See [`Self::with_limits`].
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::Matcher;
    ///
    /// # let (index, vocabulary, binding) = small::pattern();
    /// let mut matcher = Matcher::with_rollback(index, vocabulary, &binding, 1)?;
    /// matcher.advance(0)?;
    /// matcher.advance(1)?;
    /// assert!(matcher.rollback(2).is_err(), "it remembers one token");
    /// assert!(matcher.rollback(1).is_ok());
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn with_rollback(
        index: Arc<Index>,
        vocabulary: Arc<Vocabulary>,
        binding: &Binding,
        max_rollback: usize,
    ) -> Result<Self, MatcherError> {
        Self::with_limits(index, vocabulary, binding, max_rollback, DEFAULT_MAX_STACK_DEPTH)
    }

    /// A matcher at the empty text that remembers `max_rollback` tokens, and gives no masks of texts whose stack has more than
    /// `max_stack_depth` frames, 32 bytes each. A token goes past the limit if a mask has shown it; after it there is no mask.
    ///
    /// # Errors
    /// [`MatcherError::OtherVocabulary`], [`MatcherError::OtherEncoder`], [`MatcherError::OtherSharedRows`], [`MatcherError::NarrowLogits`], [`MatcherError::EosBeyondLogits`].
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::{Matcher, MatcherError};
    ///
    /// # let (index, vocabulary, binding) = small::brackets();
    /// // Ids 0 `[`, 1 `]`; brackets within brackets. At most two frames on the stack.
    /// let mut matcher = Matcher::with_limits(index, vocabulary, &binding, 1, 2)?;
    /// let mut mask = vec![0; matcher.mask_words()];
    /// while matcher.fill(&mut mask).is_ok() {
    ///     matcher.advance(0)?;
    /// }
    /// let past = Err(MatcherError::StackDepth { limit: 2, frames: 3 });
    /// assert_eq!(matcher.advance(0), past);
    /// matcher.rollback(1)?;
    /// assert_eq!(matcher.stack_depth(), 2);
    /// # Ok::<(), MatcherError>(())
    /// ```
    pub fn with_limits(
        index: Arc<Index>,
        vocabulary: Arc<Vocabulary>,
        binding: &Binding,
        max_rollback: usize,
        max_stack_depth: u32,
    ) -> Result<Self, MatcherError> {
        if !index.belongs_to(&vocabulary) {
            return Err(MatcherError::OtherVocabulary {
                expected: index.vocabulary_digest(),
                found: vocabulary.digest(),
            });
        }
        if !index.shares_rows_of(&vocabulary) {
            return Err(MatcherError::OtherSharedRows);
        }
        if binding.logits_width < vocabulary.len() {
            return Err(MatcherError::NarrowLogits {
                given: binding.logits_width,
                vocabulary_len: vocabulary.len(),
            });
        }
        if let Some(&id) = binding.eos.iter().find(|&&id| id >= binding.logits_width) {
            return Err(MatcherError::EosBeyondLogits { id, width: binding.logits_width });
        }
        let canonical = match index.encoder_digest() {
            None => None,
            Some(expected) => {
                let (found, chunk) = (vocabulary.encoder())
                    .map_or(([0; 32], NO_CHUNK), |encoder| (encoder.digest, encoder.chunks.start()));
                if expected.0 != found {
                    return Err(MatcherError::OtherEncoder { expected, found: Digest(found) });
                }
                let (frames, frame) = Frames::at_start(&index, max_stack_depth);
                let now = Readings::at_start(&index, chunk, frame);
                let history = vec![now; max_rollback].into_boxed_slice();
                Some(Box::new(Canonical {
                    now,
                    frames,
                    beginning: now,
                    healing: None,
                    taken_back: 0,
                    history,
                }))
            }
        };
        let has_configurations = canonical.is_none() && index.class() != IndexClass::Regular;
        Ok(Self {
            canonical,
            state: index.start(),
            prefix: Arc::default(),
            configurations: has_configurations.then(|| {
                Box::new(Configurations::new(index.start(), max_rollback, Limits::of_depth(max_stack_depth)))
            }),
            index,
            vocabulary,
            binding: Arc::new(binding.clone()),
            history: vec![DEAD; max_rollback].into_boxed_slice(),
            head: 0,
            remembered: 0,
        })
    }

    /// The index. O(1).
    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// The vocabulary. O(1).
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The binding. O(1).
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// The automaton's state, the first of several under an ambiguous index; `None` once the text has ended. O(1).
    pub fn state(&self) -> Option<u32> {
        let state = match (&self.configurations, &self.canonical) {
            (Some(all), _) => all.now().first().map_or(DEAD, |at| at.state),
            (None, Some(canonical)) => canonical.now.all()[0].at.state,
            (None, None) => self.state,
        };
        (self.state != ENDED).then(|| self.place(state))
    }

    /// The configurations of the text so far, at most `most`: a state, and the numbers of the return states on a stack, innermost
    /// first (see [`Index::call_root`]). One without a stack under a regular index; none once the text has ended. Stacks of one
    /// state that share a graph come once each. O(`most` × depth × nodes), and O(configurations × depth) where each has one stack.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # use gobo_artifact::Matcher;
    /// # let (index, vocabulary, binding) = small::brackets();
    /// # let mut matcher = Matcher::new(index, vocabulary, &binding)?;
    /// // Three brackets are open: the two outer ones wait on the stack.
    /// matcher.advance_bytes(b"[[[")?;
    /// let configurations = matcher.configurations(16);
    /// assert_eq!(configurations.len(), 1);
    /// assert_eq!(configurations[0].1, [0, 0]);
    /// assert_eq!(matcher.stack_depth(), 2);
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn configurations(&self, most: usize) -> Vec<(u32, Vec<u32>)> {
        let mut found = Vec::new();
        match &self.configurations {
            _ if self.state == ENDED => {}
            None => match &self.canonical {
                None => found.push((self.place(self.state), Vec::new())),
                Some(canonical) => {
                    let at = |of: &Reading| (self.place(of.at.state), canonical.frames.list(of.frame));
                    found.extend(canonical.now.all().iter().take(most).map(at));
                }
            },
            Some(all) => {
                for at in all.now() {
                    let stacks = all.stacks().list(at.frame, most - found.len());
                    found.extend(stacks.into_iter().map(|stack| (at.state, stack)));
                }
            }
        }
        found
    }

    /// How many configurations the text so far has, at most `u64::MAX`; stacks of one state that share a graph are counted by the
    /// ways through it, so that a stack to which two ways lead counts twice. O(nodes).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let mut matcher = small::matcher();
    /// assert_eq!(matcher.configuration_count(), 1);
    /// # matcher.advance(3)?;
    /// // After an EOS there is none.
    /// assert_eq!(matcher.configuration_count(), 0);
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn configuration_count(&self) -> u64 {
        match &self.configurations {
            _ if self.state == ENDED => 0,
            None => self.canonical.as_ref().map_or(1, |canonical| canonical.now.all().len() as u64),
            Some(all) => {
                all.now().iter().fold(0, |sum: u64, at| sum.saturating_add(all.stacks().count(at.frame)))
            }
        }
    }

    /// Of each of [`Self::configurations`], at most `most`, where it reads a string whose characters are counted, or a region whose tokens are: how many have begun, and
    /// how many there may be. The cost is that of [`Self::configurations`].
    pub fn counts(&self, most: usize) -> Vec<Option<(u32, LengthRange)>> {
        let mut found = Vec::new();
        match &self.configurations {
            _ if self.state == ENDED => {}
            None => found.resize(self.configurations(most).len(), None),
            Some(all) => {
                for (at, count) in all.now().iter().zip(all.counts(&self.index)) {
                    let stacks = all.stacks().list(at.frame, most - found.len()).len();
                    found.resize(found.len() + stacks, count);
                }
            }
        }
        found
    }

    /// Frames of the deepest stack; 0 under a regular index. O(configurations).
    pub fn stack_depth(&self) -> u32 {
        match (&self.configurations, &self.canonical) {
            (Some(all), _) => all.depth(),
            (None, Some(canonical)) => canonical.now.depth(&canonical.frames),
            (None, None) => 0,
        }
    }

    /// Nodes of the stacks of this text, frames and links, which [`Self::with_max_nodes`] limits; 0 under a regular index. The same
    /// for a text wherever it is read. O(nodes kept).
    pub fn stack_nodes(&self) -> usize {
        let of = |all: &Configurations| {
            let (frames, links) = all.nodes();
            frames + links
        };
        self.configurations.as_deref().map_or(0, of)
    }

    /// Frames of all stacks of this text, each once; 0 under a regular index. At most as many for each byte as the index has states and
    /// pushed return states. O(nodes kept).
    pub fn stack_frames(&self) -> usize {
        self.configurations.as_ref().map_or(0, |all| all.nodes().0)
    }

    /// The same matcher, which gives no masks of texts whose stacks have more than `max_nodes` nodes, 32 bytes each, instead of
    /// [`DEFAULT_MAX_STACK_NODES`] or four for each frame of the deepest stack, whichever is more.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// use gobo_artifact::{Matcher, MatcherError};
    ///
    /// # let (index, vocabulary, binding) = small::brackets();
    /// let mut matcher = Matcher::new(index, vocabulary, &binding)?.with_max_nodes(1);
    /// let mut mask = vec![0; matcher.mask_words()];
    /// matcher.advance_bytes(b"[[[")?;
    /// let past = Err(MatcherError::StackNodes { limit: 1, nodes: 2 });
    /// assert_eq!(matcher.fill(&mut mask), past);
    /// matcher.rollback(1)?;
    /// assert!(matcher.fill(&mut mask).is_ok());
    /// # Ok::<(), MatcherError>(())
    /// ```
    #[must_use]
    pub fn with_max_nodes(mut self, max_nodes: u32) -> Self {
        if let Some(all) = &mut self.configurations {
            all.set_max_nodes(max_nodes);
        }
        self
    }

    /// Nodes that are kept for this text and for those it can go back to, 32 bytes each. O(free nodes).
    pub fn kept_nodes(&self) -> usize {
        self.configurations.as_ref().map_or(0, |all| all.stacks().kept())
    }

    /// Words of a mask, 32 bits each: `ceil(logits width / 32)`. O(1).
    pub fn mask_words(&self) -> usize {
        self.binding.mask_words()
    }

    /// Whether the text so far satisfies the constraint. O(configurations), which is 1 unless the index is ambiguous.
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let mut matcher = small::matcher();
    /// // Texts of (ab)*.
    /// assert!(matcher.is_complete());
    /// matcher.advance_bytes(b"a")?;
    /// assert!(!matcher.is_complete());
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn is_complete(&self) -> bool {
        self.is_complete_at(self.at())
    }

    /// Where the text stands.
    #[inline]
    fn at(&self) -> At<'_> {
        let readings = self.canonical.as_ref().map(|canonical| (&canonical.now, &canonical.frames));
        At { state: self.state, configurations: self.configurations.as_deref(), readings }
    }

    /// By what the readings of a canonical index are read.
    ///
    /// # Errors
    /// [`MatcherError::Corrupt`] for a vocabulary without the tables, with which no matcher is made.
    #[inline]
    fn tables(&self) -> Result<Tables<'_>, MatcherError> {
        let encoder = self.vocabulary.encoder().map_err(|_| MatcherError::Corrupt { state: DEAD })?;
        let healing = self.canonical.as_ref().and_then(|canonical| canonical.healing.as_deref());
        Ok(Tables { index: &self.index, vocabulary: &self.vocabulary, encoder, healing })
    }

    #[inline]
    fn is_complete_at(&self, at: At<'_>) -> bool {
        match (at.configurations, at.readings) {
            _ if at.state >= FIRST_APART => at.state == ENDED,
            (Some(all), _) => all.is_complete(&self.index),
            (None, Some((readings, frames))) => {
                self.tables().is_ok_and(|tables| readings.are_complete(&tables, frames))
            }
            (None, None) => self.index.is_complete(at.state),
        }
    }

    /// Whether an EOS was taken. O(1).
    ///
    /// ```
    /// # mod small { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/small.rs")); }
    /// # let mut matcher = small::matcher();
    /// matcher.advance(3)?; // the EOS
    /// assert!(matcher.is_ended() && matcher.state().is_none());
    /// # Ok::<(), gobo_artifact::MatcherError>(())
    /// ```
    pub fn is_ended(&self) -> bool {
        self.state == ENDED
    }

    #[inline]
    fn row(&self, state: u32) -> Option<Row<'_>> {
        self.index.row(&self.vocabulary, self.index.row_number(state)?)
    }
}
