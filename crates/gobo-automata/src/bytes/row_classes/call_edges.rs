//! The edges of an automaton over characters with calls as symbols, for counting rounds of refinement by characters.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _, checked_u32};

use crate::bytes::calls::Calls;
use crate::bytes::char_states::CharStates;
use crate::equivalence::Edges;
use crate::ids::{CharState, Symbol};

/// The edges of an automaton over characters with calls as symbols after the classes. A call takes as many steps as the
/// shortest text of its rule has characters: the states after it are told apart only by what can be left of a token there.
/// The steps lead through states of their own, after those of the automaton.
pub(crate) struct WithCalls<'a> {
    calls: &'a Calls,
    /// `[states + 1]`: where the edges of each state begin.
    starts: Vec<u32>,
    edges: Vec<(Symbol, CharState)>,
}

impl<'a> WithCalls<'a> {
    /// For strings of at most `longest` characters.
    pub(crate) fn new(
        chars: &CharStates,
        calls: &'a Calls,
        longest: u32,
        phase: &str,
        budget: &Budget,
    ) -> Result<Self, CompileError> {
        let states = chars.dfa.len();
        // `[states of steps]`: the state after; [`CharState::DEAD`] in the first, which stands for all that no token reads.
        let mut after = vec![CharState::DEAD];
        // The states one, two, … steps before each state after a call.
        let mut before: HashMap<CharState, Vec<CharState>> = HashMap::new();
        budget.charge_bytes(phase, chars.dfa.symbols.edge_count() as u64 * 8)?;
        let mut with =
            Self { calls, starts: vec![0], edges: Vec::with_capacity(chars.dfa.symbols.edge_count()) };
        let mut of_chars = calls.of_chars.all.iter().zip(&calls.shortest).peekable();
        for state in CharState::range(0..states) {
            with.edges.extend_from_slice(chars.dfa.row(state));
            while let Some((call, &shortest)) = of_chars.next_if(|(call, _)| call.state == state) {
                budget.charge_bytes(phase, 4 + u64::from(shortest.min(longest)) * 12)?;
                let next = if shortest >= longest {
                    CharState::new(states)
                } else {
                    let steps = before.entry(call.to).or_insert_with(|| vec![call.to]);
                    while steps.len() < shortest as usize {
                        steps.push(CharState::new(states + after.len()));
                        after.push(steps[steps.len() - 2]);
                    }
                    steps[(shortest as usize).saturating_sub(1)]
                };
                // A symbol for each rule and exit.
                let of_call = call.rule.index() + call.exit.index() * calls.entries.len();
                with.edges.push((Symbol::new(chars.dfa.classes + of_call), next));
            }
            with.starts.push(checked_u32(with.edges.len()));
        }
        for next in after {
            with.edges.extend((next != CharState::DEAD).then_some((Symbol::FIRST, next)));
            with.starts.push(checked_u32(with.edges.len()));
        }
        Ok(with)
    }

    /// What tells states apart that the edges do not: [`Calls::marks`], and one for all states of steps.
    pub(crate) fn marks(&self) -> Vec<u32> {
        let mut marks = self.calls.marks.clone();
        marks.resize(self.states(), u32::MAX);
        marks
    }
}

impl Edges for WithCalls<'_> {
    type State = CharState;

    fn states(&self) -> usize {
        self.starts.len() - 1
    }

    fn edges(&self, state: CharState) -> impl Iterator<Item = (Symbol, CharState)> {
        self.edges[self.starts[state.index()] as usize..self.starts[state.index() + 1] as usize]
            .iter()
            .copied()
    }

    fn edge_count(&self) -> usize {
        self.edges.len()
    }
}
