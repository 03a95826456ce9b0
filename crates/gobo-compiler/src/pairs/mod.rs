//! Rows of an automaton with calls, and of such states without calls as share most of their walks.
//!
//! What a token may do at a configuration falls into two parts. Tokens that stay inside the rule at hand, and the rules that
//! they call themselves, depend on the state alone: its row. A token that ends the rule before its own end leaves a
//! *pending suffix*, the rest of its bytes, to the return state on top of the stack. Pending suffixes are blocks of the vocabulary's
//! trie, each with the exit at which the rule has ended, so a state has one set of them; and what a set may do at a return state, each
//! suffix in the state after its exit, is a row again, and a set of suffixes that end that rule too. Rows are so keyed by state and by (suffix set, class of return states), and never by a path: the
//! mask of a configuration is the union along the top of its stack. After Willard & Louf 2023 (arXiv 2307.09702), section 4, and
//! Koo, Liu & He 2024 (arXiv 2407.08103), Algorithm 3, made finite by the sets: the stacks under which a token is allowed
//! form a regular language, and suffix sets are states of an automaton that reads the stack from its top.
//!
//! [`crate::rows`] computes the row of a state, which sees nothing of what may follow its rule. This module is the work list: it decides
//! which states have a row of their own, and follows suffix sets to all return states that may lie below.

mod compose;
mod exits;
mod lists;
pub(crate) mod return_classes;
mod same_rows;
mod suffix_cells;
pub(crate) mod suffix_sets;
mod table;

use gobo_automata::{Calls, KEquivalence, StateId};
use gobo_types::{Budget, CompileError, DenseId as _};

use crate::pairs::compose::Composer;
use crate::pairs::return_classes::{Asked, ReturnClasses};
use crate::pairs::same_rows::SameRows;
use crate::pairs::suffix_sets::{Pair, SuffixSetId};
use crate::pairs::table::RowTable;
use crate::rows::{Levels, RowComputer, RowTokens, RuleView, SharedRows};

/// What is computed of an automaton with calls.
#[derive(Debug, Default)]
pub(crate) struct PushDownRows {
    /// The tokens of each computed row.
    pub(crate) rows: Vec<RowTokens>,
    /// For each state that was asked for, its row, by its place in `rows`.
    pub(crate) of_states: Vec<usize>,
    /// For each state that was asked for, the set of suffixes pending at the end of its rule.
    pub(crate) pending: Vec<SuffixSetId>,
    /// By suffix set, then by class of return states: the row, by its place in `rows`, and the suffixes that are pending at the end
    /// of the return state's rule too: those of all pairs of the class together. A missing pair allows nothing.
    pub(crate) pairs: Vec<Vec<Pair>>,
}

/// The row and the pending suffixes of each of `states`, and of every pair that can come up below them. `equivalences` tells which states short
/// texts do not tell apart.
///
/// O(trie nodes that no rule spares), over all rows.
pub(crate) fn rows(
    view: &RuleView<'_>,
    calls: &Calls,
    classes: &ReturnClasses,
    equivalences: &[KEquivalence],
    states: &[Asked],
    shared: Option<&SharedRows<'_>>,
    budget: &Budget,
) -> Result<PushDownRows, CompileError> {
    let levels = is_composed(view, calls);
    let levels = levels.then(|| Levels::of(calls, view.len(), budget)).transpose()?;
    // What is found on one level names calls by number.
    let shared = shared.filter(|_| levels.is_none());
    let computer = RowComputer::new(view, equivalences, shared, levels.as_ref(), budget);
    let composer = levels.as_ref().map(|levels| Composer::new(view, &calls.returns, levels, budget));
    let same = SameRows::new(equivalences, states);
    let (trie, has_exits) = (view.all().trie, calls.has_exits());
    let mut table = RowTable::new(computer, composer, same, trie, classes.len(), has_exits, budget);
    let of: Vec<(usize, usize)> =
        states.iter().map(|asked| table.of_state(asked.state)).collect::<Result<_, _>>()?;
    let mark = table.mark();
    let followed = match table.follow_all(calls, classes, states, &of)? {
        Some(followed) => followed,
        None => {
            table.begin_splitting(mark);
            let followed = table.follow_all(calls, classes, states, &of)?;
            followed.expect("only sets that are not split are said to pile up")
        }
    };
    table.charge()?;
    let is_split = table.is_split();
    let of_states = of.into_iter().map(|(row, _)| row).collect();
    let found = PushDownRows {
        pairs: table.pairs(&followed)?,
        rows: table.tokens,
        of_states,
        pending: followed.pending,
    };
    Ok(if is_split { found.swept() } else { found })
}

impl PushDownRows {
    /// Without the sets that no state leads to, and the rows of these.
    fn swept(mut self) -> Self {
        let mut is_met = vec![false; self.pairs.len()];
        is_met[SuffixSetId::EMPTY.index()] = true;
        let mut open = self.pending.clone();
        while let Some(set) = open.pop() {
            if !std::mem::replace(&mut is_met[set.index()], true) {
                open.extend(self.pairs[set.index()].iter().map(|pair| pair.suffixes));
            }
        }
        let mut is_used = vec![false; self.rows.len()];
        self.of_states.iter().for_each(|&row| is_used[row] = true);
        let met = self.pairs.iter().zip(&is_met).filter(|(_, is_met)| **is_met);
        met.flat_map(|(pairs, _)| pairs).for_each(|pair| is_used[pair.row] = true);
        let (sets, rows) = (places(&is_met), places(&is_used));
        let mut keep = is_met.into_iter();
        self.pairs.retain(|_| keep.next() == Some(true));
        let mut keep = is_used.into_iter();
        self.rows.retain(|_| keep.next() == Some(true));
        let set = |set: SuffixSetId| SuffixSetId::new(sets[set.index()]);
        for pair in self.pairs.iter_mut().flatten() {
            (pair.row, pair.suffixes) = (rows[pair.row], set(pair.suffixes));
        }
        self.pending.iter_mut().for_each(|pending| *pending = set(*pending));
        self.of_states.iter_mut().for_each(|row| *row = rows[*row]);
        self
    }
}

/// The place of each that is kept among all that are kept; of the others no matter what.
fn places(is_kept: &[bool]) -> Vec<usize> {
    let count = |kept: &mut usize, is_kept: &bool| {
        let place = *kept;
        *kept += usize::from(*is_kept);
        Some(place)
    };
    is_kept.iter().scan(0, count).collect()
}

/// Whether rows are composed: where rules have several exits, or there are more calls than states. Elsewhere that saves nothing, and compiles
/// share rows.
fn is_composed(view: &RuleView<'_>, calls: &Calls) -> bool {
    let pushes =
        || StateId::range(0..view.len()).map(|state| calls.push_transitions(state).len()).sum::<usize>();
    !calls.counts() && view.longest_token() <= MAX_NESTED && (calls.has_exits() || pushes() > view.len())
}

/// The longest token, in bytes, with which rows are composed: calls of the composer stand in each other for as many rules as a token begins.
const MAX_NESTED: u32 = 256;
