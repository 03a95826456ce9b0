use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// Distinct slices of numbers, each with a number of its own: the order in which they first came. All lie in one vector.
///
/// The hash is seeded anew in every process, so that nobody can prepare slices that collide; numbers do not depend on it.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    flat: Vec<u32>,
    /// Where each slice ends.
    ends: Vec<u32>,
    table: HashTable<u32>,
    state: RandomState,
}

impl Slices {
    /// None yet, with room for so many.
    pub(crate) fn with_capacity(slices: usize) -> Self {
        let mut room = Self::default();
        room.ends.reserve(slices);
        let Self { table, state, .. } = &mut room;
        table.reserve(slices, |&known| state.hash_one(known));
        room
    }

    /// The number of `slice`, and whether it is new.
    pub(crate) fn intern(&mut self, slice: &[u32]) -> (u32, bool) {
        let hash = self.state.hash_one(slice);
        if let Some(&known) = self.table.find(hash, |&known| get(&self.flat, &self.ends, known) == slice) {
            return (known, false);
        }
        let fresh = number(self.ends.len());
        self.flat.extend_from_slice(slice);
        self.ends.push(number(self.flat.len()));
        let Self { flat, ends, state, table } = self;
        table.insert_unique(hash, fresh, |&known| state.hash_one(get(flat, ends, known)));
        (fresh, true)
    }

    /// The slice with this number.
    pub(crate) fn get(&self, slice: u32) -> &[u32] {
        get(&self.flat, &self.ends, slice)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

fn get<'a>(flat: &'a [u32], ends: &[u32], slice: u32) -> &'a [u32] {
    let from = if slice == 0 { 0 } else { ends[slice as usize - 1] };
    &flat[from as usize..ends[slice as usize] as usize]
}

fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the budget keeps counts below 2^32")
}
