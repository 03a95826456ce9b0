//! From a request to an end: mapped, file, daemon, local worker.
//!
//! # Stages
//!
//! 1. **This host** ([`Host::find`]): an index that this process has mapped or in memory, else a file of the store. On the
//!    caller's thread: a look into a table, or a file opened in O(1). No call.
//! 2. **A remembered verdict**: what was refused or over budget is not compiled again with each request.
//! 3. **The daemon** ([`crate::daemon`]): on the client's thread. One compile serves the whole host, and its catalog evicts what is
//!    not used.
//! 4. **The local worker** ([`crate::local`]): where no daemon serves the request.
//!
//! # When the next stage has its turn
//!
//! A verdict ends a request: it would be the same everywhere. *Every other end of a stage leads to the next one*, and is
//! counted by its reason; there is no end of the daemon that makes a request fail while a worker here could serve it:
//!
//! | reason | the daemon |
//! |---|---|
//! | `no_daemon` | nobody listens, the connection could not be made within its 5 seconds, or it broke: a daemon that is killed in the middle of a burst turns all its requests over to the local worker |
//! | `deaf_daemon` | takes connections and does not answer an empty call |
//! | `busy_daemon` | lives, and turned the request away; asked once more where it advises to come again within a second |
//! | `late_daemon` | had not answered when the request's time was up. Whoever waits is told that; who has more time than the lookup grants goes on |
//! | `no_vocabulary` | lacks the vocabulary, and could not be sent it |
//! | `other_version` | derives other keys: its files would not be found |
//! | `store_failed`, `stream_failed` | has the index, and it cannot be brought into this host's store |
//! | `daemon_failed` | any other error |
//!
//! The last stage ends as [`crate::local`] says. Without a local worker a request fails with what the daemon said (`no_local`).
//!
//! Identical requests are one flight through stages 3 and 4. Nothing of the caller's thread is in it: `request` starts a task
//! or puts a job into a queue, and returns.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gobo_client::{BlockingClient, Client, ClientError};
use gobo_types::{Constraint, IndexKey, error_chain};
use gobo_worker::WorkerConfig;

use crate::config::LookupConfig;
use crate::daemon::{Daemon, Turned};
use crate::error::LookupError;
use crate::flight::{Flights, Joined, Lead};
use crate::found::{Bound, Found, Made};
use crate::host::{Host, Room, Scratch};
use crate::local::{Job, Local};
use crate::request::Request;
use crate::stats::{Reason, SharedCounters, Stats};

/// The stages, as one process has them.
pub(crate) struct Order {
    pub(crate) host: Arc<Host>,
    flights: Arc<Flights>,
    daemon: Arc<Daemon>,
    local: Option<Arc<Local>>,
    scratch: Arc<Scratch>,
    /// The thread of the client's connection. No task owns it: it would wait for itself.
    blocking: BlockingClient,
}

impl Order {
    /// The stages over a store; where that cannot be opened, over a temporary folder in its place.
    pub(crate) fn open(config: &LookupConfig, server: &str) -> Result<Self, LookupError> {
        let scratch = Arc::new(Scratch::new());
        let mut is_store = true;
        let blocking = match connect(config, server, &config.store) {
            Err(ClientError::Store(error)) => {
                let store = config.store.display();
                tracing::warn!(%store, error = error_chain(&error), "the store cannot be opened; nothing is kept");
                is_store = false;
                connect(config, server, scratch.store()?.root())?
            }
            connected => connected?,
        };
        let counters = SharedCounters::default();
        let limit = config.local.as_ref().filter(|_| is_store).map(|local| local.store_bytes);
        let limits = config.limits.unwrap_or_default();
        let (client, room) = (blocking.client(), Room::new(limit));
        let host = Arc::new(Host::new(client, Arc::clone(&scratch), room, limits, Arc::clone(&counters)));
        let local = config.local.as_ref().map(|local| {
            let worker = WorkerConfig::new(local.program.clone(), local.args.iter().cloned());
            Arc::new(Local::new(Arc::clone(&host), worker))
        });
        let flights = Arc::new(Flights::new(counters));
        let daemon = Arc::new(Daemon::new(config.timeout));
        Ok(Self { host, flights, daemon, local, scratch, blocking })
    }

    /// An index of this host.
    pub(crate) fn find(&self, bound: &Bound, key: &IndexKey) -> Result<Option<Found>, LookupError> {
        let Some(Made { index, source, path }) = self.host.find(key)? else { return Ok(None) };
        self.host.counters.found(source);
        Ok(Some(Found { index, bound: bound.clone(), source, key: *key, path }))
    }

    /// Looks for an index, as far as that does not wait; else begins what does.
    pub(crate) fn request(&self, bound: &Bound, constraint: Constraint, most: Option<Duration>) -> Request {
        let since = Instant::now();
        let key = bound.vocabulary.index_key(&constraint);
        let counters = &self.host.counters;
        match self.host.find(&key) {
            Ok(Some(made)) => {
                counters.found(made.source);
                return Request::known(key, bound, Ok(Arc::new(made)));
            }
            Ok(None) => {}
            Err(error) => counters.fell_back(Reason::StoreFailed, &key, &error_chain(&error)),
        }
        if let Some(verdict) = self.host.verdicts.get(&key) {
            counters.remembered();
            return Request::known(key, bound, Err(Arc::new(LookupError::Verdict(verdict))));
        }
        let Joined { flight, place, lead } = self.flights.join(&key, since);
        let request = Request::flying(key, bound, flight, place, (since, most), Arc::clone(counters));
        if let Some(lead) = lead {
            self.begin(lead, bound, constraint);
        }
        request
    }

    fn begin(&self, lead: Lead, bound: &Bound, constraint: Constraint) {
        let flight = lead.flight();
        let (host, local) = (Arc::clone(&self.host), self.local.clone());
        let stages = Stages { host, local, work: Some((lead, bound.clone(), constraint)) };
        if self.local.is_some() && self.daemon.is_deaf() {
            return stages.go_on(Reason::DeafDaemon, "it did not answer a moment ago");
        }
        let daemon = Arc::clone(&self.daemon);
        let task = self.blocking.spawn(move |client| async move {
            stages.ask(&daemon, &client).await;
            Ok::<(), ClientError>(())
        });
        flight.keep_task(task);
    }

    pub(crate) fn stats(&self) -> Stats {
        self.host.counters.read(self.host.in_memory())
    }

    /// Ends what is under way. With `wait`, returns when the worker process has ended and temporary files are gone.
    pub(crate) fn close(&self, wait: bool) {
        self.flights.close();
        if let Some(local) = &self.local {
            local.close(wait);
        }
        if wait {
            self.scratch.remove();
        }
    }
}

impl Drop for Order {
    fn drop(&mut self) {
        self.close(false);
    }
}

fn connect(config: &LookupConfig, server: &str, store: &Path) -> Result<BlockingClient, ClientError> {
    let mut builder = Client::builder().store(store).server(server);
    if let Some(tenant) = &config.tenant {
        builder = builder.tenant(tenant);
    }
    if let Some(timeout) = config.timeout {
        builder = builder.timeout(timeout);
    }
    if let Some(limits) = config.limits {
        builder = builder.limits(limits);
    }
    builder.connect_blocking()
}

/// A flight on its way through the stages that wait. Whatever becomes of the task that has it, the flight goes on.
struct Stages {
    host: Arc<Host>,
    local: Option<Arc<Local>>,
    /// `None` once it has ended or gone on.
    work: Option<(Lead, Bound, Constraint)>,
}

impl Stages {
    async fn ask(mut self, daemon: &Daemon, client: &Client) {
        let Some((_, bound, constraint)) = &self.work else { return };
        let answer = daemon.ask(client, bound, constraint).await;
        match answer {
            Ok(resolved) => {
                let (source, path) = (resolved.source.into(), Some(resolved.path));
                self.end(Ok(Made { index: resolved.index, source, path }));
            }
            Err(Turned::Verdict(verdict)) => {
                if let Some((lead, ..)) = &self.work {
                    self.host.verdicts.keep(lead.key(), &verdict);
                }
                self.end(Err(LookupError::Verdict(verdict)));
            }
            Err(Turned::Next(reason, why)) => self.go_on(reason, &why),
        }
    }

    fn end(&mut self, end: Result<Made, LookupError>) {
        if let Some((lead, ..)) = self.work.take() {
            lead.end(end);
        }
    }

    /// The daemon did not serve it.
    fn go_on(mut self, reason: Reason, why: &str) {
        self.pass_on(reason, why);
    }

    fn pass_on(&mut self, reason: Reason, why: &str) {
        let Some((lead, bound, constraint)) = self.work.take() else { return };
        // Nobody waits: the task was dropped for that.
        if lead.is_cancelled() {
            return;
        }
        let (key, counters) = (*lead.key(), &self.host.counters);
        counters.fell_back(reason, &key, why);
        let tried = format!("the daemon: {why}");
        match &self.local {
            Some(local) => local.submit(Job::new(lead, bound, constraint, tried)),
            None => {
                counters.fell_back(Reason::NoLocal, &key, "there is no local worker");
                lead.end(Err(LookupError::Unavailable { key, tried }));
            }
        }
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        self.pass_on(Reason::DaemonFailed, "the task that asks it was lost");
    }
}
