//! Chunks that could only end behind a word that is spelled.
//!
//! Some tokens are whole chunks although no merges make them ([`Words`](gobo_artifact::layout::Words)), and a chunk that has been spelled as such a word cannot end. Rows do not know
//! how a chunk began. So where the text leaves no way but to end the chunk, as where a string is full, the row before still has the last token of the spelling. It
//! leads nowhere; nor does the token before it, if there was no other way to go on; and so on, at most up to the beginning of the chunk, where the word itself is a token.
//! Whether nothing goes on may depend on the stack, so that these tokens stay in the rows, and the index lists where the matcher has to look.
//!
//! O(states at which chunks begin × nodes of the trie of words that can be read from there × what it costs to read a token).

use foldhash::{HashMap, HashSet};
use gobo_artifact::layout::WORD_ENDS;
use gobo_types::{CompileError, TokenId};

use super::first::First;
use super::product::DEAD;
use super::walk::{PHASE, Walk};

/// Tokens behind which nothing may go on: the state behind a border, the node of the words to which the chunk has come there, and the token.
pub(super) type Spelled = Vec<[u32; 3]>;

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
pub(super) struct Spellings<'a, A, M> {
    walk: &'a Walk<'a>,
    first: &'a First,
    /// Where a token may end that is read from a state.
    after: A,
    /// With calls: whether a text may go on behind a state in a way that depends on the stack.
    depends: Option<M>,
    found: Spelled,
    /// By the state at the end of a token, and the node of words.
    known: HashMap<(u32, u32), Fate>,
}

impl<'a, A, M> Spellings<'a, A, M>
where
    A: FnMut(u32, TokenId) -> Result<Vec<u32>, CompileError>,
    M: Fn(u32) -> bool,
{
    pub(super) fn new(walk: &'a Walk<'a>, first: &'a First, depends: Option<M>, after: A) -> Self {
        Self { walk, first, after, depends, found: Vec::new(), known: HashMap::default() }
    }

    /// All tokens behind which nothing may go on, ascending. `begins`: the states behind borders at which chunks begin.
    pub(super) fn find(mut self, begins: impl IntoIterator<Item = u32>) -> Result<Spelled, CompileError> {
        if !self.walk.encoder.words.is_empty() {
            for border in begins {
                self.stuck_from(border, 0)?;
            }
        }
        self.found.sort_unstable();
        Ok(self.found)
    }

    /// The tokens that spell on from a border at a node of words, and behind which nothing may go on.
    fn stuck_from(&mut self, border: u32, node: u32) -> Result<HashSet<TokenId>, CompileError> {
        let mut stuck = HashSet::default();
        let walk = self.walk;
        for &[_, id, next] in walk.encoder.words.below(node) {
            walk.budget.charge_steps(PHASE, 1)?;
            for end in (self.after)(border, id)? {
                if self.fate(end, id, next)? == Fate::Stuck && stuck.insert(id) {
                    walk.budget.charge_bytes(PHASE, 12)?;
                    self.found.push([border, node & !WORD_ENDS, id]);
                }
            }
        }
        Ok(stuck)
    }

    /// What becomes of the chunk behind `last`, which ends in a state, at a node of words. Each token of a spelling is a call within that of the one before: at most 256, since no
    /// token of such a vocabulary has more bytes.
    fn fate(&mut self, state: u32, last: TokenId, node: u32) -> Result<Fate, CompileError> {
        if let Some(&known) = self.known.get(&(state, node)) {
            return Ok(known);
        }
        let Walk { product, encoder, budget, .. } = self.walk;
        let [border, marked] = product.borders(state);
        let stuck = if border == DEAD { HashSet::default() } else { self.stuck_from(border, node)? };
        let ends = self.depends.is_none() && product.ends[state as usize]
            || self.first.tokens_of(marked).next().is_some();
        let (mut tests, mut follows_stuck) = (0, false);
        let follows = self.first.tokens_of(border).any(|follows| {
            tests += 1;
            let is_next = !encoder.merges.joins(last, follows);
            follows_stuck |= is_next && stuck.contains(&follows);
            is_next && !stuck.contains(&follows)
        });
        let fate = if follows || ends && node & WORD_ENDS == 0 {
            Fate::GoesOn
        } else if ends || follows_stuck || self.depends.as_ref().is_some_and(|depends| depends(state)) {
            Fate::Stuck
        } else {
            Fate::Dead
        };
        budget.charge_steps(PHASE, 1 + tests)?;
        budget.charge_bytes(PHASE, 16)?;
        self.known.insert((state, node), fate);
        Ok(fate)
    }
}
