//! Pending suffixes: the rests of tokens that end a rule before their own end.

use gobo_artifact::Trie;

use super::tokens::RowTokens;

/// Token prefixes that end a rule with bytes left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct PendingSuffixes {
    /// Whether the empty prefix is among them: the rule could end before the token.
    pub(crate) whole: bool,
    /// The blocks of tokens that go on, each with the end of its ids, ascending.
    pub(crate) blocks: Vec<(u32, u32)>,
}

impl PendingSuffixes {
    /// Leaves out the blocks whose tokens are all in the row, and puts the others in order: the set does not depend on how it was found.
    pub(super) fn settle(&mut self, tokens: &RowTokens, trie: &Trie<'_>) {
        self.blocks.retain(|&(block, end)| !tokens.has(trie.nodes[block as usize].first, end));
        self.blocks.sort_unstable();
        self.blocks.dedup();
    }
}
