//! Chunks that could only end behind a word that is spelled.
//!
//! Some tokens are whole chunks although no merges make them ([`Words`](gobo_artifact::layout::Words)), and a chunk that has been spelled as such a word cannot end. Rows do not know
//! how a chunk began. So where the text leaves no way but to end the chunk, as where a string is full, the row before still has the last token of the spelling. It
//! leads nowhere; nor does the token before it, if there was no other way to go on; and so on, at most up to the beginning of the chunk, where the word itself is a token.
//! Whether nothing goes on may depend on the stack, so that these tokens stay in the rows, and the index lists where the matcher has to look.
//!
//! O(states at which chunks begin × nodes of the trie of words that can be read from there × what it costs to read a token).

use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};
use gobo_artifact::layout::WORD_ENDS;
use gobo_automata::StateId;
use gobo_types::{CompileError, DenseId as _, TokenId};

use super::fronts::{FrontId, Fronts};
use super::texts::{Spot, Texts};
use super::walk::{PHASE, Walk};

/// Tokens behind which nothing may go on: by the border before them, the node of the words to which the chunk has come there, and the token.
#[derive(Default)]
pub(super) struct Spelled(BTreeMap<Spot, Vec<[u32; 2]>>);

impl Spelled {
    /// Whether there are any at the borders of a state.
    pub(super) fn is_any(&self, state: StateId) -> bool {
        let (from, to) = (Spot { state, chunk: 0 }, Spot { state, chunk: u16::MAX });
        self.0.range(from..=to).next().is_some()
    }

    /// Those of a border: node and token, ascending.
    pub(super) fn of(&self, border: Spot) -> Vec<[u32; 2]> {
        self.0.get(&border).cloned().unwrap_or_default()
    }
}

/// What becomes of a chunk behind a token that spells the beginning of a word, or all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    GoesOn,
    /// It may have to end, and cannot.
    Stuck,
    /// Nothing goes on, whatever has been spelled: rows do not have the token.
    Dead,
}

/// The search.
pub(super) struct Spellings<'a, A> {
    walk: &'a Walk<'a>,
    texts: &'a Texts<'a>,
    fronts: &'a Fronts,
    /// Where a token may end that is read from a border.
    after: A,
    found: Spelled,
    /// By the place at the end of a token, and the node of words.
    known: HashMap<(Spot, u32), Fate>,
}

impl<'a, A> Spellings<'a, A>
where
    A: FnMut(Spot, TokenId) -> Result<Vec<Spot>, CompileError>,
{
    pub(super) fn new(walk: &'a Walk<'a>, texts: &'a Texts<'a>, fronts: &'a Fronts, after: A) -> Self {
        Self { walk, texts, fronts, after, found: Spelled::default(), known: HashMap::default() }
    }

    /// All tokens behind which nothing may go on.
    pub(super) fn find(mut self) -> Result<Spelled, CompileError> {
        let Walk { encoder, rules, .. } = self.walk;
        if encoder.words.is_empty() {
            return Ok(self.found);
        }
        // States of a class may differ in where words end.
        for state in StateId::range(1..rules.dfa.len()) {
            let borders = self.texts.sets.members(self.texts.borders(state));
            for &chunk in borders.iter().filter(|&&chunk| encoder.chunks.begins(chunk)) {
                self.stuck_from(Spot { state, chunk }, 0)?;
            }
        }
        for found in self.found.0.values_mut() {
            found.sort_unstable();
            found.dedup();
        }
        Ok(self.found)
    }

    /// The tokens that spell on from a border at a node of words, and behind which nothing may go on.
    fn stuck_from(&mut self, border: Spot, node: u32) -> Result<HashSet<TokenId>, CompileError> {
        let mut stuck = HashSet::default();
        let walk = self.walk;
        for &[_, id, next] in walk.encoder.words.below(node) {
            walk.budget.charge_steps(PHASE, 1)?;
            for end in (self.after)(border, id)? {
                if self.fate(end, id, next)? == Fate::Stuck && stuck.insert(id) {
                    walk.budget.charge_bytes(PHASE, 8)?;
                    self.found.0.entry(border).or_default().push([node & !WORD_ENDS, id]);
                }
            }
        }
        Ok(stuck)
    }

    /// What becomes of the chunk behind `last`, which ends there, at a node of words. Each token of a spelling is a call within that of the one before: at most 256, since no
    /// token of such a vocabulary has more bytes.
    fn fate(&mut self, at: Spot, last: TokenId, node: u32) -> Result<Fate, CompileError> {
        if let Some(&known) = self.known.get(&(at, node)) {
            return Ok(known);
        }
        let Walk { encoder, budget, rules, .. } = self.walk;
        let (texts, fronts) = (self.texts, self.fronts);
        let chunks = &encoder.chunks;
        let border = Spot { chunk: chunks.within(at.chunk), ..at };
        let (within, marked) =
            (fronts.front(texts, border), fronts.front(texts, Spot { chunk: chunks.marked(at.chunk), ..at }));
        let stuck = if within.is_none() { HashSet::default() } else { self.stuck_from(border, node)? };
        let has_any = |front: FrontId| fronts.tokens(front).next().is_some();
        // The text may end, or a chunk begin, whatever is on the stack.
        let has_calls = !rules.calls.returns.is_empty();
        let ends = !has_calls && texts.may_leave(at) || marked.is_some_and(has_any);
        let (mut tests, mut follows_stuck) = (0, false);
        let follows = within.is_some_and(|within| {
            fronts.tokens(within).any(|follows| {
                tests += 1;
                let is_next = !encoder.merges.joins(last, follows);
                follows_stuck |= is_next && stuck.contains(&follows);
                is_next && !stuck.contains(&follows)
            })
        });
        let depends = |front: FrontId| !fronts.open(front).is_empty() || !fronts.leaving(front).is_empty();
        let fate = if follows || ends && node & WORD_ENDS == 0 {
            Fate::GoesOn
        } else if ends
            || follows_stuck
            || has_calls
                && (texts.may_leave(at) || within.is_some_and(depends) || marked.is_some_and(depends))
        {
            Fate::Stuck
        } else {
            Fate::Dead
        };
        budget.charge_steps(PHASE, 1 + tests)?;
        budget.charge_bytes(PHASE, 24)?;
        self.known.insert((at, node), fate);
        Ok(fate)
    }
}
