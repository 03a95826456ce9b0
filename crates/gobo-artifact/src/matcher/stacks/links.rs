//! Equal links are one: a hash table of all links that are kept, chained through the nodes (Knuth, *The Art of Computer Programming*,
//! volume 3, section 6.4).
//!
//! A link is found by the hash in its marks, which depends on what it stands for, so that no two tables differ in more than the order of
//! their chains, and nothing depends on that. A table with nothing in it has no memory: where stacks are plain there is none.
//! O(1) expected for a look, an entry and a removal, and the links once more whenever their number has doubled.

use super::node::{LINK, NONE, Node};

/// Places of the first table.
const FIRST: usize = 64;

/// The first links of all places.
#[derive(Debug, Clone, Default)]
pub(super) struct Links {
    /// As many as a power of two, or none.
    places: Vec<u32>,
    count: usize,
}

impl Links {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    fn place(&self, marks: u32) -> usize {
        (marks >> 3) as usize & (self.places.len() - 1)
    }

    /// The first link in the place of those with these marks.
    #[inline]
    pub(super) fn first(&self, marks: u32) -> u32 {
        if self.places.is_empty() { NONE } else { self.places[self.place(marks)] }
    }

    /// Enters a link that is not there.
    pub(super) fn enter(&mut self, nodes: &mut [Node], link: u32) {
        if self.count >= self.places.len() {
            self.places = vec![NONE; (2 * self.count).max(FIRST).next_power_of_two()];
            let is_kept = |node: &Node| node.has(LINK) && node.holders != u32::MAX;
            for number in (0..).take(nodes.len()) {
                if number != link && is_kept(&nodes[number as usize]) {
                    self.chain(nodes, number);
                }
            }
        }
        self.chain(nodes, link);
        self.count += 1;
    }

    fn chain(&mut self, nodes: &mut [Node], link: u32) {
        let node = &mut nodes[link as usize];
        let place = self.place(node.marks);
        node.beside = std::mem::replace(&mut self.places[place], link);
    }

    /// Takes a link out.
    pub(super) fn leave(&mut self, nodes: &mut [Node], link: u32) {
        let Node { marks, beside: after, .. } = nodes[link as usize];
        let place = self.place(marks);
        let mut known = self.places[place];
        if known == link {
            self.places[place] = after;
        } else {
            while nodes[known as usize].beside != link {
                known = nodes[known as usize].beside;
            }
            nodes[known as usize].beside = after;
        }
        self.count -= 1;
    }
}
