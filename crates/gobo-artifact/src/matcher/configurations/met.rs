//! Pairs that are met in the course of a mask, each once: of a number, a suffix set for one, and a node of the stacks.
//!
//! A thread keeps the room from one mask to the next, so that a mask allocates nothing once masks have been as large as they get.

use std::cell::Cell;

use super::BOTTOM;
use crate::layout::index::calls::NO_SUFFIXES;

/// Places of a table that a thread keeps from one mask to the next: 1 MiB.
const KEPT_PLACES: usize = 1 << 17;

/// What is done with the pairs that a mask meets, none at first. They are taken from the thread and not borrowed: what is called may fill
/// another mask.
#[inline]
pub(super) fn with_met<T>(walk: impl FnOnce(&mut Met) -> T) -> T {
    let mut met = MET.take();
    met.begin();
    let result = walk(&mut met);
    if met.table.len() <= KEPT_PLACES {
        MET.set(met);
    }
    result
}

/// In the place of a suffix set: the other number is that of a row.
pub(super) const ROW: u32 = NO_SUFFIXES;

/// The pairs that were met in the course of a mask: a table of open addresses, and the pairs ahead.
#[derive(Debug, Default)]
pub(super) struct Met {
    /// Suffix set, node, and the mask: a pair of another mask is none.
    table: Vec<(u32, u32, u32)>,
    mask: u32,
    count: usize,
    pub(super) ahead: Vec<(u32, u32)>,
}

thread_local! {
    /// Room that masks of this thread have needed: matchers are shared by threads while they are filled.
    static MET: Cell<Met> = const { Cell::new(Met { table: Vec::new(), mask: 0, count: 0, ahead: Vec::new() }) };
}

impl Met {
    fn begin(&mut self) {
        self.count = 0;
        self.ahead.clear();
        self.mask = self.mask.wrapping_add(1);
        if self.mask == 0 {
            self.table.fill((0, 0, 0));
            self.mask = 1;
        }
    }

    /// The pair is ahead if it was not met before. Nothing is left at the bottom, and for no suffixes.
    #[inline]
    pub(super) fn go_to(&mut self, (suffix_set, node): (u32, u32)) {
        if suffix_set != NO_SUFFIXES && node != BOTTOM && self.is_new(suffix_set, node) {
            self.ahead.push((suffix_set, node));
        }
    }

    /// Whether the pair was not met before. O(1) expected.
    #[inline]
    pub(super) fn is_new(&mut self, suffix_set: u32, node: u32) -> bool {
        if 2 * self.count >= self.table.len() {
            self.grow();
        }
        let place = self.place(suffix_set, node);
        if self.table[place].2 == self.mask {
            return false;
        }
        self.table[place] = (suffix_set, node, self.mask);
        self.count += 1;
        true
    }

    /// Where the pair is, or belongs.
    #[inline]
    fn place(&self, suffix_set: u32, node: u32) -> usize {
        // Fibonacci hashing: Knuth, volume 3, section 6.4.
        let hash = (suffix_set.rotate_left(16) ^ node).wrapping_mul(0x9e37_79b9);
        let mut place = (hash ^ (hash >> 15)) as usize & (self.table.len() - 1);
        loop {
            let (set, known, mask) = self.table[place];
            if mask != self.mask || (set, known) == (suffix_set, node) {
                return place;
            }
            place = (place + 1) & (self.table.len() - 1);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![(0, 0, 0); (2 * self.table.len()).max(64)];
        for (suffix_set, node, mask) in std::mem::replace(&mut self.table, larger) {
            if mask == self.mask {
                let place = self.place(suffix_set, node);
                self.table[place] = (suffix_set, node, mask);
            }
        }
    }
}
