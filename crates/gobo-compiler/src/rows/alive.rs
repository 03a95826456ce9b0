//! Up to how many characters every text over the characters of a slice is alive: a block of the slice's trie with no longer texts is
//! taken without a look.

use gobo_automata::StateId;
use gobo_types::DenseId as _;

use super::configuration_sets::{BYTES_PER_COUNT, ConfigurationSetId, ConfigurationSets};
use super::view::RuleView;

/// A number of characters that was not asked for.
const UNKNOWN_CHARS: u8 = u8::MAX;

/// See the [module](self).
pub(super) struct AliveTexts<'a> {
    /// The closure under the characters of the trie at hand.
    pub(super) closure: Option<usize>,
    /// `[closures, sets of configurations]`: what [`Self::find`] answers; [`UNKNOWN_CHARS`] where it was not asked.
    chars: Vec<Vec<u8>>,
    /// [`RuleView::heights`].
    heights: &'a [u8],
}

impl<'a> AliveTexts<'a> {
    pub(super) fn new(closures: usize, heights: &'a [u8]) -> Self {
        Self { closure: None, chars: vec![Vec::new(); closures], heights }
    }

    /// Whether every token below a block is alive, whatever it reads: its characters are those of a slice, and any text over
    /// these is alive that is as long. The pending suffixes of such tokens need not be known, because they are in
    /// the row.
    #[inline]
    pub(super) fn is_whole(
        &mut self,
        block: usize,
        at: ConfigurationSetId,
        view: &RuleView<'_>,
        sets: &mut ConfigurationSets<'_>,
    ) -> bool {
        let Some(closure) = self.closure else { return false };
        let known = self.chars[closure].get(at.index()).copied().unwrap_or(UNKNOWN_CHARS);
        let chars = if known == UNKNOWN_CHARS { self.find(closure, at, view, sets) } else { known };
        chars >= self.heights[block]
    }

    /// Up to how many characters every text over those of the closure is alive from a set of configurations, on the
    /// transitions of one rule. A block has no longer texts in characters than in bytes.
    #[cold]
    fn find(
        &mut self,
        closure: usize,
        at: ConfigurationSetId,
        view: &RuleView<'_>,
        sets: &mut ConfigurationSets<'_>,
    ) -> u8 {
        let of = |state: StateId| view.depth(closure, state);
        // Where characters are counted, transitions alone do not say what is alive.
        let entries = |state: StateId| {
            let pushes = view.push_transitions(state).iter().filter(|push| !view.is_counted(push));
            pushes.map(|push| of(push.entry))
        };
        let set = &sets.sets[at];
        let own = |stacks, state| (!sets.is_counted(stacks)).then(|| of(state));
        let depths = set.iter().flat_map(|&(state, stacks)| entries(state).chain(own(stacks, state)));
        let chars = depths.max().unwrap_or(0).min(u32::from(UNKNOWN_CHARS) - 1);
        let chars = u8::try_from(chars).expect("less than what stands for unknown");
        let (asked, len) = (set.len(), sets.sets.len());
        let fresh = len.saturating_sub(self.chars[closure].len());
        sets.count(asked + fresh / BYTES_PER_COUNT);
        let known = &mut self.chars[closure];
        known.resize(known.len().max(len), UNKNOWN_CHARS);
        known[at.index()] = chars;
        chars
    }
}
