//! The calls of a daemon that has others compile for it.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use gobo_artifact::Vocabulary;
use gobo_proto::v1;
use gobo_store::{PendingIndex, Store};
use gobo_types::{ArtifactDigest, Binding, CompileLimits, Constraint, IndexKey, VocabularyDigest};
use tokio::sync::{Mutex, Semaphore, mpsc};

use super::batch::only_item;
use super::import::parts;
use crate::answer::{Checked, IndexLocation};
use crate::daemon::{Connection, Credentials, OnBehalf, announced_digest, receive};
use crate::error::ClientError;
use crate::local::on_thread;

/// Longest index that is taken: as for a client.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// Files that are received at a time, each with a thread that writes it; more wait, within their deadlines.
const BODIES: usize = 16;

/// Pieces of a file that wait to be written.
const CHUNKS_AHEAD: usize = 4;

/// Sends calls on to another daemon, or to a balancer before several: what a daemon with an upstream does with its misses.
///
/// Every call carries the metadata `x-gobo-key`, by which a balancer may choose the daemon, so that all who ask for one index meet in one;
/// and `x-gobo-forwarded`, so that nobody sends it on once more. A call that ends because its daemon went away is repeated once; a vocabulary that
/// the daemon lacks is sent there first. It belongs to the tokio runtime in which it is used first.
#[derive(Debug)]
pub struct Forwarder {
    connection: Connection,
    /// Held by whoever sends a vocabulary: who waits for it finds it there.
    sending: Mutex<()>,
    bodies: Semaphore,
}

/// What is asked on behalf of somebody else.
#[derive(Debug, Clone, Copy)]
pub struct ForwardedRequest<'a> {
    /// The index key.
    pub key: &'a IndexKey,
    /// Over which vocabulary.
    pub vocabulary: &'a Arc<Vocabulary>,
    /// What.
    pub constraint: &'a Constraint,
    /// What a compile may use.
    pub limits: CompileLimits,
    /// On whose account; empty for nobody's.
    pub tenant: &'a str,
    /// When the answer comes too late.
    pub deadline: Instant,
    /// It comes after every interactive call.
    pub is_prewarm: bool,
    /// The trace that the call belongs to: a `traceparent` (W3C Trace Context).
    pub trace_parent: Option<&'a str>,
}

impl ForwardedRequest<'_> {
    fn behalf(&self) -> OnBehalf<'_> {
        let timeout = self.deadline.saturating_duration_since(Instant::now());
        OnBehalf { key: self.key, tenant: self.tenant, timeout, trace_parent: self.trace_parent }
    }

    fn wanted(&self) -> v1::VocabularyRef {
        let digest = Bytes::copy_from_slice(self.vocabulary.digest().as_bytes());
        v1::VocabularyRef { by: Some(v1::vocabulary_ref::By::Digest(digest)) }
    }
}

impl Forwarder {
    /// A forwarder to `unix:PATH`, `http://HOST:PORT` or `https://HOST:PORT`. Nothing is connected before the first call.
    ///
    /// # Errors
    /// [`ClientError::Address`]; [`ClientError::Credentials`], [`ClientError::TokenInThePlain`] and [`ClientError::NoTls`] for what cannot be
    /// shown there.
    ///
    /// ```
    /// use gobo_client::{ClientError, Credentials, Forwarder};
    ///
    /// let pool = Forwarder::new("http://pool.example:50051", Credentials::default())?;
    /// assert_eq!(pool.address(), "http://pool.example:50051");
    /// let none = Credentials::default();
    /// assert!(matches!(Forwarder::new("pool", none), Err(ClientError::Address { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(address: impl Into<String>, credentials: Credentials) -> Result<Self, ClientError> {
        Ok(Self {
            connection: Connection::forwarding(address.into(), credentials)?,
            sending: Mutex::default(),
            bodies: Semaphore::new(BODIES),
        })
    }

    /// Where it sends calls to. O(1).
    pub fn address(&self) -> &str {
        self.connection.address()
    }

    /// Has the other daemon find or compile an index, and fetches its file into the temporary folder of `store`: whole, and not verified yet,
    /// which publishing does. O(bytes) on the disk, O(1) in memory.
    ///
    /// # Errors
    /// As for [`Client::resolve`](crate::Client::resolve).
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use gobo_client::{CompileLimits, Constraint, Credentials, ForwardedRequest, Forwarder, Store};
    ///
    /// # mod doc { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/daemon.rs")); }
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, folder) = doc::client().await;
    /// # let (vocabulary, _) = client.find_vocabulary("tiny")?.expect("the daemon imported it");
    /// # let own = tempfile::tempdir()?;
    /// let pool = Forwarder::new(client.address(), Credentials::default())?;
    /// let constraint = Constraint::regex("a+b");
    /// let request = ForwardedRequest {
    ///     key: &vocabulary.index_key(&constraint),
    ///     vocabulary: &vocabulary,
    ///     constraint: &constraint,
    ///     limits: CompileLimits::default(),
    ///     tenant: "",
    ///     deadline: Instant::now() + Duration::from_secs(60),
    ///     is_prewarm: false,
    ///     trace_parent: None,
    /// };
    /// let store = Store::open(own.path())?;
    /// let (file, digest) = pool.fetch(&request, &store).await?;
    /// assert_eq!(file.publish()?, digest);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn fetch(
        &self,
        request: &ForwardedRequest<'_>,
        store: &Store,
    ) -> Result<(PendingIndex, ArtifactDigest), ClientError> {
        match self.fetch_once(request, store).await {
            Err(error) if error.is_about_a_file() || self.connection.repeats.allow(&error).await => {
                self.fetch_once(request, store).await
            }
            answer => answer,
        }
    }

    /// The report of a constraint, by the other daemon.
    ///
    /// # Errors
    /// As for [`Client::check`](crate::Client::check).
    pub async fn check(&self, request: &ForwardedRequest<'_>) -> Result<Checked, ClientError> {
        match self.check_with_vocabulary(request).await {
            Err(error) if self.connection.repeats.allow(&error).await => {
                self.check_with_vocabulary(request).await
            }
            answer => answer,
        }
    }

    async fn fetch_once(
        &self,
        request: &ForwardedRequest<'_>,
        store: &Store,
    ) -> Result<(PendingIndex, ArtifactDigest), ClientError> {
        let located = match self.locate(request).await {
            Err(ClientError::UnknownVocabulary { digest }) => {
                self.send_vocabulary(request, digest).await?;
                self.locate(request).await
            }
            answer => answer,
        };
        let found = located?.key;
        if found != *request.key {
            return Err(ClientError::OtherKey { expected: *request.key, found });
        }
        // Nobody closes it.
        let _body = self.bodies.acquire().await;
        let message = v1::FetchIndexRequest { key: Bytes::copy_from_slice(request.key.as_bytes()) };
        let call = self.connection.request_for(message, &request.behalf());
        let reply = self.connection.stub().fetch_index(call).await;
        let stream = reply.map_err(|status| self.connection.failed(&status))?.into_inner();
        let left = request.deadline.saturating_duration_since(Instant::now());

        let file = store.begin_index(request.key)?;
        // A disk may be slow, and whoever serves hits on this runtime must not wait for it.
        let (chunks, mut to_write) = mpsc::channel::<Bytes>(CHUNKS_AHEAD);
        let written = on_thread(move || file.write(|| to_write.blocking_recv()).map(|()| file));
        let mut keep = move |_, chunk| {
            let chunks = chunks.clone();
            // A writer that has failed says why.
            async move {
                chunks.send(chunk).await.map_err(|_| ClientError::Thread(io::ErrorKind::BrokenPipe.into()))
            }
        };
        let received = async {
            let received = receive(stream, MAX_FILE_BYTES, Some(left), self.address(), &mut keep).await;
            // The writer ends with it.
            drop(keep);
            received
        };
        let (written, received) = tokio::join!(written, received);
        let file = written??;
        Ok((file, announced_digest(&received?)?))
    }

    async fn check_with_vocabulary(&self, request: &ForwardedRequest<'_>) -> Result<Checked, ClientError> {
        match self.check_once(request).await {
            Err(ClientError::UnknownVocabulary { digest }) => {
                self.send_vocabulary(request, digest).await?;
                self.check_once(request).await
            }
            answer => answer,
        }
    }

    async fn check_once(&self, request: &ForwardedRequest<'_>) -> Result<Checked, ClientError> {
        let message = v1::CheckRequest {
            vocabulary: Some(request.wanted()),
            constraint: Some(request.constraint.into()),
            limits: Some(request.limits.into()),
        };
        let reply =
            self.connection.stub().check(self.connection.request_for(message, &request.behalf())).await;
        let checked =
            Checked::of_reply(reply.map_err(|status| self.connection.failed(&status))?.into_inner())?;
        if checked.key != *request.key {
            return Err(ClientError::OtherKey { expected: *request.key, found: checked.key });
        }
        Ok(checked)
    }

    async fn locate(&self, request: &ForwardedRequest<'_>) -> Result<IndexLocation, ClientError> {
        let (vocabulary, limits) = (Some(request.wanted()), Some(request.limits.into()));
        if request.is_prewarm {
            let constraints = vec![request.constraint.into()];
            let message = v1::ResolveBatchRequest { vocabulary, constraints, limits, prewarm: true };
            let call = self.connection.request_for(message, &request.behalf());
            let reply = self.connection.stub().resolve_batch(call).await;
            let stream = reply.map_err(|status| self.connection.failed(&status))?.into_inner();
            return only_item(stream, self.address()).await;
        }
        let message = v1::ResolveRequest { vocabulary, constraint: Some(request.constraint.into()), limits };
        let reply =
            self.connection.stub().resolve(self.connection.request_for(message, &request.behalf())).await;
        IndexLocation::of_reply(reply.map_err(|status| self.connection.failed(&status))?.into_inner())
    }

    /// Sends the vocabulary to the daemon that will be asked, under a name that says what it is. Whoever comes meanwhile waits, and sends
    /// nothing where it is there by then.
    async fn send_vocabulary(
        &self,
        request: &ForwardedRequest<'_>,
        digest: VocabularyDigest,
    ) -> Result<(), ClientError> {
        let _alone = self.sending.lock().await;
        let message = v1::GetVocabularyRequest { vocabulary: Some(request.wanted()) };
        let call = self.connection.request_for(message, &request.behalf());
        if self.connection.stub().get_vocabulary(call).await.is_ok() {
            return Ok(());
        }
        // Nobody has it make masks.
        let bare = Binding { logits_width: request.vocabulary.len(), ..Binding::default() };
        let parts = parts(&format!("by-digest-{digest}"), "forwarded", request.vocabulary, &bare, false);
        let call = self.connection.request_for(tokio_stream::iter(parts), &request.behalf());
        let reply = self.connection.stub().import_vocabulary(call).await;
        reply.map(drop).map_err(|status| self.connection.failed(&status))
    }
}
