//! The automata of all rules that are needed, one after the other.

use gobo_types::{Budget, CompileError, LengthRange, Table};

use super::{PHASE, Rules};
use crate::ids::{CharState, ExitId, RuleId};
use crate::symbols::{SymbolDfa, SymbolNfa};

/// See the [module](self).
pub(in crate::rtn) struct Joined {
    /// Of each state an edge for each symbol, ascending; classes first, then [`Self::calls`].
    pub(in crate::rtn) all: SymbolNfa,
    /// `[states]`: the exit of those in which a rule ends.
    pub(in crate::rtn) ends: Vec<Option<ExitId>>,
    /// `[states]`: the rule of the grammar that each is of; the dead state is of none.
    pub(in crate::rtn) of: Vec<RuleId>,
    /// `[symbols of calls]`: the rule that is called, and the exit at which its text ends.
    pub(in crate::rtn) calls: Vec<(RuleId, ExitId)>,
    /// `[rules]`: where their texts begin; the dead state for those that are not needed.
    pub(in crate::rtn) entries: Table<RuleId, CharState>,
    /// `[rules]`, and those of [`Self::of`] if they are others.
    pub(in crate::rtn) names: Table<RuleId, String>,
    /// `[rules]`.
    pub(in crate::rtn) lengths: Table<RuleId, Option<LengthRange>>,
}

impl Rules {
    /// The rules that `top` needs.
    pub(super) fn joined(&self, top: RuleId, budget: &Budget) -> Result<Joined, CompileError> {
        let mut joined = Joined {
            all: SymbolNfa::of(&SymbolDfa::empty()),
            ends: vec![None],
            of: vec![RuleId::of(0)],
            calls: self.dfas.ids().map(|rule| (rule, ExitId::FIRST)).collect(),
            entries: Table::filled(CharState::DEAD, self.dfas.len()),
            names: self.names.clone(),
            lengths: self.lengths.clone(),
        };
        let reached = self.reached(top);
        for rule in self.dfas.ids().filter(|&rule| reached[rule]) {
            let dfa = &self.dfas[rule];
            joined.entries[rule] = joined.all.append(dfa).of(dfa.start);
            joined.ends.extend(dfa.accepting.iter().map(|&accepting| accepting.then_some(ExitId::FIRST)));
            joined.of.resize(joined.ends.len(), rule);
        }
        budget.check_states(PHASE, joined.ends.len())?;
        Ok(joined)
    }
}
