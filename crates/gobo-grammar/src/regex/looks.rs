//! What looks demand, read beside a text: states of look-aheads that have to accept what follows, and of look-behinds that know what
//! stood before.

use gobo_automata::{CharState, Language, Minterms, Symbol};
use gobo_types::{Budget, CompileError, DenseId as _};

use super::nfa::{LookId, Nfa};

/// A state of a look-ahead's automaton: it has to accept the rest of the text.
pub(crate) type Obligation = (LookId, CharState);

/// The automaton of patterns, and the languages of its looks by characters that nothing tells apart.
pub(super) struct Looks<'a> {
    pub(super) nfa: Nfa,
    pub(super) minterms: Minterms,
    /// `[looks]`: the state from which every text is accepted.
    pub(super) everything: Vec<Option<CharState>>,
    phase: &'static str,
    pub(super) budget: &'a Budget,
}

impl<'a> Looks<'a> {
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn of(nfa: Nfa, phase: &'static str, budget: &'a Budget) -> Result<Self, CompileError> {
        let minterms = Minterms::of(&nfa.sets, &nfa.languages, budget)?;
        let everything = nfa.languages.iter().map(Language::everything).collect();
        Ok(Self { nfa, minterms, everything, phase, budget })
    }

    /// The state of a look after a character.
    pub(super) fn step(&self, look: LookId, state: CharState, minterm: Symbol) -> CharState {
        if state == CharState::DEAD {
            return state;
        }
        self.minterms.step(minterm, look.index(), &self.nfa.languages[look], state)
    }

    /// The states of a look-behind after a character, ascending.
    pub(super) fn history(&self, look: LookId, history: &[CharState], minterm: Symbol) -> Vec<CharState> {
        let mut after: Vec<CharState> =
            history.iter().map(|&state| self.step(look, state, minterm)).collect();
        after.sort_unstable();
        after.dedup();
        after
    }

    /// The states in which a look-behind may be where a text begins, of whose surroundings nothing is known; ascending.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn beginnings(&self, look: LookId) -> Result<Vec<CharState>, CompileError> {
        let mut found = vec![self.nfa.languages[look].start()];
        let mut at = 0;
        while let Some(&state) = found.get(at) {
            self.budget.charge_steps(self.phase, self.minterms.all().len() as u64)?;
            for minterm in self.minterms.all() {
                let next = self.step(look, state, minterm);
                if !found.contains(&next) {
                    self.budget.charge_steps(self.phase, found.len() as u64)?;
                    found.push(next);
                }
            }
            at += 1;
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Obligations after a character, ascending; `None` if they cannot be met.
    ///
    /// # Errors
    /// [`CompileError::OverBudget`].
    pub(super) fn obligations_after(
        &self,
        obligations: &[Obligation],
        minterm: Symbol,
    ) -> Result<Option<Vec<Obligation>>, CompileError> {
        self.budget.charge_steps(self.phase, obligations.len() as u64)?;
        let mut after = Vec::with_capacity(obligations.len());
        for &(look, state) in obligations {
            let state = self.step(look, state, minterm);
            if state == CharState::DEAD {
                return Ok(None);
            }
            if self.everything[look.index()] != Some(state) {
                after.push((look, state));
            }
        }
        after.sort_unstable();
        after.dedup();
        Ok(Some(after))
    }

    /// Obligations with that of a look-ahead; `None` if nothing may follow.
    pub(super) fn obliged(&self, look: LookId, mut obligations: Vec<Obligation>) -> Option<Vec<Obligation>> {
        let start = self.nfa.languages[look].start();
        if start == CharState::DEAD {
            return None;
        }
        if self.everything[look.index()] != Some(start) {
            obligations.push((look, start));
            obligations.sort_unstable();
            obligations.dedup();
        }
        Some(obligations)
    }
}
