//! Indices that have no file on this host.
//!
//! At most so many, with at most so many bytes together; the least recently used goes first. One that is in use elsewhere stays
//! until that use ends, and is compiled again when it is asked for. O(indices) for each that is kept beyond the bounds.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gobo_artifact::Index;
use gobo_types::IndexKey;

/// Most indices.
const MAX_INDICES: usize = 4096;

/// Most of their bytes. One index has at most as many under the default limits of a compile.
const MAX_BYTES: u64 = 256 << 20;

/// Indices by key.
#[derive(Debug)]
pub(crate) struct InMemory {
    max_indices: usize,
    max_bytes: u64,
    state: Mutex<State>,
}

impl Default for InMemory {
    fn default() -> Self {
        Self { max_indices: MAX_INDICES, max_bytes: MAX_BYTES, state: Mutex::default() }
    }
}

#[derive(Debug, Default)]
struct State {
    /// Counts the uses: a clock without time.
    now: u64,
    bytes: u64,
    indices: HashMap<IndexKey, (u64, Arc<Index>)>,
}

impl InMemory {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, key: &IndexKey) -> Option<Arc<Index>> {
        let mut state = self.lock();
        if state.indices.is_empty() {
            return None;
        }
        state.now += 1;
        let now = state.now;
        let (used, index) = state.indices.get_mut(key)?;
        *used = now;
        Some(Arc::clone(index))
    }

    /// Keeps an index, or hands out the one of this key that was kept before.
    pub(crate) fn keep(&self, key: IndexKey, index: Index) -> Arc<Index> {
        let mut state = self.lock();
        state.now += 1;
        let now = state.now;
        if let Some((used, kept)) = state.indices.get_mut(&key) {
            *used = now;
            return Arc::clone(kept);
        }
        let index = Arc::new(index);
        state.bytes += length(&index);
        state.indices.insert(key, (now, Arc::clone(&index)));
        let mut dropped = Vec::new();
        while state.indices.len() > self.max_indices || state.bytes > self.max_bytes {
            let oldest = state.indices.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| *key);
            let Some((_, oldest)) = oldest.and_then(|oldest| state.indices.remove(&oldest)) else { break };
            state.bytes -= length(&oldest);
            dropped.push(oldest);
        }
        // Their memory is freed after the lock is released.
        drop(state);
        drop(dropped);
        index
    }

    /// Number and bytes.
    pub(crate) fn held(&self) -> (u64, u64) {
        let state = self.lock();
        (state.indices.len() as u64, state.bytes)
    }
}

fn length(index: &Index) -> u64 {
    index.file_bytes().len() as u64
}

#[cfg(test)]
mod tests {
    use gobo_artifact::Vocabulary;
    use gobo_types::{Budget, Constraint};
    use gobo_vocab::TokenTable;

    use super::*;

    fn index(pattern: &str) -> Index {
        let mut table = TokenTable::new();
        for (id, token) in (0..).zip([b"a", b"b", b"c"]) {
            table.insert(id, token.to_vec(), false).unwrap();
        }
        let vocabulary = Vocabulary::from_bytes(&table.build().unwrap()).unwrap();
        let constraint = Constraint::regex(pattern);
        let compiled = gobo_worker::compile_constraint(&vocabulary, &constraint, 1, &Budget::default());
        Index::from_bytes(compiled.unwrap().bytes()).unwrap()
    }

    #[test]
    fn the_least_recently_used_goes_first_by_number_and_by_bytes() {
        let [a, b, c] = ["a", "b", "c"].map(index);
        let keys = [&a, &b, &c].map(Index::key);
        let (two, all) = (length(&a) + length(&b), length(&a) + length(&b) + length(&c));
        for (max_indices, max_bytes) in [(2, u64::MAX), (9, all - 1)] {
            let kept = InMemory { max_indices, max_bytes, ..InMemory::default() };
            let first = kept.keep(keys[0], index("a"));
            kept.keep(keys[1], index("b"));
            assert_eq!(kept.held(), (2, two));
            assert!(Arc::ptr_eq(&first, &kept.keep(keys[0], index("a"))), "the first to keep a key wins");
            kept.keep(keys[2], index("c"));
            assert!(kept.get(&keys[1]).is_none());
            assert!(kept.get(&keys[0]).is_some() && kept.get(&keys[2]).is_some());
            assert_eq!(kept.held().0, 2);
        }
        let none = InMemory { max_bytes: 1, ..InMemory::default() };
        assert_eq!(none.keep(keys[0], a).key(), keys[0], "handed out all the same");
        assert_eq!(none.held(), (0, 0));
    }
}
