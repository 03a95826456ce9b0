//! What a canonical index is written from.

use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashMapExt};
use gobo_artifact::Vocabulary;
use gobo_artifact::layout::Encoder;
use gobo_artifact::write::{CallParts, RowEncoder};
use gobo_types::{Budget, CompileError, TokenId, Tokenization, checked_u32};

use super::borders::Borders;
use super::lists::ListId;
use crate::rows::SharedRows;

pub(super) const PHASE: &str = "laying out rows";

/// Of one token in so many words of a row or fewer, the ids are sorted; else words are made.
const FEW: usize = 32;

/// So many words of two rows are united while one token is added to a row.
const WORDS_PER_TOKEN: usize = 8;

/// What an automaton is compiled over, and how.
#[derive(Clone, Copy)]
pub(super) struct Over<'a, 'v> {
    pub(super) vocabulary: &'v Vocabulary,
    pub(super) encoder: &'a Encoder<'a>,
    pub(super) tokenization: Tokenization,
    pub(super) shared: Option<&'a SharedRows<'a>>,
    pub(super) budget: &'a Budget,
}

/// Live tokens.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    pub(super) ids: &'a [TokenId],
    /// Its number, if other rows may have it too.
    pub(super) number: Option<ListId>,
}

/// What a canonical index is written from.
pub(super) struct Canonical<'v> {
    pub(super) borders: Borders,
    pub(super) rows: RowEncoder<'v>,
    pub(super) computed: usize,
    /// With calls there is one more state, behind the whole text.
    pub(super) calls: Option<CallParts>,
}

/// The rows of an index while they are written.
pub(super) struct Rows<'v, 'b> {
    pub(super) all: RowEncoder<'v>,
    /// How many were asked for.
    pub(super) computed: usize,
    row_words: usize,
    ids: Vec<TokenId>,
    words: Vec<u32>,
    united: LongLists,
    /// By their lists.
    known: HashMap<Vec<ListId>, u32>,
    budget: &'b Budget,
}

impl<'v, 'b> Rows<'v, 'b> {
    pub(super) fn new(all: RowEncoder<'v>, row_words: usize, budget: &'b Budget) -> Self {
        Self {
            all,
            computed: 0,
            row_words,
            ids: Vec::new(),
            words: vec![0; row_words],
            united: LongLists::default(),
            known: HashMap::new(),
            budget,
        }
    }

    /// The number of the row with the tokens of some lists.
    pub(super) fn push(&mut self, lists: &[List<'_>]) -> Result<u32, CompileError> {
        self.computed += 1;
        // Strings have the same lists inside of their characters.
        let known: Option<Vec<ListId>> = lists.iter().map(|list| list.number).collect();
        if let Some(&number) = known.as_ref().and_then(|lists| self.known.get(lists)) {
            return Ok(number);
        }
        let count: usize = lists.iter().map(|list| list.ids.len()).sum();
        let before = self.all.bytes();
        let number = if count <= self.row_words / FEW {
            self.budget.charge_steps(PHASE, 1 + count as u64)?;
            self.ids.clear();
            self.ids.extend(lists.iter().flat_map(|list| list.ids));
            self.all.push_sparse(&mut self.ids)
        } else {
            self.words.fill(0);
            self.budget.charge_steps(PHASE, self.row_words as u64 / 64)?;
            for list in lists {
                self.united.unite(list, &mut self.words, self.budget)?;
            }
            self.all.push(&self.words)
        };
        self.budget.charge_bytes(PHASE, (self.all.bytes() - before) as u64)?;
        if let Some(lists) = known {
            self.budget.charge_bytes(PHASE, 32 + lists.len() as u64 * 4)?;
            self.known.insert(lists, checked_u32(number));
        }
        Ok(checked_u32(number))
    }
}

/// Long lists of tokens as words: each is in the rows of many states, of all that are open while a text goes on with a string.
#[derive(Default)]
struct LongLists(HashMap<ListId, Box<[u32]>>);

impl LongLists {
    /// Adds a list to a row: `[row words]`.
    fn unite(&mut self, list: &List<'_>, row: &mut [u32], budget: &Budget) -> Result<(), CompileError> {
        let set = |row: &mut [u32]| {
            list.ids.iter().for_each(|&id| row[(id >> 5) as usize] |= 1 << (id & 31));
            budget.charge_steps(PHASE, list.ids.len() as u64)
        };
        let Some(number) = list.number.filter(|_| list.ids.len() > row.len() / WORDS_PER_TOKEN) else {
            return set(row);
        };
        let words = match self.0.entry(number) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut words = vec![0; row.len()].into_boxed_slice();
                set(&mut words)?;
                budget.charge_bytes(PHASE, row.len() as u64 * 4)?;
                new.insert(words)
            }
        };
        budget.charge_steps(PHASE, row.len() as u64 / 64)?;
        row.iter_mut().zip(words).for_each(|(word, more)| *word |= *more);
        Ok(())
    }
}
