//! A bounded memo table for inputs from strangers.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::quality::RandomState;

/// What was found out about inputs a while ago, for whoever gets the same few again and again.
///
/// Inputs come from anybody. Their places are hashes that are of this value alone, seeded and told to nobody, and what is found
/// there is compared whole: two inputs with one place cost each other their entries, and never get each other's answers.
pub struct Recent<K, V> {
    hasher: RandomState,
    max_entries: usize,
    max_bytes: usize,
    state: Mutex<State<K, V>>,
}

/// Where an input is kept, if it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place(u64);

struct State<K, V> {
    entries: HashMap<Place, Entry<K, V>, RandomState>,
    /// Of all entries.
    bytes: usize,
}

struct Entry<K, V> {
    input: K,
    bytes: usize,
    value: V,
}

impl<K, V: Clone> Recent<K, V> {
    /// Nothing yet, and never more than `max_entries` inputs of together `max_bytes` bytes. One beyond that makes it forget all
    /// others: who sends so many sends a new one each time and gains nothing, and the others are found out again once each.
    pub fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self { hasher: RandomState::default(), max_entries, max_bytes, state: Mutex::default() }
    }

    /// The place of an input, by all of it or by a part that tells most inputs apart.
    pub fn place(&self, input: &(impl Hash + ?Sized)) -> Place {
        Place(self.hasher.hash_one(input))
    }

    /// What was kept at a place, if `is_it` says that the input there is the one that is meant.
    pub fn get(&self, place: Place, is_it: impl FnOnce(&K) -> bool) -> Option<V> {
        let state = self.lock();
        let entry = state.entries.get(&place)?;
        is_it(&entry.input).then(|| entry.value.clone())
    }

    /// Keeps a value for an input of `bytes` bytes, in place of whatever is there. An input that is too long by itself is not
    /// kept.
    pub fn keep(&self, place: Place, input: K, bytes: usize, value: V) {
        if bytes > self.max_bytes {
            return;
        }
        let mut state = self.lock();
        let replaced = state.take(place);
        let is_full = state.entries.len() >= self.max_entries || state.bytes + bytes > self.max_bytes;
        let forgotten = is_full.then(|| mem::take(&mut *state));
        state.bytes += bytes;
        state.entries.insert(place, Entry { input, bytes, value });
        // Nobody waits while what is forgotten is freed.
        drop(state);
        drop((replaced, forgotten));
    }

    fn lock(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> State<K, V> {
    fn take(&mut self, place: Place) -> Option<Entry<K, V>> {
        let entry = self.entries.remove(&place)?;
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
        recent.keep(recent.place(text), text.to_owned(), text.len(), value);
    }

    fn get(recent: &Recent<String, u32>, text: &str) -> Option<u32> {
        recent.get(recent.place(text), |kept| kept == text)
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
        let shared = recent.place("one");
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
    fn places_of_two_memories_have_nothing_in_common() {
        let [one, other] = [0, 1].map(|_| Recent::<String, u32>::new(1, 1));
        assert_ne!(one.place("a"), other.place("a"));
    }
}
