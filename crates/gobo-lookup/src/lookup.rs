//! The handle of a lookup: one for all threads of a process, and anew in each child that a fork makes.

use std::fmt;
use std::mem;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use gobo_store::StoreError;
use gobo_tokenizer::Imported;
use gobo_types::{Binding, Constraint, IndexKey, VocabularyDigest};
use once_cell::race::OnceBox;

use crate::config::LookupConfig;
use crate::error::LookupError;
use crate::found::{Bound, Found};
use crate::order::Order;
use crate::request::Request;
use crate::stats::Stats;

/// Finds indices: mapped, a file of this host, the daemon, else a worker process of its own. Any number of threads share one
/// behind an [`Arc`]; the module's page says what it starts, and what happens at a fork.
///
/// ```
/// use std::sync::Arc;
/// use gobo_lookup::{LocalConfig, Lookup, LookupConfig};
///
/// let folder = tempfile::tempdir()?;
/// let local = Some(LocalConfig::new("gobo", ["worker"]));
/// let lookup = Arc::new(Lookup::open(LookupConfig { local, ..LookupConfig::new(folder.path()) })?);
/// assert_eq!(lookup.server(), format!("unix:{}/daemon.sock", folder.path().display()));
/// assert_eq!(lookup.stats().failures, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Lookup {
    config: LookupConfig,
    server: String,
    first: Life,
}

/// The state of one process. Those of its ancestors stand before it, untouched: their locks may be held by threads that are not
/// in this process, and their threads, worker and temporary files are not its own.
struct Life {
    process: u32,
    order: Arc<Order>,
    /// Set by one compare-and-swap: no thread of a parent can leave it locked.
    next: OnceBox<Life>,
}

impl Life {
    fn begin(config: &LookupConfig, server: &str) -> Result<Self, LookupError> {
        let order = Arc::new(Order::open(config, server)?);
        Ok(Self { process: process::id(), order, next: OnceBox::new() })
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if self.process != process::id() {
            mem::forget(Arc::clone(&self.order));
        }
    }
}

impl fmt::Debug for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookup").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Lookup {
    /// Opens the store, and starts nothing. A store that may only be read serves what it has; where it cannot be opened at all, a
    /// temporary folder of this process stands in for it.
    ///
    /// # Errors
    /// [`LookupError::Client`] if the server's address or the tenant's name is none; [`LookupError::Temporary`] if neither the
    /// store nor a temporary folder can be opened.
    pub fn open(config: LookupConfig) -> Result<Self, LookupError> {
        let store = std::path::absolute(&config.store).map_err(|source| StoreError::Io {
            action: "find",
            path: config.store.clone(),
            source,
        })?;
        let socket = || format!("unix:{}", store.join("daemon.sock").display());
        let server = config.server.clone().unwrap_or_else(socket);
        let config = LookupConfig { store, ..config };
        let first = Life::begin(&config, &server)?;
        Ok(Self { config, server, first })
    }

    /// The state of this process; made now in a child that asks for the first time.
    fn order(&self) -> Result<&Arc<Order>, LookupError> {
        let process = process::id();
        let mut life = &self.first;
        while life.process != process {
            life = match life.next.get() {
                Some(next) => next,
                None => {
                    let next = Box::new(Life::begin(&self.config, &self.server)?);
                    life.next.get_or_init(|| next)
                }
            };
        }
        Ok(&life.order)
    }

    /// The store's directory, absolute, whether it can be opened or not. O(1).
    pub fn store_root(&self) -> &Path {
        &self.config.store
    }

    /// The daemon's address: `unix:PATH` or `http://HOST:PORT`. O(1).
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The index of a constraint, if it is on this host: no call. Derives the constraint's digest, O(its length), then as
    /// [`Lookup::find_key`].
    ///
    /// # Errors
    /// [`LookupError::Client`] if a file is there and cannot be read.
    pub fn find(&self, bound: &Bound, constraint: &Constraint) -> Result<Option<Found>, LookupError> {
        self.find_key(bound, &bound.vocabulary.index_key(constraint))
    }

    /// The index of a key, if it is on this host: a look into a table if it is mapped, else a file opened in O(1). A damaged file
    /// is none.
    ///
    /// # Errors
    /// [`LookupError::Client`] if a file is there and cannot be read.
    pub fn find_key(&self, bound: &Bound, key: &IndexKey) -> Result<Option<Found>, LookupError> {
        self.order()?.find(bound, key)
    }

    /// Asks for the index of a constraint, for as long as this lookup grants. Returns at once: what is on this host and
    /// remembered verdicts have ended when it returns, everything else is begun on other threads.
    pub fn request(self: &Arc<Self>, bound: &Bound, constraint: Constraint) -> Request {
        self.request_within(bound, constraint, self.config.timeout)
    }

    /// As [`Lookup::request`], for as long as `timeout` grants; `None`: as long as it takes. A daemon is never waited for
    /// longer than this lookup grants.
    pub fn request_within(
        self: &Arc<Self>,
        bound: &Bound,
        constraint: Constraint,
        timeout: Option<Duration>,
    ) -> Request {
        match self.order() {
            Ok(order) => order.request(bound, constraint, timeout),
            Err(error) => {
                let key = bound.vocabulary.index_key(&constraint);
                Request::known(key, bound, Err(Arc::new(error)))
            }
        }
    }

    /// What a name of the store stands for, else the built-in vocabulary of that name, which is imported and published: some
    /// seconds, once. `None`: neither.
    ///
    /// # Errors
    /// [`LookupError::Store`] if a file is there and cannot be read.
    pub fn vocabulary_by_name(&self, name: &str) -> Result<Option<Bound>, LookupError> {
        self.order()?.host.vocabularies.by_name(name)
    }

    /// The vocabulary of a digest, if it is on this host, under a binding of the caller's. O(1).
    ///
    /// # Errors
    /// [`LookupError::Store`] if its file is there and cannot be read.
    pub fn vocabulary_by_digest(
        &self,
        digest: &VocabularyDigest,
        binding: Binding,
    ) -> Result<Option<Bound>, LookupError> {
        self.order()?.host.vocabularies.by_digest(digest, binding)
    }

    /// Publishes the vocabulary of an imported tokenizer, and lets `name` stand for it: in the store if that can be written, else
    /// for this process alone. The name is in the result if it stands for the vocabulary now. O(bytes), or O(ids) if it is here.
    ///
    /// # Errors
    /// [`LookupError::Vocabulary`] if the table makes no vocabulary.
    pub fn publish_vocabulary(&self, name: Option<&str>, imported: &Imported) -> Result<Bound, LookupError> {
        self.order()?.host.vocabularies.publish(name, imported)
    }

    /// What it has done in this process. O(1).
    pub fn stats(&self) -> Stats {
        self.order().map(|order| order.stats()).unwrap_or_default()
    }

    /// Counts a first mask: whoever makes a matcher and fills for the first time says so. O(1).
    pub fn count_first_mask(&self) {
        if let Ok(order) = self.order() {
            order.host.counters.first_mask();
        }
    }

    /// Ends what is under way: requests end as unavailable, the worker process ends, temporary files are removed. At most some
    /// seconds. For the end of a program, whose statics are not dropped; dropping a lookup does the same without waiting.
    pub fn close(&self) {
        if let Ok(order) = self.order() {
            order.close(true);
        }
    }
}
