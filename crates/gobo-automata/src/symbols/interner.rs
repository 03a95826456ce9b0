//! Lists, such as sets of states, each stored once.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use gobo_types::{DenseId, checked_u32};
use hashbrown::HashTable;

/// Distinct lists, each with an identifier: the order in which they first came. All lie in one vector.
///
/// The hash is seeded anew in every process, so that nobody can prepare lists that collide; identifiers do not depend on it.
#[derive(Debug)]
pub struct Interner<I, T> {
    flat: Vec<T>,
    /// Where each list ends.
    ends: Vec<u32>,
    table: HashTable<I>,
    state: RandomState,
}

impl<I, T> Default for Interner<I, T> {
    fn default() -> Self {
        Self { flat: Vec::new(), ends: Vec::new(), table: HashTable::new(), state: RandomState::default() }
    }
}

impl<I: DenseId, T: Copy + Eq + Hash> Interner<I, T> {
    /// Without lists, with room for `lists`.
    pub(crate) fn with_capacity(lists: usize) -> Self {
        let mut room = Self::default();
        room.ends.reserve(lists);
        let Self { table, state, .. } = &mut room;
        table.reserve(lists, |known| state.hash_one(known));
        room
    }

    /// The identifier of `list`, and whether it is new. O(its length).
    pub fn intern(&mut self, list: &[T]) -> (I, bool) {
        let hash = self.state.hash_one(list);
        if let Some(&known) = self.table.find(hash, |&known| get(&self.flat, &self.ends, known) == list) {
            return (known, false);
        }
        let fresh = I::new(self.ends.len());
        self.flat.extend_from_slice(list);
        self.ends.push(checked_u32(self.flat.len()));
        let Self { flat, ends, state, table } = self;
        table.insert_unique(hash, fresh, |&known| state.hash_one(get(flat, ends, known)));
        (fresh, true)
    }

    /// The list with this identifier. O(1).
    pub fn get(&self, list: I) -> &[T] {
        get(&self.flat, &self.ends, list)
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// All lists, one behind the other in the order of their identifiers. O(1).
    pub fn into_flat(self) -> Vec<T> {
        self.flat
    }
}

fn get<'a, T>(flat: &'a [T], ends: &[u32], list: impl DenseId) -> &'a [T] {
    let list = list.index();
    let from = if list == 0 { 0 } else { ends[list - 1] };
    &flat[from as usize..ends[list] as usize]
}
