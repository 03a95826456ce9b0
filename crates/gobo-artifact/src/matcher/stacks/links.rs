//! Equal links are one: a hash table of all links that are kept, chained through the nodes (Knuth, *The Art of Computer Programming*,
//! volume 3, section 6.4).
//!
//! A link is found by the hash in its marks, which depends on what it stands for, so that no two tables differ in more than the order of
//! their chains, and nothing depends on that. A table with nothing in it has no memory: where stacks are plain there is none.
//! O(1) expected for a look, an entry and a removal, and the links once more whenever their number has doubled.

use super::{LINK, NONE, Stacks};

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
}

impl Stacks {
    /// Enters a link that is not there.
    pub(super) fn enter(&mut self, link: u32) {
        if self.links.count >= self.links.places.len() {
            let places = (2 * self.links.count).max(FIRST).next_power_of_two();
            self.links = Links { places: vec![NONE; places], count: self.links.count };
            let is_kept = |node: &super::Node| node.marks & LINK != 0 && node.holders != u32::MAX;
            for number in (0..).take(self.all.len()) {
                if number != link && is_kept(self.at(number)) {
                    self.chain(number);
                }
            }
        }
        self.chain(link);
        self.links.count += 1;
    }

    fn chain(&mut self, link: u32) {
        let place = self.links.place(self.at(link).marks);
        self.all[link as usize].beside = std::mem::replace(&mut self.links.places[place], link);
    }

    /// Takes a link out.
    pub(super) fn leave(&mut self, link: u32) {
        let place = self.links.place(self.at(link).marks);
        let after = self.at(link).beside;
        let mut known = self.links.places[place];
        if known == link {
            self.links.places[place] = after;
        } else {
            while self.at(known).beside != link {
                known = self.at(known).beside;
            }
            self.all[known as usize].beside = after;
        }
        self.links.count -= 1;
    }
}
