//! A trie of the vocabulary with its root block laid out by byte.

use gobo_artifact::layout::Trie;

/// A trie whose root block is found by byte: it is the largest, and the states of most constraints read few bytes.
pub(crate) struct Rooted<'a> {
    pub(crate) trie: Trie<'a>,
    /// `[256]`: the number of the root's child on each byte; `u32::MAX` for none.
    children: Box<[u32; 256]>,
}

impl<'a> Rooted<'a> {
    pub(super) fn new(trie: Trie<'a>) -> Self {
        let mut children = Box::new([u32::MAX; 256]);
        let first = u32::try_from(trie.root).expect("23 bits number a node");
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
