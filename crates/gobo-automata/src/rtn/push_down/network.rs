//! The states of a push-down automaton as a network.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, Table, TextStart};

use super::PushDown;
use super::live::{Live, RowId};
use super::subset::{PHASE, Subset};
use crate::chars::ClassRanges;
use crate::ids::{CharState, ExitId, RuleId, Symbol};
use crate::rtn::network::Network;
use crate::rtn::rules::Joined;
use crate::symbols::{SymbolDfa, SymbolNfa};

impl PushDown {
    /// The network of its texts. Its rules are the frames, each with the state above it; whether stacks have a greatest depth is not asked.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(crate) fn network(&self, text_start: TextStart, budget: &Budget) -> Result<Network, CompileError> {
        let mut subset = Subset::of(self, budget)?;
        if text_start == TextStart::StripOneSpace {
            subset.before_strip_of_one_space(budget)?;
        }
        let live = subset.live(budget)?.merged(budget)?;
        let Subset { ranges, classes, .. } = subset;
        live.network(self, ranges, classes, budget)
    }
}

impl Live {
    fn network(
        self,
        of: &PushDown,
        ranges: ClassRanges,
        classes: usize,
        budget: &Budget,
    ) -> Result<Network, CompileError> {
        // Where no frame goes on after an exit, nothing can end at it.
        let mut exits: Vec<ExitId> = self.rows.iter().flatten().map(|way| way.0).collect();
        exits.sort_unstable();
        exits.dedup();
        // Nothing lies below the whole text. Its end is an exit of its own, so that it is like no other, at the frames below which it comes.
        let whole = ExitId::new(exits.len());
        let number = |exit: &ExitId| exits.binary_search(exit).ok().map(ExitId::new);
        let end = |exit: ExitId| if self.wholes.contains(&exit) { Some(whole) } else { number(&exit) };
        let ends: Vec<Option<ExitId>> = self.ends.iter().map(|exit| exit.and_then(end)).collect();
        let mut rows: Table<RowId, Vec<(ExitId, CharState)>> = (self.rows.iter())
            .map(|row| row.iter().filter_map(|way| Some((number(&way.0)?, way.1))).collect())
            .collect();
        let is_whole = |way: &(ExitId, CharState)| ends[way.1.index()] == Some(whole);
        for row in rows.iter_mut() {
            let ended = row.iter().find(|way| is_whole(way)).map(|way| way.1);
            row.extend(ended.map(|ended| (whole, ended)));
        }
        let Self { dfa, pushes, rules, .. } = self;
        let mut calls: Vec<(RuleId, ExitId)> = Vec::new();
        let mut symbols: HashMap<(RuleId, ExitId), Symbol> = HashMap::new();
        let mut all = SymbolDfa::empty();
        let mut row: Vec<(Symbol, CharState)> = Vec::new();
        for state in CharState::range(1..dfa.len()) {
            row.clear();
            row.extend_from_slice(dfa.row(state));
            for &rule in &pushes[state.index()] {
                for &(exit, to) in &rows[rules[rule].row] {
                    let symbol = *symbols.entry((rule, exit)).or_insert_with(|| {
                        calls.push((rule, exit));
                        Symbol::new(classes + calls.len() - 1)
                    });
                    row.push((symbol, to));
                }
            }
            row.sort_unstable();
            budget.charge_steps(PHASE, 1 + row.len() as u64)?;
            budget.charge_bytes(PHASE, row.len() as u64 * 8)?;
            all.push(&row, ends[state.index()].is_some());
        }
        let start = RuleId::new(rules.len());
        let mut entries: Table<RuleId, CharState> = rules.iter().map(|rule| rule.entry).collect();
        entries.push(dfa.start);
        let mut names: Table<RuleId, String> =
            rules.iter().map(|rule| of.frames[rule.frame].name.clone()).collect();
        names.push(of.name.clone());
        let joined = Joined {
            all: SymbolNfa::of(&all),
            ends,
            of: vec![start; dfa.len()],
            calls,
            lengths: Table::filled(None, entries.len()),
            entries,
            names,
        };
        joined.network(start, ranges, classes, true, budget)
    }
}
