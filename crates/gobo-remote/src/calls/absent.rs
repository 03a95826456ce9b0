//! Objects that were not there a moment ago: a burst of requests for one unknown constraint asks a bucket once.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gobo_types::IndexKey;

/// Most keys that are remembered, some 4 MiB.
const MOST: u32 = 1 << 16;

#[derive(Debug)]
pub(super) struct Absent {
    since: Mutex<HashMap<IndexKey, Instant>>,
    /// For how long one is remembered.
    lasts: Duration,
}

impl Absent {
    pub(super) fn new(lasts: Duration) -> Self {
        Self { since: Mutex::default(), lasts }
    }

    pub(super) fn has(&self, key: &IndexKey, now: Instant) -> bool {
        let since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.get(key).is_some_and(|since| now.saturating_duration_since(*since) < self.lasts)
    }

    pub(super) fn put(&self, key: IndexKey, now: Instant) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.len() >= MOST as usize {
            since.retain(|_, since| now.saturating_duration_since(*since) < self.lasts);
            if since.len() >= MOST as usize {
                since.clear();
            }
        }
        since.insert(key, now);
    }

    pub(super) fn remove(&self, key: &IndexKey) {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_absent_for_a_while_and_memory_is_bounded() {
        let (absent, now) = (Absent::new(Duration::from_secs(5)), Instant::now());
        let key = |number: u32| {
            let mut key = [0; 32];
            key[..4].copy_from_slice(&number.to_le_bytes());
            IndexKey::from(key)
        };
        absent.put(key(0), now);
        assert!(absent.has(&key(0), now + Duration::from_secs(4)));
        assert!(!absent.has(&key(0), now + Duration::from_secs(5)));
        for number in 0..2 * MOST {
            absent.put(key(number), now);
        }
        assert!(absent.since.lock().unwrap().len() <= MOST as usize);
        absent.remove(&key(2 * MOST - 1));
        assert!(!absent.has(&key(2 * MOST - 1), now));
    }
}
