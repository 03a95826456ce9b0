//! Sets of configurations that stand for others in a walk: those that no text as long as the tokens below a block tells apart
//! (k-equivalent states, with k the height of the block). States inside counted repetitions are told apart by the few long tokens only,
//! and so they share the walk of all others. Where a token counts characters itself, distances tell states apart, too.

use gobo_automata::KEquivalence;
use gobo_types::DenseId as _;

use super::configuration_sets::{ConfigurationSetId, ConfigurationSets, UNKNOWN};

/// See the [module](self).
pub(super) struct Representatives<'a> {
    equivalences: &'a [KEquivalence],
    /// [`RuleView::heights`](super::view::RuleView::heights); empty where there are no equivalences.
    heights: &'a [u8],
    /// `[sets of configurations, equivalences]`: the answers so far; [`UNKNOWN`] where it was not asked.
    known: Vec<ConfigurationSetId>,
}

impl<'a> Representatives<'a> {
    /// `equivalences`: ascending by their length.
    pub(super) fn new(equivalences: &'a [KEquivalence], heights: &'a [u8]) -> Self {
        Self { equivalences, heights, known: Vec::new() }
    }

    /// The set to walk a block from in place of `from`. Only sets of one configuration have another one.
    pub(super) fn of_set(
        &mut self,
        from: ConfigurationSetId,
        block: usize,
        sets: &mut ConfigurationSets<'_>,
    ) -> ConfigurationSetId {
        if self.equivalences.is_empty() {
            return from;
        }
        let longest = u32::from(self.heights[block]);
        let level = self.equivalences.iter().position(|equivalence| equivalence.chars >= longest);
        let Some(level) = level else { return from };
        let at = from.index() * self.equivalences.len() + level;
        if self.known.len() <= at {
            self.known.resize(sets.sets.len() * self.equivalences.len(), UNKNOWN);
        }
        if self.known[at] == UNKNOWN {
            self.known[at] = match *sets.sets[from] {
                [(state, stacks)] if !sets.is_counted(stacks) => {
                    let state = self.equivalences[level].representative[state.index()];
                    sets.intern(&[(state, stacks)])
                }
                _ => from,
            };
        }
        self.known[at]
    }
}
