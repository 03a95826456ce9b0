//! Open files by key, the least recently used of which go first.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// Open maps by key, at most so many; the least recently used goes first. A map that is in use elsewhere
/// stays until that use ends, too.
#[derive(Debug)]
pub(crate) struct OpenFiles<K, V> {
    capacity: usize,
    state: Mutex<State<K, V>>,
}

#[derive(Debug)]
struct State<K, V> {
    /// Counts the uses: a clock without time.
    now: u64,
    entries: HashMap<K, (u64, Arc<V>)>,
}

impl<K: Eq + Hash + Copy, V> OpenFiles<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), state: Mutex::new(State { now: 0, entries: HashMap::new() }) }
    }

    /// Most files that are kept.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn get(&self, key: &K) -> Option<Arc<V>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.now += 1;
        let now = state.now;
        let (used, value) = state.entries.get_mut(key)?;
        *used = now;
        Some(Arc::clone(value))
    }

    /// Keeps `value`, or hands out the one that another thread kept before. O(capacity) where it is full.
    pub(crate) fn keep(&self, key: K, value: V) -> Arc<V> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.entries.len() >= self.capacity && !state.entries.contains_key(&key) {
            let oldest = state.entries.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| *key);
            if let Some(oldest) = oldest {
                state.entries.remove(&oldest);
            }
        }
        state.now += 1;
        let now = state.now;
        let (_, kept) = state.entries.entry(key).or_insert_with(|| (now, Arc::new(value)));
        Arc::clone(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let maps = OpenFiles::new(2);
        maps.keep(1, "a");
        maps.keep(2, "b");
        assert!(maps.get(&1).is_some());
        maps.keep(3, "c");
        assert!(maps.get(&2).is_none());
        assert!(maps.get(&1).is_some() && maps.get(&3).is_some());
        assert_eq!(*maps.keep(1, "z"), "a", "the first to keep a key wins");
    }
}
