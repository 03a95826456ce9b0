//! Numbers of keys.

use std::hash::Hash;

use foldhash::{HashMap, HashMapExt};
use gobo_types::checked_u32;

/// The numbers of keys, in the order in which they are met. Neighbours in the trie mostly have the same.
pub(super) struct Numbers<K> {
    known: HashMap<K, u32>,
    last: Option<(K, u32)>,
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self { known: HashMap::new(), last: None }
    }
}

impl<K: Copy + Eq + Hash> Numbers<K> {
    pub(super) fn of(&mut self, key: K) -> u32 {
        if let Some((_, number)) = self.last.filter(|last| last.0 == key) {
            return number;
        }
        let fresh = checked_u32(self.known.len());
        let number = *self.known.entry(key).or_insert(fresh);
        self.last = Some((key, number));
        number
    }

    pub(super) fn get(&self, key: &K) -> Option<u32> {
        self.known.get(key).copied()
    }
}
