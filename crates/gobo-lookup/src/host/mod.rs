//! What this process has of this host: files, indices in its memory, verdicts, vocabularies, a place for new files.

mod in_memory;
mod scratch;
mod verdicts;
mod vocabularies;

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

use gobo_artifact::Index;
use gobo_client::Client;
use gobo_store::{PendingIndex, Store, StoreError};
use gobo_types::{CompileLimits, IndexKey, error_chain};

use crate::error::LookupError;
use crate::found::{FoundSource, Made};
use crate::stats::{Reason, SharedCounters};
use in_memory::InMemory;
pub(crate) use scratch::Scratch;
use verdicts::Verdicts;
pub(crate) use vocabularies::Vocabularies;

/// What this process has of this host.
pub(crate) struct Host {
    pub(crate) client: Arc<Client>,
    pub(crate) counters: SharedCounters,
    pub(crate) limits: CompileLimits,
    pub(crate) verdicts: Verdicts,
    pub(crate) vocabularies: Vocabularies,
    scratch: Arc<Scratch>,
    in_memory: InMemory,
    room: Room,
}

/// How much of the store a local worker may fill.
pub(crate) struct Room {
    /// Bytes of indices. `None`: nothing is published.
    pub(crate) limit: Option<u64>,
    /// Bytes that are there: counted at first use, and what this process publishes added.
    used: Mutex<Option<u64>>,
}

impl Room {
    pub(crate) fn new(limit: Option<u64>) -> Self {
        Self { limit, used: Mutex::default() }
    }
}

/// An index on its way, and whether it is to be published.
pub(crate) struct Begun {
    pub(crate) pending: PendingIndex,
    pub(crate) is_published: bool,
}

/// Why what a worker wrote is no index of this host.
pub(crate) enum NotKept {
    /// The bytes are no sound index of the key: whoever wrote them is at fault.
    Unsound(String),
    /// The disk or the store is.
    Store(String),
}

impl Host {
    pub(crate) fn new(
        client: Arc<Client>,
        scratch: Arc<Scratch>,
        room: Room,
        limits: CompileLimits,
        counters: SharedCounters,
    ) -> Self {
        let vocabularies =
            Vocabularies::new(client.store().clone(), Arc::clone(&scratch), Arc::clone(&counters));
        let (verdicts, in_memory) = (Verdicts::default(), InMemory::default());
        Self { client, counters, limits, verdicts, vocabularies, scratch, in_memory, room }
    }

    fn store(&self) -> &Store {
        self.client.store()
    }

    /// An index that is mapped, in memory, or a file of the store.
    pub(crate) fn find(&self, key: &IndexKey) -> Result<Option<Made>, LookupError> {
        if let Some(index) = self.in_memory.get(key) {
            return Ok(Some(Made { index, source: FoundSource::Map, path: None }));
        }
        let found = match self.client.find_mapped(key) {
            Some(index) => Some((index, FoundSource::Map)),
            None => self.client.find_key(key)?.map(|index| (index, FoundSource::Host)),
        };
        let path = || Some(self.store().index_path(key));
        Ok(found.map(|(index, source)| Made { index, source, path: path() }))
    }

    /// An empty file for a new index: in the store, unless it is full, cannot be written or is not to be (`in_memory`);
    /// else in the temporary folder, from where the index goes into memory.
    pub(crate) fn begin(&self, key: &IndexKey, in_memory: bool) -> Result<Begun, LookupError> {
        if !in_memory && self.has_room(key) {
            match self.store().begin_index(key) {
                Ok(pending) => return Ok(Begun { pending, is_published: true }),
                Err(error) => self.counters.fell_back(Reason::StoreFailed, key, &error_chain(&error)),
            }
        }
        let pending = self.scratch.store()?.begin_index(key)?;
        Ok(Begun { pending, is_published: false })
    }

    /// Takes over what a worker wrote: verified to its last byte, then published or kept in memory.
    pub(crate) fn keep(&self, key: &IndexKey, begun: Begun) -> Result<Made, NotKept> {
        let Begun { pending, is_published } = begun;
        if !is_published {
            return self.keep_in_memory(key, &pending);
        }
        let bytes = fs::metadata(pending.path()).map_or(0, |metadata| metadata.len());
        pending.publish().map_err(|error| match error {
            StoreError::Artifact { .. } | StoreError::WrongKey { .. } => {
                NotKept::Unsound(error_chain(&error))
            }
            _ => NotKept::Store(error_chain(&error)),
        })?;
        if let Some(used) = &mut *self.room.used.lock().unwrap_or_else(PoisonError::into_inner) {
            *used = used.saturating_add(bytes);
        }
        let found = self.find(key).map_err(|error| NotKept::Store(error_chain(&error)))?;
        let made = found.ok_or_else(|| NotKept::Store("it was published, and is gone again".into()))?;
        Ok(Made { source: FoundSource::Local, ..made })
    }

    fn keep_in_memory(&self, key: &IndexKey, pending: &PendingIndex) -> Result<Made, NotKept> {
        let bytes = fs::read(pending.path());
        let bytes =
            bytes.map_err(|error| NotKept::Store(format!("{}: {error}", pending.path().display())))?;
        let unsound = |error: gobo_artifact::ArtifactError| NotKept::Unsound(error_chain(&error));
        let index = Index::from_bytes(&bytes).map_err(unsound)?;
        drop(bytes);
        index.verify().map_err(unsound)?;
        if index.key() != *key {
            return Err(NotKept::Unsound(format!("it is index {}", index.key())));
        }
        let index = self.in_memory.keep(*key, index);
        Ok(Made { index, source: FoundSource::Local, path: None })
    }

    /// Whether the store holds less than a local worker may fill it to.
    fn has_room(&self, key: &IndexKey) -> bool {
        let Some(limit) = self.room.limit else { return false };
        let mut used = self.room.used.lock().unwrap_or_else(PoisonError::into_inner);
        let used = *used.get_or_insert_with(|| {
            // A file that cannot be looked at takes no room that could be known.
            self.store().scan_indices().filter_map(Result::ok).map(|index| index.bytes).sum()
        });
        if used >= limit {
            let detail = format!("{used} bytes of indices, limit {limit}");
            self.counters.fell_back(Reason::StoreFull, key, &detail);
        }
        used < limit
    }

    /// Indices in memory, and their bytes.
    pub(crate) fn in_memory(&self) -> (u64, u64) {
        self.in_memory.held()
    }
}
