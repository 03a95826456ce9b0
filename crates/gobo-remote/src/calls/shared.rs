//! What the tasks of a bucket share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gobo_store::Store;
use object_store::ObjectStore;
use tokio::sync::{Semaphore, mpsc};

use super::absent::Absent;
use crate::breaker::Breaker;
use crate::bucket::{Counters, Put, RemoteConfig, count};
use crate::object::Names;

/// Whom to tell how long a write took, and how it ended, in a word.
pub(super) type Told = Box<dyn FnOnce(Duration, &'static str) + Send>;

/// An object to be written, and whom to tell.
pub(super) struct Queued {
    pub(super) put: Put,
    pub(super) told: Option<Told>,
}

/// How long a call may take that somebody waits for who is in no hurry.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// What the tasks share.
pub(super) struct Shared {
    pub(super) bucket: Arc<dyn ObjectStore>,
    pub(super) names: Names,
    pub(super) config: RemoteConfig,
    pub(super) store: Store,
    pub(super) reads: Arc<Breaker>,
    pub(super) writes: Arc<Breaker>,
    pub(super) absent: Absent,
    pub(super) counters: Counters,
    pub(super) places: Semaphore,
    pub(super) bodies: Arc<Semaphore>,
    /// Objects that wait to be written or are being written.
    pub(super) outstanding: AtomicUsize,
    /// `None` where nothing is written, or nothing any more.
    pub(super) queue: Mutex<Option<mpsc::Sender<Queued>>>,
}

impl Shared {
    pub(super) fn queue(&self) -> MutexGuard<'_, Option<mpsc::Sender<Queued>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an object in the queue, if this process writes; beyond its length it is dropped and counted.
    pub(super) fn enqueue(&self, put: Put, told: Option<Told>) -> bool {
        let queue = self.queue();
        let Some(queue) = queue.as_ref() else { return false };
        // Before it may be written, so that none is counted as written that is not.
        self.outstanding.fetch_add(1, Ordering::SeqCst);
        let is_taken = queue.try_send(Queued { put, told }).is_ok();
        if !is_taken {
            self.outstanding.fetch_sub(1, Ordering::SeqCst);
            count(&self.counters.dropped);
        }
        is_taken
    }
}
