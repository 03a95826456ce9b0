//! Prefix trees over the bytes of tokens (Fredkin, *Trie Memory*, 1960), laid out for a walk that runs forward in memory.
//!
//! Siblings lie side by side, as a block; blocks lie in preorder of their parents. The ids at or below a node are one range of the
//! trie order, because that order is sorted by bytes: a node needs to store the beginning of its range only. A whole subtree is
//! taken or left in O(1).

use gobo_types::{ByteSet, TokenId};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// One node of a trie: 8 bytes.
///
/// The children of a node lie side by side, as a *block*, ascending by byte. Blocks lie in preorder of their parents, so
/// that looking through siblings and descending both run forward in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TrieNode {
    /// Bits 0 to 7 the byte, bit 8 whether it is the last of its block, from bit 9 on the number of its first child.
    word: u32,
    /// Position in the trie order of the first id at or below this node.
    pub first: u32,
}

impl TrieNode {
    /// Most nodes of a file: 23 bits number them, and 0 stands for none: node 0 is no child.
    pub const MAX_NODES: usize = (1 << 23) - 1;

    /// A node over the edge `byte`, whose children begin at node `children`.
    ///
    /// # Panics
    /// If `children` is no child's number: 0, or [`Self::MAX_NODES`] or more.
    pub fn new(byte: u8, is_last: bool, children: Option<usize>, first: u32) -> Self {
        assert!(
            children.is_none_or(|number| number != 0 && number < Self::MAX_NODES),
            "23 bits number a node"
        );
        let children = u32::try_from(children.unwrap_or(0)).expect("23 bits");
        Self { word: u32::from(byte) | u32::from(is_last) << 8 | children << 9, first }
    }

    /// The byte on the edge that leads here.
    #[inline]
    pub fn byte(self) -> u8 {
        self.word.to_le_bytes()[0]
    }

    /// Whether no sibling follows.
    #[inline]
    pub fn is_last(self) -> bool {
        self.word >> 8 & 1 == 1
    }

    /// The number of the first child.
    #[inline]
    pub fn children(self) -> Option<usize> {
        let number = (self.word >> 9) as usize;
        (number != 0).then_some(number)
    }
}

/// `[nodes]`: [`Vocabulary::trie_heights`].
pub(crate) fn heights(nodes: &[TrieNode]) -> Box<[u8]> {
    let mut heights = vec![0_u8; nodes.len()].into_boxed_slice();
    // Children lie after their parents, and siblings side by side.
    let mut after = 0;
    for (number, node) in nodes.iter().enumerate().rev() {
        let below = node.children().map_or(0, |child| heights[child]);
        let own = below.saturating_add(1);
        after = if node.is_last() { own } else { own.max(after) };
        heights[number] = after;
    }
    heights
}

/// Some ordinary tokens of a vocabulary as a trie over their bytes: the ids at or below a node are one range of `order`.
///
/// A file holds several tries in the same tables; numbers of nodes and positions in the order are those of the tables.
#[derive(Debug, Clone, Copy)]
pub struct Trie<'a> {
    /// `[nodes of all tries]`.
    pub nodes: &'a [TrieNode],
    /// The ids of each trie, one trie after the other: by bytes, then by id.
    pub order: &'a [TokenId],
    /// `[nodes of all tries]`: number of the byte set over all edges below a node; 0 where none is kept.
    pub set_ids: &'a [u16],
    /// `[sets]`: bit `b & 31` of word `b >> 5` is byte `b`. Set 0 holds all bytes.
    pub sets: &'a [[u32; 8]],
    /// Number of the first node of the root block: the root itself is not stored.
    pub root: usize,
    /// Where the ids of this trie begin in `order`.
    pub from: u32,
    /// Where they end.
    pub to: u32,
}

impl<'a> Trie<'a> {
    /// The end of the ids at or below node `number`, in a block whose ids end at `to`.
    ///
    /// # Panics
    /// On a file that did not verify.
    #[inline]
    pub fn subtree_end(&self, number: usize, to: u32) -> u32 {
        if self.nodes[number].is_last() { to } else { self.nodes[number + 1].first }
    }

    /// The end of the own ids of node `number`, whose subtree ends at `subtree_end`: they come before those below.
    ///
    /// # Panics
    /// On a file that did not verify.
    #[inline]
    pub fn own_end(&self, number: usize, subtree_end: u32) -> u32 {
        self.nodes[number].children().map_or(subtree_end, |child| self.nodes[child].first)
    }

    /// Every node on the path of `text`, outermost first: how many bytes lead there, and the ids of exactly these bytes.
    /// O(siblings) for each.
    ///
    /// # Panics
    /// On a file that did not verify.
    pub fn prefixes<'t>(&self, text: &'t [u8]) -> Prefixes<'a, 't> {
        Prefixes { trie: *self, block: Some(self.root), to: self.to, depth: 0, text }
    }

    /// Checks the trie, whose order is known to be sorted: that it is the trie of the order, node for node.
    /// Returns the number of the node after its last one. O(nodes and bytes), without recursion.
    pub(crate) fn verify<'b>(&self, bytes_of: impl Fn(TokenId) -> &'b [u8]) -> Result<usize, String> {
        let mut path: Vec<u8> = Vec::new();
        let mut next = self.block_end(self.root, self.from, self.to)?;
        let mut open = vec![Block { at: self.root, end: next, to: self.to, below: ByteSet::default() }];
        while let Some(block) = open.last_mut() {
            if block.at == block.end {
                let below = block.below;
                open.pop();
                let Some(parent) = open.last_mut() else { break };
                self.covers(parent.at, &below)?;
                parent.below.insert_all(&below);
                parent.at += 1;
                path.pop();
                continue;
            }
            let number = block.at;
            let node = self.nodes[number];
            let end = self.subtree_end(number, block.to);
            block.below.insert(node.byte());
            path.push(node.byte());
            let own_end = match node.children() {
                None => end,
                Some(child) if child == next && child < self.nodes.len() => self.nodes[child].first,
                Some(_) => return Err(format!("the children of trie node {number} are not the next block")),
            };
            let ids = self.order.get(node.first as usize..own_end as usize);
            let Some(ids) = ids.filter(|_| own_end <= end) else {
                return Err(format!("trie node {number} has no range of ids"));
            };
            if ids.iter().any(|&id| bytes_of(id) != path) {
                return Err(format!("trie node {number} names tokens with other bytes"));
            }
            match node.children() {
                None => {
                    self.covers(number, &ByteSet::default())?;
                    block.at += 1;
                    path.pop();
                }
                Some(child) => {
                    next = self.block_end(child, own_end, end)?;
                    open.push(Block { at: child, end: next, to: end, below: ByteSet::default() });
                }
            }
        }
        Ok(next)
    }

    /// The end of the block that begins at node `from_node`, whose ids are `from..to`: each sibling leads to some of
    /// them, in the order of their bytes.
    fn block_end(&self, from_node: usize, from: u32, to: u32) -> Result<usize, String> {
        let mut before: Option<TrieNode> = None;
        for (number, &node) in self.nodes.iter().enumerate().skip(from_node) {
            if before.is_some_and(|before| before.byte() >= node.byte()) {
                return Err(format!("trie node {number} is out of order"));
            }
            let begins_right = before.map_or(node.first == from, |before| before.first < node.first);
            if !begins_right || node.first >= to {
                return Err(format!("trie node {number} leads to no token"));
            }
            if node.is_last() {
                return Ok(number + 1);
            }
            before = Some(node);
        }
        Err("the last block of the trie does not end".into())
    }

    /// The byte set of a node must hold every byte below it.
    fn covers(&self, number: usize, below: &ByteSet) -> Result<(), String> {
        let set = self.set_ids.get(number).and_then(|&set| self.sets.get(usize::from(set)));
        let Some(set) = set else {
            return Err(format!("trie node {number} names a byte set that is not there"));
        };
        if !below.is_subset(&ByteSet::from_words(*set)) {
            return Err(format!("the byte set of trie node {number} misses a byte"));
        }
        Ok(())
    }
}

/// A block whose nodes are being checked.
struct Block {
    /// The node at hand.
    at: usize,
    /// The node after the last.
    end: usize,
    /// The end of the ids of the whole block.
    to: u32,
    /// The bytes on the edges into the block and below it, as far as they were seen.
    below: ByteSet,
}

/// The iterator of [`Trie::prefixes`].
#[derive(Debug)]
pub struct Prefixes<'a, 't> {
    trie: Trie<'a>,
    block: Option<usize>,
    /// The end of the ids of the block.
    to: u32,
    depth: usize,
    text: &'t [u8],
}

impl Prefixes<'_, '_> {
    /// Where the whole text leads, once all of its nodes were visited: the number of the first node below it, and the end of the ids there.
    /// `None` where no token goes on.
    pub(crate) fn below(&self) -> Option<(usize, u32)> {
        self.block.filter(|_| self.depth == self.text.len()).map(|block| (block, self.to))
    }
}

impl<'a> Iterator for Prefixes<'a, '_> {
    type Item = (usize, &'a [TokenId]);

    fn next(&mut self) -> Option<Self::Item> {
        let &byte = self.text.get(self.depth)?;
        let mut number = self.block?;
        while self.trie.nodes[number].byte() < byte && !self.trie.nodes[number].is_last() {
            number += 1;
        }
        let node = self.trie.nodes[number];
        if node.byte() != byte {
            self.block = None;
            return None;
        }
        let end = self.trie.subtree_end(number, self.to);
        let own_end = self.trie.own_end(number, end);
        (self.block, self.to) = (node.children(), end);
        self.depth += 1;
        Some((self.depth, &self.trie.order[node.first as usize..own_end as usize]))
    }
}
