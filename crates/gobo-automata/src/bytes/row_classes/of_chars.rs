//! The classes by characters: far fewer rounds than by bytes, over far fewer states.

use foldhash::{HashMap, HashMapExt};
use gobo_types::{Budget, CompileError, DenseId as _};

use super::call_edges::WithCalls;
use super::{KEquivalence, RowClasses};
use crate::bytes::calls::Calls;
use crate::bytes::char_states::{CharStates, TemplateId};
use crate::equivalence::{BlockId, Partition, refine_watched};
use crate::ids::{CharState, RowClass, StateId};

/// Lengths, in characters, up to which it is kept which states a text tells apart.
const SHORT_TEXTS: [u32; 4] = [4, 8, 16, 32];

impl CharStates {
    /// Classes of states, of `len` byte states, such that two states of a class are told apart by no string of at most
    /// `longest` characters, if they lie between characters, and of at most `longest_inner`, which is no more, if they lie
    /// inside. Parts of characters at the ends of a string count as whole ones.
    pub(crate) fn row_classes(
        &self,
        len: usize,
        calls: Option<&Calls>,
        longest: u32,
        longest_inner: u32,
        budget: &Budget,
    ) -> Result<RowClasses, CompileError> {
        const PHASE: &str = "grouping states by their rows";
        debug_assert!(longest_inner <= longest, "tokens that begin inside a character are tokens too");
        budget.charge_bytes(PHASE, len as u64 * 4)?;
        let mut equivalences: Vec<KEquivalence> = Vec::new();
        let mut distinct = 0;
        let mut keep = |chars: u32, partition: &Partition<CharState>| {
            let (first, count) = self.first_of_blocks(len, partition);
            // What short texts tell apart, longer ones do too: the shorter ones need no table of their own then.
            let is_same = std::mem::replace(&mut distinct, count) == count;
            if count < self.blocks.len() {
                if is_same {
                    equivalences.pop();
                }
                budget.charge_bytes(PHASE, len as u64 * 4)?;
                equivalences.push(KEquivalence { chars, representative: first });
            }
            Ok(())
        };
        // Of states after the first character of a token that begins inside one, which are told apart by shorter strings.
        let mut after: Option<Vec<BlockId>> = None;
        let blocks_of = |partition: &Partition<CharState>| -> Vec<BlockId> {
            CharState::range(0..self.blocks.len()).map(|state| partition.block(state)).collect()
        };
        let mut watch = |round, partition: &Partition<CharState>| {
            if round == longest_inner {
                after = Some(blocks_of(partition));
            }
            if SHORT_TEXTS.contains(&round) { keep(round, partition) } else { Ok(()) }
        };
        let partition = match calls {
            None => {
                let initial: Vec<u32> = CharState::range(0..self.blocks.len())
                    .map(|state| u32::from(state != CharState::DEAD))
                    .collect();
                refine_watched(&self.dfa.symbols, &initial, Some(longest), PHASE, budget, &mut watch)?
            }
            // A call reads a text of its rule; where a rule ends, tokens go on after it.
            Some(calls) => {
                let edges = WithCalls::new(self, calls, longest, PHASE, budget)?;
                refine_watched(&edges, &edges.marks(), Some(longest), PHASE, budget, &mut watch)?
            }
        };
        keep(longest, &partition)?;
        // Where nothing changed from some round on, what longer strings tell apart is known as well.
        let after = after.unwrap_or_else(|| blocks_of(&partition));
        let mut classes = vec![RowClass::new(0); len];
        let mut count = partition.blocks();
        // States inside characters: by what they read and the blocks of the states after it.
        let mut known: HashMap<(TemplateId, Vec<BlockId>), usize> = HashMap::new();
        for (state, block) in CharState::enumerate(&self.blocks) {
            classes[block.root.index()] = RowClass::new(partition.block(state).index());
            if !block.has_own_inner_states() {
                continue;
            }
            let exits = &self.exits[block.exits.0 as usize..block.exits.1 as usize];
            budget.charge_steps(PHASE, exits.len() as u64 + u64::from(block.inner_states))?;
            let exits = exits.iter().map(|&next| after[next.index()]).collect();
            let first = *known.entry((block.template, exits)).or_insert(count);
            if first == count {
                count += block.inner_states as usize;
            }
            let inner = &mut classes[block.inner_indices()];
            inner.iter_mut().zip(first..).for_each(|(class, index)| *class = RowClass::new(index));
        }
        Ok(RowClasses { of: classes, count, equivalences })
    }

    /// `[byte states]`: for a state between characters the first of its block, for another itself; and the number of blocks.
    fn first_of_blocks(&self, len: usize, partition: &Partition<CharState>) -> (Vec<StateId>, usize) {
        let mut first: Vec<StateId> = StateId::range(0..len).collect();
        let mut of_block = vec![None; partition.blocks()];
        for (state, block) in CharState::enumerate(&self.blocks) {
            let known = of_block[partition.block(state).index()].get_or_insert(block.root);
            first[block.root.index()] = *known;
        }
        let count = of_block.iter().flatten().count();
        (first, count)
    }
}
