//! The bucket of one host: who reads, who writes, and the threads that do.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gobo_store::Store;
use gobo_types::IndexKey;
use object_store::ObjectStore;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::absent::Absent;
use super::lookup::{Look, Lookup, Then};
use super::shared::{PATIENCE, Shared};
use super::upload;
use crate::RemoteError;
use crate::breaker::Breaker;
use crate::bucket::{Answer, Bucket, Counters, Mode, Put, RemoteConfig, RemoteStats};
use crate::object::{Names, Rejected};

/// Threads that wait for the network.
const THREADS: usize = 2;
/// Threads for what blocks: [`BODIES`], writers, and the files of a bucket that is a folder, which bodies wait for.
const BLOCKING_THREADS: usize = 64;
/// Bodies that are taken at a time. Each has a thread, which waits for the bucket and for the disk.
const BODIES: usize = 16;
/// Objects that are written at a time.
const WRITERS: usize = 2;
/// Lookups that are made at a time; others wait, within their budget.
const LOOKUPS: usize = 256;

/// The bucket of one host's store. Lookups and writes wait for nothing, and may be called from any thread. The methods that say
/// that they block wait for the network, and are for threads that run no tasks.
pub struct Remote {
    address: String,
    shared: Arc<Shared>,
    /// `None` once closed.
    runtime: Mutex<Option<Runtime>>,
    /// Ends when the writers have ended.
    written: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("bucket", &self.address).finish_non_exhaustive()
    }
}

impl Remote {
    /// Starts the threads. Nothing is asked of the bucket: whether it is there shows with each call.
    ///
    /// # Errors
    /// [`RemoteError::Threads`].
    pub fn open(
        Bucket { address, store: bucket, prefix }: Bucket,
        store: Store,
        config: RemoteConfig,
    ) -> Result<Self, RemoteError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_name("gobo-remote")
            .enable_all()
            .build()
            .map_err(RemoteError::Threads)?;
        let (sender, receiver) = mpsc::channel(config.limits.queue.max(1));
        let is_writer = config.mode == Mode::Write;
        let shared = Arc::new(Shared {
            bucket,
            names: Names::under(prefix),
            store,
            reads: Breaker::new(),
            writes: Breaker::new(),
            absent: Absent::new(config.limits.absent),
            counters: Counters::default(),
            places: Semaphore::new(LOOKUPS),
            bodies: Arc::new(Semaphore::new(BODIES)),
            outstanding: AtomicUsize::new(0),
            queue: Mutex::new(is_writer.then_some(sender)),
            config,
        });
        let (alive, written) = std::sync::mpsc::channel();
        let queue = Arc::new(tokio::sync::Mutex::new(receiver));
        for _ in 0..WRITERS {
            runtime.spawn(upload::work(Arc::clone(&shared), Arc::clone(&queue), alive.clone()));
        }
        Ok(Self { address, shared, runtime: Mutex::new(Some(runtime)), written: Mutex::new(written) })
    }

    /// The address of the bucket.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What it was opened with.
    pub fn config(&self) -> &RemoteConfig {
        &self.shared.config
    }

    /// Looks for a key, and calls `then` with the answer, on a thread of its own, within the budget of a lookup. An index that is found is in a
    /// temporary file, which [`gobo_store::PendingIndex::publish`] verifies: whoever finds it unsound says so by
    /// [`Remote::was_unsound`]. Once closed, it drops `then` uncalled.
    pub fn lookup(&self, key: IndexKey, then: impl FnOnce(Answer) + Send + 'static) -> Lookup {
        self.look(key, self.shared.config.limits.lookup, false, Box::new(then))
    }

    /// As [`Remote::lookup`], for whoever is in no hurry: within 60 s, and whether or not the bucket failed before.
    pub fn fetch(&self, key: IndexKey, then: impl FnOnce(Answer) + Send + 'static) -> Lookup {
        self.look(key, PATIENCE, true, Box::new(then))
    }

    fn look(&self, key: IndexKey, budget: Duration, is_patient: bool, then: Then) -> Lookup {
        let given_up = CancellationToken::new();
        let look = Look {
            shared: Arc::clone(&self.shared),
            key,
            given_up: given_up.clone(),
            begun: Instant::now(),
            budget,
            is_patient,
            then: Some(then),
        };
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        let task = runtime.as_ref().map(|runtime| runtime.spawn(look.run()).abort_handle());
        Lookup { given_up, task }
    }

    /// An index that was found is no sound file.
    pub fn was_unsound(&self) {
        self.reject(Rejected::Unsound);
    }

    pub(super) fn reject(&self, why: Rejected) {
        self.shared.counters.reject(why);
    }

    pub(super) fn bucket(&self) -> &Arc<dyn ObjectStore> {
        &self.shared.bucket
    }

    pub(super) fn names(&self) -> &Names {
        &self.shared.names
    }

    /// Where calls run; `None` once closed.
    pub(super) fn handle(&self) -> Option<Handle> {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        runtime.as_ref().map(|runtime| runtime.handle().clone())
    }

    /// Objects that wait to be written or are being written.
    pub(super) fn outstanding(&self) -> usize {
        self.shared.outstanding.load(Ordering::SeqCst)
    }

    /// Has an object written, some time soon. `false`: this host does not write, or too many wait already.
    pub fn put(&self, put: Put) -> bool {
        self.shared.enqueue(put, None)
    }

    /// As [`Self::put`]. `told` is called when it has been tried, with how long that took and how it ended, in a word: `written`,
    /// `present`, `denied`, `failed`, or `gone` for what is not in the store any more. It must not wait.
    pub fn put_and_tell(&self, put: Put, told: impl FnOnce(Duration, &'static str) + Send + 'static) -> bool {
        self.shared.enqueue(put, Some(Box::new(told)))
    }

    /// The counters.
    pub fn stats(&self) -> RemoteStats {
        let queue = self.shared.queue();
        let queued = queue.as_ref().map_or(0, |queue| queue.max_capacity() - queue.capacity());
        RemoteStats {
            queued: queued as u64,
            is_reading_paused: self.shared.reads.is_open(),
            is_writing_paused: self.shared.writes.is_open(),
            ..self.shared.counters.snapshot()
        }
    }

    /// Takes nothing more, and waits for at most `within` until what waits is written; what is left then is dropped. May be called
    /// again.
    pub fn close(&self, within: Duration) {
        *self.shared.queue() = None;
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        // It ends by an error: the writers only hold it.
        let _ = written.recv_timeout(within);
        if let Some(runtime) = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.close(Duration::ZERO);
    }
}
