//! Lists of numbers, such as sets of states, each stored once.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::ids::number;

/// Distinct lists of numbers, each with a number of its own: the order in which they first came. All lie in one vector.
///
/// The hash is seeded anew in every process, so that nobody can prepare lists that collide; numbers do not depend on it.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    flat: Vec<u32>,
    /// Where each list ends.
    ends: Vec<u32>,
    table: HashTable<u32>,
    state: RandomState,
}

impl Interner {
    /// None yet, with room for so many.
    pub(crate) fn with_capacity(lists: usize) -> Self {
        let mut room = Self::default();
        room.ends.reserve(lists);
        let Self { table, state, .. } = &mut room;
        table.reserve(lists, |&known| state.hash_one(known));
        room
    }

    /// The number of `list`, and whether it is new.
    pub(crate) fn intern(&mut self, list: &[u32]) -> (u32, bool) {
        let hash = self.state.hash_one(list);
        if let Some(&known) = self.table.find(hash, |&known| get(&self.flat, &self.ends, known) == list) {
            return (known, false);
        }
        let fresh = number(self.ends.len());
        self.flat.extend_from_slice(list);
        self.ends.push(number(self.flat.len()));
        let Self { flat, ends, state, table } = self;
        table.insert_unique(hash, fresh, |&known| state.hash_one(get(flat, ends, known)));
        (fresh, true)
    }

    /// The list with this number.
    pub(crate) fn get(&self, list: u32) -> &[u32] {
        get(&self.flat, &self.ends, list)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

fn get<'a>(flat: &'a [u32], ends: &[u32], list: u32) -> &'a [u32] {
    let from = if list == 0 { 0 } else { ends[list as usize - 1] };
    &flat[from as usize..ends[list as usize] as usize]
}
