use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use gobo_artifact::Index;
use gobo_remote::Remote;
use gobo_store::{CachedVerdict, Catalog, CollectEvent, IndexRecord, NamedVocabulary, Rebuilt, Sled, Store};
use gobo_tokenizer::Imported;
use gobo_types::{CompileError, CompileLimits, Digest, IndexKey, error_chain};
use gobo_worker::{CompileFn, WorkerProcess, compile_constraint};
use tokio::sync::oneshot;

use crate::handed_out::{Known, Resolved};
use crate::import::ImportRequest;
use crate::inner::{Inner, VocabularyOutcome, contained};
use crate::owned_catalog::{Databases, OwnedCatalog};
use crate::request::{Checked, Outcome, Request};
use crate::single_flight::SingleFlight;
use crate::stats::{Counters, Gauges, Stats, StoreStats};
use crate::upkeep::{CollectRequest, Garbage, Pace, Upkeep};
use crate::upstream::{UpstreamStats, UpstreamTier};
use crate::vocabularies::{Existing, Vocabularies, publish_vocabulary};
use crate::workers::{Ask, Call, CompileExecutor, Pool, Rules, Then};
use crate::{EngineConfig, EngineError, OpenVocabulary, Ticket, VocabularyRef};

/// Threads that verify files and read the catalog for callers that must not block.
const READ_THREADS: usize = 2;

/// Get-or-compile over one store.
///
/// It owns the store's catalog, so there is one engine per store. It is shared in an [`Arc`]; all methods may be
/// called from any thread, and those that do not return a [`Ticket`] say what they block on. Dropping it cancels what
/// runs, and waits for it.
pub struct Engine {
    inner: Arc<Inner>,
    upkeep: Upkeep,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("config", &self.inner.config).finish_non_exhaustive()
    }
}

impl Engine {
    /// How long closing waits until what was compiled is in the bucket.
    pub const LAST_WRITES: Duration = Duration::from_secs(10);

    /// Opens the store and its catalog, removes what dead publishers left, and starts the workers. Blocks: a
    /// lost catalog is rebuilt from the files first. On a full disk the catalog is in memory until there is room: what is in
    /// the store is found, and can be removed.
    ///
    /// # Errors
    /// [`EngineError::Store`] if the store cannot be used; of kind `Busy` if another process owns it, `Invalid` if others than
    /// [`EngineConfig::writers`] may write to it.
    /// [`EngineError::Threads`] if the workers cannot be started.
    pub fn open(config: EngineConfig) -> Result<Self, EngineError> {
        // One thread per compile: the pool has as many compiles at once as there are workers.
        let compile = |vocabulary: &_, constraint: &_, budget: &_| {
            compile_constraint(vocabulary, constraint, 1, budget)
        };
        Self::open_with(config, Box::new(compile))
    }

    /// As [`Engine::open`], with another way to compile on threads: for tests that count, hold or break compiles.
    ///
    /// # Errors
    /// As for [`Engine::open`].
    pub fn open_with(config: EngineConfig, compile: Box<CompileFn>) -> Result<Self, EngineError> {
        Self::open_in(config, compile, Box::new(Sled))
    }

    /// As [`Engine::open_with`], with the catalog in another database: for tests that fill its disk.
    ///
    /// # Errors
    /// As for [`Engine::open`].
    #[doc(hidden)]
    pub fn open_in(
        config: EngineConfig,
        compile: Box<CompileFn>,
        databases: Databases,
    ) -> Result<Self, EngineError> {
        let store = Store::open(&config.store)?.owned_as(config.owner.clone());
        store.refuse_other_writers(config.writers)?;
        // First the lock: sweeping is for the owner.
        let (catalog, opened) = OwnedCatalog::open(&store, databases, config.verdicts)?;
        let swept = store.sweep()?;
        if let Err(error) = store.name_itself() {
            tracing::warn!(
                error = error_chain(&error),
                "the store has no name: under another path it is not known"
            );
        }
        if let Err(error) = store.prepare() {
            // A full disk, say: what is there is served, and publishing says the same.
            tracing::warn!(error = error_chain(&error), "cannot make the folders of indices ahead");
        }
        tracing::info!(store = %store.root().display(), ?opened, swept, "the store is open");
        let remote = match &config.remote {
            Some(tier) => {
                let (bucket, config) = (tier.bucket.clone(), tier.config.clone());
                Some(Arc::new(Remote::open(bucket, store.clone(), config)?))
            }
            None => None,
        };
        let upstream = config.upstream.clone().map(|upstream| Arc::new(UpstreamTier::new(upstream)));
        let counters = Arc::<Counters>::default();
        let rules = Rules {
            workers: config.workers.max(1),
            kept: config.kept_workers,
            queue_length: config.queue_length,
            queue_bytes: config.queue_bytes,
            tenant: config.tenant,
            ageing: config.ageing,
        };
        let processes = config.processes.clone().map(Arc::new);
        let compile: Arc<CompileFn> = Arc::from(compile);
        let counting = Arc::clone(&counters);
        let executor = move || match &processes {
            Some(processes) => CompileExecutor::Process(WorkerProcess::new(
                Arc::clone(processes),
                Arc::clone(&counting.ended),
            )),
            None => CompileExecutor::Thread(Arc::clone(&compile)),
        };
        let pool = Pool::start("gobo-worker", rules, executor).map_err(EngineError::Threads)?;
        let rules = Rules { workers: READ_THREADS, kept: 0, ..rules };
        let reads = Pool::start("gobo-read", rules, || ()).map_err(EngineError::Threads)?;
        let inner = Inner {
            config,
            store,
            catalog,
            pool,
            reads,
            remote,
            upstream,
            flights: SingleFlight::new(),
            known: Known::default(),
            counters,
            gauges: Gauges::default(),
            upkeep: Mutex::default(),
            vocabularies: Vocabularies::default(),
            imports: SingleFlight::new(),
            openings: SingleFlight::new(),
            naming: Mutex::default(),
            closed: AtomicBool::new(false),
            opened: Instant::now(),
        };
        inner.count_rebuild(opened.as_ref());
        let inner = Arc::new(inner);
        let upkeep = Upkeep::start(&inner)?;
        Ok(Self { inner, upkeep })
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// What the engine was opened with.
    pub fn config(&self) -> &EngineConfig {
        &self.inner.config
    }

    /// When the engine was opened.
    pub fn opened(&self) -> Instant {
        self.inner.opened
    }

    /// The limits of a compile whose request names none, and the most that one may name.
    pub fn default_limits(&self) -> CompileLimits {
        self.inner.config.limits
    }

    /// Finds a vocabulary and maps it, once per process. One that is mapped is ready at once, after reading at most one small
    /// file. Any other is opened on a reader's thread, which reads all of it where no stamp vouches for it; a built-in name that
    /// is not in the store yet is imported on a worker and published. Who asks for it meanwhile waits for the same work.
    ///
    /// Errors are [`EngineError::UnknownVocabulary`], [`EngineError::UnknownDigest`], [`EngineError::MissingVocabulary`],
    /// [`EngineError::Store`], and for openings and imports [`EngineError::QueueFull`], [`EngineError::Closed`] and
    /// [`EngineError::Panicked`].
    pub fn vocabulary(&self, wanted: &VocabularyRef) -> Ticket<VocabularyOutcome> {
        self.inner.vocabulary(wanted)
    }

    /// A vocabulary that is in the store already. `None`: the name is not there. Blocks on reading one small file, and where
    /// this process has not opened the vocabulary and no stamp vouches for it, on reading all of it.
    ///
    /// # Errors
    /// [`EngineError::MissingVocabulary`] and [`EngineError::Store`]; [`EngineError::UnknownDigest`] for a digest that is
    /// not there.
    pub fn open_vocabulary(
        &self,
        wanted: &VocabularyRef,
    ) -> Result<Option<Arc<OpenVocabulary>>, EngineError> {
        self.inner.vocabularies.find(&self.inner.store, wanted)
    }

    /// Builds and publishes the vocabulary of an imported tokenizer, and lets `name` stand for it, whatever it stood
    /// for before. `source` says where it came from: its path, and blake3 of what was read. Blocks; O(bytes).
    ///
    /// # Errors
    /// As for [`publish_vocabulary`].
    pub fn import(
        &self,
        name: &str,
        imported: &Imported,
        source: Option<(String, Digest)>,
    ) -> Result<NamedVocabulary, EngineError> {
        let named = publish_vocabulary(&self.inner.store, name, imported, source, Existing::Replace)?;
        self.inner.vocabularies.forget(name);
        Ok(named)
    }

    /// Refuses the import of a vocabulary file for reasons that are known before it has come: its name, its binding, what the
    /// name stands for, how many there are. Blocks, O(names + vocabularies).
    ///
    /// # Errors
    /// [`EngineError::BadImport`], [`EngineError::NameTaken`], [`EngineError::TooManyVocabularies`], and
    /// [`EngineError::Store`] for a name that is none.
    pub fn admit_import(&self, request: &ImportRequest) -> Result<(), EngineError> {
        self.inner.admit_import(request)
    }

    /// Takes a vocabulary file of another origin, and lets a name stand for it. It is verified to its last byte and built
    /// again from its table; the bytes that were built are published. Blocks, O(bytes × log ids), and takes some three
    /// times the file in memory.
    ///
    /// # Errors
    /// As for [`Engine::admit_import`]; [`EngineError::BadFile`] for bytes that are no sound vocabulary file,
    /// [`EngineError::OtherBuild`] for the file of another version, [`EngineError::Vocabulary`] past the limits of a table;
    /// [`EngineError::Store`] if it cannot be published. Nothing is visible then.
    pub fn import_file(
        &self,
        request: &ImportRequest,
        bytes: Vec<u8>,
    ) -> Result<Arc<OpenVocabulary>, EngineError> {
        self.inner.import_file(request, bytes)
    }

    /// Finds an index or has it compiled.
    ///
    /// A file in the store and a remembered verdict are ready at once. Else the ticket joins the compile of this key
    /// under these limits, or begins it: identical requests at the same time share one. A file that another process has put into the
    /// store is verified on a reader's thread first, and handed out instead. Dropping a ticket never stops
    /// a compile that others wait for; once nobody waits any more it is cancelled, unless some
    /// [`Priority::Prewarm`](crate::Priority::Prewarm) request wants it.
    ///
    /// An index is published and on record before a ticket is ready. Unavailable and failed are never remembered.
    pub fn submit(&self, request: Request) -> Ticket<Outcome> {
        self.inner.submit(request)
    }

    /// An index that was found before, if its file is still the one that was found: a hit, as one of [`Engine::submit`]. Costs a
    /// look at the file's metadata. `None` says no more than that the request has to be submitted.
    pub fn find_again(&self, key: &IndexKey) -> Option<Resolved> {
        self.inner.known.get(key).inspect(|_| Counters::count(&self.inner.counters.hits))
    }

    /// As [`Engine::submit`], blocking this thread until the outcome is there.
    ///
    /// # Errors
    /// Every end without an index.
    pub fn resolve(&self, request: Request) -> Outcome {
        self.submit(request).wait()
    }

    /// What a constraint enforces and what its index would be like, without keeping one: the verdict is that of
    /// [`Engine::submit`] under these limits, and is remembered as there. An index that is in the store already answers
    /// for itself. Costs a compile else, which identical checks share.
    pub fn check(&self, request: Request) -> Ticket<Result<Checked, CompileError>> {
        self.inner.check(request)
    }

    /// Runs `job` off its caller's thread: for what blocks on the disk. It runs on threads of its own, so that nobody
    /// who asks for a file or a count waits for compiles. A dropped ticket does not stop it.
    ///
    /// Besides the errors of `job`: [`EngineError::QueueFull`], [`EngineError::Closed`], [`EngineError::Panicked`].
    pub fn run<T: Send + Unpin + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
    ) -> Ticket<Result<T, EngineError>> {
        let (sender, receiver) = oneshot::channel();
        let run = move |_: Call<'_, ()>| {
            let result = contained(job);
            // Who left does not want it.
            let _ = sender.send(result);
            Then::Done
        };
        match self.inner.reads.submit(Ask::plain(Arc::default()), run) {
            Ok(()) => Ticket::pending(async { receiver.await.unwrap_or(Err(EngineError::Closed)) }),
            Err(turned) => Ticket::ready(Err(self.inner.turned(turned))),
        }
    }

    /// The index of `key`, mapped, and where it is. Blocks on opening one file, O(1); the first time on reading all of a file that
    /// another process has put there.
    ///
    /// # Errors
    /// [`EngineError::UnknownIndex`] if it is not in the store, or was damaged and set aside;
    /// [`EngineError::Store`] if it cannot be read.
    pub fn index(&self, key: &IndexKey) -> Result<(Resolved, Index), EngineError> {
        let found = match self.inner.find_file(key)? {
            Some(found) => Some(found),
            None => self.inner.adopt(key)?,
        };
        let found = found.zip(self.inner.store.open_index(key)?);
        found.ok_or(EngineError::UnknownIndex { key: *key })
    }

    /// As [`Engine::index`], verified to its last byte: for sending it to another host. A damaged one goes to quarantine, so
    /// that the next resolve compiles it again. Blocks, O(bytes).
    ///
    /// # Errors
    /// As for [`Engine::index`]; [`EngineError::Artifact`] for a damaged one.
    pub fn verified_index(&self, key: &IndexKey) -> Result<(Resolved, Index), EngineError> {
        let (resolved, index) = self.index(key)?;
        if let Err(error) = index.verify() {
            self.inner.known.remove(key);
            // Reads it once more, and keeps the damaged file for study.
            drop(self.inner.store.verify_index(key)?);
            self.inner.catalog.with(|catalog| catalog.remove_index(key))?;
            return Err(error.into());
        }
        Ok((resolved, index))
    }

    /// At most `limit` records of the catalog with keys beyond `after`, ascending. Blocks, O(limit + log records).
    ///
    /// # Errors
    /// [`EngineError::Store`] if the catalog fails.
    pub fn indices(
        &self,
        after: Option<IndexKey>,
        limit: usize,
    ) -> Result<Vec<(IndexKey, IndexRecord)>, EngineError> {
        self.inner.catalog.with(|catalog| catalog.indices_after(after.as_ref()).take(limit).collect())
    }

    /// At most `limit` remembered verdicts of keys beyond `after`, ascending by key. Blocks, O(limit + log records).
    ///
    /// # Errors
    /// [`EngineError::Store`] if the catalog fails.
    pub fn verdicts(
        &self,
        after: Option<IndexKey>,
        limit: usize,
    ) -> Result<Vec<(IndexKey, CachedVerdict)>, EngineError> {
        let now = SystemTime::now();
        self.inner.catalog.with(|catalog| catalog.verdicts_after(after.as_ref(), now).take(limit).collect())
    }

    /// Number of indices on record, and their bytes. O(1).
    ///
    /// # Errors
    /// [`EngineError::Closed`].
    pub fn usage(&self) -> Result<(u64, u64), EngineError> {
        self.inner.catalog.with(|catalog| Ok(catalog.usage()))
    }

    /// Builds the catalog again from the files. Blocks, O(bytes of all files); indices stay resolvable meanwhile.
    ///
    /// # Errors
    /// [`EngineError::Store`] if a folder or the catalog fails.
    pub fn rebuild_catalog(&self) -> Result<Rebuilt, EngineError> {
        let rebuilt = self.inner.catalog.with(Catalog::rebuild)?;
        self.inner.gauges.rebuilds.fetch_add(1, Ordering::Relaxed);
        self.inner.known.clear();
        self.inner.vocabularies.clear();
        Ok(rebuilt)
    }

    /// The counters.
    pub fn stats(&self) -> Stats {
        let pool = &self.inner.pool;
        self.inner.counters.snapshot(pool.queued_and_running(), pool.oldest_wait())
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// The bucket that is shared with other hosts.
    pub fn remote(&self) -> Option<Arc<Remote>> {
        self.inner.remote.clone()
    }

    /// What became of the calls to [`EngineConfig::upstream`]; `None` without one.
    pub fn upstream_stats(&self) -> Option<UpstreamStats> {
        self.inner.upstream.as_ref().map(|tier| tier.stats())
    }

    /// Number of panics that reached a worker: bugs, each contained.
    pub fn panics(&self) -> u64 {
        self.inner.pool.panics() + self.inner.reads.panics()
    }

    /// Whether [`Engine::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    /// Takes no more work, cancels what runs and what waits (their tickets end unavailable), waits for the workers,
    /// flushes the catalog and lets go of it: another engine may own the store then. May be called again. Blocks for
    /// as long as a compile takes to see that it is cancelled, and for up to 10 s while the last objects are written to the bucket.
    pub fn close(&self) {
        self.inner.closed.store(true, Ordering::Relaxed);
        self.upkeep.stop();
        self.inner.flights.cancel_all();
        self.inner.pool.close();
        self.inner.reads.close();
        if let Some(remote) = &self.inner.remote {
            remote.close(Self::LAST_WRITES);
        }
        match self.inner.write_uses() {
            Ok(()) | Err(EngineError::Closed) => {}
            Err(error) => tracing::warn!(error = error_chain(&error), "cannot stamp the last uses"),
        }
        if let Err(error) = self.inner.catalog.close() {
            tracing::warn!(error = error_chain(&error), "cannot flush the catalog");
        }
    }

    /// Evicts indices and trims the quarantine, as upkeep does, telling `each` what becomes of which index. One pass at a
    /// time: a second one waits. Blocks, O(files).
    ///
    /// # Errors
    /// [`EngineError::Store`] if a file cannot be removed or the catalog fails: what was removed until then is gone.
    pub fn collect(
        &self,
        request: &CollectRequest,
        each: &mut dyn FnMut(CollectEvent),
    ) -> Result<Garbage, EngineError> {
        self.inner.collect(request, each)
    }

    /// Keeps an index from eviction, durably, until it is unpinned; says whether it was not pinned before. Blocks on
    /// writing one small file.
    ///
    /// # Errors
    /// [`EngineError::UnknownIndex`] if it is not in the store; [`EngineError::Store`] if the pin cannot be written.
    pub fn pin(&self, key: &IndexKey) -> Result<bool, EngineError> {
        self.inner.pin(key)
    }

    /// Lets an index be evicted again; says whether it was pinned. Blocks on removing one file.
    ///
    /// # Errors
    /// [`EngineError::Store`] if the pin cannot be removed.
    pub fn unpin(&self, key: &IndexKey) -> Result<bool, EngineError> {
        self.inner.unpin(key)
    }

    /// The pinned keys, ascending, each with the length of its index, or `None` where that is not in the store. Blocks,
    /// O(pins).
    ///
    /// # Errors
    /// [`EngineError::Store`] if the pins cannot be read.
    pub fn pins(&self) -> Result<Vec<(IndexKey, Option<u64>)>, EngineError> {
        let length =
            |key: &IndexKey| std::fs::metadata(self.inner.store.index_path(key)).ok().map(|file| file.len());
        Ok(self.inner.store.pins()?.into_iter().map(|key| (key, length(&key))).collect())
    }

    /// The numbers of the store. Some loads.
    pub fn store_stats(&self) -> StoreStats {
        self.inner.store_stats()
    }

    /// One round of upkeep now, whatever the engine does by itself, with what only every sixtieth does if `is_long`: for
    /// tests. Blocks.
    #[doc(hidden)]
    pub fn upkeep_round(&self, is_long: bool) {
        self.inner.known.catch_up();
        self.inner.round(is_long);
    }

    /// One pass of the scrubber now, as fast as it can, its audits included even while compiles run: for tests, and who cannot wait.
    /// Blocks, O(bytes of all files).
    ///
    /// # Errors
    /// [`EngineError::Store`] if a file cannot be read or the catalog fails.
    pub fn scrub(&self) -> Result<(), EngineError> {
        self.inner.scrub_pass(0, &Pace::Asked)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.close();
    }
}
