//! A bounded memo table for inputs from untrusted callers.
//!
//! The hash of an input is its slot. Hashes are seeded for each table, so that nobody can choose inputs that collide, and an
//! input is compared whole: a collision costs an entry and never gives a wrong answer. A full table is emptied. Cost: O(1)
//! for each look-up, without the comparison.
//!
//! Source: Michie, *Memo Functions and Machine Learning*, 1968; seeded hashes against chosen inputs: Crosby & Wallach,
//! *Denial of Service via Algorithmic Complexity Attacks*, USENIX Security 2003.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::quality::RandomState;

/// Answers to recent inputs, for a caller that gets the same few inputs again and again.
///
/// Inputs are untrusted. Their slots are hashes with a secret seed of this value, and inputs are compared whole: two inputs with
/// one slot evict each other, and never get each other's answers.
pub struct Recent<K, V> {
    hasher: RandomState,
    max_entries: usize,
    max_bytes: usize,
    state: Mutex<State<K, V>>,
}

/// The slot of an input: its seeded hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(u64);

struct State<K, V> {
    entries: HashMap<Slot, Entry<K, V>, RandomState>,
    /// Of all entries.
    bytes: usize,
}

struct Entry<K, V> {
    input: K,
    bytes: usize,
    value: V,
}

impl<K, V: Clone> Recent<K, V> {
    /// An empty table of at most `max_entries` inputs with together `max_bytes` bytes. One input beyond that empties it: a caller
    /// of so many inputs sends new ones each time and gains nothing, and the others are computed again once each.
    pub fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self { hasher: RandomState::default(), max_entries, max_bytes, state: Mutex::default() }
    }

    /// The slot of an input, by all of it or by a part in which most inputs differ.
    pub fn slot(&self, input: &(impl Hash + ?Sized)) -> Slot {
        Slot(self.hasher.hash_one(input))
    }

    /// The value in a slot, if `is_it` accepts the input there.
    pub fn get(&self, slot: Slot, is_it: impl FnOnce(&K) -> bool) -> Option<V> {
        let state = self.lock();
        let entry = state.entries.get(&slot)?;
        is_it(&entry.input).then(|| entry.value.clone())
    }

    /// Keeps a value for an input of `bytes` bytes, and drops the previous one of the slot. An input that is too long by itself is
    /// not kept.
    pub fn keep(&self, slot: Slot, input: K, bytes: usize, value: V) {
        if bytes > self.max_bytes {
            return;
        }
        let mut state = self.lock();
        let replaced = state.take(slot);
        let is_full = state.entries.len() >= self.max_entries || state.bytes + bytes > self.max_bytes;
        let forgotten = is_full.then(|| mem::take(&mut *state));
        state.bytes += bytes;
        state.entries.insert(slot, Entry { input, bytes, value });
        // The old entries are freed after the lock is released.
        drop(state);
        drop((replaced, forgotten));
    }

    fn lock(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> State<K, V> {
    fn take(&mut self, slot: Slot) -> Option<Entry<K, V>> {
        let entry = self.entries.remove(&slot)?;
        self.bytes -= entry.bytes;
        Some(entry)
    }
}

impl<K, V> Default for State<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::default(), bytes: 0 }
    }
}

impl<K, V> fmt::Debug for Recent<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent").field("max_entries", &self.max_entries).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(recent: &Recent<String, u32>, text: &str, value: u32) {
        recent.keep(recent.slot(text), text.to_owned(), text.len(), value);
    }

    fn get(recent: &Recent<String, u32>, text: &str) -> Option<u32> {
        recent.get(recent.slot(text), |kept| kept == text)
    }

    fn held(recent: &Recent<String, u32>) -> (usize, usize) {
        let state = recent.lock();
        (state.entries.len(), state.bytes)
    }

    #[test]
    fn inputs_are_compared_whole() {
        let recent = Recent::new(10, 100);
        keep(&recent, "one", 1);
        keep(&recent, "two", 2);
        assert_eq!(
            (get(&recent, "one"), get(&recent, "two"), get(&recent, "three")),
            (Some(1), Some(2), None)
        );
        keep(&recent, "one", 3);
        assert_eq!(get(&recent, "one"), Some(3));
        assert_eq!(held(&recent), (2, 6));

        // As if both had the same hash.
        let shared = recent.slot("one");
        recent.keep(shared, "another".to_owned(), 7, 4);
        assert_eq!(get(&recent, "one"), None, "never the other's");
        assert_eq!(recent.get(shared, |kept| kept == "another"), Some(4));
        assert_eq!(held(&recent), (2, 10));
    }

    #[test]
    fn it_stays_within_its_bounds() {
        let recent = Recent::new(3, 100);
        for nth in 0..10 {
            keep(&recent, &nth.to_string(), nth);
            assert_eq!(get(&recent, &nth.to_string()), Some(nth));
            assert!(held(&recent).0 <= 3);
        }
        let recent = Recent::new(1000, 10);
        for nth in 0..10 {
            keep(&recent, &format!("{nth}xx"), nth);
            assert!(held(&recent).1 <= 10, "{:?}", held(&recent));
        }
        keep(&recent, "x".repeat(10).as_str(), 1);
        assert_eq!(held(&recent), (1, 10));
        keep(&recent, "y".repeat(11).as_str(), 1);
        assert_eq!(held(&recent), (1, 10), "too long, and nothing is forgotten for it");
    }

    #[test]
    fn slots_of_two_tables_are_unrelated() {
        let [one, other] = [0, 1].map(|_| Recent::<String, u32>::new(1, 1));
        assert_ne!(one.slot("a"), other.slot("a"));
    }
}
