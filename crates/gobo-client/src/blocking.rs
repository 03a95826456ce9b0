//! A client for threads that are no tasks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gobo_types::Constraint;

use crate::background::{Background, Lost, Pending, PerProcess};
use crate::client::Client;
use crate::error::ClientError;
use crate::resolved::Resolved;
use crate::vocabulary_ref::VocabularyRef;

/// A [`Client`] for programs without a tokio runtime: its calls block, or give a [`Pending`]. Any number of threads may share one
/// behind an [`Arc`].
///
/// Calls to the daemon run on one thread of its own, `gobo-client`, which is started by the first call that needs it and ends with
/// the client and its pendings. What is on this host is found on the calling thread.
///
/// After a `fork` the child's next call makes a client, a thread and a connection of its own. Nothing hangs there, whatever other threads
/// of the parent were doing with the client: the child uses nothing of the parent's that has a lock, a thread or a socket. An
/// [`Arc<Client>`](Self::client) from before the fork is the parent's: take another one.
///
/// ```
/// use std::time::Duration;
/// use gobo_client::{Client, Constraint, Source};
///
/// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (_client, folder) = doc::client().await;
/// # let store = folder.path();
/// let client = Client::builder().store(store).connect_blocking()?;
/// let constraint = Constraint::regex("[0-9]{4}-[0-9]{2}");
/// let resolved = client.resolve("tiny", &constraint, Some(Duration::from_secs(60)))?;
/// assert_eq!(resolved.source, Source::Compile);
/// let matcher = client.client().matcher(&resolved)?;
/// assert!(!matcher.is_complete());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct BlockingClient {
    processes: PerProcess<State>,
}

/// What one process has of a blocking client.
#[derive(Debug)]
struct State {
    client: Arc<Client>,
    background: Background,
}

impl State {
    fn new(client: Client) -> Self {
        Self { client: Arc::new(client), background: Background::default() }
    }
}

impl BlockingClient {
    pub(crate) fn new(client: Client) -> Self {
        Self { processes: PerProcess::new(State::new(client)) }
    }

    fn state(&self) -> &State {
        self.processes.get(|parent| State::new(parent.client.fresh()))
    }

    /// The client of this process, for what needs no call: [`Client::find`], [`Client::store`], [`Client::matcher`]. Its calls belong to the
    /// thread of this blocking client, so [`Self::spawn`] makes them. O(1).
    ///
    /// ```
    /// use gobo_client::{Client, Constraint};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let client = Client::builder().store(folder.path()).connect_blocking()?;
    /// assert!(client.client().find("gpt2", &Constraint::regex("a"))?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn client(&self) -> Arc<Client> {
        Arc::clone(&self.state().client)
    }

    /// As [`Client::resolve`], and waits for the answer on this thread, no longer than `timeout`: what was asked for is given up then.
    /// Not for a future that runs on the thread of this client: it would wait for itself.
    ///
    /// # Errors
    /// As for [`Client::resolve`]; [`ClientError::Timeout`] after the timeout, and [`ClientError::Lost`] if the thread cannot be started.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gobo_client::{Client, ClientError, Constraint};
    ///
    /// let folder = tempfile::tempdir()?;
    /// // No daemon runs on this store.
    /// let client = Client::builder().store(folder.path()).connect_blocking()?;
    /// let error = client.resolve("tiny", &Constraint::regex("a"), Some(Duration::from_secs(5))).unwrap_err();
    /// assert!(matches!(error, ClientError::Unreachable { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resolve<'a>(
        &self,
        vocabulary: impl Into<VocabularyRef<'a>>,
        constraint: &Constraint,
        timeout: Option<Duration>,
    ) -> Result<Resolved, ClientError> {
        let (vocabulary, begun) = (vocabulary.into(), Instant::now());
        let State { client, background } = self.state();
        if let Some(found) = client.resolve_here(vocabulary, constraint, begun)? {
            return Ok(found);
        }
        let asking = resolve_there(Arc::clone(client), vocabulary, constraint.clone(), begun);
        let late = || Err(ClientError::Timeout { address: client.address().to_owned() });
        background.running()?.run(asking, timeout).unwrap_or_else(late)
    }

    /// As [`Self::resolve`], without waiting for the daemon. What is on this host is found on the calling thread, as by
    /// [`Client::find`], and the pending has ended then.
    ///
    /// ```
    /// use gobo_client::{Client, Constraint};
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (_client, folder) = doc::client().await;
    /// let client = Client::builder().store(folder.path()).connect_blocking()?;
    /// let pending = client.request("tiny", Constraint::regex("(yes|no)+"));
    /// let resolved = pending.wait(None).unwrap().as_ref().unwrap();
    /// // From now on there is nothing to wait for.
    /// let again = client.request("tiny", Constraint::regex("(yes|no)+"));
    /// assert_eq!(again.poll().unwrap().as_ref().unwrap().key, resolved.key);
    /// # Ok(())
    /// # }
    /// ```
    pub fn request<'a>(
        &self,
        vocabulary: impl Into<VocabularyRef<'a>>,
        constraint: Constraint,
    ) -> Pending<Result<Resolved, ClientError>> {
        let (vocabulary, begun) = (vocabulary.into(), Instant::now());
        let State { client, .. } = self.state();
        match client.resolve_here(vocabulary, &constraint, begun).transpose() {
            Some(found) => Pending::ended(found),
            None => self.spawn(|client| resolve_there(client, vocabulary, constraint, begun)),
        }
    }

    /// Runs any calls of the client on its thread. `make` is called here and now, with the client of this process; the future that it
    /// makes runs on the thread, beside all others: it must not block. Its output says how it is made of a [`Lost`], as a
    /// `Result<_, ClientError>` does.
    ///
    /// ```
    /// use gobo_client::{Client, ClientError};
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (_client, folder) = doc::client().await;
    /// let client = Client::builder().store(folder.path()).connect_blocking()?;
    /// let pending = client.spawn(|client| async move {
    ///     client.ping().await?;
    ///     Ok::<_, ClientError>(client.status().await?.indices)
    /// });
    /// assert!(matches!(pending.wait(None), Some(Ok(0))));
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawn<T, F>(&self, make: impl FnOnce(Arc<Client>) -> F) -> Pending<T>
    where
        T: From<Lost> + Send + Sync + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let State { client, background } = self.state();
        match background.running() {
            Ok(running) => Pending::begin(running, make(Arc::clone(client))),
            Err(lost) => Pending::ended(lost.into()),
        }
    }
}

/// The half of a resolve that needs the daemon, with all that it needs to go on by itself.
fn resolve_there(
    client: Arc<Client>,
    vocabulary: VocabularyRef<'_>,
    constraint: Constraint,
    begun: Instant,
) -> impl Future<Output = Result<Resolved, ClientError>> + Send + use<> {
    let vocabulary = vocabulary.to_owned();
    async move { client.resolve_there(vocabulary.borrow(), &constraint, begun).await }
}
