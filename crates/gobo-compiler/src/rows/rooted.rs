//! A trie of the vocabulary with its root block laid out by byte.

use gobo_artifact::layout::Trie;
use gobo_types::checked_u32;

/// A trie whose root block is found by byte: it is the largest, and the states of most constraints read few bytes.
pub(crate) struct Rooted<'a> {
    pub(crate) trie: Trie<'a>,
    /// `[256]`: the number of the root's child on each byte; `u32::MAX` for none.
    children: Box<[u32; 256]>,
}

impl<'a> Rooted<'a> {
    pub(super) fn new(trie: Trie<'a>) -> Self {
        let mut children = Box::new([u32::MAX; 256]);
        let first = checked_u32(trie.root);
        for (number, node) in (first..).zip(&trie.nodes[trie.root..]) {
            children[usize::from(node.byte())] = number;
            if node.is_last() {
                break;
            }
        }
        Self { trie, children }
    }

    #[inline]
    pub(crate) fn child(&self, byte: u8) -> Option<usize> {
        let number = self.children[usize::from(byte)];
        (number != u32::MAX).then_some(number as usize)
    }
}
