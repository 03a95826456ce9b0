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
#[derive(Debug, Default)]
pub(crate) struct InMemory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Counts the uses: a clock without time.
    now: u64,
    bytes: u64,
    indices: HashMap<IndexKey, (u64, Arc<Index>)>,
}

impl InMemory {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        while state.indices.len() > MAX_INDICES || state.bytes > MAX_BYTES {
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
